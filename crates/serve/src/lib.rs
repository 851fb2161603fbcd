//! Serve: a search page, an API, MCP over HTTP, health and metrics, from one process.
//!
//! ```text
//! listener ─► guard ─► routes ─► job (on a pool of threads) ─► query, xref, index
//! ```
//!
//! * [`listener`]: accepts connections, until the server is stopped. [`connections`]: their number;
//!   [`deadline`]: the time that their clients have.
//! * [`guard`], [`access`]: checks of host, origin and token; headers of every response; the log. [`tokens`],
//!   [`guesses`]: the tokens, and a limit on wrong ones.
//! * [`routes`]: paths and their handlers.
//! * [`job`]: the work of a request: its slot, time limit and cancellation. [`failure`]: its errors.
//! * [`params`], [`search`]: the parameters of a search, and its answer.
//! * [`api`]: the JSON of the command line over HTTP, described by [`openapi`]; [`stream`]: long answers.
//! * [`repositories`]: the members of a catalogue, and the access of clients to them.
//! * [`page`]: the HTML pages.
//! * [`health`], [`metrics`], [`window`]: the state of the server, for machines.
//! * [`indexing`]: keeps the index at HEAD and reports how its processes ([`child`]) end.
//! * [`mcp`]: the tools for agents; [`sessions`]: the sessions of their clients.
//!
//! One thread accepts connections and speaks HTTP; the work of requests runs on a pool of threads. Indexing
//! runs in processes of its own.

mod access;
mod api;
mod app;
mod child;
mod connections;
mod deadline;
mod failure;
mod guard;
mod guesses;
mod health;
mod indexing;
mod job;
mod listener;
mod mcp;
mod metrics;
mod openapi;
mod page;
mod params;
mod repositories;
mod routes;
mod search;
mod sessions;
mod stream;
mod tokens;
mod window;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codeweaver::query::Engine;
use codeweaver_base::descriptors;
use codeweaver_index::IndexError;

use app::App;

pub use tokens::{TokenError, Tokens};

/// Default port.
pub const PORT: u16 = 9328;
/// Time after which the work of a request is cancelled. The wait for a slot does not count.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Time that answers in progress get when the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// The options of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// Directory in the repository.
    pub repository: PathBuf,
    /// Address to listen on.
    pub host: IpAddr,
    /// 0 for any free one.
    pub port: u16,
    /// Host names that are accepted besides the address and `localhost`.
    pub names: Vec<String>,
    /// Tokens that clients must present. Required unless the address is a loopback address.
    pub tokens: Option<Arc<Tokens>>,
    /// Time between two checks of the members of a catalogue.
    pub interval: Duration,
    /// Whether the index is rebuilt at the start.
    pub reindex: bool,
    /// What searches are answered from, if not from the index of the repository.
    pub engine: Option<Arc<dyn Engine>>,
}

/// An event that a server reports to its user.
#[derive(Debug)]
pub enum Event<'a> {
    /// The URL of the page.
    Listening(String),
    /// The repository is being indexed; answers are incomplete until it is done.
    Indexing,
    Indexed,
    /// Something has failed; the server continues.
    Warning(&'a str),
    /// No further requests are accepted.
    Stopping,
}

/// An error that keeps a server from starting.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another process listens on the port.
    #[error("Server already running on port {port}")]
    Running { port: u16 },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    /// Other machines could ask without a token.
    #[error("{host} can be reached from other machines, and no token is set")]
    NoToken { host: IpAddr },
    /// Threads or signal handlers cannot be set up.
    #[error("the server cannot start: {0}")]
    Start(io::Error),
    /// A metric has an invalid name.
    #[error(transparent)]
    Metrics(#[from] prometheus::Error),
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
/// The address is in use or may not be served without a token, or there is no repository. Later failures are
/// reported in the response to the request.
pub fn run(options: &Options, tell: &(dyn Fn(Event<'_>) + Sync)) -> Result<(), ServeError> {
    if options.tokens.is_none() && !options.host.is_loopback() {
        return Err(ServeError::NoToken { host: options.host });
    }

    let limits = listener::Limits::new(descriptors::raise());
    let app = Arc::new(App::open(options, limits.n_connections)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(app::max_threads())
        .build()
        .map_err(ServeError::Start)?;

    let listener = runtime.block_on(listener::bind(options.host, options.port))?;
    let address = listener.local_addr().map_err(ServeError::Start)?;
    tell(Event::Listening(url(address)));

    std::thread::scope(|scope| {
        scope.spawn(|| indexing::follow(&app, options, tell));

        let served = runtime.block_on(async {
            let stopped = listener::stop_signal().map_err(ServeError::Start)?;
            let router = routes::router(app.clone());
            listener::serve(listener, router, limits, stopped, || tell(Event::Stopping)).await;
            Ok(())
        });

        // Ends the thread that follows HEAD, for which the scope waits.
        app.end();
        served
    })
    .inspect(|()| runtime.shutdown_timeout(GRACE))
}

/// The URL of the page of a server at `address`.
fn url(address: SocketAddr) -> String {
    match address.ip() {
        ip if ip.is_unspecified() => format!("http://localhost:{}/", address.port()),
        _ => format!("http://{address}/"),
    }
}
