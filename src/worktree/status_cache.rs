//! A comparison left for the next process: what `lstat` said of everything that it rests on, and what came of it.
//!
//! Whoever has one question only pays for an index of megabytes, a walk through thousands of directories and their ignore rules.
//! As long as `lstat` says the same of every path, none of this can have another outcome. Where it says something else of files
//! alone, those are looked at again; of anything else, everything is ([`super::status`]).
//!
//! Nothing is left that could change unnoticed: no file or directory that changed since just before the look began, by the clock
//! of the file system, and nothing where directories do not tell of new names.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use rustc_hash::FxHashSet;

use super::cache_file::{self, CacheBytes, take, take_path, take_slice};
use super::fsmonitor::Touched;
use super::index::{LazyIndex, directories};
use super::stat::{FileStat, Time};
use super::status::{Outcome, Source, StatusRun};
use super::to_git::{is_absent, is_inside};
use super::tracked::{Tracked, is_checked};
use super::untracked::{Untracked, folds_case};
use super::{
    FileState, PATTERN_FILES, StatObservations, WorktreeBlob, WorktreeChange, WorktreeChanges, WorktreeScan,
    is_pattern_file,
};
use crate::git::{BStr, BString, ByteSlice as _, ByteVec as _, Mode, Oid, Repo};

/// Larger results are made anew each time.
const MAX_CHANGES: usize = 10_000;
/// More touched files are not looked at one by one.
const MAX_TOUCHED: usize = 200;
/// Paths that one thread takes at a time.
const PER_BLOCK: usize = if cfg!(debug_assertions) { 2 } else { 512 };

/// What `lstat` has to say of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedStat {
    Nothing,
    /// A directory, whatever it holds.
    Directory,
    Exactly(FileStat),
}

impl ExpectedStat {
    /// What it says now; `None` if that cannot be told.
    fn now(path: &Path) -> Option<ExpectedStat> {
        match std::fs::symlink_metadata(path) {
            Ok(meta) => Some(ExpectedStat::Exactly(FileStat::of(&meta))),
            Err(error) if is_absent(&error) => Some(ExpectedStat::Nothing),
            Err(_) => None,
        }
    }

    /// Whether this could be said again after a change that was made after `observed`.
    fn is_racy(&self, observed: Time) -> bool {
        matches!(self, ExpectedStat::Exactly(stat) if stat.mtime.max(stat.ctime).is_racy(observed))
    }

    fn holds_at(&self, path: &Path) -> bool {
        match (self, std::fs::symlink_metadata(path)) {
            (ExpectedStat::Nothing, Err(error)) => is_absent(&error),
            (ExpectedStat::Directory, Ok(meta)) => meta.is_dir(),
            (ExpectedStat::Exactly(stat), Ok(meta)) => *stat == FileStat::of(&meta),
            _ => false,
        }
    }

    fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            ExpectedStat::Nothing => bytes.push(0),
            ExpectedStat::Directory => bytes.push(1),
            ExpectedStat::Exactly(stat) => {
                bytes.push(2);
                stat.put(bytes);
            }
        }
    }

    fn take(rest: &mut &[u8]) -> Option<ExpectedStat> {
        match take(rest)? {
            [0] => Some(ExpectedStat::Nothing),
            [1] => Some(ExpectedStat::Directory),
            [2] => Some(ExpectedStat::Exactly(FileStat::take(rest)?)),
            _ => None,
        }
    }
}

/// A comparison that an earlier process has left.
///
/// Layout, little endian: magic `CWSEEN01`; identity 16 bytes (program, working tree, git's configuration); sources u8, each:
/// path, what was seen; bytes per oid u8; HEAD's tree u8 (whether there is one), oid; positions of files gone, suspicious and
/// linked, each a count u32 and u32 each; checked u64; untracked paths; untracked ignore and attribute files; changes u32, each:
/// path, state u8, bits u8 (1: conflicted, 2: with bytes), and with bytes oid, mode u8, size u64; checked u64; filtered paths;
/// blocks u32, the length of each u32; blocks. A block holds paths: bytes shared with the one before u16, the rest, what to
/// expect of it. Paths: length u16, bytes; several: a count u32 before. What to expect: 0 nothing, 1 a directory, 2 and a stat
/// as in the cache of files. In the envelope of [`sealed`]. A file that is anything else counts as missing; losing it costs
/// time only.
pub(super) struct StatusCache {
    pub comparison: StatusRun,
    bytes: CacheBytes,
    blocks: Vec<Range<usize>>,
}

