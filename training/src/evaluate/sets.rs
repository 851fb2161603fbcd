//! Sets of queries with relevance labels, built from held-out pairs, and their mean reciprocal rank.

use rustc_hash::FxHashMap;

/// Queries and a pool of codes. Numbers are those of the candidates that the set was built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    /// One candidate for each distinct text.
    pub queries: Vec<usize>,
    /// One candidate for each distinct code.
    pub pool: Vec<usize>,
    /// For each query, the positions in the pool of the codes that it was paired with.
    pub relevant: Vec<Vec<u32>>,
}

/// A pair from which a set is built.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    pub number: usize,
    /// Hashes of the text and of the code.
    pub text: u64,
    pub code: u64,
}

impl Set {
    /// Builds a set from at most `limit` candidates, those with the smallest hashes.
    pub fn new(mut candidates: Vec<Candidate>, limit: usize) -> Set {
        candidates.sort_unstable_by_key(order);
        candidates.truncate(limit);

        let (mut texts, mut codes) = (FxHashMap::default(), FxHashMap::default());
        let mut set = Set { queries: Vec::new(), pool: Vec::new(), relevant: Vec::new() };
        for candidate in &candidates {
            let place = *codes.entry(candidate.code).or_insert_with(|| {
                set.pool.push(candidate.number);
                set.pool.len() as u32 - 1
            });
            let query = *texts.entry(candidate.text).or_insert_with(|| {
                set.queries.push(candidate.number);
                set.relevant.push(Vec::new());
                set.queries.len() - 1
            });
            if !set.relevant[query].contains(&place) {
                set.relevant[query].push(place);
            }
        }
        set
    }

    /// Mean reciprocal rank of the first relevant code; `scores` has one row of pool size for each query.
    pub fn mean_reciprocal_rank(&self, scores: &[f32]) -> f64 {
        let rows = scores.chunks_exact(self.pool.len().max(1)).zip(&self.relevant);
        let sum: f64 = rows.map(|(scores, relevant)| 1.0 / rank(scores, relevant)).sum();
        sum / self.queries.len().max(1) as f64
    }
}

/// Returns the key by which candidates are ordered: a mix of their hashes, and their number on equal ones.
fn order(candidate: &Candidate) -> (u64, usize) {
    let mixed = (candidate.text ^ candidate.code.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 31, candidate.number)
}

/// Returns the 1-based rank of the best of `relevant`. Among equal scores it counts as the middle one.
pub fn rank(scores: &[f32], relevant: &[u32]) -> f64 {
    let best = relevant.iter().map(|&place| scores[place as usize]).fold(f32::NEG_INFINITY, f32::max);
    let (mut better, mut equal) = (0, 0);
    for (place, &score) in scores.iter().enumerate() {
        if !relevant.contains(&(place as u32)) {
            better += usize::from(score > best);
            equal += usize::from(score == best);
        }
    }
    1.0 + better as f64 + equal as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_and_equal_codes_are_merged() {
        let candidate = |number, text, code| Candidate { number, text, code };
        let all = vec![candidate(0, 1, 1), candidate(1, 1, 2), candidate(2, 2, 2), candidate(3, 3, 3)];
        let set = Set::new(all.clone(), 10);
        assert_eq!((set.queries.len(), set.pool.len()), (3, 3));
        let of_text_1 = set.queries.iter().position(|&number| number < 2).unwrap();
        assert_eq!(set.relevant[of_text_1].len(), 2);
        assert_eq!(Set::new(all.iter().rev().copied().collect(), 10), set);
        assert_eq!(Set::new(all, 1).queries.len(), 1);
    }

    #[test]
    fn ranks_count_ties_in_the_middle() {
        assert_eq!(rank(&[0.1, 0.9, 0.5], &[1]), 1.0);
        assert_eq!(rank(&[0.1, 0.9, 0.5], &[0, 2]), 2.0);
        assert_eq!(rank(&[0.5, 0.5, 0.5], &[0]), 2.0);
        let set = Set { queries: vec![0, 1], pool: vec![0, 1], relevant: vec![vec![0], vec![1]] };
        assert_eq!(set.mean_reciprocal_rank(&[1.0, 0.0, 1.0, 0.0]), 0.75);
    }
}
