//! Means by repository, category and language; comparison with an earlier run.
//!
//! The score of a repository is the mean over its questions, the overall score the mean over repositories, the score of a
//! category the mean over repositories of the repository's mean in it.

use super::error::EvalError;
use super::metric::Scores;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// One question with its answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Asked {
    pub repository: String,
    pub language: String,
    /// Weights were not tuned on this repository.
    pub kept_aside: bool,
    pub category: String,
    pub query: String,
    pub scores: Scores,
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
    pub overall: Scores,
    /// Repositories that weights may be tuned on, and the others.
    pub tuned: Scores,
    pub kept_aside: Scores,
    pub by_repository: BTreeMap<String, Scores>,
    pub by_language: BTreeMap<String, Scores>,
    pub by_category: BTreeMap<String, Scores>,
    /// Median and 95th percentile of the time to rank, in microseconds.
    pub micros_p50: u64,
    pub micros_p95: u64,
    pub questions: Vec<Asked>,
}

impl Report {
    pub fn new(model: String, questions: Vec<Asked>) -> Report {
        let all = |_: &Asked| true;
        let mut micros: Vec<u64> = questions.iter().map(|asked| asked.micros).collect();
        micros.sort_unstable();
        let percentile = |p: usize| {
            micros.get((micros.len() * p / 100).min(micros.len().saturating_sub(1))).copied().unwrap_or(0)
        };
        let categories: std::collections::BTreeSet<&str> =
            questions.iter().map(|asked| asked.category.as_str()).collect();
        let languages: std::collections::BTreeSet<&str> =
            questions.iter().map(|asked| asked.language.as_str()).collect();
        Report {
            model,
            overall: macro_mean(&questions, all),
            tuned: macro_mean(&questions, |asked| !asked.kept_aside),
            kept_aside: macro_mean(&questions, |asked| asked.kept_aside),
            by_repository: by_repository(&questions, all),
            by_language: languages
                .into_iter()
                .map(|language| {
                    (language.to_owned(), macro_mean(&questions, |asked| asked.language == language))
                })
                .collect(),
            by_category: categories
                .into_iter()
                .map(|category| {
                    (category.to_owned(), macro_mean(&questions, |asked| asked.category == category))
                })
                .collect(),
            micros_p50: percentile(50),
            micros_p95: percentile(95),
            questions,
        }
    }

    /// An earlier run, from the file of its JSON form.
    pub fn read(path: &Path) -> Result<Report, EvalError> {
        let text = std::fs::read_to_string(path).map_err(EvalError::read(path))?;
        serde_json::from_str(&text).map_err(|e| EvalError::format(path, e))
    }

    /// A table for a terminal; with the differences to `baseline`, if there is one.
    pub fn table(&self, baseline: Option<&Report>) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{:24} {:>7} {:>7} {:>7} {:>7} {:>7}  {}",
            "",
            "NDCG@10",
            "rec@10",
            "MRR@10",
            "hit@1",
            "hit@5",
            if baseline.is_some() { "ΔNDCG" } else { "" }
        );
        let mut row = |name: &str, scores: &Scores, before: Option<&Scores>| {
            let change = before
                .map_or(String::new(), |before| format!("{:+.3}", scores.ndcg_at_10 - before.ndcg_at_10));
            let _ = writeln!(
                out,
                "{name:24} {:7.3} {:7.3} {:7.3} {:7.3} {:7.3}  {change}",
                scores.ndcg_at_10, scores.recall_at_10, scores.mrr_at_10, scores.hit_at_1, scores.hit_at_5
            );
        };
        let aside =
            |name: &String| self.questions.iter().any(|asked| &asked.repository == name && asked.kept_aside);
        for (name, scores) in &self.by_repository {
            let mark = if aside(name) { "*" } else { "" };
            row(&format!("{name}{mark}"), scores, baseline.and_then(|b| b.by_repository.get(name)));
        }
        for (name, scores) in &self.by_category {
            row(&format!("[{name}]"), scores, baseline.and_then(|b| b.by_category.get(name)));
        }
        row("tuned on", &self.tuned, baseline.map(|b| &b.tuned));
        row("kept aside (*)", &self.kept_aside, baseline.map(|b| &b.kept_aside));
        row("overall", &self.overall, baseline.map(|b| &b.overall));
        let _ = writeln!(
            out,
            "{} questions, model {}, ranking took {:.1} ms (median), {:.1} ms (95 %)",
            self.questions.len(),
            self.model,
            self.micros_p50 as f64 / 1000.0,
            self.micros_p95 as f64 / 1000.0
        );
        out
    }
}

fn by_repository(questions: &[Asked], filter: impl Fn(&Asked) -> bool) -> BTreeMap<String, Scores> {
    let mut of: BTreeMap<String, Vec<Scores>> = BTreeMap::new();
    for asked in questions.iter().filter(|asked| filter(asked)) {
        of.entry(asked.repository.clone()).or_default().push(asked.scores);
    }
    of.into_iter().map(|(name, scores)| (name, Scores::mean(scores))).collect()
}

fn macro_mean(questions: &[Asked], filter: impl Fn(&Asked) -> bool) -> Scores {
    Scores::mean(by_repository(questions, filter).into_values())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(repository: &str, category: &str, ndcg: f64, kept_aside: bool) -> Asked {
        Asked {
            repository: repository.to_owned(),
            language: "c".to_owned(),
            kept_aside,
            category: category.to_owned(),
            query: String::new(),
            scores: Scores { ndcg_at_10: ndcg, ..Scores::default() },
            relevance: 0.5,
            micros: 10,
            results: Vec::new(),
        }
    }

    #[test]
    fn means_are_over_repositories_not_questions() {
        let report = Report::new(
            "m".to_owned(),
            vec![
                asked("a", "x", 1.0, false),
                asked("a", "x", 0.0, false),
                asked("a", "y", 0.8, false),
                asked("b", "x", 0.0, true),
            ],
        );
        assert!((report.overall.ndcg_at_10 - 0.3).abs() < 1e-12);
        assert_eq!(report.by_category["x"].ndcg_at_10, 0.25);
        assert_eq!((report.kept_aside.ndcg_at_10, report.tuned.ndcg_at_10), (0.0, 0.6));
        let table = report.table(Some(&report));
        assert!(table.contains("b*") && table.contains("+0.000"), "{table}");
    }
}
