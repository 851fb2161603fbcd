//! The tools: one file per tool, and their table.
//!
//! A tool is a function from its arguments to an answer, with a description of when to use it. It runs on a
//! thread of the pool and may block.
//!
//! # A new tool
//!
//! * `Arguments`: a struct with `Deserialize` and `JsonSchema`. Its doc comments are the descriptions that
//!   models read, so they are short. Optional arguments are `Option`, numbers are `u32` with
//!   `#[schemars(range(…))]`, choices are enums without comments on their variants (which would become longer
//!   schemas). The schema decides what is converted and what is an error ([`super::arguments`]), so `run`
//!   gets valid values. The argument `format` belongs to every tool and is not part of the struct.
//! * `Output`: the structured content, with `Serialize` and `JsonSchema`. It has the same facts as the text.
//! * `run`: opens the codebase by [`Call::open`], asks the library by [`Call::run_query`], and builds the
//!   answer within the limit of [`Call::token_limit`]. The text has one line for each item and one for the
//!   frame, and says only what is unusual ([`text::unless_fresh`], [`text::state_of`]). The warnings have
//!   those of [`Call::warnings`].
//! * Pages: items that do not fit are left to the next call.
//!   [`Cursor::resume`](super::cursor::Cursor::resume) gives the number of items that earlier answers had,
//!   [`Call::fit`] builds the largest answer within the limit, and the answer ends with [`text::more`] if
//!   items are left.

mod ask_docs;
mod call_graph;
mod call_graph_text;
mod changes;
mod duplicates;
mod excerpt;
mod explore;
mod file_outline;
mod find_code;
mod find_similar;
mod find_symbol;
mod find_text;
mod list_files;
mod manage_index;
mod matches;
mod read_code;
mod text;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::{Duration, Instant};

use rmcp::model::{CallToolResult, ErrorData, JsonObject, Tool as ToolDescription, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::UnboundedSender;

use codeweaver::query::view::freshness::RequestUpdate;
use codeweaver::query::{Cancel, QueryError};
use codeweaver::service::trust::{Naming, Purpose};
use codeweaver::service::{Caller, Codebases, ErrorKind, Patience, Progress, Requests, ServiceError, Waits};
use codeweaver_base::sync;
use codeweaver_git::quoting::printed;
use codeweaver_index::{Codebase, Lifecycle};

use super::answer::{self, Answer, AnswerEnd, CallError, Format};
use super::arguments;
use super::envelope::Envelope;
use super::schema;
use super::target::CallTarget;
use super::user::User;

/// Maximum time for which the library works for a call. Clients give up after a minute.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// A tool; implemented by one type per tool.
trait Tool {
    const NAME: &'static str;
    /// Another name, which is not listed.
    const ALIAS: Option<&'static str> = None;
    /// Whether the tool is in the list of tools. The others are reached through arguments of these, and
    /// answer when they are called by name.
    const IS_LISTED: bool = true;
    /// States what the tool does, when to use it, and when not to.
    const DESCRIPTION: &'static str;
    /// Whether the tool changes nothing, not even the index.
    const READ_ONLY: bool = true;
    /// Whether the tool competes with tools of the client itself. A client that offers tools only on request
    /// should then show this one to the model from the start.
    const IS_BASIC: bool = false;
    /// Whether the tool mostly waits, so that it is exempt from the limit on concurrent calls.
    const WAITS: bool = false;
    type Arguments: DeserializeOwned + JsonSchema;
    type Output: Serialize + JsonSchema;

    fn run(arguments: Self::Arguments, call: &Call) -> Result<Answer<Self::Output>, CallError>;
}

/// The type-erased form of a [`Tool`].
pub struct ToolSpec {
    pub name: &'static str,
    alias: Option<&'static str>,
    is_listed: bool,
    description: &'static str,
    read_only: bool,
    is_basic: bool,
    pub waits: bool,
    /// The schema of the arguments.
    input: JsonObject,
    /// The schema of the structured content.
    pub output: fn() -> JsonObject,
    run: fn(&ToolSpec, JsonObject, &Call) -> Result<CallToolResult, ErrorData>,
}

static TOOLS: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
    vec![
        ToolSpec::new::<find_code::FindCode>(),
        ToolSpec::new::<find_text::FindText>(),
        ToolSpec::new::<find_symbol::FindSymbol>(),
        ToolSpec::new::<call_graph::CallGraph>(),
        ToolSpec::new::<read_code::ReadCode>(),
        ToolSpec::new::<manage_index::ManageIndex>(),
        ToolSpec::new::<ask_docs::AskDocs>(),
        ToolSpec::new::<find_similar::FindSimilar>(),
        ToolSpec::new::<file_outline::FileOutline>(),
        ToolSpec::new::<list_files::ListFiles>(),
        ToolSpec::new::<changes::ChangesTool>(),
    ]
});

