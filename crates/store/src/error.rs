//! Errors of the store.

use std::path::{Path, PathBuf};

use codeweaver_base::{io_advice, regular_file};

use super::mend::mend_command;

/// An error about a path in `.codeweaver/`. The command line renders it as what, why and fix.
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
    #[error("{path} is in the stash of git", path = path.display())]
    Stashed { path: PathBuf },
    #[error("indexing already in progress ({holder})")]
    Locked { holder: String },
}

impl StoreError {
    /// Wraps an I/O error with the action and the path. Something else in place of a file is damage.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.to_path_buf();
        move |source| match regular_file::not_a_file(&source) {
            Some(what) => StoreError::Damaged { path, what: what.to_owned() },
            None => StoreError::Io { action, path, source },
        }
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

    /// Returns whether this user may not use the file.
    pub fn is_denied(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied)
    }

    /// Advice on how to resolve the error.
    pub fn fix(&self) -> String {
        match self {
            StoreError::Locked { .. } => {
                "wait for it (`git codeweaver status`), or stop it with `kill -TERM PID`: \
                finished work is kept"
                    .to_owned()
            }
            StoreError::Io { path, source, .. } => match source.kind() {
                std::io::ErrorKind::PermissionDenied => mend_command(path),
                _ => io_advice(source, path),
            },

            StoreError::Damaged { .. } | StoreError::Parquet { .. } => {
                "git codeweaver verify --repair".to_owned()
            }
            StoreError::Version { .. } => {
                "git codeweaver index    (rebuilds derived files from shards and git)".to_owned()
            }
            StoreError::Untrusted { path, .. } => {
                format!("remove it (`rm -rf {}`) and run `git codeweaver init`", path.display())
            }
            StoreError::Stashed { .. } => {
                "`git stash pop` brings it back; to index anew, run `git codeweaver deinit` \
                and `git codeweaver init`, after which that stash can no longer be applied as a whole"
                    .to_owned()
            }
        }
    }

    /// Returns whether a repair, with which every update begins, may help.
    pub fn is_repairable(&self) -> bool {
        matches!(self, StoreError::Version { .. } | StoreError::Damaged { .. } | StoreError::Parquet { .. })
    }

    /// Turns a missing file into damage, for callers that have made sure that no newer state explains it.
    pub fn or_damage(self) -> StoreError {
        match self {
            StoreError::Io { path, source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                StoreError::damaged(&path, "it is missing")
            }
            other => other,
        }
    }

    /// Returns whether a file named by the state is missing. The state has then been replaced, and opening it
    /// again succeeds.
    pub fn is_not_found(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }
}
