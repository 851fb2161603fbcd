//! `calibrate`: learns how likely it is, given the evidence, that a repository answers a query at all.
//!
//! Logistic regression on the evidence of the best result of queries that a repository answers and of foreign
//! ones. Both classes of every suite weigh the same. Coefficients are found by Newton's method with a small
//! pull towards 0. The report has figures of repositories from which the coefficients were not learned.

mod fit;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use codeweaver::query::rank::WEIGHTS;
use codeweaver::query::rank::calibration::{Calibration, Evidence};
use codeweaver_eval::{Runner, Suite, foreign};

/// A mask of the values of [`Evidence::values`] that a regression uses.
type Mask = [bool; Evidence::LEN];
const HYBRID: Mask = [true; Evidence::LEN];
const KEYWORD: Mask = [false, true, true, true, true, true, true, true];
const SEMANTIC: Mask = [true, false, false, false, false, false, true, true];

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Directories with labelled queries; several are learned from together.
    #[arg(long, required = true)]
    suite: Vec<PathBuf>,
    /// Directories with the clones, one for each suite.
    #[arg(long, required = true)]
    repos: Vec<PathBuf>,
    /// Suites, by their position from 1, that are only measured.
    #[arg(long)]
    keep_aside: Vec<usize>,
    /// Output file for the coefficients; default: only print them.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A sample with the number of its suite.
pub struct Sample {
    suite: usize,
    repository: String,
    values: [f64; Evidence::LEN],
    is_answered: bool,
}

pub fn run(options: &Options) -> Result<()> {
    ensure!(
        options.suite.len() == options.repos.len(),
        "the number of --suite and --repos options must be equal"
    );
    let mut samples = Vec::new();
    for (i, (suite, repos)) in options.suite.iter().zip(&options.repos).enumerate() {
        let loaded = Suite::load(suite, "").with_context(|| format!("suite {}", suite.display()))?;
        let runner = Runner::open(loaded, repos, &[])?;
        samples.extend(foreign::samples(&runner, &WEIGHTS).into_iter().map(|sample| Sample {
            suite: i + 1,
            repository: sample.repository,
            values: sample.evidence.values().map(f64::from),
            is_answered: sample.is_answered,
        }));
    }

    for (name, mask) in [("hybrid", &HYBRID), ("keyword", &KEYWORD), ("semantic", &SEMANTIC)] {
        println!("{name}\n{}", report::cross_validated(&samples, &options.keep_aside, mask));
    }
    let learned: Vec<&Sample> =
        samples.iter().filter(|sample| !options.keep_aside.contains(&sample.suite)).collect();
    let calibration = Calibration {
        hybrid: fit::fit(&learned, &HYBRID),
        keyword: fit::fit(&learned, &KEYWORD),
        semantic: fit::fit(&learned, &SEMANTIC),
    };

    let text = serde_json::to_string_pretty(&calibration)? + "\n";
    println!("{text}");
    if let Some(out) = &options.out {
        std::fs::write(out, text).with_context(|| format!("write {}", out.display()))?;
    }
    Ok(())
}
