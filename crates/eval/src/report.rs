//! The report of a run: means by repository, category, language and intent; thresholds.
//!
//! The score of a repository is the mean over its queries, and the overall score the mean over repositories.
//! The score of a category, language or intent is the mean over repositories of the mean of the repository's
//! queries in that group. [`super::table`] renders reports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::error::EvalError;
use super::metric::{self, Scores};

/// One query with its results.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct QueryResult {
    pub repository: String,
    pub language: String,
    /// Whether the repository is held out: weights were not tuned on it.
    #[serde(rename = "kept_aside")]
    pub held_out: bool,
    pub category: String,
    pub intent: Option<String>,
    pub query: String,
    pub scores: Scores,
    /// The rank of the first hit that covers a label, 1-based; `None` if no hit of `results` covers one.
    pub rank: Option<usize>,
    /// Whether the expectations of the query are met (`expected_top_3`, `expected_top_5`,
    /// `expected_excluded`); `None` if it has none.
    pub expectation_met: Option<bool>,
    /// Relevance of the first result, 0 if there is none.
    pub relevance: f32,
    /// Time to rank, in microseconds.
    pub micros: u64,
    /// Paths, best first.
    pub results: Vec<String>,
}

/// The metrics of a run over a suite.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Report {
    pub model: String,
    /// Depth of NDCG, precision, recall and MRR.
    pub k: usize,
    pub overall: Scores,
    /// Means over the repositories that weights are tuned on.
    pub tuned: Scores,
    /// Means over the held-out repositories.
    #[serde(rename = "kept_aside")]
    pub held_out: Scores,
    pub by_repository: BTreeMap<String, Scores>,
    pub by_language: BTreeMap<String, Scores>,
    pub by_category: BTreeMap<String, Scores>,
    pub by_intent: BTreeMap<String, Scores>,
    /// Median and 95th percentile of the time to rank, in microseconds.
    pub micros_p50: u64,
    pub micros_p95: u64,
    #[serde(rename = "questions")]
    pub queries: Vec<QueryResult>,
}

/// A minimum for one of the overall metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// One of [`metric::NAMES`].
    pub name: &'static str,
    pub least: f64,
}

impl Report {
    /// Computes all means of `queries`, measured to depth `k` with the model of that name.
    pub fn new(model: String, k: usize, queries: Vec<QueryResult>) -> Report {
        let mut micros: Vec<u64> = queries.iter().map(|result| result.micros).collect();
        micros.sort_unstable();

        Report {
            model,
            k,
            overall: macro_mean(&queries, |_| true),
            tuned: macro_mean(&queries, |result| !result.held_out),
            held_out: macro_mean(&queries, |result| result.held_out),
            by_repository: by_repository(&queries, |_| true),
            by_language: means_by(&queries, |result| &result.language),
            by_category: means_by(&queries, |result| &result.category),
            by_intent: means_by(&queries, |result| result.intent.as_deref().unwrap_or("")),
            micros_p50: percentile(&micros, 50),
            micros_p95: percentile(&micros, 95),
            queries,
        }
    }

    /// Reads the report of an earlier run from its JSON file.
    pub fn read(path: &Path) -> Result<Report, EvalError> {
        let text = std::fs::read_to_string(path).map_err(EvalError::read(path))?;
        serde_json::from_str(&text)
            .map_err(|e| EvalError::Baseline { path: path.to_path_buf(), why: e.to_string() })
    }

    /// Returns the thresholds that the overall metrics miss, with the value reached.
    pub fn missed<'a>(&self, thresholds: &'a [Threshold]) -> Vec<(&'a Threshold, f64)> {
        thresholds
            .iter()
            .map(|threshold| (threshold, self.overall.get(threshold.name).unwrap_or(0.0)))
            .filter(|(threshold, reached)| *reached < threshold.least)
            .collect()
    }

    /// Returns the number of queries whose expectations are met, and the number that have expectations.
    pub fn expectations(&self) -> (usize, usize) {
        let all = self.queries.iter().filter_map(|result| result.expectation_met);
        (all.clone().filter(|met| *met).count(), all.count())
    }
}

impl std::str::FromStr for Threshold {
    type Err = String;

    /// Parses `NAME=VALUE`, the value between 0 and 1.
    fn from_str(text: &str) -> Result<Threshold, String> {
        let (name, value) = text.split_once('=').ok_or_else(expected_threshold)?;
        let name =
            metric::NAMES.into_iter().find(|known| *known == name.trim()).ok_or_else(expected_threshold)?;

        let least = value.trim().parse().map_err(|_| format!("`{value}` is not a number"))?;
        if !(0.0..=1.0).contains(&least) {
            return Err(format!("{least} is not between 0 and 1"));
        }

        Ok(Threshold { name, least })
    }
}

fn expected_threshold() -> String {
    format!("expected NAME=VALUE, where NAME is one of {}", metric::NAMES.join(", "))
}

/// Returns the `p`th percentile of `sorted`, which is ascending; 0 if it is empty.
fn percentile(sorted: &[u64], p: usize) -> u64 {
    sorted.get((sorted.len() * p / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0)
}

/// Returns the means by `key`, without the queries for which it is empty.
fn means_by<'a>(
    queries: &'a [QueryResult],
    key: impl Fn(&'a QueryResult) -> &'a str,
) -> BTreeMap<String, Scores> {
    let names: BTreeSet<&str> = queries.iter().map(&key).filter(|name| !name.is_empty()).collect();

    names
        .into_iter()
        .map(|name| (name.to_owned(), macro_mean(queries, |result| key(result) == name)))
        .collect()
}

/// Returns the means of each repository over those of its queries that `filter` accepts.
fn by_repository<'a>(
    queries: &'a [QueryResult],
    filter: impl Fn(&'a QueryResult) -> bool,
) -> BTreeMap<String, Scores> {
    let mut scores: BTreeMap<String, Vec<Scores>> = BTreeMap::new();
    for result in queries.iter().filter(|result| filter(result)) {
        scores.entry(result.repository.clone()).or_default().push(result.scores);
    }

    scores.into_iter().map(|(name, scores)| (name, Scores::mean(scores))).collect()
}

/// Returns the mean over repositories of [`by_repository`].
fn macro_mean<'a>(queries: &'a [QueryResult], filter: impl Fn(&'a QueryResult) -> bool) -> Scores {
    Scores::mean(by_repository(queries, filter).into_values())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn result(repository: &str, category: &str, ndcg: f64, held_out: bool) -> QueryResult {
        let scores = Scores { ndcg, ..Scores::default() };

        QueryResult {
            repository: repository.to_owned(),
            language: "c".to_owned(),
            held_out,
            category: category.to_owned(),
            intent: (category == "y").then(|| "debug".to_owned()),
            query: format!("{repository} {category} {ndcg}"),
            scores,
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
                result("a", "x", 1.0, false),
                result("a", "x", 0.0, false),
                result("a", "y", 0.8, false),
                result("b", "x", 0.0, true),
            ],
        )
    }

    #[test]
    fn means_are_over_repositories_and_not_over_queries() {
        let report = report();
        assert!((report.overall.ndcg - 0.3).abs() < 1e-12);
        assert_eq!(report.by_category["x"].ndcg, 0.25);
        assert_eq!(report.by_intent["debug"].ndcg, 0.8);
        assert_eq!(report.by_intent.len(), 1, "queries without an intent form no group");
        assert_eq!((report.held_out.ndcg, report.tuned.ndcg), (0.0, 0.6));
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
