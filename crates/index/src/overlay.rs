//! Overlay: changes that no snapshot contains, as an in-memory segment and entry file over a snapshot.
//!
//! The changes are the difference to a tree that is not indexed yet, uncommitted files, or both. They pass
//! through the same [`plan`], [`build`] and [`publish::apply`] as an update, so everything that reads the
//! result, statistics included, sees what a fresh index of the same state would show. Nothing is written.
//!
//! Blobs whose docs are in the store cost an entry. The others are chunked and embedded here, which takes
//! time in proportion to their bytes, so the budget is one of bytes and not of files. A budget of time would
//! make the answer depend on the load of the machine. Files beyond the budget are left to the updater

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use codeweaver_embed::{Absent, EmbedCost, Embedder};
use codeweaver_git::worktree::{FileState, WorktreeChange, WorktreeFile, WorktreeReader, WorktreeStatus};
use codeweaver_git::{self as git, BStr, BString, GitError, Oid};
use codeweaver_store::StoreReader;
use codeweaver_store::entries::{Entries, NewEntry};
use codeweaver_store::reader::{OpenFiles, OverlaySegment};
use codeweaver_store::rows::DocKey;
use codeweaver_store::segment::{Segment, SegmentBuilder};
use codeweaver_store::snapshot::Snapshot;

use super::build::{self, BuildContext};
use super::codebase::Codebase;
use super::error::IndexError;
use super::plan::{self, KnownDoc, KnownFile, Plan, PlannedDoc, PlannedFile};
use super::progress::Progress;
use super::publish;
use super::target::Target;
use crate::policy::{Policy, SkipReason};

/// Maximum number of new blobs in the difference to a tree. With more, a request waits for the updater.
const MAX_BLOBS: usize = 200;

/// Minimum number of bytes that a file counts as: opening and parsing a tiny one takes as long as a page of
/// text.
pub(super) const MIN_FILE_BYTES: u64 = 4096;

/// The parameters of an overlay.
#[derive(Clone, Copy)]
pub struct OverlayContext<'a> {
    pub codebase: &'a Codebase,
    /// The policy of the tree that the view shows.
    pub policy: &'a Policy,
    /// Without one, changed files are found by their words only.
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
    /// The overlaid files of the working tree.
    pub worktree: OverlaidFiles,
    /// A reader of the working tree; opened when there are overlaid files.
    pub files: Option<WorktreeReader>,
}

/// The part of an overlay that comes from the working tree.
#[derive(Default)]
pub struct OverlaidFiles {
    /// State of every overlaid file.
    pub states: FxHashMap<BString, FileState>,
    /// Contents of overlaid files, which may be in no object database.
    pub bytes: FxHashMap<Oid, Vec<u8>>,
    /// Overlaid files that were not read because the store has their docs, by their oid when they were
    /// compared.
    pub unread: FxHashMap<Oid, BString>,
    /// Changed files that exceed the budget; the overlay shows the version of the snapshot.
    pub pending: FxHashSet<BString>,
    /// Changed files that have become unreadable; the overlay shows the committed version.
    pub unreadable: Vec<BString>,
}

/// A plan for files of the working tree.
#[derive(Default)]
struct Batch {
    plan: Plan,
    /// The bytes of each job.
    blobs: Vec<Vec<u8>>,
    /// Sum over the jobs, in the unit of `overlay.max_bytes`.
    n_bytes: u64,
}

