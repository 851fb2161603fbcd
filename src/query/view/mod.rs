//! What a question is answered from: one snapshot, with uncommitted and not yet indexed changes laid over it in memory.
//!
//! Changes become one more segment and one more entry file that are never written, and pass through the same arithmetic
//! as a publication. So everything behind this point, statistics included, sees exactly what a fresh index of the same
//! state would show (requirements G8, S5).

pub mod freshness;
mod members;
pub mod scope;

use super::cancel::Cancel;
use super::error::QueryError;
use super::request::Filters;
use crate::embed::Embedder;
use crate::git::{self, BString, BlobReader, GitError, Oid};
use crate::index::build;
use crate::index::plan::{self, Plan, PlannedDoc};
use crate::index::publish;
use crate::index::{Codebase, IndexError, Lifecycle, Target};
use crate::policy::{PathFlags, Policy, SkipReason};
use crate::store::StoreReader;
use crate::store::entries::{Entries, NewEntry};
use crate::store::live::LiveRows;
use crate::store::reader::{OpenFiles, OverlaySegment};
use crate::store::rows::DocKey;
use crate::store::segment::{Segment, SegmentBuilder};
use crate::store::snapshot::Snapshot;
use crate::store::state::Head;
use crate::worktree::{FileState, StatusEngine, WorktreeChange, WorktreeReader, WorktreeStatus};
use members::{Members, MembersMemory};
use rustc_hash::FxHashMap;
use scope::Scope;
use std::sync::Arc;
use std::time::Duration;

/// Blobs that are chunked in memory for one question; more are left to the updater.
const INLINE_BLOBS: usize = 200;
/// Times the state is read anew when a snapshot it names has been collected meanwhile.
const RETRIES: usize = 3;

/// How an answer relates to HEAD and the working tree (L7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// The snapshot is HEAD's and the working tree is clean, as far as it was checked.
    Fresh,
    /// The updater caught up while we waited.
    Synced,
    /// Changes were laid over the snapshot.
    Overlaid,
    /// A first index is running; its growing snapshot answers.
    SkippedIndexing,
    /// The snapshot is of another tree than the one asked for.
    Stale,
}

/// State of a file that is shown (G8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchState {
    Committed,
    Staged,
    Dirty,
    Untracked,
}

/// Which tree is asked about.
#[derive(Clone)]
pub struct Wanted {
    /// As typed, or `HEAD`.
    pub spec: String,
    pub target: Target,
    pub worktree: Worktree,
    /// Whether somebody still waits.
    pub cancel: Cancel,
}

/// How the working tree comes in.
#[derive(Clone)]
pub enum Worktree {
    /// It does not.
    LeftOut,
    /// It is compared, within this time, and laid over the tree.
    Within(Duration),
    /// As [`Self::Within`], but it was compared just now.
    Compared(WorktreeStatus),
}

/// What views have in common, kept by a long-lived process.
#[derive(Default)]
pub struct ViewMemory {
    files: OpenFiles,
    pub(super) worktree: StatusEngine,
    members: MembersMemory,
}

/// An answerable state of the codebase.
pub struct View {
    pub reader: StoreReader,
    pub snapshot: Snapshot,
    members: Arc<Members>,
    pub freshness: Freshness,
    /// The tree that the view shows, without the working tree.
    pub tree_oid: String,
    pub spec: String,
    pub commit: Option<String>,
    /// What HEAD is, for the answer's proof.
    pub head_commit: Option<String>,
    /// The complete snapshot of this worktree is of another tree than HEAD: the updater has something to do.
    pub is_behind: bool,
    pub n_dirty: usize,
    /// Paths that were not compared with the disk.
    pub unchecked: usize,
    /// How the working tree was compared, if it was.
    pub compared: Option<WorktreeStatus>,
    pub warnings: Vec<String>,
    /// Files done and wanted while a first index grows.
    pub coverage: Option<(u64, u64)>,
    states: FxHashMap<BString, MatchState>,
    /// Bytes of blobs that may be in no object database.
    bytes: FxHashMap<Oid, Vec<u8>>,
}

/// A chunk of a view: a row of one of its segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RowId {
    pub segment: u32,
    pub row: u32,
}

