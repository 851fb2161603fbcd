//! The tools: one file per tool, and their table.
//!
//! A tool is a function from its arguments to an answer, with a description of when to use it. It runs on a
//! thread of the pool and may block.

mod call_graph;
mod file_outline;
mod find_code;
mod find_similar;
mod manage_index;
mod matches;
mod read_file;

use super::answer::{self, Answer, CallError};
use super::codebases::{CallTarget, Codebases};
use super::envelope::Envelope;
use super::schema;
use crate::index::gate::{self, NonOkReason};
use crate::index::{Codebase, IndexError, Lifecycle, Target, background};
use crate::query::{Cancel, QueryError};
use crate::store::StoreError;
use rmcp::model::{CallToolResult, ErrorData, JsonObject, Tool as ToolDescription, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// A tool; implemented by one type per tool.
trait Tool {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// States what the tool does, when to use it, and when not to.
    const DESCRIPTION: &'static str;
    /// Changes nothing, not even the index.
    const READ_ONLY: bool = true;
    /// Mostly waits, so that it is exempt from the limit on concurrent calls.
    const WAITS: bool = false;
    type Arguments: DeserializeOwned + JsonSchema;
    type Output: Serialize + JsonSchema;

    fn run(arguments: Self::Arguments, call: &Call) -> Result<Answer<Self::Output>, CallError>;
}

/// The type-erased form of a [`Tool`].
pub struct ToolSpec {
    pub name: &'static str,
    title: &'static str,
    description: &'static str,
    read_only: bool,
    pub waits: bool,
    input: fn() -> Arc<JsonObject>,
    output: fn() -> Arc<JsonObject>,
    pub run: fn(JsonObject, &Call) -> Result<CallToolResult, ErrorData>,
}

static TOOLS: &[ToolSpec] = &[
    ToolSpec::of::<find_code::FindCode>(),
    ToolSpec::of::<find_similar::FindSimilar>(),
    ToolSpec::of::<file_outline::FileOutline>(),
    ToolSpec::of::<call_graph::CallGraph>(),
    ToolSpec::of::<read_file::ReadFile>(),
    ToolSpec::of::<manage_index::ManageIndex>(),
];

/// The status of a successful answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OkStatus {
    Ok,
}

/// All tools, in listing order.
pub fn all() -> impl Iterator<Item = &'static ToolSpec> {
    TOOLS.iter()
}

/// Finds a tool by its name or alias.
pub fn by_name(name: &str) -> Option<&'static ToolSpec> {
    let name = if name == "search_codebase" { "find_code" } else { name };
    TOOLS.iter().find(|spec| spec.name == name)
}

impl ToolSpec {
    const fn of<T: Tool>() -> ToolSpec {
        ToolSpec {
            name: T::NAME,
            title: T::TITLE,
            description: T::DESCRIPTION,
            read_only: T::READ_ONLY,
            waits: T::WAITS,
            input: schema::input::<T::Arguments>,
            output: schema::output::<T::Output>,
            run: run::<T>,
        }
    }

    /// The description of the tool in the list of tools.
    pub fn describe(&self) -> ToolDescription {
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(self.read_only)
            .destructive(!self.read_only)
            .idempotent(true)
            .open_world(false);
        ToolDescription::new(self.name, self.description, (self.input)())
            .with_title(self.title)
            .with_raw_output_schema((self.output)())
            .with_annotations(annotations)
    }
}

fn run<T: Tool>(arguments: JsonObject, call: &Call) -> Result<CallToolResult, ErrorData> {
    let arguments = serde_json::from_value(arguments.into()).map_err(|error| {
        // Unknown arguments are errors too: ignoring a misspelt filter would return unfiltered results.
        let text: String = error.to_string().chars().take(400).collect();
        ErrorData::invalid_params(format!("the arguments of {} cannot be used: {text}", T::NAME), None)
    })?;
    answer::result(T::run(arguments, call))
}

/// True if the index has been deleted after initialisation, or is damaged or of another version.
fn needs_rebuild(codebase: &Codebase, gate: &Result<Option<gate::Gate>, IndexError>) -> bool {
    match gate {
        Ok(Some(gate)) => {
            let layout = &codebase.layout;
            gate.reason == NonOkReason::NotIndexed && layout.was_initialised() && !layout.root().exists()
        }
        Ok(None) => false,
        Err(IndexError::Store(error)) => is_repairable(error),
        Err(_) => false,
    }
}

/// Whether a repair of the store may help. A damaged segment that is searched in place can also show as a
/// panic.
fn may_be_damage(error: &QueryError) -> bool {
    match error {
        QueryError::Store(error) => is_repairable(error),
        QueryError::Internal { .. } => true,
        _ => false,
    }
}

fn is_repairable(error: &StoreError) -> bool {
    matches!(error, StoreError::Version { .. } | StoreError::Damaged { .. })
}

