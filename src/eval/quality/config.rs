//! The settings of a loop, kept in its folder.

use super::area::Areas;
use super::explorer::Explorer;
use super::external::Limits;
use super::guard::Thresholds;
use super::judge::Judge;
use super::learner::Learner;
use crate::eval::error::EvalError;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// Numbers of issues of the baseline.
pub const BASELINE: RangeInclusive<usize> = 30..=40;
/// Numbers of issues of an iteration. Fewer would let chance decide.
pub const BATCH: RangeInclusive<usize> = 15..=20;

/// How a loop is run. A resumed loop has the settings that it began with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The folder with the repositories, by name, or the only repository.
    pub repos: PathBuf,
    /// Number of files that the search returns.
    pub results: usize,
    pub baseline: usize,
    pub batch: usize,
    /// The loop does not converge before.
    pub min_iterations: usize,
    pub max_iterations: usize,
    pub thresholds: Thresholds,
    pub seed: u64,
    /// Run A, and run B, which is the cheaper one.
    pub explorers: [Explorer; 2],
    pub judge: Judge,
    pub learner: Learner,
    /// The text of the table of areas.
    pub areas: String,
    /// Variables that external commands get although they look like keys.
    pub pass_env: Vec<String>,
    /// Of each external command.
    pub timeout_seconds: u64,
}

impl Config {
    /// The table of areas.
    ///
    /// # Errors
    /// [`EvalError::Format`] if the table is not valid.
    pub fn areas(&self) -> Result<Areas, EvalError> {
        Areas::parse(&self.areas)
            .map_err(|(line, why)| EvalError::format_at("the table of areas".as_ref(), line, why))
    }

    pub fn limits(&self) -> Limits {
        Limits { timeout: Duration::from_secs(self.timeout_seconds), pass_env: self.pass_env.clone() }
    }

    /// Least number of issues of a pool: for the baseline and the least number of iterations.
    pub fn least_issues(&self) -> usize {
        self.baseline + self.min_iterations * self.batch
    }
}
