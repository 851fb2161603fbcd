//! Errors that end an update.

use crate::embed::EmbedError;
use crate::git::GitError;
use crate::policy::PolicyError;
use crate::store::StoreError;

/// An error that ends an update without a new snapshot. The old snapshot keeps answering.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    #[error("{n_files} files are more than the limit of {limit}")]
    TooManyFiles { n_files: usize, limit: usize },
    #[error("interrupted; {n_chunks} chunks are kept for the next run")]
    Interrupted { n_chunks: u64 },
    #[error("garbage collection renumbered the store meanwhile")]
    EpochChanged,
    #[error(".codeweaver is tracked by git at {path}")]
    Tracked { path: String },
    #[error("no index here yet")]
    NotInitialised,
    #[error("{0}")]
    Config(#[from] crate::config::ConfigError),
}
