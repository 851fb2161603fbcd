//! Tune: learns the weights in which the score is linear from labelled queries, and proposes them if every
//! guard holds.
//!
//! A file's score is linear in its features, times factors that are not learned. The weights minimise the
//! cross entropy of the softmax over the files of a query (Cao et al., "Learning to rank: from pairwise
//! approach to listwise approach", ICML 2007), pulled towards the initial weights and never negative. The
//! best chunk of a file depends on the weights, so features are computed again in each round.
//!
//! The gain is measured by cross-validation: no query is measured with weights that were learned from it or
//! its neighbours.
//!
//! * [`features`]: runs labelled queries and computes the features of the files found.
//! * [`fit`]: learns weights from features; divides queries into folds.
//! * [`gain`], [`bootstrap`]: figures before and after, with their interval.
//! * [`ranking_time`]: time to rank before and after.
//! * [`guard`]: the conditions that must hold before weights are changed.
//! * [`table`]: renders a proposal.
//! * [`weights_file`]: the user's own weights on disk, with backups.

pub mod bootstrap;
pub mod features;
pub mod fit;
mod gain;
pub mod guard;
mod ranking_time;
pub mod table;
pub mod weights_file;

use serde::{Deserialize, Serialize};

use codeweaver::query::rank::Weights;

use super::error::EvalError;
use super::runner::Runner;
use bootstrap::Interval;
use features::{Linear, NAMES, RankedQuery};
use fit::Settings;
use gain::{Gains, Group};
use guard::{Guard, Limits, Measured};

/// Least number of queries to learn from: the interval of fewer would be wider than any gain.
pub const MIN_QUERIES: usize = 30;
/// Least change of a weight that is listed.
const MIN_CHANGE: f32 = 0.001;

/// Options of [`propose`].
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub settings: Settings,
    /// Parts of the cross-validation, at least 2.
    pub folds: usize,
    /// Number of rounds. Each computes the features again with the weights learned so far.
    pub rounds: usize,
    pub limits: Limits,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            settings: Settings { pull: 0.001, sharpness: 3.0, steps: 150, share: 0.6 },
            folds: 8,
            rounds: 2,
            limits: Limits::default(),
            seed: 1,
        }
    }
}

/// Learned weights with their measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    pub n_queries: usize,
    /// All queries before and after, cross-validated.
    pub all: Group,
    /// Difference of NDCG@10, cross-validated.
    pub gain: Interval,
    pub groups: Vec<Group>,
    pub guards: Vec<Guard>,
    pub changes: Vec<WeightChange>,
    pub weights: Weights,
}

/// A learned weight that changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WeightChange {
    pub name: String,
    pub before: f32,
    pub after: f32,
}

impl Proposal {
    /// Returns whether every guard holds.
    pub fn holds(&self) -> bool {
        self.guards.iter().all(|guard| guard.holds)
    }
}

/// Learns weights from the queries of `runners`, starting from `initial`. Reads and writes no weights.
///
/// # Errors
/// [`EvalError::TooFewQueries`] if fewer than [`MIN_QUERIES`] have a relevant file among those found.
pub fn propose(runners: &[&Runner], initial: &Weights, options: &Options) -> Result<Proposal, EvalError> {
    let start = features::linear(initial);
    let queries = collect(runners, initial);
    let n_learned_from =
        queries.iter().filter(|query| query.files.iter().any(|file| file.is_relevant)).count();
    if n_learned_from < MIN_QUERIES {
        return Err(EvalError::TooFewQueries { n: n_learned_from, least: MIN_QUERIES });
    }

    // Only the measurement is cross-validated; the proposed weights are learned from all queries.
    let folds = fit::folds(&queries, options.folds);
    let validated = fit::cross_validate(&queries, &start, &folds, &options.settings);

    let mut weights = initial.clone();
    for round in 0..options.rounds.max(1) {
        // Every round pulls towards the initial weights.
        let learned = match round {
            0 => fit::fit(queries.iter(), &start, &options.settings),
            _ => fit::fit(collect(runners, &weights).iter(), &start, &options.settings),
        };
        weights = features::with_linear(&weights, &learned)?;
    }

    let gains = Gains::new(&queries, &start, &validated);
    let groups = gains.groups();
    let learned = features::linear(&weights);
    let gain = gains.ndcg(options.seed);
    let measured = Measured {
        gain,
        first_place: gains.first_place(),
        groups: &groups,
        micros: ranking_time::measure(runners, (initial, &weights), |micros| {
            options.limits.allow_time(micros)
        }),
        largest: learned.iter().copied().fold(0.0, f32::max),
    };

    Ok(Proposal {
        n_queries: queries.len(),
        all: gains.all(),
        gain,
        guards: guard::check(&measured, &options.limits),
        groups,
        changes: changes(&start, &learned),
        weights,
    })
}

/// Runs the queries of all suites with `weights`.
fn collect(runners: &[&Runner], weights: &Weights) -> Vec<RankedQuery> {
    let suites = runners.iter().enumerate();
    suites.flat_map(|(number, runner)| features::collect(runner, number, weights)).collect()
}

/// Returns the weights that changed by at least [`MIN_CHANGE`].
fn changes(before: &Linear, after: &Linear) -> Vec<WeightChange> {
    let mut changes = Vec::new();
    for (name, (&before, &after)) in NAMES.iter().zip(before.iter().zip(after)) {
        if (before - after).abs() >= MIN_CHANGE {
            changes.push(WeightChange { name: (*name).to_owned(), before, after });
        }
    }

    changes
}
