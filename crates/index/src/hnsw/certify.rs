//! Recall of a graph, for real questions and for stored rows.

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use codeweaver_base::sys::DotKernel;
use codeweaver_embed::{EmbedCost, Embedder};
use codeweaver_git::{History, Repo};
use codeweaver_store::hnsw::search::HnswSearch;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{FEW, HnswData, MANY, Recall, Recalls};
use codeweaver_store::segment::Segment;

use crate::error::IndexError;

/// Number of questions of each kind.
const N_QUESTIONS: usize = 100;
/// Minimum number of words of a question.
const MIN_WORDS: usize = 5;
/// Sizes of the candidate list, tried in order until the recall is sufficient.
const EFS: [u32; 10] = [50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 19_200];
/// Minimum recall of a graph that is used by default.
pub const MIN_RECALL: f32 = 0.985;

/// Returns vectors of questions about the repository: subjects of its latest commits, and sentences of
/// documentation. The latter are part of the chunks that answer them, but differ from these in words and
/// length.
///
/// For a model behind an API, which may cost money, stored vectors stand in for questions.
pub fn questions(
    repo: &Repo,
    segments: &[Arc<Segment>],
    embedder: &dyn Embedder,
) -> Result<Vec<Vec<i8>>, IndexError> {
    if embedder.cost() == EmbedCost::Api {
        return Ok(sample(&RowVectors::from_segments(segments)));
    }

    let texts = sentences(segments).into_iter().chain(subjects(repo)?);
    texts.map(|text| Ok(embedder.embed_query(&text)?)).collect()
}

/// Returns sentences of documentation, spread evenly over the segments.
fn sentences(segments: &[Arc<Segment>]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for segment in segments {
        let symbols = segment.rows().iter().flat_map(|row| segment.symbols_of(row));
        all.extend(symbols.map(|symbol| segment.text(symbol.doc)).filter(|text| is_question(text)));
    }

    let step = (all.len() / N_QUESTIONS).max(1);
    all.into_iter().step_by(step).take(N_QUESTIONS).collect()
}

/// Returns the subjects of the latest commits that are long enough for a question.
fn subjects(repo: &Repo) -> Result<Vec<String>, IndexError> {
    let mut subjects = Vec::new();
    let Some(head) = repo.head()?.commit else { return Ok(subjects) };

    History::open(repo)?.walk::<IndexError>(&head, &[], |commit, _| {
        subjects.extend(is_question(commit.subject()).then(|| commit.subject().to_owned()));
        Ok(if subjects.len() < N_QUESTIONS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;

    Ok(subjects)
}

fn is_question(text: &str) -> bool {
    text.split_whitespace().count() >= MIN_WORDS
}

/// Returns stored vectors, spread evenly over the rows.
fn sample(rows: &RowVectors<'_>) -> Vec<Vec<i8>> {
    let step = (rows.n_rows() as usize).div_ceil(N_QUESTIONS).max(1);
    (0..rows.n_rows()).step_by(step).map(|row| rows.at(row).to_vec()).collect()
}

/// Measures the recall of the graph and writes it into the header.
pub fn measure(graph: &mut HnswData, rows: &RowVectors<'_>, questions: &[Vec<i8>]) {
    graph.header.questions = recalls(graph, rows, questions);
    graph.header.rows = recalls(graph, rows, &sample(rows));
}

/// Returns the smallest list sizes at which the graph agrees with the exact scan about the best [`FEW`] and
/// [`MANY`] rows, with the recalls there. If none is sufficient, it is the largest that was tried.
fn recalls(graph: &HnswData, rows: &RowVectors<'_>, queries: &[Vec<i8>]) -> Recalls {
    let ks = [FEW, MANY];
    let lasts: Vec<[i32; 2]> = queries.par_iter().map(|query| last_products(rows, query, ks)).collect();

    let mut recalls = [Recall::default(); 2];
    for ef in EFS {
        let hits: Vec<[usize; 2]> = queries
            .par_iter()
            .zip(&lasts)
            .map(|(query, lasts)| hits(graph, rows, query, ef, (ks, lasts)))
            .collect();

        for (at, k) in ks.into_iter().enumerate() {
            let n_expected = queries.len() * k.min(rows.n_rows() as usize);
            let n_found: usize = hits.iter().map(|hits| hits[at]).sum();
            // A list finds at most as many rows as it has room for.
            if recalls[at].share < MIN_RECALL && ef as usize >= k && n_expected > 0 {
                recalls[at] = Recall { ef, share: n_found as f32 / n_expected as f32 };
            }
        }

        if recalls.iter().all(|recall| recall.share >= MIN_RECALL) {
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
    query: &[i8],
    ef: u32,
    (ks, lasts): ([usize; 2], &[i32; 2]),
) -> [usize; 2] {
    let kernel = &DotKernel::new(query);
    let found = HnswSearch { layers: graph, rows, kernel }.nearest(ef as usize, &|_| true);

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
    use codeweaver_store::hnsw::{HnswHeader, QueryKind};

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
            let (few, many) = (header.recall(kind, FEW), header.recall(kind, MANY));
            assert!(few.share >= MIN_RECALL && many.share >= MIN_RECALL, "{header:?}");
            assert!(few.ef as usize >= FEW && many.ef as usize >= MANY, "{header:?}");
            assert_eq!((header.recall(kind, 1).ef, header.recall(kind, 11).ef), (few.ef, many.ef));
        }
    }

    #[test]
    fn few_rows_are_found_and_without_questions_nothing_is_known_of_them() {
        let header = measured(7, 3);
        assert_eq!((header.questions.few.share, header.questions.many.share), (1.0, 1.0));

        let header = measured(50, 0);
        assert_eq!((header.questions.few.share, header.questions.many.share), (0.0, 0.0));
        assert_eq!(header.rows.many.share, 1.0);
    }
}
