//! One update: from a wanted tree to a published snapshot.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use codeweaver_base::random;
use codeweaver_embed::{EmbedCost, Embedder};
use codeweaver_git::{self as git, Oid};
use codeweaver_store::chunking::Chunking;
use codeweaver_store::reader::OpenFiles;
use codeweaver_store::segment::Segment;
use codeweaver_store::snapshot::{Snapshot, Totals};
use codeweaver_store::state::{Head, MARKER_KIND, Marker, Phase, RunRecord, SegmentRef, State};
use codeweaver_store::{StoreReader, time};

use super::arrivals;
use super::build::{self, BuildContext, Built, Estimate, Tuning};
use super::codebase::Codebase;
use super::compact;
use super::error::IndexError;
use super::order;
use super::plan::{self, Plan};
use super::progress::{Counters, Meter, Progress};
use super::publish::{self, Publication, Published};
use super::target::Target;
use super::vector_cache;
use crate::policy::{Policy, skip_reason};

/// Numbers of files in a first index above which a run warns, and above which it is refused.
const WARN_FILES: usize = 50_000;
const REFUSE_FILES: usize = 500_000;

/// Options of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct UpdateOptions {
    /// Build everything again, without regard to the store.
    pub reindex: bool,
    /// Allow a first index of more than 500,000 files.
    pub allow_huge: bool,
}

/// The result of an update. The counters show that the work was proportional to the change.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct UpdateReport {
    /// Hexadecimal oid of the tree.
    pub tree: String,
    /// Hexadecimal oid of the commit.
    pub commit: Option<String>,
    /// Whether the tree was indexed already.
    pub known: bool,
    /// Paths that the new snapshot has with another doc than the base, or not at all.
    pub files_changed: u64,
    /// Blobs read, chunked and embedded.
    pub blobs_indexed: u64,
    /// Chunks written.
    pub chunks_created: u64,
    /// Vectors computed, without reused ones.
    pub embedded_chunks: u64,
    /// Indexed paths of the snapshot.
    pub files: u64,
    /// Chunks of the snapshot.
    pub chunks: u64,
    /// Skipped paths of the snapshot by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Indexed paths without a known language, by extension.
    pub unknown_extensions: BTreeMap<String, u64>,
    /// Bytes of all blobs read.
    pub bytes_read: u64,
    /// Files that were left out because of an error: not in this clone, or parsing crashed.
    pub errors: u64,
    /// Duration of the run in milliseconds.
    pub duration_ms: u64,
}

/// The parameters of an update.
#[derive(Clone, Copy)]
pub struct UpdateContext<'a> {
    /// The worktree whose work lease the caller holds.
    pub codebase: &'a Codebase,
    /// The model of the settings.
    pub embedder: &'a dyn Embedder,
    /// Files of the store that are open already.
    pub files: &'a OpenFiles,
    /// Receives progress, and can stop the run.
    pub progress: &'a dyn Progress,
}

/// Brings the store to `target`.
pub fn update(
    context: &UpdateContext<'_>,
    target: &Target,
    options: UpdateOptions,
) -> Result<UpdateReport, IndexError> {
    let UpdateContext { codebase, embedder, files, progress } = *context;
    let started = Instant::now();

    if let Some(path) = git::tracked_store(&codebase.repo, target.tree.as_ref())? {
        return Err(IndexError::Tracked { path: path.to_string() });
    }

    let store = codebase.create_store()?;
    let reader = StoreReader::open_with(&store, files)?.unwrap_or_else(|| StoreReader::empty(&store));
    // Only the marker of a head names the worktree.
    let worktree_id = if target.is_head { codebase.layout.create_worktree_id()? } else { None };
    let sealed_before = Vec::new();
    let mut run =
        Run { codebase, embedder, target, options, progress, files, started, worktree_id, sealed_before };

    if !options.reindex
        && let Some(segments) = run.unfinished_reindex(&reader)
    {
        run.options.reindex = true;
        run.sealed_before = segments;
    }

    let result = if run.options.reindex { run.reindex(&reader) } else { run.from(reader) };
    if let Err(e) = &result {
        run.record_failure(e);
    }
    result
}

