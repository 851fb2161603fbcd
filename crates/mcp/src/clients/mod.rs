//! Registration of the server in the configuration files of MCP clients.
//!
//! ```text
//! table (data) ─► places (which file) ─► file (read) ─► edit ─► plan ─► diff, or receipt and file
//! ```
//!
//! * [`table`], [`entry`], [`places`]: the clients, the shape of their entries, and the location of their
//!   files.
//! * [`edit`]: adds and removes an entry in a text, for the formats `json` and `toml`; [`text`]: their shared
//!   types.
//! * `yaml`: prints an entry in YAML, which is not edited.
//! * [`plan`]: plans all changes before anything is written.
//! * [`receipt`]: records changes, so that `--uninstall` restores the earlier bytes.
//! * [`registered`]: finds the clients that have the server, for `doctor`.
//! * [`diff`], [`mod@file`]: formatting of changes for `--dry-run`; reading and writing of files.

pub mod diff;
pub mod edit;
pub mod entry;
pub mod error;
pub mod file;
pub(crate) mod json;
pub mod places;
pub mod plan;
pub mod receipt;
pub mod registered;
pub mod table;
#[cfg(test)]
mod tests;
pub mod text;
mod toml;
mod yaml;

pub use error::ClientError;

/// The configuration that contains an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's own configuration, for all repositories.
    User,
    /// A file of the repository, for everyone who works on it.
    Project,
}
