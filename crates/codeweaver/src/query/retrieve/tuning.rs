//! Thresholds of retrieval that depend on the machine and not on the query.

/// Sizes from which faster methods pay off. Answers to the same view do not depend on `min_parallel_rows`;
/// the others decide how many rows are scored exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tuning {
    /// Minimum number of rows for which segments are divided among threads. Below, starting the work costs as
    /// much as it saves.
    pub min_parallel_rows: u64,
    /// Minimum number of rows in scope for which [`Ann::Auto`](crate::query::Ann::Auto) uses binary
    /// quantisation. Below, an exact scan takes at most a millisecond.
    pub min_quantised_rows: u64,
    /// Minimum number of rows that binary quantisation scores exactly.
    pub min_rescored_rows: u64,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning { min_parallel_rows: 64 * 1024, min_quantised_rows: 64 * 1024, min_rescored_rows: 4 * 1024 }
    }
}

impl Tuning {
    /// Thresholds that make a small index use threads and leave rows out, for tests.
    pub fn for_small_indexes() -> Tuning {
        Tuning { min_parallel_rows: 8, min_rescored_rows: 8, ..Tuning::default() }
    }
}
