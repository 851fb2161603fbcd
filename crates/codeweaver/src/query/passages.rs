//! Passages: the chunks of documents that answer a question best, with the whole text of their documents.
//!
//! The ranking of files is that of a search. The chunks of the best files are then ordered among each other,
//! because a short answer is in one of them, whatever else its file contains.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use codeweaver_git::{Oid, quoting};
use codeweaver_index::Codebase;
use codeweaver_store::StoreError;
use codeweaver_text as text;

use super::answer::{Answer, Ranking};
use super::error::QueryError;
use super::rank::RankedFile;
use super::rank::calibration::CALIBRATION;
use super::request::Request;
use super::response::IndexInfo;
use super::retrieve::Candidate;
use super::view::{MatchState, RowId, View};

/// Maximum number of chunks of one document.
const MAX_PER_DOCUMENT: usize = 6;
/// Number of best documents that decide the relevance.
const MAX_JUDGED: usize = 5;
/// Maximum that the rank of a document adds to the score of its chunks.
const DOCUMENT_WEIGHT: f32 = 1.0;

/// The passages of a question.
#[derive(Debug)]
pub struct Passages {
    /// Best first.
    pub list: Vec<Passage>,
    /// The words of the question, with the weight of each.
    pub terms: Vec<PassageTerm>,
    /// Probability that the best document answers the question, 0–1.
    pub relevance: f32,
    /// Words of the question that occur nowhere, as written.
    pub absent_words: Vec<String>,
    /// Messages for the user about what was missing.
    pub warnings: Vec<String>,
    /// The state of the index that was searched.
    pub index: IndexInfo,
}

/// A chunk of a document.
#[derive(Debug, Clone)]
pub struct Passage {
    pub document: Arc<Document>,
    /// The bytes of the chunk in the text of the document.
    pub bytes: Range<usize>,
    /// The order of the passages of one question follows from it.
    pub score: f32,
    /// Cosine with the question, −1 to 1.
    pub cosine: f32,
    /// Share of the terms of the question, weighted by idf, that occur in the chunk, 0–1.
    pub coverage: f32,
}

/// A file with headings.
#[derive(Debug)]
pub struct Document {
    /// Relative to the root of the repository.
    pub path: String,
    /// Hex oid of its contents.
    pub blob: String,
    pub state: MatchState,
    pub text: Arc<str>,
}

/// A term of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct PassageTerm {
    pub term: String,
    /// Importance for the question, and rarity. A word that occurs nowhere counts as the rarest.
    pub weight: f32,
    /// Whether it occurs nowhere.
    pub is_absent: bool,
}

/// Reads the text of a blob; `None` if it is not in this clone.
type ReadText<'a> = dyn FnMut(&Oid) -> Result<Option<Arc<str>>, QueryError> + 'a;

/// The passages of the files of `answer` that are shown. Matches that differ from the disk were left out of
/// it, and so are their passages.
pub(super) fn of_answer(
    codebase: &Codebase,
    request: &Request,
    view: &View,
    answer: Answer,
    index: IndexInfo,
) -> Result<Passages, QueryError> {
    let Answer { fitted, mut ranking } = answer;
    let shown: Vec<_> = fitted.matches.iter().map(|it| quoting::bytes(&it.file.path)).collect();
    ranking.files.retain(|file| shown.iter().any(|path| path == view.entry(file.entry).0));

    let mut blobs = codebase.repo.blobs();
    gather(request, view, ranking, index, &mut |oid| {
        let bytes = view.blob_from(&mut blobs, oid)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into()))
    })
}

