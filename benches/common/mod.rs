//! Shared by the benches: repositories to measure, child processes with their cost, samples and tables.
//!
//! Benches print figures and never fail on one; `docs/performance.md` compares them with targets. Every
//! repository is in a temporary directory with a home of its own and no outside git configuration.

#![allow(dead_code, unused_imports, reason = "every bench uses a part of it")]

pub mod corpus;
pub mod process;

use std::fmt::Display;
use std::time::{Duration, Instant};

pub use corpus::{Corpus, Scratch, corpora};
pub use process::{Cost, Program};

/// Any error ends a bench.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Queries in words and by name that match something in most repositories.
pub const QUERIES: &[&str] = &[
    "where is the configuration file read",
    "retry after a failed request",
    "parse command line options",
    "open file",
    "lock the mutex while the queue is changed",
    "hash table lookup",
    "how are errors reported to the user",
    "test helper that makes a temporary directory",
    "initialise the device",
    "write buffer to disk",
];

/// The number in the environment variable `name`, else `default`.
pub fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Durations of repeated runs.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// Runs `run` `n` times after one run that is not counted.
    pub fn new<T>(n: usize, mut run: impl FnMut() -> Result<T>) -> Result<Samples> {
        run()?;
        let mut samples = Samples::default();
        for _ in 0..n {
            let started = Instant::now();
            run()?;
            samples.push(started.elapsed());
        }
        Ok(samples)
    }

    pub fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// The smallest duration that `share` of the samples do not exceed. Zero if there are none.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).or(sorted.last()).copied().unwrap_or_default()
    }

    pub fn min(&self) -> Duration {
        self.0.iter().min().copied().unwrap_or_default()
    }

    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }
}

impl Display for Samples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (min, p50, p95) = (ms(self.min()), ms(self.median()), ms(self.quantile(0.95)));
        write!(f, "{p50} ms (min {min}, p95 {p95}, n = {})", self.0.len())
    }
}

/// Milliseconds, with two decimals below 10.
pub fn ms(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1e3;
    if ms < 10.0 { format!("{ms:.2}") } else { format!("{ms:.0}") }
}

pub fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Prints one figure as a line of a table.
pub fn row(corpus: &str, what: &str, value: impl Display) {
    println!("{corpus:<12} {what:<58} {value}");
}
