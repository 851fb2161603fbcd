//! Comparing again and again, as a server does: what was not touched since is not looked at.
//!
//! Tens of thousands of `lstat` are most of a question about a large repository. From its second comparison on, a memory has
//! the directories watched ([`super::fsmonitor`]), keeps what it saw and the parsed index, and afterwards looks at touched files
//! only. It looks at everything again when the index or a file that git reads outside of the working tree is another, when a
//! directory, an ignore or an attribute file was touched, when the kernel dropped events, and after [`LOOK_AGAIN`].
//!
//! Some changes make no event, or none here: a write under another hard link (tracked files with several are looked at each time),
//! one under a link that was made outside of the working tree since the last look, and one through a memory map while it is
//! held. The last two are found at the first question after [`LOOK_AGAIN`]; a search checks the text of the files it shows,
//! whatever this memory says.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use gix::index::entry::{Mode as EntryMode, Stage};
use rustc_hash::FxHashSet;

use super::fsmonitor::{FsMonitor, MAX_TOUCHED_FILES, Touched};
use super::index::LazyIndex;
use super::stat::{FileStat, Kind, Time};
use super::status_cache::{self, StatusCache};
use super::untracked::{Excludes, folds_case};
use super::{
    SYSTEM_ATTRIBUTES, WorktreeChanges, WorktreeReader, WorktreeScan, classify, index, look, tracked,
    user_config_file,
};
use crate::git::{BStr, BString, ByteSlice as _, GitError, Oid, Repo};
use crate::sync;

/// Everything is looked at again when the last time is longer ago.
const MAX_SCAN_AGE: Duration = Duration::from_secs(60);

/// Watching that failed is tried again after this time, then twice of it, and so on.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// The look that begins to watch may take this many times the budget, since those after it take hardly any of it.
const WATCH_BUDGET_FACTOR: u32 = 4;

/// What comparisons of one working tree have in common. The first one goes by what an earlier process has left ([`super::status_cache`]).
#[derive(Default)]
pub struct StatusEngine {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    n_runs: usize,
    /// What an earlier process has left, from [`WorktreeMemory::was_clean`] to the comparison after it.
    seen: Option<StatusCache>,
    kept: Option<Monitored>,
    /// Watching came to nothing: changes are not told, there are too many directories, or no time to look at all.
    failed: Option<WatchFailure>,
}

/// Watches cost something, so they are not tried at each question.
struct WatchFailure {
    at: Instant,
    n_times: u32,
}

impl WatchFailure {
    fn may_retry(&self) -> bool {
        self.at.elapsed() > RETRY_DELAY * 2u32.pow(self.n_times.min(8))
    }
}

/// A comparison.
#[derive(Clone)]
pub struct WorktreeStatus {
    pub changes: Arc<WorktreeChanges>,
    /// Files were not looked at because nobody told that they were touched.
    pub is_incremental: bool,
    index: Arc<LazyIndex>,
}

struct Monitored {
    watch: FsMonitor,
    looked_at: Instant,
    comparison: StatusRun,
}

/// What was seen of a working tree, and what came of it.
pub(super) struct StatusRun {
    pub index: Arc<LazyIndex>,
    /// The git index and the files outside of the working tree that decide what is ignored and how files are cleaned.
    pub sources: Vec<Source>,
    pub scan: WorktreeScan,
    pub outcome: Outcome,
}

/// What came of a look.
pub(super) struct Outcome {
    pub head_tree: Option<Oid>,
    /// Nothing was read that is not watched.
    pub all_in_index: bool,
    pub changes: Arc<WorktreeChanges>,
}

/// A file as it was before it was read.
pub(super) struct Source {
    pub path: PathBuf,
    pub seen: Option<FileStat>,
    pub observed: Time,
}

