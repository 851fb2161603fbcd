//! Lexical retrieval: BM25 of chunks and of whole files, with the statistics of live rows.
//!
//! Scores are summed in the order of the query's terms and, for a term, of the fields, and the rows of a file
//! are in one segment. So no score depends on how the store is segmented.

use super::parallel;
use super::top_k::{TopK, first};
use crate::query::cancel::IsOver;
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};
use crate::store::postings::{FIELDS, Field, N_FIELDS, PostingList};
use crate::store::segment::Segment;
use crate::text::QueryTerm;

/// Number of terms that are scored between two polls of [`IsOver`], and whose files are held in memory at
/// once.
const POLL_TERMS: usize = 8;
/// Number of best files whose rows become candidates, and of best rows of each.
const MAX_FILES: usize = 64;
const MAX_ROWS_PER_FILE: usize = 3;

/// Parameters of BM25 (Robertson and Zaragoza 2009).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// Saturation of the term frequency in a chunk.
    pub k1: f32,
    /// Influence of the length of a chunk.
    pub b: f32,
    /// Weight of a match in each field of a chunk, by [`Field`].
    pub fields: [f32; N_FIELDS],
    /// As `k1`, for files.
    pub file_k1: f32,
    /// As `b`, for files.
    pub file_b: f32,
}

/// Lexical evidence of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FileLexical {
    /// BM25 with the file as the document.
    pub bm25: f32,
    /// Share of the query's terms, weighted by idf, that occur in the file, 0–1.
    pub coverage: f32,
}

/// A lexical search.
pub struct LexicalSearch<'a> {
    pub view: &'a View,
    /// The rows that are scored. Frequencies are counted over all live rows.
    pub scope: &'a Scope,
    pub bm25: Bm25,
    pub min_parallel_rows: u64,
    pub is_over: IsOver<'a>,
}

/// Result of [`LexicalSearch::score`].
pub struct LexicalScores {
    segments: Vec<SegmentScores>,
    /// Inverse document frequency of each term among chunks; 0 if no chunk has it.
    pub idf: Vec<f32>,
    /// Number of pairs of a row and a term.
    pub n_scored: u64,
    min_parallel_rows: u64,
}

/// A term of the query.
struct Term {
    /// Position in the query, from 0.
    number: u16,
    /// Factor on the score of a row.
    row: f32,
    /// Share of the weight of all terms.
    share: f32,
    weight: f32,
}

/// Posting lists of a term in one segment, by field.
type Lists<'a> = [Option<PostingList<'a>>; N_FIELDS];

impl LexicalSearch<'_> {
    /// Scores all rows of the scope that have one of `terms`, and all files. Once it is over, the remaining
    /// terms are left out for all rows.
    pub fn score(&self, terms: &[QueryTerm]) -> LexicalScores {
        let LexicalSearch { view, min_parallel_rows, .. } = *self;
        let n_segments = view.reader.segments.len();
        let n_rows = view.snapshot.totals.n_rows.max(1);
        let mut segments =
            parallel::map(n_segments, n_rows, min_parallel_rows, |s| InSegment::new(view, s, terms));
        let df = |t: usize| {
            let of_field =
                |field: usize| segments.iter().map(|segment| u64::from(segment.df[t][field])).sum();
            (0..N_FIELDS).map(of_field).max().unwrap_or(0u64) as f32
        };
        let idf = (0..terms.len()).map(df).map(|df| if df == 0.0 { 0.0 } else { idf(n_rows as f32, df) });
        let idf: Vec<f32> = idf.collect();
        let total: f32 =
            terms.iter().zip(&idf).map(|(term, idf)| term.weight * coverage_idf(n_rows as f32, *idf)).sum();
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
        for block in terms.chunks(POLL_TERMS) {
            if (self.is_over)() {
                break;
            }
            parallel::for_each(&mut segments, n_rows, min_parallel_rows, |s, segment| {
                self.score_rows(s, block, segment);
            });
            // The document frequencies of files, for which all segments are needed.
            let n_files: Vec<usize> = (0..block.len())
                .map(|t| segments.iter().map(|segment| segment.scores.tf_of_docs[t].len()).sum())
                .collect();
            parallel::for_each(&mut segments, n_rows, min_parallel_rows, |s, segment| {
                self.score_files(s, block, &n_files, &mut segment.scores);
            });
        }
        let segments: Vec<SegmentScores> = segments.into_iter().map(|segment| segment.scores).collect();
        let n_scored = segments.iter().map(|scores| scores.n_scored).sum();
        LexicalScores { segments, idf, n_scored, min_parallel_rows }
    }

    /// Adds the scores of a block of terms to the rows of segment `s`, and collects the docs that have each
    /// term.
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

    /// Adds the scores of one posting list.
    fn add(&self, s: usize, list: &PostingList<'_>, field: Field, term: &Term, scores: &mut SegmentScores) {
        let (f, totals) = (field as usize, &self.view.snapshot.totals);
        let (live, wanted) = (&self.view.live()[s], &self.scope.rows[s]);
        let records = self.view.reader.segments[s].rows();
        let Bm25 { k1, b, .. } = self.bm25;
        let average = (totals.field_len[f] as f32 / totals.n_rows.max(1) as f32).max(1.0);
        let field_weight = self.bm25.fields[f];
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
                scores.scored_rows.push(row);
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

    /// Adds the scores of a block of terms to the files of segment `s`. `n_files` is the number of files of
    /// the view that have each term.
    fn score_files(&self, s: usize, block: &[Term], n_files: &[usize], scores: &mut SegmentScores) {
        let totals = &self.view.snapshot.totals;
        let average = (totals.field_len[Field::Body as usize] as f32 / totals.n_paths.max(1) as f32).max(1.0);
        let segment = &self.view.reader.segments[s];
        let Bm25 { file_k1: k1, file_b: b, .. } = self.bm25;
        for ((of_term, term), &n_with_term) in scores.tf_of_docs.iter().zip(block).zip(n_files) {
            let n = (totals.n_paths as f32).max(n_with_term as f32);
            let idf = if n_with_term == 0 { 0.0 } else { idf(n, n_with_term as f32) };
            let weight = idf * term.weight;
            for &(doc, tf) in of_term {
                let file = &mut scores.files[doc as usize];
                let len = segment.body_len(doc) as f32;
                file.bm25 += weight * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * len / average));
                file.coverage += term.share;
            }
        }
    }
}

