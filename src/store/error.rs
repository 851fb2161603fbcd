//! What can go wrong with `.codeweaver/`.

use std::path::{Path, PathBuf};

/// Everything carries the path it is about; the edge turns it into what, why and what to do.
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
    /// Wraps an I/O error with what was being done to which path.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.to_path_buf();
        move |source| StoreError::Io { action, path, source }
    }

    /// The file at `path` does not say what it must. `what` may quote it and is cut where that gets long.
    pub fn damaged(path: &Path, what: impl Into<String>) -> StoreError {
        const MOST: usize = 300;
        let mut what = what.into();
        if let Some((end, _)) = what.char_indices().nth(MOST) {
            what.truncate(end);
            what.push('…');
        }
        StoreError::Damaged { path: path.to_path_buf(), what }
    }

    /// True if a file named by the state is not there: the state has moved on, and opening it again will do.
    pub fn is_not_found(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }
}
