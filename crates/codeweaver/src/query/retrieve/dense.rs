//! Dense retrieval: the rows whose vectors are nearest to that of the query, by exact scan, binary
//! quantisation or HNSW.

use std::sync::Arc;

use codeweaver_index::hnsw::is_sufficient;
use codeweaver_store::hnsw::search::HnswSearch;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{HnswHeader, HnswIndex, Layers as _, QueryKind};

use super::binary_quantisation;
use super::parallel;
use crate::query::request::Ann;
use crate::query::response::Strategy;
use crate::query::view::RowId;

pub use super::exact_scan::DenseSearch;

/// Minimum share of a graph's rows in scope for which [`Ann::Auto`] uses the graph. With fewer, most of the
/// search visits rows out of scope, and a scan of those in scope costs less.
const MIN_LIVE_SHARE: f64 = 0.5;

/// Numbers of rows that a scan reads, on two cores, in the time in which a graph is searched on one for each
/// row of its candidate list: by their sign bits, and by all components (measured with 421,931 rows,
/// `docs/research/2026-11-hnsw.md`).
const SIGN_ROWS_PER_CANDIDATE: u64 = 520;
const ROWS_PER_CANDIDATE: u64 = 80;

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

    /// Chooses the method for a vector of `kind` and `n_rows` rows in scope.
    ///
    /// The choice depends on the request and the view alone, except for HNSW, which is built in the
    /// background. The cosines of similar code are shown, so its rows are not estimated.
    fn choose(ann: Ann, kind: QueryKind, n_rows: u64, has_hnsw: bool, min_quantised_rows: u64) -> Method {
        let is_large = kind == QueryKind::Question && n_rows >= min_quantised_rows;

        match ann {
            Ann::Auto | Ann::Hnsw if has_hnsw => Method::Hnsw,
            Ann::Signs => Method::Signs,
            Ann::Auto if is_large => Method::Signs,
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

        let method = Method::choose(ann, self.kind, n_rows, graph.is_some(), tuning.min_quantised_rows);

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
    fn graph(&self, ann: Ann) -> Option<(usize, Arc<HnswIndex>)> {
        // Without looking for a file where no graph can be better.
        let is_small = self.scope.n_rows <= self.k as u64 * rows_per_candidate(self.kind);
        if matches!(ann, Ann::Exact | Ann::Signs) || (ann == Ann::Auto && is_small) {
            return None;
        }

        let (n, graph) = self.view.reader.graph()?;
        let n_live: u64 = self.scope.rows[..n].iter().map(|rows| u64::from(rows.n_live())).sum();
        (ann == Ann::Hnsw || pays(graph.header(), n_live, self.kind, self.k)).then_some((n, graph))
    }

    /// Returns the nearest rows in scope among the first `n` segments.
    fn search_graph(&self, n: usize, graph: &HnswIndex) -> Vec<(f32, RowId)> {
        let rows = RowVectors::from_segments(&self.view.reader.segments[..n]);
        let ef = (graph.header().recalls(self.kind).ef(self.k) as usize).max(self.k);
        let search = HnswSearch { layers: graph, rows: &rows, kernel: self.kernel };
        let found = search.nearest_to(self.kind, ef, &|row| {
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

/// The number of rows that a scan reads in the time that a row of the candidate list takes.
fn rows_per_candidate(kind: QueryKind) -> u64 {
    match kind {
        QueryKind::Question => SIGN_ROWS_PER_CANDIDATE,
        QueryKind::Row => ROWS_PER_CANDIDATE,
    }
}

/// Returns whether a search of a graph for the best `k` rows, of which `n_live` are in scope, is better than
/// a scan of these. It is not if it misses rows, mostly visits rows out of scope, or takes longer.
fn pays(header: &HnswHeader, n_live: u64, kind: QueryKind, k: usize) -> bool {
    let recalls = header.recalls(kind);

    is_sufficient(recalls, k)
        && n_live as f64 >= f64::from(header.n_rows) * MIN_LIVE_SHARE
        && n_live > u64::from(recalls.ef(k)) * rows_per_candidate(kind)
}

#[cfg(test)]
mod tests {
    use codeweaver_store::hnsw::{Recall, Recalls};

    use super::*;

    #[test]
    fn a_graph_is_searched_where_it_finds_enough_in_less_time_than_a_scan() {
        let recalls = |ef, share| Recalls { few: Recall { ef: 50, share: 1.0 }, many: Recall { ef, share } };
        let header = HnswHeader {
            n_rows: 1_000_000,
            questions: recalls(1600, 0.99),
            rows: recalls(300, 0.99),
            ..HnswHeader::default()
        };
        let question = |header: &HnswHeader, n_live| pays(header, n_live, QueryKind::Question, 300);

        assert!(question(&header, 1_000_000));
        assert!(!question(&header, 499_999), "most rows are out of scope");
        assert!(
            !question(&HnswHeader { questions: recalls(1600, 0.94), ..header }, 1_000_000),
            "misses rows"
        );
        let mut first = recalls(1600, 0.99);
        first.few.share = 0.98;
        assert!(
            !question(&HnswHeader { questions: first, ..header }, 1_000_000),
            "misses some of the first rows"
        );
        assert!(
            !question(&HnswHeader { questions: recalls(3200, 0.99), ..header }, 1_000_000),
            "takes longer"
        );

        let small = HnswHeader { n_rows: 60_000, ..header };
        assert!(!question(&small, 60_000) && pays(&small, 60_000, QueryKind::Row, 300));
    }

    #[test]
    fn large_scopes_are_not_scanned_exactly() {
        let choose = |ann, n_rows, has_hnsw| Method::choose(ann, QueryKind::Question, n_rows, has_hnsw, 1000);
        let (few, many) = (999, 1000);
        assert_eq!(choose(Ann::Auto, few, false), Method::Exact);
        assert_eq!(choose(Ann::Auto, many, false), Method::Signs);
        assert_eq!(Method::choose(Ann::Auto, QueryKind::Row, many, false, 1000), Method::Exact);
        assert_eq!(choose(Ann::Auto, many, true), Method::Hnsw);
        assert_eq!(choose(Ann::Exact, many, true), Method::Exact);
        assert_eq!(choose(Ann::Signs, few, true), Method::Signs);
        assert_eq!(choose(Ann::Hnsw, few, true), Method::Hnsw);
        // Such requests are refused, unless the graph is removed meanwhile. The scan is then reported as
        // such.
        assert_eq!(choose(Ann::Hnsw, many, false), Method::Exact);
    }
}
