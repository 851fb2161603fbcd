//! The output streams of a command: those of this process, or of a client of the daemon.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codeweaver::query::Cancel;

use super::pager::Pager;
use super::render::Paint;

/// The streams of a client.
pub trait Remote: Send + Sync {
    /// Writes to its stdout.
    ///
    /// # Errors
    /// The client is gone.
    fn out(&self, bytes: &[u8]) -> io::Result<()>;
    /// Writes to its stderr.
    ///
    /// # Errors
    /// The client is gone.
    fn err(&self, bytes: &[u8]) -> io::Result<()>;
    /// Has the client display `text` with `pager`, or print it with a warning in `err_paint`.
    ///
    /// # Errors
    /// The client is gone.
    fn page(&self, pager: &Pager, text: &str, err_paint: Paint) -> io::Result<()>;
    /// Whether the client is gone.
    fn cancellation(&self) -> Arc<AtomicBool>;
}

/// Stdout and stderr of one command.
#[derive(Clone, Default)]
pub enum Streams {
    #[default]
    Process,
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no daemon on this system"))]
    Client(Arc<dyn Remote>),
}

impl Streams {
    /// Writes to stdout.
    ///
    /// # Errors
    /// As for stdout.
    pub fn out(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Streams::Process => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
            Streams::Client(client) => client.out(bytes),
        }
    }

    /// Writes to stderr. Write errors on stderr are ignored.
    pub fn err(&self, bytes: &[u8]) {
        let _ = match self {
            Streams::Process => io::stderr().write_all(bytes),
            Streams::Client(client) => client.err(bytes),
        };
    }

    /// A token that is cancelled when the client does not wait for the output any more.
    pub fn cancel(&self) -> Cancel {
        match self {
            Streams::Process => Cancel::default(),
            Streams::Client(client) => {
                let is_cancelled = client.cancellation();
                Cancel::when(move || is_cancelled.load(Ordering::Relaxed))
            }
        }
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Streams::Process => "Process",
            Streams::Client(_) => "Client",
        })
    }
}