impl StatusEngine {
    /// As [`super::worktree_changes`].
    pub fn status(
        &self,
        repo: &Repo,
        head_tree: Option<&Oid>,
        cache_file: &Path,
        budget: Duration,
    ) -> Result<WorktreeStatus, GitError> {
        let root = repo.work_dir().ok_or_else(|| GitError::Bare { path: repo.git_dir().to_owned() })?;
        let mut inner = self.lock();
        let started = Instant::now();
        let mut deadline = started + budget;
        inner.n_runs += 1;
        // Taken out: an error on the way leaves nothing half remembered.
        if let Some(kept) = inner.kept.take()
            && let Some(kept) = kept.refresh(repo, root, head_tree, cache_file, deadline)?
        {
            let compared = kept.comparison.compared(true);
            inner.kept = Some(kept);
            return Ok(compared);
        }
        let mut watch = None;
        let is_worth_it = inner.failed.as_ref().is_none_or(WatchFailure::may_retry);
        if inner.n_runs > 1 && is_worth_it && !folds_case(repo) {
            watch = FsMonitor::new(root);
            if watch.is_some() {
                deadline = started + budget.saturating_mul(WATCH_BUDGET_FACTOR);
            }
            let n_times = inner.failed.take().map_or(0, |failed| failed.n_times + 1);
            inner.failed = Some(WatchFailure { at: started, n_times });
        }
        let seen = inner.seen.take();
        if watch.is_none()
            && let Some(seen) = seen.or_else(|| StatusCache::load(repo, cache_file))
            && let Some(compared) = resume(seen, repo, root, head_tree, cache_file, deadline)?
        {
            return Ok(compared);
        }
        let sources = sources(repo);
        let observed = Time::now();
        let index = Arc::new(repo.read_index()?);
        if let Some(watch) = &mut watch {
            index::directories(&index).for_each(|prefix| watch.tracked(prefix));
        }
        let (mut scan, head) = look(repo, &index, head_tree, watch.as_mut(), cache_file, deadline)?;
        let observations = scan.take_sights();
        let all_in_index = head.all_in_index();
        let changes = Arc::new(classify::judge(repo, &index, head, &scan, cache_file, deadline)?);
        let outcome = Outcome { head_tree: head_tree.copied(), all_in_index, changes };
        let index = Arc::new(LazyIndex::of(index));
        let comparison = StatusRun { index, sources, scan, outcome };
        let found = comparison.compared(false);
        if let Some(watch) = watch {
            let kept = Monitored { watch, looked_at: started, comparison };
            inner.kept = Some(kept).filter(|kept| kept.watch.is_complete() && kept.comparison.is_complete());
            if inner.kept.is_some() {
                inner.failed = None;
            }
        } else if let Some(observations) = observations {
            status_cache::store(repo, root, cache_file, &comparison, &observations, observed);
        }
        Ok(found)
    }

    /// Whether the next comparison should look at touched files only.
    pub fn is_monitored(&self) -> bool {
        self.lock().kept.is_some()
    }

    /// Whether an earlier process that compared with `head_tree` found nothing changed, and left that for the next.
    pub fn was_clean(&self, repo: &Repo, head_tree: Option<&Oid>, cache_file: &Path) -> bool {
        let mut inner = self.lock();
        if inner.n_runs > 0 {
            return false;
        }
        inner.seen = StatusCache::load(repo, cache_file);
        inner.seen.as_ref().is_some_and(|seen| {
            let Outcome { head_tree: compared_with, changes, .. } = &seen.comparison.outcome;
            compared_with.as_ref() == head_tree && changes.changes.is_empty() && changes.filtered.is_empty()
        })
    }

    /// Looks at everything the next time.
    pub fn invalidate(&self) {
        self.lock().kept = None;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        sync::lock(&self.inner)
    }
}

impl WorktreeStatus {
    /// A reader of the compared files.
    pub fn reader(&self, repo: &Repo) -> Result<WorktreeReader, GitError> {
        WorktreeReader::with_index(repo, self.index.get(repo)?)
    }

    /// Whether the file at `path` was found to differ from the commit, or to have a filter.
    pub fn is_changed(&self, path: &BStr) -> bool {
        let changes = &self.changes;
        changes.changes.binary_search_by(|change| change.path.as_bstr().cmp(path)).is_ok()
            || changes.filtered.binary_search_by(|filtered| filtered.as_bstr().cmp(path)).is_ok()
    }

