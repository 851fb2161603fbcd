//! The live rows of a segment under a snapshot, with constant-time counting.

/// A set of rows with rank. It is changed by [`Self::insert`] and [`Self::remove`], then closed by
/// [`Self::seal`] before it is queried.
#[derive(Debug, Clone)]
pub struct LiveRows {
    words: Vec<u64>,
    /// Number of live rows before each word.
    before: Vec<u32>,
    n_rows: u32,
    n_live: u32,
}

impl LiveRows {
    /// A set without live rows among `n_rows`.
    pub fn empty(n_rows: u32) -> LiveRows {
        LiveRows { words: vec![0; (n_rows as usize).div_ceil(64)], before: Vec::new(), n_rows, n_live: 0 }
    }

    /// Makes `start..end` live.
    pub fn insert(&mut self, start: u32, end: u32) {
        let mut row = start;
        let end = end.min(self.n_rows);

        while row < end {
            let upto = ((row / 64 + 1) * 64).min(end);
            let n = upto - row;
            let mask = if n == 64 { u64::MAX } else { ((1u64 << n) - 1) << (row % 64) };
            self.words[row as usize / 64] |= mask;
            row = upto;
        }
    }

    /// Makes `row` no longer live.
    pub fn remove(&mut self, row: u32) {
        if row < self.n_rows {
            self.words[row as usize / 64] &= !(1 << (row % 64));
        }
    }

    /// Computes the counts, after the last row was inserted or removed.
    pub fn seal(&mut self) {
        self.before.clear();
        let mut n = 0;

        for word in &self.words {
            self.before.push(n);
            n += word.count_ones();
        }

        self.n_live = n;
    }

    /// Keeps the live rows for which `keeps` is true.
    pub fn retain(&mut self, mut keeps: impl FnMut(u32) -> bool) {
        let mut kept = LiveRows::empty(self.n_rows);
        for row in self.runs().flatten().filter(|row| keeps(*row)) {
            kept.insert(row, row + 1);
        }

        kept.seal();
        *self = kept;
    }

    /// Returns whether every row is live.
    pub fn all(&self) -> bool {
        self.n_live == self.n_rows
    }

    pub fn n_live(&self) -> u32 {
        self.n_live
    }

    pub fn contains(&self, row: u32) -> bool {
        self.words.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Number of live rows in `start..end`.
    pub fn count(&self, start: u32, end: u32) -> u32 {
        self.rank(end) - self.rank(start.min(end))
    }

    /// Maximal runs of live rows, in order.
    pub fn runs(&self) -> impl Iterator<Item = std::ops::Range<u32>> + '_ {
        let mut row = 0;
        std::iter::from_fn(move || {
            let start = self.next(row, true)?;
            let end = self.next(start, false).unwrap_or(self.n_rows);
            row = end;
            Some(start..end)
        })
    }

    /// Number of live rows before `row`.
    fn rank(&self, row: u32) -> u32 {
        let row = row.min(self.n_rows);
        let word = row as usize / 64;
        if word == self.words.len() {
            return self.n_live;
        }

        let mask = (1u64 << (row % 64)) - 1;
        self.before[word] + (self.words[word] & mask).count_ones()
    }

    /// The first row from `row` on that is live (or not live).
    fn next(&self, row: u32, live: bool) -> Option<u32> {
        let mut word = row as usize / 64;
        let mut skip = row % 64;

        while word < self.words.len() {
            let bits = if live { self.words[word] } else { !self.words[word] } & (u64::MAX << skip);
            if bits != 0 {
                let found = word as u32 * 64 + bits.trailing_zeros();
                return (found < self.n_rows).then_some(found);
            }
            word += 1;
            skip = 0;
        }

        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_runs_equal_a_plain_set() {
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..200 {
            let n_rows = rng.u32(0..400);
            let mut live = LiveRows::empty(n_rows);
            let mut plain = vec![false; n_rows as usize];
            for _ in 0..rng.usize(0..6) {
                let start = rng.u32(0..=n_rows);
                let end = rng.u32(start..=n_rows);
                live.insert(start, end);
                plain[start as usize..end as usize].fill(true);
            }
            for _ in 0..rng.usize(0..6) {
                let row = rng.u32(0..n_rows + 64);
                live.remove(row);
                plain.iter_mut().skip(row as usize).take(1).for_each(|is_live| *is_live = false);
            }
            live.seal();
            let from = rng.u32(0..=n_rows);
            let to = rng.u32(from..=n_rows);
            let expected = plain[from as usize..to as usize].iter().filter(|&&l| l).count() as u32;
            assert_eq!(live.count(from, to), expected);
            let rows: Vec<u32> = live.runs().flatten().collect();
            let expected: Vec<u32> = (0..n_rows).filter(|&row| plain[row as usize]).collect();
            assert_eq!(rows, expected);
            assert_eq!(live.all(), expected.len() == n_rows as usize);
        }
    }
}
