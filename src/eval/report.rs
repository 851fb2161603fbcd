//! Means by repository, category, language and intent; thresholds.
//!
//! The score of a repository is the mean over its questions, the overall score the mean over repositories, the score of a
//! category, language or intent the mean over repositories of the repository's mean in it. How it is shown, and compared
//! with an earlier run: [`super::table`].

use super::error::EvalError;
use super::metric::{self, Scores};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One question with its answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Asked {
    pub repository: String,
    pub language: String,
    /// Weights were not tuned on this repository.
    pub kept_aside: bool,
    pub category: String,
    pub intent: Option<String>,
    pub query: String,
    pub scores: Scores,
    /// Rank of the first right answer, from 1, if it is among `results`.
    pub rank: Option<usize>,
    /// Whether what `expected_top_3`, `expected_top_5` and `expected_excluded` say came true, if the question has them.
    pub expectation_met: Option<bool>,
    /// Relevance of the first result, 0 if there is none.
    pub relevance: f32,
    /// Time to rank, in microseconds.
    pub micros: u64,
    /// Paths, best first.
    pub results: Vec<String>,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Report {
    pub model: String,
    /// Depth of NDCG, precision, recall and MRR.
    pub k: usize,
    pub overall: Scores,
    /// Repositories that weights may be tuned on, and the others.
    pub tuned: Scores,
    pub kept_aside: Scores,
    pub by_repository: BTreeMap<String, Scores>,
    pub by_language: BTreeMap<String, Scores>,
    pub by_category: BTreeMap<String, Scores>,
    pub by_intent: BTreeMap<String, Scores>,
    /// Median and 95th percentile of the time to rank, in microseconds.
    pub micros_p50: u64,
    pub micros_p95: u64,
    pub questions: Vec<Asked>,
}

/// A figure that must not be lower.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// One of [`metric::NAMES`].
    pub name: &'static str,
    pub least: f64,
}

impl Report {
    pub fn new(model: String, k: usize, questions: Vec<Asked>) -> Report {
        let mut micros: Vec<u64> = questions.iter().map(|asked| asked.micros).collect();
        micros.sort_unstable();
        let percentile = |p: usize| {
            micros.get((micros.len() * p / 100).min(micros.len().saturating_sub(1))).copied().unwrap_or(0)
        };
        Report {
            model,
            k,
            overall: macro_mean(&questions, |_| true),
            tuned: macro_mean(&questions, |asked| !asked.kept_aside),
            kept_aside: macro_mean(&questions, |asked| asked.kept_aside),
            by_repository: by_repository(&questions, |_| true),
            by_language: means_by(&questions, |asked| &asked.language),
            by_category: means_by(&questions, |asked| &asked.category),
            by_intent: means_by(&questions, |asked| asked.intent.as_deref().unwrap_or("")),
            micros_p50: percentile(50),
            micros_p95: percentile(95),
            questions,
        }
    }

    /// An earlier run, from the file of its JSON form.
    pub fn read(path: &Path) -> Result<Report, EvalError> {
        let text = std::fs::read_to_string(path).map_err(EvalError::read(path))?;
        serde_json::from_str(&text)
            .map_err(|e| EvalError::Baseline { path: path.to_path_buf(), why: e.to_string() })
    }

    /// The thresholds that the overall figures are below, with what was reached.
    pub fn missed<'a>(&self, thresholds: &'a [Threshold]) -> Vec<(&'a Threshold, f64)> {
        let reached = |threshold: &Threshold| self.overall.get(threshold.name).unwrap_or(0.0);
        thresholds
            .iter()
            .map(|threshold| (threshold, reached(threshold)))
            .filter(|(threshold, reached)| *reached < threshold.least)
            .collect()
    }

    /// How many of the questions that expect something in the reference form got it, and how many there are.
    pub fn expectations(&self) -> (usize, usize) {
        let all = self.questions.iter().filter_map(|asked| asked.expectation_met);
        (all.clone().filter(|met| *met).count(), all.count())
    }
}