const MAGIC: &[u8; 8] = b"CWSEEN01";

/// What has become of it.
pub(super) struct Revalidation {
    pub touched: Touched,
    /// Paths not looked at because the time was up.
    pub unchecked: usize,
}

impl StatusCache {
    /// What was left beside `cache_file` for this working tree, under the same configuration.
    pub fn load(repo: &Repo, cache_file: &Path) -> Option<StatusCache> {
        let bytes = cache_file::read(&file(cache_file), MAGIC)?;
        let (comparison, blocks) = decode(&bytes, &identity(repo)?)?;
        Some(StatusCache { comparison, bytes, blocks })
    }

    /// Looks at everything, on all cores.
    pub fn look(&self, root: &Path, deadline: Instant) -> Revalidation {
        // A shorter way for the kernel to walk, eighty thousand times; nobody here changes the directory.
        let is_here = std::env::current_dir().is_ok_and(|here| here == root);
        let root = if is_here { Path::new("") } else { root };
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let n_threads = cores.min(self.blocks.len()).max(1);
        let (next, n_done, is_unknown) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let work = || {
            let mut touched = Vec::new();
            while let Some(block) = self.blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if is_unknown.load(Ordering::Relaxed) || Instant::now() > deadline {
                    break;
                }
                if check_block(&self.bytes[block.clone()], root, &mut touched).is_none()
                    || touched.len() > MAX_TOUCHED
                {
                    is_unknown.store(true, Ordering::Relaxed);
                }
                n_done.fetch_add(1, Ordering::Relaxed);
            }
            touched
        };
        let touched: FxHashSet<BString> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(work)).collect();
            let mut touched: FxHashSet<BString> = work().into_iter().collect();
            for other in others {
                touched.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            touched
        });
        let unchecked = (self.blocks.len() - n_done.into_inner()) * PER_BLOCK;
        let is_unknown = is_unknown.into_inner() || touched.len() > MAX_TOUCHED;
        let touched = if is_unknown { Touched::Unknown } else { Touched::Files(touched) };
        Revalidation { touched, unchecked }
    }
}

/// Adds the files of a block of which something else is said now. `None` if that is so of anything but files, and if the block
/// cannot be read.
fn check_block(mut block: &[u8], root: &Path, touched: &mut Vec<BString>) -> Option<()> {
    let rest = &mut block;
    let mut path = BString::default();
    let mut full = PathBuf::new();
    while !rest.is_empty() {
        let shared = usize::from(u16::from_le_bytes(take(rest)?));
        let len = usize::from(u16::from_le_bytes(take(rest)?));
        path.truncate(shared);
        path.push_str(take_slice(rest, len)?);
        let expected = ExpectedStat::take(rest)?;
        full.clear();
        full.push(root);
        // With its slash, a link would be followed.
        let name = path.strip_suffix(b"/").unwrap_or(&path);
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
            touched.push(path.clone());
        }
    }
    Some(())
}

fn name_of(path: &BStr) -> &[u8] {
    &path[path.rfind_byte(b'/').map_or(0, |slash| slash + 1)..]
}

/// Leaves a comparison whose look began at `observed` to the next process. Best effort, and nothing where a later change could
/// look the same.
pub(super) fn store(
    repo: &Repo,
    root: &Path,
    cache_file: &Path,
    comparison: &StatusRun,
    observations: &StatObservations,
    observed: Time,
) {
    let is_complete = comparison.is_complete() && comparison.is_reusable();
    let n_changes = comparison.outcome.changes.changes.len() + comparison.scan.untracked.paths.len();
    if !is_complete || n_changes > MAX_CHANGES || folds_case(repo) {
        return;
    }
    let Some(identity) = identity(repo) else { return };
    let is_stable = comparison.sources.iter().all(Source::is_unchanged);
    if let Some(bytes) =
        is_stable.then(|| encode(repo, root, comparison, observations, observed, &identity)).flatten()
    {
        cache_file::write(&file(cache_file), bytes);
    }
}

fn file(cache_file: &Path) -> PathBuf {
    let mut file = cache_file.as_os_str().to_owned();
    file.push("-seen");
    file.into()
}

/// Of this program, the working tree and everything that git is configured to do, in files or by the environment.
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

