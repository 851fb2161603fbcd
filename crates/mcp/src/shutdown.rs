//! Reasons to stop other than the end of the input: signals, and the exit of the parent process.

use std::io;
#[cfg(unix)]
use std::time::Duration;

/// Interval at which the parent process is checked.
#[cfg(unix)]
const POLL: Duration = Duration::from_secs(1);

/// Waits for a reason to stop.
pub struct Shutdown {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 3],
    #[cfg(unix)]
    ancestors: Ancestors,
}

impl Shutdown {
    /// Starts watching. Must be called within a runtime.
    pub fn watch() -> io::Result<Shutdown> {
        #[cfg(unix)]
        let signals = {
            use tokio::signal::unix::{SignalKind, signal};
            [
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
            ]
        };

        Ok(Shutdown {
            #[cfg(unix)]
            signals,
            #[cfg(unix)]
            ancestors: Ancestors::now(),
        })
    }

    /// Returns when a signal arrives or the parent process exits.
    #[cfg(unix)]
    pub async fn requested(mut self) {
        let [terminate, interrupt, hangup] = &mut self.signals;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
            () = self.ancestors.exited() => {}
        }
    }

    /// Returns when Ctrl-C is pressed. The input of a client that has ended is at its end.
    #[cfg(not(unix))]
    pub async fn requested(self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// The process that started this one. It is polled, because the signal that Linux can send at the death of a
/// parent is sent at the death of the parent *thread*, which a client may end while it continues to run.
#[cfg(unix)]
#[derive(Debug, PartialEq, Eq)]
struct Ancestors {
    parent: Option<u32>,
    /// The parent of git, if the server was started as `git codeweaver mcp`.
    above_git: Option<u32>,
}

#[cfg(unix)]
impl Ancestors {
    fn now() -> Ancestors {
        let parent = parent();
        Ancestors { parent, above_git: parent.and_then(parent_of_git) }
    }

    async fn exited(&self) {
        while *self == Ancestors::now() {
            tokio::time::sleep(POLL).await;
        }
        tracing::info!(component = "mcp", operation = "end", "the client's process is gone");
    }
}

#[cfg(unix)]
fn parent() -> Option<u32> {
    rustix::process::getppid().map(|id| id.as_raw_nonzero().get().unsigned_abs())
}

/// Returns the parent of process `id` if that process is git. Needs `/proc`.
#[cfg(unix)]
fn parent_of_git(id: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if field("Name:") == Some("git") { field("PPid:")?.parse().ok() } else { None }
}
