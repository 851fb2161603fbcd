//! Stat data of the files that git tracks, compared with git's index.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use gix::index::entry::{Flags, Mode as EntryMode, Stage};

use super::context::StatusContext;
use super::stat::{FileStat, Kind, Time, is_absent};
use crate::{BStr, BString, ByteSlice as _, Repo};

/// Stat results of tracked files. All positions are positions in the index.
#[derive(Default)]
pub(super) struct TrackedScan {
    /// The stat data of each file, `None` for files that do not exist. `None` as a whole if a file could not
    /// be stat'ed.
    pub observations: Option<Vec<(usize, Option<FileStat>)>>,
    /// Files that do not exist.
    pub deleted: Vec<usize>,
    /// Files whose stat data does not prove that they are unmodified.
    pub maybe_modified: Vec<usize>,
    /// First positions of paths with conflict stages.
    pub conflicted: Vec<usize>,
    /// Files with several hard links, which may be written under another name.
    pub hard_linked: Vec<usize>,
    /// Number of paths that were checked.
    pub checked: usize,
    /// Number of paths that were not reached before the deadline.
    pub unchecked: usize,
}

impl TrackedScan {
    /// Adds the results of another part of the index.
    fn append(&mut self, mut other: TrackedScan) {
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

    /// Returns whether all positions exist in an index of `n_entries`.
    pub fn fits(&self, n_entries: usize) -> bool {
        let mut positions =
            [&self.deleted, &self.maybe_modified, &self.conflicted, &self.hard_linked].into_iter().flatten();
        positions.all(|position| *position < n_entries) && self.checked <= n_entries
    }

    /// Records the stat data of a file, unless the observations are incomplete.
    fn observe(&mut self, position: usize, stat: Option<FileStat>) {
        if let Some(observations) = &mut self.observations {
            observations.push((position, stat));
        }
    }

    /// Checks again one file, which has no conflict stages.
    pub fn rescan(&mut self, context: &StatusContext, index: &gix::index::State, position: usize) {
        for positions in [&mut self.deleted, &mut self.maybe_modified, &mut self.hard_linked] {
            positions.retain(|known| *known != position);
        }

        let is_checked = is_checked(&index.entries()[position], is_sparse(context.repo));
        self.checked = self.checked.saturating_sub(usize::from(is_checked));
        let part = position..position + 1;
        self.append(scan_part(context.repo, context.root, index, part, context.deadline));
    }

    /// Compares a file with its index entry, which was written at `index_written` or before.
    fn compare(
        &mut self,
        position: usize,
        entry: &gix::index::Entry,
        meta: &std::fs::Metadata,
        trust_ctime: bool,
        index_written: Time,
    ) {
        let stat = FileStat::from_metadata(meta);
        self.observe(position, Some(stat));

        let is_symlink = entry.mode == EntryMode::SYMLINK;
        let is_same_kind = match Kind::from_metadata(meta) {
            Kind::Directory | Kind::Other => {
                self.deleted.push(position);
                return;
            }
            Kind::Symlink => is_symlink,
            Kind::File { .. } => !is_symlink,
        };
        let is_unmodified = is_same_kind
            && !entry.flags.contains(Flags::INTENT_TO_ADD)
            && stat.matches_index(&entry.stat, trust_ctime)
            && !stat.mtime.is_racy(index_written);

        if !is_unmodified {
            self.maybe_modified.push(position);
        }
        if has_several_links(meta) {
            self.hard_linked.push(position);
        }
    }
}

/// Returns whether stat data proves that the file at `position` is as staged, or the working tree does not
/// matter for the entry.
pub(super) fn is_unmodified(repo: &Repo, root: &Path, index: &gix::index::State, position: usize) -> bool {
    /// More time than one `lstat` takes.
    const AMPLE: Duration = Duration::from_secs(60);

    if !is_checked(&index.entries()[position], is_sparse(repo)) {
        return true;
    }

    let scan = scan_part(repo, root, index, position..position + 1, Instant::now() + AMPLE);
    scan.checked == 1
        && scan.deleted.is_empty()
        && scan.maybe_modified.is_empty()
        && scan.conflicted.is_empty()
}

/// Returns whether the working tree matters for this entry. It does not for submodules, sparse directories,
/// and, in a sparse checkout, files outside of it: there may be millions, and git itself looks for those that
/// exist.
///
/// Entries that are marked otherwise, by `update-index --skip-worktree` or `--assume-unchanged`, are
/// compared: git hides edits of them, but who searches them sees them. Only where the file does not exist
/// they count as committed.
pub(super) fn is_checked(entry: &gix::index::Entry, is_sparse: bool) -> bool {
    let is_outside = is_sparse && entry.flags.contains(Flags::SKIP_WORKTREE);

    !is_outside && !matches!(entry.mode, EntryMode::COMMIT | EntryMode::DIR)
}

/// Returns whether the working tree is a sparse checkout.
pub(super) fn is_sparse(repo: &Repo) -> bool {
    repo.local().config_snapshot().boolean("core.sparseCheckout").unwrap_or(false)
}

/// Returns whether git takes the file of an entry as committed without a look at it.
fn is_assumed(entry: &gix::index::Entry) -> bool {
    entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID)
}