/// Progress of a call.
pub struct ProgressStep {
    /// From 0 to 100, increasing.
    pub percent: f64,
    pub message: String,
}

/// Environment of a running call.
pub struct Call {
    pub codebases: Arc<Codebases>,
    pub debug: bool,
    pub is_cancelled: Arc<AtomicBool>,
    pub is_ending: Arc<AtomicBool>,
    /// Absent if the client did not request progress.
    pub steps: Option<UnboundedSender<ProgressStep>>,
}

impl Call {
    /// True if the call was cancelled or the session is ending.
    fn is_stopped(&self) -> bool {
        self.is_cancelled() || self.is_ending.load(Ordering::Relaxed)
    }

    /// True if the client has cancelled the call.
    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// The cancellation of this call, for the library.
    fn cancel(&self) -> Cancel {
        let is_cancelled = self.is_cancelled.clone();
        Cancel::when(move || is_cancelled.load(Ordering::Relaxed))
    }

    fn step(&self, percent: f64, message: impl Into<String>) {
        if let Some(steps) = &self.steps {
            let _ = steps.send(ProgressStep { percent, message: message.into() });
        }
    }

    /// Opens the codebase of a call. Rebuilds a deleted or damaged index.
    ///
    /// # Errors
    /// The gate envelope, if the codebase cannot answer queries now.
    fn open(&self, path: Option<&str>, file: Option<&str>) -> Result<CallTarget, CallError> {
        let target = self.codebases.find(path, file)?;
        let codebase = target.codebase();
        let mut gate = gate::check(codebase);
        if needs_rebuild(codebase, &gate) {
            self.rebuild(&target)?;
            gate = gate::check(codebase);
        }
        let gate = gate.map_err(|error| CallError::of(error.into(), codebase))?;
        match gate.filter(|gate| !gate.allows_partial_answers(codebase)) {
            Some(gate) => {
                let (root, reason) = (codebase.root(), gate.reason);
                tracing::info!(component = "mcp", operation = "gate", codebase_root = %root.display(), ?reason, "blocked");
                Err(self.gate_error(&target, gate))
            }
            None => Ok(target),
        }
    }

    /// Starts the updater, which rebuilds the missing parts of the index, and waits up to `search.timeout_ms`
    /// for it.
    fn rebuild(&self, target: &CallTarget) -> Result<(), CallError> {
        let codebase = target.codebase();
        let root = codebase.root();
        tracing::warn!(component = "mcp", operation = "rebuild", codebase_root = %root.display(), "the index is gone or damaged; it is built again");
        let head = Target::head(codebase).map_err(|error| CallError::of(error.into(), codebase))?;
        let timeout = Duration::from_millis(codebase.settings.search.timeout_ms);
        if background::update_until(codebase, &head, Instant::now() + timeout, &|| self.is_stopped()) {
            Ok(())
        } else {
            Err(self.lifecycle_error(target, &Lifecycle::Indexing))
        }
    }

    fn gate_error(&self, target: &CallTarget, gate: gate::Gate) -> CallError {
        CallError::Gated(Box::new(Envelope::new(gate, target.codebase(), &target.requested, self.debug)))
    }

    /// The error of a codebase in this state, which is not `indexed`.
    fn lifecycle_error(&self, target: &CallTarget, lifecycle: &Lifecycle) -> CallError {
        match gate::Gate::of(target.codebase(), lifecycle, None) {
            Some(gate) => self.gate_error(target, gate),
            None => CallError::failed("the index was replaced while it was read; ask again", None),
        }
    }

    /// Runs `query`, which may request an update; the updater is a separate process, since readers never
    /// write. A damaged index is rebuilt, then `query` is run again.
    fn run_query<T>(
        &self,
        target: &CallTarget,
        query: impl Fn(crate::query::view::freshness::RequestUpdate<'_>) -> Result<T, QueryError>,
    ) -> Result<T, CallError> {
        let codebase = target.codebase();
        let updater = |target: &Target, timeout: Duration| {
            background::update_until(codebase, target, Instant::now() + timeout, &|| self.is_stopped())
        };
        let answer = match query(&updater) {
            Err(error) if may_be_damage(&error) => {
                self.rebuild(target)?;
                query(&updater)
            }
            answer => answer,
        };
        let answer = answer.map_err(|error| match error {
            QueryError::Gated(lifecycle) => self.lifecycle_error(target, &lifecycle),
            QueryError::Cancelled => {
                let root = codebase.root();
                tracing::info!(component = "mcp", operation = "stop", codebase_root = %root.display(), "a cancelled call has ended");
                CallError::Stopped
            }
            other => CallError::of(other, codebase),
        })?;
        if self.is_cancelled() { Err(CallError::Stopped) } else { Ok(answer) }
    }
}
