//! A scan in two steps, for scopes in which reading all vectors is most of a question.
//!
//! First the signs of all vectors are compared with those of the query, an eighth of the memory; then the vectors of the
//! nearest by that measure are read. Which ones that are depends on the rows of the scope alone and not on how the store is
//! segmented, so answers are as reproducible as those of the exact scan; of its best ten, 99.5 % are found
//! (`docs/performance.md`).

use super::best::Best;
use super::cancel::IsOver;
use super::dense::parts;
use super::filter::Scope;
use super::parallel;
use super::view::{RowId, View};
use crate::mem::{self, DotKernel};
use crate::store::signs;

/// Fewer rows are scanned exactly, which takes about as long.
pub const MIN_ROWS: u64 = 200_000;
/// Vectors that are read: this many, or one in [`SHARE`] if that is more. Debug builds are what tests run: they leave rows out.
const LEAST_READ: u64 = if cfg!(debug_assertions) { 8 } else { 16 * 1024 };
const SHARE: u64 = 36;

/// Rows near `query` with their dot products, per segment: those of the best `keep` whose signs are near.
pub fn nearest(
    view: &View,
    scope: &Scope,
    query: &[i8],
    kernel: &DotKernel,
    keep: usize,
    is_over: IsOver<'_>,
) -> Vec<Vec<(f32, RowId)>> {
    let query = signs::of_rows(query, query.len());
    let n_segments = view.reader.segments.len();
    let distances = parallel::map(n_segments, scope.n_rows, |s| distances(view, scope, s, &query, is_over));
    let wanted = LEAST_READ.max(scope.n_rows / SHARE);
    let limit = limit(&distances, wanted);
    parallel::map(n_segments, scope.n_rows, |s| {
        read(view, scope, s, &distances[s], limit, kernel, keep, is_over)
    })
}

/// Of each live row of segment `s`, in order; as far as it came before it was over.
fn distances(view: &View, scope: &Scope, s: usize, query: &[u64], is_over: IsOver<'_>) -> Vec<u16> {
    let mut distances = Vec::with_capacity(scope.rows[s].n_live() as usize);
    for run in scope.rows[s].runs().flat_map(parts) {
        if is_over() {
            break;
        }
        mem::sign_distances(query, &view.reader.segments[s].signs(run), &mut distances);
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

#[allow(clippy::too_many_arguments)]
fn read(
    view: &View,
    scope: &Scope,
    s: usize,
    distances: &[u16],
    limit: u16,
    kernel: &DotKernel,
    keep: usize,
    is_over: IsOver<'_>,
) -> Vec<(f32, RowId)> {
    let segment = &view.reader.segments[s];
    let (vectors, dim) = (segment.vectors(), segment.dim());
    let mut best = Best::new(keep);
    let rows = scope.rows[s].runs().flatten();
    for (at, (row, _)) in rows.zip(distances).enumerate().filter(|(_, (_, distance))| **distance <= limit) {
        if at % 4096 == 0 && is_over() {
            break;
        }
        let vector = &vectors[row as usize * dim..][..dim];
        best.add(kernel.dot(vector) as f32, RowId { segment: s as u32, row });
    }
    best.rows
}
