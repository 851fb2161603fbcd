//! Exact scan: every dot product of a segment.

use std::ops::Range;

use codeweaver_base::sys::DotKernel;
use codeweaver_store::hnsw::QueryKind;

use super::top_k::TopK;
use super::tuning::Tuning;
use crate::query::cancel::IsOver;
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};

/// Rows that are scanned between two polls of [`IsOver`]: about a millisecond of work.
const POLL_ROWS: u32 = 1 << 16;

/// A search for the rows of `scope` that are nearest to `vector`.
///
/// Large scopes are divided among threads by segment; `docs/performance.md` has the times.
pub struct DenseSearch<'a> {
    pub view: &'a View,
    pub scope: &'a Scope,
    pub vector: &'a [i8],
    /// For `vector`.
    pub kernel: &'a DotKernel,
    pub kind: QueryKind,
    /// Number of rows that must be among those found, at least 1.
    pub k: usize,
    pub tuning: Tuning,
    pub is_over: IsOver<'a>,
}

impl DenseSearch<'_> {
    /// Returns whether the vectors of the view have as many components as that of the query.
    pub fn fits(&self) -> bool {
        let segments = &self.view.reader.segments;
        segments.iter().all(|segment| segment.n_rows() == 0 || segment.dim() == self.vector.len())
    }

    /// Returns the best rows of segment `s`, or of its beginning if the search is over before the end.
    pub(super) fn scan(&self, s: usize) -> Vec<(f32, RowId)> {
        let segment = &self.view.reader.segments[s];
        let (vectors, dim) = (segment.vectors(), segment.dim());
        let mut best = TopK::new(self.k);

        for run in self.scope.rows[s].runs().flat_map(poll_runs) {
            if (self.is_over)() {
                break;
            }

            let run_vectors = &vectors[run.start as usize * dim..run.end as usize * dim];
            for (row, vector) in run.zip(run_vectors.chunks_exact(dim)) {
                best.add(self.kernel.dot(vector) as f32, RowId { segment: s as u32, row });
            }
        }

        best.rows
    }
}

/// Splits a run of rows into parts of at most [`POLL_ROWS`].
pub(super) fn poll_runs(run: Range<u32>) -> impl Iterator<Item = Range<u32>> {
    run.clone()
        .step_by(POLL_ROWS as usize)
        .map(move |start| start..run.end.min(start.saturating_add(POLL_ROWS)))
}
