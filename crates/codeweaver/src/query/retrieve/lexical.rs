//! Lexical retrieval: BM25 of chunks and of whole files, with the statistics of live rows.
//!
//! Scores are summed in the order of the query's terms and, for a term, of the fields, and the rows of a file
//! are in one segment. So no score depends on the division of the store into segments.

use codeweaver_base::sys;
use codeweaver_store::live::LiveRows;
use codeweaver_store::postings::{BLOCK, FIELDS, Field, N_FIELDS, PostingList};
use codeweaver_store::records::RowRecord;
use codeweaver_store::rows::DocKey;
use codeweaver_text::QueryTerm;

use super::parallel;
use super::score_buffers::{self, Frequencies, RowScore, SegmentScores};
use super::top_k::{TopK, first};
use crate::query::cancel::IsOver;
use crate::query::engine::TermTotals;
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};

pub use super::score_buffers::FileLexical;

/// Number of terms that are scored between two polls of [`IsOver`], and whose frequencies in files are held
/// in memory at once.
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
    /// Saturation of the term frequency in a file.
    pub file_k1: f32,
    /// Influence of the length of a file.
    pub file_b: f32,
}

/// A lexical search.
pub struct LexicalSearch<'a> {
    pub view: &'a View,
    /// The rows that are scored. Frequencies are counted over all live rows.
    pub scope: &'a Scope,
    pub bm25: Bm25,
    /// Minimum number of rows in [`LexicalScores::best`], if that many have a score.
    pub k: usize,
    pub min_parallel_rows: u64,
    pub is_over: IsOver<'a>,
}

/// Result of [`LexicalSearch::score`].
pub struct LexicalScores {
    segments: Vec<SegmentScores>,
    /// Inverse document frequency of each term among chunks; 0 if no chunk has it.
    pub idf: Vec<f32>,
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
    /// Scores all rows of the scope that have one of `terms`, and all files. Once the search is over, the
    /// remaining terms are left out for all rows.
    pub fn score(&self, terms: &[QueryTerm]) -> LexicalScores {
        let LexicalSearch { view, min_parallel_rows, .. } = *self;
        let n_segments = view.reader.segments.len();
        let n_rows = view.snapshot.totals.n_rows.max(1);
        let mut segments =
            parallel::map(n_segments, n_rows, min_parallel_rows, |s| InSegment::new(view, s, terms));

        let whole = whole_counts(view, terms);
        let idf = (0..terms.len())
            .map(|t| whole.as_ref().map_or_else(|| max_df(&segments, t), |whole| most(&whole[t].rows)) as f32)
            .map(|df| if df == 0.0 { 0.0 } else { idf(n_rows as f32, df) });
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

        let mut blocks = terms.chunks(POLL_TERMS).peekable();
        // Without terms there is nothing to find.
        let mut is_scored = terms.is_empty();
        while let Some(block) = blocks.next_if(|_| !(self.is_over)()) {
            is_scored = blocks.peek().is_none();
            parallel::for_each(&mut segments, n_rows, min_parallel_rows, |s, segment| {
                // Right after the last block, while the scores are in the cache of this core.
                self.score_rows(s, block, segment);
                if is_scored {
                    segment.scores.find_best(s, self.k);
                }
            });

            // The document frequencies of files need all segments.
            let n_files: Vec<usize> = block
                .iter()
                .enumerate()
                .map(|(t, term)| match &whole {
                    Some(whole) => whole[usize::from(term.number)].files as usize,
                    None => segments.iter().map(|segment| segment.scores.tf_of_docs[t].len()).sum(),
                })
                .collect();
            parallel::for_each(&mut segments, n_rows, min_parallel_rows, |s, segment| {
                self.score_files(s, block, &n_files, &mut segment.scores);
            });
        }

        let mut segments: Vec<SegmentScores> = segments.into_iter().map(|segment| segment.scores).collect();
        // If time ran out before the last block, the best rows are those by the terms so far.
        if !is_scored {
            segments.iter_mut().enumerate().for_each(|(s, scores)| scores.find_best(s, self.k));
        }

        LexicalScores { segments, idf, min_parallel_rows }
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
        let factor = field_weight * term.row;
        let is_all = wanted.all();
        let mut block = Block::default();
        list.for_each_block(|rows, tfs| {
            // The rows are far apart in memory, so all of a block are requested before the first is used.
            for &row in rows {
                sys::prefetch(records.get(row as usize..=row as usize).unwrap_or(&[]));
                scores.prefetch(row);
            }

            block.fill(rows, tfs, field, records, |row| is_all || wanted.contains(row) || live.contains(row));
            block.add_frequencies(&mut scores.frequencies, field_weight);

            let scored = block.scores.iter_mut().zip(&block.tfs).zip(&block.lens).take(block.n);
            for ((score, &tf), &len) in scored {
                *score = factor * (tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * len / average)));
            }

            block.add_scores(scores, term, wanted);
        });
    }

    /// Adds the scores of a block of terms to the files of segment `s`. `n_files` is the number of files of
    /// the view that have each term.
    fn score_files(&self, s: usize, block: &[Term], n_files: &[usize], scores: &mut SegmentScores) {
        let totals = &self.view.snapshot.totals;
        let average = (totals.field_len[Field::Body as usize] as f32 / totals.n_paths.max(1) as f32).max(1.0);
        let segment = &self.view.reader.segments[s];
        let Bm25 { file_k1: k1, file_b: b, .. } = self.bm25;

        for ((frequencies, term), &n_with_term) in scores.tf_of_docs.iter().zip(block).zip(n_files) {
            let n = (totals.n_paths as f32).max(n_with_term as f32);
            let idf = if n_with_term == 0 { 0.0 } else { idf(n, n_with_term as f32) };
            let weight = idf * term.weight;
            for &(doc, tf) in frequencies {
                let file = &mut scores.files[doc as usize];
                let len = segment.body_len(doc) as f32;
                file.bm25 += weight * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * len / average));
                file.coverage += term.share;
            }
        }
    }
}

