//! Retrieval: chunks worth ranking, from five kinds of evidence (requirement R1).
//!
//! * dense: int8 scan over live rows, or what the planner prefers to it (see [`dense`]);
//! * lexical: BM25 over the fields of a chunk and over whole files (see [`lexical`]);
//! * symbol: chunks that define what the query names (see [`symbols`]);
//! * path: chunks of files whose path has the query's words, or that the query names.
//!
//! Each list is cut by (score, blob, position), never by row number, so the cut does not depend on how the store is
//! segmented. Everything found is then scored on all evidence.

pub mod binary_quantisation;
pub mod dense;
pub mod lexical;
mod parallel;
pub mod symbols;
mod top_k;

use super::cancel::IsOver;
use super::path_facts::PathMemory;
use super::rank::Weights;
use super::request::{Ann, Mode};
use super::view::scope::Scope;
use super::view::{RowId, View};
use crate::store::entries::NO_DOC;
use crate::store::rows::DocKey;
use crate::sys::DotKernel;
use crate::text::{Mention, QueryTerm};
use lexical::{FileLexical, Lexical};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use symbols::Wanted;
use top_k::Best;

/// Rows kept from each list.
const KEEP: usize = 300;
/// Files admitted for their path alone, and for their words alone.
const KEEP_FILES: usize = 64;
/// Rows of such a file that are considered.
const ROWS_PER_FILE: usize = 40;

/// A chunk with its raw evidence.
#[derive(Debug, Clone, Default)]
pub struct Candidate {
    pub id: RowId,
    /// Store-wide doc id.
    pub doc: u32,
    pub bm25: f32,
    /// Cosine with the query, −1..1.
    pub cosine: f32,
    /// Cosine of the query with the nearest path of the chunk's blob, −1..1.
    pub path_cosine: f32,
    /// How well a definition in the chunk bears the queried name, 0..1.
    pub definition: f32,
    /// Share of the query's weight (by idf) whose terms occur in the chunk, 0..1.
    pub coverage: f32,
}

/// What retrieval found.
#[derive(Default)]
pub struct Candidates {
    pub list: Vec<Candidate>,
    /// Evidence of the whole file, for every doc in `list`.
    pub files: FxHashMap<u32, FileLexical>,
    /// Rarity of each term of the question.
    pub idf: Vec<f32>,
    /// Share of all paths that have the term.
    pub path_share: Vec<f32>,
    /// Mean cosine over all live rows: what an unrelated chunk scores.
    pub mean_cosine: f32,
    /// Rows that were scored, for the answer's header.
    pub n_scored: u64,
    pub strategies: Vec<&'static str>,
    /// The time budget ended before all evidence was gathered (R9).
    pub timed_out: bool,
}

/// The parts of a question that retrieval needs.
pub struct Question<'a> {
    pub terms: &'a [QueryTerm],
    /// Names that a definition may bear.
    pub names: &'a [Wanted],
    /// Files that the question names.
    pub mentions: &'a [Mention],
    /// Absent if the dense side is unavailable or not wanted.
    pub vector: Option<&'a [i8]>,
    pub scale: f32,
    pub paths: &'a PathMemory,
    pub mode: Mode,
    pub ann: Ann,
    pub weights: &'a Weights,
    /// Time is up, or nobody waits any more.
    pub is_over: IsOver<'a>,
}

