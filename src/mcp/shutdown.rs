//! When to stop, besides the end of the input: signals, and the death of whoever started us.

use std::io;
use std::time::Duration;

/// How often the parent is looked for.
const POLL: Duration = Duration::from_secs(1);

/// What ends the server from outside.
pub struct End {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 3],
    parents: Parents,
}

impl End {
    /// Watches from now on. Must be called within a runtime.
    pub fn watch() -> io::Result<End> {
        #[cfg(unix)]
        let signals = {
            use tokio::signal::unix::{SignalKind, signal};
            [
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
            ]
        };
        Ok(End {
            #[cfg(unix)]
            signals,
            parents: Parents::now(),
        })
    }

    /// Returns once it is time to stop.
    #[cfg(unix)]
    pub async fn comes(mut self) {
        let [terminate, interrupt, hangup] = &mut self.signals;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
            () = self.parents.gone() => {}
        }
    }

    #[cfg(not(unix))]
    pub async fn comes(self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// Who started us. Asked for again and again: the signal that Linux can send at the death of a parent comes at the death
/// of the *thread* that started us, which clients end while they live on.
#[derive(Debug, PartialEq, Eq)]
struct Parents {
    parent: Option<u32>,
    /// As `git codeweaver mcp`, git stands between us and the client.
    behind_git: Option<u32>,
}

impl Parents {
    fn now() -> Parents {
        let parent = parent();
        Parents { parent, behind_git: parent.and_then(parent_of_git) }
    }

    #[cfg(unix)]
    async fn gone(&self) {
        while *self == Parents::now() {
            tokio::time::sleep(POLL).await;
        }
        tracing::info!(component = "mcp", operation = "end", "the client's process is gone");
    }
}

#[cfg(unix)]
fn parent() -> Option<u32> {
    rustix::process::getppid().map(|id| id.as_raw_nonzero().get().unsigned_abs())
}

#[cfg(not(unix))]
fn parent() -> Option<u32> {
    None
}

/// The parent of process `id`, if that is git. Known where there is a `/proc`.
fn parent_of_git(id: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if field("Name:") == Some("git") { field("PPid:")?.parse().ok() } else { None }
}
