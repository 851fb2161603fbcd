//! On-disk status cache: the `lstat` result of every input to a status run, and the outcome.
//!
//! Without it, each process would parse an index of megabytes and walk through thousands of directories and
//! their ignore rules. As long as `lstat` returns the cached result for every path, none of this can have
//! another outcome. If only results of files differ, those files are checked again; if that of a directory or
//! a pattern file differs, everything is scanned ([`super::status`]).
//!
//! A run is not cached if one of its inputs could change unnoticed: a file or directory that changed within
//! one tick before the scan began, by the clock of the file system, or a file system where directories do not
//! record new names in their times.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustc_hash::FxHashSet;

use super::cache_file::{self, CacheBytes, take, take_path, take_slice};
use super::context::StatusContext;
use super::expected_stat::ExpectedStat;
use super::fsmonitor::Touched;
use super::git_fsmonitor;
use super::index::{LazyIndex, directories};
use super::inputs::{InputFile, PATTERN_FILES, is_pattern_file};
use super::run::StatusRun;
use super::scan::StatObservations;
use super::stat::Time;
use super::status_delta::StatusDelta;
use super::stored_run::{MAX_TOUCHED, fits, put_outcome, put_path, take_outcome};
use super::to_git::is_inside;
use super::tracked::{is_checked, is_sparse};
use super::untracked::folds_case;
use crate::{BStr, BString, ByteSlice as _, ByteVec as _, Repo, STORE_DIR};

/// A status run that an earlier process stored.
///
/// Layout, little endian, in the envelope of [`cache_file`]:
///
/// * magic `CWSEEN01`; identity 16 bytes (program, working tree, git's configuration)
/// * token of git's fsmonitor from before the scan, as a path; empty if it did not answer
/// * number of input files u8, each: path, expected stat
/// * bytes per oid u8; head tree: u8 (whether there is one), oid
/// * positions in the index of deleted, maybe modified and hard-linked files, each: count u32, positions u32
/// * number of checked tracked files u64; untracked paths; untracked pattern files
/// * number of changes u32, each: path, state u8, bits u8 (1: conflicted, 2: with blob); with a blob: oid,
///   mode u8, size u64
/// * number of checked paths u64; filtered paths
/// * number of blocks u32, length of each block u32, blocks
///
/// A block is a sequence of paths, each: number of leading bytes shared with the path before u16, the
/// remaining bytes, expected stat. A path is a length u16 and bytes; a list of paths has a count u32 before
/// it. An expected stat is 0 for an absent file, 1 for a directory, 2 and stat data (`FileStat::put`)
/// otherwise.
///
/// A file with any other content is treated as absent; losing it costs time only.
pub(super) struct StatusCache {
    /// The cached run, updated by the [`StatusDelta`].
    pub run: StatusRun,
    /// Files for which the [`StatusDelta`] has other stat data.
    pub touched: Vec<(BString, ExpectedStat)>,
    /// Token for which [`git_fsmonitor`] reports later changes; empty if it did not answer.
    token: BString,
    bytes: CacheBytes,
    /// Ranges of the blocks in `bytes`.
    blocks: Vec<Range<usize>>,
}

const MAGIC: &[u8; 8] = b"CWSEEN01";

/// Inputs of a cached run that changed.
pub(super) struct Revalidation {
    pub touched: Touched,
    /// Number of paths that were not reached before the deadline.
    pub unchecked: usize,
}

impl StatusCache {
    /// Loads the cache beside `cache_file`, if it is of this working tree under the current configuration.
    pub fn load(repo: &Repo, cache_file: &Path) -> Option<StatusCache> {
        let bytes = cache_file::read(&status_cache_path(cache_file), MAGIC)?;
        let (mut run, token, blocks) = decode(&bytes, &identity(repo)?)?;

        let mut touched = Vec::new();
        if let Some(delta) = StatusDelta::load(cache_file, &bytes.checksum()) {
            (run.scan, run.outcome, touched) = (delta.scan, delta.outcome, delta.touched);
        }

        (!bytes.has_failed()).then_some(StatusCache { run, touched, token, bytes, blocks })
    }

