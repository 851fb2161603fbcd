//! Status engine of a long-lived process: keeps the last run and checks only files that were touched since.
//!
//! In a large repository most of the time of a status run goes to tens of thousands of `lstat` calls. From
//! the second run on, the engine therefore has the directories watched ([`super::fsmonitor`]), keeps the scan
//! and the parsed index, and checks touched files only. It scans everything again when
//!
//! * the index, or a file outside of the working tree that git reads, changed,
//! * a directory, an ignore file or an attribute file was touched,
//! * the kernel dropped events,
//! * the last scan is older than [`MAX_SCAN_AGE`].
//!
//! Three kinds of change produce no usable event:
//!
//! * A write under another hard link. Tracked files with several links are therefore checked in each run.
//! * A write under a hard link that was made outside of the working tree since the last scan.
//! * A write through a memory map that is still held.
//!
//! The last two are found by the first run after [`MAX_SCAN_AGE`]. In addition, a search verifies the text of
//! the files that it shows, whatever the engine reports.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use gix::index::entry::Stage;

use codeweaver_base::sync;

use super::changes::WorktreeChanges;
use super::context::{StatusContext, Tuning};
use super::fsmonitor::{FsMonitor, Touched};
use super::index::{self, LazyIndex};
use super::inputs::{self, InputFile};
use super::run::{Outcome, StatusRun};
use super::scan::scan;
use super::status_cache::{self, ScanStart, StatusCache};
use super::status_delta::Observation;
use super::to_git::WorktreeReader;
use super::untracked::folds_case;
use super::{classify, tracked};
use crate::{BStr, ByteSlice as _, GitError, Oid, Repo};

/// Maximum age of the last full scan. After that time everything is scanned again.
const MAX_SCAN_AGE: Duration = Duration::from_secs(60);

/// Delay after which watching is tried again when it failed. Doubles with each failure.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Factor by which the run that starts watching may exceed the budget. Later runs use little of theirs.
const WATCH_BUDGET_FACTOR: u32 = 4;

/// Computes the status of one working tree, repeatedly.
///
/// The first run starts from the status cache of an earlier process ([`super::status_cache`]); later ones
/// from the file monitor.
#[derive(Default)]
pub struct StatusEngine {
    tuning: Tuning,
    inner: Mutex<Inner>,
}

/// The state between two runs.
#[derive(Default)]
struct Inner {
    n_runs: usize,
    /// The status cache, from [`StatusEngine::expected`] to the run that follows it.
    cache: Option<StatusCache>,
    monitored: Option<MonitoredRun>,
    /// Set if the last attempt to watch failed: events are unreliable here, there are too many directories or
    /// hard links, or the scan was not completed in time.
    watch_failure: Option<WatchFailure>,
    /// Maximum age of the last full scan for the next run, if that is another one.
    next_max_age: Option<Duration>,
}

/// Time of a failed attempt to watch. Setting up watches is expensive, so it is not tried in each run.
struct WatchFailure {
    at: Instant,
    n_retries: u32,
}

impl WatchFailure {
    fn may_retry(&self) -> bool {
        self.at.elapsed() > RETRY_DELAY * 2u32.pow(self.n_retries.min(8))
    }
}

/// The result of one run of the [`StatusEngine`].
#[derive(Clone)]
pub struct WorktreeStatus {
    pub changes: Arc<WorktreeChanges>,
    /// Whether only files that the monitor reported were checked.
    pub is_incremental: bool,
    index: Arc<LazyIndex>,
}

/// A run whose directories have been watched since before they were scanned.
struct MonitoredRun {
    monitor: FsMonitor,
    scanned_at: Instant,
    run: StatusRun,
}

impl StatusEngine {
    #[cfg(test)]
    pub(super) fn with_tuning(tuning: Tuning) -> StatusEngine {
        StatusEngine { tuning, inner: Mutex::default() }
    }