/// Estimates the work of [`update`]. Writes nothing but the vector cache; `context.embedder` may be an absent
/// one.
pub fn estimate(
    context: &UpdateContext<'_>,
    target: &Target,
    options: UpdateOptions,
) -> Result<Estimate, IndexError> {
    let UpdateContext { codebase, embedder, files, progress } = *context;

    let store = codebase.store();
    let stored = if options.reindex { None } else { StoreReader::open_with(&store, files)? };
    let reader = stored.unwrap_or_else(|| StoreReader::empty(&store));

    let (started, worktree_id, sealed_before) = (Instant::now(), None, Vec::new());
    let run =
        Run { codebase, embedder, target, options, progress, files, started, worktree_id, sealed_before };
    let base = run.choose_base(&reader)?;
    let policy = Policy::for_tree(&codebase.repo, target.tree.as_ref(), &codebase.settings.policy)?;
    let plan = plan::plan(codebase, &policy, &reader, &base, target.tree.as_ref())?;

    let context = BuildContext { codebase, policy: &policy, reader: &reader, embedder, progress };
    build::estimate(&context, &plan.jobs)
}

/// One run of [`update`].
struct Run<'a> {
    codebase: &'a Codebase,
    embedder: &'a dyn Embedder,
    target: &'a Target,
    options: UpdateOptions,
    progress: &'a dyn Progress,
    files: &'a OpenFiles,
    started: Instant,
    /// See [`codeweaver_store::Layout::worktree_id`].
    worktree_id: Option<String>,
    /// Segments that an earlier run of the same reindex sealed.
    sealed_before: Vec<SegmentRef>,
}

