//! Child: a process of the server whose end and error message matter.

use std::io::{self, Read as _};
use std::process::{Child, ChildStderr, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Maximum number of bytes of an error message.
const MAX_MESSAGE: u64 = 4_096;
/// Maximum wait for the message of a process that has ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// A process whose error message is on its stderr.
pub struct Run {
    child: Child,
    message: Option<Receiver<String>>,
}

/// The end of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Done,
    /// The reason, which is never empty.
    Failed(String),
}

impl Run {
    pub fn new(mut child: Child) -> Run {
        let message = child.stderr.take().map(read_message);
        Run { child, message }
    }

    /// Returns the end of the process; `None` while it runs.
    pub fn poll(&mut self) -> Option<Ended> {
        let status = match self.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status,
            Err(error) => return Some(Ended::Failed(error.to_string())),
        };
        if status.success() {
            return Some(Ended::Done);
        }

        let message = self.message.as_ref().and_then(|message| message.recv_timeout(PATIENCE).ok());
        Some(Ended::Failed(match message.unwrap_or_default().trim() {
            "" => without_message(status),
            text => text.to_owned(),
        }))
    }
}

/// Receives the beginning of what is written to `stderr`, at its end. All of it is read, since the process
/// would wait for a full pipe.
fn read_message(mut stderr: ChildStderr) -> Receiver<String> {
    let (sender, receiver) = channel();

    let read = move || {
        let mut bytes = Vec::new();
        let _ = stderr.by_ref().take(MAX_MESSAGE).read_to_end(&mut bytes);
        let _ = io::copy(&mut stderr, &mut io::sink());
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    };
    // Without the thread the pipe is closed, and the process has no message.
    let _ = std::thread::Builder::new().name("message".into()).spawn(read);

    receiver
}

/// The reason of a process that has said nothing, as if it was killed.
fn without_message(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let killed = if signal == 9 { " (killed, for example because memory was short)" } else { "" };
        return format!("the process was ended by signal {signal}{killed}");
    }
    format!("the process has ended without a message ({status})")
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn end_of(script: &str) -> Ended {
        let mut command = Command::new("/bin/sh");
        let mut run = Run::new(command.args(["-c", script]).stderr(Stdio::piped()).spawn().unwrap());
        codeweaver_testkit::wait_for("the process ends", || run.poll().ok_or("it runs"))
    }

    #[test]
    fn a_process_that_fails_has_a_reason() {
        assert_eq!(end_of("exit 0"), Ended::Done);
        assert_eq!(end_of("echo 'no room' >&2; exit 3"), Ended::Failed("no room".to_owned()));
        assert!(matches!(end_of("kill -9 $$"), Ended::Failed(why) if why.contains("signal 9")));
        assert!(
            matches!(end_of("yes 'no room' | head -c 1000000 >&2; exit 3"), Ended::Failed(why) if why.len() < 5_000)
        );
        assert!(matches!(end_of("exit 3"), Ended::Failed(why) if why.contains("exit status: 3")));
    }
}
