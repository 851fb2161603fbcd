//! External commands: programs of the user that serve as explorers, judges and learners.
//!
//! A command is run by the shell, gets one JSON object on stdin and answers with one on stdout. Variables
//! that look like keys are removed from its environment unless they are named; time and output are limited.

use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::EvalError;

/// Most bytes of an answer.
const MAX_OUTPUT: u64 = 4 << 20;
/// Bytes of stderr that an error cites.
const MAX_STDERR: usize = 600;
/// Interval at which a running command is polled.
const POLL: Duration = Duration::from_millis(5);
/// Time that the streams of a command that ended may stay open.
const CLOSING: Duration = Duration::from_secs(2);
/// Parts of the names of variables that hold keys.
const KEY_NAMES: [&str; 8] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTHORIZATION"];
/// Endings of the names of variables that hold keys.
const KEY_ENDINGS: [&str; 3] = ["_PAT", "_PASS", "_AUTH"];

/// Limits of the commands of a loop.
#[derive(Debug, Clone)]
pub struct Limits {
    pub timeout: Duration,
    /// Names of environment variables that commands get although they look like keys.
    pub pass_env: Vec<String>,
    /// Once set, commands are stopped.
    pub stop: Arc<AtomicBool>,
}

impl Limits {
    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs `command` in `directory` with `input`, and parses its answer.
///
/// # Errors
/// [`EvalError::Command`] if it cannot be started, does not end in time, fails, or answers with too much or
/// with something else than `A`; [`EvalError::Interrupted`] if it was stopped.
pub fn run<A: DeserializeOwned>(
    command: &str,
    directory: &Path,
    input: &impl Serialize,
    limits: &Limits,
) -> Result<A, EvalError> {
    let failed = |why: String| EvalError::Command { command: command.to_owned(), why };

    let input = serde_json::to_vec(input).map_err(|error| failed(error.to_string()))?;
    let output = output(command, directory, input, limits);
    // A stopped command fails as well, but that is no fault of the command.
    if limits.is_stopping() {
        return Err(EvalError::Interrupted);
    }

    let output = output.map_err(failed)?;
    serde_json::from_slice(&output).map_err(|error| failed(format!("its answer cannot be used: {error}")))
}

/// Runs `command` and returns its stdout; the error says why there is none.
fn output(command: &str, directory: &Path, input: Vec<u8>, limits: &Limits) -> Result<Vec<u8>, String> {
    let mut child =
        start(command, directory, limits).map_err(|error| format!("it cannot be started: {error}"))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
        return Err("it has no streams".to_owned());
    };

    // A command that answers without reading all of its input closes the pipe, which is no error.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let (answer, complaint) = (reader(stdout, MAX_OUTPUT + 1), reader(stderr, MAX_OUTPUT));

    let ended = wait(&mut child, limits);
    if !matches!(ended, Ok(Some(_))) {
        stop(&mut child);
    }
    let status = ended
        .map_err(|error| format!("it cannot be waited for: {error}"))?
        .ok_or_else(|| format!("it did not end within {} s", limits.timeout.as_secs()))?;
    // Its child processes may outlive it and hold the pipes open.
    stop_group(&child);

    let answer = answer
        .recv_timeout(CLOSING)
        .map_err(|_| "a process that it left behind keeps its output open".to_owned())?;
    let complaint = complaint.recv_timeout(CLOSING).unwrap_or_default();
    let _ = writer.join();

    if answer.len() as u64 > MAX_OUTPUT {
        return Err(format!("its answer is larger than {} MiB", MAX_OUTPUT >> 20));
    }
    match status.success() {
        true => Ok(answer),
        false => Err(format!("it ended with {status}{}", cited(&complaint))),
    }
}

/// Starts `command` without the variables that look like keys, in a process group of its own.
fn start(command: &str, directory: &Path, limits: &Limits) -> io::Result<Child> {
    let mut shell = shell(command);
    shell.current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());

    for (name, _) in std::env::vars_os() {
        let known = name.to_str().is_some_and(|name| limits.pass_env.iter().any(|passed| passed == name));
        // A variable that is passed on purpose stays.
        if !known && is_key(&name.to_string_lossy()) {
            shell.env_remove(&name);
        }
    }
    for name in codeweaver_base::process::SHORT_LIVED_VARIABLES {
        shell.env_remove(name);
    }

    // The group is killed with all processes that the command started.
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        shell.process_group(0);
    }
    shell.spawn()
}

