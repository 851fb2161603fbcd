//! Files of the working tree that git neither tracks nor ignores.

use gix::bstr::ByteSlice as _;
use gix::index::entry::Mode as EntryMode;
use gix::worktree::stack::state::ignore::Source;
use rustc_hash::{FxHashMap, FxHashSet};

use super::context::StatusContext;
use super::fsmonitor::FsMonitor;
use super::index::directories;
use super::inputs::{PATTERN_FILES, Pipes, is_pattern_file};
use super::stat::{FileStat, is_absent};
use super::untracked_cache::{TrackedNames, UntrackedCache};
use crate::{BStr, BString, ByteVec as _, GitError, Repo, STORE_DIR};

/// Maximum depth of walked directories. The path of a deeper one exceeds the limit of a system call.
const MAX_DEPTH: usize = 1_000;

/// Result of a walk through the working tree.
#[derive(Default)]
pub(super) struct UntrackedScan {
    /// Untracked files and links, in no particular order.
    pub paths: Vec<BString>,
    /// Number of directories that were not reached before the deadline.
    pub unchecked: usize,
    /// Directories, with their slash, that can neither be listed nor searched.
    pub unreadable: Vec<BString>,
    /// Directories, with their slash, that can be searched and not listed.
    pub unlisted: Vec<BString>,
    /// Stat data of the walked directories; `None` if that of one of them is racy.
    pub directories: Option<Vec<(BString, FileStat)>>,
    /// Untracked ignore and attribute files ([`is_pattern_file`]) in all directories with tracked or walked
    /// files.
    pub pattern_files: Vec<BString>,
}

/// Walks the working tree.
///
/// Leaves out nested repositories, the store and everything that `.gitignore`, `info/exclude` or the user's
/// excludes file names. Does not follow links. Each directory is watched by `monitor` before it is read. It
/// is not read if the untracked cache has its contents.
pub(super) fn scan(
    context: &StatusContext,
    index: &gix::index::State,
    monitor: Option<&mut FsMonitor>,
) -> Result<UntrackedScan, GitError> {
    let local = context.repo.local();
    let folded = folds_case(context.repo)
        .then(|| index.entries().iter().map(|entry| entry.path(index).to_lowercase().into()).collect());

    let mut walk = Walk {
        context,
        index,
        tracked: TrackedNames::by_directory(index),
        cache: UntrackedCache::load(context.cache_file, context.root),
        excludes: Excludes::new(context.repo, &local, index)?,
        folded,
        monitor,
        walked: FxHashSet::default(),
        result: UntrackedScan::default(),
    };

    walk.directory(&mut BString::default(), 0);
    walk.find_unwalked_pattern_files();
    walk.result.unlisted.sort();
    walk.result.directories = walk.cache.observations();
    walk.cache.store(walk.result.unchecked == 0, &context.tuning);

    Ok(walk.result)
}

/// Returns whether the repository is configured for a file system that ignores case.
pub(super) fn folds_case(repo: &Repo) -> bool {
    repo.local().config_snapshot().boolean("core.ignoreCase").unwrap_or(false)
}

/// Git's ignore rules, evaluated for one path at a time.
pub(super) struct Excludes<'a> {
    local: &'a gix::Repository,
    stack: gix::worktree::Stack,
    pipes: Pipes,
}

impl<'a> Excludes<'a> {
    /// Prepares the ignore rules of a repository.
    pub fn new(
        repo: &Repo,
        local: &'a gix::Repository,
        index: &gix::index::State,
    ) -> Result<Excludes<'a>, GitError> {
        let stack = local
            .excludes(index, None, Source::WorktreeThenIdMappingIfNotSkipped)
            .map_err(|error| repo.unreadable(&error))?
            .detach();
        let pipes = Pipes::new(local.workdir().unwrap_or(local.git_dir()), PATTERN_FILES[0]);
        Ok(Excludes { local, stack, pipes })
    }

    /// Returns whether the rules exclude `path`, which has `mode`.
    pub fn is_excluded(&mut self, path: &BStr, mode: EntryMode) -> bool {
        if self.pipes.are_above(path) {
            return false;
        }
        let platform = self.stack.at_entry(path, Some(mode), &self.local.objects);
        platform.is_ok_and(|platform| platform.is_excluded())
    }
}

