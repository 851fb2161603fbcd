//! Results of calls: a compact text and, if the call asks for it, structured content; a gate envelope; a
//! failure; or a protocol error.

use std::path::{Path, PathBuf};

use rmcp::model::{CallToolResult, ContentBlock, ErrorData, JsonObject};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use codeweaver::service::{ErrorKind, Fix, ServiceError};
use codeweaver_chunk::tokens;
use codeweaver_index::Codebase;
use codeweaver_text::{safe_json, safe_text};

use super::envelope::Envelope;

/// Argument of every tool that selects the form of the answer.
pub const FORMAT: &str = "format";

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Compact text only.
    #[default]
    Text,
    /// The text, and the same as structured content.
    Json,
}

impl Format {
    const NAMES: [&str; 2] = ["text", "json"];

    /// The form that `arguments` ask for, valid or not.
    pub fn from_arguments(arguments: &JsonObject) -> Format {
        match arguments.get(FORMAT).and_then(Value::as_str) {
            Some(name) if name.eq_ignore_ascii_case("json") => Format::Json,
            _ => Format::Text,
        }
    }

    /// The schema of the argument. Models are not told of it: JSON says the same in more tokens.
    pub fn schema() -> Value {
        json!({ "type": "string", "enum": Format::NAMES, "unlisted": true })
    }
}

/// An answer in both forms, with the same facts in each. A call gets one of them: the text, or the structured
/// content together with its own text, since some clients show a model only one of the two.
pub struct Answer<T> {
    pub structured: T,
    pub text: String,
}

/// The common end of the structured content of most tools.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnswerEnd {
    /// Limits of the answer, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Root of the worktree that answers; paths are relative to it.
    #[serde(rename = "codebaseRoot")]
    pub codebase_root: PathBuf,
    /// Present if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl<T: Serialize> Answer<T> {
    /// Number of tokens in the form that is sent.
    pub fn n_tokens(&self, format: Format) -> u32 {
        match format {
            Format::Text => text_tokens(&self.text),
            Format::Json => json_tokens(&self.structured),
        }
    }
}

/// Number of tokens of a text as it is sent.
pub fn text_tokens(text: &str) -> u32 {
    tokens::count(&safe_text(text))
}

/// Number of tokens of `value` as JSON as it is sent.
pub fn json_tokens(value: &impl Serialize) -> u32 {
    serde_json::to_string(value).map_or(0, |json| tokens::count(&safe_json(json)))
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
    /// An argument is unknown, missing or out of range; the message names it and what it may be.
    InvalidArguments,
    /// There is no such file, line, revision or repository.
    NotFound,
    /// It exists but is not supported.
    Unsupported,
    /// It is a repository that this session may not use, or a file that is not shown; the message says how
    /// the user allows it.
    NotAllowed,
    /// An error, described by the message.
    Failed,
}

impl FailureStatus {
    fn name(self) -> &'static str {
        match self {
            FailureStatus::InvalidArguments => "invalid_arguments",
            FailureStatus::NotFound => "not_found",
            FailureStatus::Unsupported => "unsupported",
            FailureStatus::NotAllowed => "not_allowed",
            FailureStatus::Failed => "failed",
        }
    }
}

/// The reason for which a call has no answer.
#[derive(Debug)]
pub enum CallError {
    /// The codebase cannot answer queries now.
    Gated(Box<Envelope>),
    Failed(Failure),
    /// The call was cancelled, or the session has ended.
    Stopped,
}

impl CallError {
    /// An invalid argument. `found` is quoted and truncated to 200 characters.
    pub fn parameter(name: &str, must: &str, found: impl std::fmt::Display) -> CallError {
        // A client may pass a text of any length.
        let found: String = found.to_string().chars().take(200).collect();

        CallError::invalid(format!("`{name}` must be {must}, not {found:?}"))
    }

