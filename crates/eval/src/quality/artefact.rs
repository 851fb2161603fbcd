//! Artefacts: the files of a loop.
//!
//! `config.json` and `pool.json` are written first. Each iteration writes `iteration_N/conversations.json`,
//! `search_results.json`, `evaluation.json` and `learnings.json`, in that order, each as a whole: a file that
//! is there is complete, and a resumed loop continues after the last one. They hold no times and no
//! durations, so that the same pool and seed give the same bytes.

use serde::{Deserialize, Serialize};

use codeweaver::query::rank::Weights;

use super::area::Classification;
use super::explorer::Exploration;
use super::figures::{Dimensions, Figures, Overlap, Scores};
use super::guard::{Anomaly, Regression};
use super::issue::Issue;
use super::learner::Change;
use super::verdict::{AreaCheck, Verdict};

pub const CONVERSATIONS: &str = "conversations.json";
pub const SEARCH_RESULTS: &str = "search_results.json";
pub const EVALUATION: &str = "evaluation.json";
pub const LEARNINGS: &str = "learnings.json";

/// The issues of an iteration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversations {
    pub iteration: usize,
    /// Number of issues of the pool that no iteration has used.
    pub n_left: usize,
    pub conversations: Vec<Conversation>,
}

/// An issue with its area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    pub issue_summary: String,
    pub product_area: String,
    pub classification_confidence: f64,
    #[serde(flatten)]
    pub issue: Issue,
}

impl Conversation {
    pub fn new(issue: Issue, area: Classification) -> Conversation {
        Conversation {
            issue_summary: issue.summary(),
            product_area: area.area,
            classification_confidence: area.confidence,
            issue,
        }
    }
}

/// The results of the search in an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResults {
    pub iteration: usize,
    /// The weights that ranked the files.
    pub weights: Weights,
    pub results: Vec<SearchedIssue>,
}

/// The results of the search for one issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchedIssue {
    pub conversation_id: String,
    pub issue_summary: String,
    pub product_area: String,
    pub classification_confidence: f64,
    pub search_results: Found,
    /// The files found with the weights before the last change; `None` unless that change is on trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_files_found: Option<Vec<FoundFile>>,
}

/// The files that one search returned, with its terms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Best first.
    pub files_found: Vec<FoundFile>,
    pub snippets: Vec<Snippet>,
    pub search_terms_used: Vec<String>,
    pub exploration_log: Vec<String>,
}

/// A file that the search returned, with the lines that it shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundFile {
    pub repository: String,
    pub path: String,
    /// 1-based, inclusive.
    pub lines: (u32, u32),
    pub symbols: Vec<String>,
    pub relevance: f32,
}

/// The shown text of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snippet {
    pub path: String,
    pub lines: (u32, u32),
    pub content: String,
}

/// The evaluation of the results of an iteration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    pub iteration: usize,
    pub explorers: [String; 2],
    pub judge: String,
    pub figures: Figures,
    /// The figures of the same issues with the weights before the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_figures: Option<Figures>,
    pub overlap: Overlap,
    pub anomalies: Vec<Anomaly>,
    pub issues: Vec<EvaluatedIssue>,
}

/// The evaluation of the results of one issue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluatedIssue {
    pub conversation_id: String,
    pub product_area: String,
    pub scores: Scores,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_scores: Option<Scores>,
    /// The reason why there are no scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<String>,
    pub intersection: Vec<String>,
    pub our_unique: Vec<Verdict>,
    pub ground_truth_unique: Vec<String>,
    pub ground_truth: Vec<TruthFile>,
    pub area_check: Option<AreaCheck>,
    pub reasoning: String,
    pub run_a: Exploration,
    pub run_b: Exploration,
}

/// A file of the ground truth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruthFile {
    pub path: String,
    /// Whether only one of the two runs found it.
    pub one_run: bool,
}

/// A change with the figures of all issues since then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The iteration that made the change.
    pub since: usize,
    pub description: String,
    /// The figures with the weights before the change.
    pub before: Figures,
    /// The figures with the change.
    pub after: Figures,
}

/// The conclusions from an iteration, and the change for the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learnings {
    pub iteration: usize,
    pub outcome: Outcome,
    /// The reasons why the loop has not converged.
    pub open_criteria: Vec<String>,
    /// The change that was on trial, if it is taken back.
    pub rolled_back: Option<RolledBack>,
    /// The change that was on trial in this iteration.
    pub trial: Option<Trial>,
    /// Areas that lost since the previous iteration, whose issues were different ones.
    pub regressions: Vec<Regression>,
    pub patterns: Patterns,
    pub calibration: Calibration,
    pub proposals: Vec<String>,
    /// The change for the next iteration.
    pub change: Option<Change>,
    /// The reason why nothing is changed.
    pub no_change: Option<String>,
    /// The weights of the next iteration.
    pub weights: Weights,
    /// The weights before the change on trial, which are restored if the change is taken back.
    pub former_weights: Option<Weights>,
}

/// Whether the loop continues after an iteration, or the reason why it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Continue,
    Converged,
    MaxIterations,
    PoolExhausted,
}

/// A change that was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RolledBack {
    pub description: String,
    pub why: String,
    /// The losses above the limit, if they are the reason.
    pub regressions: Vec<Regression>,
    pub weights: Weights,
}

/// Properties that issues with low scores share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Patterns {
    /// The area with the lowest mean of precision and recall, of those with enough issues.
    pub weakest_area: Option<String>,
    /// The dimension with the lowest mean.
    pub weakest_dimension: Option<String>,
    /// Words of issues in snippets of irrelevant files.
    pub noise_terms: Vec<NoiseTerm>,
    /// Extensions of the files that were missed, with their number.
    pub missed_kinds: Vec<(String, usize)>,
    /// Files that more than one issue missed, with their number.
    pub missed_files: Vec<(String, usize)>,
    /// Ids of the issues with the lowest precision and recall.
    pub lowest: Vec<String>,
    /// Number of verdicts that call a labelled file irrelevant.
    pub verdicts_against_labels: usize,
}

/// A word of issues that irrelevant files contain more often than relevant ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoiseTerm {
    pub term: String,
    /// Number of irrelevant files whose snippets contain it.
    pub irrelevant: usize,
    /// Number of relevant files whose snippets contain it.
    pub relevant: usize,
}

/// The decision whether the cheaper explorer suffices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The overlap of the two explorers over iterations 1 and 2, as far as they are done.
    pub overlap: Overlap,
    /// The rate of `overlap`.
    pub rate: Option<f64>,
    /// The explorers of the next iteration.
    pub explorers: [String; 2],
}

/// One finished iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Iteration {
    pub conversations: Conversations,
    pub search_results: SearchResults,
    pub evaluation: Evaluation,
    pub learnings: Learnings,
}

impl Dimensions {
    /// Returns the name and mean of the lowest dimension.
    pub fn lowest(&self) -> Option<(&'static str, f64)> {
        let named = super::figures::DIMENSIONS.into_iter().zip(self.values());
        named.filter_map(|(name, value)| Some((name, value?))).min_by(|a, b| a.1.total_cmp(&b.1))
    }
}
