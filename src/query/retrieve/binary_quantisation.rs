//! Binary quantisation: a scan in two steps, for scopes in which reading all vectors would be most of a
//! query.
//!
//! First the sign bits of all vectors, an eighth of the memory, are compared with those of the query. Then
//! the vectors with the least Hamming distances are scored exactly. Which ones these are depends on the rows
//! of the scope and not on how the store is segmented, so answers are as reproducible as those of the exact
//! scan. `docs/performance.md` has the recall.

use super::exact_scan::{DenseSearch, poll_runs};
use super::parallel;
use super::top_k::TopK;
use crate::query::view::RowId;
use crate::store::binary_quantisation;
use crate::sys;

/// One in this many rows is scored exactly, unless [`super::Tuning::min_rescored_rows`] are more.
const RESCORED_SHARE: u64 = 36;
/// Vectors that are scored between two polls of [`IsOver`](crate::query::cancel::IsOver).
const POLL_VECTORS: usize = 4096;
/// Number of vectors by which prefetching is ahead of scoring.
const PREFETCH_AHEAD: usize = 8;

/// The rows with the least Hamming distances and their dot products, by segment.
pub fn nearest(search: &DenseSearch<'_>) -> Vec<Vec<(f32, RowId)>> {
    let query = binary_quantisation::of_rows(search.vector, search.vector.len());
    let (n_segments, n_rows) = (search.view.reader.segments.len(), search.scope.n_rows);
    let min_parallel_rows = search.tuning.min_parallel_rows;
    let distances =
        parallel::map(n_segments, n_rows, min_parallel_rows, |s| Distances::new(search, s, &query));
    let limit = limit(&distances, search.tuning.min_rescored_rows.max(n_rows / RESCORED_SHARE));
    parallel::map(n_segments, n_rows, min_parallel_rows, |s| rescore(search, s, &distances[s], limit))
}

/// Hamming distances between the query and the rows of the scope in one segment.
struct Distances {
    /// In the order of the rows; shorter if it was over before the end.
    of_rows: Vec<u16>,
    /// Number of rows at each distance.
    histogram: Vec<u64>,
}

impl Distances {
    fn new(search: &DenseSearch<'_>, s: usize, query: &[u64]) -> Distances {
        let rows = &search.scope.rows[s];
        let signs = search.view.reader.segments[s].sign_bits();
        let mut of_rows = Vec::with_capacity(rows.n_live() as usize);
        for run in rows.runs().flat_map(poll_runs) {
            if (search.is_over)() {
                break;
            }
            sys::hamming_distances(query, &signs.of(run), &mut of_rows);
        }
        let mut histogram = vec![0; 64 * query.len() + 1];
        for &distance in &of_rows {
            histogram[usize::from(distance)] += 1;
        }
        Distances { of_rows, histogram }
    }
}

/// The least distance within which there are at least `wanted` rows, over all segments.
fn limit(distances: &[Distances], wanted: u64) -> u16 {
    let n_distances = distances.first().map_or(0, |of_segment| of_segment.histogram.len());
    let mut sum = 0;
    let reached = (0..n_distances).find(|&distance| {
        sum += distances.iter().map(|of_segment| of_segment.histogram[distance]).sum::<u64>();
        sum >= wanted
    });
    reached.map_or(u16::MAX, |distance| distance as u16)
}

/// The best rows of segment `s` within `limit`, with their dot products.
fn rescore(search: &DenseSearch<'_>, s: usize, distances: &Distances, limit: u16) -> Vec<(f32, RowId)> {
    let segment = &search.view.reader.segments[s];
    let (vectors, dim) = (segment.vectors(), segment.dim());
    let vector = |row: u32| &vectors[row as usize * dim..][..dim];
    let rows = search.scope.rows[s].runs().flatten().zip(&distances.of_rows);
    let near: Vec<u32> = rows.filter(|(_, distance)| **distance <= limit).map(|(row, _)| row).collect();
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
