//! BM25 of chunks and of whole files, with the statistics of live rows only.
//!
//! Terms are added up in the order of the query and, within a term, of the fields; a file's rows lie together in one
//! segment. So no score depends on how the store is segmented.

use super::parallel;
use super::top_k::Best;
use crate::query::cancel::IsOver;
use crate::query::rank::Weights;
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};
use crate::store::postings::{FIELDS, Field, N_FIELDS, PostingList};
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
struct Term {
    /// Position in the question, from 0.
    number: u16,
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
        let n_segments = view.reader.segments.len();
        let n_rows = view.snapshot.totals.n_rows.max(1);
        let mut segments = parallel::map(n_segments, n_rows, |s| InSegment::of(view, s, terms));
        let df = |t: usize| {
            let of_field =
                |field: usize| segments.iter().map(|segment| u64::from(segment.df[t][field])).sum();
            (0..N_FIELDS).map(of_field).max().unwrap_or(0u64) as f32
        };
        let idf = (0..terms.len()).map(df).map(|df| if df == 0.0 { 0.0 } else { idf(n_rows as f32, df) });
        let idf: Vec<f32> = idf.collect();
        let total: f32 =
            terms.iter().zip(&idf).map(|(term, idf)| term.weight * missing_idf(n_rows as f32, *idf)).sum();
        let terms: Vec<Term> = terms
            .iter()
            .zip(&idf)
            .enumerate()
            .map(|(t, (term, idf))| Term {
                number: t as u16,
                row: term.weight * idf,
                share: if total > 0.0 { term.weight * idf / total } else { 0.0 },
                weight: term.weight,
            })
            .collect();
        let scorer = Scorer { view, scope, weights };
        for block in terms.chunks(BLOCK) {
            if is_over() {
                break;
            }
            parallel::for_each(&mut segments, n_rows, |s, segment| scorer.score_rows(s, block, segment));
            // The files that have each term, which are known only now.
            let n_files: Vec<usize> = (0..block.len())
                .map(|t| segments.iter().map(|segment| segment.scores.tf_of_docs[t].len()).sum())
                .collect();
            parallel::for_each(&mut segments, n_rows, |s, segment| {
                scorer.score_files(s, block, &n_files, &mut segment.scores)
            });
        }
        let segments: Vec<SegmentScores> = segments.into_iter().map(|segment| segment.scores).collect();
        let n_scored = segments.iter().map(|scores| scores.n_scored).sum();
        Lexical { segments, idf, n_scored }
    }

    /// Rows with a score: all but those that cannot be among the best `keep`.
    pub fn best(&self, keep: usize) -> impl Iterator<Item = (f32, RowId)> {
        let n_rows = self.segments.iter().map(|segment| segment.rows.len() as u64).sum();
        let of_segments = parallel::map(self.segments.len(), n_rows, |s| {
            let mut best = Best::new(keep);
            let scores = &self.segments[s];
            for &row in &scores.met {
                let score = scores.rows[row as usize].bm25;
                if score > 0.0 {
                    best.add(score, RowId { segment: s as u32, row });
                }
            }
            best.rows
        });
        of_segments.into_iter().flatten()
    }

    /// BM25 and coverage of a row.
    pub fn of(&self, id: RowId) -> (f32, f32) {
        let row = &self.segments[id.segment as usize].rows[id.row as usize];
        (row.bm25, row.coverage.min(1.0))
    }

    /// What a doc has, by segment and ordinal.
    pub fn of_file(&self, s: usize, ordinal: u32) -> FileLexical {
        self.segments[s].files.get(ordinal as usize).copied().unwrap_or_default()
    }
}

/// What a question finds in one segment.
struct InSegment<'a> {
    /// By term.
    lists: Vec<Lists<'a>>,
    /// Live rows that have each term, by field.
    df: Vec<[u32; N_FIELDS]>,
    scores: SegmentScores,
}

impl InSegment<'_> {
    fn of<'a>(view: &'a View, s: usize, terms: &[QueryTerm]) -> InSegment<'a> {
        let (segment, live) = (&view.reader.segments[s], &view.live()[s]);
        // What was superseded and not yet merged away has no say.
        let is_live = live.n_live() > 0;
        let postings = segment.postings().filter(|_| is_live);
        let lists = |term: &QueryTerm| FIELDS.map(|field| postings.as_ref()?.get(field, &term.term));
        let lists: Vec<Lists<'a>> = terms.iter().map(lists).collect();
        let df = |lists: &Lists<'_>| lists.map(|list| list.map_or(0, |list| list.df_live(live)));
        let scores = if is_live { SegmentScores::of(segment) } else { SegmentScores::default() };
        InSegment { df: lists.iter().map(df).collect(), lists, scores }
    }
}

/// Scores within one segment.
#[derive(Default)]
struct SegmentScores {
    rows: Vec<RowScore>,
    /// Rows that have a term, each once: few of all, mostly.
    met: Vec<u32>,
    /// Per doc.
    files: Vec<FileLexical>,
    frequencies: Frequencies,
    /// Per term of the block: the docs that have it, with its weighted frequency, in the order they were met.
    tf_of_docs: Vec<Vec<(u32, f32)>>,
    n_scored: u64,
}

/// What a row has, all 0 outside of the scope. Together, because rows are met in leaps.
#[derive(Clone, Copy, Default)]
struct RowScore {
    bm25: f32,
    coverage: f32,
    /// One more than the number of the last term that counted towards the coverage.
    counted: u16,
}

impl SegmentScores {
    fn of(segment: &Segment) -> SegmentScores {
        let (n_rows, n_docs) = (segment.n_rows() as usize, segment.n_docs() as usize);
        SegmentScores {
            rows: vec![RowScore::default(); n_rows],
            met: Vec::new(),
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
    fn score_rows(&self, s: usize, block: &[Term], segment: &mut InSegment<'_>) {
        let scores = &mut segment.scores;
        scores.tf_of_docs.clear();
        for term in block {
            for field in FIELDS {
                if let Some(list) = &segment.lists[usize::from(term.number)][field as usize] {
                    self.add(s, list, field, term, scores);
                }
            }
            scores.tf_of_docs.push(scores.frequencies.take());
        }
    }

    fn add(&self, s: usize, list: &PostingList<'_>, field: Field, term: &Term, scores: &mut SegmentScores) {
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
            let (Some(record), Some(score)) = (records.get(row as usize), scores.rows.get_mut(row as usize))
            else {
                return;
            };
            let tf = tf as f32;
            scores.frequencies.add(record.doc, tf * field_weight);
            if !is_wanted {
                return;
            }
            if score.counted == 0 {
                scores.met.push(row);
            }
            let len = f32::from(record.field_len[f]);
            score.bm25 +=
                field_weight * term.row * (tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * len / average)));
            if score.counted != term.number + 1 {
                score.counted = term.number + 1;
                score.coverage += term.share;
                scores.n_scored += 1;
            }
        });
    }

    /// Adds what the terms of a block say about files of segment `s`; `n_files` have each term in the whole view.
    fn score_files(&self, s: usize, block: &[Term], n_files: &[usize], scores: &mut SegmentScores) {
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
#[derive(Default)]
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
