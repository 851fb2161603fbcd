//! Measures the recall of a graph for real questions.

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use codeweaver_base::sys::DotKernel;
use codeweaver_embed::{EmbedCost, Embedder};
use codeweaver_git::{History, Repo};
use codeweaver_store::hnsw::HnswData;
use codeweaver_store::hnsw::search::HnswSearch;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::segment::Segment;

use crate::error::IndexError;

/// Number of questions of each kind.
const N_QUESTIONS: usize = 100;
/// Minimum number of words of a question.
const MIN_WORDS: usize = 5;
/// Sizes of the candidate list, tried in order until the recall is sufficient.
const EFS: [u32; 6] = [100, 200, 400, 800, 1600, 3200];
/// Minimum recall@10 of a graph that is used by default.
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
        let rows = RowVectors::from_segments(segments);
        let step = (rows.n_rows() as usize / N_QUESTIONS).max(1);
        return Ok((0..rows.n_rows()).step_by(step).map(|row| rows.at(row).to_vec()).collect());
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

/// Writes into the header the smallest list size at which the graph agrees with the exact scan, and the
/// recall there. If none is sufficient, it is the largest that was tried.
pub fn measure(graph: &mut HnswData, rows: &RowVectors<'_>, questions: &[Vec<i8>]) {
    let tenth: Vec<i32> = questions.par_iter().map(|question| tenth_best(rows, question)).collect();

    for ef in EFS {
        let shares = questions.par_iter().zip(&tenth).map(|(question, tenth)| {
            let kernel = &DotKernel::new(question);
            let found = HnswSearch { layers: graph, rows, kernel }.nearest(ef as usize, &|_| true);
            // Equal vectors are common in code: every row with the product of the tenth-best counts as found.
            found.iter().take(10).filter(|(dot, _)| dot >= tenth).count() as f32
        });

        let hits: f32 = shares.sum();
        let n_expected = questions.len() as f32 * rows.n_rows().min(10) as f32;
        graph.header.ef = ef;
        graph.header.recall = if n_expected == 0.0 { 0.0 } else { hits / n_expected };

        if graph.header.recall >= MIN_RECALL {
            return;
        }
    }
}

/// The tenth-largest dot product, or the smallest if there are fewer.
fn tenth_best(rows: &RowVectors<'_>, question: &[i8]) -> i32 {
    let kernel = DotKernel::new(question);
    let mut dots: Vec<i32> = (0..rows.n_rows()).map(|row| kernel.dot(rows.at(row))).collect();

    let tenth = 9.min(dots.len().saturating_sub(1));
    if dots.is_empty() {
        return 0;
    }

    *dots.select_nth_unstable_by(tenth, |a, b| b.cmp(a)).1
}