/// Where the view of `wanted` cannot be had without the updater.
pub enum Opened {
    View(Box<View>),
    /// Too much is not indexed to do it in memory: the updater should be asked, then try again. The view that can be had
    /// meanwhile, if any, is of another tree.
    Behind(Option<Box<View>>),
}

impl ViewMemory {
    /// Whether the working tree was as `target` when it was compared last, by an earlier process.
    pub fn was_clean(&self, codebase: &Codebase, target: &Target) -> bool {
        codebase.repo.work_dir().is_some()
            && self.worktree.was_clean(&codebase.repo, target.tree.as_ref(), &codebase.stat_cache())
    }

    /// Compares the working tree with `target`.
    pub fn compare(
        &self,
        codebase: &Codebase,
        target: &Target,
        budget: Duration,
    ) -> Result<WorktreeStatus, GitError> {
        self.worktree.status(&codebase.repo, target.tree.as_ref(), &codebase.stat_cache(), budget)
    }
}

impl View {
    /// Opens the view of `wanted`. Never writes.
    pub fn open(
        codebase: &Codebase,
        embedder: Option<&dyn Embedder>,
        memory: &ViewMemory,
        wanted: &Wanted,
    ) -> Result<Opened, QueryError> {
        let mut attempt = 0;
        loop {
            match View::try_open(codebase, embedder, memory, wanted) {
                // Collected between reading the state and reading what it names: the state has moved on.
                Err(QueryError::Store(e)) if e.is_not_found() && attempt < RETRIES => attempt += 1,
                result => return result,
            }
        }
    }