/// The status of a successful answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OkStatus {
    Ok,
}

/// All tools: those of the list in its order, then the others.
pub fn all() -> impl Iterator<Item = &'static ToolSpec> {
    TOOLS.iter()
}

/// The tools that clients are told of. Few, since every tool costs each session its description, and each
/// choice the risk of a wrong one.
pub fn listed() -> impl Iterator<Item = &'static ToolSpec> {
    all().filter(|spec| spec.is_listed)
}

/// Finds a tool by its name or alias.
pub fn by_name(name: &str) -> Option<&'static ToolSpec> {
    TOOLS.iter().find(|spec| spec.name == name || spec.alias == Some(name))
}

impl ToolSpec {
    fn new<T: Tool>() -> ToolSpec {
        let input = schema::input::<T::Arguments>();

        ToolSpec {
            name: T::NAME,
            alias: T::ALIAS,
            is_listed: T::IS_LISTED,
            description: T::DESCRIPTION,
            read_only: T::READ_ONLY,
            is_basic: T::IS_BASIC,
            waits: T::WAITS,
            input,
            output: schema::output::<T::Output>,
            run: run::<T>,
        }
    }

    /// The description of the tool in the list of tools.
    pub fn describe(&self) -> ToolDescription {
        let annotations = ToolAnnotations::new().open_world(false);

        let annotations = match self.read_only {
            true => annotations.read_only(true),
            // An index is derived from the repository and can always be built again.
            false => annotations.read_only(false).destructive(false).idempotent(true),
        };

        let mut description =
            ToolDescription::new(self.name, self.description, Arc::new(schema::listed(&self.input)))
                .with_annotations(annotations);

        if self.is_basic {
            let meta = JsonObject::from_iter([("anthropic/alwaysLoad".to_owned(), true.into())]);
            description.meta = Some(rmcp::model::MetaObject(meta));
        }
        description
    }

    /// Returns whether the tool has an argument of this name, also in camel case.
    pub fn has_argument(&self, name: &str) -> bool {
        arguments::is_known(name, &self.input)
    }

    /// Returns whether this is a name of an argument of the tool in other programs, or a misspelt one.
    pub fn may_mean_argument(&self, name: &str) -> bool {
        arguments::is_meant(name, &self.input)
    }

    /// The arguments that the list of tools names.
    pub fn arguments(&self) -> Vec<schema::Argument> {
        schema::arguments(&self.input)
    }

    /// The description of the tool, as models read it.
    pub fn description(&self) -> &'static str {
        self.description
    }

    /// Runs the tool.
    ///
    /// # Errors
    /// The answer cannot be serialised. Everything else, invalid arguments too, is a result.
    pub fn run(&self, arguments: JsonObject, call: &Call) -> Result<CallToolResult, ErrorData> {
        (self.run)(self, arguments, call)
    }
}

