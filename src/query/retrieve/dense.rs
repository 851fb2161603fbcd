//! Nearest vectors: exact scan, scan of signs or graph, as the planner decides (requirement R1).

use super::binary_quantisation;
use super::parallel;
use super::top_k::Best;
use crate::index::hnsw::{MIN_RECALL, MIN_ROWS};
use crate::query::cancel::IsOver;
use crate::query::request::Ann;
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};
use crate::store::hnsw::HnswIndex;
use crate::sys::DotKernel;

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
    /// Graphs were walked, and segments without one scanned.
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

    /// What is done about `n_rows` rows. Only graphs, which are built later and elsewhere, make the choice depend on more than
    /// the question and the view.
    fn choose(ann: Ann, n_rows: u64, has_graphs: bool) -> Method {
        match ann {
            Ann::Auto | Ann::Hnsw if has_graphs => Method::Graphs,
            Ann::Signs => Method::Signs,
            Ann::Auto if n_rows >= binary_quantisation::MIN_ROWS => Method::Signs,
            Ann::Auto | Ann::Exact | Ann::Hnsw => Method::Exact,
        }
    }
}

/// A search for the rows of `scope` that are nearest to `vector`.
///
/// Large scopes are shared among the cores, segment by segment (what it gains: `docs/performance.md`).
pub struct Search<'a> {
    pub view: &'a View,
    pub scope: &'a Scope,
    pub vector: &'a [i8],
    /// Of `vector`.
    pub kernel: &'a DotKernel,
    /// How many of the best must be among those found; at least 1.
    pub keep: usize,
    pub is_over: IsOver<'a>,
}

impl Search<'_> {
    /// Finds them, or some of them once it `is_over`. Integers below 2²⁴ are exact in `f32`.
    pub fn nearest(&self, ann: Ann) -> Nearest {
        let n_segments = self.view.reader.segments.len();
        let graphs: Vec<Option<HnswIndex>> = (0..n_segments).map(|s| self.graph(s, ann)).collect();
        let method = Method::choose(ann, self.scope.n_rows, graphs.iter().any(Option::is_some));
        let of_segments = match method {
            Method::Signs => binary_quantisation::nearest(self),
            Method::Exact | Method::Graphs => {
                parallel::map(n_segments, self.scope.n_rows, |s| match &graphs[s] {
                    Some(graph) => self.walk(s, graph),
                    None => self.scan(s),
                })
            }
        };
        Nearest { rows: of_segments.into_iter().flatten().collect(), method }
    }

    /// The graph to walk for segment `s`, or `None` to scan it.
    fn graph(&self, s: usize, ann: Ann) -> Option<HnswIndex> {
        let segment = &self.view.reader.segments[s];
        let live_share = f64::from(self.scope.rows[s].n_live()) / f64::from(segment.n_rows().max(1));
        let wanted = match ann {
            Ann::Exact | Ann::Signs => false,
            Ann::Hnsw => true,
            Ann::Auto => self.scope.n_rows >= MIN_ROWS && live_share >= MIN_LIVE_SHARE,
        };
        if !wanted {
            return None;
        }
        let path = self.view.reader.layout.graph(&self.view.reader.state.segments[s].name);
        // A graph that is missing or damaged only means that the scan answers.
        let graph = HnswIndex::open(&path, segment.n_rows()).ok()?;
        (ann == Ann::Hnsw || graph.header().recall >= MIN_RECALL).then_some(graph)
    }

    fn walk(&self, s: usize, graph: &HnswIndex) -> Vec<(f32, RowId)> {
        let segment = &self.view.reader.segments[s];
        let ef = (graph.header().ef as usize).max(self.keep * 3);
        let live = &self.scope.rows[s];
        let walked = graph.search(segment.vectors(), segment.dim(), self.kernel, live, self.keep, ef);
        let id = |row| RowId { segment: s as u32, row };
        walked.into_iter().map(|(dot, row)| (dot as f32, id(row))).collect()
    }

    /// The rows of segment `s` but those that cannot be among the best.
    fn scan(&self, s: usize) -> Vec<(f32, RowId)> {
        let segment = &self.view.reader.segments[s];
        let (vectors, dim) = (segment.vectors(), segment.dim());
        let mut best = Best::new(self.keep);
        for run in self.scope.rows[s].runs().flat_map(parts) {
            if (self.is_over)() {
                break;
            }
            let of_run = &vectors[run.start as usize * dim..run.end as usize * dim];
            for (row, vector) in run.zip(of_run.chunks_exact(dim)) {
                best.add(self.kernel.dot(vector) as f32, RowId { segment: s as u32, row });
            }
        }
        best.rows
    }
}

/// A run in parts of at most [`PART`] rows.
pub(super) fn parts(run: std::ops::Range<u32>) -> impl Iterator<Item = std::ops::Range<u32>> {
    run.clone().step_by(PART as usize).map(move |start| start..run.end.min(start.saturating_add(PART)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_scopes_are_not_read_whole() {
        let (few, many) = (binary_quantisation::MIN_ROWS - 1, binary_quantisation::MIN_ROWS);
        assert_eq!(Method::choose(Ann::Auto, few, false), Method::Exact);
        assert_eq!(Method::choose(Ann::Auto, many, false), Method::Signs);
        assert_eq!(Method::choose(Ann::Auto, many, true), Method::Graphs);
        assert_eq!(Method::choose(Ann::Exact, many, true), Method::Exact);
        assert_eq!(Method::choose(Ann::Signs, few, true), Method::Signs);
        assert_eq!(Method::choose(Ann::Hnsw, few, true), Method::Graphs);
        // Nothing is called a graph that is none.
        assert_eq!(Method::choose(Ann::Hnsw, many, false), Method::Exact);
    }
}
