//! The status envelope, which a client receives instead of an answer while a [`Gate`] blocks its request.
//!
//! Every tool and `search --json` use this one form.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use codeweaver::service::gate::{Gate, GateStatus, IndexingProgress, NonOkReason};
use codeweaver_index::Codebase;

/// The response to a request that a gate blocks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    pub status: GateStatus,
    pub reason: NonOkReason,
    /// Message for people.
    pub message: String,
    /// The path of the request, as given.
    pub path: PathBuf,
    /// The root of the worktree that contains the path; the hints refer to it.
    pub codebase_root: PathBuf,
    pub hints: Hints,
    /// Progress of the run; present exactly if `reason` is `indexing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexing: Option<IndexingProgress>,
    /// When another request may succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// Calls that help to get an answer.
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

/// Evidence of the completeness of an index.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DebugIndexing {
    /// Always `marker_doc`: the completion marker in the state, never the mere existence of files.
    pub completion_proof: &'static str,
    pub marker_present: bool,
}

impl Envelope {
    /// The envelope for a request about `requested`, a path within `codebase`.
    pub fn new(gate: Gate, codebase: &Codebase, requested: &Path, debug: bool) -> Envelope {
        let root = codebase.root();
        let hint = |action| Hint { tool: "manage_index", args: HintArgs { action, path: root.clone() } };

        Envelope {
            status: gate.reason.status(),
            reason: gate.reason,
            message: gate.message,
            path: requested.to_path_buf(),
            hints: Hints {
                status: hint("status"),
                reindex: (gate.reason == NonOkReason::RequiresReindex).then(|| hint("reindex")),
                create: (gate.reason == NonOkReason::NotIndexed).then(|| hint("create")),
                debug_indexing: debug.then_some(DebugIndexing {
                    completion_proof: "marker_doc",
                    marker_present: gate.is_marker_present,
                }),
            },
            codebase_root: root,
            indexing: gate.indexing,
            retry_after_ms: gate.retry_after_ms,
        }
    }
}
