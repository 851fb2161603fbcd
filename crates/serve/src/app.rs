//! App: the state that all requests of a server share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use codeweaver::query::conditions::codebase_name;
use codeweaver::query::{QueryError, Searcher};
use codeweaver::service::{Codebases, ServiceError};
use codeweaver_base::{real_path, sync};
use codeweaver_index::status::{self, StatusReport};
use codeweaver_index::{Codebase, IndexError};
use codeweaver_mcp::queue::Queue;
use codeweaver_mcp::server::Queues;

use super::access::{Access, Names};
use super::failure::Failure;
use super::metrics::Metrics;
use super::tokens::Tokens;
use super::{Options, ServeError};

/// Maximum number of waiting requests per slot; further ones are refused.
const WAITING_PER_SLOT: usize = 32;

/// Maximum number of answers that are sent as they are found. Each takes a thread of the pool while its
/// client is slow; the others are for requests.
const MAX_STREAMS: usize = 32;

/// Maximum number of calls that wait for an index, and of further ones that wait for their turn.
const MAX_WAITS: usize = 16;
const WAITING_FOR_WAITS: usize = 64;

/// Maximum number of limited searchers that are kept.
const MAX_LIMITED: usize = 32;

/// Maximum age of the cached status of the index.
const STATUS_AGE: Duration = Duration::from_secs(1);

/// Work that keeps the index current.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// Builds the index.
    Index,
    /// Looks for new commits of the members of a catalogue.
    Sync,
}

impl Task {
    /// The statement that it has failed.
    pub fn failure(self) -> &'static str {
        match self {
            Task::Index => "indexing has failed",
            Task::Sync => "the repositories cannot be brought up to date",
        }
    }
}

/// The state of a server.
pub struct App {
    /// Name of the repository, as the page shows it.
    pub name: String,
    pub codebases: Arc<Codebases>,
    pub names: Names,
    pub tokens: Option<Arc<Tokens>>,
    /// Whether the repository is a catalogue.
    pub is_catalogue: bool,
    pub metrics: Metrics,
    pub started: Instant,
    /// The places of requests in progress, two per core: more would only slow each other down.
    pub slots: Arc<Queue>,
    /// The places of answers that are sent as they are found.
    pub streams: Arc<Queue>,
    /// The places of calls that wait for an index.
    waits: Arc<Queue>,
    /// Searchers of clients that may see some repositories only.
    limited: Mutex<Vec<Limited>>,
    status: Mutex<Option<(Instant, Arc<StatusReport>)>>,
    /// Why the index cannot be brought up to date; by the work that has failed.
    problems: Mutex<BTreeMap<Task, String>>,
    is_ending: AtomicBool,
}

/// A searcher for the clients with some access.
struct Limited {
    access: Access,
    whole: Arc<Searcher>,
    searcher: Arc<Searcher>,
}

impl App {
    /// Opens the repository, for a server with at most `n_connections`.
    ///
    /// # Errors
    /// There is no repository, or its settings are invalid.
    pub fn open(options: &Options, n_connections: usize) -> Result<App, ServeError> {
        let codebase = Codebase::open(&options.repository, &[])?;
        let root = codebase.root();
        let root = real_path::canonicalize(&root).unwrap_or(root);
        let n_slots = n_slots();
        // Requests that wait keep their connections, and must not keep all of them.
        let max_waiting = (n_connections / 4).max(1);

        Ok(App {
            name: codebase_name(&codebase),
            codebases: Arc::new(Codebases::confined(root).of_engine(options.engine.clone())),
            names: Names::new(options.host, &options.names),
            tokens: options.tokens.clone(),
            is_catalogue: codebase.repo.is_catalogue(),
            metrics: Metrics::new()?,
            started: Instant::now(),
            slots: Queue::new(n_slots, max_waiting.min(n_slots * WAITING_PER_SLOT)),
            streams: Queue::new(MAX_STREAMS, max_waiting),
            waits: Queue::new(MAX_WAITS, max_waiting.min(WAITING_FOR_WAITS)),
            limited: Mutex::default(),
            status: Mutex::default(),
            problems: Mutex::default(),
            is_ending: AtomicBool::new(false),
        })
    }

