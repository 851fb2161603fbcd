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
use crate::store::postings::{FIELDS, Field, N_FIELDS, PostingList, Postings};
use crate::store::segment::Segment;
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

/// Terms that are scored before anybody asks whether the answer is still wanted, and for which files are remembered at once.
const BLOCK: usize = 8;

/// Parameters of one term.
struct Term<'a> {
    /// Position in the question, from 1.
    number: u16,
    /// Posting lists by segment.
    lists: Vec<Lists<'a>>,
    row: f32,
    share: f32,
    weight: f32,
}

/// Posting lists of a term in one segment, by field.
type Lists<'a> = [Option<PostingList<'a>>; N_FIELDS];

impl Lexical {
    /// Scores all live rows of `scope` that have a term, and all files. The last terms are left out, everywhere, once it
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
        let of_segments =
            |term: &QueryTerm| postings.iter().map(|postings| lists(postings, &term.term)).collect();
        let lists: Vec<Vec<Lists<'_>>> = terms.iter().map(of_segments).collect();
        let idf: Vec<f32> = lists
            .iter()
            .map(|lists| {
                let df = FIELDS.map(|field| {
                    let of_segments = lists.iter().zip(view.live()).map(|(lists, live)| {
                        lists[field as usize].map_or(0, |list| u64::from(list.df_live(live)))
                    });
                    of_segments.sum::<u64>()
                });
                let df = df.into_iter().max().unwrap_or(0) as f32;
                if df == 0.0 { 0.0 } else { self::idf(n_rows as f32, df) }
            })
            .collect();
        let total: f32 =
            terms.iter().zip(&idf).map(|(term, idf)| term.weight * missing_idf(n_rows as f32, *idf)).sum();
        let weighted = terms.iter().zip(&idf).zip(lists).enumerate();
        let terms: Vec<Term<'_>> = weighted
            .map(|(t, ((term, idf), lists))| Term {
                number: t as u16 + 1,
                lists,
                row: term.weight * idf,
                share: if total > 0.0 { term.weight * idf / total } else { 0.0 },
                weight: term.weight,
            })
            .collect();
        let scorer = Scorer { view, scope, weights };
        let mut scores: Vec<SegmentScores> =
            segments.iter().map(|segment| SegmentScores::of(segment)).collect();
        for block in terms.chunks(BLOCK) {
            if is_over() {
                break;
            }
            parallel::for_each(&mut scores, n_rows, |s, scores| scorer.score_rows(s, block, scores));
            // The files that have each term, which are known only now.
            let n_files: Vec<usize> = (0..block.len())
                .map(|t| scores.iter().map(|scores| scores.tf_of_docs[t].len()).sum())
                .collect();
            parallel::for_each(&mut scores, n_rows, |s, scores| {
                scorer.score_files(s, block, &n_files, scores)
            });
        }
        let n_scored = scores.iter().map(|scores| scores.n_scored).sum();
        Lexical { segments: scores, idf, n_scored }
    }

    /// Rows with a score: all but those that cannot be among the best `keep`.
    pub fn best(&self, keep: usize) -> impl Iterator<Item = (f32, RowId)> {
        let n_rows = self.segments.iter().map(|segment| segment.rows.len() as u64).sum();
        let of_segments = parallel::map(self.segments.len(), n_rows, |s| {
            let mut best = Best::new(keep);
            for (row, &score) in self.segments[s].rows.iter().enumerate().filter(|(_, score)| **score > 0.0) {
                best.add(score, RowId { segment: s as u32, row: row as u32 });
            }
            best.rows
        });
        of_segments.into_iter().flatten()
    }

    /// BM25 and coverage of a row.
    pub fn of(&self, id: RowId) -> (f32, f32) {
        let (segment, row) = (&self.segments[id.segment as usize], id.row as usize);
        (segment.rows[row], segment.coverage[row].min(1.0))
    }

    /// What a doc has, by segment and ordinal.
    pub fn of_file(&self, s: usize, ordinal: u32) -> FileLexical {
        self.segments[s].files[ordinal as usize]
    }
}

