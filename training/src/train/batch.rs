//! The input of a training step: bags of texts, codes and paths as one sparse matrix.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::noise::Noise;
use crate::dataset::{Bag, Dataset};

/// Minimum number of words that [`Batch::remove_shared`] leaves in a text.
const MIN_UNSHARED: usize = 2;

/// `3 n` bags: the texts of `n` pairs, then their codes, then their paths (empty if dropped).
#[derive(Debug, Default)]
pub struct Batch {
    starts: Vec<u32>,
    ids: Vec<u16>,
    weights: Vec<f32>,
    /// (text, document) of different pairs with equal texts or equal codes, which must not count as
    /// negatives.
    pub masked: Vec<(usize, usize)>,
}

/// Random choices in building a batch from pairs.
pub struct Mixing {
    /// Probability that the path of a pair is part of its document.
    pub path_share: f32,
    /// Probability that query words are added to a text, and these words.
    pub noise_share: f32,
    pub noise: Noise,
    /// Probability that the words of its code are removed from a text, so that more than equality of words is
    /// learnt.
    pub unshared_share: f32,
    /// Probability that an entry of a text or a code is dropped, so that the model does not depend on single
    /// words.
    pub text_dropout: f32,
    pub code_dropout: f32,
}

impl Batch {
    pub fn new(data: &Dataset, pairs: &[u32], mixing: &Mixing, random: &mut fastrand::Rng) -> Batch {
        let mut batch = Batch::default();
        let mut text = Vec::new();
        for &pair in pairs {
            let bag = data.pair(pair as usize).text;
            let start = batch.ids.len();
            if mixing.noise_share > 0.0 && random.f32() < mixing.noise_share {
                mixing.noise.apply(bag, random, &mut text);
                batch.push(text.iter().map(|&(id, count)| (id, (count as f32).sqrt())));
            } else {
                batch.push_bag(bag);
            }
            if mixing.unshared_share > 0.0 && random.f32() < mixing.unshared_share {
                batch.remove_shared(start, data.pair(pair as usize).code);
            }
            batch.end_with_dropout(mixing.text_dropout, random);
        }
        for &pair in pairs {
            batch.push_bag(data.pair(pair as usize).code);
            batch.end_with_dropout(mixing.code_dropout, random);
        }
        for &pair in pairs {
            // One number is drawn for every pair, so that kinds without a path do not shift the random
            // sequence.
            if random.f32() < mixing.path_share {
                batch.push_bag(data.pair(pair as usize).path);
            }
            batch.end();
        }
        batch.masked = masked(pairs.iter().map(|&pair| data.pair(pair as usize).text));
        batch.masked.extend(masked(pairs.iter().map(|&pair| data.pair(pair as usize).code)));
        batch.masked.sort_unstable();
        batch.masked.dedup();
        batch
    }

    pub fn push(&mut self, entries: impl IntoIterator<Item = (u16, f32)>) {
        for (id, weight) in entries {
            self.ids.push(id);
            self.weights.push(weight);
        }
    }

    fn push_bag(&mut self, bag: Bag) {
        self.push(bag.ids.iter().zip(bag.counts).map(|(&id, &count)| (id, f32::from(count).sqrt())));
    }

    /// Ends a bag.
    pub fn end(&mut self) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.starts.push(self.ids.len() as u32);
    }

    /// Removes from the last bag, which starts at `start`, the entries of `other`, unless too few would
    /// remain.
    fn remove_shared(&mut self, start: usize, other: Bag) {
        let own: Vec<(u16, f32)> =
            self.ids[start..].iter().copied().zip(self.weights[start..].iter().copied()).collect();
        let kept = own.into_iter().filter(|(id, _)| other.ids.binary_search(id).is_err());
        let kept: Vec<(u16, f32)> = kept.collect();
        if kept.len() >= MIN_UNSHARED {
            self.ids.truncate(start);
            self.weights.truncate(start);
            self.push(kept);
        }
    }

    /// Ends a bag after dropping each entry with probability `share`; at least one entry of a non-empty bag
    /// is kept.
    fn end_with_dropout(&mut self, share: f32, random: &mut fastrand::Rng) {
        if share > 0.0 {
            let start = self.starts.last().map_or(0, |&end| end as usize);
            let mut kept = start;
            for at in start..self.ids.len() {
                let last_chance = kept == start && at + 1 == self.ids.len();
                if last_chance || random.f32() >= share {
                    self.ids.swap(kept, at);
                    self.weights.swap(kept, at);
                    kept += 1;
                }
            }
            self.ids.truncate(kept);
            self.weights.truncate(kept);
        }
        self.end();
    }

    fn n_bags(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    fn range(&self, bag: usize) -> Range<usize> {
        self.starts[bag] as usize..self.starts[bag + 1] as usize
    }

    pub fn ids(&self, bag: usize) -> &[u16] {
        &self.ids[self.range(bag)]
    }

    pub fn weights(&self, bag: usize) -> &[f32] {
        &self.weights[self.range(bag)]
    }

    /// Splits all bags into `parts` ranges with about equal numbers of entries.
    pub fn balanced(&self, parts: usize) -> Vec<Range<usize>> {
        balanced(&self.starts, parts)
    }

    /// The transposed matrix, for a table of `n` rows.
    pub fn by_id(&self, n: usize) -> ById {
        let mut starts = vec![0u32; n + 1];
        for &id in &self.ids {
            starts[usize::from(id) + 1] += 1;
        }
        for id in 0..n {
            starts[id + 1] += starts[id];
        }
        let mut next = starts.clone();
        let mut uses = vec![(0, 0.0); self.ids.len()];
        for bag in 0..self.n_bags() {
            for (&id, &weight) in self.ids(bag).iter().zip(self.weights(bag)) {
                let at = &mut next[usize::from(id)];
                uses[*at as usize] = (bag as u32, weight);
                *at += 1;
            }
        }
        ById { starts, uses }
    }
}

