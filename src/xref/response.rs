//! What is answered about a symbol. Names are those of appendix E, in camel case throughout.

use super::request::Direction;
use crate::query::view::{Freshness, MatchState};

/// The code of the warning when notes were cut.
pub const NOTES_TRUNCATED: &str = "CALL_GRAPH_NOTES_TRUNCATED";
/// Edges were cut.
pub const EDGES_TRUNCATED: &str = "CALL_GRAPH_EDGES_TRUNCATED";

/// How far a question could be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallGraphStatus {
    Ok,
    /// Several definitions bear the name; the edges of all are given, and each names the one it means.
    Ambiguous,
    /// Nothing of that name is defined.
    NotFound,
    /// It is defined in a language whose calls are not read.
    Unsupported,
}

/// How sure an edge is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, schemars::JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Proven by scope, import, package or declared type.
    Exact,
    /// The only definition in the repository that fits.
    UniqueName,
    /// One of several, or a name that the standard library has as well.
    Ambiguous,
    /// No definition in the repository.
    Unresolved,
}

impl Grade {
    pub fn name(self) -> &'static str {
        match self {
            Grade::Exact => "exact",
            Grade::UniqueName => "unique_name",
            Grade::Ambiguous => "ambiguous",
            Grade::Unresolved => "unresolved",
        }
    }
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, schemars::JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    Call,
    /// A mention that is no call.
    Reference,
}

/// A definition, or a file for what stands outside of any.
#[derive(Debug, Clone, PartialEq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// `path:line#qualified name`, or `path` for a file. Can be asked about as it is.
    pub symbol_id: String,
    pub name: String,
    pub qualified_name: String,
    /// As in outlines, or `file`.
    pub kind: &'static str,
    pub language: String,
    pub file: String,
    /// First and last line, 1-based, inclusive; absent for a file.
    pub span: Option<(u32, u32)>,
    pub signature: String,
    /// Object id of the bytes that this was read from, and their state.
    pub blob: String,
    pub state: MatchState,
    /// Levels from the symbol that was asked about.
    pub depth: u32,
}

/// Where an edge is written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Site {
    pub file: String,
    /// 1-based.
    pub start_line: u32,
}

/// One symbol calls or mentions another.
#[derive(Debug, Clone, PartialEq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    pub src_symbol_id: String,
    /// `None` if unresolved.
    pub dst_symbol_id: Option<String>,
    /// As written at the sites, with the receiver if that is a name.
    pub name: String,
    pub kind: EdgeKind,
    pub grade: Grade,
    /// What the grade rests on.
    pub evidence: &'static str,
    /// Definitions that come into question; more than 1 only if ambiguous.
    pub candidates: usize,
    /// The first sites, in order.
    pub sites: Vec<Site>,
    pub site_count: usize,
    /// The level at which it was found; edges are in its order.
    #[serde(skip)]
    pub depth: u32,
}

/// What could not be settled.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    pub file: String,
    #[serde(rename = "type")]
    pub note_type: &'static str,
    pub symbol_id: Option<String>,
    pub start_line: Option<u32>,
    pub detail: Option<String>,
}

/// What the answer rests on.
#[derive(Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Files whose terms say that they may mention the names.
    pub candidate_files: usize,
    pub files_read: usize,
    pub bytes_read: u64,
    /// False if a bound was hit: edges may be missing, none is wrong for it.
    pub complete: bool,
}

#[derive(Debug, Clone, PartialEq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallGraphResponse {
    pub status: CallGraphStatus,
    pub symbol: String,
    pub direction: Direction,
    pub depth: u32,
    /// Ids of the definitions that the symbol stands for.
    pub roots: Vec<String>,
    /// By depth, file and line.
    pub nodes: Vec<Node>,
    /// By depth of what was asked, then file and line.
    pub edges: Vec<Edge>,
    pub edges_truncated: bool,
    pub total_edge_count: usize,
    pub notes: Vec<Note>,
    pub notes_truncated: bool,
    pub total_note_count: usize,
    pub returned_note_count: usize,
    /// Codes, with what they mean where there is more to say.
    pub warnings: Vec<String>,
    pub coverage: Coverage,
    /// As typed, or `HEAD`.
    pub rev: String,
    pub commit: Option<String>,
    pub tree: String,
    pub freshness: Freshness,
    /// The index of this worktree is not of HEAD yet.
    #[serde(skip)]
    pub is_behind: bool,
    pub execution_time_ms: u64,
}
