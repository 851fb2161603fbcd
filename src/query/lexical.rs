//! BM25 of chunks and of whole files, with the statistics of live rows only.
//!
//! Terms are added up in the order of the query and, within a term, of the fields; a file's rows lie together in one
//! segment. So no score depends on how the store is segmented.

use super::cancel::IsOver;
use super::filter::Scope;
use super::rank::Weights;
use super::view::{RowId, View};
use crate::store::postings::{FIELDS, Field, N_FIELDS, PostingList};
use crate::text::QueryTerm;

/// What a file has of the question.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FileLexical {
    /// BM25 with the file as the document.
    pub bm25: f32,
    /// Share of the question's weight (by rarity) whose terms stand anywhere in the file, 0..1.
    pub coverage: f32,
}

/// Lexical scores of one question.
pub struct Lexical {
    /// Per segment and row.
    scores: Vec<Vec<f32>>,
    coverage: Vec<Vec<f32>>,
    /// Per segment and doc.
    files: Vec<Vec<FileLexical>>,
    /// Rarity of each term of the question, among chunks.
    pub idf: Vec<f32>,
    pub n_scored: u64,
}

/// Parameters of one term.
struct TermWeight {
    /// Position in the question, from 1.
    number: u16,
    row: f32,
    share: f32,
    weight: f32,
}

type Lists<'a> = [Option<PostingList<'a>>; N_FIELDS];

impl Lexical {
    /// Scores all live rows that have a term; rows outside of `scope` count for their file only. Terms are left out once it
    /// `is_over`.
    pub fn score(
        view: &View,
        scope: &Scope,
        terms: &[QueryTerm],
        weights: &Weights,
        is_over: IsOver<'_>,
    ) -> Lexical {
        let segments = &view.reader.segments;
        let n_rows = view.snapshot.totals.n_rows.max(1) as f32;
        let mut lexical = Lexical {
            scores: segments.iter().map(|s| vec![0.0; s.n_rows() as usize]).collect(),
            coverage: segments.iter().map(|s| vec![0.0; s.n_rows() as usize]).collect(),
            files: segments.iter().map(|s| vec![FileLexical::default(); s.n_docs() as usize]).collect(),
            idf: Vec::with_capacity(terms.len()),
            n_scored: 0,
        };
        let postings: Vec<_> = segments.iter().map(|segment| segment.postings()).collect();
        let mut lists: Vec<Vec<Lists<'_>>> = Vec::with_capacity(terms.len());
        for term in terms {
            let of_term: Vec<Lists<'_>> = postings
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
            lexical.idf.push(if df == 0.0 { 0.0 } else { idf(n_rows, df) });
            lists.push(of_term);
        }
        let total: f32 =
            terms.iter().zip(&lexical.idf).map(|(term, idf)| term.weight * missing_idf(n_rows, *idf)).sum();
        let mut rows: Vec<RowState> =
            segments.iter().map(|s| RowState::new(s.n_rows(), s.n_docs())).collect();
        for (i, (term, of_term)) in terms.iter().zip(&lists).enumerate() {
            if is_over() {
                break;
            }
            let idf = lexical.idf[i];
            let share = if total > 0.0 { term.weight * idf / total } else { 0.0 };
            let weight =
                TermWeight { number: i as u16 + 1, row: term.weight * idf, share, weight: term.weight };
            let mut df_files = 0;
            for (s, lists) in of_term.iter().enumerate() {
                lexical.add_to_rows(view, scope, s, lists, &weight, weights, &mut rows[s]);
                df_files += rows[s].touched.len();
            }
            let n_files = (view.snapshot.totals.n_paths as f32).max(df_files as f32);
            for (s, state) in rows.iter_mut().enumerate() {
                lexical.add_to_files(
                    view,
                    s,
                    idf_of_file(n_files, df_files as f32) * weight.weight,
                    &weight,
                    weights,
                    state,
                );
            }
        }
        lexical
    }