    /// The blob that the file at `path` holds now, if git's index vouches for it.
    pub fn unmodified_blob(&self, repo: &Repo, path: &BStr) -> Option<Oid> {
        let index = self.index.get(repo).ok()?;
        let position = index.entry_index_by_path_and_stage(path, Stage::Unconflicted)?;
        let is_unmodified = tracked::is_unmodified(repo, repo.work_dir()?, &index, position);
        is_unmodified.then(|| index.entries()[position].id)
    }
}

/// What an earlier process saw, where this one sees the same or only other files; `None` if everything has to be looked at.
fn resume(
    seen: StatusCache,
    repo: &Repo,
    root: &Path,
    head_tree: Option<&Oid>,
    cache_file: &Path,
    deadline: Instant,
) -> Result<Option<WorktreeStatus>, GitError> {
    if !seen.comparison.has_same_sources(repo) {
        return Ok(None);
    }
    let scan = seen.look(root, deadline);
    let Touched::Files(touched) = scan.touched else { return Ok(None) };
    let Some(comparison) =
        // Whatever is not tracked was found in a directory that was walked.
        seen.comparison.after(touched, |_| true, repo, root, head_tree, cache_file, deadline)?
    else {
        return Ok(None);
    };
    let mut compared = comparison.compared(false);
    if scan.unchecked > 0 {
        let mut changes = (*compared.changes).clone();
        changes.unchecked += scan.unchecked;
        changes.checked = changes.checked.saturating_sub(scan.unchecked);
        compared.changes = Arc::new(changes);
    }
    Ok(Some(compared))
}

impl Monitored {
    /// `None` if everything has to be looked at.
    fn refresh(
        mut self,
        repo: &Repo,
        root: &Path,
        head_tree: Option<&Oid>,
        cache_file: &Path,
        deadline: Instant,
    ) -> Result<Option<Monitored>, GitError> {
        let is_old = self.looked_at.elapsed() > MAX_SCAN_AGE;
        let Touched::Files(mut touched) = self.watch.touched() else { return Ok(None) };
        if is_old || !self.comparison.sources.iter().all(Source::is_unchanged) {
            return Ok(None);
        }
        let hard_linked = &self.comparison.scan.tracked.hard_linked;
        if !hard_linked.is_empty() {
            let index = self.comparison.index.get(repo)?;
            touched.extend(hard_linked.iter().map(|&at| index.entries()[at].path(&index).to_owned()));
        }
        let watch = &self.watch;
        let is_walked = |path: &BStr| watch.is_walked(path);
        let comparison =
            self.comparison.after(touched, is_walked, repo, root, head_tree, cache_file, deadline)?;
        let comparison = comparison.filter(StatusRun::is_complete);
        Ok(comparison.map(|comparison| Monitored { comparison, ..self }))
    }
}

impl StatusRun {
    fn compared(&self, is_incremental: bool) -> WorktreeStatus {
        WorktreeStatus { changes: self.outcome.changes.clone(), is_incremental, index: self.index.clone() }
    }

    pub fn is_complete(&self) -> bool {
        let n_linked = self.scan.tracked.hard_linked.len();
        self.scan.unchecked() == 0 && self.outcome.changes.unchecked == 0 && n_linked <= MAX_TOUCHED_FILES
    }

    /// Whether what was found holds while nothing is touched: files in conflict, and those of the commit that left the index, are
    /// read each time.
    pub fn is_reusable(&self) -> bool {
        self.outcome.all_in_index && self.scan.tracked.conflicted.is_empty()
    }

    fn has_same_sources(&self, repo: &Repo) -> bool {
        let paths = source_paths(repo);
        self.sources.len() == paths.len()
            && self
                .sources
                .iter()
                .zip(paths)
                .all(|(source, path)| source.path == path && source.is_unchanged())
    }

