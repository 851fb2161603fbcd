//! Artefacts: the files of a loop, and their folder.
//!
//! `config.json` and `pool.json` are written first. Each iteration writes `iteration_N/conversations.json`,
//! `search_results.json`, `evaluation.json` and `learnings.json`, in that order, each as a whole: a file that
//! is there is complete, and a resumed loop continues after the last one. They name no time and no duration, so
//! that the same pool and seed give the same bytes.

use super::area::Classification;
use super::explorer::Exploration;
use super::figures::{Dimensions, Figures, Overlap, Scores};
use super::guard::{Anomaly, Regression};
use super::issue::Issue;
use super::judge::{AreaCheck, Verdict};
use super::learner::Change;
use crate::durable::{self, Replacement};
use crate::eval::error::EvalError;
use crate::query::rank::Weights;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};

pub const CONVERSATIONS: &str = "conversations.json";
pub const SEARCH_RESULTS: &str = "search_results.json";
pub const EVALUATION: &str = "evaluation.json";
pub const LEARNINGS: &str = "learnings.json";
/// Issues that are evaluated, one a line, until `evaluation.json` is written.
const PARTIAL: &str = "evaluation.partial.jsonl";

/// The issues of an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// What the search returned in an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResults {
    pub iteration: usize,
    /// The weights with which files were ranked.
    pub weights: Weights,
    pub results: Vec<SearchedIssue>,
}

/// What the search returned for one issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchedIssue {
    pub conversation_id: String,
    pub issue_summary: String,
    pub product_area: String,
    pub classification_confidence: f64,
    pub search_results: Found,
    /// What the weights before the last change return, while that change is on trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_files_found: Option<Vec<FoundFile>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The best first.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snippet {
    pub path: String,
    pub lines: (u32, u32),
    pub content: String,
}

/// How good the results of an iteration are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    pub iteration: usize,
    pub explorers: [String; 2],
    pub judge: String,
    pub figures: Figures,
    /// The same issues with the weights before the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_figures: Option<Figures>,
    pub overlap: Overlap,
    pub anomalies: Vec<Anomaly>,
    pub issues: Vec<EvaluatedIssue>,
}

/// How good the results of one issue are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluatedIssue {
    pub conversation_id: String,
    pub product_area: String,
    pub scores: Scores,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_scores: Option<Scores>,
    /// Why there are no scores.
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
    /// Whether one run alone found it.
    pub one_run: bool,
}

/// What an iteration teaches, and what is changed for the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learnings {
    pub iteration: usize,
    pub outcome: Outcome,
    /// Why the loop has not converged.
    pub open_criteria: Vec<String>,
    /// The change before this iteration, if an area lost by it: it is taken back.
    pub rolled_back: Option<RolledBack>,
    /// Areas that lost since the previous iteration, which was about other issues.
    pub regressions: Vec<Regression>,
    pub patterns: Patterns,
    pub calibration: Calibration,
    pub proposals: Vec<String>,
    /// What is changed for the next iteration.
    pub change: Option<Change>,
    /// Why nothing is changed.
    pub no_change: Option<String>,
    /// The weights of the next iteration.
    pub weights: Weights,
    /// The weights before `change`, which are kept if an area loses by it.
    pub former_weights: Option<Weights>,
}

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
    pub regressions: Vec<Regression>,
    pub weights: Weights,
}

/// What low scores have in common.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Patterns {
    /// The area with the lowest mean of precision and recall, of those with enough issues.
    pub weakest_area: Option<String>,
    /// Dimension with the lowest mean.
    pub weakest_dimension: Option<String>,
    /// Words of issues in snippets of irrelevant files.
    pub noise_terms: Vec<NoiseTerm>,
    /// Kinds of files (extension) that were missed, with their number.
    pub missed_kinds: Vec<(String, usize)>,
    /// Files that more than one issue missed, with their number.
    pub missed_files: Vec<(String, usize)>,
    /// Ids of the issues with the lowest precision and recall.
    pub lowest: Vec<String>,
    /// Verdicts that call a labelled file irrelevant.
    pub verdicts_against_labels: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoiseTerm {
    pub term: String,
    /// Number of irrelevant and of relevant files that show it.
    pub irrelevant: usize,
    pub relevant: usize,
}