    /// Finds the differences between `head_tree` and the working tree, as [`super::worktree_changes`] does.
    pub fn status(
        &self,
        repo: &Repo,
        head_tree: Option<&Oid>,
        cache_file: &Path,
        budget: Duration,
    ) -> Result<WorktreeStatus, GitError> {
        let mut inner = self.lock();
        let started = Instant::now();
        let mut context = StatusContext::new(repo, head_tree, cache_file, started + budget, self.tuning)?;
        inner.n_runs += 1;

        // Taken out, so that an error leaves no state behind.
        let max_age = inner.next_max_age.take().unwrap_or(MAX_SCAN_AGE);
        if let Some(monitored) = inner.monitored.take()
            && let Some(monitored) = monitored.update(&context, max_age)?
        {
            let status = WorktreeStatus::new(&monitored.run, true);
            inner.monitored = Some(monitored);
            return Ok(status);
        }

        let monitor = inner.start_monitor(&context, started);
        if monitor.is_some() {
            context.deadline = started + budget.saturating_mul(WATCH_BUDGET_FACTOR);
        }

        // A run that starts to watch must scan everything itself.
        let cache = inner.cache.take();
        if monitor.is_none()
            && let Some(cache) = cache.or_else(|| StatusCache::load(repo, cache_file))
            && let Some(status) = resume(cache, &context)?
        {
            return Ok(status);
        }

        inner.full_run(&context, monitor, started)
    }

    /// Returns whether the next run is expected to check touched files only.
    pub fn is_monitored(&self) -> bool {
        self.lock().monitored.is_some()
    }

    /// Returns the status that the first run is expected to have: that of the last run of an earlier process,
    /// by its status cache, if it was against `head_tree` and the files that it found edited have not been
    /// edited again. Does not stat any other file. `None` after the first run.
    pub fn expected(
        &self,
        repo: &Repo,
        head_tree: Option<&Oid>,
        cache_file: &Path,
    ) -> Option<WorktreeStatus> {
        let mut inner = self.lock();
        if inner.n_runs > 0 {
            return None;
        }

        inner.cache = StatusCache::load(repo, cache_file);
        let cache = inner.cache.as_ref()?;

        let is_expected =
            cache.run.outcome.head_tree.as_ref() == head_tree && cache.is_as_touched(repo.work_dir()?);
        is_expected.then(|| WorktreeStatus::new(&cache.run, false))
    }

    /// Makes the next run scan everything if the last full scan is older than `age`. A server that is idle
    /// scans ahead of its next request.
    pub fn scan_after(&self, age: Duration) {
        self.lock().next_max_age = Some(age.min(MAX_SCAN_AGE));
    }

    /// Makes the next run scan everything.
    pub fn invalidate(&self) {
        self.lock().monitored = None;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        sync::lock(&self.inner)
    }
}

impl Inner {
    /// Starts to watch, if this is not the first run and the last failure is long enough ago.
    ///
    /// The attempt counts as failed until a run with the monitor completes.
    fn start_monitor(&mut self, context: &StatusContext, started: Instant) -> Option<FsMonitor> {
        let may_watch = self.watch_failure.as_ref().is_none_or(WatchFailure::may_retry);
        if self.n_runs <= 1 || !may_watch || folds_case(context.repo) {
            return None;
        }

        let monitor = FsMonitor::new(context.root);
        let n_retries = self.watch_failure.take().map_or(0, |failure| failure.n_retries + 1);
        self.watch_failure = Some(WatchFailure { at: started, n_retries });
        monitor
    }

    /// Scans everything. Keeps the run if it is watched, otherwise writes the status cache.
    fn full_run(
        &mut self,
        context: &StatusContext,
        mut monitor: Option<FsMonitor>,
        started: Instant,
    ) -> Result<WorktreeStatus, GitError> {
        // Observed before the scan, so that later changes of these files invalidate the run.
        let inputs = InputFile::all(context.repo);
        let start = ScanStart::now(context.repo);
        let index = Arc::new(context.repo.read_index()?);

        if let Some(monitor) = &mut monitor {
            index::directories(&index).for_each(|prefix| monitor.watch_tracked(prefix));
        }

        let (mut scan, head) = scan(context, &index, monitor.as_mut())?;
        let observations = scan.take_observations();
        let all_in_index = head.all_in_index();
        let changes = Arc::new(classify::classify(context, &index, head, &scan)?);

        let outcome = Outcome { head_tree: context.head_tree.copied(), all_in_index, changes };
        let run = StatusRun { index: Arc::new(LazyIndex::new(index)), inputs, scan, outcome };
        let status = WorktreeStatus::new(&run, false);

        if let Some(monitor) = monitor {
            if monitor.is_complete() && run.is_watchable() {
                self.monitored = Some(MonitoredRun { monitor, scanned_at: started, run });
                self.watch_failure = None;
            }
        } else if let Some(observations) = observations {
            status_cache::store(context, &run, &observations, &start);
        }

        Ok(status)
    }
}