impl Run<'_> {
    /// Segments that an interrupted reindex of this worktree sealed; `None` if there is none to resume, or
    /// one is damaged.
    fn unfinished_reindex(&self, reader: &StoreReader) -> Option<Vec<SegmentRef>> {
        let rebuild = reader.state.rebuilding.get(&self.codebase.worktree_key)?;
        if !self.target.is_head || !rebuild.is_usable(&self.codebase.settings_fingerprint) {
            return None;
        }

        // A reindex may be a repair, so nothing is reused without verification.
        for segment in &rebuild.segments {
            let (path, shard) = (reader.layout.segment(&segment.name), reader.layout.shard(&segment.name));
            Segment::open(&path, &shard).ok()?.verify(&segment.name, &shard).ok()?;
        }
        Some(rebuild.segments.clone())
    }

    /// Builds everything again as if the store were empty, and replaces it in one publication at the end.
    /// Until then the old snapshot answers, and a killed reindex changes nothing. Segments sealed at
    /// checkpoints are recorded beside the state for the run that resumes. Then the new snapshot answers for
    /// other worktrees as well, until they are updated.
    fn reindex(&self, old: &StoreReader) -> Result<UpdateReport, IndexError> {
        let key = &self.codebase.worktree_key;
        let begins_anew = self.sealed_before.is_empty() && old.state.rebuilding.contains_key(key);

        if begins_anew || self.target.is_head && old.state.heads.contains_key(key) {
            publish::change_state(self.codebase, |state| {
                if self.sealed_before.is_empty() {
                    state.rebuilding.remove(key);
                }
                if let Some(head) = state.heads.get_mut(key).filter(|_| self.target.is_head) {
                    head.phase = Phase::Indexing;
                }
            })?;
        }

        let begun =
            State { epoch: old.state.epoch, segments: self.sealed_before.clone(), ..State::default() };
        let result = self.from(StoreReader::from_state(&self.codebase.store(), begun, self.files)?);

        // The run has ended, so its head must not stay in the phase `Indexing`.
        if matches!(result, Err(IndexError::Interrupted { .. } | IndexError::EpochChanged)) {
            publish::change_state(self.codebase, |state| {
                if let Some(head) = state.heads.get_mut(&self.codebase.worktree_key) {
                    restore_phase(head);
                }
            })?;
        }

        result
    }

    /// Updates the store that `reader` shows to the target.
    fn from(&self, reader: StoreReader) -> Result<UpdateReport, IndexError> {
        let tree_oid = self.target.tree_oid();
        let key = self.codebase.snapshot_key(&tree_oid);

        let known = match reader.snapshot(&key) {
            Ok(known) => known,
            // It is derived, so a new one replaces the damaged one.
            Err(e) => {
                tracing::warn!(component = "indexer", operation = "update", error = %e, "a snapshot cannot be read");
                None
            }
        };

        let base = match known {
            Some(known) if arrivals::count(self.codebase, &reader, &known) == 0 => {
                return self.known(&reader, &key, &known.totals);
            }
            // The snapshot is of this tree, and gets the files whose blobs were missing.
            Some(known) => known,
            None => self.choose_base(&reader)?,
        };

        let policy =
            Policy::for_tree(&self.codebase.repo, self.target.tree.as_ref(), &self.codebase.settings.policy)?;
        let mut plan = plan::plan(self.codebase, &policy, &reader, &base, self.target.tree.as_ref())?;
        self.check_size(&plan)?;
        order::for_early_answers(&self.codebase.repo, self.target.commit.as_ref(), &mut plan);

        self.progress.begin(plan.jobs.len() as u64, plan.n_bytes(self.codebase));
        let meter = Tee::new(self.progress, &plan);
        let published = self.execute(&reader, &base, &policy, &plan, &meter)?;

        if self.embedder.cost() != EmbedCost::Table {
            vector_cache::remove(self.codebase);
        }

        let counters = meter.meter.counters();
        let report = self.report(&plan, &published.snapshot.totals, &counters);
        tracing::info!(
            component = "indexer",
            operation = "update",
            duration_ms = report.duration_ms,
            codebase_root = %self.codebase.root().display(),
            files = report.files,
            blobs = report.blobs_indexed,
            chunks = report.chunks_created,
            embedded = report.embedded_chunks,
            errors = report.errors,
            "indexed"
        );

        // Notes the names in the object store, so that the next query need not look for arrivals.
        arrivals::count(self.codebase, &published.reader, &published.snapshot);
        if let Err(e) = compact::compact(self.codebase, &published.reader) {
            // The snapshot is published; compaction is only housekeeping.
            tracing::warn!(component = "indexer", operation = "compact", error = %e, "small segments could not be merged");
        }

        Ok(report)
    }

    /// Handles a tree that is indexed already: only the head may move.
    fn known(&self, reader: &StoreReader, key: &str, totals: &Totals) -> Result<UpdateReport, IndexError> {
        let previous = self.codebase.head_in(&reader.state);
        let head = self.head(key, totals, previous.cloned(), RunRecord::default());

        if self.target.is_head && !previous.is_some_and(|previous| is_same_head(previous, &head)) {
            publish::change_state(self.codebase, |state| {
                if let Some(snapshot) = state.snapshots.get_mut(key) {
                    snapshot.used_at = time::now();
                }
                state.heads.insert(self.codebase.worktree_key.clone(), head);
            })?;
        }

        let report = self.report(&Plan::default(), totals, &Counters::default());
        Ok(UpdateReport { known: true, ..report })
    }

    /// The snapshot with the smallest difference: that of this worktree, otherwise any other, otherwise the
    /// empty one.
    fn choose_base(&self, reader: &StoreReader) -> Result<Snapshot, IndexError> {
        let own = reader.state.heads.get(&self.codebase.worktree_key).map(|head| head.snapshot.clone());
        let others = reader.state.heads.values().map(|head| head.snapshot.clone());

        let mut fallback = None;

        for key in own.into_iter().chain(others) {
            // Without this snapshot the difference is larger, but the result is the same.
            let Ok(Some(snapshot)) = reader.snapshot(&key) else { continue };
            if snapshot.totals.complete && snapshot.totals.settings == self.codebase.settings_fingerprint {
                return Ok(snapshot);
            }
            fallback.get_or_insert(snapshot);
        }

        Ok(fallback.unwrap_or_default())
    }

    /// Refuses or announces a first index of very many files.
    fn check_size(&self, plan: &Plan) -> Result<(), IndexError> {
        // Hundreds of repositories may have more files in all than are allowed for one.
        let is_allowed = self.options.allow_huge || self.codebase.repo.is_catalogue();
        if plan.n_files > REFUSE_FILES && !is_allowed {
            return Err(IndexError::TooManyFiles { n_files: plan.n_files, limit: REFUSE_FILES });
        }

        if plan.n_files > WARN_FILES && plan.jobs.len() > WARN_FILES {
            self.progress.warn(&format!("{} files: the first index will take a while", plan.n_files));
        }

        Ok(())
    }

    /// Builds the docs that are missing and publishes, at checkpoints and at the end.
    fn execute(
        &self,
        reader: &StoreReader,
        base: &Snapshot,
        policy: &Policy,
        plan: &Plan,
        progress: &Tee<'_>,
    ) -> Result<Published, IndexError> {
        let mut publisher = Publisher {
            run: self,
            base,
            plan,
            meter: &progress.meter,
            epoch: reader.state.epoch,
            run_segments: Vec::new(),
            sealed: self.sealed_before.clone(),
        };
        let context =
            BuildContext { codebase: self.codebase, policy, reader, embedder: self.embedder, progress };
        let mut built = build::build(&context, &plan.jobs, Tuning::default(), |built| {
            publisher.publish(built, false).map(drop)
        })?;

        let is_complete = built.docs.len() >= plan.jobs.len();
        match publisher.publish(&mut built, is_complete)? {
            Some(published) if is_complete => Ok(published),
            // Stopped: sealed segments stay in the store, so the next run begins there.
            _ => Err(IndexError::Interrupted { n_chunks: progress.meter.counters().chunks }),
        }
    }

    /// The head after a completed run. Marker and snapshot are written together. A default `last_run` keeps
    /// the previous one.
    fn head(&self, key: &str, totals: &Totals, previous: Option<Head>, last_run: RunRecord) -> Head {
        let last_run =
            if last_run == RunRecord::default() { previous.and_then(|p| p.last_run) } else { Some(last_run) };

        Head {
            phase: Phase::Indexed,
            snapshot: key.to_owned(),
            commit: self.target.commit.map(|oid| oid.to_string()),
            reference: self.target.reference.clone(),
            marker: Some(Marker {
                kind: MARKER_KIND.to_owned(),
                codebase_path: self.codebase.root().to_string_lossy().into_owned(),
                worktree_id: self.worktree_id.clone(),
                fingerprint: self.codebase.vector_space.clone(),
                indexed_files: totals.n_paths,
                total_chunks: totals.n_rows,
                completed_at: time::now(),
                run_id: run_id(),
            }),
            progress: None,
            last_run,
            failure: None,
        }
    }

    /// The head at a checkpoint: during an incremental update the old complete snapshot keeps answering;
    /// during a first index the growing one does.
    fn growing_head(&self, key: &str, previous: Option<Head>, progress: (u64, u64)) -> Head {
        let last_run = match previous {
            Some(head) if head.marker.is_some() => return Head { progress: Some(progress), ..head },
            previous => previous.and_then(|head| head.last_run),
        };

        Head {
            phase: Phase::Indexing,
            snapshot: key.to_owned(),
            commit: self.target.commit.map(|oid| oid.to_string()),
            reference: self.target.reference.clone(),
            marker: None,
            progress: Some(progress),
            last_run,
            failure: None,
        }
    }

    /// Records the failure of a first index. A failed increment leaves the state unchanged.
    fn record_failure(&self, error: &IndexError) {
        if matches!(error, IndexError::Interrupted { .. } | IndexError::EpochChanged) || !self.target.is_head
        {
            return;
        }

        let message = error.to_string();

        let recorded = publish::change_state(self.codebase, |state| {
            let head = state
                .heads
                .entry(self.codebase.worktree_key.clone())
                .or_insert_with(|| self.growing_head("", None, (0, 0)));
            restore_phase(head);
            head.failure = Some(message);
        });

        if let Err(e) = recorded {
            tracing::warn!(component = "indexer", operation = "update", error = %e, "the failure could not be recorded");
        }
    }

    fn run_record(&self, plan: &Plan, counters: &Counters, chunking: Chunking) -> RunRecord {
        RunRecord {
            finished_at: time::now(),
            duration_ms: self.started.elapsed().as_millis() as u64,
            files_changed: (plan.added.len().max(plan.removed.len())) as u64,
            chunks_created: counters.chunks,
            embedded_chunks: counters.embedded,
            chunking,
        }
    }

    fn report(&self, plan: &Plan, totals: &Totals, counters: &Counters) -> UpdateReport {
        let mut skipped = BTreeMap::new();
        for (number, n) in &totals.skipped {
            let reason = skip_reason(*number).map_or("unknown", |reason| reason.name());
            skipped.insert(reason.to_owned(), *n);
        }

        UpdateReport {
            tree: totals.tree_oid.clone(),
            commit: self.target.commit.map(|oid| oid.to_string()),
            known: false,
            files_changed: plan.added.len().max(plan.removed.len()) as u64,
            blobs_indexed: counters.files,
            chunks_created: counters.chunks,
            embedded_chunks: counters.embedded,
            files: totals.n_paths,
            chunks: totals.n_rows,
            skipped,
            unknown_extensions: plan.unknown_extensions.clone(),
            bytes_read: counters.bytes,
            errors: counters.errors,
            duration_ms: self.started.elapsed().as_millis() as u64,
        }
    }
}

