//! The best of many scored rows, without sorting them all.

use super::view::RowId;

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
    pub fn add(&mut self, dot: f32, id: RowId) {
        if dot >= self.threshold {
            self.rows.push((dot, id));
            if self.rows.len() >= self.most {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        // Everything equal to the last that is kept stays: ties are cut later, by blob and position.
        self.rows.select_nth_unstable_by(self.keep - 1, |a, b| b.0.total_cmp(&a.0));
        self.threshold = self.rows[self.keep - 1].0;
        self.rows.retain(|(dot, _)| *dot >= self.threshold);
        // Thousands of equal vectors must not be looked through again for each one more.
        self.most = self.most.max(2 * self.rows.len());
    }
}
