//! Time to rank with the weights before and after. Other load on the machine only adds time, so the time of a
//! query is its best run.

use codeweaver::query::rank::Weights;

use crate::metric::DEPTH;
use crate::runner::Runner;

/// Least number of runs of all queries with each of the weights.
const MIN_RUNS: usize = 3;
/// Most runs, if the times stay unacceptable.
const MAX_RUNS: usize = 20;

/// Returns the median times of the queries with the weights before and after, in microseconds.
///
/// The weights take turns, so that neither finds the caches colder, until the medians are acceptable or
/// [`MAX_RUNS`] are done.
pub fn measure(
    runners: &[&Runner],
    (before, after): (&Weights, &Weights),
    is_acceptable: impl Fn((u64, u64)) -> bool,
) -> (u64, u64) {
    let (mut best_before, mut best_after) = (Vec::new(), Vec::new());
    let mut medians = (0, 0);

    for n_runs in 1..=MAX_RUNS {
        keep_best(&mut best_before, run(runners, before));
        keep_best(&mut best_after, run(runners, after));
        medians = (median(&best_before), median(&best_after));
        // Load on the machine only adds time, so more runs can only lower the medians.
        if n_runs >= MIN_RUNS && is_acceptable(medians) {
            break;
        }
    }

    medians
}

/// Runs all queries and returns the time of each, in microseconds.
fn run(runners: &[&Runner], weights: &Weights) -> Vec<u64> {
    let reports = runners.iter().map(|runner| runner.run(weights, DEPTH));
    reports.flat_map(|report| report.queries).map(|query| query.micros).collect()
}

/// Lowers `best` to the times of another run. It is empty before the first run.
fn keep_best(best: &mut Vec<u64>, run: Vec<u64>) {
    if best.is_empty() {
        *best = run;
    } else {
        best.iter_mut().zip(run).for_each(|(best, micros)| *best = micros.min(*best));
    }
}

/// Returns the median; 0 if there are no times.
fn median(micros: &[u64]) -> u64 {
    let mut sorted = micros.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_query_is_its_best_run() {
        let mut best = Vec::new();
        keep_best(&mut best, vec![5, 90, 7]);
        keep_best(&mut best, vec![80, 6, 8]);
        assert_eq!(best, [5, 6, 7]);
        assert_eq!((median(&best), median(&[9]), median(&[])), (6, 9, 0));
    }
}
