//! `daemon`: the resident process that answers searches of this repository.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::Value;

use codeweaver_daemon::identity::Identity;
use codeweaver_daemon::protocol::Message;
use codeweaver_daemon::server::{self, Limits};
use codeweaver_daemon::{Address, DaemonError, client};
use codeweaver_index::{Codebase, Lifecycle, background};

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::resident::VERSION;
use crate::cli::resident::handler::{Handler, RunCommand};
use crate::cli::{exit, render};

/// Time that a daemon may take to start and to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval at which it is looked for meanwhile.
const POLL: Duration = Duration::from_millis(5);
/// Maximum number of requests that are answered at the same time, for each core.
const REQUESTS_PER_CORE: usize = 4;
/// Variables of git that name another repository than that around the directory.
const REPOSITORY_VARIABLES: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"];

/// Keep this repository open in a resident process that answers searches
///
/// While it runs, `search`, `similar`, `outline`, `graph`, `read` and `tool` are answered by it, with the
/// same answers in less time. It ends by itself when nothing is asked for some time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver daemon start
  git codeweaver daemon status
  CODEWEAVER_DAEMON=off git codeweaver search retry     without it

Exit codes: 0 done, 1 no daemon runs (status, stop), 2 error.")]
pub struct DaemonArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Start it in the background, unless it runs
    Start,
    /// End it
    Stop,
    /// Show whether it runs, and what it has answered
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run it in the foreground
    Run {
        #[arg(long, hide = true)]
        detached: bool,
    },
}

impl DaemonArgs {
    /// True if the process leaves the session of its parent.
    pub fn is_detached(&self) -> bool {
        matches!(self.action, Action::Run { detached: true })
    }
}

pub fn run(args: DaemonArgs, context: &Context, run_command: RunCommand) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    if !codebase.layout.root().is_dir() {
        return Err(CliError::from_lifecycle(Lifecycle::NotIndexed, &codebase));
    }
    let address = Address::of_store(codebase.layout.root());

    match args.action {
        Action::Start => start(&codebase, &address, context),
        Action::Stop => stop(&address, context),
        Action::Status { json } => status(&address, json, context),
        Action::Run { .. } => serve(&codebase, &address, run_command),
    }
}

/// Starts a daemon and waits until it can be asked.
fn start(codebase: &Codebase, address: &Address, context: &Context) -> Result<ExitCode, CliError> {
    check_environment()?;
    if let Some(status) = control(address, &Message::Status)? {
        return say(context, &format!("The daemon runs already (process {})", status["pid"]));
    }

    // Made here, since a detached process cannot show its errors. The lock is left to the daemon.
    address.create()?;
    let arguments = ["daemon", "run", "--detached"].map(Into::into);
    background::spawn(codebase, &arguments).map_err(|error| not_started(error.to_string()))?;

    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(status) = control(address, &Message::Status)? {
            return say(context, &format!("The daemon runs (process {})", status["pid"]));
        }
        std::thread::sleep(POLL);
    }

    Err(not_started(format!("it did not answer within {} seconds", PATIENCE.as_secs())))
}

fn not_started(why: String) -> CliError {
    CliError::new("the daemon has not started", why, "`git codeweaver daemon run` shows why")
}

/// The answer of the daemon, if one runs.
fn control(address: &Address, message: &Message) -> Result<Option<Value>, CliError> {
    client::control(address, message).map_err(|error| {
        CliError::new(
            "the daemon does not answer",
            error.to_string(),
            "end its process; the next one replaces it",
        )
    })
}

fn stop(address: &Address, context: &Context) -> Result<ExitCode, CliError> {
    let Some(status) = control(address, &Message::Stop)? else {
        context.note("No daemon runs");
        return Ok(ExitCode::from(exit::NEGATIVE));
    };

    let deadline = Instant::now() + PATIENCE;
    while address.connect().is_ok() && Instant::now() < deadline {
        std::thread::sleep(POLL);
    }
    say(context, &format!("The daemon has ended (process {})", status["pid"]))
}

fn status(address: &Address, as_json: bool, context: &Context) -> Result<ExitCode, CliError> {
    let status = control(address, &Message::Status)?;
    let code = if status.is_some() { ExitCode::SUCCESS } else { ExitCode::from(exit::NEGATIVE) };

    if as_json {
        let mut answer = serde_json::json!({ "running": status.is_some() });
        if let (Some(Value::Object(fields)), Some(answer)) = (status, answer.as_object_mut()) {
            answer.extend(fields);
        }
        say(context, &render::json(&answer, true)?)?;
    } else if let Some(status) = status {
        let why = status["last_declined"].as_str().map(|reason| format!(" (the last: {reason})"));
        say(
            context,
            &format!(
                "The daemon runs (process {}, for {} s): {} answered, {} declined{}; it ends after {} s without a request",
                status["pid"],
                status["uptime_s"],
                status["served"],
                status["declined"],
                why.unwrap_or_default(),
                status["ends_after_s"]
            ),
        )?;
    } else {
        say(context, "No daemon runs; `git codeweaver daemon start` starts one")?;
    }
    Ok(code)
}

/// Serves until there is a reason to end.
fn serve(codebase: &Codebase, address: &Address, run_command: RunCommand) -> Result<ExitCode, CliError> {
    check_environment()?;
    let is_stopping = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, is_stopping.clone())
            .map_err(|error| not_started(error.to_string()))?;
    }

    // Files are compared with the disk by paths relative to the root, which is faster; and the directory in
    // which it was started may be deleted.
    let root = codebase.root();
    std::env::set_current_dir(&root).map_err(|error| not_started(error.to_string()))?;

    let handler = Handler::new(&root, codebase.layout.root(), run_command);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let idle = Duration::from_secs(60 * u64::from(codebase.settings.daemon.idle_minutes));
    let limits = Limits { idle, requests: cores * REQUESTS_PER_CORE };

    let identity = Identity::of_process(VERSION).map_err(|error| not_started(error.to_string()))?;
    let ending = server::serve(address, identity, handler, limits, &is_stopping)?;
    tracing::info!(component = "daemon", operation = "end", ?ending, "the daemon ends");
    Ok(ExitCode::SUCCESS)
}

/// Refuses an environment that names a repository: clients are answered about that around their directory.
fn check_environment() -> Result<(), CliError> {
    match REPOSITORY_VARIABLES.iter().find(|name| std::env::var_os(name).is_some()) {
        None => Ok(()),
        Some(name) => Err(CliError::new(
            "the daemon cannot start here",
            format!("{name} names a repository, and a daemon serves the one around its directory"),
            format!("unset {name}"),
        )),
    }
}

fn say(context: &Context, text: &str) -> Result<ExitCode, CliError> {
    let mut out = context.out();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

impl From<DaemonError> for CliError {
    fn from(error: DaemonError) -> Self {
        let fix = match &error {
            DaemonError::Running => "`git codeweaver daemon status` shows it",
            DaemonError::NotPrivate { .. } => "remove it, or set its mode to 0700",
            DaemonError::NoSocket { .. } => "searches work without a daemon; a local file system has sockets",
            DaemonError::Io { .. } => "check the path and its permissions",
        };
        CliError::new("the daemon cannot run", error.to_string(), fix)
    }
}