impl std::str::FromStr for Threshold {
    type Err = String;

    /// `NAME=VALUE`, the value between 0 and 1.
    fn from_str(text: &str) -> Result<Threshold, String> {
        let known = || format!("expected NAME=VALUE, where NAME is one of {}", metric::NAMES.join(", "));
        let (name, value) = text.split_once('=').ok_or_else(known)?;
        let name = metric::NAMES.into_iter().find(|known| *known == name.trim()).ok_or_else(known)?;
        let least = value.trim().parse().map_err(|_| format!("`{value}` is not a number"))?;
        if !(0.0..=1.0).contains(&least) {
            return Err(format!("{least} is not between 0 and 1"));
        }
        Ok(Threshold { name, least })
    }
}

/// Means by what `key` gives; questions without it are left out.
fn means_by<'a>(questions: &'a [Asked], key: impl Fn(&'a Asked) -> &'a str) -> BTreeMap<String, Scores> {
    let names: BTreeSet<&str> = questions.iter().map(&key).filter(|name| !name.is_empty()).collect();
    names
        .into_iter()
        .map(|name| (name.to_owned(), macro_mean(questions, |asked| key(asked) == name)))
        .collect()
}

fn by_repository<'a>(questions: &'a [Asked], filter: impl Fn(&'a Asked) -> bool) -> BTreeMap<String, Scores> {
    let mut of: BTreeMap<String, Vec<Scores>> = BTreeMap::new();
    for asked in questions.iter().filter(|asked| filter(asked)) {
        of.entry(asked.repository.clone()).or_default().push(asked.scores);
    }
    of.into_iter().map(|(name, scores)| (name, Scores::mean(scores))).collect()
}

fn macro_mean<'a>(questions: &'a [Asked], filter: impl Fn(&'a Asked) -> bool) -> Scores {
    Scores::mean(by_repository(questions, filter).into_values())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn asked(repository: &str, category: &str, ndcg: f64, kept_aside: bool) -> Asked {
        Asked {
            repository: repository.to_owned(),
            language: "c".to_owned(),
            kept_aside,
            category: category.to_owned(),
            intent: (category == "y").then(|| "debug".to_owned()),
            query: format!("{repository} {category} {ndcg}"),
            scores: Scores { ndcg, ..Scores::default() },
            rank: (ndcg > 0.0).then_some(1),
            expectation_met: (category == "y").then_some(ndcg > 0.5),
            relevance: 0.5,
            micros: 10,
            results: Vec::new(),
        }
    }

    pub fn report() -> Report {
        Report::new(
            "m".to_owned(),
            10,
            vec![
                asked("a", "x", 1.0, false),
                asked("a", "x", 0.0, false),
                asked("a", "y", 0.8, false),
                asked("b", "x", 0.0, true),
            ],
        )
    }

    #[test]
    fn means_are_over_repositories_not_questions() {
        let report = report();
        assert!((report.overall.ndcg - 0.3).abs() < 1e-12);
        assert_eq!(report.by_category["x"].ndcg, 0.25);
        assert_eq!(report.by_intent["debug"].ndcg, 0.8);
        assert_eq!(report.by_intent.len(), 1, "questions without an intent are no group");
        assert_eq!((report.kept_aside.ndcg, report.tuned.ndcg), (0.0, 0.6));
        assert_eq!(report.expectations(), (1, 1));
    }

    #[test]
    fn thresholds_are_checked_by_name() {
        let threshold = |text: &str| text.parse::<Threshold>();
        let thresholds = [threshold("ndcg=0.29").unwrap(), threshold("ndcg=0.31").unwrap()];
        let report = report();
        let missed = report.missed(&thresholds);
        assert_eq!(missed.len(), 1);
        assert_eq!(missed[0].0.least, 0.31);
        for wrong in ["ndcg", "nope=0.1", "mrr=x", "mrr=1.5", "mrr=-0.1"] {
            assert!(threshold(wrong).is_err(), "{wrong}");
        }
    }
}
