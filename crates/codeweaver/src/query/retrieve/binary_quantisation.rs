//! Binary quantisation: a scan in two steps, for scopes in which reading all vectors would be most of a
//! query.
//!
//! First the dot products with all rows are estimated from their sign bits, an eighth of the memory. Then the
//! rows with the largest estimates are scored exactly. The choice of these rows depends on the rows of the
//! scope and not on the division into segments, so answers are as reproducible as those of the exact scan.
//! `docs/performance.md` has the recall.

use std::ops::Range;

use codeweaver_base::sys::{self, SignKernel};

use super::exact_scan::{DenseSearch, poll_runs};
use super::parallel;
use super::top_k::TopK;
use crate::query::view::RowId;

/// One in this many rows is scored exactly, unless [`super::Tuning::min_rescored_rows`] are more.
const RESCORED_SHARE: u64 = 64;
/// Vectors that are scored between two polls of [`IsOver`](crate::query::cancel::IsOver).
const POLL_VECTORS: usize = 4096;
/// Number of vectors by which prefetching is ahead of scoring.
const PREFETCH_AHEAD: usize = 8;
/// Estimates that are compared with the limit at once. Most are all below it.
const COMPARED: usize = 64;

/// Returns the rows with the largest estimates and their dot products, by segment.
pub fn nearest(search: &DenseSearch<'_>) -> Vec<Vec<(f32, RowId)>> {
    let kernel = SignKernel::new(search.vector);
    let (n_segments, n_rows) = (search.view.reader.segments.len(), search.scope.n_rows);
    let min_parallel_rows = search.tuning.min_parallel_rows;

    let estimates =
        parallel::map(n_segments, n_rows, min_parallel_rows, |s| Estimates::new(search, s, &kernel));
    let limit = limit(&estimates, search.tuning.min_rescored_rows.max(n_rows / RESCORED_SHARE));

    parallel::map(n_segments, n_rows, min_parallel_rows, |s| rescore(search, s, &estimates[s], limit))
}

/// Estimates of the dot products of the query with the rows of one segment.
struct Estimates {
    /// Estimates by row; only those of rows in scope count. Shorter if the search was over before the end.
    by_row: Vec<u16>,
    /// Number of rows in scope with each estimate.
    histogram: Vec<u32>,
}

impl Estimates {
    fn new(search: &DenseSearch<'_>, s: usize, kernel: &SignKernel) -> Estimates {
        let rows = &search.scope.rows[s];
        let segment = &search.view.reader.segments[s];
        let mut by_row = Vec::new();
        if rows.n_live() == 0 {
            return Estimates { by_row, histogram: Vec::new() };
        }

        let signs = segment.sign_bits();
        by_row.reserve((segment.n_rows() as usize).next_multiple_of(sys::SIGN_BLOCK));
        for part in poll_runs(0..segment.n_rows()) {
            if (search.is_over)() {
                break;
            }
            kernel.estimate(signs.rows(part), &mut by_row);
        }

        let largest = by_row.iter().max().map_or(0, |&largest| usize::from(largest));
        // The counts of even and odd positions are separate: equal estimates often follow each other, and an
        // increment waits for the previous one of the same counter.
        let (mut even, mut odd) = (vec![0; largest + 1], vec![0; largest + 1]);
        for run in rows.runs() {
            for pair in estimates_of(&by_row, &run).chunks(2) {
                even[usize::from(pair[0])] += 1;
                if let Some(&second) = pair.get(1) {
                    odd[usize::from(second)] += 1;
                }
            }
        }

        let histogram = even.iter().zip(odd).map(|(even, odd): (&u32, u32)| even + odd).collect();
        Estimates { by_row, histogram }
    }
}

/// Returns the estimates of the rows of `run`, as far as there are any.
fn estimates_of<'a>(by_row: &'a [u16], run: &Range<u32>) -> &'a [u16] {
    let end = by_row.len().min(run.end as usize);
    &by_row[end.min(run.start as usize)..end]
}

/// Returns the largest estimate that at least `wanted` rows reach, over all segments.
fn limit(estimates: &[Estimates], wanted: u64) -> u16 {
    let largest = estimates.iter().map(|segment| segment.histogram.len()).max().unwrap_or(0);

    let mut n_reaching = 0;
    for estimate in (0..largest).rev() {
        for segment in estimates {
            n_reaching += segment.histogram.get(estimate).map_or(0, |&n| u64::from(n));
        }
        if n_reaching >= wanted {
            return estimate as u16;
        }
    }
    0
}

/// Returns the best rows of segment `s` with an estimate of at least `limit`, with their dot products.
fn rescore(search: &DenseSearch<'_>, s: usize, estimates: &Estimates, limit: u16) -> Vec<(f32, RowId)> {
    let segment = &search.view.reader.segments[s];
    let (vectors, dim) = (segment.vectors(), segment.dim());
    let vector = |row: u32| &vectors[row as usize * dim..][..dim];

    let mut near: Vec<u32> = Vec::new();
    for run in search.scope.rows[s].runs() {
        for (at, part) in estimates_of(&estimates.by_row, &run).chunks(COMPARED).enumerate() {
            // Most groups are skipped by this one comparison.
            if part.iter().fold(0, |largest, &estimate| largest.max(estimate)) >= limit {
                let rows = (run.start + (at * COMPARED) as u32..).zip(part);
                near.extend(rows.filter(|(_, estimate)| **estimate >= limit).map(|(row, _)| row));
            }
        }
    }

    let mut best = TopK::new(search.k);
    for (at, &row) in near.iter().enumerate() {
        if at % POLL_VECTORS == 0 && (search.is_over)() {
            break;
        }
        // These vectors are pages apart, which hardware prefetching does not predict.
        if let Some(&next) = near.get(at + PREFETCH_AHEAD) {
            sys::prefetch(vector(next));
        }
        best.add(search.kernel.dot(vector(row)) as f32, RowId { segment: s as u32, row });
    }

    best.rows
}
