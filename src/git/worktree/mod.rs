//! How the working tree differs from a committed tree (G8).
//!
//! Done here and not by the status machinery of gix, because that runs filter programs a repository's configuration
//! names. What git's index vouches for by size, times and inode is not read. Files it does not vouch for (touched by a
//! build, changed within one tick of the clock, not tracked) are hashed once and remembered in a cache of our own, since
//! a reader must not write the index.

mod clean;
mod index;
mod stat;
#[cfg(test)]
mod tests;
mod untracked;

use std::path::Path;
use std::time::{Duration, Instant};

use gix::index::entry::{Flags, Mode as EntryMode, Stage};
use rustc_hash::FxHashSet;

use super::{BStr, BString, ByteSlice as _, GitError, Mode, Oid, Repo};
pub use clean::WorktreeReader;
use clean::{Found, is_absent};
use index::{Committed, HeadSide};
use stat::{FileStat, Kind, Known, StatCache, Time};

/// Where the bytes of a changed file stand between commit, index and disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// The index differs from the commit, the file equals the index.
    Staged,
    /// The file differs from the index.
    Dirty,
    /// The file is not in the index and not ignored.
    Untracked,
}

/// A file of the working tree in the form git would commit it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeBlob {
    /// Of the cleaned bytes (line endings and encoding as in a commit); in no object database unless staged. The null oid
    /// for files above 64 MiB, which are not read.
    pub oid: Oid,
    pub mode: Mode,
    /// Of the cleaned bytes.
    pub size: u64,
}

/// A path at which the working tree holds something else than the committed tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeChange {
    pub path: BString,
    pub state: FileState,
    /// The index holds the stages of an unresolved merge.
    pub conflicted: bool,
    /// `None` if the file was deleted.
    pub bytes: Option<WorktreeBlob>,
}

/// The result of [`worktree_changes`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeChanges {
    /// Sorted by path.
    pub changes: Vec<WorktreeChange>,
    /// Paths compared with the disk.
    pub checked: usize,
    /// Paths and untracked directories left out because the budget was used up.
    pub unchecked: usize,
    /// Paths with a filter driver (LFS, git-crypt) whose file seems changed; never read.
    pub filtered: Vec<BString>,
}

/// Finds what differs between `head_tree` and the working tree (G8).
///
/// Content counts: a touched file, a changed mode or an edit that was undone is no change. Paths marked skip-worktree
/// (sparse checkout) or assume-unchanged are as committed, submodules too. `cache_file` is read and, best effort,
/// replaced. When `budget` is used up the rest is counted in `unchecked`; known tracked changes come before untracked
/// files. Writes nothing else, runs nothing.
pub fn worktree_changes(
    repo: &Repo,
    head_tree: Option<&Oid>,
    cache_file: &Path,
    budget: Duration,
) -> Result<WorktreeChanges, GitError> {
    let deadline = Instant::now() + budget;
    let root = repo.work_dir().ok_or_else(|| GitError::Bare { path: repo.git_dir().to_owned() })?;
    let index = index::read(repo)?;
    let (tracked, untracked, head) = std::thread::scope(|scope| {
        let untracked = scope.spawn(|| untracked::find(repo, root, &index, deadline));
        let tracked = compare_stats(repo, root, &index, deadline);
        let head = index::head_side(repo, &index, head_tree);
        let untracked = untracked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (tracked, untracked, head)
    });
    let (tracked, untracked, head) = (tracked, untracked?, head?);
    let rules = cleaning_rules(repo, root, &index, &untracked.paths);
    let known = StatCache::load(cache_file).if_under(rules);
    let mut overlay = Overlay {
        repo,
        index: &index,
        head,
        reader: None,
        is_complete: tracked.unchecked == 0 && untracked.unchecked == 0,
        known,
        fresh: StatCache::under(rules),
        has_news: false,
        deadline,
        result: WorktreeChanges {
            checked: tracked.checked,
            unchecked: tracked.unchecked + untracked.unchecked,
            ..Default::default()
        },
    };
    overlay.tracked(&tracked)?;
    overlay.missing_from_index()?;
    overlay.untracked(untracked.paths)?;
    Ok(overlay.finish(cache_file))
}

