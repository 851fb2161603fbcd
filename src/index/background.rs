//! The updater as a process of its own: readers never write, they ask it (requirement S4).

use super::{Codebase, Target, hnsw};
use crate::config::HnswMode;
use crate::process::{self, SHORT_LIVED_VARIABLES};
use crate::store::lock;
use crate::store::state::State;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How often a running child is looked at.
const POLL: Duration = Duration::from_millis(10);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Says which file is `git-codeweaver`; the first call counts. Whoever uses the library in a program of their own and does not
/// call this has no children: nothing is indexed in the background, and suspicious files are not tried in a process of theirs.
pub fn set_program(path: PathBuf) {
    let _ = PROGRAM.set(path);
}

/// The file that children are started from.
///
/// # Errors
/// `NotFound` if nobody has said which file it is.
pub(super) fn program_file() -> io::Result<&'static Path> {
    let unknown = || io::Error::new(io::ErrorKind::NotFound, "this process is not git-codeweaver");
    PROGRAM.get().map(PathBuf::as_path).ok_or_else(unknown)
}

/// Has `target` indexed by a child, and waits for it at most `patience`; true if it is done.
///
/// A child that takes longer is left alone: it finishes by itself, and the next question finds its work. If somebody
/// else holds the lease, that run is waited for first.
pub fn update(codebase: &Codebase, target: &Target, patience: Duration) -> bool {
    update_until(codebase, target, Instant::now() + patience, &|| false)
}

/// As [`update`]; waits no longer once `is_stopped`.
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
        let Ok(mut child) = start(codebase, target) else { return false };
        match wait(&mut child, &is_over) {
            Some(0) => return true,
            // Refused: another run took the lease in between.
            Some(1) => {}
            _ => return false,
        }
    }
}

/// Starts a run that outlives this process, on HEAD; it does nothing if there is nothing to do.
pub fn update_in_background(codebase: &Codebase) {
    if super::updater::note_wish(codebase).is_err() {
        return;
    }
    let args = ["hook".into(), "sync".into()];
    if let Err(e) = spawn(codebase, &args) {
        tracing::warn!(component = "index", operation = "background update", error = %e, "it could not be started");
    }
}

/// Has vector graphs built for segments that should have one. With `index.hnsw = "always"` it is waited for: then the next
/// question finds them.
pub fn build_graphs(codebase: &Codebase) {
    let state = State::read(&codebase.store().state()).ok().flatten();
    if state.is_none_or(|state| hnsw::missing(codebase, &state).is_empty()) {
        return;
    }
    let started = if codebase.settings.index.hnsw == HnswMode::Always {
        // The library that builds graphs prints and may exit, so it never runs in this process.
        program(codebase, &["hook", "graphs"]).and_then(|mut command| command.status()).map(drop)
    } else {
        spawn(codebase, &["hook".into(), "graphs".into()]).map(drop)
    };
    if let Err(e) = started {
        tracing::warn!(component = "index", operation = "build graphs", error = %e, "they could not be built");
    }
}

/// Starts this program detached in `codebase`; returns its process id.
///
/// # Errors
/// Whatever starting a process reports, among others that the program is no longer where it was.
pub fn spawn(codebase: &Codebase, args: &[OsString]) -> io::Result<u32> {
    let none: [(&str, &str); 0] = [];
    let args = [place(codebase), args.to_vec()].concat();
    process::spawn_detached(program_file()?, &args, &codebase.root(), none)
}

/// How a child is told which repository it is about: by the directory it runs in and by what git has set, or, where that
/// speaks of another one, by name.
pub(super) fn place(codebase: &Codebase) -> Vec<OsString> {
    if codebase.repo.is_named() { vec!["--project".into(), codebase.root().into()] } else { Vec::new() }
}

/// Starts a run on HEAD that outlives this process; what it says in the end, if it fails, is on its stderr.
pub fn start_run(codebase: &Codebase, reindex: bool) -> io::Result<Child> {
    let how = if reindex { "--reindex" } else { "--resume" };
    let mut command = program(codebase, &["index", "--quiet", "--detached", how])?;
    // A log would go where nobody reads once we are gone.
    command.env_remove("CODEWEAVER_LOG").stderr(Stdio::piped()).spawn()
}

fn start(codebase: &Codebase, target: &Target) -> io::Result<Child> {
    let mut command = program(codebase, &["index", "--quiet", "--detached"])?;
    if !target.is_head {
        command.arg(target.tree.map(|oid| oid.to_string()).unwrap_or_default());
    }
    command.spawn()
}

/// This program in `codebase`, without streams and without what git's hooks leave in the environment.
fn program(codebase: &Codebase, args: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(program_file()?);
    command.args(place(codebase)).args(args).current_dir(codebase.root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for name in SHORT_LIVED_VARIABLES {
        command.env_remove(name);
    }
    Ok(command)
}

/// The child's exit code, or `None` when time is up.
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

/// True once nobody indexes this worktree, false when time is up.
fn wait_for_lease(codebase: &Codebase, is_over: &dyn Fn() -> bool) -> bool {
    while lock::holder(&codebase.layout.work_lock(&codebase.worktree_key)).is_some() {
        if is_over() {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}
