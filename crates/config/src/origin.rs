//! The source of a value, as named in `config --show` and in problems.

use std::fmt;
use std::path::{Path, PathBuf};

use super::tree::Position;

/// Source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// The name of the variable.
    Environment(String),
    /// The 1-based line and column, the latter in characters.
    File {
        path: PathBuf,
        line: usize,
        column: usize,
    },
    CommandLine,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}

impl Origin {
    pub(super) fn in_file(path: &Path, at: Position) -> Origin {
        Origin::File { path: path.to_owned(), line: at.line, column: at.column }
    }

    /// Returns the origin as it is displayed, with the column.
    pub(super) fn exact(&self) -> String {
        match self {
            Self::File { column, .. } => format!("{self}:{column}"),
            other => other.to_string(),
        }
    }
}
