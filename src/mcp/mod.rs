//! The stdio server for coding agents (requirements section 9): protocol messages → the library → answers with schemas.
//!
//! ```text
//! stdin ─► transport ─► server ─► tools (on a pool of threads) ─► query, index
//! stdout ◄─ transport ◄─ server ◄─ answer: structured content and a compact text
//! ```
//!
//! * [`message`], [`transport`], [`streams`]: lines ⇄ messages; nothing else ever reaches stdout.
//! * [`server`]: what the protocol asks for: handshake, lists, calls, progress, cancellation.
//! * [`tools`]: one file per tool, and the table of them; [`schema`]: their schemas; [`answer`]: what they give back.
//! * [`codebases`]: repositories by path, opened at the first call and kept; [`cursor`]: where a long answer goes on.
//! * [`resources`]: the status of an index as a resource; [`log`]: what happens, as log notifications.
//! * [`shutdown`]: when to stop.
//!
//! The handshake touches no repository. Indexing runs in another process ([`crate::index::background`]).

pub mod answer;
pub mod clients;
mod codebases;
pub mod cursor;

pub mod envelope;
pub mod log;
pub mod message;
pub mod resources;
pub mod schema;
pub mod server;
pub mod shutdown;
pub mod streams;
pub mod tools;
pub mod transport;

use server::Server;
use shutdown::End;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;
use transport::{Ends, LineTransport};

/// Threads for the work of tools, above all for calls that wait: an idle one costs nothing.
const THREADS: usize = transport::MAX_REQUESTS + 8;
/// How long answers that are being written are waited for at the end.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What the server is started with.
pub struct Options {
    /// Where calls without a path look: any directory.
    pub dir: PathBuf,
    /// Gates say what completion is judged by.
    pub debug: bool,
    /// What is logged, for the client.
    pub records: log::Records,
}

/// Serves on standard input and output until the input ends, a signal comes, or the parent is gone.
///
/// # Errors
/// If the streams or threads cannot be had. What a client sends is never an error here.
pub fn serve(options: Options) -> std::io::Result<()> {
    let (input, output) = streams::take()?;
    serve_on(options, input, output)
}

/// As [`serve`], on other streams.
///
/// # Errors
/// If threads or signals cannot be had.
pub fn serve_on(
    options: Options,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .enable_io()
        .max_blocking_threads(THREADS)
        .build()?;
    let writer = runtime.block_on(async {
        let end = End::watch()?;
        let ends = Ends::default();
        let (transport, writer) = LineTransport::start(input, output, ends.clone())?;
        let server = Server::new(options.dir, options.debug);
        let stopping = server.stopping();
        let served = server::run(server, transport, options.records);
        tokio::pin!(served);
        tokio::select! {
            () = &mut served => return std::io::Result::Ok(writer),
            () = ends.input.notified() => {}
            () = ends.output.notified() => stopping.end_session(),
            () = end.comes() => stopping.end_session(),
        }
        // Whoever waits for an index stops waiting; answers that are on their way still go out.
        stopping.stop_waiting();
        served.await;
        Ok(writer)
    })?;
    // Work that nobody waits for any more ends with the process.
    runtime.shutdown_background();
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        writer.finish();
        let _ = done.send(());
    });
    let _ = is_done.recv_timeout(LAST_WORDS);
    Ok(())
}
