//! The search of one layer, and of a whole graph.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use codeweaver_base::sys::{self, DotKernel};

use super::vectors::RowVectors;
use super::{Layers, QueryKind};

/// Number of sample questions at whose rows the search for a question begins.
const N_NEAR_QUESTIONS: usize = 32;

/// A dot product and the row that has it.
pub type Scored = (i32, u32);

/// A search for the rows whose vectors have the largest dot products with a query.
pub struct HnswSearch<'a, L> {
    pub layers: &'a L,
    pub rows: &'a RowVectors<'a>,
    /// The product with the query.
    pub kernel: &'a DotKernel,
}

impl<L: Layers> HnswSearch<'_, L> {
    /// Finds the best rows with a candidate list of `ef`: at most `ef` rows that `accept` accepts, best
    /// first.
    ///
    /// The list holds accepted rows only, so a search for few accepted rows visits many others.
    pub fn nearest(&self, ef: usize, accept: &dyn Fn(u32) -> bool) -> Vec<Scored> {
        if self.rows.n_rows() == 0 {
            return Vec::new();
        }

        let mut visited = Visited::new(self.rows.n_rows());
        let start = self.descend(self.layers.n_upper(), 0, &mut visited);
        self.layer(0, &[start], ef, accept, &mut visited)
    }

    /// As [`Self::nearest`], for a query of `kind`: the search for a question begins at the rows of the sample
    /// questions that are nearest to it.
    pub fn nearest_to(&self, kind: QueryKind, ef: usize, accept: &dyn Fn(u32) -> bool) -> Vec<Scored> {
        let mut starts = if kind == QueryKind::Question { self.starts() } else { Vec::new() };
        if starts.is_empty() {
            return self.nearest(ef, accept);
        }

        // The query may be unlike every sample.
        let mut visited = Visited::new(self.rows.n_rows());
        let top = self.descend(self.layers.n_upper(), 0, &mut visited);
        if !starts.contains(&top) {
            starts.push(top);
        }
        self.layer(0, &starts, ef, accept, &mut visited)
    }

    /// The rows of the sample questions that are nearest to the query, each once.
    fn starts(&self) -> Vec<Scored> {
        let (questions, rows) = self.layers.entry_points();
        let n_near = self.layers.header().n_near as usize;
        if n_near == 0 || self.kernel.dim() == 0 {
            return Vec::new();
        }

        let samples = questions.chunks_exact(self.kernel.dim()).zip(rows.chunks_exact(n_near));
        let mut near: Vec<(i32, &[u32])> =
            samples.map(|(question, rows)| (self.kernel.dot(question), rows)).collect();
        if near.len() > N_NEAR_QUESTIONS {
            near.select_nth_unstable_by(N_NEAR_QUESTIONS - 1, |a, b| b.cmp(a));
            near.truncate(N_NEAR_QUESTIONS);
        }

        let mut starts: Vec<u32> = near.into_iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
        starts.retain(|&row| row < self.rows.n_rows());
        starts.sort_unstable();
        starts.dedup();
        starts.into_iter().map(|row| (self.dot(row), row)).collect()
    }

    /// Finds the best row on the levels above `to`, from level `from` down.
    pub fn descend(&self, from: usize, to: usize, visited: &mut Visited) -> Scored {
        let entry = self.layers.header().entry;
        let mut best = (self.dot(entry), entry);
        for level in (to + 1..=from).rev() {
            best = self.layer(level, &[best], 1, &|_| true, visited).first().copied().unwrap_or(best);
        }

        best
    }

    /// As [`Self::nearest`], on one level from `starts`.
    pub fn layer(
        &self,
        level: usize,
        starts: &[Scored],
        ef: usize,
        accept: &dyn Fn(u32) -> bool,
        visited: &mut Visited,
    ) -> Vec<Scored> {
        let mut open: BinaryHeap<Scored> = BinaryHeap::new();
        // The worst row is on top, so that it can be replaced.
        let mut best: BinaryHeap<Reverse<Scored>> = BinaryHeap::new();

        for start in starts {
            visited.mark(start.1);
            open.push(*start);
            best.extend(accept(start.1).then_some(Reverse(*start)));
        }
        while best.len() > ef {
            best.pop();
        }

        let mut fresh: Vec<u32> = Vec::with_capacity(64);
        while let Some((score, row)) = open.pop() {
            // No open row can lead to a better one.
            if best.len() >= ef && best.peek().is_some_and(|worst| score < worst.0.0) {
                break;
            }

            fresh.clear();
            let neighbours = self.layers.neighbours(level, row).iter();
            fresh.extend(neighbours.filter(|&&row| row < self.rows.n_rows() && visited.mark(row)));
            // The vectors lie all over memory, so reading them is what a search waits for.
            fresh.iter().for_each(|&row| sys::prefetch(self.rows.at(row)));

            for &row in &fresh {
                let found = (self.dot(row), row);
                if best.len() >= ef && best.peek().is_some_and(|worst| found < worst.0) {
                    continue;
                }
                open.push(found);
                if accept(row) {
                    best.push(Reverse(found));
                    if best.len() > ef {
                        best.pop();
                    }
                }
            }
        }

        visited.clear();
        let mut best: Vec<Scored> = best.into_iter().map(|worst| worst.0).collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        best
    }

    fn dot(&self, row: u32) -> i32 {
        self.kernel.dot(self.rows.at(row))
    }
}

/// The rows that a search has visited. Clearing takes time in proportion to their number.
pub struct Visited {
    words: Vec<u64>,
    marked: Vec<u32>,
}

impl Visited {
    pub fn new(n_rows: u32) -> Visited {
        Visited { words: vec![0; (n_rows as usize).div_ceil(64)], marked: Vec::new() }
    }

    /// Marks a row. Returns whether it was not marked before.
    fn mark(&mut self, row: u32) -> bool {
        let (word, bit) = (row as usize / 64, 1u64 << (row % 64));
        let is_new = self.words[word] & bit == 0;
        if is_new {
            self.words[word] |= bit;
            self.marked.push(row);
        }
        is_new
    }

    fn clear(&mut self) {
        for row in self.marked.drain(..) {
            self.words[row as usize / 64] = 0;
        }
    }
}