impl LexicalScores {
    /// Rows with a score above 0, in no order; at least the best `k`.
    pub fn best(&self, k: usize) -> impl Iterator<Item = (f32, RowId)> {
        let n_rows = self.segments.iter().map(|segment| segment.rows.len() as u64).sum();
        let by_segment = parallel::map(self.segments.len(), n_rows, self.min_parallel_rows, |s| {
            let mut best = TopK::new(k);
            let scores = &self.segments[s];
            for &row in &scores.scored_rows {
                let score = scores.rows[row as usize].bm25;
                if score > 0.0 {
                    best.add(score, RowId { segment: s as u32, row });
                }
            }
            best.rows
        });
        by_segment.into_iter().flatten()
    }

    /// BM25 and coverage of a row.
    pub fn of(&self, id: RowId) -> (f32, f32) {
        let row = &self.segments[id.segment as usize].rows[id.row as usize];
        (row.bm25, row.coverage.min(1.0))
    }

    /// Evidence of a doc, by segment and ordinal.
    pub fn of_file(&self, s: usize, ordinal: u32) -> FileLexical {
        self.segments[s].files.get(ordinal as usize).copied().unwrap_or_default()
    }

    /// The best rows of the best files, which need not be among the best rows of the view.
    pub fn rows_of_best_files(&self, view: &View, scope: &Scope) -> Vec<RowId> {
        let mut files: Vec<(f32, usize, u32)> = Vec::new();
        for (s, segment) in view.reader.segments.iter().enumerate() {
            let scored = (0..segment.n_docs()).map(|ordinal| (self.of_file(s, ordinal).bm25, s, ordinal));
            files.extend(scored.filter(|(score, ..)| *score > 0.0));
        }
        let key = |s: usize, ordinal: u32| {
            view.reader.segments[s].key(&view.reader.segments[s].docs()[ordinal as usize])
        };
        let best = first(files, MAX_FILES, |a, b| {
            b.0.total_cmp(&a.0).then_with(|| key(a.1, a.2).cmp(&key(b.1, b.2)))
        });
        best.into_iter().flat_map(|(_, s, ordinal)| self.best_rows_of_file(view, scope, s, ordinal)).collect()
    }

    fn best_rows_of_file(&self, view: &View, scope: &Scope, s: usize, ordinal: u32) -> Vec<RowId> {
        let ids = view.reader.segments[s].doc_rows(ordinal).filter(|&row| scope.rows[s].contains(row));
        let mut rows: Vec<(f32, RowId)> =
            ids.map(|row| RowId { segment: s as u32, row }).map(|id| (self.of(id).0, id)).collect();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.row.cmp(&b.1.row)));
        rows.into_iter().take(MAX_ROWS_PER_FILE).map(|(_, id)| id).collect()
    }
}

/// The search in one segment.
struct InSegment<'a> {
    /// By term.
    lists: Vec<Lists<'a>>,
    /// Number of live rows that have each term, by field.
    df: Vec<[u32; N_FIELDS]>,
    scores: SegmentScores,
}

