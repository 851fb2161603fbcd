//! The settings of a loop, kept in its folder.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::area::Areas;
use super::explorer::Explorer;
use super::external::Limits;
use super::guard::Thresholds;
use super::judge::Judge;
use super::learner::Learner;
use crate::error::EvalError;

/// Numbers of issues of the baseline.
pub const BASELINE: RangeInclusive<usize> = 30..=40;
/// Numbers of issues of an iteration. The figures of fewer would be due to chance.
pub const BATCH: RangeInclusive<usize> = 15..=20;

/// The settings of a loop. A resumed loop keeps the settings that it began with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The folder with the repositories, by name, or the only repository.
    pub repos: PathBuf,
    /// Number of files that the search returns.
    pub results: usize,
    /// Number of issues of the baseline.
    pub baseline: usize,
    /// Number of issues of a later iteration.
    pub batch: usize,
    /// The first iteration in which the loop may converge.
    pub min_iterations: usize,
    pub max_iterations: usize,
    pub thresholds: Thresholds,
    pub seed: u64,
    /// Run A, and run B, which is the cheaper one.
    pub explorers: [Explorer; 2],
    pub judge: Judge,
    pub learner: Learner,
    /// The text of the table of areas; empty before a loop begins that is to learn one.
    pub areas: String,
    /// Environment variables that external commands get although they look like keys.
    pub pass_env: Vec<String>,
    /// Time limit of each external command.
    pub timeout_seconds: u64,
}

impl Config {
    /// Parses the table of areas.
    ///
    /// # Errors
    /// [`EvalError::Format`] if the table is not valid.
    pub fn areas(&self) -> Result<Areas, EvalError> {
        Areas::parse(&self.areas)
            .map_err(|(line, why)| EvalError::format_at("the table of areas".as_ref(), line, why))
    }

    /// Checks the numbers, which may come from a file that was edited.
    ///
    /// # Errors
    /// [`EvalError::LoopSettings`].
    pub fn check(&self) -> Result<(), EvalError> {
        let ranges = [("baseline", self.baseline, BASELINE), ("batch", self.batch, BATCH)];
        let out_of_range = ranges.into_iter().find(|(_, n, range)| !range.contains(n));

        let why = match out_of_range {
            Some((name, n, range)) => {
                format!("{name} is {n}, which is not between {} and {}", range.start(), range.end())
            }
            None if self.min_iterations == 0 => "min_iterations is 0".to_owned(),
            None if self.max_iterations < self.min_iterations => {
                "max_iterations is less than min_iterations".to_owned()
            }
            None if self.results == 0 => "results is 0".to_owned(),
            None => return Ok(()),
        };

        Err(EvalError::LoopSettings { why })
    }

    /// Returns the limits of external commands, which are stopped once `stop` is set.
    pub fn limits(&self, stop: &Arc<AtomicBool>) -> Limits {
        let timeout = Duration::from_secs(self.timeout_seconds);
        Limits { timeout, pass_env: self.pass_env.clone(), stop: stop.clone() }
    }

    /// Returns the least number of issues of a pool: those of the baseline and of the least number of
    /// iterations.
    pub fn least_issues(&self) -> usize {
        self.baseline + self.min_iterations * self.batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quality::area;

    fn config() -> Config {
        Config {
            repos: PathBuf::new(),
            results: 10,
            baseline: 30,
            batch: 15,
            min_iterations: 3,
            max_iterations: 10,
            thresholds: Thresholds::default(),
            seed: 1,
            explorers: [Explorer::Grep, Explorer::Grep],
            judge: Judge::Labels,
            learner: Learner::None,
            areas: area::BUILT_IN.to_owned(),
            pass_env: Vec::new(),
            timeout_seconds: 1,
        }
    }

    #[test]
    fn the_numbers_of_the_method_are_checked() {
        let why = |change: &dyn Fn(&mut Config)| {
            let mut config = config();
            change(&mut config);
            config.check().err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(why(&|_| ()), "");
        assert_eq!(why(&|it| (it.baseline, it.batch) = (40, 20)), "");
        assert!(why(&|it| it.batch = 14).contains("batch is 14, which is not between 15 and 20"));
        assert!(why(&|it| it.batch = 21).contains("batch is 21"));
        assert!(why(&|it| it.baseline = 29).contains("baseline is 29, which is not between 30 and 40"));
        assert!(why(&|it| it.baseline = 41).contains("baseline is 41"));
        assert!(why(&|it| it.min_iterations = 0).contains("min_iterations"));
        assert!(why(&|it| it.max_iterations = 2).contains("max_iterations"));
        assert!(why(&|it| it.results = 0).contains("results"));
        assert_eq!(config().least_issues(), 75);
    }
}