/// `None` if something could change and look the same.
fn encode(
    repo: &Repo,
    root: &Path,
    comparison: &StatusRun,
    observations: &StatObservations,
    observed: Time,
    identity: &[u8; 16],
) -> Option<Vec<u8>> {
    let index = comparison.index.get(repo).ok()?;
    let mut bytes = [MAGIC.as_slice(), identity].concat();
    bytes.push(u8::try_from(comparison.sources.len()).ok()?);
    for source in &comparison.sources {
        put_path(&mut bytes, gix::path::into_bstr(source.path.as_path()).ok()?.as_ref())?;
        source.seen.map_or(ExpectedStat::Nothing, ExpectedStat::Exactly).put(&mut bytes);
    }
    put_outcome(&mut bytes, comparison, index.object_hash())?;

    let mut blocks = Blocks { observed, blocks: Vec::new(), last: BString::default(), n_in_block: PER_BLOCK };
    let now = |path: &BStr| ExpectedStat::now(&root.join(gix::path::from_bstr(path).ok()?));
    // What makes a look at everything necessary comes first, while there is time for it.
    for (prefix, stat) in &observations.directories {
        blocks.put(prefix.as_ref(), ExpectedStat::Exactly(*stat))?;
    }
    // Nobody compares these with the index, but what they say is in force.
    let unwatched = index.entries().iter().filter(|entry| !is_checked(entry)).map(|entry| entry.path(&index));
    let rules = unwatched.filter(|path| is_pattern_file(name_of(path)));
    for path in rules.chain(comparison.scan.untracked.rules.iter().map(|path| path.as_ref())) {
        blocks.put(path, now(path)?)?;
    }
    // Tracked files may lie where nobody walks.
    let walked: FxHashSet<&BStr> =
        observations.directories.iter().map(|(prefix, _)| prefix.as_ref()).collect();
    for prefix in directories(&index).filter(|prefix| !walked.contains(prefix)) {
        // With its slash, a link would be followed.
        let name = prefix.strip_suffix(b"/").unwrap_or(prefix).as_bstr();
        let is_real = ExpectedStat::Directory.holds_at(&root.join(gix::path::from_bstr(name).ok()?));
        blocks.put(prefix, if is_real { ExpectedStat::Directory } else { now(name)? })?;
        for name in PATTERN_FILES {
            let path = BString::from([prefix, name.as_bytes()].concat());
            blocks.put(path.as_ref(), now(path.as_ref())?)?;
        }
    }
    for path in &comparison.scan.untracked.paths {
        blocks.put(path.as_ref(), now(path.as_ref())?)?;
    }
    for (position, stat) in &observations.files {
        let path = index.entries()[*position].path(&index);
        blocks.put(path, stat.map_or(ExpectedStat::Nothing, ExpectedStat::Exactly))?;
    }
    bytes.extend_from_slice(&(blocks.blocks.len() as u32).to_le_bytes());
    for block in &blocks.blocks {
        bytes.extend_from_slice(&(block.len() as u32).to_le_bytes());
    }
    bytes.extend(blocks.blocks.concat());
    Some(bytes)
}

/// Paths and what to expect of them.
struct Blocks {
    observed: Time,
    blocks: Vec<Vec<u8>>,
    last: BString,
    n_in_block: usize,
}

