//! What is asked about a symbol.

use crate::query::{Cancel, QueryError};

/// Levels that can be asked for; each multiplies the work.
pub const MAX_DEPTH: u32 = 5;
pub const MAX_LIMIT: usize = 5000;
/// Notes by default (appendix E).
pub const NOTE_LIMIT: usize = 50;
const MAX_SYMBOL_BYTES: usize = 512;

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Who calls it.
    Callers,
    /// What it calls.
    Callees,
    /// Callers and callees.
    Both,
    /// Where it is mentioned, calls included.
    References,
    /// Where it is defined.
    Definitions,
}

/// A question about one symbol.
#[derive(Debug, Clone, PartialEq)]
pub struct CallGraphRequest {
    /// `name`, `Type.name`, `path:line`, or a `symbolId` of an earlier answer.
    pub symbol: String,
    pub direction: Direction,
    /// Levels of callers or callees, 1..=5. References have one.
    pub depth: u32,
    /// Most edges, 1..=5000.
    pub limit: usize,
    /// Most notes.
    pub note_limit: usize,
    /// A revision instead of HEAD and the working tree.
    pub rev: Option<String>,
    /// Without the working tree.
    pub committed: bool,
    /// Files that may be read.
    pub max_files: usize,
    /// Bytes of source that may be read.
    pub max_bytes: u64,
    /// Milliseconds after which no further file is read.
    pub timeout_ms: u64,
    /// Whether somebody still waits.
    pub cancel: Cancel,
}

impl CallGraphRequest {
    /// One level of `direction` from `symbol`, with the usual bounds.
    pub fn new(symbol: &str, direction: Direction) -> CallGraphRequest {
        CallGraphRequest {
            symbol: symbol.to_owned(),
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

    pub(super) fn check(&self) -> Result<(), QueryError> {
        let refuse = |name, must, found: String| Err(QueryError::Parameter { name, must, found });
        let symbol = self.symbol.trim();
        if symbol.is_empty() || symbol.len() > MAX_SYMBOL_BYTES || symbol.contains(|c: char| c.is_control()) {
            let shown: String = symbol.chars().take(40).collect();
            return refuse(
                "symbol",
                "a name, Type.name or PATH:LINE of at most 512 bytes",
                format!("{shown:?}"),
            );
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
