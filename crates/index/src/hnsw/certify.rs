//! Recall of a graph, for real questions and for stored rows.

use rayon::prelude::*;

use codeweaver_base::sys::DotKernel;
use codeweaver_store::hnsw::search::HnswSearch;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{FEW, HnswData, HnswHeader, MANY, QueryKind, Recall, Recalls};

/// Number of stored rows that are searched for.
const N_ROWS: usize = 100;
/// Sizes of the candidate list, tried in order until the recall is sufficient.
const EFS: [u32; 14] = [50, 100, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200, 4800, 9600, 19_200];
/// Minimum recall of a graph that is searched by default for the best [`FEW`] rows, which are shown.
const MIN_RECALL_OF_FEW: f32 = 0.985;
/// As [`MIN_RECALL_OF_FEW`], for the best [`MANY`], which are candidates of ranking among those that words,
/// names and paths find. `docs/research/2026-11-hnsw.md` has its quality at several recalls.
const MIN_RECALL_OF_MANY: f32 = 0.95;

/// Returns the share of the best `k` rows that a graph must find to be searched by default.
pub fn min_recall(k: usize) -> f32 {
    if k <= FEW { MIN_RECALL_OF_FEW } else { MIN_RECALL_OF_MANY }
}

/// Returns whether a graph finds enough of the best `k` rows, and of the first of them.
pub fn is_sufficient(recalls: &Recalls, k: usize) -> bool {
    recalls.few.share >= MIN_RECALL_OF_FEW && (k <= FEW || recalls.many.share >= MIN_RECALL_OF_MANY)
}

/// Returns `n` stored vectors, spread evenly over the rows, or fewer.
pub(super) fn sample(rows: &RowVectors<'_>, n: usize) -> Vec<Vec<i8>> {
    let step = (rows.n_rows() as usize).div_ceil(n).max(1);
    (0..rows.n_rows()).step_by(step).map(|row| rows.at(row).to_vec()).collect()
}

/// Measures the recall of the graph and writes it into the header.
pub fn measure(graph: &mut HnswData, rows: &RowVectors<'_>, questions: &[Vec<i8>]) {
    graph.header.questions = recalls(graph, rows, (QueryKind::Question, questions));
    graph.header.rows = recalls(graph, rows, (QueryKind::Row, &sample(rows, N_ROWS)));
}

/// Removes the recalls of a graph that has changed, so that it is not searched by default.
pub(super) fn forget(graph: &mut HnswData) {
    graph.header.questions = Recalls::default();
    graph.header.rows = Recalls::default();
}

/// Returns whether the recalls of a graph have been measured since it changed.
pub(super) fn is_measured(header: &HnswHeader) -> bool {
    header.rows.few.share > 0.0
}

/// Returns the smallest list sizes at which the graph agrees with the exact scan about the best [`FEW`] and
/// [`MANY`] rows, with the recalls there. If none is sufficient, it is the largest that was tried.
fn recalls(graph: &HnswData, rows: &RowVectors<'_>, (kind, queries): (QueryKind, &[Vec<i8>])) -> Recalls {
    let ks = [FEW, MANY];
    let lasts: Vec<[i32; 2]> = queries.par_iter().map(|query| last_products(rows, query, ks)).collect();

    let mut recalls = [Recall::default(); 2];
    for ef in EFS {
        let hits: Vec<[usize; 2]> = queries
            .par_iter()
            .zip(&lasts)
            .map(|(query, lasts)| hits(graph, rows, (kind, query, ef), (ks, lasts)))
            .collect();

        for (at, k) in ks.into_iter().enumerate() {
            let n_expected = queries.len() * k.min(rows.n_rows() as usize);
            let n_found: usize = hits.iter().map(|hits| hits[at]).sum();
            // A list finds at most as many rows as it has room for.
            if recalls[at].share < min_recall(k) && ef as usize >= k && n_expected > 0 {
                recalls[at] = Recall { ef, share: n_found as f32 / n_expected as f32 };
            }
        }

        if recalls.iter().zip(ks).all(|(recall, k)| recall.share >= min_recall(k)) {
            break;
        }
    }

    let [few, many] = recalls;
    Recalls { few, many }
}

/// Numbers of rows found with a list of `ef` that are among the best `k`, for each of `ks`.
///
/// Equal vectors are common in code: every row as near as the last of the best counts as found.
fn hits(
    graph: &HnswData,
    rows: &RowVectors<'_>,
    (kind, query, ef): (QueryKind, &[i8], u32),
    (ks, lasts): ([usize; 2], &[i32; 2]),
) -> [usize; 2] {
    let kernel = &DotKernel::new(query);
    let found = HnswSearch { layers: graph, rows, kernel }.nearest_to(kind, ef as usize, &|_| true);

    [0, 1].map(|at| found.iter().take(ks[at]).filter(|(dot, _)| *dot >= lasts[at]).count())
}

/// The `k`-th largest dot product for each of `ks`, or the smallest if there are fewer.
fn last_products(rows: &RowVectors<'_>, query: &[i8], ks: [usize; 2]) -> [i32; 2] {
    let kernel = DotKernel::new(query);
    let mut dots: Vec<i32> = (0..rows.n_rows()).map(|row| kernel.dot(rows.at(row))).collect();
    if dots.is_empty() {
        return [0; 2];
    }

    ks.map(|k| {
        let last = (k - 1).min(dots.len() - 1);
        *dots.select_nth_unstable_by(last, |a, b| b.cmp(a)).1
    })
}

#[cfg(test)]
mod tests {
    use super::super::construct;
    use super::*;

    const DIM: usize = 16;

    /// The header of a graph over random rows, measured with random questions.
    fn measured(n_rows: usize, n_questions: usize) -> HnswHeader {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut random = |n: usize| -> Vec<i8> { (0..n * DIM).map(|_| rng.i8(-100..=100)).collect() };
        let (vectors, questions) = (random(n_rows), random(n_questions));
        let questions: Vec<Vec<i8>> = questions.chunks(DIM).map(<[i8]>::to_vec).collect();

        let rows = RowVectors::new([vectors.as_slice()].into_iter(), DIM);
        let mut graph = construct::empty();
        construct::extend(&mut graph, &rows);
        measure(&mut graph, &rows, &questions);
        graph.header
    }

    #[test]
    fn both_numbers_of_rows_are_measured_with_the_least_list_that_holds_them() {
        let header = measured(2000, 20);

        for kind in [QueryKind::Question, QueryKind::Row] {
            let recalls = header.recalls(kind);
            let Recalls { few, many } = *recalls;
            assert!(is_sufficient(recalls, FEW) && is_sufficient(recalls, MANY), "{header:?}");
            assert!(few.ef as usize >= FEW && many.ef as usize >= MANY, "{header:?}");
            assert_eq!((recalls.ef(1), recalls.ef(11)), (few.ef, few.ef.max(many.ef)));
        }
    }

    #[test]
    fn few_rows_are_found_and_without_questions_nothing_is_known_of_them() {
        let header = measured(7, 3);
        assert_eq!((header.questions.few.share, header.questions.many.share), (1.0, 1.0));

        let header = measured(50, 0);
        assert_eq!((header.questions.few.share, header.questions.many.share), (0.0, 0.0));
        assert!(!is_sufficient(&header.questions, FEW) && !is_sufficient(&header.questions, MANY));
        assert_eq!(header.rows.many.share, 1.0);
    }
}
