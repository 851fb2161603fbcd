//! Nearest vectors: exact scan or graph, as the planner decides (requirement R1).

use super::filter::Scope;
use super::request::Ann;
use super::view::{RowId, View};
use crate::index::graph::{MIN_RECALL, MIN_ROWS};
use crate::mem::DotKernel;
use crate::store::graph::Graph;

/// A graph is walked only if at least this share of a segment's rows may be found: with fewer, most of the walk is in vain.
const MIN_LIVE_SHARE: f64 = 0.5;

/// Rows that are scanned before anybody asks whether the answer is still wanted: a few milliseconds of work.
const PART: u32 = 1 << 16;

/// Rows with their dot products; all of them where a segment is scanned, the best `keep` where its graph is walked.
pub struct Nearest {
    pub rows: Vec<(f32, RowId)>,
    /// True if any graph was used.
    pub used_graph: bool,
}

/// Finds the rows of `scope` that are nearest to the query, or some of them once it `is_over`. Integers below 2²⁴ are exact
/// in `f32`.
pub fn nearest(
    view: &View,
    scope: &Scope,
    kernel: &DotKernel,
    ann: Ann,
    keep: usize,
    is_over: &dyn Fn() -> bool,
) -> Nearest {
    let mut found = Nearest { rows: Vec::new(), used_graph: false };
    for (s, segment) in view.reader.segments.iter().enumerate() {
        let row_id = |row| RowId { segment: s as u32, row };
        match plan(view, scope, s, ann) {
            Some(graph) => {
                let ef = graph.header().ef as usize;
                let walked = graph.search(
                    segment.vectors(),
                    segment.dim(),
                    kernel,
                    &scope.rows[s],
                    keep,
                    ef.max(keep * 2),
                );
                found.rows.extend(walked.into_iter().map(|(dot, row)| (dot as f32, row_id(row))));
                found.used_graph = true;
            }
            None => scan(view, scope, s, kernel, keep, &mut found.rows, is_over),
        }
    }
    found
}

/// The graph to walk for segment `s`, or `None` to scan it.
fn plan(view: &View, scope: &Scope, s: usize, ann: Ann) -> Option<Graph> {
    let segment = &view.reader.segments[s];
    let live_share = f64::from(scope.rows[s].n_live()) / f64::from(segment.n_rows().max(1));
    let wanted = match ann {
        Ann::Exact => false,
        Ann::Hnsw => true,
        Ann::Auto => scope.n_rows >= MIN_ROWS && live_share >= MIN_LIVE_SHARE,
    };
    if !wanted {
        return None;
    }
    let path = view.reader.layout.graph(&view.reader.state.segments[s].name);
    // A graph that is missing or damaged only means that the scan answers.
    let graph = Graph::open(&path, segment.n_rows()).ok()?;
    (ann == Ann::Hnsw || graph.header().recall >= MIN_RECALL).then_some(graph)
}

/// Appends the rows of one segment, dropping those that cannot be among the best `keep`.
fn scan(
    view: &View,
    scope: &Scope,
    s: usize,
    kernel: &DotKernel,
    keep: usize,
    out: &mut Vec<(f32, RowId)>,
    is_over: &dyn Fn() -> bool,
) {
    let segment = &view.reader.segments[s];
    let (vectors, dim) = (segment.vectors(), segment.dim());
    let first = out.len();
    let mut threshold = f32::NEG_INFINITY;
    let mut most = keep * 8;
    for run in scope.rows[s].runs().flat_map(parts) {
        if is_over() {
            return;
        }
        let of_run = &vectors[run.start as usize * dim..run.end as usize * dim];
        for (row, vector) in run.zip(of_run.chunks_exact(dim)) {
            let dot = kernel.dot(vector) as f32;
            if dot < threshold {
                continue;
            }
            out.push((dot, RowId { segment: s as u32, row }));
            if out.len() - first >= most {
                // Everything equal to the last that is kept stays: ties are cut later, by blob and position.
                let tail = &mut out[first..];
                tail.select_nth_unstable_by(keep - 1, |a, b| b.0.total_cmp(&a.0));
                threshold = tail[keep - 1].0;
                let kept: Vec<(f32, RowId)> =
                    tail.iter().copied().filter(|(dot, _)| *dot >= threshold).collect();
                out.truncate(first);
                out.extend(kept);
                // Thousands of equal vectors must not be looked through again for each one more.
                most = most.max(2 * (out.len() - first));
            }
        }
    }
}

/// A run in parts of at most [`PART`] rows.
fn parts(run: std::ops::Range<u32>) -> impl Iterator<Item = std::ops::Range<u32>> {
    run.clone().step_by(PART as usize).map(move |start| start..run.end.min(start.saturating_add(PART)))
}
