//! Questions about a repository that its own texts ask: sentences of documentation and subjects of commits.
//!
//! Most become samples, at whose rows searches begin. The others measure how well that works for questions
//! that are not among them.

use std::collections::BTreeMap;
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

/// Returns questions about the repository: sentences of documentation, spread over the segments, and subjects
/// of its latest commits. The former are part of the chunks that answer them, but differ from these
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
    for texts in [sentences(segments), subjects(repo)?] {
        // At most half of few texts are asked.
        let n_asked = N_ASKED.min(texts.len() / 2);

        for (at, text) in texts.into_values().enumerate() {
            let vector = embedder.embed_query(&text)?;
            // A text without a word that the model knows is equally near to every row.
            if vector.iter().any(|component| *component != 0) {
                if at < n_asked { asked.push(vector) } else { samples.push(vector) }
            }
        }
    }

    Ok(Questions { asked, samples })
}

/// Texts, each once, by their hashes: the first of them are a random sample that is always the same.
type ByHash = BTreeMap<[u8; 32], String>;

/// Sentences of documentation.
fn sentences(segments: &[Arc<Segment>]) -> ByHash {
    let mut sentences = ByHash::new();

    for segment in segments {
        let symbols = segment.rows().iter().flat_map(|row| segment.symbols_of(row));
        for text in symbols.map(|symbol| segment.text(symbol.doc)).filter(|text| is_question(text)) {
            let hash = *blake3::hash(text.as_bytes()).as_bytes();
            let is_full = sentences.len() == N_ASKED + N_SENTENCES;
            if is_full && sentences.last_key_value().is_some_and(|(last, _)| hash >= *last) {
                continue;
            }

            if sentences.insert(hash, text).is_none() && is_full {
                sentences.pop_last();
            }
        }
    }

    sentences
}

/// Subjects of the latest commits.
fn subjects(repo: &Repo) -> Result<ByHash, IndexError> {
    let mut subjects = ByHash::new();
    let Some(head) = repo.head()?.commit else { return Ok(subjects) };

    History::open(repo)?.walk::<IndexError>(&head, &[], |commit, _| {
        let subject = commit.subject();
        if is_question(subject) {
            subjects.insert(*blake3::hash(subject.as_bytes()).as_bytes(), subject.to_owned());
        }

        let is_enough = subjects.len() == N_ASKED + N_SUBJECTS;
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