impl LexicalScores {
    /// Returns the rows with a score above 0, in no order; at least the best [`LexicalSearch::k`].
    pub fn best(&self) -> impl Iterator<Item = (f32, RowId)> {
        self.segments.iter().flat_map(|segment| segment.best.iter().copied())
    }

    /// Returns the BM25 score and the coverage of a row.
    pub fn get(&self, id: RowId) -> (f32, f32) {
        let RowScore { bm25, coverage, .. } = self.segments[id.segment as usize].get(id.row);
        (bm25, coverage.min(1.0))
    }

    /// Returns the evidence of a doc, by segment and ordinal.
    pub fn of_file(&self, s: usize, ordinal: u32) -> FileLexical {
        self.segments[s].files.get(ordinal as usize).copied().unwrap_or_default()
    }

    /// Returns the best rows of the best files. They need not be among the best rows of the view.
    pub fn rows_of_best_files(&self, view: &View, scope: &Scope) -> Vec<RowId> {
        let n_rows = view.snapshot.totals.n_rows;
        let by_segment = parallel::map(self.segments.len(), n_rows, self.min_parallel_rows, |s| {
            let mut best = TopK::new(MAX_FILES);
            for (ordinal, file) in self.segments[s].files.iter().enumerate() {
                if file.bm25 > 0.0 {
                    best.add(file.bm25, (s, ordinal as u32));
                }
            }
            best.rows
        });

        let mut files = TopK::new(MAX_FILES);
        for (score, file) in by_segment.into_iter().flatten() {
            files.add(score, file);
        }

        let best = first(files.rows, MAX_FILES, |(score, (s, ordinal)), (other, (t, other_ordinal))| {
            other
                .total_cmp(score)
                .then_with(|| doc_key(view, *s, *ordinal).cmp(&doc_key(view, *t, *other_ordinal)))
        });
        best.into_iter()
            .flat_map(|(_, (s, ordinal))| self.best_rows_of_file(view, scope, s, ordinal))
            .collect()
    }

    /// Returns the best rows in scope of a doc, ties in the order of the text.
    fn best_rows_of_file(&self, view: &View, scope: &Scope, s: usize, ordinal: u32) -> Vec<RowId> {
        let ids = view.reader.segments[s].doc_rows(ordinal).filter(|&row| scope.rows[s].contains(row));

        let mut rows: Vec<(f32, RowId)> =
            ids.map(|row| RowId { segment: s as u32, row }).map(|id| (self.get(id).0, id)).collect();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.row.cmp(&b.1.row)));

        rows.into_iter().take(MAX_ROWS_PER_FILE).map(|(_, id)| id).collect()
    }
}

/// The key of a doc, which orders docs independently of segments.
fn doc_key(view: &View, s: usize, ordinal: u32) -> DocKey {
    let segment = &view.reader.segments[s];
    segment.key(&segment.docs()[ordinal as usize])
}

/// The counts of `terms` in everything that is searched, if `view` has only candidates of it.
fn whole_counts(view: &View, terms: &[QueryTerm]) -> Option<Vec<TermTotals>> {
    let whole = view.whole.as_ref()?;
    let terms: Vec<&str> = terms.iter().map(|term| term.term.as_str()).collect();
    Some(whole.counts(&terms))
}

/// The largest of the counts of a term by field.
fn most(counts: &[u64; N_FIELDS]) -> u64 {
    counts.iter().copied().max().unwrap_or(0)
}

