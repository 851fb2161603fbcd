//! Foreign queries: queries that no code base answers. The relevance of their results, compared with that of
//! the queries of a suite, measures how well relevance separates the two.

use codeweaver::query::rank::Weights;
use codeweaver::query::rank::calibration::Evidence;

use super::metric::DEPTH;
use super::runner::{OpenRepository, Runner};

/// Queries about cooking, gardening, travel, music, law, …; about software of other trades; names that do not
/// exist, and nonsense. Some deliberately share words with code (`string`, `key`, `branch`, `thread`).
pub fn foreign_queries() -> impl Iterator<Item = &'static str> {
    include_str!("data/foreign_queries.txt").lines()
}

/// The separation of the queries of a suite from foreign ones by relevance.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Separation {
    /// The probability that the best result of a suite query has a higher relevance than that of a foreign
    /// query.
    pub auc: f64,
    pub thresholds: Vec<Threshold>,
}

/// The effect of one value of `search.min_score`; shares from 0 to 1.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Threshold {
    pub min_score: f32,
    /// Share of the suite queries that have a result.
    pub real_answered: f64,
    /// Share of the correct first results that are kept.
    pub right_kept: f64,
    /// Share of the foreign queries that have no result.
    pub foreign_refused: f64,
}

const THRESHOLDS: &[f32] = &[0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7];

/// The evidence of the best result of one query, by which relevance is calibrated.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Name of the repository.
    pub repository: String,
    pub evidence: Evidence,
    /// Whether the query is one of the suite, not a foreign one.
    pub is_answered: bool,
}

/// Returns the best result of every query of the suite on its repository, and of every foreign query on every
/// repository. Queries without a candidate are left out.
pub fn samples(runner: &Runner, weights: &Weights) -> Vec<Sample> {
    let mut samples = Vec::new();
    for opened in runner.repositories() {
        let queries = opened.repository.queries.iter();
        samples.extend(queries.filter_map(|labelled| sample(opened, &labelled.query, true, weights)));
    }
    // Foreign queries run once on each repository, not on each of its revisions.
    for opened in first_of_each(runner.repositories()) {
        samples.extend(foreign_queries().filter_map(|query| sample(opened, query, false, weights)));
    }

    samples
}

/// Runs a query; `None` if it has no candidate.
fn sample(opened: &OpenRepository, query: &str, is_answered: bool, weights: &Weights) -> Option<Sample> {
    let ranked = opened.rank(&opened.request(query), weights);
    let evidence = ranked.first()?.evidence;
    Some(Sample { repository: opened.repository.name.clone(), evidence, is_answered })
}

/// Runs the queries of the suite, and all foreign queries on each of its repositories.
pub fn separation(runner: &Runner, weights: &Weights) -> Separation {
    let report = runner.run(weights, DEPTH);
    let real: Vec<f32> = report.queries.iter().map(|result| result.relevance).collect();
    let right: Vec<f32> = report
        .queries
        .iter()
        .filter(|result| result.scores.hit_at_1 == 1.0)
        .map(|result| result.relevance)
        .collect();

    let mut foreign: Vec<f32> = Vec::new();
    for query in foreign_queries() {
        for opened in first_of_each(runner.repositories()) {
            let ranked = opened.rank(&opened.request(query), weights);
            // Without a result the query is refused at any threshold.
            foreign.push(ranked.first().map_or(0.0, |file| file.relevance));
        }
    }

    Separation {
        auc: auc(&real, &foreign),
        thresholds: THRESHOLDS
            .iter()
            .map(|&min_score| Threshold {
                min_score,
                real_answered: share_of_at_least(min_score, &real),
                right_kept: share_of_at_least(min_score, &right),
                foreign_refused: 1.0 - share_of_at_least(min_score, &foreign),
            })
            .collect(),
    }
}

/// Returns the share of `values` that are at least `min`; 0 if there are none.
fn share_of_at_least(min: f32, values: &[f32]) -> f64 {
    values.iter().filter(|&&value| value >= min).count() as f64 / values.len().max(1) as f64
}

/// Returns one revision of each repository. The revisions of a repository stand next to each other.
fn first_of_each(opened: &[OpenRepository]) -> impl Iterator<Item = &OpenRepository> {
    opened.chunk_by(|a, b| a.repository.name == b.repository.name).map(|revisions| &revisions[0])
}

/// Returns the area under the ROC curve: the probability that one of `above` is larger than one of `below`,
/// ties counting half.
fn auc(above: &[f32], below: &[f32]) -> f64 {
    let wins: f64 = above.iter().flat_map(|a| below.iter().map(move |b| win(*a, *b))).sum();
    wins / ((above.len() * below.len()).max(1) as f64)
}

/// Returns 1 if `a` is larger than `b`, a half if they are equal.
fn win(a: f32, b: f32) -> f64 {
    if a > b {
        1.0
    } else if a == b {
        0.5
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_is_the_probability_of_a_larger_value() {
        assert_eq!(auc(&[0.9, 0.8], &[0.1, 0.2]), 1.0);
        assert_eq!(auc(&[0.1], &[0.9]), 0.0);
        assert_eq!(auc(&[0.5], &[0.5]), 0.5);
        assert!(foreign_queries().count() >= 40);
    }
}