/// Finds candidates among the rows of `scope`.
pub fn retrieve(view: &View, scope: &Scope, question: &Question<'_>) -> Candidates {
    let terms: &[QueryTerm] = if question.mode == Mode::Semantic { &[] } else { question.terms };
    let lexical = Lexical::score(view, scope, terms, question.weights, question.is_over);
    let vector = question.vector.filter(|vector| usable(view, vector));
    let kernel = vector.map(DotKernel::new);
    let unit = 1.0 / (question.scale * question.scale);
    let mut found = Found { rows: Vec::new(), strategies: Vec::new() };
    let mut n_scored = lexical.n_scored;
    let mut timed_out = false;
    let mut path_share = Vec::new();
    if matches!(question.mode, Mode::Hybrid | Mode::Keyword) {
        found.add("lexical_bm25", best_rows(view, lexical.best(KEEP), KEEP).into_iter().map(|(_, id)| id));
        found.add("lexical_bm25", best_files(view, scope, &lexical));
    }
    if let (Some(vector), Some(kernel), Mode::Hybrid | Mode::Semantic) = (vector, &kernel, question.mode) {
        timed_out = (question.is_over)();
        if !timed_out {
            let search = dense::Search { view, scope, vector, kernel, keep: KEEP, is_over: question.is_over };
            let nearest = search.nearest(question.ann);
            let best = best_rows(view, nearest.rows.into_iter(), KEEP).into_iter();
            found.add(nearest.method.name(), best.map(|(_, id)| id));
            n_scored = n_scored.max(scope.n_rows);
        }
    }
    let mut definitions = FxHashMap::default();
    if question.mode != Mode::Semantic {
        let names = specific_names(view, question);
        definitions = symbols::find(view, scope, &names, question.mode == Mode::Symbol);
        found.add("symbol", definitions.keys().copied());
        found.add("path", rows_of_mentions(view, scope, question.mentions));
    }
    if matches!(question.mode, Mode::Hybrid | Mode::Keyword) {
        let (rows, share) = rows_by_path(view, scope, terms);
        found.add("path", rows);
        path_share = share;
    }
    let Found { mut rows, strategies } = found;
    rows.sort_unstable_by_key(|id| (id.segment, id.row));
    rows.dedup();
    let mut files = FxHashMap::default();
    let mut paths = PathCosines { view, question, kernel: kernel.as_ref(), of_doc: FxHashMap::default() };
    let mut list: Vec<Candidate> = rows
        .into_iter()
        .map(|id| {
            let segment = &view.reader.segments[id.segment as usize];
            let ordinal = segment.rows()[id.row as usize].doc;
            let doc = view.reader.state.segments[id.segment as usize].doc_base + ordinal;
            files.entry(doc).or_insert_with(|| lexical.of_file(id.segment as usize, ordinal));
            let (bm25, coverage) = lexical.of(id);
            let cosine =
                kernel.as_ref().map_or(0.0, |kernel| kernel.dot(segment.vector(id.row)) as f32 * unit);
            Candidate {
                id,
                doc,
                bm25,
                cosine,
                path_cosine: paths.of(doc),
                definition: definitions.get(&id).copied().unwrap_or(0.0),
                coverage,
            }
        })
        .collect();
    list.sort_by_cached_key(|candidate| row_key(view, candidate.id));
    let mean_cosine =
        question.vector.filter(|_| kernel.is_some()).map_or(0.0, |vector| mean_dot(view, vector) * unit);
    Candidates { list, files, idf: lexical.idf, path_share, mean_cosine, n_scored, strategies, timed_out }
}

/// Nearness of paths to the question, each computed once.
struct PathCosines<'a> {
    view: &'a View,
    question: &'a Question<'a>,
    kernel: Option<&'a DotKernel>,
    of_doc: FxHashMap<u32, f32>,
}

impl PathCosines<'_> {
    /// Cosine of the question with the nearest of the doc's paths; 0 where the model has no vectors for paths.
    fn of(&mut self, doc: u32) -> f32 {
        let Some(kernel) = self.kernel else { return 0.0 };
        let unit = 1.0 / (self.question.scale * self.question.scale);
        let (view, question) = (self.view, self.question);
        *self.of_doc.entry(doc).or_insert_with(|| {
            let paths = view.entries_of(doc).map(|id| question.paths.of(view.entry(id).0));
            let dots = paths.filter_map(|path| path.vector.as_ref().map(|vector| kernel.dot(vector)));
            dots.max().map_or(0.0, |dot| dot as f32 * unit)
        })
    }
}

/// The wanted names, those in a sentence with less certainty the more paths have them: the name of the project says
/// little about what is looked for in it.
fn specific_names(view: &View, question: &Question<'_>) -> Vec<Wanted> {
    let n_paths = view.snapshot.totals.n_paths.max(1) as f32;
    let is_sentence = question.terms.iter().filter(|term| term.weight == 1.0).count() > 1;
    let specific = |wanted: &Wanted| {
        let term = crate::text::stem(&symbols::joined(wanted.last()));
        let n = view.reader.state.entries.iter().zip(&view.reader.entries).map(|(reference, entries)| {
            let mut n = 0u32;
            if let Some(list) = entries.list(&term) {
                list.for_each(|local, _| {
                    n += u32::from(view.snapshot.entries.contains(reference.entry_base + local))
                });
            }
            n
        });
        let share = n.sum::<u32>() as f32 / n_paths;
        Wanted { name: wanted.name.clone(), certainty: wanted.certainty * (1.0 - share.min(1.0)) }
    };
    if is_sentence && question.mode != Mode::Symbol {
        question.names.iter().map(specific).collect()
    } else {
        question.names.to_vec()
    }
}

struct Found {
    rows: Vec<RowId>,
    strategies: Vec<&'static str>,
}

