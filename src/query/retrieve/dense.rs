//! Dense retrieval: the rows whose vectors are nearest to that of the query, by exact scan, binary
//! quantisation or HNSW.

use super::binary_quantisation;
pub use super::exact_scan::DenseSearch;
use super::parallel;
use crate::index::hnsw::{MIN_RECALL, MIN_ROWS};
use crate::query::request::Ann;
use crate::query::view::RowId;
use crate::store::hnsw::{HnswIndex, HnswLimits};

/// Minimum share of a segment's rows in scope for which HNSW is used. With fewer, most of the search visits
/// rows out of scope.
const MIN_LIVE_SHARE: f64 = 0.5;

/// Result of [`DenseSearch::nearest`].
pub struct Nearest {
    /// Rows with their dot products, in no order; at least the best `k`, or those found before it was over.
    pub rows: Vec<(f32, RowId)>,
    pub method: Method,
}

/// How rows were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Exact scan.
    Exact,
    /// Binary quantisation ([`super::binary_quantisation`]).
    Signs,
    /// HNSW, and an exact scan of segments without one.
    Hnsw,
}

impl Method {
    /// The name in `search_strategy` of a response.
    pub fn name(self) -> &'static str {
        match self {
            Method::Exact => "dense_exact",
            Method::Signs => "dense_signs",
            Method::Hnsw => "dense_hnsw",
        }
    }

    /// The method for `n_rows` rows in scope.
    ///
    /// It depends on the request and the view alone, except for HNSW, which is built in the background.
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
    /// Finds the nearest rows, or some of them if it is over before the end.
    ///
    /// Dot products are integers below 2²⁴ and exact in `f32`.
    pub fn nearest(&self, ann: Ann) -> Nearest {
        let n_segments = self.view.reader.segments.len();
        let (n_rows, tuning) = (self.scope.n_rows, self.tuning);
        let graphs: Vec<Option<HnswIndex>> = (0..n_segments).map(|s| self.hnsw(s, ann)).collect();
        let has_hnsw = graphs.iter().any(Option::is_some);
        let method = Method::choose(ann, n_rows, has_hnsw, tuning.min_quantised_rows);
        let by_segment = match method {
            Method::Signs => binary_quantisation::nearest(self),
            Method::Exact | Method::Hnsw => {
                parallel::map(n_segments, n_rows, tuning.min_parallel_rows, |s| match &graphs[s] {
                    Some(graph) => self.search_hnsw(s, graph),
                    None => self.scan(s),
                })
            }
        };
        Nearest { rows: by_segment.into_iter().flatten().collect(), method }
    }

    /// The HNSW of segment `s`; `None` if there is none or if a scan is preferred.
    fn hnsw(&self, s: usize, ann: Ann) -> Option<HnswIndex> {
        let segment = &self.view.reader.segments[s];
        let live_share = f64::from(self.scope.rows[s].n_live()) / f64::from(segment.n_rows().max(1));
        let is_wanted = match ann {
            Ann::Exact | Ann::Signs => false,
            Ann::Hnsw => true,
            Ann::Auto => self.scope.n_rows >= MIN_ROWS && live_share >= MIN_LIVE_SHARE,
        };
        if !is_wanted {
            return None;
        }
        // Where it is missing or damaged, the scan finds the rows.
        let graph = self.view.reader.graph(s)?;
        (ann == Ann::Hnsw || graph.header().recall >= MIN_RECALL).then_some(graph)
    }

    fn search_hnsw(&self, s: usize, graph: &HnswIndex) -> Vec<(f32, RowId)> {
        let segment = &self.view.reader.segments[s];
        let ef = (graph.header().ef as usize).max(self.k * 3);
        let live = &self.scope.rows[s];
        let found = graph.search(segment.vectors(), self.kernel, live, HnswLimits { keep: self.k, ef });
        let id = |row| RowId { segment: s as u32, row };
        found.into_iter().map(|(dot, row)| (dot as f32, id(row))).collect()
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
        // A scan is reported as such, also where HNSW was requested.
        assert_eq!(choose(Ann::Hnsw, many, false), Method::Exact);
    }
}