/// The largest number of live rows that have term `t` in one field.
fn max_df(segments: &[InSegment<'_>], t: usize) -> u64 {
    (0..N_FIELDS)
        .map(|field| segments.iter().map(|segment| u64::from(segment.df[t][field])).sum())
        .max()
        .unwrap_or(0)
}

/// The search in one segment.
struct InSegment<'a> {
    /// Posting lists of each term.
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
        let mut lists: Vec<Lists<'a>> =
            terms.iter().map(|term| FIELDS.map(|field| postings.as_ref()?.get(field, &term.term))).collect();
        let df: Vec<_> =
            lists.iter().map(|lists| lists.map(|list| list.map_or(0, |list| list.df_live(live)))).collect();
        // Lists without live rows are as good as none, in time as well.
        for (list, df) in lists.iter_mut().flatten().zip(df.iter().flatten()) {
            *list = list.filter(|_| *df > 0);
        }

        let scores = if is_live { score_buffers::take(segment) } else { SegmentScores::default() };
        InSegment { df, lists, scores }
    }
}

impl Drop for LexicalScores {
    fn drop(&mut self) {
        score_buffers::give_back(std::mem::take(&mut self.segments));
    }
}

/// Columns of up to [`BLOCK`] postings with the values that their scores depend on, so that the arithmetic is
/// done for several at once.
struct Block {
    n: usize,
    rows: [u32; BLOCK],
    docs: [u32; BLOCK],
    tfs: [f32; BLOCK],
    lens: [f32; BLOCK],
    scores: [f32; BLOCK],
}

impl Default for Block {
    fn default() -> Block {
        let (numbers, values) = ([0; BLOCK], [0.0; BLOCK]);
        Block { n: 0, rows: numbers, docs: numbers, tfs: values, lens: values, scores: values }
    }
}

impl Block {
    /// Replaces the contents by the postings of a list of `field` whose rows exist and are counted.
    fn fill(
        &mut self,
        rows: &[u32],
        tfs: &[u32],
        field: Field,
        records: &[RowRecord],
        is_counted: impl Fn(u32) -> bool,
    ) {
        self.n = 0;

        for (&row, &tf) in rows.iter().zip(tfs).take(BLOCK) {
            let Some(record) = records.get(row as usize).filter(|_| is_counted(row)) else { continue };
            let n = self.n;
            (self.rows[n], self.docs[n]) = (row, record.doc);
            (self.tfs[n], self.lens[n]) = (tf as f32, f32::from(record.field_len[field as usize]));
            self.n += 1;
        }
    }

    /// Adds the weighted frequencies to those of the docs.
    fn add_frequencies(&self, frequencies: &mut Frequencies, weight: f32) {
        let mut at = 0;
        // The rows of a doc follow each other.
        while at < self.n {
            let doc = self.docs[at];
            let n_of_doc = self.docs[at..self.n].iter().take_while(|other| **other == doc).count();
            frequencies.add(doc, self.tfs[at..at + n_of_doc].iter().map(|tf| tf * weight));
            at += n_of_doc;
        }
    }

    /// Adds the scores of the rows that are `wanted`.
    fn add_scores(&self, scores: &mut SegmentScores, term: &Term, wanted: &LiveRows) {
        let is_all = wanted.all();

        for (&row, &score) in self.rows.iter().zip(&self.scores).take(self.n) {
            if !is_all && !wanted.contains(row) {
                continue;
            }
            let Some(row_score) = scores.of_mut(row) else { continue };

            row_score.bm25 += score;
            if row_score.counted != term.number + 1 {
                row_score.counted = term.number + 1;
                row_score.coverage += term.share;
            }
        }
    }
}

/// Returns the inverse document frequency of each of `terms` among the live rows of `view`; 0 if no row has
/// it.
pub fn idf_of(view: &View, terms: &[QueryTerm]) -> Vec<f32> {
    let n_rows = view.snapshot.totals.n_rows.max(1) as f32;
    let mut df = vec![[0u64; N_FIELDS]; terms.len()];

    if let Some(whole) = whole_counts(view, terms) {
        df = whole.iter().map(|counts| counts.rows).collect();
    } else {
        count(view, terms, &mut df);
    }

    let largest = df.iter().map(|fields| most(fields) as f32);
    largest.map(|df| if df == 0.0 { 0.0 } else { idf(n_rows, df) }).collect()
}

/// Counts the live rows of `view` that have each of `terms`, by field.
fn count(view: &View, terms: &[QueryTerm], df: &mut [[u64; N_FIELDS]]) {
    for (segment, live) in view.reader.segments.iter().zip(view.live()) {
        let Some(postings) = segment.postings().filter(|_| live.n_live() > 0) else { continue };
        for (df, term) in df.iter_mut().zip(terms) {
            for field in FIELDS {
                let list = postings.get(field, &term.term);
                df[field as usize] += list.map_or(0, |list| u64::from(list.df_live(live)));
            }
        }
    }
}

/// Returns the inverse document frequency of a term that `df` of `n` documents have.
fn idf(n: f32, df: f32) -> f32 {
    libm::logf(1.0 + (n - df + 0.5).max(0.0) / (df + 0.5))
}

/// Returns the idf of a term for coverage. A term that no chunk has counts as much as the rarest, so that a
/// query about something that is not in the repository is not covered.
fn coverage_idf(n_rows: f32, idf: f32) -> f32 {
    if idf > 0.0 { idf } else { libm::logf(1.0 + n_rows / 0.5) }
}