/// Stats all tracked files, on all cores.
pub(super) fn scan(context: &StatusContext, index: &gix::index::State) -> TrackedScan {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let n_parts = (index.entries().len() / context.tuning.entries_per_thread).clamp(1, cores);
    let mut parts =
        (0..n_parts).map(|part| start_of_part(index, part, n_parts)..start_of_part(index, part + 1, n_parts));
    let first = parts.next().unwrap_or_default();

    std::thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|part| {
                scope.spawn(move || scan_part(context.repo, context.root, index, part, context.deadline))
            })
            .collect();
        let mut tracked = scan_part(context.repo, context.root, index, first, context.deadline);
        for other in others {
            tracked.append(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        tracked
    })
}

/// The position of the first entry of a part. All stages of a conflict belong to one part.
fn start_of_part(index: &gix::index::State, part: usize, n_parts: usize) -> usize {
    let entries = index.entries();
    let mut start = entries.len() * part / n_parts;
    while start > 0 && start < entries.len() && entries[start].path(index) == entries[start - 1].path(index) {
        start += 1;
    }
    start
}

/// Stats the tracked files at the positions `part`.
fn scan_part(
    repo: &Repo,
    root: &Path,
    index: &gix::index::State,
    part: Range<usize>,
    deadline: Instant,
) -> TrackedScan {
    /// Number of entries between two looks at the clock.
    const CLOCK_EVERY: usize = 64;

    let trust_ctime = repo.local().config_snapshot().boolean("core.trustCtime").unwrap_or(true);
    let is_sparse = is_sparse(repo);
    let timestamp = index.timestamp();
    let index_written = Time {
        seconds: u64::try_from(timestamp.unix_seconds()).unwrap_or(0),
        nanos: timestamp.nanoseconds(),
    };

    let mut tracked =
        TrackedScan { observations: Some(Vec::with_capacity(part.len())), ..TrackedScan::default() };
    let mut symlinks = SymlinkCheck::new(root);
    let mut is_late = false;
    let mut last_conflict: Option<&BStr> = None;

    for position in part {
        let entry = &index.entries()[position];
        let path = entry.path(index);
        if !is_checked(entry, is_sparse) {
            continue;
        }
        is_late = is_late || position % CLOCK_EVERY == 0 && Instant::now() > deadline;
        if is_late {
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
        let meta = match symlinks.full_path(path).map(std::fs::symlink_metadata) {
            Some(Ok(meta)) => meta,
            Some(Err(error)) if !is_absent(&error) => {
                // Classification reads the file and reports the error for this path alone.
                tracked.maybe_modified.push(position);
                tracked.observations = None;
                continue;
            }
            Some(Err(_)) | None => {
                if !is_assumed(entry) {
                    tracked.deleted.push(position);
                }
                tracked.observe(position, None);
                continue;
            }
        };
        tracked.compare(position, entry, &meta, trust_ctime, index_written);
    }
    tracked
}

/// Returns whether the file has other hard links. Always false where the system does not report them.
#[cfg(unix)]
pub(super) fn has_several_links(meta: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(meta) > 1
}

#[cfg(not(unix))]
pub(super) fn has_several_links(_: &std::fs::Metadata) -> bool {
    false
}

/// Full paths of files that are not behind a symlink to a directory.
pub(super) struct SymlinkCheck<'a> {
    root: &'a Path,
    /// The directory checked last, with its slash.
    last: BString,
    /// Whether `last` consists of real directories, as far as they can be searched.
    is_real: bool,
    full: std::path::PathBuf,
}

impl<'a> SymlinkCheck<'a> {
    pub fn new(root: &'a Path) -> Self {
        SymlinkCheck { root, last: BString::default(), is_real: true, full: root.to_owned() }
    }

    /// Returns the full path of `path`; `None` if a parent directory is missing, a file or a link. Cheap for
    /// sorted paths.
    pub fn full_path(&mut self, path: &BStr) -> Option<&Path> {
        let directory = &path[..path.rfind_byte(b'/').map_or(0, |slash| slash + 1)];
        if directory != &self.last[..] {
            let common = self.last.iter().zip(directory.iter()).take_while(|(a, b)| a == b).count();
            // Parents shared with a directory that is known to be real are real.
            let known = if self.is_real {
                directory[..common].rfind_byte(b'/').map_or(0, |slash| slash + 1)
            } else {
                0
            };
            self.is_real = directory[known..].find_iter("/").all(|slash| {
                let parent = self.root.join(directory[..known + slash].to_path_lossy());
                match std::fs::symlink_metadata(parent) {
                    Ok(meta) => meta.is_dir(),
                    // The directory above cannot be searched. The caller gets this error for the path itself.
                    Err(error) => !is_absent(&error),
                }
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