    /// The checksum of the file.
    pub fn checksum(&self) -> [u8; 16] {
        self.bytes.checksum()
    }

    /// Returns whether the files that were touched last are as they were. They are the most likely ones to be
    /// touched again.
    pub fn is_as_touched(&self, root: &Path) -> bool {
        self.touched.iter().all(|(path, expected)| expected.holds_at(&root.join(path.to_path_lossy())))
    }

    /// Stats the cached paths that git's fsmonitor reports, or every cached path, on all cores.
    pub fn revalidate(&self, context: &StatusContext) -> Revalidation {
        match self.reported(context) {
            Some(touched) => Revalidation { touched: Touched::Files(touched), unchecked: 0 },
            None => self.revalidate_all(context),
        }
    }

    /// Returns the touched files according to git's fsmonitor; `None` if it does not answer, or reports
    /// changes of anything but cached files.
    fn reported(&self, context: &StatusContext) -> Option<FxHashSet<BString>> {
        // A write under another hard link is reported with that name.
        let is_useful = !self.token.is_empty() && self.run.scan.tracked.hard_linked.is_empty();
        let token = is_useful.then_some(self.token.as_slice())?;
        let changed = git_fsmonitor::ask(context.repo, Some(token))?.changed?;
        let mut changed: FxHashSet<BString> = changed.into_iter().filter(|path| !is_in_store(path)).collect();
        if changed.len() > MAX_TOUCHED || !changed.iter().all(is_plain_file) {
            return None;
        }

        let mut touched = FxHashSet::default();
        if !changed.is_empty() {
            for block in &self.blocks {
                each_path(&self.bytes[block.clone()], |path, expected| {
                    if changed.remove(path) && !expected.holds_at(&context.full_path(path.as_ref())) {
                        touched.insert(path.clone());
                    }
                    Some(())
                })?;
            }
        }

        // The paths that are left are not cached, so they are new unless they are gone again.
        if changed.iter().any(|path| !ExpectedStat::Absent.holds_at(&context.full_path(path.as_ref()))) {
            return None;
        }

        for (path, expected) in &self.touched {
            match expected.holds_at(&context.full_path(path.as_ref())) {
                true => touched.remove(path),
                false => touched.insert(path.clone()),
            };
        }

        (!self.bytes.has_failed()).then_some(touched)
    }

    /// Stats every cached path, on all cores.
    fn revalidate_all(&self, context: &StatusContext) -> Revalidation {
        // The kernel resolves relative paths faster, for eighty thousand files. No thread of this process
        // leaves a current directory that exists.
        let is_current_dir = std::env::current_dir().is_ok_and(|current| current == context.root);
        let root = if is_current_dir { Path::new("") } else { context.root };

        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let n_threads = cores.min(self.blocks.len()).max(1);
        let progress = Progress::default();

        let touched: FxHashSet<BString> = std::thread::scope(|scope| {
            let check = || self.check_blocks(context, root, &progress);
            let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(check)).collect();
            let mut touched: FxHashSet<BString> = check().into_iter().collect();
            for other in others {
                touched.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }

            let touched_again = self
                .touched
                .iter()
                .filter(|(path, expected)| !expected.holds_at(&root.join(path.to_path_lossy())));
            touched.extend(touched_again.map(|(path, _)| path.clone()));
            touched
        });

