//! Choice of the pairs of a batch: groups from the same repository, so that negatives are hard, and each pair
//! once in an epoch of its repository.

use super::cluster;
use super::rows::Rows;
use crate::dataset::Dataset;
use crate::pair::PairKind;

/// The pairs that are drawn, with their probabilities.
#[derive(Debug, Clone)]
pub struct Selection {
    pub batch: usize,
    /// Number of pairs of one repository in a batch; 0 mixes all repositories.
    pub group: usize,
    /// Power of the number of pairs of a repository, in proportion to which it is drawn.
    pub power: f64,
    /// Probability that a pair is part of an epoch, by kind.
    pub kinds: [f32; PairKind::ALL.len()],
    /// Share of all pairs that is used.
    pub fraction: f64,
    pub threads: usize,
}

/// Draws batches. Its state is the queues; the random number generator is passed in.
pub struct Sampler<'a> {
    data: &'a Dataset,
    selection: Selection,
    /// Pairs that may be drawn, by repository; one list if repositories are mixed.
    members: Vec<Vec<u32>>,
    /// Cumulative probabilities of `members`, unnormalised.
    chances: Vec<f64>,
    /// Remaining pairs of this epoch, the next one last.
    pub queues: Vec<Vec<u32>>,
}

impl<'a> Sampler<'a> {
    pub fn new(data: &'a Dataset, selection: Selection) -> Sampler<'a> {
        let mut members: Vec<Vec<u32>> = Vec::new();
        for repository in data.repositories.iter().filter(|repository| !repository.held_out) {
            let own = repository.pairs.clone().filter(|&pair| {
                selection.kinds[data.kind(pair) as usize] > 0.0 && share_of(pair) < selection.fraction
            });
            let own: Vec<u32> = own.map(|pair| pair as u32).collect();
            if !own.is_empty() {
                members.push(own);
            }
        }
        if selection.group == 0 {
            members = vec![members.concat()];
        }
        let mut sum = 0.0;
        let chances = members
            .iter()
            .map(|own| {
                let shares =
                    own.iter().map(|&pair| f64::from(selection.kinds[data.kind(pair as usize) as usize]));
                sum += shares.sum::<f64>().powf(selection.power);
                sum
            })
            .collect();
        let queues = members.iter().map(|_| Vec::new()).collect();
        Sampler { data, selection, members, chances, queues }
    }

    /// Expected number of pairs in an epoch.
    pub fn epoch(&self) -> usize {
        let weight = |&pair: &u32| f64::from(self.selection.kinds[self.data.kind(pair as usize) as usize]);
        self.members.iter().flatten().map(weight).sum::<f64>() as usize
    }

    /// Draws the next batch. With `rows`, new queues are ordered so that the pairs of a group are similar.
    pub fn next(&mut self, random: &mut fastrand::Rng, rows: Option<&Rows>) -> Vec<u32> {
        let size = self.selection.batch;
        let group = if self.selection.group == 0 { size } else { self.selection.group };
        let mut batch = Vec::with_capacity(size);
        let mut used = Vec::new();
        while batch.len() < size {
            let chosen = self.draw(random);
            if used.contains(&chosen) && used.len() < self.members.len() {
                continue;
            }
            used.push(chosen);
            if self.queues[chosen].is_empty() {
                self.refill(chosen, random, rows);
            }
            let queue = &mut self.queues[chosen];
            let n = group.min(size - batch.len()).min(queue.len());
            batch.extend(queue.drain(queue.len() - n..));
        }
        batch
    }

    /// Orders the remaining pairs of all epochs so that the pairs of a group are similar.
    pub fn cluster(&mut self, random: &mut fastrand::Rng, rows: &Rows) {
        let group = self.selection.group.max(1);
        let (data, threads) = (self.data, self.selection.threads.max(1));
        let seeds: Vec<u64> = self.queues.iter().map(|_| random.u64(..)).collect();
        // Queues are dealt to threads in turn: sizes are mixed, and the result does not depend on timing.
        std::thread::scope(|scope| {
            let mut parts: Vec<Vec<(&mut Vec<u32>, u64)>> = (0..threads).map(|_| Vec::new()).collect();
            for (at, (queue, seed)) in self.queues.iter_mut().zip(seeds).enumerate() {
                parts[at % threads].push((queue, seed));
            }
            for part in parts {
                scope.spawn(move || {
                    for (queue, seed) in part {
                        cluster::order(data, rows, queue, group, &mut fastrand::Rng::with_seed(seed));
                    }
                });
            }
        });
    }

    fn draw(&self, random: &mut fastrand::Rng) -> usize {
        let at = random.f64() * self.chances.last().copied().unwrap_or(0.0);
        self.chances.partition_point(|&sum| sum <= at).min(self.members.len() - 1)
    }

    fn refill(&mut self, chosen: usize, random: &mut fastrand::Rng, rows: Option<&Rows>) {
        let kinds = &self.selection.kinds;
        let members = &self.members[chosen];
        let mut queue: Vec<u32> = members
            .iter()
            .copied()
            .filter(|&pair| {
                let share = kinds[self.data.kind(pair as usize) as usize];
                share >= 1.0 || random.f32() < share
            })
            .collect();
        if queue.is_empty() {
            queue.push(members[random.usize(..members.len())]);
        }
        random.shuffle(&mut queue);
        if let Some(rows) = rows {
            cluster::order(self.data, rows, &mut queue, self.selection.group.max(1), random);
        }
        self.queues[chosen] = queue;
    }
}

/// Deterministic pseudo-random number in 0..1 for a pair.
fn share_of(pair: usize) -> f64 {
    let mixed = (pair as u64 ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1u64 << 24) as f64
}
