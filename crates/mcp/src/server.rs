//! Protocol handlers: handshake, lists, calls with progress and cancellation, resources, log level.
//!
//! The protocol loop runs on one thread and does no work itself: every call runs on a thread pool. A
//! cancelled call is asked to stop and answered at once.

#![expect(
    deprecated,
    reason = "the next revision of the protocol drops log notifications; clients of today have no other"
)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SetLevelRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, ServiceExt};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::{Notify, mpsc};

use codeweaver::query::Engine;
use codeweaver::service::{Codebases, RequestId, Waits};

use super::answer::{self, Format};
use super::log::{Records, Threshold};
use super::queue::{Client, Full, Queue};
use super::resources;
use super::tools::{self, Call, ProgressStep, ToolSpec};
use super::transport::{LineTransport, MAX_REQUESTS};
use super::user::{Folders, User};

/// Instructions sent at the handshake: when to use the tools, and when not to.
const INSTRUCTIONS: &str = include_str!("instructions.md");

/// The server of a session.
pub struct Server {
    codebases: Arc<Codebases>,
    debug: bool,
    folders: Folders,
    stopping: Stopping,
    queues: Queues,
    threshold: OnceLock<Threshold>,
    /// Number of running calls that requested logs. A session without a handshake gets logs only from these.
    log_requests: Arc<AtomicUsize>,
}

/// The places of calls.
#[derive(Clone)]
pub struct Queues {
    /// For calls that compute, twice the number of cores: more would only slow each other down.
    pub work: Arc<Queue>,
    /// For calls that mostly wait, each of which takes a thread of the pool.
    pub waits: Arc<Queue>,
}

/// Signals the end of the session to running calls.
#[derive(Clone, Default)]
pub struct Stopping {
    flag: Arc<AtomicBool>,
    session: Arc<Notify>,
}

impl Stopping {
    /// Makes calls that wait return.
    pub fn stop_waiting(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Ends the session before its input ends.
    pub fn end_session(&self) {
        self.stop_waiting();
        self.session.notify_one();
    }
}

/// Serves a session until it ends.
pub async fn run(server: Server, transport: LineTransport, mut records: Records) {
    let stopping = server.stopping();
    let _ = server.threshold.set(records.threshold());
    let log_requests = server.log_requests.clone();

    let session = tokio::select! {
        session = server.serve(transport) => session,
        () = stopping.session.notified() => return,
    };

    let session = match session {
        Ok(session) => session,
        // The input ended before the handshake.
        Err(error) => {
            tracing::debug!(component = "mcp", operation = "handshake", %error, "no session");
            return;
        }
    };

    let peer = session.peer().clone();
    let end = session.cancellation_token();
    let mut session = std::pin::pin!(session.waiting());
    loop {
        tokio::select! {
            _ = &mut session => return,
            () = stopping.session.notified() => break,

            // A record before the handshake is sent only if a running call has requested logs.
            Some(record) = records.next() => {
                if peer.peer_info().is_some() || log_requests.load(Ordering::Relaxed) > 0 {
                    send_record(&peer, record).await;
                }
            }
        }
    }

    end.cancel();
    let _ = session.await;
}

async fn send_record(peer: &Peer<RoleServer>, record: super::log::Record) {
    let message = LoggingMessageNotificationParam::new(record.level, record.data).with_logger(record.logger);
    let _ = peer.notify_logging_message(message).await;
}

/// Counts a running call that requested logs.
struct LogRequest(Arc<AtomicUsize>);

impl LogRequest {
    fn new(count: &Arc<AtomicUsize>) -> LogRequest {
        count.fetch_add(1, Ordering::Relaxed);
        LogRequest(count.clone())
    }
}

impl Drop for LogRequest {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    pub fn new(dir: PathBuf, debug: bool, engine: Option<Arc<dyn Engine>>) -> Server {
        let n_cores = std::thread::available_parallelism().map_or(2, usize::from);

        // The transport bounds the number of calls, so that none is refused here.
        let queues =
            Queues { work: Queue::new(2 * n_cores, usize::MAX), waits: Queue::new(MAX_REQUESTS, usize::MAX) };
        Server { debug, ..Server::over(Arc::new(Codebases::new(dir).of_engine(engine)), queues) }
    }

    /// A server for one of several sessions, which share `codebases` and the places of calls.
    pub fn over(codebases: Arc<Codebases>, queues: Queues) -> Server {
        Server {
            codebases,
            debug: false,
            folders: Folders::default(),
            stopping: Stopping::default(),
            queues,
            threshold: OnceLock::new(),
            log_requests: Arc::default(),
        }
    }

    pub fn stopping(&self) -> Stopping {
        self.stopping.clone()
    }