        let n_blocks_left = self.blocks.len() - progress.n_done.into_inner();
        let unchecked = n_blocks_left * context.tuning.paths_per_block;
        let is_unknown =
            progress.is_unknown.into_inner() || touched.len() > MAX_TOUCHED || self.bytes.has_failed();
        let touched = if is_unknown { Touched::Unknown } else { Touched::Files(touched) };
        Revalidation { touched, unchecked }
    }

    /// Checks the next block until none is left, and returns the touched files of these blocks.
    fn check_blocks(&self, context: &StatusContext, root: &Path, progress: &Progress) -> Vec<BString> {
        let mut touched = Vec::new();
        while let Some(block) = self.blocks.get(progress.next.fetch_add(1, Ordering::Relaxed)) {
            if progress.is_unknown.load(Ordering::Relaxed) || context.is_late() {
                break;
            }

            let checked = self.check_block(&self.bytes[block.clone()], root, &mut touched);
            if checked.is_none() || touched.len() > MAX_TOUCHED {
                progress.is_unknown.store(true, Ordering::Relaxed);
            }
            progress.n_done.fetch_add(1, Ordering::Relaxed);
        }
        touched
    }

    /// Adds the files of a block whose stat data changed to `touched`. `None` if a directory or a pattern
    /// file changed, or the block cannot be decoded.
    fn check_block(&self, block: &[u8], root: &Path, touched: &mut Vec<BString>) -> Option<()> {
        let mut full = PathBuf::new();
        each_path(block, |path, expected| {
            full.clear();
            full.push(root);

            // `lstat` follows a link that is named with a trailing slash.
            let name = path.strip_suffix(b"/").unwrap_or(path);
            if !name.is_empty() && !is_inside(name.as_bstr()) {
                return None;
            }
            full.push(gix::path::from_bstr(name.as_bstr()).ok()?);
            if full.as_os_str().is_empty() {
                full.push(".");
            }

            if !expected.holds_at(&full) {
                let is_directory = path.is_empty() || path.ends_with(b"/");
                if is_directory || is_pattern_file(name_of(path.as_ref())) {
                    return None;
                }
                if !self.touched.iter().any(|(other, _)| other == path) {
                    touched.push(path.clone());
                }
            }

            Some(())
        })
    }
}

/// State shared by the threads of a revalidation.
#[derive(Default)]
struct Progress {
    /// Position of the next block to check.
    next: AtomicUsize,
    n_done: AtomicUsize,
    /// Whether everything must be scanned, so that the other blocks do not matter.
    is_unknown: AtomicBool,
}

/// Returns whether a path is in the store directory, which is no part of the result.
fn is_in_store(path: &BString) -> bool {
    let first = path.split(|&byte| byte == b'/').next().unwrap_or_default();
    first.eq_ignore_ascii_case(STORE_DIR.as_bytes())
}

/// Returns whether a path is of a file whose patterns apply to no other file. Paths of directories end with a
/// slash and are not inside.
fn is_plain_file(path: &BString) -> bool {
    is_inside(path.as_ref()) && !is_pattern_file(name_of(path.as_ref()))
}

/// Calls `visit` with every path of a block. `None` if a call returns `None`, or if the block cannot be
/// decoded.
fn each_path(mut block: &[u8], mut visit: impl FnMut(&BString, &ExpectedStat) -> Option<()>) -> Option<()> {
    let rest = &mut block;
    let mut path = BString::default();

    while !rest.is_empty() {
        let shared = usize::from(u16::from_le_bytes(take(rest)?));
        let len = usize::from(u16::from_le_bytes(take(rest)?));
        path.truncate(shared);
        path.push_str(take_slice(rest, len)?);
        visit(&path, &ExpectedStat::take(rest)?)?;
    }
    Some(())
}

fn name_of(path: &BStr) -> &[u8] {
    &path[path.rfind_byte(b'/').map_or(0, |slash| slash + 1)..]
}

/// Start of a scan: its time, and the token of git's fsmonitor, which is empty if that did not answer.
pub(super) struct ScanStart {
    at: Time,
    token: BString,
}

impl ScanStart {
    /// The present moment.
    pub fn now(repo: &Repo) -> ScanStart {
        let token = git_fsmonitor::ask(repo, None).map(|answer| answer.token);
        ScanStart { at: Time::now(), token: token.unwrap_or_default() }
    }
}

/// Stores a run whose scan began at `start`. Best effort. Stores nothing if an input could change later
/// without a change of its stat data.
pub(super) fn store(
    context: &StatusContext,
    run: &StatusRun,
    observations: &StatObservations,
    start: &ScanStart,
) {
    if !fits(run) || folds_case(context.repo) {
        return;
    }
    let Some(identity) = identity(context.repo) else { return };

    let is_stable = run.inputs.iter().all(InputFile::is_unchanged);
    if let Some(bytes) = is_stable.then(|| encode(context, run, observations, start, &identity)).flatten() {
        cache_file::write(&status_cache_path(context.cache_file), bytes);
    }
}

