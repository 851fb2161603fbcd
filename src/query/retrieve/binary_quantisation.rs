//! A scan in two steps, for scopes in which reading all vectors is most of a question.
//!
//! First the signs of all vectors are compared with those of the query, an eighth of the memory; then the vectors of the
//! nearest by that measure are read. Which ones that are depends on the rows of the scope alone and not on how the store is
//! segmented, so answers are as reproducible as those of the exact scan. How many of its best are found:
//! `docs/performance.md`.

use super::dense::{Search, parts};
use super::parallel;
use super::top_k::Best;
use crate::query::view::RowId;
use crate::store::binary_quantisation;
use crate::sys;

/// Fewer rows are scanned exactly, which takes about as long.
pub const MIN_ROWS: u64 = 200_000;
/// Vectors that are read: this many, or one in [`SHARE`] if that is more. Debug builds are what tests run: they leave rows out.
const LEAST_READ: u64 = if cfg!(debug_assertions) { 8 } else { 16 * 1024 };
const SHARE: u64 = 36;
/// Vectors that are read before anybody asks whether the answer is still wanted.
const PART: usize = 4096;
/// How far ahead of its reading a vector is fetched into the cache.
const AHEAD: usize = 8;

/// Rows near the vector with their dot products, per segment: those of the best whose signs are near.
pub fn nearest(search: &Search<'_>) -> Vec<Vec<(f32, RowId)>> {
    let query = binary_quantisation::of_rows(search.vector, search.vector.len());
    let (n_segments, n_rows) = (search.view.reader.segments.len(), search.scope.n_rows);
    let distances = parallel::map(n_segments, n_rows, |s| Distances::of(search, s, &query));
    let limit = limit(&distances, LEAST_READ.max(n_rows / SHARE));
    parallel::map(n_segments, n_rows, |s| read(search, s, &distances[s], limit))
}

/// How many signs of each row of the scope in a segment differ from those of the query.
struct Distances {
    /// In order, as far as they came before it was over.
    of_rows: Vec<u16>,
    /// How many rows there are at each distance.
    at_distance: Vec<u64>,
}

impl Distances {
    fn of(search: &Search<'_>, s: usize, query: &[u64]) -> Distances {
        let rows = &search.scope.rows[s];
        let signs = search.view.reader.segments[s].sign_bits();
        let mut of_rows = Vec::with_capacity(rows.n_live() as usize);
        for run in rows.runs().flat_map(parts) {
            if (search.is_over)() {
                break;
            }
            sys::hamming_distances(query, &signs.of(run), &mut of_rows);
        }
        let mut at_distance = vec![0; 64 * query.len() + 1];
        for &distance in &of_rows {
            at_distance[usize::from(distance)] += 1;
        }
        Distances { of_rows, at_distance }
    }
}

/// The least distance within which `wanted` rows lie.
fn limit(distances: &[Distances], wanted: u64) -> u16 {
    let n_distances = distances.first().map_or(0, |of_segment| of_segment.at_distance.len());
    let mut sum = 0;
    let reached = (0..n_distances).find(|&distance| {
        sum += distances.iter().map(|of_segment| of_segment.at_distance[distance]).sum::<u64>();
        sum >= wanted
    });
    reached.map_or(u16::MAX, |distance| distance as u16)
}

/// The rows of segment `s` within `limit` but those that cannot be among the best.
fn read(search: &Search<'_>, s: usize, distances: &Distances, limit: u16) -> Vec<(f32, RowId)> {
    let segment = &search.view.reader.segments[s];
    let (vectors, dim) = (segment.vectors(), segment.dim());
    let vector = |row: u32| &vectors[row as usize * dim..][..dim];
    let rows = search.scope.rows[s].runs().flatten().zip(&distances.of_rows);
    let near: Vec<u32> = rows.filter(|(_, distance)| **distance <= limit).map(|(row, _)| row).collect();
    let mut best = Best::new(search.keep);
    for (at, &row) in near.iter().enumerate() {
        if at % PART == 0 && (search.is_over)() {
            break;
        }
        // They lie pages apart, which no processor foresees.
        if let Some(&next) = near.get(at + AHEAD) {
            sys::prefetch(vector(next));
        }
        best.add(search.kernel.dot(vector(row)) as f32, RowId { segment: s as u32, row });
    }
    best.rows
}
