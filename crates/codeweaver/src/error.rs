//! The error type of the façade.

use codeweaver_git::GitError;
use codeweaver_index::IndexError;

use crate::query::QueryError;

/// Any error of this library.
///
/// The wrapped errors name the file, revision or setting that they are about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The repository cannot be read.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The index cannot be opened or updated.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A request has no answer.
    #[error(transparent)]
    Query(#[from] QueryError),
}
