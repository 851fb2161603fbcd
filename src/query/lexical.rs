//! BM25 of chunks and of whole files, with the statistics of live rows only.
//!
//! Terms are added up in the order of the query and, within a term, of the fields; a file's rows lie together in one
//! segment. So no score depends on how the store is segmented.

use super::best::Best;
use super::cancel::IsOver;
use super::filter::Scope;
use super::parallel;
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
    segments: Vec<SegmentScores>,
    /// Rarity of each term of the question, among chunks.
    pub idf: Vec<f32>,
    pub n_scored: u64,
}

/// Scores within one segment.
struct SegmentScores {
    /// Per row.
    scores: Vec<f32>,
    coverage: Vec<f32>,
    /// Per doc.
    files: Vec<FileLexical>,
}

/// Parameters of one term.
struct TermWeight {
    /// Position in the question, from 1.
    number: u16,
    row: f32,
    share: f32,
    weight: f32,
}

/// Posting lists of a term in one segment.
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
        let n_rows = view.snapshot.totals.n_rows.max(1);
        let postings: Vec<_> = segments.iter().map(|segment| segment.postings()).collect();
        let lists: Vec<Vec<Lists<'_>>> = postings
            .iter()
            .map(|postings| {
                let list = |term, field| postings.as_ref().and_then(|postings| postings.get(field, term));
                terms.iter().map(|term| FIELDS.map(|field| list(&term.term, field))).collect()
            })
            .collect();
        let idf: Vec<f32> = (0..terms.len())
            .map(|t| {
                let df = FIELDS.map(|field| {
                    let of_segments = lists.iter().zip(view.live()).map(|(lists, live)| {
                        lists[t][field as usize].map_or(0, |list| u64::from(list.df_live(live)))
                    });
                    of_segments.sum::<u64>()
                });
                let df = df.into_iter().max().unwrap_or(0) as f32;
                if df == 0.0 { 0.0 } else { self::idf(n_rows as f32, df) }
            })
            .collect();
        let total: f32 =
            terms.iter().zip(&idf).map(|(term, idf)| term.weight * missing_idf(n_rows as f32, *idf)).sum();
        let term_weights: Vec<TermWeight> = terms
            .iter()
            .zip(&idf)
            .enumerate()
            .map(|(t, (term, idf))| TermWeight {
                number: t as u16 + 1,
                row: term.weight * idf,
                share: if total > 0.0 { term.weight * idf / total } else { 0.0 },
                weight: term.weight,
            })
            .collect();
        let of_rows = parallel::map(segments.len(), n_rows, |s| {
            let segment = RowScorer { view, scope, s, weights };
            segment.score(&lists[s], &term_weights, is_over)
        });
        // Per term: the files that have it, which are known only now.
        let n_files: Vec<usize> = (0..terms.len())
            .map(|t| of_rows.iter().map(|rows| rows.tf_of_docs.get(t).map_or(0, Vec::len)).sum())
            .collect();
        let files = parallel::map(segments.len(), n_rows, |s| {
            of_files(view, s, &of_rows[s].tf_of_docs, &term_weights, &n_files, weights)
        });
        let n_scored = of_rows.iter().map(|rows| rows.n_scored).sum();
        let merged = of_rows.into_iter().zip(files).map(|(rows, files)| SegmentScores {
            scores: rows.scores,
            coverage: rows.coverage,
            files,
        });
        Lexical { segments: merged.collect(), idf, n_scored }
    }

    /// Rows of `scope` with a score: all but those that cannot be among the best `keep`.
    pub fn best(&self, scope: &Scope, keep: usize) -> impl Iterator<Item = (f32, RowId)> {
        let of_segments = parallel::map(self.segments.len(), scope.n_rows, |s| {
            let mut best = Best::new(keep);
            for (row, &score) in self.segments[s].scores.iter().enumerate() {
                if score > 0.0 && scope.rows[s].contains(row as u32) {
                    best.add(score, RowId { segment: s as u32, row: row as u32 });
                }
            }
            best.rows
        });
        of_segments.into_iter().flatten()
    }

    /// BM25 and coverage of a row.
    pub fn of(&self, id: RowId) -> (f32, f32) {
        let (segment, row) = (&self.segments[id.segment as usize], id.row as usize);
        (segment.scores[row], segment.coverage[row].min(1.0))
    }

    /// What a doc has, by segment and ordinal.
    pub fn of_file(&self, s: usize, ordinal: u32) -> FileLexical {
        self.segments[s].files[ordinal as usize]
    }
}