#[cfg(unix)]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    shell
}

#[cfg(windows)]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.args(["/C", command]);
    shell
}

/// Returns whether a variable of this name looks like a key.
fn is_key(name: &str) -> bool {
    let name = name.to_uppercase();
    KEY_NAMES.iter().any(|part| name.contains(part)) || KEY_ENDINGS.iter().any(|end| name.ends_with(end))
}

/// Reads at most `most` bytes of `stream` in a thread.
fn reader(stream: impl Read + Send + 'static, most: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is the answer.
        let _ = stream.take(most).read_to_end(&mut bytes);
        // The receiver may have given up.
        let _ = sender.send(bytes);
    });
    receiver
}

/// Waits for the end of `child`; `None` if its time is over or the loop stops.
fn wait(child: &mut Child, limits: &Limits) -> io::Result<Option<ExitStatus>> {
    let started = Instant::now();

    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() >= limits.timeout || limits.is_stopping() {
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

/// Kills `child` with all processes that it started, and reaps it.
fn stop(child: &mut Child) {
    stop_group(child);
    // It may have ended in the meantime.
    let _ = child.kill();
    let _ = child.wait();
}

/// Kills the process group of a command.
fn stop_group(child: &Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // There is usually none left.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = child;
}

/// Formats the end of a command's stderr for an error; empty if there is none.
fn cited(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();

    let from = text.char_indices().rev().nth(MAX_STDERR).map_or(0, |(i, _)| i);
    if text.is_empty() { String::new() } else { format!(": {}", &text[from..]) }
}

#[cfg(all(test, unix))]
mod tests {
    use serde_json::{Value, json};

    use codeweaver_testkit::wait_until;

    use super::*;

    fn answer(command: &str, timeout_ms: u64) -> Result<Value, String> {
        let (timeout, stop) = (Duration::from_millis(timeout_ms), Arc::default());
        let limits = Limits { timeout, pass_env: vec!["PATH".to_owned()], stop };
        run(command, Path::new("/"), &json!({ "n": 1 }), &limits).map_err(|error| error.to_string())
    }

    #[test]
    fn an_answer_is_parsed_and_failures_are_named() {
        assert_eq!(answer("cat", 9000), Ok(json!({ "n": 1 })));
        assert_eq!(answer("echo 2", 9000), Ok(json!(2)), "input that is not read");
        assert!(answer("echo why >&2; exit 3", 9000).unwrap_err().contains("exit status: 3: why"));
        assert!(answer("echo {", 9000).unwrap_err().contains("cannot be used"));
        assert!(answer("no-such-program-here", 9000).unwrap_err().contains("127"));
        assert!(answer("yes", 9000).unwrap_err().contains("larger than 4 MiB"));
    }

    #[test]
    fn a_command_that_hangs_is_stopped_with_its_children() {
        let started = Instant::now();
        assert!(answer("sleep 60 & sleep 60", 100).unwrap_err().contains("did not end within"));
        assert_eq!(answer("sleep 60 & echo 1", 9000), Ok(json!(1)), "a child that keeps the pipe open");
        let left_behind = "python3 -c 'import os, time; os.setsid(); time.sleep(60)' & echo 1";
        let answered = answer(left_behind, 9000);
        assert!(answered == Ok(json!(1)) || answered.unwrap_err().contains("keeps its output open"));
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_command_is_stopped_when_the_loop_is() {
        let stop = Arc::new(AtomicBool::new(false));
        let limits = Limits { timeout: Duration::from_secs(60), pass_env: Vec::new(), stop: stop.clone() };
        let started = Instant::now();
        let dir = tempfile::tempdir().unwrap();
        let begun = dir.path().join("begun");
        let command = format!("touch '{}'; sleep 60", begun.display());
        let run = thread::spawn(move || run::<Value>(&command, Path::new("/"), &json!(1), &limits));

        wait_until("the command runs", || begun.exists());
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(run.join().unwrap(), Err(EvalError::Interrupted)));
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn names_of_keys_are_recognised() {
        for name in [
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "aws_secret_access_key",
            "PGPASSWORD",
            "GH_PAT",
            "NPM_CONFIG__AUTH",
        ] {
            assert!(is_key(name), "{name}");
        }

        for name in ["PATH", "HOME", "LANG", "SSH_AUTH_SOCK", "GIT_AUTHOR_NAME"] {
            assert!(!is_key(name), "{name}");
        }
    }
}
