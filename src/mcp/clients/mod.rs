//! Registration of the server in the configuration files of MCP clients.
//!
//! ```text
//! table (data) ─► places (which file) ─► file (read) ─► edit (json, toml, yaml) ─► plan ─► diff, or receipt and file
//! ```
//!
//! * [`table`], [`entry`], [`places`]: who keeps what where.
//! * [`edit`]: one text → one text, everything else in it kept.
//! * [`plan`]: what would change, before anything does.
//! * [`receipt`]: what was changed, so that `--uninstall` restores the earlier bytes.
//! * [`registered`]: who has the server already, for `doctor`.
//! * [`diff`], [`file`]: what `--dry-run` shows; what is written, and how.

pub mod diff;
pub mod edit;
pub mod entry;
pub mod error;
pub mod file;
mod json;
pub mod places;
pub mod plan;
pub mod receipt;
pub mod registered;
pub mod table;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

use clap::ValueEnum;
pub use error::ClientError;

/// Where an entry goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Scope {
    /// Your own configuration: the server is there in every repository
    #[default]
    User,
    /// A file of this repository, for everyone who works on it
    Project,
}
