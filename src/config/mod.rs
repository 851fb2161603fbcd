//! Settings with their origin, defaults and validation (requirement U4).
//!
//! Every key is one row of the table in [`keys`]: parsing, validation, `config --show`, `config get` and `set`, the names
//! of environment variables and `docs/configuration.md` all come from it. Sources, lowest first: defaults, environment,
//! the user's file, the repository's file, the command line. Keys that can load libraries or models or change what a
//! hook does are not honoured from a repository, because whoever can push a file is not who runs the tool (X5).

mod edit;
mod error;
mod keys;
mod load;
mod settings;
mod value;

pub use edit::{set, unset};
pub use error::{ConfigError, Problem};
pub use keys::{KeySpec, documentation, get, keys};
pub use load::{Loaded, MAX_FILE_BYTES, Origin, REPOSITORY_FILE_NAME, Shown, Sources};
pub use settings::{
    ChunkerSettings, CustomDelimiter, GateMode, Granularity, HnswMode, HooksMode, HooksSettings,
    IndexSettings, MarkdownSettings, McpSettings, ModelSettings, OverlaySettings, PolicySettings,
    SearchSettings, Settings,
};
pub use value::KeyKind;