impl InSegment<'_> {
    fn new<'a>(view: &'a View, s: usize, terms: &[QueryTerm]) -> InSegment<'a> {
        let (segment, live) = (&view.reader.segments[s], &view.live()[s]);
        // A segment without live rows only waits for compaction.
        let is_live = live.n_live() > 0;
        let postings = segment.postings().filter(|_| is_live);
        let lists = |term: &QueryTerm| FIELDS.map(|field| postings.as_ref()?.get(field, &term.term));
        let lists: Vec<Lists<'a>> = terms.iter().map(lists).collect();
        let df = |lists: &Lists<'_>| lists.map(|list| list.map_or(0, |list| list.df_live(live)));
        let scores = if is_live { SegmentScores::new(segment) } else { SegmentScores::default() };
        InSegment { df: lists.iter().map(df).collect(), lists, scores }
    }
}

/// Scores in one segment.
#[derive(Default)]
struct SegmentScores {
    /// By row.
    rows: Vec<RowScore>,
    /// The rows that have a term, each once.
    scored_rows: Vec<u32>,
    /// By doc.
    files: Vec<FileLexical>,
    frequencies: Frequencies,
    /// For each term of the block, the docs that have it with its weighted frequency, in the order of the
    /// postings.
    tf_of_docs: Vec<Vec<(u32, f32)>>,
    n_scored: u64,
}

/// Scores of a row, 0 outside of the scope. One struct, because rows are accessed at random.
#[derive(Clone, Copy, Default)]
struct RowScore {
    bm25: f32,
    coverage: f32,
    /// 1 + number of the last term that was counted for the coverage.
    counted: u16,
}

impl SegmentScores {
    fn new(segment: &Segment) -> SegmentScores {
        let (n_rows, n_docs) = (segment.n_rows() as usize, segment.n_docs() as usize);
        SegmentScores {
            rows: vec![RowScore::default(); n_rows],
            scored_rows: Vec::new(),
            files: vec![FileLexical::default(); n_docs],
            frequencies: Frequencies { of_docs: vec![0.0; n_docs], touched: Vec::new() },
            tf_of_docs: Vec::new(),
            n_scored: 0,
        }
    }
}

/// Weighted frequencies of one term, by doc.
#[derive(Default)]
struct Frequencies {
    of_docs: Vec<f32>,
    /// Docs whose frequency is not 0.
    touched: Vec<u32>,
}

impl Frequencies {
    fn add(&mut self, doc: u32, tf: f32) {
        let Some(sum) = self.of_docs.get_mut(doc as usize) else { return };
        if *sum == 0.0 {
            self.touched.push(doc);
        }
        // Never 0, so that a doc is touched once.
        *sum += tf.max(f32::MIN_POSITIVE);
    }

    /// Takes all frequencies that are not 0, in the order in which docs were touched.
    fn take(&mut self) -> Vec<(u32, f32)> {
        let of_docs = &mut self.of_docs;
        self.touched.drain(..).map(|doc| (doc, std::mem::take(&mut of_docs[doc as usize]))).collect()
    }
}

/// Inverse document frequency of each of `terms` among the live rows of `view`; 0 if no row has it.
pub fn idf_of(view: &View, terms: &[QueryTerm]) -> Vec<f32> {
    let n_rows = view.snapshot.totals.n_rows.max(1) as f32;
    let mut df = vec![[0u64; N_FIELDS]; terms.len()];
    for (segment, live) in view.reader.segments.iter().zip(view.live()) {
        let Some(postings) = segment.postings().filter(|_| live.n_live() > 0) else { continue };
        for (df, term) in df.iter_mut().zip(terms) {
            for field in FIELDS {
                let list = postings.get(field, &term.term);
                df[field as usize] += list.map_or(0, |list| u64::from(list.df_live(live)));
            }
        }
    }
    let most = df.iter().map(|fields| fields.iter().copied().max().unwrap_or(0) as f32);
    most.map(|df| if df == 0.0 { 0.0 } else { idf(n_rows, df) }).collect()
}

/// Inverse document frequency of a term that `df` of `n` documents have.
fn idf(n: f32, df: f32) -> f32 {
    libm::logf(1.0 + (n - df + 0.5).max(0.0) / (df + 0.5))
}

/// The idf of a term for coverage. A term that no chunk has counts as much as the rarest, so that a query
/// about something that is not in the repository is not covered.
fn coverage_idf(n_rows: f32, idf: f32) -> f32 {
    if idf > 0.0 { idf } else { libm::logf(1.0 + n_rows / 0.5) }
}