/// The publications of one run: at checkpoints, and of the whole tree at the end.
struct Publisher<'a> {
    run: &'a Run<'a>,
    base: &'a Snapshot,
    plan: &'a Plan,
    meter: &'a Meter,
    /// The epoch of the state that the next publication builds on.
    epoch: u64,
    /// Names of all segments of this run, published or not.
    run_segments: Vec<String>,
    /// Segments of the next publication. A reindex publishes everything at its end; other runs publish what
    /// was sealed since the last checkpoint.
    sealed: Vec<SegmentRef>,
}

impl Publisher<'_> {
    /// Publishes the segments that `built` has gained, as a snapshot of the whole tree if it `is_complete`.
    /// An unfinished reindex is only recorded, and `None` is returned.
    fn publish(&mut self, built: &mut Built, is_complete: bool) -> Result<Option<Published>, IndexError> {
        let replaces = self.run.options.reindex;
        let codebase = self.run.codebase;

        let new = std::mem::take(&mut built.segments);
        self.run_segments.extend(new.iter().map(|segment| segment.name.clone()));
        if !replaces {
            self.sealed.clear();
        }
        self.sealed.extend(new);

        if replaces && !is_complete {
            if !self.sealed.is_empty() {
                publish::note_rebuild(codebase, self.epoch, &self.sealed)?;
            }
            return Ok(None);
        }

        let publication = Publication {
            base: self.base,
            removed: &self.plan.removed,
            added: &self.plan.added,
            segments: &self.sealed,
            docs: &built.docs,
            run_segments: &self.run_segments,
            tree_oid: self.run.target.tree_oid(),
            complete: is_complete,
            replaces,
        };
        let counters = self.meter.counters();
        let done = (built.docs.len() as u64, self.plan.jobs.len() as u64);
        let published =
            publish::publish(codebase, self.epoch, self.run.files, &publication, |key, totals, previous| {
                if !self.run.target.is_head {
                    None
                } else if is_complete {
                    let record = self.run.run_record(self.plan, &counters, self.meter.chunking());
                    Some(self.run.head(key, totals, previous, record))
                } else {
                    Some(self.run.growing_head(key, previous, done))
                }
            })?;

        // The first publication of a new store assigns its epoch.
        self.epoch = published.reader.state.epoch;
        Ok(Some(published))
    }
}