fn status_cache_path(cache_file: &Path) -> PathBuf {
    let mut path = cache_file.as_os_str().to_owned();
    path.push("-seen");
    path.into()
}

/// Hash of this program's version, the working tree and everything that is configured for git, in files or
/// by the environment.
fn identity(repo: &Repo) -> Option<[u8; 16]> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes()).update(b"\0");

    let without_system = std::env::var_os("GIT_ATTR_NOSYSTEM").unwrap_or_default();
    hasher.update(without_system.as_encoded_bytes()).update(b"\0");

    hasher.update(repo.work_dir()?.as_os_str().as_encoded_bytes()).update(b"\0");
    hasher.update(repo.git_dir().as_os_str().as_encoded_bytes()).update(b"\0");
    hasher.update(&repo.local().config_snapshot().plumbing().to_bstring());

    hasher.finalize().as_bytes().first_chunk().copied()
}

/// Encodes a run; `None` if an input could change without a change of its stat data.
fn encode(
    context: &StatusContext,
    run: &StatusRun,
    observations: &StatObservations,
    start: &ScanStart,
    identity: &[u8; 16],
) -> Option<Vec<u8>> {
    let index = run.index.get(context.repo).ok()?;
    let mut bytes = [MAGIC.as_slice(), identity].concat();
    put_path(&mut bytes, start.token.as_ref())?;

    bytes.push(u8::try_from(run.inputs.len()).ok()?);
    for input in &run.inputs {
        put_path(&mut bytes, gix::path::into_bstr(input.path.as_path()).ok()?.as_ref())?;
        input.stat.map_or(ExpectedStat::Absent, ExpectedStat::Exactly).put(&mut bytes);
    }

    put_outcome(&mut bytes, run, index.object_hash())?;

    let blocks = encode_blocks(context, run, &index, observations, start)?;
    bytes.extend_from_slice(&(blocks.blocks.len() as u32).to_le_bytes());
    for block in &blocks.blocks {
        bytes.extend_from_slice(&(block.len() as u32).to_le_bytes());
    }
    bytes.extend(blocks.blocks.concat());

    Some(bytes)
}

/// Encodes the expected stats of all paths. Inputs whose change makes a full scan necessary come first, so
/// that revalidation stops early.
fn encode_blocks(
    context: &StatusContext,
    run: &StatusRun,
    index: &gix::index::State,
    observations: &StatObservations,
    start: &ScanStart,
) -> Option<Blocks> {
    let root = context.root;
    let mut blocks = Blocks::new(start.at, context.tuning.paths_per_block);
    for (prefix, stat) in &observations.directories {
        blocks.put(prefix.as_ref(), ExpectedStat::Exactly(*stat))?;
    }

    // Pattern files apply even if they are outside of a sparse checkout.
    let is_sparse = is_sparse(context.repo);
    let unchecked = index.entries().iter().filter(|entry| !is_checked(entry, is_sparse));
    let pattern_files =
        unchecked.map(|entry| entry.path(index)).filter(|path| is_pattern_file(name_of(path)));
    for path in pattern_files.chain(run.scan.untracked.pattern_files.iter().map(|path| path.as_ref())) {
        blocks.put(path, observe(root, path)?)?;
    }

    // Tracked files can be in directories that are not walked, such as ignored ones.
    let walked: FxHashSet<&BStr> =
        observations.directories.iter().map(|(prefix, _)| prefix.as_ref()).collect();
    for prefix in directories(index).filter(|prefix| !walked.contains(prefix)) {
        // `lstat` follows a link that is named with a trailing slash.
        let name = prefix.strip_suffix(b"/").unwrap_or(prefix).as_bstr();
        let is_directory = ExpectedStat::Directory.holds_at(&native_path(root, name)?);
        blocks.put(prefix, if is_directory { ExpectedStat::Directory } else { observe(root, name)? })?;
        for name in PATTERN_FILES {
            let path = BString::from([prefix, name.as_bytes()].concat());
            blocks.put(path.as_ref(), observe(root, path.as_ref())?)?;
        }
    }

    for path in &run.scan.untracked.paths {
        blocks.put(path.as_ref(), observe(root, path.as_ref())?)?;
    }
    for (position, stat) in &observations.files {
        let path = index.entries()[*position].path(index);
        blocks.put(path, stat.map_or(ExpectedStat::Absent, ExpectedStat::Exactly))?;
    }
    Some(blocks)
}