/// A walk through the working tree.
struct Walk<'a> {
    context: &'a StatusContext<'a>,
    index: &'a gix::index::State,
    tracked: FxHashMap<&'a BStr, TrackedNames>,
    cache: UntrackedCache,
    excludes: Excludes<'a>,
    /// Tracked paths in lower case, where the file system ignores case.
    folded: Option<FxHashSet<BString>>,
    monitor: Option<&'a mut FsMonitor>,
    /// Walked directories with their slash; the root is empty.
    walked: FxHashSet<BString>,
    result: UntrackedScan,
}

impl Walk<'_> {
    /// Walks the directory `prefix`, which is empty or ends in a slash. Unreadable directories are recorded;
    /// git warns about them.
    fn directory(&mut self, prefix: &mut BString, depth: usize) {
        if depth > MAX_DEPTH || self.context.is_late() {
            self.result.unchecked += 1;
            return;
        }

        // Watched before it is read, so that no later change is missed.
        let full = self.context.full_path(prefix.as_bstr());
        if let Some(monitor) = &mut self.monitor {
            monitor.watch_walked(prefix.as_bstr());
        }

        let none = TrackedNames::default();
        let tracked = self.tracked.get(prefix.as_bstr()).unwrap_or(&none);
        let Some(listing) = self.cache.listing(prefix.as_bstr(), &full, tracked, self.index) else {
            // A directory that has just been removed is no error.
            if std::fs::read_dir(&full).is_err_and(|error| !is_absent(&error)) {
                let is_searchable = std::fs::symlink_metadata(full.join(".")).is_ok();
                let places =
                    if is_searchable { &mut self.result.unlisted } else { &mut self.result.unreadable };
                places.push(prefix.clone());
            }
            return;
        };

        let base = prefix.len();
        for name in listing.files.iter().filter(|name| is_pattern_file(name)) {
            self.result.pattern_files.push([prefix.as_slice(), name].concat().into());
        }
        if depth > 0 && listing.is_nested_repository {
            if let Some(monitor) = &mut self.monitor {
                monitor.unmark_walked(prefix.as_bstr());
            }
            return;
        }

        self.walked.insert(prefix.clone());
        for name in listing.files {
            prefix.push_str(&name);
            if !self.is_tracked_in_other_case(prefix)
                && !self.excludes.is_excluded(prefix.as_bstr(), EntryMode::FILE)
            {
                self.result.paths.push(prefix.clone());
            }
            prefix.truncate(base);
        }

        for name in listing.directories {
            // The store directory is not part of the content of the working tree.
            if depth == 0 && name.eq_ignore_ascii_case(STORE_DIR.as_bytes()) {
                continue;
            }
            prefix.push_str(&name);
            if !self.excludes.is_excluded(prefix.as_bstr(), EntryMode::DIR) {
                prefix.push_byte(b'/');
                self.directory(prefix, depth + 1);
            }
            prefix.truncate(base);
        }
    }

    /// Adds untracked pattern files of directories that have tracked files but are not walked: ignored
    /// directories and those of nested repositories. Does nothing after an incomplete walk, which cannot tell
    /// such directories apart.
    fn find_unwalked_pattern_files(&mut self) {
        if self.result.unchecked > 0 {
            return;
        }

        for prefix in directories(self.index).filter(|&prefix| !self.walked.contains(prefix)) {
            for name in PATTERN_FILES {
                let path = BString::from([prefix, name.as_bytes()].concat());
                let is_tracked = self.index.entry_by_path(path.as_ref()).is_some();
                let full = self.context.full_path(path.as_ref());
                if !is_tracked && std::fs::symlink_metadata(full).is_ok() {
                    self.result.pattern_files.push(path);
                }
            }
        }

        self.result.pattern_files.sort();
        self.result.pattern_files.dedup();
    }

    fn is_tracked_in_other_case(&self, path: &BString) -> bool {
        self.folded.as_ref().is_some_and(|folded| folded.contains(&BString::from(path.to_lowercase())))
    }
}