fn lists<'a>(postings: &Option<Postings<'a>>, term: &str) -> Lists<'a> {
    FIELDS.map(|field| postings.as_ref()?.get(field, term))
}

/// Scores within one segment.
struct SegmentScores {
    /// BM25 per row, 0 outside of the scope.
    rows: Vec<f32>,
    /// Per row, 0 outside of the scope.
    coverage: Vec<f32>,
    /// The number of the last term that counted towards a row's coverage.
    counted: Vec<u16>,
    /// Per doc.
    files: Vec<FileLexical>,
    frequencies: Frequencies,
    /// Per term of the block: the docs that have it, with its weighted frequency, in the order they were met.
    tf_of_docs: Vec<Vec<(u32, f32)>>,
    n_scored: u64,
}

impl SegmentScores {
    fn of(segment: &Segment) -> SegmentScores {
        let (n_rows, n_docs) = (segment.n_rows() as usize, segment.n_docs() as usize);
        SegmentScores {
            rows: vec![0.0; n_rows],
            coverage: vec![0.0; n_rows],
            counted: vec![0; n_rows],
            files: vec![FileLexical::default(); n_docs],
            frequencies: Frequencies { of_docs: vec![0.0; n_docs], touched: Vec::new() },
            tf_of_docs: Vec::new(),
            n_scored: 0,
        }
    }
}

struct Scorer<'a> {
    view: &'a View,
    scope: &'a Scope,
    weights: &'a Weights,
}

impl Scorer<'_> {
    /// Adds what the terms of a block say about rows of segment `s`, and notes which docs have them.
    fn score_rows(&self, s: usize, block: &[Term<'_>], scores: &mut SegmentScores) {
        scores.tf_of_docs.clear();
        for term in block {
            for field in FIELDS {
                if let Some(list) = &term.lists[s][field as usize] {
                    self.add(s, list, field, term, scores);
                }
            }
            scores.tf_of_docs.push(scores.frequencies.take());
        }
    }

    fn add(
        &self,
        s: usize,
        list: &PostingList<'_>,
        field: Field,
        term: &Term<'_>,
        scores: &mut SegmentScores,
    ) {
        let (f, totals) = (field as usize, &self.view.snapshot.totals);
        let (live, wanted) = (&self.view.live()[s], &self.scope.rows[s]);
        let records = self.view.reader.segments[s].rows();
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
            scores.frequencies.add(record.doc, tf * field_weight);
            if !is_wanted {
                return;
            }
            let row = row as usize;
            let len = f32::from(record.field_len[f]);
            scores.rows[row] +=
                field_weight * term.row * (tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * len / average)));
            if scores.counted[row] != term.number {
                scores.counted[row] = term.number;
                scores.coverage[row] += term.share;
                scores.n_scored += 1;
            }
        });
    }

    /// Adds what the terms of a block say about files of segment `s`; `n_files` have each term in the whole view.
    fn score_files(&self, s: usize, block: &[Term<'_>], n_files: &[usize], scores: &mut SegmentScores) {
        let totals = &self.view.snapshot.totals;
        let average = (totals.field_len[Field::Body as usize] as f32 / totals.n_paths.max(1) as f32).max(1.0);
        let segment = &self.view.reader.segments[s];
        let (k1, b) = (self.weights.file_k1, self.weights.file_b);
        for ((of_term, term), &n_with_term) in scores.tf_of_docs.iter().zip(block).zip(n_files) {
            let n = (totals.n_paths as f32).max(n_with_term as f32);
            let weight = idf_of_file(n, n_with_term as f32) * term.weight;
            for &(doc, tf) in of_term {
                let file = &mut scores.files[doc as usize];
                let len = segment.body_len(doc) as f32;
                file.bm25 += weight * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * len / average));
                file.coverage += term.share;
            }
        }
    }
}

/// Weighted frequencies of one term in docs.
struct Frequencies {
    of_docs: Vec<f32>,
    touched: Vec<u32>,
}

impl Frequencies {
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
