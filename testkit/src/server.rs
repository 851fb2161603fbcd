//! A server process under test.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Time limit for a line of stderr to appear.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running program that logs to stderr, ended when dropped.
pub struct ServerProcess {
    /// The process.
    pub child: Child,
    lines: Receiver<String>,
}

impl ServerProcess {
    /// Starts `command`, whose stdin and stdout are empty.
    pub fn start(mut command: Command) -> ServerProcess {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
        });
        ServerProcess { child, lines }
    }

    /// Waits for a line of stderr that has `words`.
    pub fn wait_for(&self, words: &str) -> String {
        let started = Instant::now();
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE / 2) {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => seen.push(line),
                Err(error) => panic!("{error} while waiting for {words:?}: {seen:#?}"),
            }
            assert!(started.elapsed() < PATIENCE, "{words:?} is missing: {seen:#?}");
        }
    }

    /// Asks the process to end, and returns its exit code.
    #[cfg(unix)]
    pub fn terminate(&mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
