//! The handler: runs commands of clients on codebases that stay open.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize as _;

use codeweaver::service::Codebases;
use codeweaver_base::sync;
use codeweaver_daemon::protocol::Call;
use codeweaver_daemon::replies::Replies;
use codeweaver_daemon::server;

use super::Paged;
use crate::cli::context::{Context, Invocation, OpenCodebases};
use crate::cli::pager::Pager;
use crate::cli::render::Paint;
use crate::cli::streams::{Remote, Streams};
use crate::cli::surroundings::Surroundings;

/// Runs the command of `arguments` if the last argument says that its repository is served.
///
/// # Errors
/// The reason for which the client is to run it itself.
pub type RunCommand =
    fn(&[OsString], Invocation, &dyn Fn(&Context) -> bool) -> Result<ExitCode, &'static str>;

/// The command line in a daemon.
pub struct Handler {
    /// The store directory that is served, with all worktrees that share it.
    store: PathBuf,
    codebases: Arc<Codebases>,
    run: RunCommand,
    preparing: Preparing,
}

/// The outcome of preparing for the next request.
#[derive(Default)]
struct Preparing {
    last: Mutex<Option<Instant>>,
    is_running: Arc<AtomicBool>,
}

/// Time since the last request after which nothing is prepared any more.
const USED_UNTIL: Duration = Duration::from_secs(600);
/// Age of a comparison of the working tree that is renewed, less than that which a request finds too old.
const PREPARED_AGE: Duration = Duration::from_secs(40);
/// Interval of looking at that age.
const PREPARE_EVERY: Duration = Duration::from_secs(10);

impl Handler {
    /// Serves the repository around `root`, whose store directory is `store`.
    pub fn new(root: &Path, store: &Path, run: RunCommand) -> Handler {
        Handler {
            store: store.to_owned(),
            codebases: Arc::new(Codebases::new(root.to_owned())),
            run,
            preparing: Preparing::default(),
        }
    }
}

impl server::Handler for Handler {
    fn run(&self, call: &Call, directory: PathBuf, replies: &Arc<Replies>) -> Result<u8, String> {
        let surroundings =
            Surroundings::deserialize(&call.surroundings).map_err(|error| error.to_string())?;
        let invocation = Invocation {
            current_dir: directory,
            surroundings: Arc::new(surroundings),
            streams: Streams::Client(Arc::new(Client(replies.clone()))),
            open: Some(OpenCodebases(self.codebases.clone())),
        };

        let is_served = |context: &Context| context.opens_store(&self.store);
        let code = (self.run)(&call.arguments, invocation, &is_served)?;
        code_of(code).ok_or_else(|| "its exit code is not known".to_owned())
    }

    /// Compares the working tree again from time to time, so that a request after a pause needs not.
    fn idle(&self, since: Duration) {
        let Preparing { last, is_running } = &self.preparing;
        let mut last = sync::lock(last);
        let is_due = last.is_none_or(|last| last.elapsed() > PREPARE_EVERY);
        if since > USED_UNTIL || !is_due || is_running.swap(true, Ordering::Relaxed) {
            return;
        }

        // Directories are watched from the second comparison on.
        let n_runs = if last.is_none() { 2 } else { 1 };
        *last = Some(Instant::now());

        let (codebases, is_running) = (self.codebases.clone(), is_running.clone());
        std::thread::spawn(move || {
            // A repository that does not open is left to the request that finds it so.
            let _ = codebases.default_codebase();
            for _ in 0..n_runs {
                codebases.prepare(PREPARED_AGE);
            }
            is_running.store(false, Ordering::Relaxed);
        });
    }
}

/// The number of an exit code, which the standard library does not tell.
fn code_of(code: ExitCode) -> Option<u8> {
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code)
}

/// The streams of a client.
struct Client(Arc<Replies>);

impl Remote for Client {
    fn out(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.out(bytes)
    }

    fn err(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.err(bytes)
    }

    fn page(&self, pager: &Pager, text: &str, err_paint: Paint) -> io::Result<()> {
        let paged = Paged { pager: pager.clone(), text: text.to_owned(), err_paint };
        self.0.page(&serde_json::to_vec(&paged)?)
    }

    fn cancellation(&self) -> Arc<AtomicBool> {
        self.0.cancellation()
    }
}
