//! Dense retrieval: the rows whose vectors are nearest to that of the query, by exact scan, binary
//! quantisation or HNSW.

use codeweaver_index::hnsw::{MIN_RECALL, MIN_ROWS};
use codeweaver_store::hnsw::search::HnswSearch;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{HnswIndex, Layers as _};

use super::binary_quantisation;
use super::parallel;
use crate::query::request::Ann;
use crate::query::response::Strategy;
use crate::query::view::RowId;

pub use super::exact_scan::DenseSearch;

/// Minimum share of a graph's rows in scope for which [`Ann::Auto`] uses the graph. With fewer, most of the
/// search visits rows out of scope, and a scan of those in scope costs less.
const MIN_LIVE_SHARE: f64 = 0.5;

/// Result of [`DenseSearch::nearest`].
pub struct Nearest {
    /// Rows with their dot products, in no order; at least the best `k`, or those found before the search was
    /// over.
    pub rows: Vec<(f32, RowId)>,
    pub method: Method,
}

/// Method by which rows were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Exact scan.
    Exact,
    /// Binary quantisation ([`super::binary_quantisation`]).
    Signs,
    /// HNSW, and an exact scan of segments that the graph does not cover.
    Hnsw,
}

impl Method {
    /// The strategy that a response names for it.
    pub fn strategy(self) -> Strategy {
        match self {
            Method::Exact => Strategy::DenseExact,
            Method::Signs => Strategy::DenseSigns,
            Method::Hnsw => Strategy::DenseHnsw,
        }
    }

    /// Chooses the method for `n_rows` rows in scope.
    ///
    /// The choice depends on the request and the view alone, except for HNSW, which is built in the
    /// background.
    fn choose(ann: Ann, n_rows: u64, has_hnsw: bool, min_quantised_rows: u64) -> Method {
        match ann {
            Ann::Auto | Ann::Hnsw if has_hnsw => Method::Hnsw,
            Ann::Signs => Method::Signs,
            Ann::Auto if n_rows >= min_quantised_rows => Method::Signs,
            Ann::Auto | Ann::Exact | Ann::Hnsw => Method::Exact,
        }
    }
}

impl DenseSearch<'_> {
    /// Finds the nearest rows, or some of them if the search is over before the end.
    ///
    /// Dot products are integers below 2²⁴ and exact in `f32`.
    pub fn nearest(&self, ann: Ann) -> Nearest {
        let n_segments = self.view.reader.segments.len();
        let (n_rows, tuning) = (self.scope.n_rows, self.tuning);
        let graph = self.graph(ann);

        let method = Method::choose(ann, n_rows, graph.is_some(), tuning.min_quantised_rows);

        let by_segment = match (method, graph) {
            (Method::Signs, _) => binary_quantisation::nearest(self),
            // The graph is one task, and each segment that it does not cover another.
            (Method::Hnsw, Some((n, graph))) => {
                parallel::map(n_segments - n + 1, n_rows, tuning.min_parallel_rows, |task| match task {
                    0 => self.search_graph(n, &graph),
                    _ => self.scan(n + task - 1),
                })
            }
            _ => parallel::map(n_segments, n_rows, tuning.min_parallel_rows, |s| self.scan(s)),
        };

        Nearest { rows: by_segment.into_iter().flatten().collect(), method }
    }

    /// Returns the graph with the number of segments that it covers; `None` if there is none or if a scan is
    /// preferred.
    fn graph(&self, ann: Ann) -> Option<(usize, HnswIndex)> {
        let is_wanted = match ann {
            Ann::Exact | Ann::Signs => false,
            Ann::Hnsw => true,
            Ann::Auto => self.scope.n_rows >= MIN_ROWS,
        };

        let (n, graph) = is_wanted.then(|| self.view.reader.graph()).flatten()?;

        let n_live: u64 = self.scope.rows[..n].iter().map(|rows| u64::from(rows.n_live())).sum();
        let header = graph.header();
        // A search that misses rows, or mostly visits rows out of scope, is worse than a scan.
        let pays = header.recall >= MIN_RECALL && n_live as f64 >= f64::from(header.n_rows) * MIN_LIVE_SHARE;
        (ann == Ann::Hnsw || pays).then_some((n, graph))
    }

    /// Returns the nearest rows in scope among the first `n` segments.
    fn search_graph(&self, n: usize, graph: &HnswIndex) -> Vec<(f32, RowId)> {
        let rows = RowVectors::from_segments(&self.view.reader.segments[..n]);
        let ef = (graph.header().ef as usize).max(self.k);
        let found = HnswSearch { layers: graph, rows: &rows, kernel: self.kernel }.nearest(ef, &|row| {
            let (segment, row) = rows.locate(row);
            self.scope.rows[segment].contains(row)
        });

        let mut nearest = Vec::with_capacity(self.k);
        for (dot, row) in found.into_iter().take(self.k) {
            let (segment, row) = rows.locate(row);
            nearest.push((dot as f32, RowId { segment: segment as u32, row }));
        }
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_scopes_are_not_scanned_exactly() {
        let choose = |ann, n_rows, has_hnsw| Method::choose(ann, n_rows, has_hnsw, 1000);
        let (few, many) = (999, 1000);
        assert_eq!(choose(Ann::Auto, few, false), Method::Exact);
        assert_eq!(choose(Ann::Auto, many, false), Method::Signs);
        assert_eq!(choose(Ann::Auto, many, true), Method::Hnsw);
        assert_eq!(choose(Ann::Exact, many, true), Method::Exact);
        assert_eq!(choose(Ann::Signs, few, true), Method::Signs);
        assert_eq!(choose(Ann::Hnsw, few, true), Method::Hnsw);
        // Such requests are refused, unless the graph is removed meanwhile. The scan is then reported as
        // such.
        assert_eq!(choose(Ann::Hnsw, many, false), Method::Exact);
    }
}