/// The transposed batch: for every id the bags that contain it, with weights.
pub struct ById {
    starts: Vec<u32>,
    uses: Vec<(u32, f32)>,
}

impl ById {
    pub fn uses(&self, id: usize) -> &[(u32, f32)] {
        &self.uses[self.starts[id] as usize..self.starts[id + 1] as usize]
    }

    /// Splits all ids into `parts` ranges with about equal numbers of uses.
    pub fn balanced(&self, parts: usize) -> Vec<Range<usize>> {
        balanced(&self.starts, parts)
    }
}

fn balanced(starts: &[u32], parts: usize) -> Vec<Range<usize>> {
    let n = starts.len().saturating_sub(1);
    let total = starts.last().map_or(0, |&end| end as usize);
    let bound = |part: usize| match part {
        part if part == parts => n,
        part => starts.partition_point(|&start| (start as usize) < total * part / parts).min(n),
    };
    (0..parts).map(|part| bound(part)..bound(part + 1)).collect()
}

/// Cells (i, j), i ≠ j, of equal bags.
fn masked<'a>(bags: impl Iterator<Item = Bag<'a>>) -> Vec<(usize, usize)> {
    let mut groups: FxHashMap<Bag, Vec<usize>> = FxHashMap::default();
    for (at, bag) in bags.enumerate() {
        groups.entry(bag).or_default().push(at);
    }
    let mut out = Vec::new();
    for group in groups.values().filter(|group| group.len() > 1) {
        for &i in group {
            out.extend(group.iter().filter(|&&j| j != i).map(|&j| (i, j)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_masked_both_ways() {
        let bag = |ids: &'static [u16]| Bag { ids, counts: &[1, 1] };
        let mut found = masked([bag(&[1, 2]), bag(&[1, 3]), bag(&[1, 2])].into_iter());
        found.sort_unstable();
        assert_eq!(found, [(0, 2), (2, 0)]);
    }

    #[test]
    fn shared_entries_are_removed_unless_too_few_are_left() {
        let mut batch = Batch::default();
        batch.push([(9, 9.0)]);
        batch.end();
        let code = Bag { ids: &[2, 3, 9], counts: &[1, 1, 1] };
        for ids in [[1, 2, 4], [1, 2, 3]] {
            let start = batch.ids.len();
            batch.push(ids.map(|id| (id, f32::from(id))));
            batch.remove_shared(start, code);
            batch.end();
        }
        assert_eq!((batch.ids(0), batch.ids(1), batch.ids(2)), (&[9][..], &[1, 4][..], &[1, 2, 3][..]));
        assert_eq!(batch.weights(1), [1.0, 4.0]);
    }

    #[test]
    fn dropout_leaves_out_some_entries_and_never_all() {
        let mut random = fastrand::Rng::with_seed(2);
        let mut batch = Batch::default();
        for _ in 0..300 {
            batch.push((0..5).map(|id| (id, f32::from(id))));
            batch.end_with_dropout(0.4, &mut random);
            batch.push([(9, 9.0)]);
            batch.end_with_dropout(0.99, &mut random);
        }
        let kept: usize = (0..300).map(|bag| batch.ids(2 * bag).len()).sum();
        assert!((750..1050).contains(&kept), "{kept}");
        for bag in 0..600 {
            let pairs = batch.ids(bag).iter().zip(batch.weights(bag));
            assert!(pairs.clone().all(|(&id, &weight)| f32::from(id) == weight) && pairs.len() > 0);
        }
    }

    #[test]
    fn the_transposed_matrix_has_the_same_entries() {
        let mut batch = Batch::default();
        batch.push([(3, 1.0), (5, 2.0)]);
        batch.end();
        batch.end();
        batch.push([(3, 4.0)]);
        batch.end();
        let by_id = batch.by_id(7);
        assert_eq!(by_id.uses(3), [(0, 1.0), (2, 4.0)]);
        assert_eq!(by_id.uses(5), [(0, 2.0)]);
        assert!((0..7).filter(|id| ![3, 5].contains(id)).all(|id| by_id.uses(id).is_empty()));
        for parts in 1..5 {
            let ranges = by_id.balanced(parts);
            assert_eq!(ranges.len(), parts);
            assert_eq!((ranges[0].start, ranges[parts - 1].end), (0, 7));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }
}