    /// This comparison with the files of `touched` looked at again; `None` if that is not enough.
    #[expect(clippy::too_many_arguments, reason = "where, what and until when, as in all comparisons")]
    fn after(
        mut self,
        touched: FxHashSet<BString>,
        is_walked: impl Fn(&BStr) -> bool,
        repo: &Repo,
        root: &Path,
        head_tree: Option<&Oid>,
        cache_file: &Path,
        deadline: Instant,
    ) -> Result<Option<StatusRun>, GitError> {
        if touched.is_empty() && self.is_reusable() && self.outcome.head_tree.as_ref() == head_tree {
            return Ok(Some(self));
        }
        let index = self.index.get(repo)?;
        // Positions are of the index as it was.
        let is_same =
            self.sources.iter().all(Source::is_unchanged) && self.scan.tracked.fits(index.entries().len());
        if !is_same || !self.rescan(repo, root, &index, &touched, is_walked, deadline)? {
            return Ok(None);
        }
        let head = index::diff_head(repo, &index, head_tree)?;
        let all_in_index = head.all_in_index();
        let changes = Arc::new(classify::judge(repo, &index, head, &self.scan, cache_file, deadline)?);
        self.outcome = Outcome { head_tree: head_tree.copied(), all_in_index, changes };
        Ok(Some(self))
    }

    /// False if that is not enough.
    fn rescan(
        &mut self,
        repo: &Repo,
        root: &Path,
        index: &gix::index::State,
        touched: &FxHashSet<BString>,
        is_walked: impl Fn(&BStr) -> bool,
        deadline: Instant,
    ) -> Result<bool, GitError> {
        /// Names that are compared before looking at everything takes no longer.
        const MAX_COMPARED: usize = 4_000_000;
        let tracked = &self.scan.tracked;
        let n_known = tracked.deleted.len() + tracked.maybe_modified.len() + tracked.hard_linked.len();
        if touched.len() * (n_known + self.scan.untracked.paths.len()) > MAX_COMPARED {
            return Ok(false);
        }
        let local = repo.local();
        let mut excludes = None;
        for path in touched {
            let path: &BStr = path.as_ref();
            if let Some(range) = index.entry_range(path) {
                let entry = &index.entries()[range.start];
                // Files in conflict are read each time.
                if entry.stage() == Stage::Unconflicted {
                    let tracked = &mut self.scan.tracked;
                    let was_linked = tracked.hard_linked.contains(&range.start);
                    tracked.rescan(repo, root, index, range.start, deadline);
                    // Its other name may be any file here.
                    if !was_linked && tracked.hard_linked.contains(&range.start) {
                        return Ok(false);
                    }
                }
                continue;
            }
            let untracked = &mut self.scan.untracked.paths;
            untracked.retain(|known| known != path);
            let full = root.join(path.to_path_lossy());
            let Ok(meta) = std::fs::symlink_metadata(full) else { continue };
            match Kind::of(&meta) {
                Kind::File { .. } if tracked::has_several_links(&meta) => return Ok(false),
                Kind::File { .. } | Kind::Symlink => {}
                Kind::Directory => return Ok(false),
                Kind::Other => continue,
            }
            let excludes = match &mut excludes {
                Some(excludes) => excludes,
                None => excludes.insert(Excludes::new(repo, &local, index)?),
            };
            if is_walked(path) && !excludes.has(path, EntryMode::FILE) {
                untracked.push(path.to_owned());
            }
        }
        Ok(self.scan.unchecked() == 0)
    }
}

fn sources(repo: &Repo) -> Vec<Source> {
    source_paths(repo).into_iter().map(Source::of).collect()
}

fn source_paths(repo: &Repo) -> Vec<PathBuf> {
    let info = repo.common_dir().join("info");
    let mut paths = vec![repo.local().index_path(), info.join("exclude"), info.join("attributes")];
    paths.push(SYSTEM_ATTRIBUTES.into());
    paths.extend(user_config_file(repo, "core.excludesFile", "ignore"));
    paths.extend(user_config_file(repo, "core.attributesFile", "attributes"));
    paths
}

impl Source {
    fn of(path: PathBuf) -> Source {
        let observed = Time::now();
        let seen = Source::stat(&path);
        Source { path, seen, observed }
    }

    fn stat(path: &Path) -> Option<FileStat> {
        std::fs::metadata(path).ok().map(|meta| FileStat::of(&meta))
    }

