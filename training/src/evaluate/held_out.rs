//! Raw pairs of the held-out repositories.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::path::Path;

use anyhow::{Context, Result};
use rustc_hash::FxHasher;

use super::sets::{Candidate, Set};
use crate::dataset::pair_files;
use crate::pair::{Pair, PairKind, PairReader};

/// All held-out pairs, each with the index of its repository.
pub struct HeldOut {
    pub repositories: Vec<String>,
    pub pairs: Vec<(usize, Pair)>,
}

impl HeldOut {
    /// Reads a directory written by `dataset`.
    pub fn read(folder: &Path) -> Result<HeldOut> {
        let mut out = HeldOut { repositories: Vec::new(), pairs: Vec::new() };
        for path in pair_files(folder)? {
            let repository = out.repositories.len();
            out.repositories.push(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
            for pair in PairReader::open(&path)? {
                out.pairs.push((repository, pair.with_context(|| format!("reading {}", path.display()))?));
            }
        }
        Ok(out)
    }

    pub fn pair(&self, number: usize) -> &Pair {
        &self.pairs[number].1
    }

    /// Builds a set for each kind in `kinds` and language.
    pub fn sets(&self, kinds: &[PairKind], limit: usize) -> Vec<(PairKind, String, Set)> {
        let mut candidates: BTreeMap<(PairKind, &str), Vec<Candidate>> = BTreeMap::new();
        for (number, (_, pair)) in self.pairs.iter().enumerate() {
            if kinds.contains(&pair.kind) {
                candidates.entry((pair.kind, &pair.language)).or_default().push(candidate(number, pair));
            }
        }
        let sets = candidates.into_iter();
        sets.map(|((kind, language), candidates)| (kind, language.to_owned(), Set::new(candidates, limit)))
            .collect()
    }
}

/// Returns a pair as the candidate of that number.
pub fn candidate(number: usize, pair: &Pair) -> Candidate {
    Candidate { number, text: hash(&pair.text), code: hash(&pair.code) }
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    text.hash(&mut hasher);
    hasher.finish()
}
