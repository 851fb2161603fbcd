//! The tools: one file each, and the table of them.
//!
//! A tool is a function from its arguments to an answer, with descriptions that say when to use it and when not. It runs on
//! a thread of its own and may block.

mod call_graph;
mod file_outline;
mod find_code;
mod find_similar;
mod manage_index;
mod matches;
mod read_file;

use super::answer::{self, Answer, CallError};
use super::codebases::{Asked, Codebases};
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

/// What a tool is; one type per tool implements it.
trait Tool {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// First what it does, then when to use it and when not.
    const DESCRIPTION: &'static str;
    /// It changes nothing, not even the index.
    const READ_ONLY: bool = true;
    /// It may wait for long and does little itself.
    const WAITS: bool = false;
    type Arguments: DeserializeOwned + JsonSchema;
    type Output: Serialize + JsonSchema;

    fn run(arguments: Self::Arguments, call: &Call) -> Result<Answer<Self::Output>, CallError>;
}

/// A tool as the server sees it.
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

/// The status of an answer that has nothing to complain about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OkStatus {
    Ok,
}

/// All tools, in the order in which they are listed.
pub fn all() -> impl Iterator<Item = &'static ToolSpec> {
    TOOLS.iter()
}

/// The tool of that name, or of its other name.
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

    /// As it is listed.
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
        // Unknown arguments, too: silently ignored ones are filters that do not filter.
        let text: String = error.to_string().chars().take(400).collect();
        ErrorData::invalid_params(format!("the arguments of {} cannot be used: {text}", T::NAME), None)
    })?;
    answer::result(T::run(arguments, call))
}

/// Whether the index was set up here and has been deleted, or cannot be read.
fn is_gone(codebase: &Codebase, gate: &Result<Option<gate::Gate>, IndexError>) -> bool {
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

/// Whether a repair of the store may help. A damaged segment that is searched in place can also show as a panic.
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

/// How far a call is.
pub struct Step {
    /// 0 to 100, growing.
    pub percent: f64,
    pub message: String,
}

/// What a tool can reach while it runs.
pub struct Call {
    pub codebases: Arc<Codebases>,
    pub debug: bool,
    pub is_cancelled: Arc<AtomicBool>,
    pub is_ending: Arc<AtomicBool>,
    /// Absent if nobody listens.
    pub steps: Option<UnboundedSender<Step>>,
}

impl Call {
    /// Nobody waits for the answer any more.
    fn is_stopped(&self) -> bool {
        self.is_cancelled() || self.is_ending.load(Ordering::Relaxed)
    }

    /// The client has said so.
    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// For the library, which stops working then.
    fn cancel(&self) -> Cancel {
        let is_cancelled = self.is_cancelled.clone();
        Cancel::when(move || is_cancelled.load(Ordering::Relaxed))
    }

    fn step(&self, percent: f64, message: impl Into<String>) {
        if let Some(steps) = &self.steps {
            let _ = steps.send(Step { percent, message: message.into() });
        }
    }

    /// The codebase that a call is about, if it may answer (requirement L6).
    fn answerable(&self, path: Option<&str>, file: Option<&str>) -> Result<Asked, CallError> {
        let asked = self.codebases.find(path, file)?;
        let codebase = asked.codebase();
        let mut gate = gate::check(codebase);
        if is_gone(codebase, &gate) {
            self.rebuild(&asked)?;
            gate = gate::check(codebase);
        }
        let gate = gate.map_err(|error| CallError::of(error.into(), codebase))?;
        match gate.filter(|gate| !gate.lets_through(codebase)) {
            Some(gate) => {
                let (root, reason) = (codebase.root(), gate.reason);
                tracing::info!(component = "mcp", operation = "gate", codebase_root = %root.display(), ?reason, "blocked");
                Err(self.blocked(&asked, gate))
            }
            None => Ok(asked),
        }
    }

    /// Has an index that was deleted or damaged made whole, which costs what is missing. What takes longer than a question
    /// may take goes on by itself.
    fn rebuild(&self, asked: &Asked) -> Result<(), CallError> {
        let codebase = asked.codebase();
        let root = codebase.root();
        tracing::warn!(component = "mcp", operation = "rebuild", codebase_root = %root.display(), "the index is gone or damaged; it is built again");
        let head = Target::head(codebase).map_err(|error| CallError::of(error.into(), codebase))?;
        let patience = Duration::from_millis(codebase.settings.search.timeout_ms);
        if background::update_until(codebase, &head, Instant::now() + patience, &|| self.is_stopped()) {
            Ok(())
        } else {
            Err(self.gate(asked, &Lifecycle::Indexing))
        }
    }

    fn blocked(&self, asked: &Asked, gate: gate::Gate) -> CallError {
        CallError::Gated(Box::new(Envelope::new(gate, asked.codebase(), &asked.requested, self.debug)))
    }

    /// The envelope of a codebase in this state, which is not `indexed`.
    fn gate(&self, asked: &Asked, lifecycle: &Lifecycle) -> CallError {
        match gate::Gate::of(asked.codebase(), lifecycle, None) {
            Some(gate) => self.blocked(asked, gate),
            None => CallError::failed("the index was replaced while it was read; ask again", None),
        }
    }

    /// Has the index follow HEAD in the background if it `is_behind`: hooks have not done it.
    fn catch_up(&self, asked: &Asked, is_behind: bool) {
        let codebase = asked.codebase();
        if is_behind && codebase.lease_holder().is_none() {
            background::update_in_background(codebase);
        }
    }

    /// Asks the library, with the updater at hand: a process of its own, since readers never write (S4).
    fn ask<T>(
        &self,
        asked: &Asked,
        question: impl Fn(crate::query::view::freshness::RequestUpdate<'_>) -> Result<T, QueryError>,
    ) -> Result<T, CallError> {
        let codebase = asked.codebase();
        let updater = |target: &Target, patience: Duration| {
            background::update_until(codebase, target, Instant::now() + patience, &|| self.is_stopped())
        };
        let answer = match question(&updater) {
            Err(error) if may_be_damage(&error) => {
                self.rebuild(asked)?;
                question(&updater)
            }
            answer => answer,
        };
        let answer = answer.map_err(|error| match error {
            QueryError::Gated(lifecycle) => self.gate(asked, &lifecycle),
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
