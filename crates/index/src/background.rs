//! Updater processes started by readers, which never write to the store themselves.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use codeweaver_base::process::{self, SHORT_LIVED_VARIABLES};
use codeweaver_config::HnswMode;
use codeweaver_store::lock;
use codeweaver_store::state::State;

use super::codebase::Codebase;
use super::hnsw;
use super::program::{program_file, project_args};
use super::target::Target;

/// Poll interval for a running child.
const POLL: Duration = Duration::from_millis(10);

/// Time after which an updater counts as [rested](is_rested).
const REST: Duration = Duration::from_secs(30);

/// Updates `target` in a child process and waits for at most `patience`. Returns whether the update is done.
///
/// A child that takes longer keeps running, and a later request finds its result. If another process holds
/// the work lease, this waits for that one first.
pub fn update(codebase: &Codebase, target: &Target, patience: Duration) -> bool {
    update_until(codebase, target, Instant::now() + patience, &|| false)
}

/// As [`update`], until `deadline` or until `is_stopped` returns true.
pub fn update_until(
    codebase: &Codebase,
    target: &Target,
    deadline: Instant,
    is_stopped: &dyn Fn() -> bool,
) -> bool {
    let is_over = || Instant::now() >= deadline || is_stopped();

    loop {
        if !wait_for_lease(codebase, &is_over) {
            return false;
        }

        let Ok(mut child) = start_update(codebase, target) else { return false };
        match wait(&mut child, &is_over) {
            Some(0) => return true,
            // Refused: another process took the lease in between.
            Some(1) => {}
            _ => return false,
        }
    }
}

/// Returns whether the last updater began so long ago that another one is worth its cost where it may not
/// help: if the working tree cannot be compared in time and its stat data cannot be stored.
pub fn is_rested(codebase: &Codebase) -> bool {
    let taken = std::fs::metadata(codebase.layout.work_lock(&codebase.worktree_key));
    let age = taken.and_then(|lock| lock.modified()).ok().and_then(|taken| taken.elapsed().ok());
    age.is_none_or(|age| age > REST)
}

/// Starts an update that outlives this process, if an answer `needs_update` and no update is running. It
/// covers HEAD, and the changed files of the working tree if they are too many for an overlay.
pub fn update_if_due(codebase: &Codebase, needs_update: bool) {
    if !needs_update || codebase.lease_holder().is_some() || super::updater::request_update(codebase).is_err()
    {
        return;
    }

    let args = ["hook".into(), "sync".into()];
    if let Err(e) = spawn(codebase, &args) {
        tracing::warn!(component = "indexer", operation = "background update", error = %e, "it could not be started");
    }
}

/// Starts building the HNSW graph that is missing. With `index.hnsw = "always"` this waits for the
/// result, so that the next request uses it.
pub fn build_graphs(codebase: &Codebase) {
    let state = State::read(&codebase.store().state()).ok().flatten();
    if state.is_none_or(|state| hnsw::missing(codebase, &state).is_empty()) {
        return;
    }

    let started = if codebase.settings.index.hnsw == HnswMode::Always {
        program(codebase, &["hook", "graphs"]).and_then(|mut command| command.status()).map(drop)
    } else {
        spawn(codebase, &["hook".into(), "graphs".into()]).map(drop)
    };

    if let Err(e) = started {
        tracing::warn!(component = "indexer", operation = "build graphs", error = %e, "they could not be built");
    }
}

/// Starts this program detached in `codebase` and returns its process id.
///
/// # Errors
/// Any error of starting a process, for example that the program was moved.
pub fn spawn(codebase: &Codebase, args: &[OsString]) -> io::Result<u32> {
    let none: [(&str, &str); 0] = [];
    let args = [project_args(codebase), args.to_vec()].concat();
    process::spawn_detached(program_file()?, &args, &codebase.root(), none)
}

/// Starts an index run of HEAD that outlives this process. Its error message, if it fails, is on the child's
/// stderr.
pub fn start_run(codebase: &Codebase, reindex: bool) -> io::Result<Child> {
    let mode = if reindex { "--reindex" } else { "--resume" };
    start(codebase, &["index", "--quiet", "--detached", mode].map(OsString::from))
}

/// Starts this program in `codebase`. Its error message, if it fails, is on the child's stderr.
///
/// # Errors
/// As [`spawn`].
pub fn start(codebase: &Codebase, args: &[OsString]) -> io::Result<Child> {
    let mut command = program(codebase, &[])?;
    command.args(args);

    // The child must not hold the log file open, since it outlives the reader of the log.
    command.env_remove("CODEWEAVER_LOG").stderr(Stdio::piped()).spawn()
}

fn start_update(codebase: &Codebase, target: &Target) -> io::Result<Child> {
    let mut command = program(codebase, &["index", "--quiet", "--detached"])?;
    if !target.is_head {
        command.arg(target.tree.map(|oid| oid.to_string()).unwrap_or_default());
    }
    command.spawn()
}

/// A command for this program in `codebase`, with null streams and without git's per-command variables.
fn program(codebase: &Codebase, args: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(program_file()?);
    command.args(project_args(codebase)).args(args).current_dir(codebase.root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for name in SHORT_LIVED_VARIABLES {
        command.env_remove(name);
    }
    Ok(command)
}

/// The exit code of the child, or `None` if `is_over` returns true before it ends.
fn wait(child: &mut Child, is_over: &dyn Fn() -> bool) -> Option<i32> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.code().unwrap_or(-1)),
            Ok(None) if is_over() => return None,
            Ok(None) => std::thread::sleep(POLL),
            Err(_) => return Some(-1),
        }
    }
}

/// Waits until no process holds the work lease. Returns false if `is_over` returns true before that.
fn wait_for_lease(codebase: &Codebase, is_over: &dyn Fn() -> bool) -> bool {
    while lock::holder(&codebase.layout.work_lock(&codebase.worktree_key)).is_some() {
        if is_over() {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}
