//! The updater as a process of its own: readers never write, they ask it (requirement S4).

use super::error::CliError;
use crate::config::HnswMode;
use crate::git::detach::{self, SHORT_LIVED_VARIABLES};
use crate::index::{Codebase, Target, graph};
use crate::store::{StoreReader, lock};
use std::ffi::OsString;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a running child is looked at.
const POLL: Duration = Duration::from_millis(10);

/// Has `target` indexed by a child, and waits for it at most `patience`; true if it is done.
///
/// A child that takes longer is left alone: it finishes by itself, and the next question finds its work. If somebody
/// else holds the lease, that run is waited for first.
pub fn update(codebase: &Codebase, target: &Target, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if !wait_for_lease(codebase, deadline) {
            return false;
        }
        let Ok(mut child) = start(codebase, target) else { return false };
        match wait(&mut child, deadline) {
            Some(0) => return true,
            // Refused: another run took the lease in between.
            Some(1) => {}
            _ => return false,
        }
    }
}

/// Starts a run that outlives this process, on HEAD; it does nothing if there is nothing to do.
pub fn update_in_background(codebase: &Codebase) {
    if crate::index::updater::note_wish(codebase).is_err() {
        return;
    }
    let args = ["hook".into(), "sync".into()];
    if let Err(e) = spawn(codebase, &args) {
        tracing::warn!(component = "cli", operation = "background update", error = %e.why, "it could not be started");
    }
}

/// Has vector graphs built for segments that should have one. With `index.hnsw = "always"` it is waited for: then the next
/// question finds them.
pub fn build_graphs(codebase: &Codebase) {
    let missing = match StoreReader::open(&codebase.store()) {
        Ok(Some(reader)) => !graph::missing(codebase, &reader).is_empty(),
        _ => false,
    };
    if !missing {
        return;
    }
    let started = if codebase.settings.index.hnsw == HnswMode::Always {
        // The library that builds graphs prints and may exit, so it never runs in this process.
        program(codebase, &["hook", "graphs"]).and_then(|mut command| command.status()).map(drop)
    } else {
        spawn(codebase, &["hook".into(), "graphs".into()]).map(drop).map_err(|e| std::io::Error::other(e.why))
    };
    if let Err(e) = started {
        tracing::warn!(component = "cli", operation = "build graphs", error = %e, "they could not be built");
    }
}

/// Starts this program detached in `codebase`; returns its process id.
pub fn spawn(codebase: &Codebase, args: &[OsString]) -> Result<u32, CliError> {
    let failed = |e: std::io::Error| {
        CliError::new(
            "the indexer could not be started",
            e.to_string(),
            "check that the program still is where it was",
        )
    };
    let program = std::env::current_exe().map_err(failed)?;
    let none: [(&str, &str); 0] = [];
    detach::spawn_detached(&program, args, &codebase.root(), none).map_err(failed)
}

fn start(codebase: &Codebase, target: &Target) -> std::io::Result<Child> {
    let mut command = program(codebase, &["index", "--quiet", "--detached"])?;
    if !target.is_head {
        command.arg(target.tree.map(|oid| oid.to_string()).unwrap_or_default());
    }
    command.spawn()
}

/// This program in `codebase`, without streams and without what git's hooks leave in the environment.
fn program(codebase: &Codebase, args: &[&str]) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(args).current_dir(codebase.root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for name in SHORT_LIVED_VARIABLES {
        command.env_remove(name);
    }
    Ok(command)
}

/// The child's exit code, or `None` when time is up.
fn wait(child: &mut Child, deadline: Instant) -> Option<i32> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.code().unwrap_or(-1)),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
            Ok(None) => return None,
            Err(_) => return Some(-1),
        }
    }
}

/// True once nobody indexes this worktree, false when time is up.
fn wait_for_lease(codebase: &Codebase, deadline: Instant) -> bool {
    while lock::holder(&codebase.layout.work_lock(&codebase.worktree_key)).is_some() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}