impl Found {
    fn add(&mut self, strategy: &'static str, rows: impl IntoIterator<Item = RowId>) {
        let before = self.rows.len();
        self.rows.extend(rows);
        if self.rows.len() > before && !self.strategies.contains(&strategy) {
            self.strategies.push(strategy);
        }
    }
}

/// Cosines of one vector with all rows of the scope, for `similar`.
pub fn nearest(
    view: &View,
    scope: &Scope,
    vector: &[i8],
    scale: f32,
    keep: usize,
    is_over: IsOver<'_>,
) -> Vec<(f32, RowId)> {
    if !usable(view, &vector) {
        return Vec::new();
    }
    let search = dense::Search { view, scope, vector, kernel: &DotKernel::new(vector), keep, is_over };
    let rows = search.nearest(Ann::Exact).rows;
    let mut best = best_rows(view, rows.into_iter(), keep);
    best.iter_mut().for_each(|(score, _)| *score /= scale * scale);
    best
}

fn usable(view: &View, vector: &&[i8]) -> bool {
    view.reader.segments.iter().all(|segment| segment.n_rows() == 0 || segment.dim() == vector.len())
}

/// `q · Σ vectors / N`, exact and without a scan, from the totals of the snapshot.
fn mean_dot(view: &View, vector: &[i8]) -> f32 {
    let totals = &view.snapshot.totals;
    if totals.n_rows == 0 {
        return 0.0;
    }
    let dot: i64 = totals.vector_sum.iter().zip(vector).map(|(&sum, &q)| sum * i64::from(q)).sum();
    (dot as f64 / totals.n_rows as f64) as f32
}

/// The `keep` best of `rows`, best first; ties by blob and position.
fn best_rows(view: &View, rows: impl Iterator<Item = (f32, RowId)>, keep: usize) -> Vec<(f32, RowId)> {
    let order =
        |a: &(f32, RowId), b: &(f32, RowId)| b.0.total_cmp(&a.0).then_with(|| row_order(view, a.1, b.1));
    let mut best = Best::new(keep);
    rows.for_each(|(score, id)| best.add(score, id));
    first(best.rows, keep, order)
}

/// The first `n` in a total order; the others are never put into it.
fn first<T>(mut all: Vec<T>, n: usize, order: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if all.len() > n {
        all.select_nth_unstable_by(n, &order);
        all.truncate(n);
    }
    all.sort_unstable_by(order);
    all
}

/// A total order of chunks that does not depend on how the store is segmented.
pub fn row_order(view: &View, a: RowId, b: RowId) -> Ordering {
    row_key(view, a).cmp(&row_key(view, b))
}

fn row_key(view: &View, id: RowId) -> (DocKey, u32, u32) {
    let segment = &view.reader.segments[id.segment as usize];
    let row = &segment.rows()[id.row as usize];
    let doc = segment.docs().get(row.doc as usize).copied().unwrap_or_else(bytemuck::Zeroable::zeroed);
    (segment.key(&doc), row.start_byte, row.end_byte)
}

/// Rows of the files that are best as a whole.
fn best_files(view: &View, scope: &Scope, lexical: &Lexical) -> Vec<RowId> {
    let mut files: Vec<(f32, usize, u32)> = Vec::new();
    for (s, segment) in view.reader.segments.iter().enumerate() {
        let scored = (0..segment.n_docs()).map(|ordinal| (lexical.of_file(s, ordinal).bm25, s, ordinal));
        files.extend(scored.filter(|(score, ..)| *score > 0.0));
    }
    let key = |s: usize, ordinal: u32| {
        view.reader.segments[s].key(&view.reader.segments[s].docs()[ordinal as usize])
    };
    let order = |a: &(f32, usize, u32), b: &(f32, usize, u32)| {
        b.0.total_cmp(&a.0).then_with(|| key(a.1, a.2).cmp(&key(b.1, b.2)))
    };
    let best = first(files, KEEP_FILES, order).into_iter();
    best.flat_map(|(_, s, ordinal)| best_rows_of_file(view, scope, lexical, s, ordinal)).collect()
}

/// The best few rows of a file, which need not be among the best of all.
fn best_rows_of_file(view: &View, scope: &Scope, lexical: &Lexical, s: usize, ordinal: u32) -> Vec<RowId> {
    const BEST: usize = 3;
    let ids = view.reader.segments[s].doc_rows(ordinal).filter(|&row| scope.rows[s].contains(row));
    let mut rows: Vec<(f32, RowId)> =
        ids.map(|row| RowId { segment: s as u32, row }).map(|id| (lexical.of(id).0, id)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.row.cmp(&b.1.row)));
    rows.into_iter().take(BEST).map(|(_, id)| id).collect()
}

