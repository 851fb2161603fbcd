//! Errors of requests.

use codeweaver_embed::EmbedError;
use codeweaver_git::{GitError, PathspecError};
use codeweaver_index::{IndexError, Lifecycle};
use codeweaver_store::StoreError;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The repository cannot be read, or the revision does not exist.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An overlay cannot be built.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The model fails.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A panic while the request was answered.
    #[error("internal error: {message}")]
    Internal {
        /// The message of the panic.
        message: String,
    },
    /// There is no index to answer from, for the reason in the lifecycle.
    #[error("{}", gate_message(.0))]
    Gated(Lifecycle),
    /// A field of the request is out of range.
    #[error("{name} must be {must}, not {found}")]
    Parameter {
        /// The field.
        name: &'static str,
        /// The condition that it must meet.
        must: &'static str,
        /// Its value.
        found: String,
    },
    /// A path is not in the repository.
    #[error(transparent)]
    Path(#[from] PathspecError),
    /// The caller may see no repository that matches a condition.
    #[error("{}", no_repository(.glob.as_deref(), .only.as_deref()))]
    NoRepository {
        /// The glob that none matches; `None` if the caller may see no repository at all.
        glob: Option<String>,
        /// The name of the repository, if it is a single one.
        only: Option<String>,
    },
    /// Lines cannot be searched for a pattern.
    #[error("the pattern '{pattern}' cannot be searched for: {reason}")]
    Pattern {
        /// As it was given.
        pattern: String,
        /// The reason why it cannot be used.
        reason: String,
    },
    /// HNSW was asked for, and there is no graph.
    #[error(
        "this index has no HNSW graph: set index.hnsw to \"always\" and run `git codeweaver index`, or leave the \
         method to git-codeweaver"
    )]
    NoGraph,
    /// A filter has a name that no language or kind has.
    #[error("there is no {filter} '{found}'; {hint}")]
    UnknownName {
        /// `language` or `kind`.
        filter: &'static str,
        /// The name, escaped and shortened.
        found: String,
        /// The names that there are, or a similar one.
        hint: String,
    },
    /// A file, line or revision was not found in the state that the answer is made from.
    #[error("not found: {what}")]
    NotFound {
        /// The file, line or revision.
        what: String,
    },
    /// A file has fewer lines than were asked for.
    #[error("{path} has no line {line}: it has {total_lines}")]
    BeyondEnd {
        /// Relative to the root of the repository.
        path: String,
        /// The first line that was asked for.
        line: u32,
        /// Number of lines of the file.
        total_lines: u32,
    },
    /// Clients of a server do not see this file ([`super::Searcher::shared`]).
    #[error("{path} is not shown: {why}")]
    Withheld {
        /// Relative to the root of the repository.
        path: String,
        /// The reason.
        why: &'static str,
    },
    /// The engine that has the index does not answer, or not as it should.
    #[error("{what}: {why}")]
    Engine {
        /// The effect for the user.
        what: String,
        /// The reason.
        why: String,
        /// The remedy.
        fix: String,
    },
    /// The request was cancelled ([`super::Cancel`]).
    #[error("the request was cancelled")]
    Cancelled,
}

impl QueryError {
    /// The damage of the store, if it is the cause and a repair may help.
    pub fn damage(&self) -> Option<&StoreError> {
        match self {
            QueryError::Store(error) | QueryError::Index(IndexError::Store(error)) => {
                Some(error).filter(|error| error.is_repairable())
            }
            _ => None,
        }
    }
}

/// Runs `answer` and turns a panic in it into [`QueryError::Internal`], so that one request fails and not the
/// server.
///
/// A panic is a defect. It can also be the effect of a store file that another program changes while it is
/// searched, since third-party code relies on its structure.
pub fn guarded<T>(answer: impl FnOnce() -> Result<T, QueryError>) -> Result<T, QueryError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(answer)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(QueryError::Internal { message: message.to_owned() })
    })
}

fn no_repository(glob: Option<&str>, only: Option<&str>) -> String {
    let Some(glob) = glob else { return "there is no repository that may be searched".to_owned() };
    let only = only.map_or_else(String::new, |name| format!(": there is only {name}"));
    format!("no repository matches '{glob}'{only}")
}

fn gate_message(lifecycle: &Lifecycle) -> String {
    match lifecycle {
        Lifecycle::NotIndexed => "this repository is not indexed".to_owned(),
        Lifecycle::Interrupted { .. } => {
            format!("this repository is not indexed: {}", lifecycle.reason().unwrap_or_default())
        }
        Lifecycle::Indexing => "the first index is being built, nothing can be answered yet".to_owned(),
        Lifecycle::Indexed => "the index is being replaced".to_owned(),
        Lifecycle::IndexFailed(failure) => format!("the last attempt to index failed: {failure}"),
        Lifecycle::RequiresReindex { reason } => format!("the index does not fit the settings: {reason}"),
    }
}
