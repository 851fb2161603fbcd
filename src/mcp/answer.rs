//! Results of calls: structured content with a compact text, a gate envelope, a failure, or a protocol error.

use super::envelope::Envelope;
use crate::git::GitError;
use crate::index::{Codebase, IndexError};
use crate::query::QueryError;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// An answer as structured content and as compact text.
pub struct Answer<T> {
    pub structured: T,
    pub text: String,
}

/// A valid call without an answer. Its statuses differ from those of gates, so it has none of their reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub status: FailureStatus,
    pub message: String,
    /// Absent if the call names no repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codebase_root: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureStatus {
    /// There is no such file, line, revision or repository.
    NotFound,
    /// It exists but is not supported.
    Unsupported,
    /// An error, described by the message.
    Failed,
}

/// Why a call has no answer.
#[derive(Debug)]
pub enum CallError {
    /// The call is invalid, which is an error of the protocol.
    Protocol(ErrorData),
    /// The codebase cannot answer queries now.
    Gated(Box<Envelope>),
    Failed(Failure),
    /// The call was cancelled, or the session has ended.
    Stopped,
}

impl CallError {
    /// An invalid parameter. `found` is quoted and truncated to 200 characters.
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

    /// Converts an error of the library. The caller handles gates.
    pub fn of(error: QueryError, codebase: &Codebase) -> CallError {
        let root = Some(codebase.root());
        match error {
            // Strings are already quoted.
            QueryError::Parameter { name, must, found } => {
                CallError::parameter(name, must, found.trim_matches('"'))
            }
            QueryError::UnknownName { .. } => {
                CallError::Protocol(ErrorData::invalid_params(error.to_string(), None))
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

/// Converts the outcome of a call into a protocol result.
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
        // The answer to a cancelled request is dropped; at the end of a session it may still be read.
        Err(CallError::Stopped) => Ok(CallToolResult::error(vec![ContentBlock::text("stopped")])),
    }
}

/// Serialises through text, so that a score of `0.92_f32` becomes `0.92` and not its nearest double.
fn structured(value: &impl Serialize) -> Result<Value, ErrorData> {
    serde_json::to_string(value).and_then(|text| serde_json::from_str(&text)).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> ErrorData {
    ErrorData::internal_error(format!("the answer cannot be written: {error}"), None)
}
