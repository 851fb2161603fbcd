//! Retrieval: chunks worth ranking, from four kinds of evidence (requirement R1).
//!
//! * dense: exact int8 scan over live rows (or the graph, where the planner prefers it);
//! * lexical: BM25 over the fields of a chunk, with statistics of live rows only;
//! * symbol: chunks that define what the query names;
//! * path: chunks of files whose path has the query's words.
//!
//! Each list is cut by (score, blob, position), never by row number, so the cut does not depend on how the store is
//! segmented. Everything found is then scored on all evidence.

use super::dense;
use super::filter::Scope;
use super::request::{Ann, Mode};
use super::view::View;
use crate::mem::DotKernel;
use crate::store::postings::{FIELDS, Field, N_FIELDS, PostingList};
use crate::store::rows::DocKey;
use crate::text::QueryTerm;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::time::Instant;

/// Rows kept from each list.
const KEEP: usize = 300;
/// Files admitted for their path alone.
const KEEP_PATHS: usize = 64;
/// Rows of such a file that are considered.
const ROWS_PER_PATH: u32 = 40;

/// BM25 (Robertson and Zaragoza 2009): saturation of the frequency, and how much length counts.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// Weight of a match in the body, in names of definitions, in documentation, in enclosing names.
const FIELD_WEIGHT: [f32; N_FIELDS] = [1.0, 0.9, 0.3, 0.4];

/// A chunk of one segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RowId {
    pub segment: u32,
    pub row: u32,
}

/// A chunk with its raw evidence.
#[derive(Debug, Clone, Default)]
pub struct Candidate {
    pub id: RowId,
    /// Store-wide doc id.
    pub doc: u32,
    pub bm25: f32,
    /// Cosine with the query, −1..1.
    pub cosine: f32,
    /// How well a definition in the chunk bears the queried name, 0..1.
    pub definition: f32,
    /// Share of the query's weight (by idf) whose terms occur in the chunk, 0..1.
    pub coverage: f32,
}

/// What retrieval found.
#[derive(Default)]
pub struct Candidates {
    pub list: Vec<Candidate>,
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
    pub identifiers: &'a [String],
    /// Absent if the dense side is unavailable or not wanted.
    pub vector: Option<&'a [i8]>,
    pub scale: f32,
    pub mode: Mode,
    pub ann: Ann,
    pub deadline: Instant,
}

/// Finds candidates among the rows of `scope`.
pub fn retrieve(view: &View, scope: &Scope, question: &Question<'_>) -> Candidates {
    let mut found = Candidates::default();
    let lexical = Lexical::score(view, scope, question);
    let mut rows: FxHashMap<RowId, f32> = FxHashMap::default();
    if question.mode != Mode::Semantic && question.mode != Mode::Symbol {
        let best = best_rows(view, lexical.rows(scope), KEEP);
        rows.extend(best.into_iter().map(|(score, id)| (id, score)));
        found.strategies.push("lexical_bm25");
    }
    found.n_scored = lexical.n_scored;
    let kernel = question.vector.filter(|vector| usable(view, vector)).map(DotKernel::new);
    let unit = 1.0 / (question.scale * question.scale);
    if let (Some(kernel), Mode::Hybrid | Mode::Semantic) = (&kernel, question.mode) {
        if Instant::now() < question.deadline {
            let nearest = dense::nearest(view, scope, kernel, question.ann, KEEP);
            found.strategies.push(if nearest.used_graph { "dense_hnsw" } else { "dense_exact" });
            let best = best_rows(view, nearest.rows.into_iter(), KEEP);
            rows.extend(best.into_iter().map(|(_, id)| (id, 0.0)));
            found.n_scored = found.n_scored.max(scope.n_rows);
        } else {
            found.timed_out = true;
        }
    }
    let definitions = definitions(view, scope, question.identifiers);
    if !definitions.is_empty() {
        found.strategies.push("symbol");
    }
    rows.extend(definitions.keys().map(|id| (*id, 0.0)));
    if matches!(question.mode, Mode::Hybrid | Mode::Keyword) {
        let by_path = rows_by_path(view, scope, question.terms);
        if !by_path.is_empty() {
            found.strategies.push("path");
        }
        rows.extend(by_path.into_iter().map(|id| (id, 0.0)));
    }
    found.mean_cosine =
        question.vector.filter(|_| kernel.is_some()).map_or(0.0, |vector| mean_dot(view, vector) * unit);
    found.list = rows
        .into_keys()
        .map(|id| {
            let segment = &view.reader.segments[id.segment as usize];
            let (bm25, coverage) = lexical.of(id);
            Candidate {
                id,
                doc: view.reader.state.segments[id.segment as usize].doc_base
                    + segment.rows()[id.row as usize].doc,
                bm25,
                cosine: kernel
                    .as_ref()
                    .map_or(0.0, |kernel| kernel.dot(segment.vector(id.row)) as f32 * unit),
                definition: definitions.get(&id).copied().unwrap_or(0.0),
                coverage,
            }
        })
        .collect();
    found.list.sort_by(|a, b| row_order(view, a.id, b.id));
    found
}