    fn try_open(
        codebase: &Codebase,
        embedder: Option<&dyn Embedder>,
        memory: &ViewMemory,
        wanted: &Wanted,
    ) -> Result<Opened, QueryError> {
        codebase.check_trust()?;
        let budget = match &wanted.worktree {
            Worktree::Within(budget) if codebase.repo.work_dir().is_some() => *budget,
            Worktree::Compared(compared) => {
                let compared = compared.clone();
                return View::try_open_comparing(codebase, embedder, memory, wanted, || Ok(Some(compared)));
            }
            Worktree::LeftOut | Worktree::Within(_) => {
                return View::try_open_comparing(codebase, embedder, memory, wanted, || Ok(None));
            }
        };
        let compare = || memory.compare(codebase, &wanted.target, budget).map(Some);
        if memory.worktree.is_monitored() || !codebase.knows(&wanted.target) {
            return View::try_open_comparing(codebase, embedder, memory, wanted, compare);
        }
        // Looking at all files takes longer than opening the index, and needs other things.
        std::thread::scope(|scope| {
            let comparing = scope.spawn(compare);
            View::try_open_comparing(codebase, embedder, memory, wanted, || {
                comparing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }

    fn try_open_comparing(
        codebase: &Codebase,
        embedder: Option<&dyn Embedder>,
        memory: &ViewMemory,
        wanted: &Wanted,
        compare: impl FnOnce() -> Result<Option<WorktreeStatus>, GitError>,
    ) -> Result<Opened, QueryError> {
        let reader = StoreReader::open_with(&codebase.store(), &memory.files)?;
        let lifecycle = codebase.lifecycle(reader.as_ref());
        let Some(reader) = reader else { return Err(QueryError::Gated(lifecycle)) };
        let own = reader.state.heads.get(&codebase.worktree_key).cloned();
        // During a reindex, the old complete snapshot answers as ever (L5).
        let is_first = |head: &&Head| head.marker.is_none() && lifecycle == Lifecycle::Indexing;
        if let Some(head) = own.as_ref().filter(is_first)
            && let Some(snapshot) = reader.snapshot(&head.snapshot)?
        {
            return growing(codebase, memory, reader, head, snapshot, wanted);
        }
        if matches!(lifecycle, Lifecycle::RequiresReindex { .. } | Lifecycle::IndexFailed(_)) {
            return Err(QueryError::Gated(lifecycle));
        }
        let tree_oid = wanted.target.tree_oid();
        let exact = reader.snapshot(&codebase.snapshot_key(&tree_oid))?;
        let is_exact = exact.is_some();
        let base = match exact {
            Some(snapshot) => snapshot,
            None => match nearest(codebase, &reader)? {
                Some(snapshot) => snapshot,
                None if lifecycle == Lifecycle::Indexing => return Err(QueryError::Gated(lifecycle)),
                None => return Err(QueryError::Gated(Lifecycle::NotIndexed)),
            },
        };
        let policy = Policy::for_tree(&codebase.repo, wanted.target.tree.as_ref(), &codebase.settings.policy)
            .map_err(crate::index::IndexError::from)?;
        let mut overlay = Overlay {
            codebase,
            memory,
            embedder,
            policy: &policy,
            reader,
            snapshot: base,
            view: Parts::default(),
        };
        if !is_exact && !overlay.commit(wanted)? {
            let mut view = overlay.finish(wanted);
            view.freshness = Freshness::Stale;
            view.warnings.push(format!(
                "the index is of tree {}, {} is not indexed yet",
                short(&view.tree_oid),
                wanted.spec
            ));
            return Ok(Opened::Behind(Some(Box::new(view))));
        }
        if let Some(compared) = compare()? {
            overlay.worktree(wanted, compared)?;
        }
        Ok(Opened::View(Box::new(overlay.finish(wanted))))
    }

    /// This view of a commit, once the working tree turned out to be as committed.
    pub fn with_clean_worktree(mut self, compared: WorktreeStatus) -> View {
        self.unchecked = compared.changes.unchecked;
        self.compared = Some(compared);
        self
    }

    /// Live rows per segment.
    pub fn live(&self) -> &[LiveRows] {
        &self.members.rows
    }

    /// Live entries of a doc.
    pub fn entries_of(&self, doc: u32) -> impl Iterator<Item = u32> + '_ {
        self.members.entries_of(doc)
    }

    /// The rows that `filters` let through.
    pub fn scope(&self, filters: &Filters) -> Arc<Scope> {
        self.members.scope(filters, || Scope::new(self, filters))
    }

    /// Path and flags of an entry.
    pub fn entry(&self, id: u32) -> (&[u8], PathFlags) {
        match self.reader.entry(id) {
            Some((record, path)) => (path, PathFlags(record.flags as u8)),
            None => (&[], PathFlags::default()),
        }
    }

    pub fn state_of(&self, path: &[u8]) -> MatchState {
        self.states.get(path).copied().unwrap_or(MatchState::Committed)
    }

    /// The bytes of a blob: of the working tree if it came from there, else from git. `None` if it is not in this clone.
    pub fn blob(&self, codebase: &Codebase, oid: &Oid) -> Result<Option<Vec<u8>>, QueryError> {
        self.blob_from(&mut codebase.repo.blobs(), oid)
    }

    /// [`Self::blob`] for whoever wants several: a reader keeps what it found of the packs.
    pub fn blob_from(&self, blobs: &mut BlobReader, oid: &Oid) -> Result<Option<Vec<u8>>, QueryError> {
        if let Some(bytes) = self.bytes.get(oid) {
            return Ok(Some(bytes.clone()));
        }
        Ok(blobs.read(oid)?.map(<[u8]>::to_vec))
    }

    pub fn n_rows(&self) -> u64 {
        self.snapshot.totals.n_rows
    }
}

/// The growing snapshot of a first index (L5).
fn growing(
    codebase: &Codebase,
    memory: &ViewMemory,
    reader: StoreReader,
    head: &Head,
    snapshot: Snapshot,
    wanted: &Wanted,
) -> Result<Opened, QueryError> {
    let policy = Policy::for_tree(&codebase.repo, wanted.target.tree.as_ref(), &codebase.settings.policy)
        .map_err(crate::index::IndexError::from)?;
    let overlay = Overlay {
        codebase,
        memory,
        embedder: None,
        policy: &policy,
        reader,
        snapshot,
        view: Parts::default(),
    };
    let mut view = overlay.finish(wanted);
    view.freshness = Freshness::SkippedIndexing;
    view.coverage = head.progress;
    view.warnings.push("Results may be incomplete, indexing in progress".to_owned());
    Ok(Opened::View(Box::new(view)))
}

/// The complete snapshot with presumably the smallest difference: this worktree's, else any other's.
fn nearest(codebase: &Codebase, reader: &StoreReader) -> Result<Option<Snapshot>, QueryError> {
    let own = reader.state.heads.get(&codebase.worktree_key);
    let others =
        reader.state.heads.iter().filter(|(key, _)| **key != codebase.worktree_key).map(|(_, head)| head);
    for head in own.into_iter().chain(others).filter(|head| head.marker.is_some()) {
        if let Some(snapshot) = reader.snapshot(&head.snapshot)? {
            return Ok(Some(snapshot));
        }
    }
    Ok(None)
}

#[derive(Default)]
struct Parts {
    n_dirty: usize,
    unchecked: usize,
    compared: Option<WorktreeStatus>,
    overlaid: bool,
    warnings: Vec<String>,
    states: FxHashMap<BString, MatchState>,
    bytes: FxHashMap<Oid, Vec<u8>>,
}

struct Overlay<'a> {
    codebase: &'a Codebase,
    memory: &'a ViewMemory,
    embedder: Option<&'a dyn Embedder>,
    policy: &'a Policy,
    reader: StoreReader,
    snapshot: Snapshot,
    view: Parts,
}

impl Overlay<'_> {
    /// Lays the difference between the snapshot's tree and the wanted one over it; false if that is too much to do here.
    fn commit(&mut self, wanted: &Wanted) -> Result<bool, QueryError> {
        let Some(embedder) = self.embedder else { return Ok(false) };
        if self.snapshot.totals.settings != self.codebase.settings_fingerprint {
            return Ok(false);
        }
        let tree = wanted.target.tree.as_ref();
        let plan = plan::plan(self.codebase, self.policy, &self.reader, &self.snapshot, tree)?;
        if plan.jobs.len() > INLINE_BLOBS {
            return Ok(false);
        }
        let built = self.built(&plan, |overlay| {
            build::build_in_memory(
                overlay.codebase,
                overlay.policy,
                &overlay.reader,
                embedder,
                &plan.jobs,
                &wanted.cancel,
            )
        });
        wanted.cancel.check()?;
        let built = built?;
        self.lay(&plan, built.as_deref())?;
        self.snapshot.totals.tree_oid = wanted.target.tree_oid();
        self.view.overlaid = true;
        Ok(true)
    }

    /// Lays modified, added, deleted and untracked files over it.
    fn worktree(&mut self, wanted: &Wanted, compared: WorktreeStatus) -> Result<(), QueryError> {
        wanted.cancel.check()?;
        let found = compared.changes.clone();
        self.view.compared = Some(compared.clone());
        self.view.unchecked = found.unchecked;
        self.view.n_dirty = found.changes.len();
        if !found.filtered.is_empty() {
            let n = found.filtered.len();
            self.view
                .warnings
                .push(format!("{n} changed files have a filter driver and are shown as committed"));
        }
        if found.changes.is_empty() {
            return Ok(());
        }
        let Some(embedder) = self.embedder else {
            self.view.warnings.push("uncommitted changes are not shown".to_owned());
            return Ok(());
        };
        let mut plan = Plan::default();
        let mut blobs = Vec::new();
        let mut left_out = 0;
        let mut files = compared.reader(&self.codebase.repo)?;
        for change in &found.changes {
            wanted.cancel.check()?;
            // A deletion costs nothing, so none is ever left out.
            if blobs.len() >= INLINE_BLOBS && change.bytes.is_some() {
                left_out += 1;
                continue;
            }
            self.plan_change(change, &mut files, &mut plan, &mut blobs)?;
        }
        if left_out > 0 {
            self.view.warnings.push(format!("{left_out} more changed files are shown as committed"));
        }
        let jobs: Vec<(&plan::Job, &[u8])> =
            plan.jobs.iter().zip(&blobs).map(|(job, bytes)| (job, bytes.as_slice())).collect();
        let built = self.built(&plan, |overlay| {
            build::build_bytes(
                overlay.codebase,
                overlay.policy,
                &overlay.reader,
                embedder,
                &jobs,
                &wanted.cancel,
            )
        });
        wanted.cancel.check()?;
        let built = built?;
        self.lay(&plan, built.as_deref())?;
        self.view.overlaid = true;
        Ok(())
    }

    fn plan_change(
        &mut self,
        change: &WorktreeChange,
        files: &mut WorktreeReader,
        plan: &mut Plan,
        blobs: &mut Vec<Vec<u8>>,
    ) -> Result<(), QueryError> {
        let old = self.reader.find_entry(&self.snapshot.entries, &change.path);
        plan.removed.extend(old);
        let Some(blob) = &change.bytes else { return Ok(()) };
        let state = match change.state {
            FileState::Staged => MatchState::Staged,
            FileState::Dirty => MatchState::Dirty,
            FileState::Untracked => MatchState::Untracked,
        };
        self.view.states.insert(change.path.clone(), state);
        if blob.size > self.policy.max_blob_bytes() {
            plan::plan_left_out(self.policy, change.path.as_ref(), blob.mode, SkipReason::TooLarge, plan);
            return Ok(());
        }
        let bytes = match files.read(change.path.as_ref()) {
            // Since it was compared, it has become unreadable or has moved behind a link: nothing of it can be shown.
            Err(GitError::Io { .. } | GitError::PathEscapes { .. }) => Vec::new(),
            bytes => bytes?.unwrap_or_default(),
        };
        // The file may have changed since it was compared: what is indexed is what is read now, under its own oid.
        let oid = git::hash_blob(&bytes, self.codebase.repo.object_hash());
        let entry = plan::plan_bytes(
            self.codebase,
            self.policy,
            &self.reader,
            change.path.as_ref(),
            blob.mode,
            oid,
            &bytes,
            old,
            plan,
        );
        if matches!(entry, PlannedDoc::Job(job) if job == blobs.len()) {
            blobs.push(bytes.clone());
        }
        self.view.bytes.insert(oid, bytes);
        Ok(())
    }

    /// The docs of a plan's jobs, built now or for an earlier view; `None` if there are none.
    fn built(
        &self,
        plan: &Plan,
        build: impl FnOnce(&Self) -> Result<(SegmentBuilder, Vec<Option<u32>>), IndexError>,
    ) -> Result<Option<Arc<OverlaySegment>>, QueryError> {
        if plan.jobs.is_empty() {
            return Ok(None);
        }
        let keys: Vec<DocKey> = plan.jobs.iter().map(|job| job.key).collect();
        if let Some(known) = self.memory.files.overlay(&keys) {
            return Ok(Some(known));
        }
        let (builder, docs) = build(self)?;
        let overlay =
            Arc::new(OverlaySegment { keys, segment: Arc::new(Segment::in_memory(builder)?), docs });
        // A blob that is not in this clone may be there the next time.
        if overlay.docs.iter().all(Option::is_some) {
            self.memory.files.keep_overlay(overlay.clone());
        }
        Ok(Some(overlay))
    }

    /// Adds planned entries with the docs that were built for them.
    fn lay(&mut self, plan: &Plan, built: Option<&OverlaySegment>) -> Result<(), QueryError> {
        let doc_base = self.reader.state.next_doc();
        let docs = built.map_or(&[][..], |built| &built.docs);
        if let Some(built) = built.filter(|built| built.segment.n_docs() > 0) {
            self.reader.push_segment(built.segment.clone());
        }
        let added: Vec<NewEntry> = publish::new_entries(&self.reader, &plan.added, &|job| {
            docs.get(job).map(|doc| doc.map(|ordinal| doc_base + ordinal))
        });
        self.snapshot =
            publish::apply(&mut self.reader, &self.snapshot, &plan.removed, added, &mut |reader, fresh| {
                Ok(reader.push_entries(Entries::in_memory(fresh)?))
            })?;
        Ok(())
    }

    fn finish(self, wanted: &Wanted) -> View {
        let members = self.memory.members.of(&self.reader, &self.snapshot.entries);
        let head = self.codebase.repo.head().ok();
        let head_tree = head.as_ref().and_then(|head| head.tree).map(|oid| oid.to_string());
        let is_behind =
            !freshness::is_current(self.codebase, Some(&*self.reader.state), head_tree.as_deref());
        View {
            members,
            freshness: if self.view.overlaid { Freshness::Overlaid } else { Freshness::Fresh },
            tree_oid: self.snapshot.totals.tree_oid.clone(),
            spec: wanted.spec.clone(),
            commit: wanted.target.commit.map(|oid| oid.to_string()),
            head_commit: head.and_then(|head| head.commit).map(|oid| oid.to_string()),
            is_behind,
            n_dirty: self.view.n_dirty,
            unchecked: self.view.unchecked,
            compared: self.view.compared,
            warnings: self.view.warnings,
            coverage: None,
            states: self.view.states,
            bytes: self.view.bytes,
            reader: self.reader,
            snapshot: self.snapshot,
        }
    }
}

/// The first twelve characters of an object id.
pub fn short(oid: &str) -> &str {
    oid.get(..12).unwrap_or(oid)
}
