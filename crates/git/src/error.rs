//! Errors of reading git.

use std::path::PathBuf;

use super::Oid;
use super::limits::MAX_OBJECT_BYTES;

/// A failure to read from git. `Display` states what failed and why; [`GitError::fix`] states what to do
/// about it.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Neither the directory nor any of its parents is a git repository.
    #[error("{} is not in a git repository", path.display())]
    NotARepository { path: PathBuf },
    /// The repository uses a format this build cannot read.
    #[error("{} uses {feature}, which is not supported", path.display())]
    Unsupported { path: PathBuf, feature: &'static str },
    /// The repository exists but cannot be read.
    #[error("cannot read the repository at {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// A file of the repository or the working tree cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    /// An object that should exist is not in this clone (shallow, partial or damaged).
    #[error("object {oid} is not in this clone")]
    ObjectMissing { oid: Oid },
    /// An object exists but is not what it should be.
    #[error("object {oid} cannot be read as a {expected}: {reason}")]
    BadObject { oid: Oid, expected: &'static str, reason: String },
    /// A file that is not read because of its size.
    #[error("the file has {size} bytes; at most {MAX_OBJECT_BYTES} are read")]
    TooLarge { oid: Oid, size: u64 },
    /// A revision that names nothing, or something that has no tree.
    #[error("'{spec}' does not name a commit or tree here{}", hint.as_deref().map(|h| format!(" ({h})")).unwrap_or_default())]
    UnknownRevision { spec: String, hint: Option<String> },
    /// The tree holds more files than can be indexed.
    #[error("tree {tree} has more than {limit} files")]
    TooManyFiles { tree: Oid, limit: usize },
    /// The tree has more paths than can be visited, from a few directories.
    #[error("tree {tree} has the same directories in too many places")]
    RepeatedDirectories { tree: Oid },
    /// A working tree is needed, the repository is bare.
    #[error("{} is a bare repository without working tree", path.display())]
    Bare { path: PathBuf },
    /// The configuration of the repository names a working tree elsewhere, without the word of the user.
    #[error("the configuration of {} names the working tree {}, which does not belong to it", git_dir.display(), work_dir.display())]
    ForeignWorktree { git_dir: PathBuf, work_dir: PathBuf },
    /// A catalogue is needed.
    #[error("{} is not a catalogue", path.display())]
    NotACatalogue { path: PathBuf },
    /// A path that is absolute, contains `..` or leads through a symbolic link.
    #[error("path '{path}' leaves the working tree")]
    PathEscapes { path: String },
}

impl GitError {
    /// Returns one sentence on what the user can do.
    pub fn fix(&self) -> &'static str {
        match self {
            GitError::NotARepository { .. } => "change into a git repository, or run `git init` first",
            GitError::Unsupported { .. } => {
                "use a clone with SHA-1 objects and ref files (`git clone --ref-format=files`)"
            }
            GitError::Unreadable { .. } | GitError::BadObject { .. } => {
                "run `git fsck` to see what is damaged"
            }
            GitError::Io { .. } => "check that the file is readable by this user",
            GitError::ObjectMissing { .. } => {
                "fetch it with git (`git fetch --unshallow` or `git fetch --refetch`)"
            }

            GitError::TooLarge { .. } => "use `git show REV:PATH`",
            GitError::UnknownRevision { .. } => {
                "run `git rev-parse --verify REV` to see how git resolves the name"
            }
            GitError::TooManyFiles { .. } | GitError::RepeatedDirectories { .. } => {
                "index a subdirectory tree instead, `REV:dir`"
            }
            GitError::Bare { .. } => "name a revision with --rev, or run in a clone that has files",
            GitError::ForeignWorktree { .. } => {
                "if you trust the repository: git config --global --add safe.directory DIRECTORY-OF-THE-REPOSITORY"
            }
            GitError::NotACatalogue { .. } => "git codeweaver catalogue init DIR.git",
            GitError::PathEscapes { .. } => "use a path relative to the root of the repository",
        }
    }
}

/// Returns the first line of an error message.
pub(super) fn one_line(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim().to_owned()
}