    pub fn is_unchanged(&self) -> bool {
        let seen = Source::stat(&self.path);
        seen == self.seen && !seen.is_some_and(|stat| stat.mtime.max(stat.ctime).is_racy(self.observed))
    }
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::super::worktree_changes;
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    const AMPLE: Duration = Duration::from_secs(60);

    fn cache(repo: &TestRepo) -> PathBuf {
        repo.root().parent().unwrap().join("stat-cache")
    }

    /// A repository with files where nobody walks.
    fn with_kept_files() -> TestRepo {
        let files = [
            (".gitignore", "*.ignored\n/out/\n"),
            ("d0/f0", "0\n"),
            ("d1/sub/f1", "1\n"),
            ("out/kept", "2\n"),
            ("out/deep/er/kept", "3\n"),
        ];
        let repo = TestRepo::with_files(&files[..3]);
        for (path, text) in &files[3..] {
            repo.write(path, text).git(["add", "-f", path]);
        }
        repo.git(["commit", "-qm", "kept"]);
        repo
    }

    /// Without any cache.
    fn knowing_nothing(repo: &Repo) -> WorktreeChanges {
        let tree = repo.head().unwrap().tree;
        worktree_changes(repo, tree.as_ref(), Path::new("/nonexistent/dir/cache"), AMPLE).unwrap()
    }

    /// What is remembered between comparisons never differs from a comparison that knows nothing.
    #[test]
    fn a_memory_misses_nothing() {
        let mut n_remembered = 0;
        for seed in 0..12 {
            let mut random = fastrand::Rng::with_seed(seed);
            let repo = with_kept_files();
            let engine = StatusEngine::default();
            let cache = cache(&repo);
            for step in 0..40 {
                let did: Vec<String> = (0..random.usize(0..4)).map(|_| edit(&repo, &mut random)).collect();
                let open = repo.open();
                let tree = open.head().unwrap().tree;
                let found = engine.status(&open, tree.as_ref(), &cache, AMPLE).unwrap();
                n_remembered += usize::from(found.is_incremental);
                assert_eq!(*found.changes, knowing_nothing(&open), "seed {seed}, step {step}: {did:?}");
            }
        }
        if cfg!(target_os = "linux") {
            assert!(n_remembered > 120, "{n_remembered} of 480 comparisons remembered anything");
        }
    }

    /// What one process leaves to the next never makes it answer otherwise than one that knows nothing.
    #[test]
    fn what_is_left_misses_nothing() {
        let (mut n_as_left, mut n_after_touch) = (0, 0);
        for seed in 0..6 {
            let mut random = fastrand::Rng::with_seed(seed);
            let repo = with_kept_files();
            let cache = cache(&repo);
            for step in 0..30 {
                let mut did: Vec<String> =
                    (0..random.usize(0..3)).map(|_| edit(&repo, &mut random)).collect();
                let known = random.choice(["d0/f0", "d1/sub/f1", "out/kept", "out/deep/er/kept"]).unwrap();
                if random.bool() && repo.root().join(known).exists() {
                    did = vec![format!("{known} written")];
                    repo.write(known, format!("{}\n", random.u8(0..5)));
                }
                // Mostly what changed long enough ago to be remembered.
                if random.u8(0..4) > 0 {
                    std::thread::sleep(Duration::from_millis(30));
                }
                let open = repo.open();
                let tree = open.head().unwrap().tree;
                if let Some(seen) =
                    StatusCache::load(&open, &cache).filter(|it| it.comparison.has_same_sources(&open))
                    && let Touched::Files(touched) = seen.look(repo.root(), Instant::now() + AMPLE).touched
                {
                    n_as_left += usize::from(touched.is_empty());
                    n_after_touch += usize::from(!touched.is_empty());
                }
                let found = worktree_changes(&open, tree.as_ref(), &cache, AMPLE).unwrap();
                assert_eq!(found, knowing_nothing(&open), "seed {seed}, step {step}: {did:?}");
            }
        }
        if cfg!(target_os = "linux") {
            let enough = n_as_left > 30 && n_after_touch > 8;
            assert!(
                enough,
                "of 180 comparisons {n_as_left} were as left, {n_after_touch} with touched files"
            );
        }
    }

