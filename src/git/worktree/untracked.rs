//! Files of the working tree that git does not track and does not ignore (D1).

use std::path::Path;
use std::time::Instant;

use gix::bstr::ByteSlice as _;
use gix::index::entry::Mode as EntryMode;
use gix::worktree::stack::state::ignore::Source;
use rustc_hash::FxHashSet;

use super::super::{BStr, BString, ByteVec as _, GitError, Repo, STORE_DIR};
use super::watch::Watch;

/// Deeper directories cannot be named in one call of the system.
const MAX_DEPTH: usize = 1_000;

#[derive(Default)]
pub(super) struct Untracked {
    /// Files and links, in no particular order.
    pub paths: Vec<BString>,
    /// Directories left out because the time was up.
    pub unchecked: usize,
}

/// Walks the working tree. Nested repositories, the store and everything `.gitignore`, `info/exclude` or the user's
/// excludes name are left out. Links are not followed. Directories are told to `watch` before they are read.
pub(super) fn find(
    repo: &Repo,
    root: &Path,
    index: &gix::index::State,
    watch: Option<&mut Watch>,
    deadline: Instant,
) -> Result<Untracked, GitError> {
    let local = repo.local();
    let folded = folds_case(repo)
        .then(|| index.entries().iter().map(|entry| entry.path(index).to_lowercase().into()).collect());
    let tracked = index.entries().iter().map(|entry| entry.path(index)).collect();
    let excludes = Excludes::new(repo, &local, index)?;
    let mut walk =
        Walk { tracked, root, index, excludes, folded, watch, deadline, found: Untracked::default() };
    walk.directory(&mut BString::default(), 0);
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
    /// Paths of all stages: the files of a conflict are tracked.
    tracked: FxHashSet<&'a BStr>,
    excludes: Excludes<'a>,
    /// Tracked paths in lower case, where the file system does not tell cases apart.
    folded: Option<FxHashSet<BString>>,
    watch: Option<&'a mut Watch>,
    deadline: Instant,
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
        let Ok(entries) = std::fs::read_dir(full) else { return };
        let entries: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let name = gix::path::os_string_into_bstring(entry.file_name()).ok()?;
                Some((name, entry.file_type().ok()?))
            })
            .collect();
        let is_nested = depth > 0 && entries.iter().any(|(name, _)| name == ".git");
        if is_nested {
            return;
        }
        let base = prefix.len();
        for (name, kind) in entries {
            if name.eq_ignore_ascii_case(b".git")
                || depth == 0 && name.eq_ignore_ascii_case(STORE_DIR.as_bytes())
            {
                continue;
            }
            prefix.push_str(&name);
            if kind.is_dir() {
                if !self.is_submodule(prefix) && !self.excludes.has(prefix.as_bstr(), EntryMode::DIR) {
                    prefix.push_byte(b'/');
                    self.directory(prefix, depth + 1);
                }
            } else if (kind.is_file() || kind.is_symlink())
                && !self.is_tracked(prefix)
                && !self.excludes.has(prefix.as_bstr(), EntryMode::FILE)
            {
                self.found.paths.push(prefix.clone());
            }
            prefix.truncate(base);
        }
    }

    fn is_tracked(&self, path: &BString) -> bool {
        self.tracked.contains(path.as_bstr())
            || self.folded.as_ref().is_some_and(|folded| folded.contains(&BString::from(path.to_lowercase())))
    }

    fn is_submodule(&self, path: &BString) -> bool {
        self.is_tracked(path)
            && self.index.entry_by_path(path.as_bstr()).is_some_and(|entry| entry.mode == EntryMode::COMMIT)
    }
}