/// Scores of the rows of one segment, and what their files have.
struct RowScores {
    scores: Vec<f32>,
    coverage: Vec<f32>,
    /// Per term: the docs that have it, with its weighted frequency, in the order they were met.
    tf_of_docs: Vec<Vec<(u32, f32)>>,
    n_scored: u64,
}

struct RowScorer<'a> {
    view: &'a View,
    scope: &'a Scope,
    s: usize,
    weights: &'a Weights,
}

impl RowScorer<'_> {
    fn score(&self, lists: &[Lists<'_>], terms: &[TermWeight], is_over: IsOver<'_>) -> RowScores {
        let segment = &self.view.reader.segments[self.s];
        let n_rows = segment.n_rows() as usize;
        let mut found = RowScores {
            scores: vec![0.0; n_rows],
            coverage: vec![0.0; n_rows],
            tf_of_docs: Vec::new(),
            n_scored: 0,
        };
        // The last term that counted towards a row's coverage.
        let mut counted = vec![0; n_rows];
        let mut docs = Frequencies::of(segment.n_docs());
        for (lists, term) in lists.iter().zip(terms) {
            if is_over() {
                break;
            }
            for field in FIELDS {
                if let Some(list) = &lists[field as usize] {
                    self.add(list, field, term, &mut found, &mut counted, &mut docs);
                }
            }
            found.tf_of_docs.push(docs.take());
        }
        found
    }

    fn add(
        &self,
        list: &PostingList<'_>,
        field: Field,
        term: &TermWeight,
        found: &mut RowScores,
        counted: &mut [u16],
        docs: &mut Frequencies,
    ) {
        let (f, totals) = (field as usize, &self.view.snapshot.totals);
        let (live, wanted) = (&self.view.live()[self.s], &self.scope.rows[self.s]);
        let records = self.view.reader.segments[self.s].rows();
        let (k1, b) = (self.weights.k1, self.weights.b);
        let average = (totals.field_len[f] as f32 / totals.n_rows.max(1) as f32).max(1.0);
        let field_weight = self.weights.field(field);
        list.for_each(|row, tf| {
            let is_wanted = wanted.contains(row);
            if !is_wanted && !live.contains(row) {
                return;
            }
            let Some(record) = records.get(row as usize) else { return };
            let tf = tf as f32;
            docs.add(record.doc, tf * field_weight);
            if !is_wanted {
                return;
            }
            let row = row as usize;
            let len = f32::from(record.field_len[f]);
            found.scores[row] +=
                field_weight * term.row * (tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * len / average)));
            if counted[row] != term.number {
                counted[row] = term.number;
                found.coverage[row] += term.share;
                found.n_scored += 1;
            }
        });
    }
}

/// Weighted frequencies of one term in docs.
struct Frequencies {
    of_docs: Vec<f32>,
    touched: Vec<u32>,
}

impl Frequencies {
    fn of(n_docs: u32) -> Frequencies {
        Frequencies { of_docs: vec![0.0; n_docs as usize], touched: Vec::new() }
    }

    fn add(&mut self, doc: u32, tf: f32) {
        let Some(sum) = self.of_docs.get_mut(doc as usize) else { return };
        if *sum == 0.0 {
            self.touched.push(doc);
        }
        // Never 0, so that a file is touched once.
        *sum += tf.max(f32::MIN_POSITIVE);
    }

    /// What was added, in the order it was met; empty afterwards.
    fn take(&mut self) -> Vec<(u32, f32)> {
        let of_docs = &mut self.of_docs;
        self.touched.drain(..).map(|doc| (doc, std::mem::take(&mut of_docs[doc as usize]))).collect()
    }
}

/// What the files of segment `s` have; `n_files` have each term in the whole view.
fn of_files(
    view: &View,
    s: usize,
    tf_of_docs: &[Vec<(u32, f32)>],
    terms: &[TermWeight],
    n_files: &[usize],
    weights: &Weights,
) -> Vec<FileLexical> {
    let totals = &view.snapshot.totals;
    let average = (totals.field_len[Field::Body as usize] as f32 / totals.n_paths.max(1) as f32).max(1.0);
    let segment = &view.reader.segments[s];
    let (k1, b) = (weights.file_k1, weights.file_b);
    let mut files = vec![FileLexical::default(); segment.n_docs() as usize];
    for ((of_term, term), &n_with_term) in tf_of_docs.iter().zip(terms).zip(n_files) {
        let n = (totals.n_paths as f32).max(n_with_term as f32);
        let weight = idf_of_file(n, n_with_term as f32) * term.weight;
        for &(doc, tf) in of_term {
            let file = &mut files[doc as usize];
            let len = segment.body_len(doc) as f32;
            file.bm25 += weight * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * len / average));
            file.coverage += term.share;
        }
    }
    files
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