    /// Arguments that cannot be used.
    pub fn invalid(message: impl Into<String>) -> CallError {
        CallError::Failed(Failure {
            status: FailureStatus::InvalidArguments,
            message: message.into(),
            codebase_root: None,
        })
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

    /// The failure for an error of the library in `codebase` that is no gate.
    pub fn new(error: impl Into<ServiceError>, codebase: &Codebase) -> CallError {
        CallError::from_service(error.into(), Some(codebase.root()))
    }

    /// The failure for an error that is no gate, in the codebase at `root` if it is about one.
    pub fn from_service(error: ServiceError, root: Option<PathBuf>) -> CallError {
        let fix = fix_of(&error.fix, root.as_deref());
        CallError::Failed(Failure {
            status: error.kind.into(),
            message: format!("{error}; {fix}"),
            codebase_root: root,
        })
    }
}

impl From<ErrorKind> for FailureStatus {
    fn from(kind: ErrorKind) -> FailureStatus {
        match kind {
            ErrorKind::InvalidArguments => FailureStatus::InvalidArguments,
            ErrorKind::NotFound => FailureStatus::NotFound,
            ErrorKind::NotAllowed => FailureStatus::NotAllowed,

            // The statuses of gates are those of envelopes.
            ErrorKind::NotReady
            | ErrorKind::RequiresReindex
            | ErrorKind::NotIndexed
            | ErrorKind::Busy
            | ErrorKind::Cancelled
            | ErrorKind::Interrupted
            | ErrorKind::Failed => FailureStatus::Failed,
        }
    }
}

/// The remedy as an action of an agent, which has tools and arguments and not commands.
fn fix_of(fix: &Fix, root: Option<&Path>) -> String {
    match (fix, root) {
        (Fix::Parameter(name), _) => format!("correct `{name}`"),
        (Fix::Pattern, _) => "correct `pattern`, or leave `regex` out to search for it as a text".to_owned(),
        (Fix::Listing, _) => "read_code of a directory lists its files".to_owned(),
        (Fix::Repository, _) => "name a repository in `path`".to_owned(),

        (Fix::Repair(_), Some(root)) => {
            let path = Value::from(root.to_string_lossy());
            format!(
                "call manage_index {{\"action\":\"create\",\"path\":{path}}}, which repairs it, or with \"reindex\" to build it anew"
            )
        }

        // Without a repository there is no call that repairs it.
        (Fix::Repair(_) | Fix::Advice(_), _) => fix.to_string(),
    }
}

/// Converts the outcome of a call into a protocol result.
pub fn result<T: Serialize>(
    answer: Result<Answer<T>, CallError>,
    format: Format,
) -> Result<CallToolResult, ErrorData> {
    match answer {
        Ok(answer) => {
            if format == Format::Text {
                return Ok(CallToolResult::success(vec![ContentBlock::text(safe_text(&answer.text))]));
            }

            let text = json_text(&answer.structured)?;
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);

            // A client may validate the answer against the schema of the tool, so both forms come from the
            // same value.
            result.structured_content = Some(structured(&answer.structured)?);

            Ok(result)
        }
        Err(CallError::Gated(envelope)) => {
            // A gate is no failure: the same call may succeed later.
            let text = json_text(&envelope)?;
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(structured(&envelope)?);

            Ok(result)
        }
        Err(CallError::Failed(failure)) => {
            let text = format!("{}: {}", failure.status.name(), failure.message);

            let mut result = CallToolResult::error(vec![ContentBlock::text(safe_text(&text))]);
            if format == Format::Json {
                result.structured_content = Some(structured(&failure)?);
            }

            Ok(result)
        }
        Err(CallError::Stopped) => Ok(stopped()),
    }
}

/// The answer to a cancelled call, which is dropped; at the end of a session it may still be read.
pub fn stopped() -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text("stopped")])
}

/// The JSON that a model reads: its hidden characters are escaped.
fn json_text(value: &impl Serialize) -> Result<String, ErrorData> {
    serde_json::to_string(value).map(safe_json).map_err(unwritable)
}

/// Serialises through text, so that a score of `0.92_f32` becomes `0.92` and not its nearest double.
fn structured(value: &impl Serialize) -> Result<Value, ErrorData> {
    serde_json::to_string(value).and_then(|text| serde_json::from_str(&text)).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> ErrorData {
    ErrorData::internal_error(format!("the answer cannot be written: {error}"), None)
}