/// Cosines of one vector with all rows of the scope, for `similar`.
pub fn nearest(view: &View, scope: &Scope, vector: &[i8], scale: f32, keep: usize) -> Vec<(f32, RowId)> {
    if !usable(view, &vector) {
        return Vec::new();
    }
    let kernel = DotKernel::new(vector);
    let rows = dense::nearest(view, scope, &kernel, Ann::Exact, keep).rows;
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
    let mut best: Vec<(f32, RowId)> = Vec::with_capacity(keep * 4);
    let mut threshold = f32::NEG_INFINITY;
    for row in rows {
        if row.0 >= threshold {
            best.push(row);
            if best.len() == keep * 4 {
                best.select_nth_unstable_by(keep - 1, order);
                best.truncate(keep);
                threshold = best[keep - 1].0;
            }
        }
    }
    best.sort_by(order);
    best.truncate(keep);
    best
}

/// A total order of chunks that does not depend on how the store is segmented.
pub fn row_order(view: &View, a: RowId, b: RowId) -> Ordering {
    let key = |id: RowId| -> (DocKey, u32, u32) {
        let segment = &view.reader.segments[id.segment as usize];
        let row = &segment.rows()[id.row as usize];
        let doc = segment.docs().get(row.doc as usize).copied().unwrap_or_else(bytemuck::Zeroable::zeroed);
        (segment.key(&doc), row.start_byte, row.end_byte)
    };
    key(a).cmp(&key(b))
}

/// BM25 of every row that has a term of the query.
struct Lexical {
    /// Per segment and row.
    scores: Vec<Vec<f32>>,
    coverage: Vec<Vec<f32>>,
    /// Number (from one) of the last term that counts in `coverage`, per segment and row.
    covered: Vec<Vec<u16>>,
    n_scored: u64,
}

