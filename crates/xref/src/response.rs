//! Responses with cross-references of a symbol. JSON keys are in camel case.

use codeweaver::query::view::{Freshness, MatchState};

use super::request::Direction;

/// Warning: no definition was found, which does not prove that there is none.
pub const NOT_FOUND: &str = "CALL_GRAPH_NOT_FOUND: no definition was found in what is indexed; a library, a file that is \
     not indexed, a macro that makes names, or text that cannot be parsed may have one";
/// Warning code: names like that of the request, which has no definition.
pub const NEAR_NAMES: &str = "CALL_GRAPH_NEAR_NAMES";
/// Warning code: the definition for which the name of the request stands.
pub const STANDS_FOR: &str = "CALL_GRAPH_STANDS_FOR";
/// Warning: a method without callers may be called by its base.
pub const FOREIGN_CALLS: &str =
    "CALL_GRAPH_FOREIGN_CALLS: the language, a framework, or a type outside of the repository may call it";
/// Warning code: notes were truncated.
pub const NOTES_TRUNCATED: &str = "CALL_GRAPH_NOTES_TRUNCATED";
/// Warning code: edges were truncated.
pub const EDGES_TRUNCATED: &str = "CALL_GRAPH_EDGES_TRUNCATED";

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallGraphStatus {
    Ok,
    /// Several definitions have the name. The edges of all are given, and each names the definition it refers
    /// to.
    Ambiguous,
    /// No definition of the name was found in what is indexed.
    NotFound,
    /// The symbol is defined in a language that is not supported.
    Unsupported,
}

/// The certainty of an edge.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, schemars::JsonSchema, serde::Serialize,
)]
#[schemars(description = "How certain an edge is.")]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Proven by scope, import, package or declared type.
    Exact,
    /// The only definition in the repository that fits; not proven.
    UniqueName,
    /// One of several definitions that fit, or a name that the standard library has as well.
    Ambiguous,
    /// No definition was found in the repository.
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
    /// A type that names this one as its base.
    Inherit,
    /// A member that overrides or implements this one.
    Override,
    /// Any other reference.
    Reference,
}

impl CallGraphResponse {
    /// The sentence on a symbol that has no definition of its own and stands for one.
    pub fn stands_for(&self) -> Option<&str> {
        self.warnings.iter().find_map(|warning| warning.strip_prefix(STANDS_FOR)?.strip_prefix(": "))
    }

    /// Paths of all files that it shows lines of.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        let sites = self.edges.iter().flat_map(|edge| &edge.sites).map(|site| site.file.as_str());
        self.nodes.iter().map(|node| node.file.as_str()).chain(sites)
    }
}

/// A definition, or a file for code outside any definition.
#[derive(Debug, Clone, PartialEq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// `path:line#qualified name`, or `path` for a file. Valid as the symbol of a request.
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
    /// Blob oid of the file.
    pub blob: String,
    pub state: MatchState,
    /// Number of levels from the symbol of the request.
    pub depth: u32,
    /// Whether the file is a test.
    #[serde(skip)]
    pub is_test: bool,
}

/// A place in the source where an edge comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Site {
    pub file: String,
    /// 1-based.
    pub start_line: u32,
}

/// A call or reference from one symbol to another.
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
    /// The evidence for the grade.
    pub evidence: &'static str,
    /// Number of candidate definitions; more than 1 only if ambiguous.
    pub candidates: usize,
    /// The first ten sites, in order.
    pub sites: Vec<Site>,
    pub site_count: usize,
    /// The level at which the edge was found; edges are sorted by it.
    #[serde(skip)]
    pub depth: u32,
}

/// A note on something that could not be resolved.
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

/// The amount of source that the answer is based on.
#[derive(Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[schemars(description = "How much source the answer is based on.")]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Number of files that may mention the names, by their words.
    pub candidate_files: usize,
    pub files_read: usize,
    pub bytes_read: u64,
    /// False if a limit was reached, if places are `unlisted`, if code outside of the repository may call a
    /// function without callers, or if sources are not searched: those of submodules, excluded ones, and
    /// those with credentials. Edges may be missing then; those present are correct.
    pub complete: bool,
    /// Whether a limit was reached or a file is missing.
    #[serde(skip)]
    pub is_cut: bool,
}

/// The reason for which a place that names the symbol is no edge of the answer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, schemars::JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum UnlistedReason {
    /// It refers to the symbol without calling it: a callback, an element of a page.
    NotACall,
    /// An import or a list of exports, where the answer has no edge at all.
    Import,
    /// It may be any of more definitions than are listed.
    ManyCandidates,
    /// Code that was not resolved.
    Unresolved,
    /// A literal: a name that is looked up at run time.
    Literal,
    /// A file whose references are not read: a template, a notebook, another language.
    OtherFile,
    /// A file that is not indexed: vendored, generated, minified or too large.
    LeftOut,
}

/// The places of one file and one reason.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnlistedFile {
    pub file: String,
    pub reason: UnlistedReason,
    /// The first lines, 1-based.
    pub lines: Vec<u32>,
    pub line_count: usize,
}

/// Places that name the symbol as a whole identifier and are neither edges of the answer nor definitions, nor
/// known to mean something else. An answer with such places proves no absence.
#[derive(Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unlisted {
    /// Number of all files, listed or not.
    pub file_count: usize,
    pub line_count: usize,
    /// The first files, ordered by reason and path.
    pub files: Vec<UnlistedFile>,
    /// The largest number of definitions that one place may mean, if that is why it is not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<usize>,
    /// Number of files with the words of the name that were not looked at.
    #[serde(skip_serializing_if = "is_zero")]
    pub unchecked_files: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
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
    /// Number of definitions that the symbol stands for, in this answer or not.
    pub total_root_count: usize,
    /// Sorted by depth, file and line.
    pub nodes: Vec<Node>,
    /// Sorted by depth, then file and line.
    pub edges: Vec<Edge>,
    pub edges_truncated: bool,
    pub total_edge_count: usize,
    pub notes: Vec<Note>,
    pub notes_truncated: bool,
    pub total_note_count: usize,
    pub returned_note_count: usize,
    /// Warning codes, some followed by an explanation.
    pub warnings: Vec<String>,
    pub coverage: Coverage,
    /// Absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<Unlisted>,
    /// As typed, or `HEAD`.
    pub rev: String,
    pub commit: Option<String>,
    pub tree: String,
    pub freshness: Freshness,
    /// Changed files that are shown as committed, or not at all, until they are indexed in the background.
    pub pending_files: usize,
    /// Whether the updater has something to do.
    #[serde(skip)]
    pub needs_update: bool,
    pub execution_time_ms: u64,
}