/// Restores the phase of a head after a run that did not complete: as before it, if there was an index.
fn restore_phase(head: &mut Head) {
    head.phase = if head.marker.is_some() { Phase::Indexed } else { Phase::IndexFailed };
}

fn is_same_head(a: &Head, b: &Head) -> bool {
    (a.phase, &a.snapshot, &a.commit, &a.reference, &a.failure, marker_identity(a))
        == (b.phase, &b.snapshot, &b.commit, &b.reference, &b.failure, marker_identity(b))
}

/// The parts of a completion marker that do not change from run to run.
fn marker_identity(head: &Head) -> Option<(&str, &str, Option<&str>)> {
    let marker = head.marker.as_ref()?;
    Some((&marker.fingerprint, &marker.codebase_path, marker.worktree_id.as_deref()))
}

/// A random id for markers and logs.
fn run_id() -> String {
    format!("{:016x}", random::bits64())
}

/// Time between two announcements of a file, since its path must be looked for in the whole plan.
const FILE_INTERVAL: Duration = Duration::from_millis(500);

/// Counts progress, and passes everything on. Blobs that are read are announced as files.
struct Tee<'a> {
    meter: Meter,
    outer: &'a dyn Progress,
    plan: &'a Plan,
    /// When a file was announced last.
    announced: Mutex<Option<Instant>>,
}

impl<'a> Tee<'a> {
    fn new(outer: &'a dyn Progress, plan: &'a Plan) -> Tee<'a> {
        Tee { meter: Meter::default(), outer, plan, announced: Mutex::default() }
    }

    /// Returns whether it is time to announce a file, which the caller then does.
    fn is_time(&self) -> bool {
        // Another thread that is here announces one.
        let Ok(mut announced) = self.announced.try_lock() else { return false };
        let is_time = announced.is_none_or(|last| last.elapsed() >= FILE_INTERVAL);
        if is_time {
            *announced = Some(Instant::now());
        }
        is_time
    }
}

impl Progress for Tee<'_> {
    fn reads(&self, blob: &Oid) {
        if self.is_time()
            && let Some(path) = self.plan.path_of(blob)
        {
            self.outer.is_at(path);
        }
    }

    fn add(&self, done: &Counters) {
        self.meter.add(done);
        self.outer.add(done);
    }

    fn chunked(&self, figures: &Chunking) {
        self.meter.chunked(figures);
        self.outer.chunked(figures);
    }

    fn stopped(&self) -> bool {
        self.outer.stopped()
    }

    fn warn(&self, message: &str) {
        self.outer.warn(message);
    }
}
