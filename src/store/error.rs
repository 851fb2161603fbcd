//! Errors of the store.

use std::path::{Path, PathBuf};

/// An error about a path in `.codeweaver/`. The command line turns it into what, why and fix.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{action} {path}: {source}", path = path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{path} is damaged: {what}", path = path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("{path} was written by another version (format {found}, this program reads {expected})", path = path.display())]
    Version { path: PathBuf, found: u32, expected: u32 },
    #[error("{path}: {source}", path = path.display())]
    Parquet { path: PathBuf, source: parquet::errors::ParquetError },
    #[error("{path} must not be used: {why}", path = path.display())]
    Untrusted { path: PathBuf, why: String },
    #[error("indexing already in progress ({holder})")]
    Locked { holder: String },
}

impl StoreError {
    /// Wraps an I/O error with the action and the path.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.to_path_buf();
        move |source| StoreError::Io { action, path, source }
    }

    /// An error for a file with invalid content. `what` may quote the file and is truncated if it is long.
    pub fn damaged(path: &Path, what: impl Into<String>) -> StoreError {
        const MOST: usize = 300;
        let mut what = what.into();
        if let Some((end, _)) = what.char_indices().nth(MOST) {
            what.truncate(end);
            what.push('…');
        }
        StoreError::Damaged { path: path.to_path_buf(), what }
    }

    /// Whether this user may not use the file.
    pub fn is_denied(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied)
    }

    /// Whether a file named by the state is missing. The state has then been replaced, and opening it again
    /// succeeds.
    pub fn is_not_found(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }
}
