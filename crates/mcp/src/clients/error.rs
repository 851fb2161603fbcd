//! Errors of reading, editing and writing the configurations of clients.

use std::io;
use std::path::PathBuf;

use super::text::EditError;

/// An error of registering the server with a client, or of removing it.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the symbolic links of {} form a cycle", path.display())]
    LinkCycle { path: PathBuf },
    #[error("{} is a link that leads out of the repository", path.display())]
    OutsideRepository { path: PathBuf },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not a file", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} has {size} bytes", path.display())]
    TooLarge { path: PathBuf, size: u64 },
    #[error("{} is not UTF-8 text", path.display())]
    NotUtf8 { path: PathBuf },
    #[error("{} is read-only", path.display())]
    ReadOnly { path: PathBuf },
    /// Another program wrote the file between reading and replacing it.
    #[error("{} was changed by another program", path.display())]
    ConcurrentChange { path: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot remove {}: {source}", path.display())]
    Remove { path: PathBuf, source: io::Error },
    /// The entry cannot be added safely. `snippet` is what has to be added by hand.
    #[error("cannot add the entry to {}: {source}", path.display())]
    Insert { path: PathBuf, snippet: String, source: EditError },
    #[error("cannot remove the entry from {}: {source}", path.display())]
    Uninstall { path: PathBuf, source: EditError },
    /// The configuration is YAML, which is not edited. `id` is the client as typed.
    #[error("{} is YAML and is not edited", path.display())]
    YamlInsert { path: PathBuf, client: &'static str, id: &'static str },
    #[error("{} is YAML and is not edited", path.display())]
    YamlUninstall { path: PathBuf, client: &'static str, table: String },
    #[error("the home directory is not known, so the configuration of {client} cannot be found")]
    NoHome { client: &'static str },
    #[error("{client} has no file for all projects")]
    NoUserFile { client: &'static str },
    /// What is told to agents cannot be added to a file, or removed from it, safely.
    #[error("{} is not edited: {source}", path.display())]
    Guide { path: PathBuf, source: EditError },
    #[error("{client} has no configuration per project")]
    NoProjectFile { client: &'static str },
    #[error("the path of this program is not known: {source}")]
    ProgramPath { source: io::Error },
    #[error("the path of this program is not UTF-8: {}", path.display())]
    ProgramPathNotUtf8 { path: PathBuf },
    /// The entry does not fit into an empty configuration, which is an internal error.
    #[error("the entry cannot be formatted: {source}")]
    Snippet { source: EditError },
    #[error("the receipts cannot be serialised: {source}")]
    Receipts { source: serde_json::Error },
}
