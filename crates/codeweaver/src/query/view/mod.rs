//! View: the snapshot with its overlays that one request is answered from.
//!
//! * [`open`]: from a [`ViewRequest`](super::request::ViewRequest) to a view.
//! * `members`: the rows and entries of a view. `limits`: those that the reader of a catalogue may see.
//! * [`scope`]: the rows of a view that pass the filters of a request.
//! * [`term_rows`]: the rows of a view that contain words.
//! * [`whole`], `of_engine`: views of the candidates that an engine has found.
//! * `warnings`: sentences about the revision that is shown.
//! * [`freshness`]: the age of the index, and the update of an index that is behind.

pub mod blob_cache;
pub mod freshness;
mod limits;
pub(super) mod members;
pub mod name_docs;
mod of_engine;
pub mod open;
mod parts;
pub mod scope;
pub mod term_rows;
pub(super) mod warnings;
pub mod whole;

use std::sync::{Arc, Mutex};

use codeweaver_base::sync;
use codeweaver_git::worktree::{WorktreeFile, WorktreeReader, WorktreeStatus};
use codeweaver_git::{self as git, BStr, BString, BlobReader, ByteSlice as _, GitError, Oid, quoting};
use codeweaver_index::catalogue::Behind;
use codeweaver_index::overlay::OverlaidFiles;
use codeweaver_index::policy::{PathFlags, SkipReason, skipped_number};
use codeweaver_index::{Codebase, arrivals};
use codeweaver_store::StoreReader;
use codeweaver_store::live::LiveRows;
use codeweaver_store::postings::Postings;
use codeweaver_store::records::RowRecord;
use codeweaver_store::segment::Segment;
use codeweaver_store::snapshot::Snapshot;
use codeweaver_text as text;

use super::error::QueryError;
use super::members as catalogue_members;
use super::request::Filters;
use crate::query::response::RepoPath;
use blob_cache::BlobCache;
use members::Members;
use scope::{Scope, passes_path};
use whole::WholeCounts;

pub use super::response::{Freshness, MatchState};
pub use parts::Parts;

/// A chunk of a view: a row of one of its segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RowId {
    /// Position in the segments of the view.
    pub segment: u32,
    /// Row in the segment.
    pub row: u32,
}

/// A snapshot with its overlays.
pub struct View {
    /// The store, with the segments and entries of the overlays.
    pub reader: StoreReader,
    /// The live entries and the totals, overlays included.
    pub snapshot: Snapshot,
    /// The relation of the view to HEAD and the working tree.
    pub freshness: Freshness,
    /// Hex oid of the tree that the view shows, without the working tree.
    pub tree_oid: String,
    /// The name of the tree for the user, see [`codeweaver_git::Repo::shown_tree`].
    pub shown_tree: String,
    /// The revision as typed, or `HEAD`.
    pub spec: String,
    /// True if the reader may see only some members of a catalogue.
    pub is_limited: bool,
    /// Hex oid of the commit of the revision, if it has one and the reader may see all of it.
    pub commit: Option<String>,
    /// Hex oid of the commit that HEAD points to, under the same conditions.
    pub head_commit: Option<String>,
    /// Whether the updater has something to do: HEAD is not indexed, or changed files are pending.
    pub needs_update: bool,
    /// Whether the difference to the tree of a revision other than HEAD was laid over a snapshot.
    pub is_revision_overlaid: bool,
    /// Number of changed paths in the working tree.
    pub n_dirty: usize,
    /// Number of paths and directories that were not compared with the disk within the budget.
    pub n_unchecked: usize,
    /// The status of the working tree; `None` if it is not part of the view.
    pub status: Option<WorktreeStatus>,
    /// Sentences for the user on parts that the view lacks.
    pub warnings: Vec<String>,
    /// Number of files indexed and of files wanted, while a first index is being built.
    pub coverage: Option<(u64, u64)>,
    /// In a catalogue, its members in this tree.
    pub catalogue: Arc<git::Members>,
    /// The members of a catalogue that this tree has an older commit of.
    pub behind: Behind,
    /// Counts of everything that is searched, if the view has only candidates of it.
    pub whole: Option<Arc<WholeCounts>>,
    members: Arc<Members>,
    /// The files that come from the working tree.
    worktree: OverlaidFiles,
    blobs: Arc<BlobCache>,
    /// Reads files of the working tree; opened when it is first needed.
    files: Mutex<Option<WorktreeReader>>,
}

impl View {
    /// Live rows, by segment.
    pub fn live(&self) -> &[LiveRows] {
        &self.members.rows
    }

