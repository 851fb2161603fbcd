//! Errors of starting and serving.

use std::io;
use std::path::PathBuf;

/// An error of the daemon itself; a client falls back to doing the work without one.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Another daemon serves the repository.
    #[error("a daemon runs already")]
    Running,
    /// The directory of the socket is not private to this user.
    #[error("{path} is not a directory that only this user can enter")]
    NotPrivate { path: PathBuf },
    /// The file system has no sockets, or the path is too long for one.
    #[error("no socket can be made at {path}: {source}")]
    NoSocket { path: PathBuf, source: io::Error },
    #[error("cannot {action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl DaemonError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> DaemonError {
        let path = path.into();
        move |source| DaemonError::Io { action, path, source }
    }
}
