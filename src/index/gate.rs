//! Whether a codebase may answer now, and the envelope that says why not (requirement L6, appendix E).
//!
//! One builder for every tool and for the command line, so that the reasons cannot drift apart. What is asked here is the
//! lifecycle of one codebase: another repository that is being indexed blocks nobody else.

use super::codebase::{Codebase, Lifecycle};
use super::error::IndexError;
use super::status;
use crate::config::GateMode;
use crate::store::state::State;
use crate::store::time;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Why a codebase does not answer. These three and no others; every envelope has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NonOkReason {
    Indexing,
    RequiresReindex,
    NotIndexed,
}

/// The status that goes with a [`NonOkReason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    NotReady,
    RequiresReindex,
    NotIndexed,
}

impl NonOkReason {
    pub fn status(self) -> GateStatus {
        match self {
            NonOkReason::Indexing => GateStatus::NotReady,
            NonOkReason::RequiresReindex => GateStatus::RequiresReindex,
            NonOkReason::NotIndexed => GateStatus::NotIndexed,
        }
    }
}

/// What a blocked question gets instead of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    pub status: GateStatus,
    pub reason: NonOkReason,
    /// For a person.
    pub message: String,
    /// The path that was asked about, as it was given.
    pub path: PathBuf,
    /// The root of the worktree that the path is in: what the hints are about.
    pub codebase_root: PathBuf,
    pub hints: Hints,
    /// How far the run is; present exactly if `reason` is `indexing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexing: Option<IndexingProgress>,
    /// When asking again may be worth it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// Calls that lead on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hints {
    pub status: Hint,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reindex: Option<Hint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<Hint>,
    /// In debug mode only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_indexing: Option<DebugIndexing>,
}

/// A tool call, ready to be made.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Hint {
    pub tool: &'static str,
    pub args: HintArgs,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HintArgs {
    pub action: &'static str,
    pub path: PathBuf,
}

/// How far a run is; what is not known is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexingProgress {
    /// 0 to 100.
    pub progress_pct: Option<f64>,
    /// When the run last said how far it is, RFC 3339.
    pub last_updated: Option<String>,
    /// `chunk_and_embed` or `publish`.
    pub phase: Option<&'static str>,
}

/// What completion is judged by.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DebugIndexing {
    /// Always `marker_doc`: the completion marker in the state, never the mere existence of files.
    pub completion_proof: &'static str,
    pub marker_present: bool,
}

/// A codebase that may not answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub reason: NonOkReason,
    message: String,
    indexing: Option<IndexingProgress>,
    retry_after_ms: Option<u64>,
    is_marker_present: bool,
}

/// Looks at the state of `codebase`; `None` if it may answer.
///
/// # Errors
/// If the state cannot be read, or the folder it lies in must not be trusted.
pub fn check(codebase: &Codebase) -> Result<Option<Gate>, IndexError> {
    codebase.check_trust()?;
    let state = State::read(&codebase.store().state())?;
    Ok(Gate::of(codebase, &codebase.lifecycle_in(state.as_ref()), state.as_ref()))
}

impl Gate {
    /// The gate of a codebase in this state of its life; `None` if it is indexed.
    pub fn of(codebase: &Codebase, lifecycle: &Lifecycle, state: Option<&State>) -> Option<Gate> {
        let reason = match lifecycle {
            Lifecycle::Indexed => return None,
            Lifecycle::RequiresReindex { .. } => NonOkReason::RequiresReindex,
            Lifecycle::Indexing => NonOkReason::Indexing,
            Lifecycle::NotIndexed | Lifecycle::IndexFailed(_) => NonOkReason::NotIndexed,
        };
        let is_indexing = reason == NonOkReason::Indexing;
        let (indexing, retry_after_ms) = if is_indexing { progress(codebase) } else { Default::default() };
        let head = state.and_then(|state| state.heads.get(&codebase.worktree_key));
        Some(Gate {
            reason,
            message: message(lifecycle),
            indexing,
            retry_after_ms,
            // While indexing, a marker counts as absent even if it is there.
            is_marker_present: !is_indexing && head.is_some_and(|head| head.marker.is_some()),
        })
    }

    /// Whether an answer from what is there so far is wanted and possible instead (`mcp.gate = "partial"`).
    pub fn lets_through(&self, codebase: &Codebase) -> bool {
        self.reason == NonOkReason::Indexing && codebase.settings.mcp.gate == GateMode::Partial
    }

    /// How far the run is that keeps the codebase from answering.
    pub fn into_progress(self) -> Option<IndexingProgress> {
        self.indexing
    }

    /// The answer to a question about `requested`, a path within `codebase`.
    pub fn envelope(self, codebase: &Codebase, requested: &Path, debug: bool) -> Envelope {
        let root = codebase.root();
        let hint = |action| Hint { tool: "manage_index", args: HintArgs { action, path: root.clone() } };
        Envelope {
            status: self.reason.status(),
            reason: self.reason,
            message: self.message,
            path: requested.to_path_buf(),
            hints: Hints {
                status: hint("status"),
                reindex: (self.reason == NonOkReason::RequiresReindex).then(|| hint("reindex")),
                create: (self.reason == NonOkReason::NotIndexed).then(|| hint("create")),
                debug_indexing: debug.then_some(DebugIndexing {
                    completion_proof: "marker_doc",
                    marker_present: self.is_marker_present,
                }),
            },
            codebase_root: root,
            indexing: self.indexing,
            retry_after_ms: self.retry_after_ms,
        }
    }
}

fn message(lifecycle: &Lifecycle) -> String {
    match lifecycle {
        Lifecycle::Indexed => "this codebase is indexed".to_owned(),
        Lifecycle::Indexing => "this codebase is being indexed; ask again when it is done".to_owned(),
        Lifecycle::NotIndexed => "this codebase is not indexed: no index has been completed here".to_owned(),
        Lifecycle::IndexFailed(failure) => {
            format!("this codebase is not indexed: the last attempt failed: {failure}")
        }
        Lifecycle::RequiresReindex { reason } => format!("the index does not fit the settings: {reason}"),
    }
}

/// How far the run is, and in how many milliseconds it may be done.
fn progress(codebase: &Codebase) -> (Option<IndexingProgress>, Option<u64>) {
    let Some(record) = status::running(codebase) else { return (Some(IndexingProgress::default()), None) };
    let is_read = record.files_processed >= record.files_total;
    let share = record.files_processed as f64 / record.files_total.max(1) as f64;
    let elapsed = record.last_checkpoint.saturating_sub(record.start_time);
    let left = record.files_total.saturating_sub(record.files_processed);
    let indexing = IndexingProgress {
        progress_pct: Some((share * 1000.0).round().min(1000.0) / 10.0),
        last_updated: Some(time::rfc3339(record.last_checkpoint)),
        phase: Some(if is_read { "publish" } else { "chunk_and_embed" }),
    };
    let retry = (record.files_processed > 0).then(|| (elapsed * left / record.files_processed).max(1) * 1000);
    (Some(indexing), retry)
}