fn run<T: Tool>(spec: &ToolSpec, arguments: JsonObject, call: &Call) -> Result<CallToolResult, ErrorData> {
    let answer =
        arguments::parse(T::NAME, &spec.input, arguments).and_then(|arguments| T::run(arguments, call));
    answer::result(answer, call.format)
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
    /// The user, who is asked about repositories outside of the workspace.
    pub user: User,
    /// Absent if the client did not request progress.
    pub steps: Option<UnboundedSender<ProgressStep>>,
    /// The form in which the answer is sent.
    pub format: Format,
    /// The reasons for which the call has waited for its index, for the warnings of its answer.
    pub waits: Waits,
    /// The time at which the library is to stop; set once it works.
    pub deadline: OnceLock<Instant>,
    /// The repository of the answer, if it is another one than that of the server.
    pub elsewhere: Mutex<Option<PathBuf>>,
    /// The root of the codebase, once it is found, for the log.
    pub root: Arc<OnceLock<PathBuf>>,
}

impl Call {
    /// Returns true if the client has cancelled the call.
    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// The cancellation of this call, for the library: by the client, or because its time is up. The time
    /// begins with the first use, after a user may have been asked.
    fn cancel(&self) -> Cancel {
        let is_cancelled = self.is_cancelled.clone();
        let deadline = *self.deadline.get_or_init(|| Instant::now() + TIME_LIMIT);
        Cancel::when(move || is_cancelled.load(Ordering::Relaxed) || Instant::now() > deadline)
    }

    /// The warnings that every answer begins with: its repository, if that is not the one of the server, and
    /// the reasons for which the call has waited. A tool takes them once.
    fn warnings(&self) -> Vec<String> {
        let elsewhere = sync::lock(&self.elsewhere).take();
        let repository = elsewhere.map(|root| {
            format!("this is the repository {}, not that of the server", printed(&root.to_string_lossy()))
        });
        repository.into_iter().chain(self.waits.take()).collect()
    }

    /// The token limit of an answer: the `given` one, else that of the settings.
    fn token_limit(&self, given: Option<u32>, codebase: &Codebase) -> u32 {
        given.unwrap_or(codebase.settings.mcp.token_limit)
    }

    /// Returns the answer with as many items, up to `n_items`, as fit into `limit` tokens in the form that is
    /// sent.
    ///
    /// `build` returns the answer with the first n items; it is called several times with different numbers.
    /// If not even one item fits, it is called for an answer without items, with the number of tokens of the
    /// answer with one item, which the answer has to name ([`text::no_room`]).
    fn fit<T: Serialize>(
        &self,
        n_items: usize,
        limit: u32,
        build: impl Fn(usize, Option<u32>) -> Answer<T>,
    ) -> Answer<T> {
        let size = |n: usize| build(n, None).n_tokens(self.format);
        // Every item has a minimum size, so a long list is not rendered as a whole.

        let (mut least, mut most) = (0, n_items.min(limit as usize / text::MIN_LINE_TOKENS));
        if most == n_items && size(n_items) <= limit {
            return build(n_items, None);
        }

        while least < most {
            let middle = least + (most - least).div_ceil(2);
            if size(middle) <= limit { least = middle } else { most = middle - 1 }
        }

        build(least, (least == 0 && n_items > 0).then(|| size(1)))
    }

    fn step(&self, percent: f64, message: impl Into<String>) {
        if let Some(steps) = &self.steps {
            let _ = steps.send(ProgressStep { percent, message: message.into() });
        }
    }