/// The cleaned bytes of a file of the working tree; `None` if there is no such file, if it has a filter driver or exceeds
/// 64 MiB. The target, if it is a link. For several files make one [`WorktreeReader`]: this reads the index each time.
///
/// Errors: [`GitError::PathEscapes`] for paths that are absolute, contain `..` or `.git`, or lead through a link.
pub fn read_worktree_file(repo: &Repo, path: &BStr) -> Result<Option<Vec<u8>>, GitError> {
    WorktreeReader::open(repo)?.read(path)
}

/// Identity of everything but the file itself that decides its cleaned bytes: attributes, line-end settings, and the index,
/// since git leaves the line ends of a file alone that was committed with carriage returns.
fn cleaning_rules(repo: &Repo, root: &Path, index: &gix::index::State, untracked: &[BString]) -> [u8; 16] {
    const NAME: &[u8] = b".gitattributes";
    let is_attributes =
        |path: &[u8]| path.strip_suffix(NAME).is_some_and(|dir| dir.is_empty() || dir.ends_with(b"/"));
    let mut hasher = blake3::Hasher::new();
    let mut apply = false;
    let local = repo.local();
    let config = local.config_snapshot();
    for key in ["core.autocrlf", "core.eol", "core.attributesFile"] {
        if let Some(value) = config.string(key) {
            apply = true;
            hasher.update(key.as_bytes()).update(&value).update(b"\0");
        }
    }
    let mut file = |path: &Path| {
        let is_file = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
        if let Some(bytes) = is_file.then(|| std::fs::read(path).ok()).flatten() {
            apply = true;
            hasher.update(path.as_os_str().as_encoded_bytes()).update(blake3::hash(&bytes).as_bytes());
        }
    };
    file(&repo.common_dir().join("info").join("attributes"));
    let tracked = index.entries().iter().map(|entry| entry.path(index));
    for path in tracked.chain(untracked.iter().map(|path| path.as_ref())).filter(|path| is_attributes(path)) {
        if let Ok(path) = gix::path::from_bstr(path) {
            file(&root.join(path));
        }
    }
    for entry in index.entries().iter().filter(|entry| is_attributes(entry.path(index))) {
        // In force also where the file itself is gone.
        apply = true;
        hasher.update(entry.id.as_slice());
    }
    if apply {
        // Per file would do; but entries of the git index vouch for nearly all files, and these are few.
        for entry in index.entries() {
            hasher.update(entry.id.as_slice());
        }
    }
    let mut rules = [0; 16];
    rules.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    rules
}

/// What `lstat` says about the tracked files.
#[derive(Default)]
struct Tracked {
    /// Index positions of files that are gone.
    gone: Vec<usize>,
    /// Index positions of files that the index does not vouch for.
    suspicious: Vec<usize>,
    /// First positions of paths with conflict stages.
    conflicted: Vec<usize>,
    checked: usize,
    unchecked: usize,
}

impl Tracked {
    fn append(&mut self, mut other: Tracked) {
        self.gone.append(&mut other.gone);
        self.suspicious.append(&mut other.suspicious);
        self.conflicted.append(&mut other.conflicted);
        self.checked += other.checked;
        self.unchecked += other.unchecked;
    }
}

/// Entries for which another thread is worth starting: each costs a microsecond or more.
const ENTRIES_PER_THREAD: usize = if cfg!(debug_assertions) { 2 } else { 1000 };