/// Whether the cheaper explorer suffices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Over iterations 1 and 2 so far.
    pub overlap: Overlap,
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
    /// Name and mean of the lowest dimension.
    pub fn lowest(&self) -> Option<(&'static str, f64)> {
        let named = super::figures::DIMENSIONS.into_iter().zip(self.values());
        named.filter_map(|(name, value)| Some((name, value?))).min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// The folder of a loop.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(path: &Path) -> Folder {
        Folder(path.to_path_buf())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file `name` of an iteration.
    pub fn of(&self, iteration: usize, name: &str) -> PathBuf {
        self.0.join(format!("iteration_{iteration}")).join(name)
    }

    /// Reads the file at `path`; `None` if there is none.
    ///
    /// # Errors
    /// [`EvalError::Read`], [`EvalError::Artefact`] for a file that is not what the loop writes.
    pub fn read<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, EvalError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(EvalError::read(path)(error)),
        };
        let parsed = serde_json::from_slice(&bytes);
        parsed
            .map(Some)
            .map_err(|error| EvalError::Artefact { path: path.to_path_buf(), why: error.to_string() })
    }

    /// Writes the file at `path` as a whole, as JSON.
    ///
    /// # Errors
    /// [`EvalError::Write`].
    pub fn write(&self, path: &Path, value: &impl Serialize) -> Result<(), EvalError> {
        let json = serde_json::to_string_pretty(value).map_err(std::io::Error::from);
        let json = json.map_err(EvalError::write(path))?;
        self.write_text(path, &format!("{json}\n"))
    }

    /// Writes the file at `path` as a whole.
    ///
    /// # Errors
    /// [`EvalError::Write`].
    pub fn write_text(&self, path: &Path, text: &str) -> Result<(), EvalError> {
        let put = || -> std::io::Result<()> {
            let folder = path.parent().unwrap_or(&self.0);
            std::fs::create_dir_all(folder)?;
            let staged = Replacement::of(path).inheriting().stage(text.as_bytes())?;
            staged.sync()?;
            staged.commit()?;
            durable::sync_directory(folder)
        };
        put().map_err(EvalError::write(path))
    }

    /// Issues of an unfinished evaluation. A line that was not written to its end is left out, and removed.
    ///
    /// # Errors
    /// [`EvalError::Read`], [`EvalError::Write`].
    pub fn partial(&self, iteration: usize) -> Result<Vec<EvaluatedIssue>, EvalError> {
        let path = self.of(iteration, PARTIAL);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(EvalError::read(&path)(error)),
        };
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let issues: Vec<(usize, EvaluatedIssue)> =
            lines.map_while(|line| Some((line.len(), serde_json::from_str(line).ok()?))).collect();
        let valid: usize = issues.iter().map(|(len, _)| len).sum();
        if valid < text.len() {
            self.write_text(&path, &text[..valid])?;
        }
        Ok(issues.into_iter().map(|(_, issue)| issue).collect())
    }

    /// Adds an issue to an unfinished evaluation.
    ///
    /// # Errors
    /// [`EvalError::Write`].
    pub fn add_partial(&self, iteration: usize, issue: &EvaluatedIssue) -> Result<(), EvalError> {
        let path = self.of(iteration, PARTIAL);
        let add = || -> std::io::Result<()> {
            let mut line = serde_json::to_string(issue)?;
            line.push('\n');
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path)?;
            file.write_all(line.as_bytes())?;
            file.sync_data()
        };
        add().map_err(EvalError::write(&path))
    }

    /// Removes the lines of a finished evaluation.
    pub fn remove_partial(&self, iteration: usize) {
        // What is left is ignored, since evaluation.json is there.
        let _ = std::fs::remove_file(self.of(iteration, PARTIAL));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_evaluated_again() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::new(directory.path());
        std::fs::create_dir(directory.path().join("iteration_1")).unwrap();
        let issue = EvaluatedIssue {
            conversation_id: "x".to_owned(),
            product_area: "a".to_owned(),
            scores: Scores::default(),
            former_scores: None,
            not_judged: None,
            intersection: Vec::new(),
            our_unique: Vec::new(),
            ground_truth_unique: Vec::new(),
            ground_truth: Vec::new(),
            area_check: None,
            reasoning: String::new(),
            run_a: Exploration::default(),
            run_b: Exploration::default(),
        };
        folder.add_partial(1, &issue).unwrap();
        folder.add_partial(1, &issue).unwrap();
        let path = folder.of(1, PARTIAL);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 5]).unwrap();
        assert_eq!(folder.partial(1).unwrap(), std::slice::from_ref(&issue));
        folder.add_partial(1, &issue).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "continued where it was cut off");
    }

    #[test]
    fn a_damaged_artefact_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::new(directory.path());
        let path = folder.of(0, LEARNINGS);
        assert!(folder.read::<Learnings>(&path).unwrap().is_none());
        folder.write_text(&path, "{").unwrap();
        assert!(folder.read::<Learnings>(&path).unwrap_err().to_string().contains("learnings.json"));
    }
}
