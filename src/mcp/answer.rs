//! What a call gives back: structured content with a compact text, an envelope, a failure, or a protocol error.

use super::envelope::Envelope;
use crate::git::GitError;
use crate::index::{Codebase, IndexError};
use crate::query::QueryError;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// An answer: the same thing for a program and for a reader with little room.
pub struct Answer<T> {
    pub structured: T,
    pub text: String,
}

/// A question that was understood and has no answer. Its statuses are not gates, so it carries none of their reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub status: FailureStatus,
    pub message: String,
    /// Absent if the question names no repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codebase_root: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureStatus {
    /// There is no such file, line, revision or repository.
    NotFound,
    /// It is there, and nothing can be said about it.
    Unsupported,
    /// Something is broken; the message says what.
    Failed,
}

/// Why a call has no answer.
#[derive(Debug)]
pub enum CallError {
    /// The call makes no sense: an error of the protocol.
    Protocol(ErrorData),
    /// The codebase may not answer now.
    Gated(Box<Envelope>),
    Failed(Failure),
    /// Nobody waits for the answer any more.
    Stopped,
}

impl CallError {
    /// A parameter that cannot be used. `found` is quoted, shortened.
    pub fn parameter(name: &str, must: &str, found: impl std::fmt::Display) -> CallError {
        let found: String = found.to_string().chars().take(200).collect();
        CallError::Protocol(ErrorData::invalid_params(
            format!("`{name}` must be {must}, not {found:?}"),
            None,
        ))
    }

    pub fn not_found(message: impl Into<String>, codebase_root: Option<PathBuf>) -> CallError {
        CallError::Failed(Failure { status: FailureStatus::NotFound, message: message.into(), codebase_root })
    }

    pub fn failed(error: impl std::fmt::Display, codebase_root: Option<PathBuf>) -> CallError {
        CallError::Failed(Failure {
            status: FailureStatus::Failed,
            message: error.to_string(),
            codebase_root,
        })
    }

    /// An error of the library about `codebase`. Gates are the caller's.
    pub fn of(error: QueryError, codebase: &Codebase) -> CallError {
        let root = Some(codebase.root());
        match error {
            // It is quoted already where it is a text.
            QueryError::Parameter { name, must, found } => {
                CallError::parameter(name, must, found.trim_matches('"'))
            }
            QueryError::NotFound { what } => CallError::not_found(what, root),
            QueryError::Git(error) | QueryError::Index(IndexError::Git(error)) => {
                CallError::of_git(&error, root)
            }
            other => CallError::failed(other, root),
        }
    }

    pub fn of_git(error: &GitError, root: Option<PathBuf>) -> CallError {
        match error {
            GitError::PathEscapes { path } => {
                CallError::parameter("file", "inside the repository, not behind a link", path)
            }
            GitError::NotARepository { .. } | GitError::UnknownRevision { .. } => {
                CallError::not_found(format!("{error}; {}", error.fix()), root)
            }
            other => CallError::failed(format!("{other}; {}", other.fix()), root),
        }
    }
}

/// The result of a call, as it is sent.
pub fn result<T: Serialize>(answer: Result<Answer<T>, CallError>) -> Result<CallToolResult, ErrorData> {
    match answer {
        Ok(answer) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
            result.structured_content = Some(structured(&answer.structured)?);
            Ok(result)
        }
        Err(CallError::Protocol(error)) => Err(error),
        Err(CallError::Gated(envelope)) => {
            let text = serde_json::to_string(&envelope).map_err(unwritable)?;
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(structured(&envelope)?);
            Ok(result)
        }
        Err(CallError::Failed(failure)) => {
            let mut result = CallToolResult::error(vec![ContentBlock::text(failure.message.clone())]);
            result.structured_content = Some(structured(&failure)?);
            Ok(result)
        }
        // The protocol drops the answer to a cancelled request; at the end of a session it may still be read.
        Err(CallError::Stopped) => Ok(CallToolResult::error(vec![ContentBlock::text("stopped")])),
    }
}

/// By way of text: a score of `0.92_f32` is then `0.92` and not its nearest double.
fn structured(value: &impl Serialize) -> Result<Value, ErrorData> {
    serde_json::to_string(value).and_then(|text| serde_json::from_str(&text)).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> ErrorData {
    ErrorData::internal_error(format!("the answer cannot be written: {error}"), None)
}