    /// Ignore and attribute files are in force although git does not look at them, or they are another repository's.
    #[test]
    fn what_is_left_knows_all_that_decides_for_others() {
        type Scene = (&'static [&'static [&'static str]], &'static str, &'static str);
        let scenes: [Scene; 4] = [
            (&[&["update-index", "--skip-worktree", ".gitignore"]], ".gitignore", "/out/\n*.new\n"),
            (&[&["update-index", "--assume-unchanged", ".gitignore"]], ".gitignore", "/out/\n*.new\n"),
            (&[&["init", "-q", "d0"]], "d0/.gitattributes", "* filter=x\n"),
            (&[], "out/.gitattributes", "* filter=x\n"),
        ];
        for (commands, path, text) in scenes {
            let repo = with_kept_files();
            repo.write("d0/f0", "modified\n").write("out/kept", "modified\n").write("a.new", "untracked\n");
            repo.write("d0/.gitattributes", "* -text\n").write("out/.gitattributes", "* -text\n");
            for command in commands {
                repo.git(*command);
            }
            for round in 0..3 {
                std::thread::sleep(Duration::from_millis(50));
                let open = repo.open();
                let tree = open.head().unwrap().tree;
                let found = worktree_changes(&open, tree.as_ref(), &cache(&repo), AMPLE).unwrap();
                assert_eq!(found, knowing_nothing(&open), "{path}, round {round}");
                // In place: no directory tells of it.
                if round == 1 {
                    repo.write(path, text);
                }
            }
        }
    }

    /// A directory that became a link is no reason to look at everything for ever.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_left_holds_beside_a_linked_directory() {
        let repo = with_kept_files();
        std::fs::rename(repo.root().join("d1"), repo.root().parent().unwrap().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", repo.root().join("d1")).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let open = repo.open();
        let tree = open.head().unwrap().tree;
        let found = worktree_changes(&open, tree.as_ref(), &cache(&repo), AMPLE).unwrap();
        assert_eq!(found, knowing_nothing(&open));
        // The file behind the link is there and was said not to be: it alone is looked at again.
        let seen = StatusCache::load(&open, &cache(&repo)).unwrap().look(repo.root(), Instant::now() + AMPLE);
        assert!(matches!(seen.touched, Touched::Files(files) if files.iter().eq(["d1/sub/f1"])));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_left_by_somebody_else_is_no_danger() {
        let repo = with_kept_files();
        std::fs::remove_file(repo.root().join("d0/f0")).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let open = repo.open();
        let tree = open.head().unwrap().tree;
        let compare = || worktree_changes(&open, tree.as_ref(), &cache(&repo), AMPLE).unwrap();
        compare();
        let left = PathBuf::from(format!("{}-seen", cache(&repo).display()));
        let good = std::fs::read(&left).unwrap();
        let content = &good[..good.len() - 16];
        for at in 8..content.len() {
            // With a checksum that fits: the file may have been made.
            let mut bad = content.to_vec();
            bad[at] = !bad[at];
            bad.extend_from_slice(&blake3::hash(&bad).as_bytes()[..16]);
            std::fs::write(&left, &bad).unwrap();
            repo.write("d1/sub/f1", format!("{at}\n"));
            compare();
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_left_is_whole_or_nothing() {
        let repo = with_kept_files();
        repo.write("untracked", "u\n").write("d0/f0", "changed\n");
        std::thread::sleep(Duration::from_millis(50));
        let open = repo.open();
        let expected = knowing_nothing(&open);
        let tree = open.head().unwrap().tree;
        let compare = |budget| worktree_changes(&open, tree.as_ref(), &cache(&repo), budget).unwrap();
        compare(AMPLE);
        let left = PathBuf::from(format!("{}-seen", cache(&repo).display()));
        let good = std::fs::read(&left).unwrap();
        for at in (0..good.len()).step_by(7) {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&left, &bad).unwrap();
            assert!(StatusCache::load(&open, &cache(&repo)).is_none(), "{at}");
            std::fs::write(&left, &good[..at]).unwrap();
            assert!(StatusCache::load(&open, &cache(&repo)).is_none(), "{at}");
        }
        std::fs::write(&left, &good).unwrap();
        assert_eq!(compare(AMPLE), expected);
        // Without time it is what was left, and said that nobody looked.
        let late = compare(Duration::ZERO);
        assert_eq!(late.changes, expected.changes);
        assert!(late.unchecked > 5, "{late:?}");
        // Another configuration is another matter.
        repo.git(["config", "core.autocrlf", "true"]);
        assert!(StatusCache::load(&repo.open(), &cache(&repo)).is_none());
    }

    /// Does one thing that a user, an editor or git does, if it can be done, and names it.
    fn edit(repo: &TestRepo, random: &mut fastrand::Rng) -> String {
        let root = repo.root();
        let path = |random: &mut fastrand::Rng| {
            let dirs =
                ["", "d0/", "d1/sub/", "d2/", "out/", "out/deep/er/", "d0/new/", "nested/", "nested/sub/"];
            let dir = random.choice(dirs).unwrap();
            format!("{dir}f{}{}", random.u8(0..4), random.choice(["", "", ".ignored"]).unwrap())
        };
        let (one, other) = (path(random), path(random));
        let (at, to) = (root.join(&one), root.join(&other));
        let aside = root.join(format!("{one}~"));
        let write = |path: &Path, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).and_then(|()| std::fs::write(path, text))
        };
        let text = format!("{}\n", random.u8(0..3));
        let done = match random.u8(0..27) {
            0..6 => write(&at, &text),
            6..8 => std::fs::remove_file(&at),
            // As editors save.
            8..10 => write(&aside, &text).and_then(|()| std::fs::rename(&aside, &at)),
            10 => std::fs::rename(&at, &to),
            11 => std::fs::hard_link(&at, &to),
            12 => std::os::unix::fs::symlink("f0", &to),
            13 => std::fs::remove_dir_all(root.join(random.choice(["d0", "d1", "d2", "d0/new"]).unwrap())),
            14 => std::fs::rename(root.join("d0"), root.join("d3")),
            15 => std::fs::rename(root.join("d3"), root.join("d0")),
            16 => write(&root.join(random.choice(["d0/.gitignore", "d2/.gitignore"]).unwrap()), "f3\n"),
            17 => {
                write(&root.join(".gitattributes"), random.choice(["* text=auto\n", "*.x text\n"]).unwrap())
            }
            18 => write(&at, "with returns\r\n"),
            19 => std::fs::File::open(&at).and_then(|file| file.set_modified(std::time::SystemTime::now())),
            20 => std::os::unix::fs::symlink("d1", root.join("linked")),
            21 => std::fs::rename(root.join("out/deep"), root.join("out/moved")),
            22 => std::fs::rename(root.join("out/moved"), root.join("out/deep")),
            23 => std::fs::create_dir_all(root.join("nested/.git")),
            24 => std::fs::remove_dir(root.join("nested/.git")),
            25 => {
                repo.try_git(["add", "-A"]);
                Ok(())
            }
            _ => {
                repo.try_git(["commit", "-qam", "next"]);
                Ok(())
            }
        };
        format!("{one}, {other}: {done:?}")
    }

    /// Nobody is told of what is written under another name.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_with_two_names_is_looked_at_each_time() {
        let repo = TestRepo::with_files(&[("a.txt", "aaa\n")]);
        let outside = repo.root().parent().unwrap().join("outside");
        std::fs::hard_link(repo.root().join("a.txt"), &outside).unwrap();
        let engine = StatusEngine::default();
        let compare = || {
            let open = repo.open();
            let tree = open.head().unwrap().tree;
            let found = engine.status(&open, tree.as_ref(), &cache(&repo), AMPLE).unwrap();
            (
                found.changes.changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>(),
                found.is_incremental,
            )
        };
        // What git has written this very moment could be written again unnoticed: such an index is read again.
        let is_incremental = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            compare().1
        });
        assert!(is_incremental);
        std::fs::write(&outside, "other\n").unwrap();
        assert_eq!(compare(), (vec!["a.txt".to_owned()], true));
    }
}