    /// Finds the codebase of a call. Asks the user if the session may not use it.
    fn find(
        &self,
        path: Option<&str>,
        file: Option<&str>,
        purpose: Purpose,
    ) -> Result<CallTarget, CallError> {
        let target = CallTarget::find(&self.codebases, path, file)?;
        self.root.get_or_init(|| target.codebase().root());
        let trust = &self.codebases.trust;

        if trust.is_elsewhere(target.codebase(), target.naming) {
            *sync::lock(&self.elsewhere) = Some(target.codebase().root());
        }

        let Err(refusal) = trust.check(target.codebase(), purpose, target.naming) else { return Ok(target) };

        // A user who has declined is not asked again.
        let consent =
            if refusal.is_final() { None } else { self.user.ask(&refusal.question(), &|| self.is_stopped()) };
        if let Some(is_allowed) = consent {
            trust.remember(&refusal, is_allowed);
        }

        if consent == Some(true) { Ok(target) } else { Err(CallError::new(refusal, target.codebase())) }
    }

    /// Opens the codebase of a call. Rebuilds a deleted or damaged index.
    ///
    /// # Errors
    /// The gate envelope, if the codebase cannot answer queries now.
    fn open(&self, path: Option<&str>, file: Option<&str>) -> Result<CallTarget, CallError> {
        let target = self.find(path, file, Purpose::Read)?;
        let admitted = Requests::new(target.codebase(), self).admit();

        match admitted {
            Ok(()) => Ok(target),
            Err(error) => Err(self.error(error, &target)),
        }
    }

    /// Runs `query`, which may request an update; the updater is a separate process, since readers never
    /// write. A damaged index is rebuilt, then `query` is run again.
    fn run_query<T>(
        &self,
        target: &CallTarget,
        query: impl Fn(RequestUpdate<'_>) -> Result<T, QueryError>,
    ) -> Result<T, CallError> {
        let answer = Requests::new(target.codebase(), self).run(query);
        let answer = answer.map_err(|error| self.error(error, target))?;

        // The answer to a cancelled call is dropped.
        if self.is_cancelled() { Err(CallError::Stopped) } else { Ok(answer) }
    }

    /// The error for a codebase in this state, in which it does not answer.
    fn lifecycle_error(&self, target: &CallTarget, lifecycle: &Lifecycle) -> CallError {
        self.error(ServiceError::from_lifecycle(lifecycle.clone(), target.codebase()), target)
    }

    /// The outcome of a call that ends with `error`: an envelope if it is a gate.
    fn error(&self, error: ServiceError, target: &CallTarget) -> CallError {
        let mut error = self.waits.explain(error);
        let codebase = target.codebase();
        let root = codebase.root();

        if error.kind == ErrorKind::Cancelled && !self.is_stopped() {
            let message = format!(
                "the answer took too long: it was not done within {} s; narrow it, for example with `paths`",
                TIME_LIMIT.as_secs()
            );
            return CallError::failed(message, Some(root));
        }

        if error.kind == ErrorKind::Cancelled {
            tracing::info!(component = "mcp", operation = "stop", codebase_root = %root.display(), "a cancelled call has ended");
            return CallError::Stopped;
        }

        match error.gate.take() {
            Some(gate) => {
                let reason = gate.reason;
                tracing::info!(component = "mcp", operation = "gate", codebase_root = %root.display(), ?reason, "blocked");
                CallError::Gated(Box::new(Envelope::new(*gate, codebase, &target.requested, self.debug)))
            }
            None => CallError::new(error, codebase),
        }
    }
}

impl Caller for Call {
    fn patience(&self, codebase: &Codebase) -> Patience {
        let timeout = Duration::from_millis(codebase.settings.search.timeout_ms);
        Patience { repair: timeout, rebuild: timeout }
    }

    fn is_stopped(&self) -> bool {
        self.is_cancelled() || self.is_ending.load(Ordering::Relaxed)
    }

    fn may_index(&self, codebase: &Codebase) -> bool {
        codebase.settings.mcp.index_small
            && self.codebases.trust.check(codebase, Purpose::Manage, Naming::Plain).is_ok()
    }

    fn tell(&self, codebase: &Codebase, progress: Progress<'_>) {
        let root = codebase.root();
        tracing::warn!(component = "mcp", operation = "rebuild", codebase_root = %root.display(), "{progress}");
        self.waits.add(progress);
    }
}
