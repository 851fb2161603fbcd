//! Why a question gets no answer.

use crate::embed::EmbedError;
use crate::git::GitError;
use crate::index::{Codebase, IndexError, Lifecycle};
use crate::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// There is no index to answer from; the lifecycle says why.
    #[error("{}", gate_message(.0))]
    Gated(Lifecycle),
    #[error("{name} must be {must}, not {found}")]
    Parameter { name: &'static str, must: &'static str, found: String },
    #[error("no such place: {what}")]
    NotFound { what: String },
    /// Nobody waits for the answer any more ([`super::Cancel`]).
    #[error("the question was called off")]
    Cancelled,
}

/// Runs `answer`; a panic in it becomes an error.
///
/// Files are searched where they lie and are not hashed first, so a damaged one can break an assumption of the code that
/// walks it, third-party code included. The question fails then, not the server; `verify` names the file.
pub fn guarded<T>(
    codebase: &Codebase,
    answer: impl FnOnce() -> Result<T, QueryError>,
) -> Result<T, QueryError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(answer)).unwrap_or_else(|_| {
        let what = "a file in it broke off the search; `git codeweaver verify` finds it";
        Err(StoreError::damaged(codebase.store().root(), what).into())
    })
}

fn gate_message(lifecycle: &Lifecycle) -> String {
    match lifecycle {
        Lifecycle::NotIndexed => "this repository is not indexed".to_owned(),
        Lifecycle::Indexing => "the first index is being built, nothing can be answered yet".to_owned(),
        Lifecycle::Indexed => "the index is being replaced".to_owned(),
        Lifecycle::IndexFailed(failure) => format!("the last attempt to index failed: {failure}"),
        Lifecycle::RequiresReindex { reason } => format!("the index does not fit the settings: {reason}"),
    }
}
