//! Buffers of lexical scores, reused by later queries.
//!
//! A query scores rows and files in arrays as long as the segments. The buffers of an earlier query need
//! neither be allocated nor filled with zeros, which would be 12 bytes for each row of the index.

use std::sync::Mutex;

use codeweaver_base::sync;
use codeweaver_base::sys;
use codeweaver_store::segment::Segment;

use super::top_k::TopK;
use crate::query::view::RowId;

/// Maximum number of rows for which buffers are kept, at 12 bytes each and some for files.
const MAX_KEPT_ROWS: usize = 4 << 20;

static KEPT: Mutex<Vec<SegmentScores>> = Mutex::new(Vec::new());

/// Lexical evidence of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FileLexical {
    /// BM25 with the file as the document.
    pub bm25: f32,
    /// Share of the query's terms, weighted by idf, that occur in the file, 0–1.
    pub coverage: f32,
}

/// Scores in one segment.
#[derive(Default)]
pub struct SegmentScores {
    /// Scores by row. Those of another query have another [`RowScore::query`].
    rows: Vec<RowScore>,
    /// Number of the present query among those that used the buffers; never 0.
    query: u16,
    /// The rows that have a term, each once.
    scored_rows: Vec<u32>,
    /// Evidence by doc.
    pub files: Vec<FileLexical>,
    pub frequencies: Frequencies,
    /// For each term of the block, the docs that have it with its weighted frequency, in the order of the
    /// postings.
    pub tf_of_docs: Vec<Vec<(u32, f32)>>,
    /// The best rows, with all that tie with the last of them.
    pub best: Vec<(f32, RowId)>,
}

/// Scores of a row, 0 outside of the scope. One struct, because rows are accessed at random.
#[derive(Clone, Copy, Default)]
pub struct RowScore {
    pub bm25: f32,
    pub coverage: f32,
    /// 1 + number of the last term that was counted for the coverage.
    pub counted: u16,
    /// Number of the query that the scores belong to.
    query: u16,
}

/// Takes buffers for a query in `segment`, empty or with the scores of earlier queries.
pub fn take(segment: &Segment) -> SegmentScores {
    let mut scores = sync::lock(&KEPT).pop().unwrap_or_default();
    let (n_rows, n_docs) = (segment.n_rows() as usize, segment.n_docs() as usize);

    // At most once in 65,535 queries, all rows are filled with zeros.
    scores.query = scores.query.wrapping_add(1);
    if scores.query == 0 {
        scores.rows.clear();
        scores.query = 1;
    }

    scores.rows.resize(n_rows, RowScore::default());
    scores.scored_rows.clear();
    scores.files.clear();
    scores.files.resize(n_docs, FileLexical::default());
    scores.frequencies.resize(n_docs);
    scores.best.clear();

    scores
}

/// Keeps the buffers of a query that has ended, as far as they are not too large.
pub fn give_back(buffers: Vec<SegmentScores>) {
    let mut kept = sync::lock(&KEPT);
    let mut n_rows: usize = kept.iter().map(|scores| scores.rows.capacity()).sum();

    for scores in buffers {
        n_rows += scores.rows.capacity();
        if n_rows > MAX_KEPT_ROWS {
            break;
        }
        kept.push(scores);
    }
}

impl SegmentScores {
    /// Returns the scores of a row.
    pub fn get(&self, row: u32) -> RowScore {
        let known = self.rows.get(row as usize).filter(|score| score.query == self.query);
        known.copied().unwrap_or_default()
    }

    /// Prefetches the scores of a row into the CPU cache.
    #[inline]
    pub fn prefetch(&self, row: u32) {
        sys::prefetch(self.rows.get(row as usize..=row as usize).unwrap_or(&[]));
    }

    /// Returns the scores of a row that has a term; `None` if there is no such row.
    #[inline]
    pub fn of_mut(&mut self, row: u32) -> Option<&mut RowScore> {
        let score = self.rows.get_mut(row as usize)?;
        if score.query != self.query {
            *score = RowScore { query: self.query, ..RowScore::default() };
            self.scored_rows.push(row);
        }

        Some(score)
    }

    /// Sets [`Self::best`] to the best `k` rows with a score above 0. The segment is at position `s` of the
    /// view.
    pub fn find_best(&mut self, s: usize, k: usize) {
        if k == 0 {
            return;
        }
        let mut best = TopK::above_zero(k);
        let segment = s as u32;

        // Reading all rows in order is faster than reading many at random.
        if self.scored_rows.len() > self.rows.len() / 4 {
            for (row, score) in (0..).zip(&self.rows) {
                // A factor instead of a branch, which could not be predicted.
                best.add(score.bm25 * f32::from(u8::from(score.query == self.query)), RowId { segment, row });
            }
        } else {
            for &row in &self.scored_rows {
                best.add(self.rows[row as usize].bm25, RowId { segment, row });
            }
        }

        self.best = best.rows;
    }
}

/// Weighted frequencies of one term, by doc.
#[derive(Default)]
pub struct Frequencies {
    of_docs: Vec<f32>,
    /// Docs whose frequency is not 0.
    touched: Vec<u32>,
}

impl Frequencies {
    fn resize(&mut self, n_docs: usize) {
        // A query that failed may have left some.
        self.take();
        self.of_docs.resize(n_docs, 0.0);
    }

    /// Adds `tfs` to the frequency of `doc`, one after another.
    #[inline]
    pub fn add(&mut self, doc: u32, tfs: impl Iterator<Item = f32>) {
        let Some(sum) = self.of_docs.get_mut(doc as usize) else { return };

        if *sum == 0.0 {
            self.touched.push(doc);
        }

        // Never 0, so that a doc is added to `touched` once.
        *sum = tfs.fold(*sum, |sum, tf| sum + tf.max(f32::MIN_POSITIVE));
    }

    /// Takes all frequencies that are not 0, in the order in which docs were touched.
    pub fn take(&mut self) -> Vec<(u32, f32)> {
        let of_docs = &mut self.of_docs;
        self.touched.drain(..).map(|doc| (doc, std::mem::take(&mut of_docs[doc as usize]))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scores_of_an_earlier_query_do_not_count() {
        let mut scores = SegmentScores { rows: vec![RowScore::default(); 100], ..SegmentScores::default() };
        for query in [1, 2, u16::MAX] {
            scores.query = query;
            scores.scored_rows.clear();
            assert_eq!(scores.get(7).bm25, 0.0);
            for row in [7, 9, 7] {
                scores.of_mut(row).unwrap().bm25 += 2.0;
            }
            assert_eq!((scores.get(7).bm25, scores.get(9).bm25, scores.scored_rows.len()), (4.0, 2.0, 2));
            assert!(scores.of_mut(100).is_none());
            // Few of the rows, then many.
            for n_rows in [100, 10] {
                scores.rows.truncate(n_rows);
                scores.find_best(3, 1);
                let best = scores.best.iter().max_by(|a, b| a.0.total_cmp(&b.0));
                assert_eq!(best, Some(&(4.0, RowId { segment: 3, row: 7 })));
            }
            scores.rows.resize(100, RowScore::default());
        }
    }
}