/// Rows of the files whose path has most of the query's words, and which share of all paths each word is in.
fn rows_by_path(view: &View, scope: &Scope, terms: &[QueryTerm]) -> (Vec<RowId>, Vec<f32>) {
    let mut n_paths = vec![0u32; terms.len()];
    let mut hits: FxHashMap<u32, f32> = FxHashMap::default();
    for (reference, entries) in view.reader.state.entries.iter().zip(&view.reader.entries) {
        for (term, n) in terms.iter().zip(&mut n_paths) {
            let Some(list) = entries.list(&term.term) else { continue };
            list.for_each(|local, _| {
                let id = reference.entry_base + local;
                let is_indexed =
                    entries.records().get(local as usize).is_some_and(|record| record.doc != NO_DOC);
                if is_indexed && view.snapshot.entries.contains(id) {
                    *n += 1;
                    *hits.entry(id).or_default() += term.weight;
                }
            });
        }
    }
    let files: Vec<(f32, &[u8], u32)> = hits
        .into_iter()
        .filter_map(|(id, score)| view.reader.entry(id).map(|(record, path)| (score, path, record.doc)))
        .collect();
    let files = first(files, KEEP_FILES, |a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let rows = files.into_iter().flat_map(|(_, _, doc)| rows_of_doc(view, scope, doc)).collect();
    let n_all = view.snapshot.totals.n_paths.max(1) as f32;
    (rows, n_paths.into_iter().map(|n| (n as f32 / n_all).min(1.0)).collect())
}

/// Rows of the files that the question names.
fn rows_of_mentions(view: &View, scope: &Scope, mentions: &[Mention]) -> Vec<RowId> {
    if mentions.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let entries = view.reader.live_entries(&view.snapshot.entries);
    let named =
        entries.filter(|(_, _, path)| mentions.iter().any(|mention| mention_fit(mention, path) > 0.0));
    for (_, record, _) in named.take(KEEP_FILES) {
        found.extend(rows_of_doc(view, scope, record.doc));
        let Some((s, ordinal)) = view.reader.locate_doc(record.doc) else { continue };
        let segment = &view.reader.segments[s];
        let has_line = |row: &u32| {
            let record = &segment.rows()[*row as usize];
            mentions
                .iter()
                .filter_map(|mention| mention.line)
                .any(|line| (record.start_line..=record.end_line).contains(&line))
        };
        let rows = segment.doc_rows(ordinal).filter(|row| scope.rows[s].contains(*row) && has_line(row));
        found.extend(rows.map(|row| RowId { segment: s as u32, row }));
    }
    found
}

/// How well a named path fits a file: 1 if they are equal or one is the tail of the other, less if only their ends are the
/// same (an installed copy has other folders above), least if only the file names are.
pub fn mention_fit(mention: &Mention, path: &[u8]) -> f32 {
    let named = mention.path.as_bytes();
    let parts = |path: &[u8]| path.iter().filter(|&&b| b == b'/').count() + 1;
    let pairs = named.rsplit(|&b| b == b'/').zip(path.rsplit(|&b| b == b'/'));
    let n_common = pairs.take_while(|(a, b)| a == b).count();
    match n_common {
        0 => 0.0,
        n if n == parts(path) || (n > 1 && n == parts(named)) => 1.0,
        1 if parts(named) == 1 => 0.8,
        1 => 0.4,
        _ => 0.7,
    }
}

fn rows_of_doc(view: &View, scope: &Scope, doc: u32) -> Vec<RowId> {
    let Some((s, ordinal)) = view.reader.locate_doc(doc) else { return Vec::new() };
    let rows = view.reader.segments[s].doc_rows(ordinal).filter(|&row| scope.rows[s].contains(row));
    rows.take(ROWS_PER_FILE).map(|row| RowId { segment: s as u32, row }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_of_a_path_is_named_the_better_it_fits() {
        let fit = |named: &str, path: &str| {
            mention_fit(&Mention { path: named.to_owned(), line: None }, path.as_bytes())
        };
        assert_eq!(fit("src/a/b.rs", "src/a/b.rs"), 1.0);
        assert_eq!(fit("a/b.rs", "src/a/b.rs"), 1.0);
        assert_eq!(fit("/home/me/src/a/b.rs", "src/a/b.rs"), 1.0);
        assert_eq!(fit("/usr/lib/a/b.rs", "src/a/b.rs"), 0.7);
        assert_eq!(fit("b.rs", "src/a/b.rs"), 0.8);
        assert_eq!(fit("x/b.rs", "src/a/b.rs"), 0.4);
        assert_eq!(fit("xb.rs", "src/a/b.rs"), 0.0);
    }
}
