//! `rank`: learns the linear weights of the ranking from labelled queries.
//!
//! A file's score is linear in its features, times factors that are not learned. The weights minimise the
//! cross entropy of the softmax over the files of a query (Cao et al., "Learning to rank: from pairwise
//! approach to listwise approach", ICML 2007), pulled towards the initial weights and never negative. Which
//! chunk of a file is its best depends on the weights, so features are computed again in each round.
//!
//! The gain is measured by cross-validation over repositories: no repository is measured with weights that
//! were learned from it.
//!
//! * [`features`]: labelled queries → features of the files found.
//! * [`fit`]: features → weights.
//! * [`report`]: figures before and after.

mod features;
mod fit;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use codeweaver::eval::{Runner, Suite};
use codeweaver::query::rank::{WEIGHTS, Weights};

use features::RankedQuery;
use fit::Settings;

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Directories with labelled queries; several are learned from together.
    #[arg(long, required = true)]
    suite: Vec<PathBuf>,
    /// Directories with the clones, one for each suite.
    #[arg(long, required = true)]
    repos: Vec<PathBuf>,
    /// Initial weights, which the learned ones are pulled towards: all weights as JSON; default: those in
    /// use.
    #[arg(long)]
    start: Option<PathBuf>,
    /// Number of folds of the cross-validation over repositories.
    #[arg(long, default_value_t = 8)]
    folds: usize,
    /// Strength of the pull towards the initial weights.
    #[arg(long, default_value_t = 0.001)]
    pull: f32,
    /// Interpolation between the initial weights (0) and the learned ones (1).
    #[arg(long, default_value_t = 0.6)]
    share: f32,
    /// Factor on scores before the softmax.
    #[arg(long, default_value_t = 3.0)]
    sharpness: f32,
    /// Number of optimisation steps in a round.
    #[arg(long, default_value_t = 150)]
    steps: usize,
    /// Number of rounds; each computes the features again with the weights learned so far.
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Output file for the weights; default: only print them.
    #[arg(long)]
    out: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<()> {
    ensure!(
        options.suite.len() == options.repos.len(),
        "the number of --suite and --repos options must be equal"
    );
    ensure!(options.folds > 1, "--folds must be at least 2");
    let mut runners = Vec::new();
    for (suite, repos) in options.suite.iter().zip(&options.repos) {
        let suite = Suite::load(suite, "").with_context(|| format!("suite {}", suite.display()))?;
        runners.push(Runner::open(suite, repos, &[])?);
    }
    let settings = Settings {
        pull: options.pull,
        sharpness: options.sharpness,
        steps: options.steps,
        share: options.share,
    };
    let collect = |weights: &Weights| -> Result<Vec<RankedQuery>> {
        let of_suites = runners.iter().enumerate().map(|(i, runner)| features::collect(runner, i, weights));
        Ok(of_suites.collect::<Result<Vec<_>>>()?.concat())
    };
    let initial = match &options.start {
        Some(path) => {
            let text = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
            serde_json::from_slice(&text).with_context(|| format!("weights in {}", path.display()))?
        }
        None => WEIGHTS.clone(),
    };
    let start = features::linear(&initial);
    let first = collect(&initial)?;
    let after = fit::cross_validate(&first, &start, options.folds, &settings);
    println!("{}", report::table(&first, &start, &after));
    let mut weights = initial;
    for round in 0..options.rounds.max(1) {
        // Every round pulls towards the initial weights.
        let queries = if round == 0 { first.clone() } else { collect(&weights)? };
        let learned = fit::fit(queries.iter(), &start, &settings);
        weights = features::with_linear(&weights, &learned)?;
    }
    println!("{}", features::list(&start, &features::linear(&weights)));
    if let Some(out) = &options.out {
        std::fs::write(out, features::json(&weights)).with_context(|| format!("write {}", out.display()))?;
    }
    Ok(())
}
