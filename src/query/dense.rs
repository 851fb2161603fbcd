//! Nearest vectors: exact scan or graph, as the planner decides (requirement R1).

use super::cancel::IsOver;
use super::filter::Scope;
use super::request::Ann;
use super::view::{RowId, View};
use crate::index::graph::{MIN_RECALL, MIN_ROWS};
pub use crate::mem::DotKernel;
use crate::store::graph::Graph;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A graph is walked only if at least this share of a segment's rows may be found: with fewer, most of the walk is in vain.
const MIN_LIVE_SHARE: f64 = 0.5;
/// Below this many rows a scan is over before a thread has started. Debug builds are what tests run: they share nearly always.
const MIN_ROWS_IN_PARALLEL: u64 = if cfg!(debug_assertions) { 8 } else { 64 * 1024 };

/// Rows that are scanned before anybody asks whether the answer is still wanted: about a millisecond of work.
const PART: u32 = 1 << 16;

/// Rows with their dot products; all of them where a segment is scanned, the best `keep` where its graph is walked.
pub struct Nearest {
    pub rows: Vec<(f32, RowId)>,
    /// True if any graph was used.
    pub used_graph: bool,
}

/// Finds the rows of `scope` that are nearest to the query, or some of them once it `is_over`. Integers below 2²⁴ are exact
/// in `f32`.
///
/// Large scopes are shared among the cores, segment by segment (what it gains: `docs/performance.md`).
pub fn nearest(
    view: &View,
    scope: &Scope,
    kernel: &DotKernel,
    ann: Ann,
    keep: usize,
    is_over: IsOver<'_>,
) -> Nearest {
    let n_segments = view.reader.segments.len();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let n_threads = if scope.n_rows < MIN_ROWS_IN_PARALLEL { 1 } else { cores.min(n_segments) };
    let next = AtomicUsize::new(0);
    let take = || -> Vec<(usize, Nearest)> {
        let segments = std::iter::from_fn(|| Some(next.fetch_add(1, Relaxed)).filter(|&s| s < n_segments));
        segments.map(|s| (s, nearest_of_segment(view, scope, s, kernel, ann, keep, is_over))).collect()
    };
    let mut of_segments = std::thread::scope(|threads| {
        // A thread that cannot be had is only missing help.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(threads, take).ok();
        let helpers: Vec<_> = (1..n_threads).filter_map(spawn).collect();
        let mut done = take();
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    of_segments.sort_unstable_by_key(|(s, _)| *s);
    let mut found = Nearest { rows: Vec::new(), used_graph: false };
    for (_, of_segment) in of_segments {
        found.rows.extend(of_segment.rows);
        found.used_graph |= of_segment.used_graph;
    }
    found
}

fn nearest_of_segment(
    view: &View,
    scope: &Scope,
    s: usize,
    kernel: &DotKernel,
    ann: Ann,
    keep: usize,
    is_over: IsOver<'_>,
) -> Nearest {
    let segment = &view.reader.segments[s];
    let Some(graph) = plan(view, scope, s, ann) else {
        return Nearest { rows: scan(view, scope, s, kernel, keep, is_over), used_graph: false };
    };
    let ef = (graph.header().ef as usize).max(keep * 3);
    let walked = graph.search(segment.vectors(), segment.dim(), kernel, &scope.rows[s], keep, ef);
    let id = |row| RowId { segment: s as u32, row };
    Nearest { rows: walked.into_iter().map(|(dot, row)| (dot as f32, id(row))).collect(), used_graph: true }
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

/// The rows of one segment but those that cannot be among the best `keep`.
fn scan(
    view: &View,
    scope: &Scope,
    s: usize,
    kernel: &DotKernel,
    keep: usize,
    is_over: IsOver<'_>,
) -> Vec<(f32, RowId)> {
    let segment = &view.reader.segments[s];
    let (vectors, dim) = (segment.vectors(), segment.dim());
    let mut out: Vec<(f32, RowId)> = Vec::new();
    let mut threshold = f32::NEG_INFINITY;
    let mut most = keep * 8;
    for run in scope.rows[s].runs().flat_map(parts) {
        if is_over() {
            break;
        }
        let of_run = &vectors[run.start as usize * dim..run.end as usize * dim];
        for (row, vector) in run.zip(of_run.chunks_exact(dim)) {
            let dot = kernel.dot(vector) as f32;
            if dot < threshold {
                continue;
            }
            out.push((dot, RowId { segment: s as u32, row }));
            if out.len() >= most {
                // Everything equal to the last that is kept stays: ties are cut later, by blob and position.
                out.select_nth_unstable_by(keep - 1, |a, b| b.0.total_cmp(&a.0));
                threshold = out[keep - 1].0;
                out.retain(|(dot, _)| *dot >= threshold);
                // Thousands of equal vectors must not be looked through again for each one more.
                most = most.max(2 * out.len());
            }
        }
    }
    out
}

/// A run in parts of at most [`PART`] rows.
fn parts(run: std::ops::Range<u32>) -> impl Iterator<Item = std::ops::Range<u32>> {
    run.clone().step_by(PART as usize).map(move |start| start..run.end.min(start.saturating_add(PART)))
}
