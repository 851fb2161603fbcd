//! Held-out sample for the reports during training: texts against codes, by kind and language.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::dense::{Matrix, scores};
use super::sets::{Candidate, Set};
use crate::dataset::{Bag, Dataset};
use crate::pair::PairKind;
use crate::train::rows::Rows;

/// Kinds that are evaluated: those whose texts resemble queries most.
pub const KINDS: [PairKind; 3] = [PairKind::Doc, PairKind::Commit, PairKind::Inline];
/// Minimum number of queries of a set; smaller ones are dropped.
const MIN_QUERIES: usize = 50;

pub struct Sample<'a> {
    data: &'a Dataset,
    sets: Vec<(PairKind, Set)>,
}

impl<'a> Sample<'a> {
    /// Takes at most `limit` pairs of each kind and language.
    pub fn new(data: &'a Dataset, limit: usize) -> Sample<'a> {
        let mut candidates: BTreeMap<(PairKind, usize), Vec<Candidate>> = BTreeMap::new();
        for number in data.repositories.iter().filter(|r| r.held_out).flat_map(|r| r.pairs.clone()) {
            let pair = data.pair(number);
            if KINDS.contains(&pair.kind) {
                let candidate = Candidate { number, text: hash(pair.text), code: hash(pair.code) };
                candidates.entry((pair.kind, pair.language)).or_default().push(candidate);
            }
        }
        let sets = candidates.into_iter().map(|((kind, _), candidates)| (kind, Set::new(candidates, limit)));
        Sample { data, sets: sets.filter(|(_, set)| set.queries.len() >= MIN_QUERIES).collect() }
    }

    /// Returns the mean reciprocal rank for each kind, averaged over languages, without paths.
    pub fn mean_reciprocal_ranks(&self, rows: &Rows) -> BTreeMap<PairKind, f64> {
        let mut sums: BTreeMap<PairKind, (f64, usize)> = BTreeMap::new();
        for (kind, set) in &self.sets {
            let texts = Matrix::from_fn(rows.dim, set.queries.len(), |i, out| {
                rows.unit(self.data.pair(set.queries[i]).text, out);
            });
            let codes = Matrix::from_fn(rows.dim, set.pool.len(), |i, out| {
                rows.unit(self.data.pair(set.pool[i]).code, out);
            });
            let (sum, n) = sums.entry(*kind).or_default();
            *sum += set.mean_reciprocal_rank(&scores(&texts, &codes));
            *n += 1;
        }
        sums.into_iter().map(|(kind, (sum, n))| (kind, sum / n as f64)).collect()
    }

    /// One-line report.
    pub fn report(&self, rows: &Rows) -> String {
        let found = self.mean_reciprocal_ranks(rows);
        let mean = found.values().sum::<f64>() / found.len().max(1) as f64;
        let each: Vec<String> =
            found.iter().map(|(kind, value)| format!("{} {value:.4}", kind.name())).collect();
        format!("held-out MRR {} mean {mean:.4}", each.join(" "))
    }
}

fn hash(bag: Bag) -> u64 {
    let mut hasher = FxHasher::default();
    bag.hash(&mut hasher);
    hasher.finish()
}
