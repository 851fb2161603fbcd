//! How the working tree differs from a committed tree (G8).
//!
//! Done here and not by the status machinery of gix, because that runs filter programs a repository's configuration
//! names. What git's index vouches for by size, times and inode is not read. Files it does not vouch for (touched by a
//! build, changed within one tick of the clock, not tracked) are hashed once and remembered in a cache of our own, since
//! a reader must not write the index.

mod cache_file;
mod classify;
mod fs_kind;
mod fsmonitor;
mod index;
mod stat;
mod status;
mod status_cache;
#[cfg(test)]
mod tests;
mod to_git;
mod tracked;
mod untracked;
mod untracked_cache;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::git::{BStr, BString, GitError, Mode, Oid, Repo};
use fsmonitor::FsMonitor;
use index::HeadDiff;
use stat::FileStat;
pub use status::{StatusEngine, WorktreeStatus};
pub use to_git::WorktreeReader;
use tracked::Tracked;
use untracked::Untracked;

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
/// (sparse checkout) or assume-unchanged are as committed, submodules too. `cache_file` and two beside it, for directories
/// and for the whole comparison, are read and, best effort, replaced. When `budget` is used up the rest is counted in `unchecked`; known tracked changes come before untracked
/// files. Writes nothing else, runs nothing.
pub fn worktree_changes(
    repo: &Repo,
    head_tree: Option<&Oid>,
    cache_file: &Path,
    budget: Duration,
) -> Result<WorktreeChanges, GitError> {
    let compared = StatusEngine::default().status(repo, head_tree, cache_file, budget)?;
    Ok(Arc::unwrap_or_clone(compared.changes))
}

/// What the disk shows, before anything is read.
struct WorktreeScan {
    tracked: Tracked,
    untracked: Untracked,
}

impl WorktreeScan {
    fn unchecked(&self) -> usize {
        self.tracked.unchecked + self.untracked.unchecked
    }

    /// What the look saw on its way; `None` if that is not all that it rests on.
    fn take_sights(&mut self) -> Option<StatObservations> {
        let files = std::mem::take(&mut self.tracked.observations);
        let directories = self.untracked.directories.take();
        Some(StatObservations { files: files?, directories: directories? })
    }
}

/// What `lstat` said, path by path.
struct StatObservations {
    /// Of tracked files, by position in the index; `None` where there was none.
    files: Vec<(usize, Option<FileStat>)>,
    /// Of directories that were walked, with their slash; the root is empty.
    directories: Vec<(BString, FileStat)>,
}

/// Attributes of the whole machine.
const SYSTEM_ATTRIBUTES: &str = "/etc/gitattributes";

/// Names of files that say something about others.
const PATTERN_FILES: [&str; 2] = [".gitignore", ".gitattributes"];

/// Whether a file of this name says something about others.
fn is_pattern_file(name: &[u8]) -> bool {
    PATTERN_FILES.iter().any(|rules| name.eq_ignore_ascii_case(rules.as_bytes()))
}

/// Looks at every tracked file and every directory, and beside that at how the index differs from `head_tree`.
fn look(
    repo: &Repo,
    index: &gix::index::State,
    head_tree: Option<&Oid>,
    watch: Option<&mut FsMonitor>,
    cache_file: &Path,
    deadline: Instant,
) -> Result<(WorktreeScan, HeadDiff), GitError> {
    let root = repo.work_dir().ok_or_else(|| GitError::Bare { path: repo.git_dir().to_owned() })?;
    let mut listings = cache_file.as_os_str().to_owned();
    listings.push("-directories");
    std::thread::scope(|scope| {
        let untracked =
            scope.spawn(move || untracked::find(repo, root, index, watch, listings.into(), deadline));
        let tracked = tracked::look(repo, root, index, deadline);
        let head = index::diff_head(repo, index, head_tree);
        let untracked = untracked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((WorktreeScan { tracked, untracked: untracked? }, head?))
    })
}

/// The file outside of the repository that `key` names, or git's own place for it below the user's configuration.
fn user_config_file(repo: &Repo, key: &'static str, name: &str) -> Option<PathBuf> {
    let configured = repo.local().config_snapshot().trusted_path(key).ok().flatten();
    let home = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = || home("XDG_CONFIG_HOME").or_else(|| home("HOME").map(|home| home.join(".config")));
    configured.or_else(|| Some(user()?.join("git").join(name)))
}

/// The cleaned bytes of a file of the working tree; `None` if there is no such file, if it has a filter driver or exceeds
/// 64 MiB. The target, if it is a link. For several files make one [`WorktreeReader`]: this reads the index each time.
///
/// Errors: [`GitError::PathEscapes`] for paths that are absolute, contain `..` or `.git`, or lead through a link.
pub fn read_worktree_file(repo: &Repo, path: &BStr) -> Result<Option<Vec<u8>>, GitError> {
    WorktreeReader::open(repo)?.read(path)
}
