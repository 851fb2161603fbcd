//! Request: the query with its filters and limits.

use std::time::Duration;

use codeweaver_config::Settings;

use super::cancel::Cancel;
use super::error::QueryError;
use super::intent::Intent;
use super::names;
use super::stage::Stages;

pub use super::filters::{Filters, RepoSet, matches_name};

/// Kinds of evidence that a search uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mode {
    /// All of them.
    #[default]
    Hybrid,
    /// Vectors only.
    Semantic,
    /// Terms, symbols and paths; no vectors.
    Keyword,
    /// Symbols and the files that the query names. Every word may be a name, also incomplete or misspelt.
    Symbol,
}

/// Method of searching vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ann {
    /// HNSW where there is a graph of sufficient recall that is mostly in scope; else binary quantisation or
    /// an exact scan, by the size of the scope.
    #[default]
    Auto,
    /// Exact scan: every dot product is computed.
    Exact,
    /// Binary quantisation: sign bits preselect the rows whose dot products are computed.
    Signs,
    /// HNSW, and an exact scan of segments that the graph is not over. Refused if there is no graph.
    Hnsw,
}

/// Whether uncommitted files are part of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorktreeMode {
    /// They are laid over the tree of HEAD.
    #[default]
    Include,
    /// The view shows what is committed.
    Exclude,
}

/// The state of the codebase that a request is about.
///
/// The default is HEAD with all uncommitted files. [`ViewRequest::new`] takes the settings of a codebase into
/// account.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewRequest {
    /// Branch, tag, commit or tree, without the working tree; `None` for HEAD.
    pub revision: Option<String>,
    /// Whether uncommitted files are part of the view. Without effect if `revision` is given.
    pub worktree: WorktreeMode,
    /// Files, relative to the root, that are shown as they are on disk even if they exceed the limits of the
    /// overlay. Without effect if the working tree is not part of the view.
    pub files: Vec<String>,
    /// Time for the status run. Files for which it is too short are shown as committed, unless they are among
    /// the matches of a search.
    pub budget: Duration,
    /// Time to wait for an update if HEAD is not indexed. For a search, also its time limit.
    pub timeout: Duration,
    /// Cancels the request.
    pub cancel: Cancel,
}

impl ViewRequest {
    /// A budget that no status run exceeds.
    pub const UNLIMITED: Duration = Duration::from_millis(u32::MAX as u64);

    /// HEAD with uncommitted files, and the limits of `settings`.
    pub fn new(settings: &Settings) -> ViewRequest {
        ViewRequest {
            worktree: if settings.overlay.enabled { WorktreeMode::Include } else { WorktreeMode::Exclude },
            budget: Duration::from_millis(settings.overlay.budget_ms),
            timeout: Duration::from_millis(settings.search.timeout_ms),
            ..ViewRequest::default()
        }
    }
}

impl Default for ViewRequest {
    fn default() -> ViewRequest {
        ViewRequest {
            revision: None,
            worktree: WorktreeMode::default(),
            files: Vec::new(),
            budget: ViewRequest::UNLIMITED,
            timeout: Duration::from_secs(3),
            cancel: Cancel::default(),
        }
    }
}

/// A search request. Build one with [`Request::new`] and change the fields that differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The text that is searched for: a description, a name, a path, or a pasted text such as a stack trace.
    pub query: String,
    /// Kinds of evidence.
    pub mode: Mode,
    /// Method of searching vectors.
    pub ann: Ann,
    /// Conditions on results.
    pub filters: Filters,
    /// The task that the answer is for; `None` to detect it from the words of the query.
    pub intent: Option<Intent>,
    /// The name of the task that `intent` was given as, if it is another one.
    pub task: Option<&'static str>,
    /// The state of the codebase that is searched.
    pub view: ViewRequest,
    /// Number of best matches to leave out, because an earlier response had them.
    pub offset: usize,
    /// Maximum number of matches, at least 1.
    pub limit: usize,
    /// Maximum number of tokens of all matches together, at least 1.
    pub token_limit: u32,
    /// Minimum relevance of a match, 0–1.
    pub min_score: f32,
    /// Whether each match explains its score.
    pub explain: bool,
    /// Whether matches have only locations and names, no text.
    pub without_content: bool,
    /// Number of best matches that may have text. It is read for no others.
    pub texts: usize,
    /// Whether the best matches with text name related symbols.
    pub related: bool,
    /// Whether matches have the identities of their chunks.
    pub identities: bool,
    /// The stages that act on the query. All but for measurements.
    pub stages: Stages,
}

impl Request {
    /// A request with the defaults of `settings`.
    pub fn new(query: &str, settings: &Settings) -> Request {
        let filters = Filters { include_tests: settings.search.include_tests, ..Filters::default() };

        Request {
            query: query.to_owned(),
            mode: Mode::default(),
            ann: Ann::default(),
            filters,
            intent: None,
            task: None,
            view: ViewRequest::new(settings),
            offset: 0,
            limit: settings.search.limit as usize,
            token_limit: settings.search.token_limit,
            min_score: settings.search.min_score,
            explain: false,
            without_content: false,
            texts: usize::MAX,
            related: true,
            identities: false,
            stages: Stages::default(),
        }
    }

    /// Checks the query, the filters and the limits.
    ///
    /// # Errors
    /// [`QueryError::Parameter`] if the query is empty or a number is out of range, and
    /// [`QueryError::UnknownName`] for a language or kind that there is not. Nothing is corrected silently.
    pub fn check(&self) -> Result<(), QueryError> {
        if self.query.trim().is_empty() {
            return out_of_range("query", "a non-empty text", format!("{:?}", self.query));
        }
        if self.limit == 0 {
            return out_of_range("limit", "at least 1", self.limit.to_string());
        }
        if self.token_limit == 0 {
            return out_of_range("token limit", "at least 1", self.token_limit.to_string());
        }
        if !(0.0..=1.0).contains(&self.min_score) {
            return out_of_range("minimum score", "between 0 and 1", self.min_score.to_string());
        }

        names::check(&self.filters)
    }
}

/// The error of a field that does not meet the condition `must`.
fn out_of_range(name: &'static str, must: &'static str, found: String) -> Result<(), QueryError> {
    Err(QueryError::Parameter { name, must, found })
}
