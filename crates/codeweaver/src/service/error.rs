//! The error of a request, as every front-end renders it.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use codeweaver_index::{Codebase, Lifecycle};

use super::gate::Gate;
use crate::query::QueryError;

/// The kind of an error, from which a front-end derives its exit code or status: a parameter cannot be
/// used; there is no such file, line, revision or repository; the caller may not use it; the first index is
/// being built, or the index was replaced while it was read; the index was built for other settings; there
/// is no index, or it must not be used; others use what is needed; the caller has cancelled the request, or
/// its time was up; the run was stopped, and has kept what is done; anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(
    missing_docs,
    reason = "documented at the type: generators of clients read documented variants as alternatives, not as an enum"
)]
pub enum ErrorKind {
    InvalidArguments,
    NotFound,
    NotAllowed,
    NotReady,
    RequiresReindex,
    NotIndexed,
    Busy,
    Cancelled,
    Interrupted,
    Failed,
}

/// An error that ends a request. `Display` gives the failure with its reason.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct ServiceError {
    /// Its kind.
    pub kind: ErrorKind,
    /// The failure, in one sentence.
    pub what: String,
    /// The reason; it may have several lines.
    pub why: String,
    /// The remedy.
    pub fix: Fix,
    /// The state of the codebase, if that keeps it from answering.
    pub gate: Option<Box<Gate>>,
}

/// The remedy of an error. `Display` names the action of the command line; a front-end on which the action is
/// another one words it itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// An action that is the same everywhere.
    Advice(String),
    /// Correct this parameter.
    Parameter(&'static str),
    /// Correct the pattern, or search for it as a text.
    Pattern,
    /// Name a path in a repository.
    Repository,
    /// Look at the files that there are.
    Listing,
    /// Let the index be repaired, with this command.
    Repair(String),
}

impl Fix {
    /// An action that is the same everywhere.
    pub fn advice(text: impl Into<String>) -> Fix {
        Fix::Advice(text.into())
    }
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fix::Advice(text) | Fix::Repair(text) => text,
            Fix::Parameter(_) => "see the help of the command (`-h`)",
            Fix::Pattern => {
                "`--mode exact` searches for the text as it is; regular expressions have the syntax of ripgrep"
            }
            Fix::Listing => "`git codeweaver status --files` lists what is not indexed, and why",
            Fix::Repository => "git init, or name a repository with --project PATH",
        })
    }
}

impl ServiceError {
    /// An error whose remedy is the same everywhere.
    pub fn new(
        kind: ErrorKind,
        what: impl Into<String>,
        why: impl Into<String>,
        fix: impl Into<String>,
    ) -> ServiceError {
        let (what, why, fix) = (what.into(), why.into(), Fix::advice(fix));
        ServiceError { kind, what, why, fix, gate: None }
    }

    /// The error of a request to `codebase`.
    pub fn from_query(error: QueryError, codebase: &Codebase) -> ServiceError {
        match error {
            QueryError::Gated(lifecycle) => ServiceError::from_lifecycle(lifecycle, codebase),
            other => other.into(),
        }
    }

    /// The error of a codebase that cannot answer in this state, with the command that changes the state.
    pub fn from_lifecycle(lifecycle: Lifecycle, codebase: &Codebase) -> ServiceError {
        // An index that was replaced while it was read is as good as one that is ready in a moment.
        let is_replaced = lifecycle == Lifecycle::Indexed;
        let blocking = if is_replaced { &Lifecycle::Indexing } else { &lifecycle };
        let gate = Gate::new(codebase, blocking, None).map(Box::new);

        let remedy = codebase.remedy(&lifecycle);
        let error = ServiceError::from(lifecycle);
        ServiceError { fix: remedy.map_or(error.fix, Fix::advice), gate, ..error }
    }

    /// The error of a codebase that is behind `gate`.
    pub fn from_gate(gate: Gate, codebase: &Codebase) -> ServiceError {
        let error = ServiceError::from_lifecycle(gate.lifecycle.clone(), codebase);
        ServiceError { gate: Some(Box::new(gate)), ..error }
    }

    /// The same error with another remedy.
    pub(super) fn with_fix(self, fix: Fix) -> ServiceError {
        ServiceError { fix, ..self }
    }
}
