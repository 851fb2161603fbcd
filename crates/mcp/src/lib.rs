//! The MCP server for coding agents, over stdin and stdout.
//!
//! ```text
//! stdin ─► transport ─► server ─► tools (on a pool of threads) ─► query, index
//! stdout ◄─ transport ◄─ server ◄─ answer: a compact text, structured content on request
//! ```
//!
//! * [`message`], [`transport`], [`streams`]: conversion between lines and messages; nothing else is written
//!   to stdout. `id_scanner` finds the id of a message that is too long.
//! * [`server`]: the protocol: handshake, lists, calls, progress, cancellation; [`queue`]: the order of calls.
//! * [`tools`]: one file per tool, and their table; [`schema`]: their schemas; [`arguments`]: conversion of
//!   arguments; [`answer`]: results and errors of calls.
//! * [`target`]: the repository that a call names, and the paths in its arguments; [`cursor`]: continuation
//!   of long answers.
//! * [`resources`]: the status of an index as a resource; [`log`]: log notifications.
//! * [`shutdown`]: signals and the exit of the parent process.
//! * [`one_call`]: a call of a tool without a session, for the command line.
//! * [`clients`]: registration of the server in the configuration of clients; [`agents`]: skills, rules and
//!   hooks for agents.
//!
//! Repositories are opened, and queries run, by [`codeweaver::service`]. The handshake opens no repository.
//! Indexing runs in a separate process ([`codeweaver_index::background`]).

pub mod agents;
pub mod answer;
mod arguments;
pub mod clients;
pub mod cursor;
pub mod envelope;
mod id_scanner;
pub mod log;
pub mod message;
pub mod one_call;
pub mod queue;
pub mod resources;
pub mod schema;
pub mod server;
pub mod shutdown;
pub mod streams;
pub mod target;
pub mod tools;
pub mod transport;
pub mod uri;
pub mod user;

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codeweaver::query::Engine;
use server::Server;
use shutdown::Shutdown;
use transport::{LineTransport, StreamEnds};

/// Maximum number of threads that run tools. Most are needed for calls that wait; idle threads cost nothing.
const MAX_THREADS: usize = transport::MAX_REQUESTS + 8;
/// Time for writing pending answers at the end of the session.
const WRITE_TIMEOUT: Duration = Duration::from_millis(500);

/// Options of the server.
pub struct Options {
    /// Directory inside the repository of calls without a path.
    pub dir: PathBuf,
    /// Adds the basis of completion to gate envelopes.
    pub debug: bool,
    /// Log records for the client.
    pub records: log::Records,
    /// What searches of the repository in `dir` are answered from, if not from its index.
    pub engine: Option<Arc<dyn Engine>>,
}

/// Serves on stdin and stdout until the input ends, a signal arrives, or the parent process exits.
///
/// # Errors
/// Streams or threads cannot be set up. Input of the client never causes an error here.
pub fn serve(options: Options) -> std::io::Result<()> {
    let (input, output) = streams::take()?;
    serve_on(options, input, output)
}

/// As [`serve`], on the given streams.
///
/// # Errors
/// Threads or signal handlers cannot be set up.
pub fn serve_on(
    options: Options,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .enable_io()
        .max_blocking_threads(MAX_THREADS)
        .build()?;

    let writer = runtime.block_on(async {
        let shutdown = Shutdown::watch()?;
        let ends = StreamEnds::default();
        let (transport, writer) = LineTransport::start(input, output, ends.clone())?;
        let server = Server::new(options.dir, options.debug, options.engine);
        let stopping = server.stopping();
        let served = server::run(server, transport, options.records);

        tokio::pin!(served);
        tokio::select! {
            () = &mut served => return std::io::Result::Ok(writer),
            // Pending calls are still answered after the end of the input.
            () = ends.input.notified() => {}
            // Answers cannot be delivered any more.
            () = ends.output.notified() => stopping.end_session(),
            () = shutdown.requested() => stopping.end_session(),
        }
        // Calls that wait for an index stop waiting; pending answers are still sent.
        stopping.stop_waiting();
        served.await;
        Ok(writer)
    })?;

    // Joining a thread has no timeout, so the end of the writer is waited for on a channel.
    // Remaining work ends with the process.
    runtime.shutdown_background();
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        writer.finish();
        let _ = done.send(());
    });

    let _ = is_done.recv_timeout(WRITE_TIMEOUT);
    Ok(())
}