/// The path of a file of the working tree; `None` if the system has no such paths.
fn native_path(root: &Path, path: &BStr) -> Option<PathBuf> {
    Some(root.join(gix::path::from_bstr(path).ok()?))
}

fn observe(root: &Path, path: &BStr) -> Option<ExpectedStat> {
    ExpectedStat::observe(&native_path(root, path)?)
}

/// Encoder of paths and their expected stats.
struct Blocks {
    /// Time at which the scan began.
    observed: Time,
    paths_per_block: usize,
    blocks: Vec<Vec<u8>>,
    /// The last path of the last block.
    last: BString,
    n_in_block: usize,
}

impl Blocks {
    fn new(observed: Time, paths_per_block: usize) -> Blocks {
        // The last block counts as full, so that the first path starts one.
        let (blocks, last, n_in_block) = (Vec::new(), BString::default(), paths_per_block);
        Blocks { observed, paths_per_block, blocks, last, n_in_block }
    }

    /// Appends a path; `None` if it could change without a change of its stat data.
    fn put(&mut self, path: &BStr, expected: ExpectedStat) -> Option<()> {
        if expected.is_racy(self.observed) {
            return None;
        }

        if self.n_in_block == self.paths_per_block {
            self.blocks.push(Vec::new());
            self.last.clear();
            self.n_in_block = 0;
        }

        self.n_in_block += 1;

        let block = self.blocks.last_mut()?;
        let shared = self.last.iter().zip(path.iter()).take_while(|(a, b)| a == b).count();
        block.extend_from_slice(&u16::try_from(shared).ok()?.to_le_bytes());
        put_path(block, path[shared..].as_bstr())?;
        expected.put(block);

        self.last.clear();
        self.last.push_str(path);
        Some(())
    }
}

/// Decodes a cache file with the identity `own`, except for the content of its blocks.
fn decode(bytes: &[u8], own: &[u8; 16]) -> Option<(StatusRun, BString, Vec<Range<usize>>)> {
    let rest = &mut bytes.get(MAGIC.len()..)?;
    if take::<16>(rest)? != *own {
        return None;
    }

    let token = take_path(rest)?;
    let [n_inputs] = take(rest)?;
    let inputs = (0..n_inputs).map(|_| take_input(rest)).collect::<Option<_>>()?;
    let (scan, outcome) = take_outcome(rest)?;

    let n_blocks = u32::from_le_bytes(take(rest)?);
    let lengths = (0..n_blocks).map(|_| Some(u32::from_le_bytes(take(rest)?) as usize));
    let lengths = lengths.collect::<Option<Vec<usize>>>()?;
    let mut at = bytes.len() - rest.len();
    let mut blocks = Vec::with_capacity(lengths.len());
    for length in lengths {
        blocks.push(at..at.checked_add(length).filter(|end| *end <= bytes.len())?);
        at += length;
    }

    let index = Arc::new(LazyIndex::default());
    (at == bytes.len()).then_some((StatusRun { index, inputs, scan, outcome }, token, blocks))
}

fn take_input(rest: &mut &[u8]) -> Option<InputFile> {
    let path = gix::path::from_bstring(take_path(rest)?).ok()?;
    let stat = match ExpectedStat::take(rest)? {
        ExpectedStat::Exactly(stat) => Some(stat),
        ExpectedStat::Absent => None,
        ExpectedStat::Directory => return None,
    };
    // The stat data was not racy when the cache was written.
    Some(InputFile { path, stat, observed: Time::now() })
}
