//! Settings with their defaults, validation and origin.
//!
//! Every key is one row of the table in `keys`. Parsing, validation, `config --show`, `config get` and `set`,
//! the names of environment variables and `docs/settings.md` are all derived from it. Sources, from
//! lowest to highest precedence: defaults, environment, user file, repository file, a file that was named,
//! command line. A file is TOML or YAML; both become the same tree of values before anything is validated.
//! Keys that load libraries or models, or that change the behaviour of hooks, are ignored in a repository
//! file, because its author may not be the user who runs the program.

mod edit;
mod error;
mod files;
mod keys;
mod load;
mod loaded;
mod origin;
mod settings;
mod sources;
mod toml;
mod tree;
mod value;
mod yaml;

pub use edit::{set, unset};
pub use error::{ConfigError, Problem};
pub use error::{did_you_mean, nearest_first};
pub use files::{MAX_FILE_BYTES, REPOSITORY_FILE_NAME};
pub use keys::{KeySpec, documentation, get, keys};
pub use loaded::{Loaded, SettingRow};
pub use origin::Origin;
pub use settings::{
    ApiKey, AskSettings, ChunkerSettings, CustomDelimiter, GateMode, Granularity, HnswMode, HooksMode,
    HooksSettings, IndexSettings, MarkdownSettings, McpSettings, ModelSettings, OverlaySettings,
    PolicySettings, SearchSettings, Settings,
};
pub use sources::{ASK_KEY_VARIABLE, CONFIG_FILE_VARIABLE, Sources, spellings};
pub use value::KeyKind;
