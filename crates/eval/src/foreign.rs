//! Foreign queries: queries that no code base answers. They measure how well relevance separates them from
//! the queries of a suite.

use super::metric::DEPTH;
use super::runner::{OpenRepository, Runner};
use codeweaver::query::rank::Weights;
use codeweaver::query::rank::calibration::Evidence;

/// Queries about cooking, gardening, travel, music, law, …; about software of other trades; names that do not
/// exist, and nonsense. Some deliberately share words with code (`string`, `key`, `branch`, `thread`).
pub fn foreign_queries() -> impl Iterator<Item = &'static str> {
    include_str!("data/foreign_queries.txt").lines()
}

/// How well relevance separates the queries of a suite from foreign ones.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Separation {
    /// Probability that the best result of a suite query has a higher relevance than that of a foreign query.
    pub auc: f64,
    pub thresholds: Vec<Threshold>,
}

/// The effect of one value of `search.min_score`; shares from 0 to 1.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Threshold {
    pub min_score: f32,
    /// Suite queries that have a result.
    pub real_answered: f64,
    /// Correct first results that are kept.
    pub right_kept: f64,
    /// Foreign queries without a result.
    pub foreign_refused: f64,
}

const THRESHOLDS: &[f32] = &[0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7];

/// The evidence of the best results, by which relevance is calibrated.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Name of the repository.
    pub repository: String,
    pub evidence: Evidence,
    /// Whether the query is one of the suite, not a foreign one.
    pub is_answered: bool,
}

/// The best result of every query of the suite on its repository, and of every foreign query on each of them.
/// Queries without a candidate are left out.
pub fn samples(runner: &Runner, weights: &Weights) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut add = |opened: &OpenRepository, query: &str, is_answered: bool| {
        if let Some(best) = opened.rank(&opened.request(query), weights).first() {
            let repository = opened.repository.name.clone();
            samples.push(Sample { repository, evidence: best.evidence, is_answered });
        }
    };
    for opened in runner.repositories() {
        opened.repository.queries.iter().for_each(|labelled| add(opened, &labelled.query, true));
    }
    for opened in first_of_each(runner.repositories()) {
        foreign_queries().for_each(|query| add(opened, query, false));
    }
    samples
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
    let of = |query: &'static str| {
        first_of_each(runner.repositories())
            .map(|opened| {
                opened.rank(&opened.request(query), weights).first().map_or(0.0, |file| file.relevance)
            })
            .collect::<Vec<_>>()
    };
    let foreign: Vec<f32> = foreign_queries().flat_map(of).collect();
    let share = |all: &[f32], min: f32| {
        all.iter().filter(|&&one| one >= min).count() as f64 / all.len().max(1) as f64
    };
    Separation {
        auc: auc(&real, &foreign),
        thresholds: THRESHOLDS
            .iter()
            .map(|&min_score| Threshold {
                min_score,
                real_answered: share(&real, min_score),
                right_kept: share(&right, min_score),
                foreign_refused: 1.0 - share(&foreign, min_score),
            })
            .collect(),
    }
}

/// One revision of each repository.
fn first_of_each(opened: &[OpenRepository]) -> impl Iterator<Item = &OpenRepository> {
    let is_first = |i: usize| i == 0 || opened[i - 1].repository.name != opened[i].repository.name;
    opened.iter().enumerate().filter(move |(i, _)| is_first(*i)).map(|(_, opened)| opened)
}

/// Area under the ROC curve: the probability that one of `above` is larger than one of `below`, ties counting
/// half.
fn auc(above: &[f32], below: &[f32]) -> f64 {
    let wins: f64 = above
        .iter()
        .flat_map(|a| {
            below.iter().map(move |b| {
                if a > b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                }
            })
        })
        .sum();
    wins / ((above.len() * below.len()).max(1) as f64)
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
