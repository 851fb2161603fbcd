//! The best of many scored rows, without sorting them all.

use crate::query::view::RowId;

/// Rows of which only those are kept that may be among the best `keep`.
pub struct Best {
    pub rows: Vec<(f32, RowId)>,
    keep: usize,
    threshold: f32,
    most: usize,
}

impl Best {
    /// `keep` is at least 1.
    pub fn new(keep: usize) -> Best {
        Best { rows: Vec::new(), keep, threshold: f32::NEG_INFINITY, most: keep * 8 }
    }

    #[inline]
    pub fn add(&mut self, score: f32, id: RowId) {
        if score >= self.threshold {
            self.rows.push((score, id));
            if self.rows.len() >= self.most {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        // Everything equal to the last that is kept stays: ties are cut later, by blob and position.
        self.rows.select_nth_unstable_by(self.keep - 1, |a, b| b.0.total_cmp(&a.0));
        self.threshold = self.rows[self.keep - 1].0;
        self.rows.retain(|(score, _)| *score >= self.threshold);
        // Thousands of equal vectors must not be looked through again for each one more.
        self.most = self.most.max(2 * self.rows.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_may_be_among_the_best_are_kept() {
        let mut random = fastrand::Rng::with_seed(5);
        for (keep, values) in [(1, 3), (1, 1), (7, 4), (7, 100_000), (50, 2)] {
            let scores: Vec<f32> = (0..5000).map(|_| random.u32(0..values) as f32).collect();
            let mut best = Best::new(keep);
            for (row, &score) in scores.iter().enumerate() {
                best.add(score, RowId { segment: 0, row: row as u32 });
            }
            let mut sorted = scores.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let last = sorted[keep - 1];
            let mut found: Vec<u32> =
                best.rows.iter().filter(|(score, _)| *score >= last).map(|(_, id)| id.row).collect();
            found.sort_unstable();
            let wanted: Vec<u32> = (0..5000).filter(|&row: &u32| scores[row as usize] >= last).collect();
            assert_eq!(found, wanted, "{keep} of {values} values");
            assert!(best.rows.len() <= (keep * 8).max(2 * wanted.len()), "{}", best.rows.len());
        }
    }
}
