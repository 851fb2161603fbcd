//! What is asked.

use super::cancel::Cancel;
use super::error::QueryError;
use super::parse::intent::Intent;
use crate::chunk::classes::TaskProfile;

/// Which evidence is used (R2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Hybrid,
    Semantic,
    Keyword,
    Symbol,
}

/// How vectors are searched (R1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ann {
    #[default]
    Auto,
    Exact,
    Signs,
    Hnsw,
}

/// What may be found (R2). Empty lists allow everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    pub languages: Vec<String>,
    /// Globs over repository-relative paths; a plain folder means everything below it.
    pub paths: Vec<String>,
    pub exclude_paths: Vec<String>,
    /// Names of symbol kinds (`function`, `class`, …) or semantic classes (`DEFINITION_TYPE`, …).
    pub kinds: Vec<String>,
    pub include_tests: bool,
}

/// A question. Build one with [`Request::new`] and change what differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub query: String,
    pub mode: Mode,
    pub ann: Ann,
    pub filters: Filters,
    /// As typed; unknown values are treated as none (R4).
    pub intent: Option<Intent>,
    /// Picks an importance profile directly (appendix B).
    pub task: Option<TaskProfile>,
    pub rev: Option<String>,
    /// Leave the working tree out (G8).
    pub committed: bool,
    /// Best matches that are left out because an earlier answer had them.
    pub offset: usize,
    /// Most matches, ≥ 1.
    pub limit: usize,
    /// Most tokens of the whole answer, ≥ 1 (R6).
    pub token_limit: u32,
    /// Matches with a lower relevance are not shown.
    pub min_score: f32,
    pub timeout_ms: u64,
    pub overlay_budget_ms: u64,
    /// Say for each match how its score came about.
    pub explain: bool,
    /// Locations and names only, no text.
    pub without_content: bool,
    /// Whether somebody still waits.
    pub cancel: Cancel,
}

impl Request {
    /// A question with the defaults of the settings.
    pub fn new(query: &str, settings: &crate::config::Settings) -> Request {
        Request {
            query: query.to_owned(),
            mode: Mode::default(),
            ann: Ann::default(),
            filters: Filters { include_tests: settings.search.include_tests, ..Filters::default() },
            intent: None,
            task: None,
            rev: None,
            committed: !settings.overlay.enabled,
            offset: 0,
            limit: settings.search.limit as usize,
            token_limit: settings.search.token_limit,
            min_score: settings.search.min_score,
            timeout_ms: settings.search.timeout_ms,
            overlay_budget_ms: settings.overlay.budget_ms,
            explain: false,
            without_content: false,
            cancel: Cancel::default(),
        }
    }

    /// Numbers that make no sense are errors, not silently corrected (R6).
    pub fn check(&self) -> Result<(), QueryError> {
        let parameter = |name, must, found: String| Err(QueryError::Parameter { name, must, found });
        if self.query.trim().is_empty() {
            return parameter("query", "a non-empty text", format!("{:?}", self.query));
        }
        if self.limit == 0 {
            return parameter("limit", "at least 1", self.limit.to_string());
        }
        if self.token_limit == 0 {
            return parameter("token limit", "at least 1", self.token_limit.to_string());
        }
        if !(0.0..=1.0).contains(&self.min_score) {
            return parameter("minimum score", "between 0 and 1", self.min_score.to_string());
        }
        Ok(())
    }
}