impl<'a> Overlay<'a> {
    /// An overlay without changes over `snapshot`.
    pub fn new(context: OverlayContext<'a>, reader: StoreReader, snapshot: Snapshot) -> Overlay<'a> {
        Overlay {
            context,
            reader,
            snapshot,
            is_applied: false,
            worktree: OverlaidFiles::default(),
            files: None,
        }
    }

    /// Adds the difference between the tree of the snapshot and that of `target`.
    ///
    /// Returns `false` and changes nothing if the difference has more than `MAX_BLOBS` new blobs, or if the
    /// snapshot was made under other settings.
    pub fn add_tree(&mut self, target: &Target) -> Result<bool, IndexError> {
        let OverlayContext { codebase, policy, progress, .. } = self.context;
        if self.snapshot.totals.settings != codebase.settings_fingerprint {
            return Ok(false);
        }

        let plan = plan::plan(codebase, policy, &self.reader, &self.snapshot, target.tree.as_ref())?;
        if plan.jobs.len() > MAX_BLOBS {
            return Ok(false);
        }

        let segment = self.segment(&plan, |reader, embedder| {
            let context = BuildContext { codebase, policy, reader, embedder, progress };
            build::build_in_memory(&context, &plan.jobs)
        })?;

        self.apply(&plan, segment.as_deref())?;
        self.snapshot.totals.tree_oid = target.tree_oid();
        Ok(true)
    }

    /// Adds the modified, added, deleted and untracked files of `status` within the budget, tracked ones
    /// before untracked ones, and those in `named` as they are on disk now, whatever they cost and whatever
    /// `status` says about them. `target` is the checked-out commit or tree.
    pub fn add_worktree(
        &mut self,
        status: Option<&WorktreeStatus>,
        named: &BTreeSet<BString>,
        target: &Target,
    ) -> Result<(), IndexError> {
        let OverlayContext { codebase, progress, .. } = self.context;
        let changes = status.map_or(&[][..], |status| &status.changes.changes);
        if changes.is_empty() && named.is_empty() {
            return Ok(());
        }

        let mut files = match status {
            Some(status) => status.reader(&codebase.repo)?,
            None => WorktreeReader::open(&codebase.repo)?,
        };

        let (tracked, untracked): (Vec<_>, Vec<_>) = changes
            .iter()
            .filter(|change| !named.contains(&change.path))
            .partition(|change| change.state != FileState::Untracked);

        let mut batch = Batch::default();
        for change in tracked.into_iter().chain(untracked) {
            if progress.stopped() {
                return Err(IndexError::Interrupted { n_chunks: 0 });
            }
            self.add_change(change, &mut files, &mut batch)?;
        }
        self.add_batch(&batch)?;

        // Named files have a segment of their own, so that that of the others can be reused.
        let mut batch = Batch::default();
        for path in named {
            self.add_named(path, target, &mut files, &mut batch)?;
        }
        self.add_batch(&batch)?;

        self.files = Some(files);
        Ok(())
    }

    /// Builds the jobs of `batch` and applies its plan.
    fn add_batch(&mut self, batch: &Batch) -> Result<(), IndexError> {
        let OverlayContext { codebase, policy, progress, .. } = self.context;
        let Batch { plan, blobs, .. } = batch;
        if plan.removed.is_empty() && plan.added.is_empty() {
            return Ok(());
        }

        let jobs: Vec<(&plan::Job, &[u8])> =
            plan.jobs.iter().zip(blobs).map(|(job, bytes)| (job, bytes.as_slice())).collect();
        let segment = self.segment(plan, |reader, embedder| {
            let context = BuildContext { codebase, policy, reader, embedder, progress };
            build::build_bytes(&context, &jobs)
        })?;

        self.apply(plan, segment.as_deref())
    }

    /// Plans one changed file, or leaves it to the updater if it exceeds the budget.
    fn add_change(
        &mut self,
        change: &WorktreeChange,
        files: &mut WorktreeReader,
        batch: &mut Batch,
    ) -> Result<(), IndexError> {
        let OverlayContext { codebase, policy, .. } = self.context;
        let old = self.reader.find_entry(&self.snapshot.entries, &change.path);
        let Some(blob) = &change.bytes else {
            batch.plan.removed.extend(old);
            return Ok(());
        };

        let path: &BStr = change.path.as_ref();
        if blob.size > policy.max_blob_bytes() {
            batch.plan.removed.extend(old);
            self.worktree.states.insert(change.path.clone(), change.state);
            batch.plan.add_skipped(policy, path, blob.mode, SkipReason::TooLarge);
            return Ok(());
        }

        let mut known = KnownFile { path, mode: blob.mode, blob_oid: blob.oid, bytes: None };
        // First without bytes: a file whose doc is in the store is not read.
        let mut found = batch.plan.add_known(codebase, policy, &self.reader, &known);
        let is_over = batch.n_bytes + blob.size.max(MIN_FILE_BYTES) > codebase.settings.overlay.max_bytes;
        let mut read = None;
        if found == KnownDoc::NeedsBytes || found == KnownDoc::NeedsJob && !is_over {
            let Some(bytes) = self.read_change(change, &blob.oid, files)? else { return Ok(()) };
            read = Some(bytes);
        }

        if found == KnownDoc::NeedsBytes {
            known.bytes = read.as_deref();
            found = batch.plan.add_known(codebase, policy, &self.reader, &known);
        }

        if found == KnownDoc::NeedsJob && is_over {
            self.worktree.pending.insert(change.path.clone());
            return Ok(());
        }

        batch.plan.removed.extend(old);
        self.worktree.states.insert(change.path.clone(), change.state);
        match read {
            Some(bytes) if found == KnownDoc::NeedsJob => {
                self.add_read(&PlannedBytes { path, mode: blob.mode, bytes, previous: old }, batch);
            }
            _ => {
                self.worktree.unread.insert(blob.oid, change.path.clone());
            }
        }

        Ok(())
    }

    /// Reads a changed file, or the staged version of one that has become unreadable. Returns `None`, and
    /// lists the file as unreadable, if there is neither.
    fn read_change(
        &mut self,
        change: &WorktreeChange,
        oid: &Oid,
        files: &mut WorktreeReader,
    ) -> Result<Option<Vec<u8>>, IndexError> {
        match files.read_blob(change.path.as_ref(), oid) {
            // It has become unreadable, or has moved behind a link, since the comparison or unnoticed by it
            // (`core.trustCtime`). The staged version is in git all the same.
            Err(GitError::Io { .. } | GitError::PathEscapes { .. }) => {}
            bytes => return Ok(Some(bytes?.unwrap_or_default())),
        }

        let staged = self.context.codebase.repo.blobs().read(oid)?.map(<[u8]>::to_vec);
        if staged.is_none() {
            self.worktree.unreadable.push(change.path.clone());
        }
        Ok(staged)
    }

    /// Plans the file at `path` as it is on disk now, if that differs from the snapshot.
    fn add_named(
        &mut self,
        path: &BString,
        target: &Target,
        files: &mut WorktreeReader,
        batch: &mut Batch,
    ) -> Result<(), IndexError> {
        let OverlayContext { codebase, policy, .. } = self.context;
        let old = self.reader.find_entry(&self.snapshot.entries, path);
        let (bytes, mode) = match files.file(path.as_ref()) {
            Ok(WorktreeFile::Blob { bytes, mode }) => (bytes, mode),
            // The committed version is the best that is known.
            Ok(WorktreeFile::Unknown) | Err(GitError::Io { .. }) => return Ok(()),
            Ok(WorktreeFile::Absent) | Err(GitError::PathEscapes { .. }) => {
                batch.plan.removed.extend(old);
                return Ok(());
            }
            Err(e) => return Err(e.into()),
        };

        let oid = git::hash_blob(&bytes, codebase.repo.object_hash());
        if old.is_some_and(|id| self.reader.blob_of(id) == Some(oid)) {
            return Ok(());
        }

        let committed = match &target.tree {
            Some(tree) => git::entry_at(&codebase.repo, tree, path.as_ref())?.map(|file| file.oid),
            None => None,
        };
        let state = match files.indexed(path.as_ref())? {
            // The file is as committed in `target`; only the snapshot is of another tree.
            _ if committed == Some(oid) => None,
            Some(staged) if staged == oid => Some(FileState::Staged),
            Some(_) => Some(FileState::Dirty),
            None => Some(FileState::Untracked),
        };

        batch.plan.removed.extend(old);
        self.worktree.states.extend(state.map(|state| (path.clone(), state)));
        if bytes.len() as u64 > policy.max_blob_bytes() {
            batch.plan.add_skipped(policy, path.as_ref(), mode, SkipReason::TooLarge);
            return Ok(());
        }

        self.add_read(&PlannedBytes { path: path.as_ref(), mode, bytes, previous: old }, batch);
        Ok(())
    }

    /// Plans a file from bytes that were read. They are indexed under their own oid, since the file may have
    /// changed since it was compared.
    fn add_read(&mut self, file: &PlannedBytes<'_>, batch: &mut Batch) {
        let OverlayContext { codebase, policy, .. } = self.context;
        let PlannedBytes { path, mode, bytes, previous } = file;

        let blob_oid = git::hash_blob(bytes, codebase.repo.object_hash());
        let planned = PlannedFile { path, mode: *mode, blob_oid, bytes, previous: *previous };
        let entry = batch.plan.add_file(codebase, policy, &self.reader, &planned);

        if matches!(entry, PlannedDoc::Job(job) if job == batch.blobs.len()) {
            batch.blobs.push(bytes.clone());
            batch.n_bytes += (bytes.len() as u64).max(MIN_FILE_BYTES);
        }

        self.worktree.bytes.insert(blob_oid, bytes.clone());
    }

    /// The segment with the docs of the plan's jobs, from an earlier overlay or built by `build`; `None` if
    /// there are no jobs. If the model is missing or fails, the docs have no vectors.
    fn segment(
        &self,
        plan: &Plan,
        build: impl Fn(&StoreReader, &dyn Embedder) -> Result<(SegmentBuilder, Vec<Option<u32>>), IndexError>,
    ) -> Result<Option<Arc<OverlaySegment>>, IndexError> {
        if plan.jobs.is_empty() {
            return Ok(None);
        }

        let keys: Vec<DocKey> = plan.jobs.iter().map(|job| job.key).collect();
        if let Some(known) = self.context.files.overlay(&keys) {
            return Ok(Some(known));
        }

        // A query sends no file to an API; vectors of unchanged chunks come from the store.
        let is_api = self.context.embedder.is_some_and(|embedder| embedder.cost() == EmbedCost::Api);
        let absent = Absent {
            fingerprint: &self.context.codebase.vector_space,
            dim: self.snapshot.totals.vector_sum.len(),
            cost: if is_api { EmbedCost::Api } else { EmbedCost::Table },
        };
        let embedder = self.context.embedder.filter(|_| !is_api).unwrap_or(&absent);

        let mut is_reusable = true;
        let built = match build(&self.reader, embedder) {
            Err(IndexError::Embed(error)) => {
                tracing::warn!(component = "indexer", operation = "overlay", error = %error, "changed files have no vectors");
                is_reusable = false;
                build(&self.reader, &absent)
            }
            built => built,
        };
        let (builder, docs) = built?;

        let overlay =
            Arc::new(OverlaySegment { keys, segment: Arc::new(Segment::in_memory(builder)?), docs });

        // Not reused if a blob was missing, which may have been fetched by the next time, or if the model
        // failed, which may work again.
        if is_reusable && overlay.docs.iter().all(Option::is_some) {
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

/// A file of the working tree that has been read.
struct PlannedBytes<'p> {
    path: &'p BStr,
    mode: git::Mode,
    bytes: Vec<u8>,
    previous: Option<u32>,
}
