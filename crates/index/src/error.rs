//! Errors that end an update.

use codeweaver_embed::EmbedError;
use codeweaver_git::GitError;
use codeweaver_store::StoreError;

use crate::policy::PolicyError;

/// An error that ends an update without a new snapshot. The old snapshot keeps answering.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The repository cannot be read.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The store cannot be read or written, or is locked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A policy file cannot be read.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The model cannot be opened or fails.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A first index of more files than are allowed without [`super::UpdateOptions::allow_huge`].
    #[error("{n_files} files are more than the limit of {limit}")]
    TooManyFiles {
        /// Files to index.
        n_files: usize,
        /// Maximum number of files.
        limit: usize,
    },
    /// The run was stopped; the next one resumes.
    #[error("interrupted; {n_chunks} chunks are kept for the next run")]
    Interrupted {
        /// Chunks that are stored.
        n_chunks: u64,
    },
    /// Ids of the plan are no longer valid; the update has to start over.
    #[error("garbage collection renumbered the store meanwhile")]
    EpochChanged,
    /// Git tracks the store, so it is not trusted.
    #[error(".codeweaver is tracked by git at {path}")]
    Tracked {
        /// The tracked path.
        path: String,
    },
    /// `init` was not run in this repository.
    #[error("no index here yet")]
    NotInitialised,
    /// A setting is invalid.
    #[error("{0}")]
    Config(#[from] codeweaver_config::ConfigError),
}
