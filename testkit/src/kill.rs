//! Processes that are killed.

use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs `command` and kills it, without a warning, once `life` is over. Returns whether it was killed; it may
/// have ended before. Processes that it has started go on.
pub fn run_and_kill(command: &mut Command, life: Duration) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    // The moment is what the test is about.
    std::thread::sleep(life);
    let is_running = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    child.wait().unwrap();
    is_running
}