impl WorktreeStatus {
    fn new(run: &StatusRun, is_incremental: bool) -> WorktreeStatus {
        WorktreeStatus { changes: run.outcome.changes.clone(), is_incremental, index: run.index.clone() }
    }

    /// Opens a reader of the files of this working tree.
    pub fn reader(&self, repo: &Repo) -> Result<WorktreeReader, GitError> {
        WorktreeReader::with_index(repo, self.index.clone())
    }

    /// Returns whether the file at `path` differs from the commit, or may differ and cannot be read or has a
    /// filter driver.
    pub fn is_changed(&self, path: &BStr) -> bool {
        let changes = &self.changes;
        changes.changes.binary_search_by(|change| change.path.as_bstr().cmp(path)).is_ok()
            || changes.filtered.binary_search_by(|filtered| filtered.as_bstr().cmp(path)).is_ok()
            || changes.is_unreadable(path)
    }

    /// Returns the oid of the index entry at `path`, if stat data proves now that the file is as staged.
    pub fn unmodified_blob(&self, repo: &Repo, path: &BStr) -> Option<Oid> {
        let index = self.index.get(repo).ok()?;
        let position = index.entry_index_by_path_and_stage(path, Stage::Unconflicted)?;
        let is_unmodified = tracked::is_unmodified(repo, repo.work_dir()?, &index, position);
        is_unmodified.then(|| index.entries()[position].id)
    }
}

/// Returns the status according to the cache of an earlier process, with touched files checked again; `None`
/// if a full scan is needed.
fn resume(cache: StatusCache, context: &StatusContext) -> Result<Option<WorktreeStatus>, GitError> {
    if !inputs::are_current(&cache.run.inputs, context.repo) {
        return Ok(None);
    }

    let revalidation = cache.revalidate(context);
    let Touched::Files(touched) = revalidation.touched else { return Ok(None) };
    let observation = Observation::from_context(context, &touched);
    let base = cache.checksum();

    // All cached untracked files were found in walked directories, and a new one would have changed its
    // directory.
    let Some(run) = cache.run.update(context, touched, |_| true)? else { return Ok(None) };

    if let Some(observation) = observation.filter(|_| revalidation.unchecked == 0) {
        observation.store(context, &run, &base, cache.touched);
    }

    let mut status = WorktreeStatus::new(&run, false);
    if revalidation.unchecked > 0 {
        let mut changes = (*status.changes).clone();
        changes.unchecked += revalidation.unchecked;
        changes.checked = changes.checked.saturating_sub(revalidation.unchecked);
        status.changes = Arc::new(changes);
    }

    Ok(Some(status))
}

impl MonitoredRun {
    /// Returns this run with touched files checked again; `None` if a full scan is needed.
    fn update(
        mut self,
        context: &StatusContext,
        max_age: Duration,
    ) -> Result<Option<MonitoredRun>, GitError> {
        let is_old = self.scanned_at.elapsed() > max_age;
        let Touched::Files(mut touched) = self.monitor.take_touched() else { return Ok(None) };
        if is_old || !self.run.inputs.iter().all(InputFile::is_unchanged) {
            return Ok(None);
        }

        // The monitor misses writes under another name of a file.
        let hard_linked = &self.run.scan.tracked.hard_linked;
        if !hard_linked.is_empty() {
            let index = self.run.index.get(context.repo)?;
            touched.extend(hard_linked.iter().map(|&at| index.entries()[at].path(&index).to_owned()));
        }

        let monitor = &self.monitor;
        let run = self.run.update(context, touched, |path: &BStr| monitor.is_walked(path))?;
        let run = run.filter(StatusRun::is_watchable);
        Ok(run.map(|run| MonitoredRun { run, ..self }))
    }
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests;
