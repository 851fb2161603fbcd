//! `rank`: learns the weights of the ranking that are built in, from several suites together.
//!
//! The work is that of `git codeweaver eval tune` ([`codeweaver_eval::tune`]), which users run on a suite of
//! their own.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use codeweaver::query::rank::WEIGHTS;
use codeweaver_eval::tune::fit::Settings;
use codeweaver_eval::tune::{self, features};
use codeweaver_eval::{Runner, Suite};

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
    let initial = match &options.start {
        Some(path) => {
            let text = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
            serde_json::from_slice(&text).with_context(|| format!("weights in {}", path.display()))?
        }
        None => WEIGHTS.clone(),
    };
    let options_of_tune =
        tune::Options { settings, folds: options.folds, rounds: options.rounds, ..tune::Options::default() };
    let runners: Vec<&Runner> = runners.iter().collect();
    let proposal = tune::propose(&runners, &initial, &options_of_tune)?;
    println!("{}", tune::table::table(&proposal));
    if let Some(out) = &options.out {
        std::fs::write(out, features::json(&proposal.weights))
            .with_context(|| format!("write {}", out.display()))?;
    }
    Ok(())
}