fn compare_stats(repo: &Repo, root: &Path, index: &gix::index::State, deadline: Instant) -> Tracked {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let entries = index.entries();
    let n_parts = (entries.len() / ENTRIES_PER_THREAD).clamp(1, cores);
    // The stages of a conflict stay together.
    let cut = |part: usize| {
        let at = entries.len() * part / n_parts;
        let is_path_of_last = |i: &usize| *i > 0 && entries[*i].path(index) == entries[*i - 1].path(index);
        (at..entries.len()).find(|i| !is_path_of_last(i)).unwrap_or(entries.len())
    };
    std::thread::scope(|scope| {
        let compare = |part| compare_part(repo, root, index, cut(part)..cut(part + 1), deadline);
        let others: Vec<_> = (1..n_parts).map(|part| scope.spawn(move || compare(part))).collect();
        let mut tracked = compare(0);
        for other in others {
            tracked.append(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        tracked
    })
}

fn compare_part(
    repo: &Repo,
    root: &Path,
    index: &gix::index::State,
    part: std::ops::Range<usize>,
    deadline: Instant,
) -> Tracked {
    const CLOCK_EVERY: usize = 64;
    let trust_ctime = repo.local().config_snapshot().boolean("core.trustCtime").unwrap_or(true);
    let timestamp = index.timestamp();
    let written = Time {
        seconds: u64::try_from(timestamp.unix_seconds()).unwrap_or(0),
        nanos: timestamp.nanoseconds(),
    };
    let mut tracked = Tracked::default();
    let mut directories = RealDirectories::new(root);
    let mut late = false;
    let mut last_conflict: Option<&BStr> = None;
    for position in part {
        let entry = &index.entries()[position];
        let path = entry.path(index);
        if entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID)
            || matches!(entry.mode, EntryMode::COMMIT | EntryMode::DIR)
        {
            continue;
        }
        late = late || position % CLOCK_EVERY == 0 && Instant::now() > deadline;
        if late {
            tracked.unchecked += 1;
            continue;
        }
        if entry.stage() != Stage::Unconflicted {
            if last_conflict.replace(path) != Some(path) {
                tracked.checked += 1;
                tracked.conflicted.push(position);
            }
            continue;
        }
        tracked.checked += 1;
        let Some(full) = directories.full_path(path) else {
            tracked.gone.push(position);
            continue;
        };
        match std::fs::symlink_metadata(full) {
            Err(error) if is_absent(&error) => tracked.gone.push(position),
            // Unreadable: the reader will say so for this path alone.
            Err(_) => tracked.suspicious.push(position),
            Ok(meta) => {
                let kind = Kind::of(&meta);
                let stat = FileStat::of(&meta);
                let is_symlink = entry.mode == EntryMode::SYMLINK;
                let vouched = match kind {
                    Kind::Directory | Kind::Other => {
                        tracked.gone.push(position);
                        continue;
                    }
                    Kind::Symlink => is_symlink,
                    Kind::File { .. } => !is_symlink,
                };
                let vouched = vouched
                    && !entry.flags.contains(Flags::INTENT_TO_ADD)
                    && stat.is_as_indexed(&entry.stat, trust_ctime)
                    && !stat.mtime.is_racy(written);
                if !vouched {
                    tracked.suspicious.push(position);
                }
            }
        }
    }
    tracked
}

/// Full paths of files whose directories are real ones, not links to somewhere else.
struct RealDirectories<'a> {
    root: &'a Path,
    /// The directory looked at last, with its slash, and whether it is real.
    last: BString,
    is_real: bool,
    full: std::path::PathBuf,
}

impl<'a> RealDirectories<'a> {
    fn new(root: &'a Path) -> Self {
        RealDirectories { root, last: BString::default(), is_real: true, full: root.to_owned() }
    }

    /// `None` if a directory on the way is missing, a file or a link. Cheap for paths in order.
    fn full_path(&mut self, path: &BStr) -> Option<&Path> {
        let directory = &path[..path.rfind_byte(b'/').map_or(0, |slash| slash + 1)];
        if directory != &self.last[..] {
            let common = self.last.iter().zip(directory.iter()).take_while(|(a, b)| a == b).count();
            // What a real directory shares with this one needs no second look.
            let known = if self.is_real {
                directory[..common].rfind_byte(b'/').map_or(0, |slash| slash + 1)
            } else {
                0
            };
            self.is_real = directory[known..].find_iter("/").all(|slash| {
                let parent = self.root.join(directory[..known + slash].to_path_lossy());
                std::fs::symlink_metadata(parent).is_ok_and(|meta| meta.is_dir())
            });
            self.last = directory.into();
        }
        if !self.is_real {
            return None;
        }
        self.full.clear();
        self.full.push(self.root);
        self.full.push(path.to_path_lossy());
        Some(&self.full)
    }
}

