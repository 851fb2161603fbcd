//! The answer, exactly as it is printed and sent (requirement R5).

use super::parse::intent::QueryIntent;
use super::rank::Explanation;
use super::view::{Freshness, MatchState};
use std::collections::BTreeMap;

/// An answer to a search.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct Response {
    pub status: Status,
    pub matches: Vec<Match>,
    /// At most 1,000 characters.
    pub summary: String,
    pub query_intent: QueryIntent,
    /// Chunks that were considered.
    pub total_matches: usize,
    /// Matches in this answer.
    pub total_results: usize,
    /// Matches there are, in this answer or not.
    #[serde(skip)]
    pub n_ranked: usize,
    pub token_count: u32,
    pub execution_time_ms: u64,
    /// Kinds of evidence used: `lexical_bm25`, `dense_exact`, `dense_signs`, `dense_hnsw`, `symbol`, `path`.
    pub search_strategy: Vec<&'static str>,
    pub languages_found: Vec<String>,
    pub warnings: Vec<String>,
    /// `indexing_in_progress` while a first index grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<&'static str>,
    pub index: IndexInfo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Ok,
    /// Something was missing: parts of the index, time, or the dense side; `warnings` says what.
    Degraded,
}

/// One place that answers the question.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct Match {
    pub file: FileInfo,
    pub content: Content,
    /// First and last line, 1-based, inclusive.
    pub span: (u32, u32),
    /// 0–1, comparable between questions.
    pub relevance_score: f32,
    pub match_type: MatchType,
    pub related_symbols: Vec<String>,
    /// Object id of exactly the bytes shown. A dirty file's id is in no object database.
    pub blob: String,
    pub rev: String,
    pub state: MatchState,
    /// Further good spans of the same file.
    pub more_in_file: Vec<Span>,
    /// Other paths with the same blob.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_at: Vec<String>,
    /// Places in other files that say nearly the same and are not shown as matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near_copies: Vec<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

impl Match {
    /// Keeps the place and the title alone.
    pub fn to_location(&mut self) {
        for text in [&mut self.content.text, &mut self.content.signature, &mut self.content.doc] {
            text.clear();
        }
        self.content.elided = true;
        self.related_symbols.clear();
        self.more_in_file.clear();
        self.also_at.clear();
        self.near_copies.clear();
    }
}

#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct FileInfo {
    pub path: String,
    pub language: String,
}

#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct Content {
    /// The text of the chunk, or as much of it as the token budget allows.
    pub text: String,
    pub title: String,
    /// Semantic class (appendix A).
    pub class: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub signature: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub doc: String,
    /// True if `text` is only the signature, or nothing, to keep within the budget.
    pub elided: bool,
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct Place {
    pub path: String,
    pub span: (u32, u32),
}

#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct Span {
    pub span: (u32, u32),
    pub title: String,
    pub relevance_score: f32,
}

/// Which evidence carried a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MatchType {
    Semantic,
    /// It defines what the query names.
    Syntactic,
    Keyword,
    FilePattern,
}

/// What was searched, so that the answer can be checked.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct IndexInfo {
    pub commit: Option<String>,
    pub tree: String,
    pub rev: String,
    pub head: Option<String>,
    pub freshness: Freshness,
    pub dirty_files: usize,
    pub unchecked_files: usize,
    /// The index of this worktree is not of HEAD yet.
    #[serde(skip)]
    pub is_behind: bool,
    pub files: u64,
    pub chunks: u64,
    pub skipped: BTreeMap<&'static str, u64>,
    /// Files done and wanted, while a first index grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<(u64, u64)>,
    pub model: String,
}
