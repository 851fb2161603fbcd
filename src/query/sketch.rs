//! A scan in two steps, for scopes in which reading all vectors is most of a question.
//!
//! First the signs of all vectors are compared with those of the query, an eighth of the memory; then the vectors of the
//! nearest by that measure are read. Which ones that are depends on the rows of the scope alone and not on how the store is
//! segmented, so answers are as reproducible as those of the exact scan. How many of its best are found:
//! `docs/performance.md`.

use super::best::Best;
use super::dense::{Search, parts};
use super::parallel;
use super::view::RowId;
use crate::mem;
use crate::store::signs;

/// Fewer rows are scanned exactly, which takes about as long.
pub const MIN_ROWS: u64 = 200_000;
/// Vectors that are read: this many, or one in [`SHARE`] if that is more. Debug builds are what tests run: they leave rows out.
const LEAST_READ: u64 = if cfg!(debug_assertions) { 8 } else { 16 * 1024 };
const SHARE: u64 = 36;
/// Vectors that are read before anybody asks whether the answer is still wanted.
const PART: usize = 4096;

/// Rows near the vector with their dot products, per segment: those of the best whose signs are near.
pub fn nearest(search: &Search<'_>) -> Vec<Vec<(f32, RowId)>> {
    let query = signs::of_rows(search.vector, search.vector.len());
    let (n_segments, n_rows) = (search.view.reader.segments.len(), search.scope.n_rows);
    let distances = parallel::map(n_segments, n_rows, |s| distances(search, s, &query));
    let limit = limit(&distances, LEAST_READ.max(n_rows / SHARE));
    parallel::map(n_segments, n_rows, |s| read(search, s, &distances[s], limit))
}

/// Of each row of the scope in segment `s`, in order; as far as it came before it was over.
fn distances(search: &Search<'_>, s: usize, query: &[u64]) -> Vec<u16> {
    let rows = &search.scope.rows[s];
    let signs = search.view.reader.segments[s].signs();
    let mut distances = Vec::with_capacity(rows.n_live() as usize);
    for run in rows.runs().flat_map(parts) {
        if (search.is_over)() {
            break;
        }
        mem::sign_distances(query, &signs.of(run), &mut distances);
    }
    distances
}

/// The least distance within which `wanted` rows lie.
fn limit(distances: &[Vec<u16>], wanted: u64) -> u16 {
    let mut counts: Vec<u64> = Vec::new();
    for &distance in distances.iter().flatten() {
        if counts.len() <= usize::from(distance) {
            counts.resize(usize::from(distance) + 1, 0);
        }
        counts[usize::from(distance)] += 1;
    }
    let mut sum = 0;
    let reached = counts.iter().position(|count| {
        sum += count;
        sum >= wanted
    });
    reached.map_or(u16::MAX, |distance| distance as u16)
}

/// The rows of segment `s` within `limit` but those that cannot be among the best.
fn read(search: &Search<'_>, s: usize, distances: &[u16], limit: u16) -> Vec<(f32, RowId)> {
    let segment = &search.view.reader.segments[s];
    let (vectors, dim) = (segment.vectors(), segment.dim());
    let mut best = Best::new(search.keep);
    let near =
        search.scope.rows[s].runs().flatten().zip(distances).filter(|(_, distance)| **distance <= limit);
    for (n_read, (row, _)) in near.enumerate() {
        if n_read % PART == 0 && (search.is_over)() {
            break;
        }
        let vector = &vectors[row as usize * dim..][..dim];
        best.add(search.kernel.dot(vector) as f32, RowId { segment: s as u32, row });
    }
    best.rows
}