/// What a path of the working tree holds.
enum Content {
    Blob(WorktreeBlob),
    Nothing,
    /// Has a filter driver, or cannot be read.
    Unknown,
}

/// Turns suspicions into changes.
struct Overlay<'a> {
    repo: &'a Repo,
    index: &'a gix::index::State,
    head: HeadSide,
    /// Made when the first file has to be read.
    reader: Option<WorktreeReader>,
    is_complete: bool,
    known: StatCache,
    fresh: StatCache,
    /// Whether `fresh` holds something that `known` did not.
    has_news: bool,
    deadline: Instant,
    result: WorktreeChanges,
}

impl Overlay<'_> {
    fn tracked(&mut self, tracked: &Tracked) -> Result<(), GitError> {
        let index = self.index;
        let mut examined: FxHashSet<usize> = FxHashSet::default();
        for &position in &tracked.conflicted {
            let path = index.entries()[position].path(index);
            let committed = self.head.missing.remove(path);
            let content = self.content(path)?;
            self.change(path, content, committed, FileState::Dirty, true);
        }
        for &position in &tracked.gone {
            examined.insert(position);
            let committed = self.committed(position);
            self.change(
                index.entries()[position].path(index),
                Content::Nothing,
                committed,
                FileState::Dirty,
                false,
            );
        }
        for &position in &tracked.suspicious {
            examined.insert(position);
            if self.is_late() {
                continue;
            }
            let entry = &index.entries()[position];
            let path = entry.path(index);
            let content = self.content(path)?;
            let intended = entry.flags.contains(Flags::INTENT_TO_ADD);
            let state = match &content {
                Content::Blob(blob)
                    if blob.oid == entry.id
                        && (blob.mode == Mode::Symlink) == (entry.mode == EntryMode::SYMLINK)
                        && !intended =>
                {
                    FileState::Staged
                }
                _ => FileState::Dirty,
            };
            let committed = self.committed(position);
            self.change(path, content, committed, state, false);
        }
        // What differs from the commit and is, on disk, as in the index.
        let mut staged: Vec<_> =
            self.head.changed.keys().copied().filter(|at| !examined.contains(at)).collect();
        staged.sort_unstable();
        for position in staged {
            let entry = &index.entries()[position];
            if entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID)
                || entry.mode == EntryMode::DIR
            {
                continue;
            }
            let path = entry.path(index);
            let size = self.repo.blobs().size(&entry.id)?.unwrap_or(0);
            let mode = match entry.mode {
                EntryMode::SYMLINK => Mode::Symlink,
                EntryMode::FILE_EXECUTABLE => Mode::Executable,
                _ => Mode::File,
            };
            let content = Content::Blob(WorktreeBlob { oid: entry.id, mode, size });
            let committed = self.committed(position);
            self.change(path, content, committed, FileState::Staged, false);
        }
        Ok(())
    }

    /// Committed, but not in the index: removed, or only taken out of the index and still there.
    fn missing_from_index(&mut self) -> Result<(), GitError> {
        let mut missing: Vec<_> = std::mem::take(&mut self.head.missing).into_iter().collect();
        missing.sort_by(|a, b| a.0.cmp(&b.0));
        for (path, committed) in missing {
            let real = RealDirectories::new(self.repo.work_dir().unwrap_or(Path::new("")))
                .full_path(path.as_ref())
                .is_some();
            let content = if real { self.content(path.as_ref())? } else { Content::Nothing };
            let state =
                if matches!(content, Content::Nothing) { FileState::Staged } else { FileState::Untracked };
            self.head.missing.insert(path.clone(), committed);
            self.change(path.as_ref(), content, Some(committed), state, false);
        }
        Ok(())
    }

    fn untracked(&mut self, mut paths: Vec<BString>) -> Result<(), GitError> {
        paths.sort();
        for path in paths {
            if self.head.missing.contains_key(&path) {
                continue; // dealt with as committed
            }
            if Instant::now() > self.deadline {
                self.result.unchecked += 1;
                self.is_complete = false;
                continue;
            }
            self.result.checked += 1;
            let content = self.content(path.as_ref())?;
            if !matches!(content, Content::Nothing) {
                self.change(path.as_ref(), content, None, FileState::Untracked, false);
            }
        }
        Ok(())
    }

    fn finish(mut self, cache_file: &Path) -> WorktreeChanges {
        if self.has_news {
            if !self.is_complete {
                self.fresh.keep_from(self.known);
            }
            self.fresh.store(cache_file);
        }
        self.result.changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.result.filtered.sort();
        self.result.filtered.dedup();
        self.result
    }

    /// Whether a path already counted as checked has to be given up.
    fn is_late(&mut self) -> bool {
        let late = Instant::now() > self.deadline;
        if late {
            self.result.checked = self.result.checked.saturating_sub(1);
            self.result.unchecked += 1;
            self.is_complete = false;
        }
        late
    }

    /// What is committed at the path of an index entry.
    fn committed(&self, position: usize) -> Option<Committed> {
        let entry = &self.index.entries()[position];
        let unchanged = Committed { oid: entry.id, is_symlink: entry.mode == EntryMode::SYMLINK };
        self.head.changed.get(&position).copied().unwrap_or(Some(unchanged))
    }

    fn change(
        &mut self,
        path: &BStr,
        content: Content,
        committed: Option<Committed>,
        state: FileState,
        conflicted: bool,
    ) {
        let bytes = match content {
            Content::Unknown => return,
            Content::Nothing if committed.is_none() => return,
            Content::Nothing => None,
            Content::Blob(blob) => {
                let is_symlink = blob.mode == Mode::Symlink;
                if committed.is_some_and(|c| c.oid == blob.oid && c.is_symlink == is_symlink) {
                    return;
                }
                Some(blob)
            }
        };
        self.result.changes.push(WorktreeChange { path: path.to_owned(), state, conflicted, bytes });
    }

    /// From the cache, or by reading the file.
    fn content(&mut self, path: &BStr) -> Result<Content, GitError> {
        let Some(root) = self.repo.work_dir() else { return Ok(Content::Nothing) };
        let meta = match std::fs::symlink_metadata(root.join(path.to_path_lossy())) {
            Ok(meta) => meta,
            Err(error) if is_absent(&error) => return Ok(Content::Nothing),
            Err(_) => return Ok(Content::Unknown),
        };
        let mode = match Kind::of(&meta) {
            Kind::Directory | Kind::Other => return Ok(Content::Nothing),
            Kind::Symlink => Mode::Symlink,
            Kind::File { executable: true } => Mode::Executable,
            Kind::File { executable: false } => Mode::File,
        };
        if let Some(known) = self.known.get(path, &FileStat::of(&meta)) {
            self.fresh.insert(path.to_owned(), known);
            return Ok(Content::Blob(WorktreeBlob { oid: known.oid, mode, size: known.clean_size }));
        }
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => self.reader.insert(WorktreeReader::with_index(self.repo, self.index.clone())?),
        };
        let observed = Time::now();
        match reader.find_checked(path) {
            Ok((stat, Found::Blob { bytes, mode })) => {
                let oid = super::hash_blob(&bytes, self.index.object_hash());
                let size = bytes.len() as u64;
                if let Some(stat) = stat.filter(|stat| !stat.mtime.is_racy(observed)) {
                    self.has_news = true;
                    self.fresh.insert(path.to_owned(), Known { stat, oid, clean_size: size });
                }
                Ok(Content::Blob(WorktreeBlob { oid, mode, size }))
            }
            Ok((_, Found::Huge { size, mode })) => {
                Ok(Content::Blob(WorktreeBlob { oid: Oid::null(self.index.object_hash()), mode, size }))
            }
            Ok((_, Found::Filtered)) => {
                self.result.filtered.push(path.to_owned());
                Ok(Content::Unknown)
            }
            Ok((_, Found::Nothing)) => Ok(Content::Nothing),
            // One unreadable file must not take the whole overlay down.
            Err(error) => {
                tracing::debug!(%error, "a file of the working tree is passed over");
                self.result.unchecked += 1;
                Ok(Content::Unknown)
            }
        }
    }
}
