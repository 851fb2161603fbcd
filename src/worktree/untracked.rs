//! Files of the working tree that git does not track and does not ignore (D1).

use std::path::{Path, PathBuf};
use std::time::Instant;

use gix::bstr::ByteSlice as _;
use gix::index::entry::Mode as EntryMode;
use gix::worktree::stack::state::ignore::Source;
use rustc_hash::{FxHashMap, FxHashSet};

use super::fsmonitor::FsMonitor;
use super::index::directories;
use super::stat::FileStat;
use super::untracked_cache::{TrackedNames, UntrackedCache};
use super::{PATTERN_FILES, is_pattern_file};
use crate::git::{BStr, BString, ByteVec as _, GitError, Repo, STORE_DIR};

/// Deeper directories cannot be named in one call of the system.
const MAX_DEPTH: usize = 1_000;

#[derive(Default)]
pub(super) struct Untracked {
    /// Files and links, in no particular order.
    pub paths: Vec<BString>,
    /// Directories left out because the time was up.
    pub unchecked: usize,
    /// What was seen of the directories that were walked; `None` if one of them changes just now.
    pub directories: Option<Vec<(BString, FileStat)>>,
    /// Files that decide for others ([`decides_for_others`]) in all directories that matter, unless they are tracked.
    pub rules: Vec<BString>,
}

/// Walks the working tree. Nested repositories, the store and everything `.gitignore`, `info/exclude` or the user's
/// excludes name are left out. Links are not followed. Directories are told to `watch` before they are looked at, and those
/// that `listings_file` knows are not read.
pub(super) fn find(
    repo: &Repo,
    root: &Path,
    index: &gix::index::State,
    watch: Option<&mut FsMonitor>,
    listings_file: PathBuf,
    deadline: Instant,
) -> Result<Untracked, GitError> {
    let local = repo.local();
    let folded = folds_case(repo)
        .then(|| index.entries().iter().map(|entry| entry.path(index).to_lowercase().into()).collect());
    let mut walk = Walk {
        root,
        index,
        tracked: TrackedNames::by_directory(index),
        listings: UntrackedCache::load(listings_file, root),
        excludes: Excludes::new(repo, &local, index)?,
        folded,
        watch,
        deadline,
        walked: FxHashSet::default(),
        found: Untracked::default(),
    };
    walk.directory(&mut BString::default(), 0);
    walk.rules_elsewhere();
    walk.found.directories = walk.listings.seen();
    walk.listings.store(walk.found.unchecked == 0);
    Ok(walk.found)
}

/// Whether the file system is said not to tell upper from lower case.
pub(super) fn folds_case(repo: &Repo) -> bool {
    repo.local().config_snapshot().boolean("core.ignoreCase").unwrap_or(false)
}

/// What git ignores.
pub(super) struct Excludes<'a> {
    local: &'a gix::Repository,
    stack: gix::worktree::Stack,
}

impl<'a> Excludes<'a> {
    pub fn new(
        repo: &Repo,
        local: &'a gix::Repository,
        index: &gix::index::State,
    ) -> Result<Excludes<'a>, GitError> {
        let stack = local
            .excludes(index, None, Source::WorktreeThenIdMappingIfNotSkipped)
            .map_err(|error| repo.unreadable(&error))?
            .detach();
        Ok(Excludes { local, stack })
    }

    pub fn has(&mut self, path: &BStr, mode: EntryMode) -> bool {
        let platform = self.stack.at_entry(path, Some(mode), &self.local.objects);
        platform.is_ok_and(|platform| platform.is_excluded())
    }
}

struct Walk<'a> {
    root: &'a Path,
    index: &'a gix::index::State,
    tracked: FxHashMap<&'a BStr, TrackedNames>,
    listings: UntrackedCache,
    excludes: Excludes<'a>,
    /// Tracked paths in lower case, where the file system does not tell cases apart.
    folded: Option<FxHashSet<BString>>,
    watch: Option<&'a mut FsMonitor>,
    deadline: Instant,
    /// With their slash.
    walked: FxHashSet<BString>,
    found: Untracked,
}

impl Walk<'_> {
    /// `prefix` is empty or ends in a slash. Directories that cannot be read are passed over, as git does.
    fn directory(&mut self, prefix: &mut BString, depth: usize) {
        if depth > MAX_DEPTH || Instant::now() > self.deadline {
            self.found.unchecked += 1;
            return;
        }
        let full = self.root.join(prefix.to_path_lossy());
        if let Some(watch) = &mut self.watch {
            watch.walked(prefix.as_bstr());
        }
        let none = TrackedNames::default();
        let tracked = self.tracked.get(prefix.as_bstr()).unwrap_or(&none);
        let Some(listing) = self.listings.of(prefix.as_bstr(), &full, tracked, self.index) else { return };
        let base = prefix.len();
        for name in listing.files.iter().filter(|name| is_pattern_file(name)) {
            self.found.rules.push([prefix.as_slice(), name].concat().into());
        }
        if depth > 0 && listing.is_nested {
            if let Some(watch) = &mut self.watch {
                watch.not_walked(prefix.as_bstr());
            }
            return;
        }
        self.walked.insert(prefix.clone());
        for name in listing.files {
            prefix.push_str(&name);
            if !self.is_tracked_in_other_case(prefix) && !self.excludes.has(prefix.as_bstr(), EntryMode::FILE)
            {
                self.found.paths.push(prefix.clone());
            }
            prefix.truncate(base);
        }
        for name in listing.directories {
            if depth == 0 && name.eq_ignore_ascii_case(STORE_DIR.as_bytes()) {
                continue;
            }
            prefix.push_str(&name);
            if !self.excludes.has(prefix.as_bstr(), EntryMode::DIR) {
                prefix.push_byte(b'/');
                self.directory(prefix, depth + 1);
            }
            prefix.truncate(base);
        }
    }

    /// Tracked files may lie where nobody walks: in ignored directories and in those of other repositories. Whoever had no
    /// time for a walk does not know where that is.
    fn rules_elsewhere(&mut self) {
        if self.found.unchecked > 0 {
            return;
        }
        for prefix in directories(self.index).filter(|&prefix| !self.walked.contains(prefix)) {
            for name in PATTERN_FILES {
                let path = BString::from([prefix, name.as_bytes()].concat());
                let is_tracked = self.index.entry_by_path(path.as_ref()).is_some();
                if !is_tracked && std::fs::symlink_metadata(self.root.join(path.to_path_lossy())).is_ok() {
                    self.found.rules.push(path);
                }
            }
        }
        self.found.rules.sort();
        self.found.rules.dedup();
    }

    fn is_tracked_in_other_case(&self, path: &BString) -> bool {
        self.folded.as_ref().is_some_and(|folded| folded.contains(&BString::from(path.to_lowercase())))
    }
}
