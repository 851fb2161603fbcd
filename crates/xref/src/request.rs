//! Requests for cross-references of a symbol.

use codeweaver::query::{Cancel, QueryError};

use super::symbol_spec;

/// Maximum number of levels; each multiplies the work.
pub const MAX_DEPTH: u32 = 5;
/// Maximum value of [`CallGraphRequest::limit`].
pub const MAX_LIMIT: usize = 5000;
/// Default maximum number of notes.
pub const NOTE_LIMIT: usize = 50;
const MAX_SYMBOL_BYTES: usize = 512;
/// Maximum number of symbols.
const MAX_SYMBOLS: usize = 20;

/// The direction of the edges to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Definitions that call the symbol.
    Callers,
    /// Definitions that the symbol calls.
    Callees,
    /// Callers and callees.
    Both,
    /// References to the symbol, calls included.
    References,
    /// Definitions of the symbol, without edges.
    Definitions,
}

/// A request about one symbol or several.
#[derive(Debug, Clone, PartialEq)]
pub struct CallGraphRequest {
    /// At least one, each `name`, `Type.name`, `path:line`, or a `symbolId` of an earlier response.
    pub symbols: Vec<String>,
    pub direction: Direction,
    /// Levels of callers or callees, 1..=5. References have one.
    pub depth: u32,
    /// Maximum number of edges, 1..=5000.
    pub limit: usize,
    /// Maximum number of notes.
    pub note_limit: usize,
    /// A revision instead of HEAD and the working tree.
    pub rev: Option<String>,
    /// Ignores uncommitted changes.
    pub committed: bool,
    /// Maximum number of files read.
    pub max_files: usize,
    /// Maximum number of source bytes read.
    pub max_bytes: u64,
    /// Time limit in milliseconds, after which no further file is read.
    pub timeout_ms: u64,
    /// Cancellation by the client.
    pub cancel: Cancel,
}

impl CallGraphRequest {
    /// A request for one level of `direction` from `symbol`, with default limits.
    pub fn new(symbol: &str, direction: Direction) -> CallGraphRequest {
        CallGraphRequest {
            symbols: vec![symbol.to_owned()],
            direction,
            depth: 1,
            limit: 200,
            note_limit: NOTE_LIMIT,
            rev: None,
            committed: false,

            max_files: 1500,
            max_bytes: 48 << 20,
            timeout_ms: 8000,
            cancel: Cancel::default(),
        }
    }

    /// Refuses values outside of their limits.
    pub(super) fn check(&self) -> Result<(), QueryError> {
        let refuse = |name, must, found: String| Err(QueryError::Parameter { name, must, found });

        if !(1..=MAX_SYMBOLS).contains(&self.symbols.len()) {
            return refuse("symbols", "between 1 and 20 symbols", self.symbols.len().to_string());
        }

        for symbol in self.symbols.iter().map(|symbol| symbol.trim()) {
            // A path may have control characters, a name may not.
            let is_name = symbol_spec::parse_location(symbol).is_none();
            let has_controls = is_name && symbol.contains(|c: char| c.is_control());
            if symbol.is_empty() || symbol.len() > MAX_SYMBOL_BYTES || has_controls {
                let shown: String = symbol.chars().take(40).collect();
                return refuse(
                    "symbol",
                    "a name, Type.name or PATH:LINE of at most 512 bytes",
                    format!("{shown:?}"),
                );
            }
        }

        if !(1..=MAX_DEPTH).contains(&self.depth) {
            return refuse("depth", "between 1 and 5", self.depth.to_string());
        }

        if !(1..=MAX_LIMIT).contains(&self.limit) {
            return refuse("limit", "between 1 and 5000", self.limit.to_string());
        }

        Ok(())
    }
}