    /// The postings of each segment that has live rows; `None` for the others, and where they are damaged.
    pub fn postings(&self) -> Vec<Option<Postings<'_>>> {
        let segments = self.reader.segments.iter().zip(self.live());
        segments.map(|(segment, live)| segment.postings().filter(|_| live.n_live() > 0)).collect()
    }

    /// Live entries of a doc.
    pub fn entries_of(&self, doc: u32) -> impl Iterator<Item = u32> + '_ {
        self.members.entries_of(doc)
    }

    /// The share of the repository's source files in the part that `path` is in, see [`parts::Parts::share`].
    pub fn part_share(&self, path: &[u8]) -> f32 {
        match &self.whole {
            Some(whole) => whole.parts.share(path),
            None => self.members.parts(&self.reader, &self.snapshot.entries).share(path),
        }
    }

    /// The rows that pass `filters`.
    pub fn scope(&self, filters: &Filters) -> Arc<Scope> {
        self.members.scope(filters, || Scope::new(&self.reader, &self.snapshot, self.live(), filters))
    }

    /// Path and flags of an entry; empty if there is none with this id.
    pub fn entry(&self, id: u32) -> (&[u8], PathFlags) {
        match self.reader.entry(id) {
            Some((record, path)) => (path, PathFlags(record.flags as u8)),
            None => (&[], PathFlags::default()),
        }
    }

    /// The record of a row, with its segment.
    pub fn row(&self, id: RowId) -> (&Segment, &RowRecord) {
        let segment = &self.reader.segments[id.segment as usize];
        (segment, &segment.rows()[id.row as usize])
    }

    /// Store-wide id of the doc of a row.
    pub fn doc_of(&self, id: RowId) -> u32 {
        self.reader.state.segments[id.segment as usize].doc_base + self.row(id).1.doc
    }

    /// State of the file at `path`.
    pub fn state_of(&self, path: &[u8]) -> MatchState {
        match self.worktree.states.get(path) {
            Some(&state) => state.into(),
            None if self.is_unreadable(path) => MatchState::Unreadable,
            None => MatchState::Committed,
        }
    }

    fn is_unreadable(&self, path: &[u8]) -> bool {
        self.status.as_ref().is_some_and(|status| status.changes.is_unreadable(path.as_bstr()))
    }

    /// The files and directories of the working tree that cannot be read, and the directories that cannot be
    /// listed.
    pub fn unreadable(&self) -> impl Iterator<Item = &BString> {
        let changes = self.status.as_ref().map(|status| &status.changes);
        changes.into_iter().flat_map(|changes| changes.unreadable.iter().chain(&changes.unlisted))
    }

    /// Number of changed files that this view shows as they are committed, or not at all, because the updater
    /// has to index them.
    pub fn n_pending(&self) -> usize {
        self.worktree.pending.len()
    }

    /// Returns whether the file at `path` is pending, see [`Self::n_pending`].
    pub fn is_pending(&self, path: &BStr) -> bool {
        self.worktree.pending.contains(path)
    }

    /// Returns whether the file at `path` comes from the working tree and was read for this view.
    pub(super) fn was_read(&self, path: &BStr, blob: &Oid) -> bool {
        self.worktree.states.contains_key(path) && self.worktree.bytes.contains_key(blob)
    }

    /// The blob that this view has at `path`.
    pub(super) fn blob_at(&self, path: &BStr) -> Option<Oid> {
        self.reader.blob_of(self.reader.find_entry(&self.snapshot.entries, path)?)
    }

    /// Reads the file that is on disk at `path`.
    pub(super) fn file(&self, codebase: &Codebase, path: &BStr) -> Result<WorktreeFile, GitError> {
        let mut files = sync::lock(&self.files);
        // The reader of a status run shares the git index that the run has read.
        let files = match &mut *files {
            Some(files) => files,
            none => none.insert(match &self.status {
                Some(status) => status.reader(&codebase.repo)?,
                None => WorktreeReader::open(&codebase.repo)?,
            }),
        };
        files.file(path)
    }

    /// The contents of a file of the working tree that was not read when the view was opened; `None` if it
    /// has changed since.
    fn unread(&self, oid: &Oid) -> Option<Arc<[u8]>> {
        let path = self.worktree.unread.get(oid)?;
        // The overlay that decided not to read it has left its reader.
        let read = sync::lock(&self.files).as_mut()?.read_blob(path.as_ref(), oid);
        let bytes = read.ok().flatten().filter(|bytes| git::hash_blob(bytes, oid.kind()) == *oid)?;
        Some(text::to_utf8(&bytes).into())
    }

    /// The contents of a blob as UTF-8, from the working tree or from git; `None` if it is not in this clone.
    pub fn blob(&self, codebase: &Codebase, oid: &Oid) -> Result<Option<Arc<[u8]>>, QueryError> {
        self.blob_from(&mut codebase.repo.blobs(), oid)
    }

    /// As [`Self::blob`], with a reader that keeps its pack lookups for the next blob.
    pub fn blob_from(&self, blobs: &mut BlobReader, oid: &Oid) -> Result<Option<Arc<[u8]>>, QueryError> {
        if let Some(text) = self.blob_in_memory(oid) {
            return Ok(Some(text));
        }
        let Some(text) = self.committed(blobs, oid)? else { return Ok(self.unread(oid)) };
        self.blobs.keep(*oid, text.clone());
        Ok(Some(text))
    }

    /// Returns whether [`Self::blob_in_memory`] has the blob.
    pub fn has_in_memory(&self, oid: &Oid) -> bool {
        self.worktree.bytes.contains_key(oid) || self.blobs.get(oid).is_some()
    }

    /// As [`Self::blob`], but `None` if the blob has to be read.
    pub fn blob_in_memory(&self, oid: &Oid) -> Option<Arc<[u8]>> {
        match self.worktree.bytes.get(oid) {
            Some(bytes) => Some(text::to_utf8(bytes).into()),
            None => self.blobs.get(oid),
        }
    }

    /// The contents of a blob in git as UTF-8. In a catalogue, those in the first member that has the blob
    /// and can be read.
    fn committed(&self, blobs: &mut BlobReader, oid: &Oid) -> Result<Option<Arc<[u8]>>, QueryError> {
        let is_known = !blobs.is_unplaced(oid);
        if is_known && let Some(bytes) = blobs.read_if_good(oid) {
            return Ok(Some(text::to_utf8(bytes).into()));
        }

        // The blob of a member is in the member's repository, which a path with the blob leads to.
        if !self.catalogue.all().is_empty()
            && let Ok(tree) = Oid::from_hex(self.tree_oid.as_bytes())
        {
            for path in self.paths_of(oid) {
                if blobs.place(oid, &tree, path)
                    && let Some(bytes) = blobs.read_if_good(oid)
                {
                    return Ok(Some(text::to_utf8(bytes).into()));
                }
            }
        }
        Ok(None)
    }

    /// The paths with this blob.
    fn paths_of(&self, oid: &Oid) -> impl Iterator<Item = &BStr> {
        let segments = self.reader.segments.iter().zip(&self.reader.state.segments);
        let docs = segments.filter_map(|(segment, place)| Some(place.doc_base + segment.find_blob(oid)?));
        docs.flat_map(|doc| self.entries_of(doc)).map(|entry| self.entry(entry).0.as_bstr())
    }

    /// The member of a catalogue that a file is in.
    pub fn repo_of(&self, path: &[u8]) -> Option<RepoPath> {
        let (member, below) = self.catalogue.of_path(path)?;
        Some(RepoPath {
            name: member.name.clone(),
            commit: member.commit.clone().unwrap_or_default(),
            path: quoting::text(below),
        })
    }

    /// Sentences for the user on the members of a catalogue that an answer under `filters` lacks, or shows as
    /// they were.
    pub fn members_warnings(&self, filters: Option<&Filters>) -> Vec<String> {
        catalogue_members::warnings(&self.catalogue, &self.behind, filters)
    }

    /// Number of files that an answer lacks because their contents are not in this clone, of those that pass
    /// `filters` by their path.
    pub fn n_missing(&self, filters: Option<&Filters>) -> u64 {
        let n_missing = arrivals::n_missing(&self.snapshot);
        let Some(filters) = filters.filter(|filters| n_missing > 0 && filters.are_about_paths()) else {
            return n_missing;
        };

        let not_local = skipped_number(Some(SkipReason::NotLocal));
        let entries = self.reader.live_entries(&self.snapshot.entries);
        let passing = entries.filter(|(_, record, path)| {
            record.skipped == not_local && passes_path(filters, path, PathFlags(record.flags as u8))
        });
        passing.count() as u64
    }

    /// A sentence for the user on the [`Self::n_missing`] files; `None` if there are none.
    pub fn missing_warning(&self, filters: Option<&Filters>) -> Option<String> {
        let files = match self.n_missing(filters) {
            0 => return None,
            1 => "1 file is not part of this answer: its contents are".to_owned(),
            n => format!("{n} files are not part of this answer: their contents are"),
        };
        Some(format!("{files} not in this clone, and missing objects are never fetched"))
    }

    /// Number of live rows.
    pub fn n_rows(&self) -> u64 {
        self.snapshot.totals.n_rows
    }

    /// Returns this view of `codebase` with `status`, which has the changes that it shows.
    pub(super) fn with_status(mut self, codebase: &Codebase, status: WorktreeStatus) -> View {
        self.n_unchecked = status.changes.unchecked;
        let is_due = freshness::is_comparison_due(codebase, self.n_unchecked);
        self.needs_update |= self.reader.denied.is_none() && is_due;
        self.status = Some(status);
        self
    }
}

/// The first twelve characters of an object id.
pub fn short(oid: &str) -> &str {
    oid.get(..12).unwrap_or(oid)
}
