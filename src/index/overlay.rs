//! Overlay: changes that no snapshot contains, as an in-memory segment and entry file over a snapshot.
//!
//! The changes are the difference to a tree that is not indexed yet, uncommitted files, or both. They pass
//! through the same [`plan`], [`build`] and [`publish::apply`] as an update, so everything that reads the
//! result, statistics included, sees what a fresh index of the same state would show. Nothing is written.

use super::build::{self, BuildContext};
use super::codebase::Codebase;
use super::error::IndexError;
use super::plan::{self, Plan, PlannedDoc, PlannedFile};
use super::progress::Progress;
use super::publish;
use super::update::Target;
use crate::embed::Embedder;
use crate::git::{self, BString, GitError, Oid};
use crate::policy::{Policy, SkipReason};
use crate::store::StoreReader;
use crate::store::entries::{Entries, NewEntry};
use crate::store::reader::{OpenFiles, OverlaySegment};
use crate::store::rows::DocKey;
use crate::store::segment::{Segment, SegmentBuilder};
use crate::store::snapshot::Snapshot;
use crate::worktree::{FileState, WorktreeChange, WorktreeReader, WorktreeStatus};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Maximum number of new blobs in an overlay. More are left to the updater.
const MAX_BLOBS: usize = 200;

/// What overlays are built with.
#[derive(Clone, Copy)]
pub struct OverlayContext<'a> {
    pub codebase: &'a Codebase,
    /// The policy of the tree that the view shows.
    pub policy: &'a Policy,
    /// Without one, nothing is overlaid.
    pub embedder: Option<&'a dyn Embedder>,
    /// Keeps overlay segments, so that the next overlay of the same blobs reuses them.
    pub files: &'a OpenFiles,
    /// Stops a build.
    pub progress: &'a dyn Progress,
}

/// A snapshot with changes laid over it.
pub struct Overlay<'a> {
    context: OverlayContext<'a>,
    pub reader: StoreReader,
    pub snapshot: Snapshot,
    /// Whether any change was laid over the snapshot.
    pub is_applied: bool,
    /// State of every overlaid file of the working tree.
    pub states: FxHashMap<BString, FileState>,
    /// Contents of overlaid files of the working tree, which may be in no object database.
    pub bytes: FxHashMap<Oid, Vec<u8>>,
    /// Changed files that have become unreadable, and are shown as committed.
    pub unreadable: Vec<BString>,
}

