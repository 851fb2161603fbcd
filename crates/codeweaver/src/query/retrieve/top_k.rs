//! Top-k: the best of many scored rows.
//!
//! Ties are broken by blob and position, never by row number, so that the cut does not depend on how the
//! store is segmented.

use std::cmp::Ordering;

use codeweaver_store::rows::DocKey;

use crate::query::view::{RowId, View};

/// Collects the rows that may be among the best `k`, without sorting all.
///
/// `rows` then has at least the best `k`, with all rows that tie with the last of them.
pub struct TopK<T> {
    pub rows: Vec<(f32, T)>,
    k: usize,
    /// No row with a lower score is among the best `k`.
    threshold: f32,
    /// Length of `rows` at which it is cut.
    capacity: usize,
}

impl<T> TopK<T> {
    /// A collector of the best `k` rows; `k` is at least 1.
    pub fn new(k: usize) -> TopK<T> {
        TopK { rows: Vec::new(), k, threshold: f32::NEG_INFINITY, capacity: k * 8 }
    }

    /// A collector as [`Self::new`], for rows with a score above 0 only.
    pub fn above_zero(k: usize) -> TopK<T> {
        TopK { threshold: f32::from_bits(1), ..TopK::new(k) }
    }

    /// Adds a row, if it may be among the best.
    #[inline]
    pub fn add(&mut self, score: f32, id: T) {
        if score >= self.threshold {
            self.rows.push((score, id));
            if self.rows.len() >= self.capacity {
                self.cut();
            }
        }
    }

    /// Removes the rows that cannot be among the best `k`.
    fn cut(&mut self) {
        self.rows.select_nth_unstable_by(self.k - 1, |a, b| b.0.total_cmp(&a.0));
        self.threshold = self.rows[self.k - 1].0;

        self.rows.retain(|(score, _)| *score >= self.threshold);
        // With thousands of equal scores, a fixed capacity would cut again for every row.
        self.capacity = self.capacity.max(2 * self.rows.len());
    }
}

/// Returns the best `k` of `rows`, best first.
pub fn best_rows(view: &View, rows: impl Iterator<Item = (f32, RowId)>, k: usize) -> Vec<(f32, RowId)> {
    let mut best = TopK::new(k);
    rows.for_each(|(score, id)| best.add(score, id));
    first(best.rows, k, |a, b| b.0.total_cmp(&a.0).then_with(|| row_key(view, a.1).cmp(&row_key(view, b.1))))
}

/// Returns the first `n` of `all` in a total order, sorted.
pub fn first<T>(mut all: Vec<T>, n: usize, order: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if all.len() > n {
        all.select_nth_unstable_by(n, &order);
        all.truncate(n);
    }

    all.sort_unstable_by(order);
    all
}

/// Returns the identity of a chunk by content and position, which orders chunks independently of segments.
pub fn row_key(view: &View, id: RowId) -> (DocKey, u32, u32) {
    let (segment, row) = view.row(id);
    let doc = segment.docs().get(row.doc as usize).copied().unwrap_or_else(bytemuck::Zeroable::zeroed);
    (segment.key(&doc), row.start_byte, row.end_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_that_may_be_among_the_best_are_kept() {
        let mut random = fastrand::Rng::with_seed(5);
        for (k, values) in [(1, 3), (1, 1), (7, 4), (7, 100_000), (50, 2)] {
            let scores: Vec<f32> = (0..5000).map(|_| random.u32(0..values) as f32).collect();
            let mut best = TopK::new(k);
            for (row, &score) in scores.iter().enumerate() {
                best.add(score, RowId { segment: 0, row: row as u32 });
            }
            let mut sorted = scores.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let last = sorted[k - 1];
            let mut found: Vec<u32> =
                best.rows.iter().filter(|(score, _)| *score >= last).map(|(_, id)| id.row).collect();
            found.sort_unstable();
            let wanted: Vec<u32> = (0..5000).filter(|&row: &u32| scores[row as usize] >= last).collect();
            assert_eq!(found, wanted, "{k} of {values} values");
            assert!(best.rows.len() <= (k * 8).max(2 * wanted.len()), "{}", best.rows.len());
        }
    }
}
