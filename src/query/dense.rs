//! Nearest vectors: exact scan, scan of signs or graph, as the planner decides (requirement R1).

use super::best::Best;
use super::cancel::IsOver;
use super::filter::Scope;
use super::parallel;
use super::request::Ann;
use super::sketch;
use super::view::{RowId, View};
use crate::index::graph::{MIN_RECALL, MIN_ROWS};
use crate::mem::DotKernel;
use crate::store::graph::Graph;

/// A graph is walked only if at least this share of a segment's rows may be found: with fewer, most of the walk is in vain.
const MIN_LIVE_SHARE: f64 = 0.5;
/// Rows that are scanned before anybody asks whether the answer is still wanted: about a millisecond of work.
const PART: u32 = 1 << 16;

/// Rows with their dot products: all but those that cannot be among the best.
pub struct Nearest {
    pub rows: Vec<(f32, RowId)>,
    pub method: Method,
}

/// How the nearest rows were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Every vector was read.
    Exact,
    /// Those whose signs are nearest were read ([`super::sketch`]).
    Signs,
    /// Graphs were walked, where there are any.
    Graphs,
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Method::Exact => "dense_exact",
            Method::Signs => "dense_signs",
            Method::Graphs => "dense_hnsw",
        }
    }
}

/// Finds the rows of `scope` that are nearest to `query`, or some of them once it `is_over`. Integers below 2²⁴ are exact
/// in `f32`.
///
/// Large scopes are shared among the cores, segment by segment (what it gains: `docs/performance.md`).
pub fn nearest(
    view: &View,
    scope: &Scope,
    query: &[i8],
    ann: Ann,
    keep: usize,
    is_over: IsOver<'_>,
) -> Nearest {
    let kernel = DotKernel::new(query);
    let n_segments = view.reader.segments.len();
    let has_graph = || (0..n_segments).any(|s| plan(view, scope, s, ann).is_some());
    let method = match ann {
        Ann::Exact => Method::Exact,
        Ann::Signs => Method::Signs,
        Ann::Hnsw => Method::Graphs,
        Ann::Auto if scope.n_rows < sketch::MIN_ROWS => Method::Exact,
        Ann::Auto if has_graph() => Method::Graphs,
        Ann::Auto if view.reader.segments.iter().all(|segment| segment.has_signs()) => Method::Signs,
        Ann::Auto => Method::Exact,
    };
    let of_segments = match method {
        Method::Signs => sketch::nearest(view, scope, query, &kernel, keep, is_over),
        Method::Exact | Method::Graphs => parallel::map(n_segments, scope.n_rows, |s| {
            nearest_of_segment(view, scope, s, &kernel, ann, keep, is_over)
        }),
    };
    Nearest { rows: of_segments.into_iter().flatten().collect(), method }
}

fn nearest_of_segment(
    view: &View,
    scope: &Scope,
    s: usize,
    kernel: &DotKernel,
    ann: Ann,
    keep: usize,
    is_over: IsOver<'_>,
) -> Vec<(f32, RowId)> {
    let segment = &view.reader.segments[s];
    let Some(graph) = plan(view, scope, s, ann) else {
        return scan(view, scope, s, kernel, keep, is_over);
    };
    let ef = (graph.header().ef as usize).max(keep * 3);
    let walked = graph.search(segment.vectors(), segment.dim(), kernel, &scope.rows[s], keep, ef);
    let id = |row| RowId { segment: s as u32, row };
    walked.into_iter().map(|(dot, row)| (dot as f32, id(row))).collect()
}

/// The graph to walk for segment `s`, or `None` to scan it.
fn plan(view: &View, scope: &Scope, s: usize, ann: Ann) -> Option<Graph> {
    let segment = &view.reader.segments[s];
    let live_share = f64::from(scope.rows[s].n_live()) / f64::from(segment.n_rows().max(1));
    let wanted = match ann {
        Ann::Exact | Ann::Signs => false,
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
    let mut best = Best::new(keep);
    for run in scope.rows[s].runs().flat_map(parts) {
        if is_over() {
            break;
        }
        let of_run = &vectors[run.start as usize * dim..run.end as usize * dim];
        for (row, vector) in run.zip(of_run.chunks_exact(dim)) {
            best.add(kernel.dot(vector) as f32, RowId { segment: s as u32, row });
        }
    }
    best.rows
}

/// A run in parts of at most [`PART`] rows.
pub(super) fn parts(run: std::ops::Range<u32>) -> impl Iterator<Item = std::ops::Range<u32>> {
    run.clone().step_by(PART as usize).map(move |start| start..run.end.min(start.saturating_add(PART)))
}