impl<'a> Overlay<'a> {
    /// An overlay without changes over `snapshot`.
    pub fn new(context: OverlayContext<'a>, reader: StoreReader, snapshot: Snapshot) -> Overlay<'a> {
        Overlay {
            context,
            reader,
            snapshot,
            is_applied: false,
            states: FxHashMap::default(),
            bytes: FxHashMap::default(),
            unreadable: Vec::new(),
        }
    }

    /// Adds the difference between the tree of the snapshot and that of `target`.
    ///
    /// Returns `false` and changes nothing if the difference has more than `MAX_BLOBS` new blobs, if the
    /// snapshot was made under other settings, or without an embedder.
    pub fn add_tree(&mut self, target: &Target) -> Result<bool, IndexError> {
        let OverlayContext { codebase, policy, embedder, progress, .. } = self.context;
        let Some(embedder) = embedder else { return Ok(false) };
        if self.snapshot.totals.settings != codebase.settings_fingerprint {
            return Ok(false);
        }
        let plan = plan::plan(codebase, policy, &self.reader, &self.snapshot, target.tree.as_ref())?;
        if plan.jobs.len() > MAX_BLOBS {
            return Ok(false);
        }
        let segment = self.segment(&plan, |reader| {
            let context = BuildContext { codebase, policy, reader, embedder, progress };
            build::build_in_memory(&context, &plan.jobs)
        })?;
        self.apply(&plan, segment.as_deref())?;
        self.snapshot.totals.tree_oid = target.tree_oid();
        Ok(true)
    }

    /// Adds the modified, added, deleted and untracked files of `status`. Returns how many it leaves out: all
    /// without an embedder, else those beyond `MAX_BLOBS`.
    pub fn add_worktree(&mut self, status: &WorktreeStatus) -> Result<usize, IndexError> {
        let OverlayContext { codebase, policy, embedder, progress, .. } = self.context;
        let changes = &status.changes.changes;
        let Some(embedder) = embedder else { return Ok(changes.len()) };
        if changes.is_empty() {
            return Ok(0);
        }
        let mut plan = Plan::default();
        let mut blobs = Vec::new();
        let mut n_omitted = 0;
        let mut files = status.reader(&codebase.repo)?;
        for change in changes {
            if progress.stopped() {
                return Err(IndexError::Interrupted { n_chunks: 0 });
            }
            // Deletions need no blob, so they are never left out.
            if blobs.len() >= MAX_BLOBS && change.bytes.is_some() {
                n_omitted += 1;
                continue;
            }
            self.plan_change(change, &mut files, &mut plan, &mut blobs)?;
        }
        let jobs: Vec<(&plan::Job, &[u8])> =
            plan.jobs.iter().zip(&blobs).map(|(job, bytes)| (job, bytes.as_slice())).collect();
        let segment = self.segment(&plan, |reader| {
            let context = BuildContext { codebase, policy, reader, embedder, progress };
            build::build_bytes(&context, &jobs)
        })?;
        self.apply(&plan, segment.as_deref())?;
        Ok(n_omitted)
    }

    /// Plans one changed file. `blobs` receives its bytes if it becomes a job.
    fn plan_change(
        &mut self,
        change: &WorktreeChange,
        files: &mut WorktreeReader,
        plan: &mut Plan,
        blobs: &mut Vec<Vec<u8>>,
    ) -> Result<(), IndexError> {
        let OverlayContext { codebase, policy, .. } = self.context;
        let old = self.reader.find_entry(&self.snapshot.entries, &change.path);
        let Some(blob) = &change.bytes else {
            plan.removed.extend(old);
            return Ok(());
        };
        let is_too_large = blob.size > policy.max_blob_bytes();
        let read = if is_too_large { Ok(None) } else { files.read(change.path.as_ref()) };
        let bytes = match read {
            // It has become unreadable, or has moved behind a link, since the comparison or unnoticed by it
            // (`core.trustCtime`). What is staged is in git all the same.
            Err(GitError::Io { .. } | GitError::PathEscapes { .. }) => {
                match codebase.repo.blobs().read(&blob.oid)? {
                    Some(staged) => staged.to_vec(),
                    None => {
                        self.unreadable.push(change.path.clone());
                        return Ok(());
                    }
                }
            }
            bytes => bytes?.unwrap_or_default(),
        };
        plan.removed.extend(old);
        self.states.insert(change.path.clone(), change.state);
        if is_too_large {
            plan.add_skipped(policy, change.path.as_ref(), blob.mode, SkipReason::TooLarge);
            return Ok(());
        }
        // The file may have changed since the comparison. The bytes read now are indexed, under their own
        // oid.
        let oid = git::hash_blob(&bytes, codebase.repo.object_hash());
        let file = PlannedFile {
            path: change.path.as_ref(),
            mode: blob.mode,
            blob_oid: oid,
            bytes: &bytes,
            previous: old,
        };
        let entry = plan.add_file(codebase, policy, &self.reader, &file);
        if matches!(entry, PlannedDoc::Job(job) if job == blobs.len()) {
            blobs.push(bytes.clone());
        }
        self.bytes.insert(oid, bytes);
        Ok(())
    }

    /// The segment with the docs of the plan's jobs, from an earlier overlay or by `build`; `None` if there
    /// are no jobs.
    fn segment(
        &self,
        plan: &Plan,
        build: impl FnOnce(&StoreReader) -> Result<(SegmentBuilder, Vec<Option<u32>>), IndexError>,
    ) -> Result<Option<Arc<OverlaySegment>>, IndexError> {
        if plan.jobs.is_empty() {
            return Ok(None);
        }
        let keys: Vec<DocKey> = plan.jobs.iter().map(|job| job.key).collect();
        if let Some(known) = self.context.files.overlay(&keys) {
            return Ok(Some(known));
        }
        let (builder, docs) = build(&self.reader)?;
        let overlay =
            Arc::new(OverlaySegment { keys, segment: Arc::new(Segment::in_memory(builder)?), docs });
        // A blob that is not in this clone may have been fetched by the next time.
        if overlay.docs.iter().all(Option::is_some) {
            self.context.files.keep_overlay(overlay.clone());
        }
        Ok(Some(overlay))
    }

    /// Applies `plan` to the snapshot, with the docs of its jobs from `segment`.
    fn apply(&mut self, plan: &Plan, segment: Option<&OverlaySegment>) -> Result<(), IndexError> {
        let doc_base = self.reader.state.next_doc();
        let docs = segment.map_or(&[][..], |overlay| &overlay.docs);
        if let Some(overlay) = segment.filter(|overlay| overlay.segment.n_docs() > 0) {
            self.reader.push_segment(overlay.segment.clone());
        }
        let added: Vec<NewEntry> = publish::new_entries(&self.reader, &plan.added, &|job| {
            docs.get(job).map(|doc| doc.map(|ordinal| doc_base + ordinal))
        });
        self.snapshot =
            publish::apply(&mut self.reader, &self.snapshot, &plan.removed, added, &mut |reader, fresh| {
                Ok(reader.push_entries(Entries::in_memory(fresh)?))
            })?;
        self.is_applied = true;
        Ok(())
    }
}