impl Lexical {
    /// Adds up the terms in the order of the query and, within a term, of the fields, so that a row's score does not
    /// depend on its segment.
    fn score(view: &View, scope: &Scope, question: &Question<'_>) -> Lexical {
        let totals = &view.snapshot.totals;
        let n_rows = totals.n_rows.max(1) as f32;
        let mut lexical = Lexical {
            scores: view.reader.segments.iter().map(|s| vec![0.0; s.n_rows() as usize]).collect(),
            coverage: view.reader.segments.iter().map(|s| vec![0.0; s.n_rows() as usize]).collect(),
            covered: view.reader.segments.iter().map(|s| vec![0; s.n_rows() as usize]).collect(),
            n_scored: 0,
        };
        let postings: Vec<_> = view.reader.segments.iter().map(|segment| segment.postings()).collect();
        let mut lists: Vec<Vec<[Option<PostingList<'_>>; N_FIELDS]>> = Vec::new();
        let mut idf = Vec::new();
        for term in question.terms {
            let of_term: Vec<[Option<PostingList<'_>>; N_FIELDS]> = postings
                .iter()
                .map(|postings| FIELDS.map(|field| postings.as_ref().and_then(|p| p.get(field, &term.term))))
                .collect();
            let df = FIELDS.map(|field| {
                let of_segment = of_term.iter().zip(&view.live);
                of_segment
                    .map(|(lists, live)| {
                        lists[field as usize].map_or(0, |list| u64::from(list.df_live(live)))
                    })
                    .sum::<u64>()
            });
            let df = df.into_iter().max().unwrap_or(0) as f32;
            idf.push(if df == 0.0 {
                0.0
            } else {
                libm::logf(1.0 + (n_rows - df + 0.5).max(0.0) / (df + 0.5))
            });
            lists.push(of_term);
        }
        let total_weight: f32 = question
            .terms
            .iter()
            .zip(&idf)
            .map(|(term, idf)| term.weight * idf.max(missing_idf(n_rows, *idf)))
            .sum();
        for (number, ((term, of_term), &idf)) in (1..).zip(question.terms.iter().zip(&lists).zip(&idf)) {
            if Instant::now() > question.deadline {
                break;
            }
            let share = if total_weight > 0.0 { term.weight * idf / total_weight } else { 0.0 };
            for (s, lists) in of_term.iter().enumerate() {
                lexical.add_term(view, scope, s, lists, (number, term.weight * idf, share));
            }
        }
        lexical
    }

    fn add_term(
        &mut self,
        view: &View,
        scope: &Scope,
        s: usize,
        lists: &[Option<PostingList<'_>>; N_FIELDS],
        (number, weight, share): (u16, f32, f32),
    ) {
        let totals = &view.snapshot.totals;
        let records = view.reader.segments[s].rows();
        let (scores, coverage, covered) = (&mut self.scores[s], &mut self.coverage[s], &mut self.covered[s]);
        for field in FIELDS {
            let f = field as usize;
            let Some(list) = &lists[f] else { continue };
            let average = (totals.field_len[f] as f32 / totals.n_rows.max(1) as f32).max(1.0);
            let mut n_scored = 0;
            list.for_each(|row, tf| {
                if !scope.rows[s].contains(row) {
                    return;
                }
                let Some(record) = records.get(row as usize) else { return };
                let (tf, len) = (tf as f32, f32::from(record.field_len[f]));
                let saturated = tf * (K1 + 1.0) / (tf + K1 * (1.0 - B + B * len / average));
                scores[row as usize] += FIELD_WEIGHT[f] * weight * saturated;
                // Every term counts once per row, whichever fields have it.
                if covered[row as usize] != number {
                    covered[row as usize] = number;
                    coverage[row as usize] += share;
                }
                n_scored += 1;
            });
            self.n_scored += n_scored;
        }
    }

    /// Rows with a score.
    fn rows<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = (f32, RowId)> + 'a {
        self.scores.iter().zip(&scope.rows).enumerate().flat_map(|(s, (scores, rows))| {
            let scored = scores.iter().enumerate().filter(|(_, score)| **score > 0.0);
            scored
                .filter(|(row, _)| rows.contains(*row as u32))
                .map(move |(row, &score)| (score, RowId { segment: s as u32, row: row as u32 }))
        })
    }

    fn of(&self, id: RowId) -> (f32, f32) {
        let (s, row) = (id.segment as usize, id.row as usize);
        (self.scores[s][row], self.coverage[s][row].min(1.0))
    }
}

/// A word that is nowhere weighs as much as the rarest: a question about something absent is not covered.
fn missing_idf(n_rows: f32, idf: f32) -> f32 {
    if idf > 0.0 { idf } else { libm::logf(1.0 + n_rows / 0.5) }
}

/// Rows that define one of `names`, with how well: 1 for the name as written, less for other case or a part of a
/// qualified name.
fn definitions(view: &View, scope: &Scope, names: &[String]) -> FxHashMap<RowId, f32> {
    let mut found: FxHashMap<RowId, f32> = FxHashMap::default();
    for name in names {
        let last = name.rsplit([':', '.', '#', '/', '>']).next().unwrap_or(name);
        if last.is_empty() {
            continue;
        }
        let mut whole = String::new();
        crate::text::for_each_term(last, &mut |term| whole = term.to_owned());
        for (s, segment) in view.reader.segments.iter().enumerate() {
            let Some(list) = segment.list(Field::Symbol, &whole) else { continue };
            list.for_each(|row, _| {
                if !scope.rows[s].contains(row) {
                    return;
                }
                let Some(record) = segment.rows().get(row as usize) else { return };
                let strength = segment.symbols_of(record).iter().map(|symbol| {
                    name_strength(
                        segment.string(symbol.name),
                        segment.string(symbol.qualified_name),
                        name,
                        last,
                    )
                });
                let strength = strength.fold(0.0, f32::max);
                if strength > 0.0 {
                    let slot = found.entry(RowId { segment: s as u32, row }).or_default();
                    *slot = slot.max(strength);
                }
            });
        }
    }
    found
}

fn name_strength(name: &str, qualified: &str, wanted: &str, last: &str) -> f32 {
    if qualified == wanted || (name == last && wanted == last) {
        1.0
    } else if name == last {
        // `Parser.next` asks for the `next` of Parser: another `next` is only a possibility.
        if qualified.ends_with(wanted) { 1.0 } else { 0.6 }
    } else if name.eq_ignore_ascii_case(last) {
        0.7
    } else {
        0.0
    }
}

/// Rows of the files whose path has most of the query's words.
fn rows_by_path(view: &View, scope: &Scope, terms: &[QueryTerm]) -> Vec<RowId> {
    let mut hits: FxHashMap<u32, f32> = FxHashMap::default();
    for (reference, entries) in view.reader.state.entries.iter().zip(&view.reader.entries) {
        for term in terms {
            let Some(list) = entries.list(&term.term) else { continue };
            list.for_each(|local, _| {
                let id = reference.entry_base + local;
                if view.snapshot.entries.contains(id) {
                    *hits.entry(id).or_default() += term.weight;
                }
            });
        }
    }
    let mut files: Vec<(f32, &[u8], u32)> = hits
        .into_iter()
        .filter_map(|(id, score)| view.reader.entry(id).map(|(record, path)| (score, path, record.doc)))
        .collect();
    files.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let mut rows = Vec::new();
    for (_, _, doc) in files.into_iter().take(KEEP_PATHS) {
        let Some((s, ordinal)) = view.reader.locate_doc(doc) else { continue };
        let range = view.reader.segments[s].doc_rows(ordinal);
        let in_scope = range.take(ROWS_PER_PATH as usize).filter(|&row| scope.rows[s].contains(row));
        rows.extend(in_scope.map(|row| RowId { segment: s as u32, row }));
    }
    rows
}
