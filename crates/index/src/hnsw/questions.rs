//! Questions about a repository that its own texts ask: sentences of documentation and subjects of commits.
//!
//! Most become samples, at whose rows searches begin. The others measure how well that works for questions
//! that are not among them.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use codeweaver_base::sys::DotKernel;
use codeweaver_embed::{EmbedCost, Embedder};
use codeweaver_git::{History, Repo};
use codeweaver_store::hnsw::search::HnswSearch;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{EntryPoints, HnswData};
use codeweaver_store::segment::Segment;

use super::certify;
use crate::error::IndexError;

/// Number of questions of each kind that are asked.
const N_ASKED: usize = 100;
/// Maximum number of sentences, and of subjects, that are samples. All samples are compared with each question.
const N_SENTENCES: usize = 4096;
const N_SUBJECTS: usize = 1024;
/// Minimum number of words of a question.
const MIN_WORDS: usize = 5;
/// Number of rows of each sample.
const N_NEAR: u32 = 10;
/// Size of the candidate list with which they are searched for.
const EF: usize = 800;

/// Vectors of questions, none of which is in both lists.
pub struct Questions {
    /// Those that measure a graph.
    pub asked: Vec<Vec<i8>>,
    /// Those at whose rows searches begin.
    pub samples: Vec<Vec<i8>>,
}

/// Returns questions about the repository: sentences of documentation, spread evenly over the segments, and
/// subjects of its latest commits. The former are part of the chunks that answer them, but differ from these
/// in words and length.
///
/// For a model behind an API, which may cost money, stored vectors are asked for, and there are no samples.
pub fn read(
    repo: &Repo,
    segments: &[Arc<Segment>],
    embedder: &dyn Embedder,
) -> Result<Questions, IndexError> {
    if embedder.cost() == EmbedCost::Api {
        let asked = certify::sample(&RowVectors::from_segments(segments), N_ASKED);
        return Ok(Questions { asked, samples: Vec::new() });
    }

    let (mut asked, mut samples) = (Vec::new(), Vec::new());
    for (texts, n_samples) in [(sentences(segments), N_SENTENCES), (subjects(repo)?, N_SUBJECTS)] {
        let step = texts.len().div_ceil(n_samples).max(1);
        // At most half of few texts are asked, and all others are samples.
        let step_of_asked = (texts.len() / N_ASKED).max(2);
        for (at, text) in texts.iter().enumerate() {
            let is_asked = at % step_of_asked == 0 && at / step_of_asked < N_ASKED;
            if !is_asked && at % step != 0 {
                continue;
            }

            let vector = embedder.embed_query(text)?;
            // A text without a word that the model knows is equally near to every row.
            if vector.iter().any(|component| *component != 0) {
                if is_asked { asked.push(vector) } else { samples.push(vector) }
            }
        }
    }
    Ok(Questions { asked, samples })
}

/// The different sentences of documentation.
fn sentences(segments: &[Arc<Segment>]) -> Vec<String> {
    let (mut sentences, mut seen) = (Vec::new(), HashSet::new());

    for segment in segments {
        let symbols = segment.rows().iter().flat_map(|row| segment.symbols_of(row));
        for text in symbols.map(|symbol| segment.text(symbol.doc)).filter(|text| is_question(text)) {
            if seen.insert(blake3::hash(text.as_bytes())) {
                sentences.push(text);
            }
        }
    }

    sentences
}

/// The different subjects of the latest commits that are long enough for a question.
fn subjects(repo: &Repo) -> Result<Vec<String>, IndexError> {
    let (mut subjects, mut seen) = (Vec::new(), HashSet::new());
    let Some(head) = repo.head()?.commit else { return Ok(subjects) };

    History::open(repo)?.walk::<IndexError>(&head, &[], |commit, _| {
        let subject = commit.subject();
        if is_question(subject) && seen.insert(subject.to_owned()) {
            subjects.push(subject.to_owned());
        }

        let is_enough = subjects.len() >= N_ASKED + N_SUBJECTS;
        Ok(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;

    Ok(subjects)
}

fn is_question(text: &str) -> bool {
    text.split_whitespace().count() >= MIN_WORDS
}

/// Replaces the entries of a graph by the rows near to each sample, as far as the graph finds them.
pub fn set_entry_points(graph: &mut HnswData, rows: &RowVectors<'_>, samples: &[Vec<i8>]) {
    let near: Vec<Vec<u32>> = samples
        .par_iter()
        .map(|sample| {
            let kernel = &DotKernel::new(sample);
            let found = HnswSearch { layers: &*graph, rows, kernel }.nearest(EF, &|_| true);
            found.into_iter().take(N_NEAR as usize).map(|(_, row)| row).collect()
        })
        .collect();

    graph.entry_points = EntryPoints::default();
    graph.header.n_near = N_NEAR.min(rows.n_rows());
    for (sample, near) in samples.iter().zip(near) {
        if near.len() == graph.header.n_near as usize {
            graph.entry_points.questions.extend(sample);
            graph.entry_points.rows.extend(near);
        }
    }
}