    #[allow(clippy::too_many_arguments)]
    fn add_to_rows(
        &mut self,
        view: &View,
        scope: &Scope,
        s: usize,
        lists: &Lists<'_>,
        term: &TermWeight,
        weights: &Weights,
        state: &mut RowState,
    ) {
        let totals = &view.snapshot.totals;
        let records = view.reader.segments[s].rows();
        let (scores, coverage) = (&mut self.scores[s], &mut self.coverage[s]);
        let (k1, b) = (weights.k1, weights.b);
        for field in FIELDS {
            let f = field as usize;
            let Some(list) = &lists[f] else { continue };
            let average = (totals.field_len[f] as f32 / totals.n_rows.max(1) as f32).max(1.0);
            let field_weight = weights.field(field);
            let mut n_scored = 0;
            list.for_each(|row, tf| {
                if !view.live[s].contains(row) {
                    return;
                }
                let Some(record) = records.get(row as usize) else { return };
                let tf = tf as f32;
                state.add_to_file(record.doc, tf * field_weight);
                if !scope.rows[s].contains(row) {
                    return;
                }
                let len = f32::from(record.field_len[f]);
                scores[row as usize] +=
                    field_weight * term.row * (tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * len / average)));
                if state.counted[row as usize] != term.number {
                    state.counted[row as usize] = term.number;
                    coverage[row as usize] += term.share;
                    n_scored += 1;
                }
            });
            self.n_scored += n_scored;
        }
    }

    fn add_to_files(
        &mut self,
        view: &View,
        s: usize,
        weight: f32,
        term: &TermWeight,
        weights: &Weights,
        state: &mut RowState,
    ) {
        let totals = &view.snapshot.totals;
        let average = (totals.field_len[Field::Body as usize] as f32 / totals.n_paths.max(1) as f32).max(1.0);
        let segment = &view.reader.segments[s];
        let (k1, b) = (weights.file_k1, weights.file_b);
        for doc in state.touched.drain(..) {
            let d = doc as usize;
            if state.len[d] < 0.0 {
                let rows = segment.doc_rows(doc);
                let rows = segment.rows().get(rows.start as usize..rows.end as usize).unwrap_or(&[]);
                state.len[d] = rows.iter().map(|row| f32::from(row.field_len[Field::Body as usize])).sum();
            }
            let tf = std::mem::take(&mut state.tf[d]);
            let file = &mut self.files[s][d];
            file.bm25 += weight * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * state.len[d] / average));
            file.coverage += term.share;
        }
    }

    /// Rows of `scope` with a score.
    pub fn rows<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = (f32, RowId)> + 'a {
        self.scores.iter().zip(&scope.rows).enumerate().flat_map(|(s, (scores, rows))| {
            let scored = scores.iter().enumerate().filter(|(_, score)| **score > 0.0);
            scored
                .filter(|(row, _)| rows.contains(*row as u32))
                .map(move |(row, &score)| (score, RowId { segment: s as u32, row: row as u32 }))
        })
    }

    /// BM25 and coverage of a row.
    pub fn of(&self, id: RowId) -> (f32, f32) {
        let (s, row) = (id.segment as usize, id.row as usize);
        (self.scores[s][row], self.coverage[s][row].min(1.0))
    }

    /// What a doc has, by segment and ordinal.
    pub fn of_file(&self, s: usize, ordinal: u32) -> FileLexical {
        self.files[s][ordinal as usize]
    }
}

/// Scratch space of one segment.
struct RowState {
    /// The last term that counted towards a row's coverage.
    counted: Vec<u16>,
    /// Of the present term, per doc.
    tf: Vec<f32>,
    touched: Vec<u32>,
    /// Terms in a doc, once it was asked for; negative before.
    len: Vec<f32>,
}

impl RowState {
    fn new(n_rows: u32, n_docs: u32) -> RowState {
        RowState {
            counted: vec![0; n_rows as usize],
            tf: vec![0.0; n_docs as usize],
            touched: Vec::new(),
            len: vec![-1.0; n_docs as usize],
        }
    }

    fn add_to_file(&mut self, doc: u32, tf: f32) {
        let Some(sum) = self.tf.get_mut(doc as usize) else { return };
        if *sum == 0.0 {
            self.touched.push(doc);
        }
        // Never 0, so that a file is touched once.
        *sum += tf.max(f32::MIN_POSITIVE);
    }
}

/// How much a term says that `df` of `n` have.
pub fn idf(n: f32, df: f32) -> f32 {
    libm::logf(1.0 + (n - df + 0.5).max(0.0) / (df + 0.5))
}

fn idf_of_file(n: f32, df: f32) -> f32 {
    if df == 0.0 { 0.0 } else { idf(n, df) }
}

/// A word that is nowhere weighs as much as the rarest: a question about something absent is not covered.
fn missing_idf(n_rows: f32, idf: f32) -> f32 {
    if idf > 0.0 { idf } else { libm::logf(1.0 + n_rows / 0.5) }
}
