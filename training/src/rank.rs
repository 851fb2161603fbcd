//! `rank`: learns the linear weights of the ranking from labelled questions.
//!
//! A file's score is linear in its signals, times factors that stay as they are. The weights are found by minimising the
//! cross entropy of the softmax over the files of a question (Cao et al., "Learning to rank: from pairwise approach to
//! listwise approach", ICML 2007), pulled towards the weights in use and never negative. Which chunk of a file is its best
//! depends on the weights, so signals are read again after each round.
//!
//! What is gained is measured by cross-validation over repositories: no repository is judged by weights that saw it.
//! [`features`]: questions → signals. [`fit`]: signals → weights. [`report`]: before and after.

mod features;
mod fit;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use codeweaver::eval::{Runner, Suite};
use codeweaver::query::rank::{WEIGHTS, Weights};

use features::Asked;
use fit::Settings;

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Folders with labelled questions; several are learned from together.
    #[arg(long, required = true)]
    suite: Vec<PathBuf>,
    /// Folders with the clones, one for each suite.
    #[arg(long, required = true)]
    repos: Vec<PathBuf>,
    /// The weights to start from and to be pulled towards, all of them as JSON; without it those in use.
    #[arg(long)]
    start: Option<PathBuf>,
    /// Parts that the repositories are divided into; each is judged by weights learned from the others.
    #[arg(long, default_value_t = 8)]
    folds: usize,
    /// How strongly weights are pulled towards those in use.
    #[arg(long, default_value_t = 0.001)]
    pull: f32,
    /// How far of the way from the weights in use to the learned ones, 0–1.
    #[arg(long, default_value_t = 0.6)]
    share: f32,
    /// How sharply the best file stands out: factor on scores.
    #[arg(long, default_value_t = 3.0)]
    sharpness: f32,
    #[arg(long, default_value_t = 150)]
    steps: usize,
    /// Times that signals are read again with the weights learned so far.
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Where the weights are written; without it they are only shown.
    #[arg(long)]
    out: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<()> {
    ensure!(options.suite.len() == options.repos.len(), "each --suite needs its --repos");
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
    let read = |weights: &Weights| -> Result<Vec<Asked>> {
        let of_suites = runners.iter().enumerate().map(|(i, runner)| features::read(runner, i, weights));
        Ok(of_suites.collect::<Result<Vec<_>>>()?.concat())
    };
    let by_hand = match &options.start {
        Some(path) => {
            let text = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
            serde_json::from_slice(&text).with_context(|| format!("weights in {}", path.display()))?
        }
        None => WEIGHTS.clone(),
    };
    let start = features::linear(&by_hand);
    let first = read(&by_hand)?;
    let after = fit::cross_validate(&first, &start, options.folds, &settings);
    println!("{}", report::table(&first, &start, &after));
    let mut weights = by_hand;
    for round in 0..options.rounds.max(1) {
        // The pull is towards where it began, in every round.
        let asked = if round == 0 { first.clone() } else { read(&weights)? };
        let learned = fit::fit(asked.iter(), &start, &settings);
        weights = features::with_linear(&weights, &learned)?;
    }
    println!("{}", features::list(&start, &features::linear(&weights)));
    if let Some(out) = &options.out {
        std::fs::write(out, features::json(&weights)).with_context(|| format!("write {}", out.display()))?;
    }
    Ok(())
}
