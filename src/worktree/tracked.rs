//! What `lstat` says about the files that git tracks.

use std::path::Path;
use std::time::{Duration, Instant};

use gix::index::entry::{Flags, Mode as EntryMode, Stage};

use super::stat::{FileStat, Kind, Time};
use super::to_git::is_absent;
use crate::git::{BStr, BString, ByteSlice as _, Repo};

/// What `lstat` says about the tracked files.
#[derive(Default)]
pub(super) struct Tracked {
    /// What was said of each, by index position; `None` at large if something could not be seen.
    pub observations: Option<Vec<(usize, Option<FileStat>)>>,
    /// Index positions of files that are gone.
    pub deleted: Vec<usize>,
    /// Index positions of files that the index does not vouch for.
    pub maybe_modified: Vec<usize>,
    /// First positions of paths with conflict stages.
    pub conflicted: Vec<usize>,
    /// Index positions of files with several hard links: they may be written under another name.
    pub hard_linked: Vec<usize>,
    pub checked: usize,
    pub unchecked: usize,
}

impl Tracked {
    fn append(&mut self, mut other: Tracked) {
        if let (Some(observations), Some(others)) = (&mut self.observations, &mut other.observations) {
            observations.append(others);
        } else {
            self.observations = None;
        }
        self.deleted.append(&mut other.deleted);
        self.maybe_modified.append(&mut other.maybe_modified);
        self.conflicted.append(&mut other.conflicted);
        self.hard_linked.append(&mut other.hard_linked);
        self.checked += other.checked;
        self.unchecked += other.unchecked;
    }

    /// Whether it speaks of entries that an index with so many can have.
    pub fn fits(&self, n_entries: usize) -> bool {
        let mut positions =
            [&self.deleted, &self.maybe_modified, &self.conflicted, &self.hard_linked].into_iter().flatten();
        positions.all(|position| *position < n_entries) && self.checked <= n_entries
    }

    fn saw(&mut self, position: usize, stat: Option<FileStat>) {
        if let Some(observations) = &mut self.observations {
            observations.push((position, stat));
        }
    }

    /// Looks again at one file, which has no conflict stages.
    pub fn rescan(
        &mut self,
        repo: &Repo,
        root: &Path,
        index: &gix::index::State,
        position: usize,
        deadline: Instant,
    ) {
        for positions in [&mut self.deleted, &mut self.maybe_modified, &mut self.hard_linked] {
            positions.retain(|known| *known != position);
        }
        self.checked = self.checked.saturating_sub(usize::from(is_checked(&index.entries()[position])));
        self.append(compare_part(repo, root, index, position..position + 1, deadline));
    }
}

/// More than one file takes.
const A_MOMENT: Duration = Duration::from_secs(60);

/// Whether the git index vouches for the file at `position`: it is there, and as it was when it was staged; or the disk does
/// not matter for it.
pub(super) fn is_unmodified(repo: &Repo, root: &Path, index: &gix::index::State, position: usize) -> bool {
    if !is_checked(&index.entries()[position]) {
        return true;
    }
    let seen = compare_part(repo, root, index, position..position + 1, Instant::now() + A_MOMENT);
    seen.checked == 1
        && seen.deleted.is_empty()
        && seen.maybe_modified.is_empty()
        && seen.conflicted.is_empty()
}

/// Whether the disk matters for this entry: it does not for submodules, sparse directories and what the user has asked git
/// not to look at.
pub(super) fn is_checked(entry: &gix::index::Entry) -> bool {
    !entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID)
        && !matches!(entry.mode, EntryMode::COMMIT | EntryMode::DIR)
}

/// Entries for which another thread is worth starting: each costs a microsecond or more.
const ENTRIES_PER_THREAD: usize = if cfg!(debug_assertions) { 2 } else { 1000 };

/// Looks at all of them, on all cores.
pub(super) fn look(repo: &Repo, root: &Path, index: &gix::index::State, deadline: Instant) -> Tracked {
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
    let mut tracked = Tracked { observations: Some(Vec::with_capacity(part.len())), ..Tracked::default() };
    let mut directories = SymlinkCheck::new(root);
    let mut late = false;
    let mut last_conflict: Option<&BStr> = None;
    for position in part {
        let entry = &index.entries()[position];
        let path = entry.path(index);
        if !is_checked(entry) {
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
        let meta = match directories.full_path(path).map(std::fs::symlink_metadata) {
            Some(Ok(meta)) => meta,
            Some(Err(error)) if !is_absent(&error) => {
                // Unreadable: the reader will say so for this path alone.
                tracked.maybe_modified.push(position);
                tracked.observations = None;
                continue;
            }
            Some(Err(_)) | None => {
                tracked.deleted.push(position);
                tracked.saw(position, None);
                continue;
            }
        };
        let stat = FileStat::of(&meta);
        tracked.saw(position, Some(stat));
        let is_symlink = entry.mode == EntryMode::SYMLINK;
        let unmodified_blob = match Kind::of(&meta) {
            Kind::Directory | Kind::Other => {
                tracked.deleted.push(position);
                continue;
            }
            Kind::Symlink => is_symlink,
            Kind::File { .. } => !is_symlink,
        };
        let unmodified_blob = unmodified_blob
            && !entry.flags.contains(Flags::INTENT_TO_ADD)
            && stat.matches_index(&entry.stat, trust_ctime)
            && !stat.mtime.is_racy(written);
        if !unmodified_blob {
            tracked.maybe_modified.push(position);
        }
        if has_several_links(&meta) {
            tracked.hard_linked.push(position);
        }
    }
    tracked
}

#[cfg(unix)]
pub(super) fn has_several_links(meta: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(meta) > 1
}

#[cfg(not(unix))]
pub(super) fn has_several_links(_: &std::fs::Metadata) -> bool {
    false
}

/// Full paths of files whose directories are real ones, not links to somewhere else.
pub(super) struct SymlinkCheck<'a> {
    root: &'a Path,
    /// The directory looked at last, with its slash, and whether it is real.
    last: BString,
    is_real: bool,
    full: std::path::PathBuf,
}

impl<'a> SymlinkCheck<'a> {
    pub fn new(root: &'a Path) -> Self {
        SymlinkCheck { root, last: BString::default(), is_real: true, full: root.to_owned() }
    }

    /// `None` if a directory on the way is missing, a file or a link. Cheap for paths in order.
    pub fn full_path(&mut self, path: &BStr) -> Option<&Path> {
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