    /// Runs a tool on the thread pool and forwards its progress.
    async fn run_tool(
        &self,
        spec: &'static ToolSpec,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let id = RequestId::random();
        self.folders.learn_once(&self.codebases, &context.peer);
        // The latest protocol revision has a log level per request instead of per session.
        let _log_requests = context.meta.log_level().map(|level| {
            self.set_threshold(level);
            LogRequest::new(&self.log_requests)
        });

        let queue = if spec.waits { &self.queues.waits } else { &self.queues.work };
        let client = client_of(&context);
        let place = tokio::select! {
            place = queue.place(&client) => place.map_err(busy)?,
            () = context.ct.cancelled() => {
                id.run(|| tracing::info!(component = "mcp", operation = "stop", "a cancelled call was not started"));
                return Ok(answer::stopped());
            }
        };

        let (steps, mut progress) = mpsc::unbounded_channel();
        let arguments = request.arguments.unwrap_or_default();
        let call = Call {
            codebases: self.codebases.clone(),
            debug: self.debug,
            is_cancelled: Arc::default(),
            is_ending: self.stopping.flag.clone(),
            user: User::new(&context.peer),
            steps: context.meta.get_progress_token().is_some().then_some(steps),
            format: Format::from_arguments(&arguments),
            waits: Waits::default(),
            deadline: OnceLock::new(),
            elsewhere: Mutex::default(),
            root: Arc::default(),
        };

        let (is_cancelled, root) = (call.is_cancelled.clone(), call.root.clone());
        let started = std::time::Instant::now();

        // The place is held by the thread and not by this future: a cancelled call computes until it
        // notices.
        let work_id = id.clone();
        let mut work = tokio::task::spawn_blocking(move || {
            let _place = place;
            work_id.run(|| spec.run(arguments, &call))
        });

        let mut sender = context.meta.get_progress_token().map(|token| Progress::new(&context.peer, token));
        loop {
            tokio::select! {
                // Biased, so that progress is sent before the result.
                biased;
                Some(step) = progress.recv() => {
                    if let Some(sender) = &mut sender {
                        sender.send(step).await;
                    }

                }
                done = &mut work => {
                    let duration_ms = started.elapsed().as_millis() as u64;
                    let codebase_root = root.get().map(|root| root.to_string_lossy());
                    let codebase_root = codebase_root.as_deref();
                    id.run(|| tracing::info!(component = "mcp", operation = spec.name, duration_ms, codebase_root, "call"));

                    return done.unwrap_or_else(|_| Err(panicked()));
                }
                () = context.ct.cancelled() => {
                    // The thread stops at its next check, and its result is dropped.
                    is_cancelled.store(true, Ordering::Relaxed);
                    return Ok(answer::stopped());
                }
            }
        }
    }

    fn set_threshold(&self, level: LoggingLevel) {
        if let Some(threshold) = self.threshold.get() {
            threshold.set(level);
        }
    }

    /// Runs `work` on the thread pool.
    async fn on_pool<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Codebases) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let codebases = self.codebases.clone();
        let result = tokio::task::spawn_blocking(move || RequestId::random().run(|| work(&codebases))).await;
        result.unwrap_or_else(|_| Err(panicked()))
    }
}

/// The client of a call, which the server of HTTP has noted; that of stdin is the only one.
fn client_of(context: &RequestContext<RoleServer>) -> Client {
    let request = context.extensions.get::<http::request::Parts>();
    request.and_then(|request| request.extensions.get::<Client>()).cloned().unwrap_or_default()
}

fn busy(full: Full) -> ErrorData {
    ErrorData::internal_error(format!("the server is busy: {full}; call again in a moment"), None)
}

/// The error of a call that panicked. The pool catches the panic; no other call is affected.
fn panicked() -> ErrorData {
    ErrorData::internal_error(
        "an error in git-codeweaver broke off this call, other calls still work; `git codeweaver verify` checks the index",
        None,
    )
}

/// Sends the progress notifications of a call. The percentage only increases, as the protocol requires.
struct Progress<'a> {
    peer: &'a Peer<RoleServer>,
    token: ProgressToken,
    last: f64,
}

impl<'a> Progress<'a> {
    fn new(peer: &'a Peer<RoleServer>, token: ProgressToken) -> Progress<'a> {
        Progress { peer, token, last: -1.0 }
    }

    async fn send(&mut self, step: ProgressStep) {
        if step.percent <= self.last {
            return;
        }

        self.last = step.percent;
        let param = ProgressNotificationParam::new(self.token.clone(), step.percent)
            .with_total(100.0)
            .with_message(step.message);
        let _ = self.peer.notify_progress(param).await;
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_logging().build();
        let implementation = Implementation::new("git-codeweaver", env!("CARGO_PKG_VERSION"))
            .with_title("git-codeweaver")
            .with_description("Semantic code search over git repositories");
        ServerConfig::new(capabilities).with_server_info(implementation).with_instructions(INSTRUCTIONS)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.folders.learn_once(&self.codebases, &context.peer);
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.folders.learn(&self.codebases, &context.peer);
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::listed().map(ToolSpec::describe).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The name comes from the client and is truncated in the message.
        let Some(spec) = tools::by_name(&request.name) else {
            let name: String = request.name.chars().take(100).collect();
            let known: Vec<&str> = tools::listed().map(|spec| spec.name).collect();
            let message = format!("there is no tool {name:?}; there are {}", known.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };

        self.run_tool(spec, request, context).await.map(CallToolResponse::Complete)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.on_pool(|codebases| Ok(ListResourcesResult::with_all_items(resources::list(codebases)))).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.on_pool(move |codebases| resources::read(codebases, &request.uri)).await?;
        Ok(ReadResourceResponse::Complete(read))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.set_threshold(request.level);
        Ok(())
    }

    /// Handles unknown methods, and known methods with invalid parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        const KNOWN: &[&str] = &[
            "initialize",
            "ping",
            "tools/call",
            "tools/list",
            "resources/read",
            "resources/list",
            "resources/templates/list",
            "logging/setLevel",
            "server/discover",
        ];
        // A known method arrives here if its parameters are invalid.
        if KNOWN.contains(&request.method.as_str()) {
            let message = format!("the parameters of {} do not have the right form", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }

        let method: String = request.method.chars().take(100).collect();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method {method:?}"), None))
    }
}
