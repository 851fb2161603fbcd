//! The check whether a codebase may answer a request now, and the reason if it may not.
//!
//! Every front-end renders the same [`Gate`], so that their reasons agree. A gate concerns one codebase: a
//! repository that is being indexed does not block requests about others.

use schemars::JsonSchema;
use serde::Serialize;

use codeweaver_config::GateMode;
use codeweaver_index::{Codebase, IndexError, Lifecycle, background, checkpoint};
use codeweaver_store::state::{Phase, State};
use codeweaver_store::time;

/// The reason why a codebase does not answer. The set is closed, since clients match on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "comments on the variants would make the schemas of answers longer")]
pub enum NonOkReason {
    Indexing,
    RequiresReindex,
    NotIndexed,
}

/// The status that goes with a [`NonOkReason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "comments on the variants would make the schemas of answers longer")]
pub enum GateStatus {
    NotReady,
    RequiresReindex,
    NotIndexed,
}

impl NonOkReason {
    /// The status that goes with this reason.
    pub fn status(self) -> GateStatus {
        match self {
            NonOkReason::Indexing => GateStatus::NotReady,
            NonOkReason::RequiresReindex => GateStatus::RequiresReindex,
            NonOkReason::NotIndexed => GateStatus::NotIndexed,
        }
    }
}

/// The progress of an indexing run; unknown values are null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexingProgress {
    /// 0 to 100.
    pub progress_pct: Option<f64>,
    /// Time of the last progress report of the run, RFC 3339.
    pub last_updated: Option<String>,
    /// `chunk_and_embed` or `publish`.
    pub phase: Option<&'static str>,
}

/// The state of a codebase that may not answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// The state of the codebase.
    pub lifecycle: Lifecycle,
    /// The reason why it does not answer in this state.
    pub reason: NonOkReason,
    /// The reason in one sentence for a person.
    pub message: String,
    /// The progress of the run; present exactly if `reason` is [`NonOkReason::Indexing`].
    pub indexing: Option<IndexingProgress>,
    /// Milliseconds until another request may succeed, estimated from the progress so far.
    pub retry_after_ms: Option<u64>,
    /// Whether the state has a completion marker. False during indexing even if an older marker exists.
    pub is_marker_present: bool,
}

/// Reads the state of `codebase`; `None` if it may answer.
///
/// # Errors
/// If the state cannot be read, or the store is not trusted.
pub fn check(codebase: &Codebase) -> Result<Option<Gate>, IndexError> {
    codebase.check_trust()?;
    let (state, _) = State::read_permitted(&codebase.store())?;
    Ok(Gate::new(codebase, &codebase.lifecycle_in(state.as_ref()), state.as_ref()))
}

/// Returns whether a codebase without an answer had an index that was deleted or damaged. The next run then
/// builds it again without being asked for.
pub fn is_lost(codebase: &Codebase) -> bool {
    if codebase.layout.was_initialised() && !codebase.layout.root().exists() {
        return true;
    }

    let state = State::read(&codebase.store().state()).ok().flatten();
    state.is_some_and(|state| {
        let has_failed = codebase.head_in(&state).is_some_and(|head| head.phase == Phase::IndexFailed);
        // A run that has failed may fail again, so it is not started for every request.
        state.lost.contains(&codebase.worktree_key) && (!has_failed || background::is_rested(codebase))
    })
}

impl Gate {
    /// The gate of a codebase in this lifecycle state; `None` if it is indexed.
    pub fn new(codebase: &Codebase, lifecycle: &Lifecycle, state: Option<&State>) -> Option<Gate> {
        let reason = match lifecycle {
            Lifecycle::Indexed => return None,
            Lifecycle::RequiresReindex { .. } => NonOkReason::RequiresReindex,
            Lifecycle::Indexing => NonOkReason::Indexing,
            Lifecycle::NotIndexed | Lifecycle::Interrupted { .. } | Lifecycle::IndexFailed(_) => {
                NonOkReason::NotIndexed
            }
        };

        let is_indexing = reason == NonOkReason::Indexing;
        let (indexing, retry_after_ms) = if is_indexing { progress(codebase) } else { Default::default() };

        let head = state.and_then(|state| codebase.head_in(state));

        Some(Gate {
            lifecycle: lifecycle.clone(),
            reason,
            message: message(lifecycle),
            indexing,
            retry_after_ms,
            // While indexing, a marker counts as absent even if it is there.
            is_marker_present: !is_indexing && head.is_some_and(|head| head.marker.is_some()),
        })
    }

    /// Returns whether the settings allow answers from the part that is indexed so far (`mcp.gate =
    /// "partial"`).
    pub fn allows_partial_answers(&self, codebase: &Codebase) -> bool {
        self.reason == NonOkReason::Indexing && codebase.settings.mcp.gate == GateMode::Partial
    }
}

/// The sentence for a person about this lifecycle state.
fn message(lifecycle: &Lifecycle) -> String {
    match lifecycle {
        Lifecycle::Indexed => "this codebase is indexed".to_owned(),
        Lifecycle::Indexing => "this codebase is being indexed; ask again when it is done".to_owned(),
        Lifecycle::NotIndexed => "this codebase is not indexed: no index has been completed here".to_owned(),

        Lifecycle::Interrupted { .. } => format!(
            "this codebase is not indexed: {}; the next run continues",
            lifecycle.reason().unwrap_or_default()
        ),
        Lifecycle::IndexFailed(failure) => {
            format!("this codebase is not indexed: the last attempt failed: {failure}")
        }
        Lifecycle::RequiresReindex { reason } => format!("the index does not fit the settings: {reason}"),
    }
}

/// The progress of the run, and the estimated milliseconds until it ends.
fn progress(codebase: &Codebase) -> (Option<IndexingProgress>, Option<u64>) {
    let Some(record) = checkpoint::running(codebase) else {
        return (Some(IndexingProgress::default()), None);
    };

    let is_read = record.files_processed >= record.files_total;
    let share = record.share();

    let indexing = IndexingProgress {
        progress_pct: Some((share * 1000.0).round().min(1000.0) / 10.0),
        last_updated: Some(time::rfc3339(record.last_checkpoint)),
        phase: Some(if is_read { "publish" } else { "chunk_and_embed" }),
    };

    // Never 0, which would mean at once.
    let retry = record.seconds_left().map(|seconds| seconds.max(1) * 1000);
    (Some(indexing), retry)
}