    /// The repository, opened again if its settings have changed.
    ///
    /// # Errors
    /// The repository is gone, or its settings have become invalid.
    pub fn searcher(&self) -> Result<Arc<Searcher>, IndexError> {
        self.codebases.default_codebase()
    }

    /// The repository as a client with `access` may see it.
    ///
    /// # Errors
    /// As [`Self::searcher`].
    pub fn searcher_for(&self, access: &Access) -> Result<Arc<Searcher>, IndexError> {
        let whole = self.searcher()?;
        if *access == Access::All {
            return Ok(whole);
        }

        let mut limited = sync::lock(&self.limited);
        limited.retain(|known| Arc::ptr_eq(&known.whole, &whole));
        if let Some(known) = limited.iter().find(|known| known.access == *access) {
            return Ok(known.searcher.clone());
        }

        let may_see = access.clone();
        let searcher = Arc::new(whole.limited_to(Box::new(move |name| may_see.allows(name))));
        if limited.len() >= MAX_LIMITED {
            limited.remove(0);
        }
        limited.push(Limited { access: access.clone(), whole, searcher: searcher.clone() });
        Ok(searcher)
    }

    /// The access that a token for `access` gives here. A single repository is visible as a whole or not at
    /// all.
    ///
    /// # Errors
    /// The token is not for this repository.
    pub fn narrowed(&self, access: Access) -> Result<Access, Failure> {
        match access {
            Access::Repositories(_) if !self.is_catalogue && access.allows(&self.name) => Ok(Access::All),
            Access::Repositories(_) if !self.is_catalogue => {
                Err(ServiceError::from(QueryError::NoRepository { glob: None, only: None }).into())
            }
            access => Ok(access),
        }
    }

    /// The status of the index, at most a second old; `None` if it cannot be read, which is logged.
    pub fn status(&self, codebase: &Codebase) -> Option<Arc<StatusReport>> {
        // The lock is held while the status is read, so that only one request at a time reads it.
        let mut cached = sync::lock(&self.status);
        if let Some((_, status)) = cached.as_ref().filter(|(read, _)| read.elapsed() < STATUS_AGE) {
            return Some(status.clone());
        }

        match status::status(codebase, false) {
            Ok(status) => {
                let status = Arc::new(status);
                *cached = Some((Instant::now(), status.clone()));
                Some(status)
            }
            Err(error) => {
                tracing::error!(component = "server", operation = "status", %error, "the status cannot be read");
                None
            }
        }
    }

    /// Notes how `task` has ended last: the reason if it has failed.
    pub fn ended(&self, task: Task, failure: Option<String>) {
        let mut problems = sync::lock(&self.problems);
        match failure {
            Some(why) => problems.insert(task, why),
            None => problems.remove(&task),
        };
    }

    /// Why the index cannot be brought up to date; `None` if it can.
    pub fn problem(&self) -> Option<String> {
        let problems = sync::lock(&self.problems);
        let sentences = problems.iter().map(|(task, why)| format!("{}: {why}", task.failure()));
        (!problems.is_empty()).then(|| sentences.collect::<Vec<_>>().join("; "))
    }

    /// The sentence in answers that do not have the newest commits because a task has failed.
    pub fn warning(&self) -> Option<String> {
        let task = *sync::lock(&self.problems).keys().next()?;
        Some(format!("{}; newer commits may be missing", task.failure()))
    }

    /// The places of the calls of agents.
    pub fn queues(&self) -> Queues {
        Queues { work: self.slots.clone(), waits: self.waits.clone() }
    }

    /// Stops the work in the background.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }
}

/// Maximum number of requests in progress.
fn n_slots() -> usize {
    2 * std::thread::available_parallelism().map_or(2, usize::from)
}

/// Maximum number of threads that work or wait, with some for short work that takes no place.
pub fn max_threads() -> usize {
    n_slots() + MAX_STREAMS + MAX_WAITS + 16
}