/// Collects the passages of the files of `ranking`, whose texts `read` returns. `index` is the state of
/// `view`.
pub(super) fn gather(
    request: &Request,
    view: &View,
    ranking: Ranking,
    index: IndexInfo,
    read: &mut ReadText<'_>,
) -> Result<Passages, QueryError> {
    let mut list = Vec::new();
    let best = ranking.files.first().map_or(1.0, |file| file.explanation.score).max(f32::MIN_POSITIVE);
    let scale = Scale::from_files(&ranking.files);

    for file in &ranking.files {
        let Some(document) = document(view, file, read)? else { continue };
        let document_score = (file.explanation.score / best).clamp(0.0, 1.0) * DOCUMENT_WEIGHT;

        for chunk in file.chunks.iter().take(MAX_PER_DOCUMENT) {
            list.push(Passage {
                document: document.clone(),
                bytes: bytes_of(view, chunk.id, &document.text)?,
                score: scale.score(chunk) + document_score,
                cosine: chunk.cosine,
                coverage: chunk.coverage,
            });
        }
    }

    list.sort_by(by_score);
    let mut warnings = view.warnings.clone();
    warnings.extend(view.missing_warning(Some(&request.filters)));
    warnings.extend(view.members_warnings(Some(&request.filters)));
    warnings.extend(ranking.warnings.iter().cloned());

    Ok(Passages {
        list,
        terms: terms(request, view, &ranking),
        relevance: relevance(&ranking.files),
        absent_words: ranking.absent_words,
        warnings,
        index,
    })
}

/// Best first; ties by path and position.
fn by_score(a: &Passage, b: &Passage) -> Ordering {
    b.score
        .total_cmp(&a.score)
        .then_with(|| (&a.document.path, a.bytes.start).cmp(&(&b.document.path, b.bytes.start)))
}

/// Returns the probability that one of `files` answers the question. That need not be the first file:
/// evidence for a file as a whole, such as the number of its chunks that match, says little about a sentence
/// in another.
fn relevance(files: &[RankedFile]) -> f32 {
    let best = files.first().map_or(0.0, |file| file.relevance);
    let others = files.iter().take(MAX_JUDGED).filter(|file| file.evidence.cosine != 0.0);

    others.map(|file| CALIBRATION.hybrid.probability(&file.evidence)).fold(best, f32::max)
}

/// The largest evidence of any chunk, which scales that of each chunk.
struct Scale {
    bm25: f32,
    cosine: f32,
}

impl Scale {
    fn from_files(files: &[RankedFile]) -> Scale {
        let mut scale = Scale { bm25: f32::MIN_POSITIVE, cosine: f32::MIN_POSITIVE };
        for chunk in files.iter().flat_map(|file| &file.chunks) {
            scale.bm25 = scale.bm25.max(chunk.bm25);
            scale.cosine = scale.cosine.max(chunk.cosine);
        }
        scale
    }

    fn score(&self, chunk: &Candidate) -> f32 {
        chunk.bm25 / self.bm25
            + 0.5 * chunk.cosine.max(0.0) / self.cosine
            + 0.5 * chunk.coverage
            + 0.3 * chunk.definition
    }
}

/// The document of a ranked file; `None` if its contents are not in this clone.
fn document(
    view: &View,
    file: &RankedFile,
    read: &mut ReadText<'_>,
) -> Result<Option<Arc<Document>>, QueryError> {
    let (segment, row) = view.row(file.chunks[0].id);
    let Some(doc) = segment.docs().get(row.doc as usize) else { return Ok(None) };

    let oid = segment.blob_oid(doc);
    let (path, _) = view.entry(file.entry);
    let Some(text) = read(&oid)? else { return Ok(None) };

    let (path, state) = (quoting::text(path), view.state_of(path));
    Ok(Some(Arc::new(Document { path, blob: oid.to_string(), state, text })))
}

/// The bytes of a chunk in `text`.
fn bytes_of(view: &View, id: RowId, text: &str) -> Result<Range<usize>, QueryError> {
    let (_, row) = view.row(id);
    let bytes = row.start_byte as usize..row.end_byte as usize;
    if text.get(bytes.clone()).is_some() {
        return Ok(bytes);
    }

    let name = &view.reader.state.segments[id.segment as usize].name;
    let path = view.reader.layout.segment(name);
    Err(StoreError::damaged(&path, "a chunk does not fit its document").into())
}

/// The terms of the question with their weights.
fn terms(request: &Request, view: &View, ranking: &Ranking) -> Vec<PassageTerm> {
    let rarest = libm::logf(1.0 + view.n_rows() as f32).max(1.0);

    let mut terms = Vec::new();
    for query_term in text::query_terms(&request.query) {
        let number = ranking.evidence.number_of(&query_term.term);
        let weight = number.map_or(0.0, |n| ranking.evidence.weights()[n]);
        let is_absent = weight == 0.0;
        let weight = if is_absent && query_term.is_word() { rarest } else { weight };
        terms.push(PassageTerm { term: query_term.term, weight, is_absent });
    }

    terms
}
