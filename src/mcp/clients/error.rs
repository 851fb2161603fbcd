//! Why a client's configuration could not be read, edited or written.

use std::path::Path;

/// A failed registration, in the three parts that the command line prints.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct ClientError {
    pub what: String,
    pub why: String,
    pub fix: String,
}

impl ClientError {
    pub fn new(what: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> ClientError {
        ClientError { what: what.into(), why: why.into(), fix: fix.into() }
    }
}

impl From<std::io::Error> for ClientError {
    fn from(error: std::io::Error) -> Self {
        ClientError::new(
            "the output cannot be written",
            error.to_string(),
            "check the disk and where the output goes",
        )
    }
}

impl From<serde_json::Error> for ClientError {
    fn from(error: serde_json::Error) -> Self {
        ClientError::new("the answer cannot be written as JSON", error.to_string(), "please report this")
    }
}

/// `path` relative to the current directory if it lies below it.
pub(super) fn shown_path(path: &Path) -> String {
    let below = std::env::current_dir().ok().and_then(|cwd| Some(path.strip_prefix(cwd).ok()?.to_path_buf()));
    match below {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Some(below) => below.to_string_lossy().into_owned(),
        None => path.to_string_lossy().into_owned(),
    }
}