impl Blocks {
    /// `None` if the path could change and look the same.
    fn put(&mut self, path: &BStr, expected: ExpectedStat) -> Option<()> {
        if expected.is_racy(self.observed) {
            return None;
        }
        if self.n_in_block == PER_BLOCK {
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

fn put_path(bytes: &mut Vec<u8>, path: &BStr) -> Option<()> {
    u16::try_from(path.len()).ok()?;
    cache_file::put_path(bytes, path);
    Some(())
}

fn put_paths(bytes: &mut Vec<u8>, paths: &[BString]) -> Option<()> {
    bytes.extend_from_slice(&(paths.len() as u32).to_le_bytes());
    paths.iter().try_for_each(|path| put_path(bytes, path.as_ref()))
}

fn take_paths(rest: &mut &[u8]) -> Option<Vec<BString>> {
    let n = u32::from_le_bytes(take(rest)?);
    (0..n).map(|_| take_path(rest)).collect()
}

fn put_outcome(bytes: &mut Vec<u8>, comparison: &StatusRun, kind: gix::hash::Kind) -> Option<()> {
    let StatusRun { scan: WorktreeScan { tracked, untracked }, outcome, .. } = comparison;
    bytes.push(kind.len_in_bytes() as u8);
    bytes.push(u8::from(outcome.head_tree.is_some()));
    bytes.extend_from_slice(outcome.head_tree.unwrap_or(Oid::null(kind)).as_slice());
    for positions in [&tracked.deleted, &tracked.maybe_modified, &tracked.hard_linked] {
        bytes.extend_from_slice(&(positions.len() as u32).to_le_bytes());
        for &position in positions {
            bytes.extend_from_slice(&u32::try_from(position).ok()?.to_le_bytes());
        }
    }
    bytes.extend_from_slice(&(tracked.checked as u64).to_le_bytes());
    put_paths(bytes, &untracked.paths)?;
    put_paths(bytes, &untracked.rules)?;
    let found = &outcome.changes;
    bytes.extend_from_slice(&(found.changes.len() as u32).to_le_bytes());
    for change in &found.changes {
        put_path(bytes, change.path.as_ref())?;
        bytes.push(change.state as u8);
        bytes.push(u8::from(change.conflicted) | u8::from(change.bytes.is_some()) << 1);
        if let Some(blob) = &change.bytes {
            bytes.extend_from_slice(blob.oid.as_slice());
            bytes.push(blob.mode as u8);
            bytes.extend_from_slice(&blob.size.to_le_bytes());
        }
    }
    bytes.extend_from_slice(&(found.checked as u64).to_le_bytes());
    put_paths(bytes, &found.filtered)
}

fn decode(bytes: &[u8], own: &[u8; 16]) -> Option<(StatusRun, Vec<Range<usize>>)> {
    let rest = &mut bytes.get(MAGIC.len()..)?;
    if take::<16>(rest)? != *own {
        return None;
    }
    let [n_sources] = take(rest)?;
    let source = |_| {
        let path = gix::path::from_bstring(take_path(rest)?).ok()?;
        let seen = match ExpectedStat::take(rest)? {
            ExpectedStat::Exactly(stat) => Some(stat),
            ExpectedStat::Nothing => None,
            ExpectedStat::Directory => return None,
        };
        // It was unchanged when this was written, and old enough.
        Some(Source { path, seen, observed: Time::now() })
    };
    let sources = (0..n_sources).map(source).collect::<Option<_>>()?;
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
    (at == bytes.len()).then_some((StatusRun { index, sources, scan, outcome }, blocks))
}

fn take_outcome(rest: &mut &[u8]) -> Option<(WorktreeScan, Outcome)> {
    let [oid_bytes] = take(rest)?;
    let oid = |rest: &mut &[u8]| Oid::try_from(take_slice(rest, usize::from(oid_bytes))?).ok();
    let count = |rest: &mut &[u8]| usize::try_from(u64::from_le_bytes(take(rest)?)).ok();
    let has_tree = take(rest)? == [1];
    let head_tree = oid(rest)?;
    let positions = |rest: &mut &[u8]| {
        let n = u32::from_le_bytes(take(rest)?);
        (0..n).map(|_| Some(u32::from_le_bytes(take(rest)?) as usize)).collect::<Option<Vec<_>>>()
    };
    let (deleted, maybe_modified, hard_linked) = (positions(rest)?, positions(rest)?, positions(rest)?);
    let tracked =
        Tracked { deleted, maybe_modified, hard_linked, checked: count(rest)?, ..Tracked::default() };
    let (paths, rules) = (take_paths(rest)?, take_paths(rest)?);
    let untracked = Untracked { paths, rules, ..Untracked::default() };
    if !untracked.paths.iter().chain(&untracked.rules).all(|path| is_inside(path.as_ref())) {
        return None;
    }
    let n_changes = u32::from_le_bytes(take(rest)?);
    let change = |_| {
        let path = take_path(rest)?;
        let state = match take(rest)? {
            [0] => FileState::Staged,
            [1] => FileState::Dirty,
            [2] => FileState::Untracked,
            _ => return None,
        };
        let [bits] = take(rest)?;
        let blob = |rest: &mut &[u8]| {
            let oid = oid(rest)?;
            let mode = match take(rest)? {
                [0] => Mode::File,
                [1] => Mode::Executable,
                [2] => Mode::Symlink,
                _ => return None,
            };
            Some(WorktreeBlob { oid, mode, size: u64::from_le_bytes(take(rest)?) })
        };
        let bytes = if bits & 2 == 0 { None } else { Some(blob(rest)?) };
        Some(WorktreeChange { path, state, conflicted: bits & 1 != 0, bytes })
    };
    let changes = (0..n_changes).map(change).collect::<Option<_>>()?;
    let changes =
        WorktreeChanges { changes, checked: count(rest)?, unchecked: 0, filtered: take_paths(rest)? };
    let head_tree = has_tree.then_some(head_tree);
    let outcome = Outcome { head_tree, all_in_index: true, changes: Arc::new(changes) };
    Some((WorktreeScan { tracked, untracked }, outcome))
}
