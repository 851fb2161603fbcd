//! The result of a status run: paths whose working-tree content differs from the committed tree.

use crate::git::{BString, Mode, Oid};

/// Where the content of a changed file differs: in git's index, in the working tree only, or untracked.
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

/// A working-tree file in the form that git would commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeBlob {
    /// Oid of the converted bytes (line endings and encoding as in a commit). No object database holds the
    /// blob unless it is staged. The null oid for files above 64 MiB, which are not read.
    pub oid: Oid,
    pub mode: Mode,
    /// Length of the converted bytes.
    pub size: u64,
}

/// A path whose content in the working tree differs from the committed tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeChange {
    pub path: BString,
    pub state: FileState,
    /// The index holds the stages of an unresolved merge.
    pub conflicted: bool,
    /// `None` if the file was deleted.
    pub bytes: Option<WorktreeBlob>,
}

/// The result of [`worktree_changes`](super::worktree_changes).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeChanges {
    /// Sorted by path.
    pub changes: Vec<WorktreeChange>,
    /// Number of paths compared with the disk.
    pub checked: usize,
    /// Number of paths and untracked directories left out because the time budget was used up.
    pub unchecked: usize,
    /// Paths with a filter driver (LFS, git-crypt) whose file seems changed. Their content is never read.
    pub filtered: Vec<BString>,
}
