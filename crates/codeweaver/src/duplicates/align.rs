//! Alignment: the longest common subsequence of two token sequences.
//!
//! The greedy algorithm of Myers 1986 is written out here because it ends as soon as the sequences differ by
//! more than a limit. Most candidates do, and a library compares them to the end.

use super::tokens::Token;

/// The positions of two tokens that correspond to each other.
pub type Pair = (u32, u32);

/// Maximum number of tokens that only one of two sequences has. Memory is in proportion to its square.
const MAX_GAPS: usize = 1500;

/// The pairs of a longest common subsequence, ascending. `None` if more than `max_gaps` tokens are in one
/// sequence only.
pub fn common(one: &[Token], two: &[Token], max_gaps: usize) -> Option<Vec<Pair>> {
    let n_before = one.iter().zip(two).take_while(|(a, b)| a == b).count();
    let (left, right) = (&one[n_before..], &two[n_before..]);
    let n_after = left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| a == b).count();
    let (left, right) = (&left[..left.len() - n_after], &right[..right.len() - n_after]);

    let mut pairs: Vec<Pair> = (0..n_before as u32).map(|at| (at, at)).collect();
    let first = n_before as u32;
    pairs.extend(middle(left, right, max_gaps.min(MAX_GAPS))?.iter().map(|(a, b)| (a + first, b + first)));

    let (a, b) = ((one.len() - n_after) as u32, (two.len() - n_after) as u32);
    pairs.extend((0..n_after as u32).map(|at| (a + at, b + at)));
    Some(pairs)
}

/// The pairs of the sequences by their names, and in the gaps between these by their shape. `None` if more
/// than `max_gaps` tokens are in one sequence only, with their names.
pub fn by_names(
    names: (&[Token], &[Token]),
    blind: (&[Token], &[Token]),
    max_gaps: usize,
) -> Option<Vec<Pair>> {
    let anchors = common(names.0, names.1, max_gaps)?;
    let ends = (names.0.len() as u32, names.1.len() as u32);

    let (mut pairs, mut from) = (Vec::with_capacity(anchors.len()), (0, 0));
    for anchor in anchors.into_iter().chain([ends]) {
        let one = &blind.0[from.0 as usize..anchor.0 as usize];
        let two = &blind.1[from.1 as usize..anchor.1 as usize];
        if !one.is_empty() && !two.is_empty() {
            pairs.extend(common(one, two, max_gaps)?.iter().map(|(a, b)| (a + from.0, b + from.1)));
        }

        pairs.extend((anchor != ends).then_some(anchor));
        from = (anchor.0 + 1, anchor.1 + 1);
    }

    Some(pairs)
}

/// The furthest places that paths with one number of gaps reach, one for each diagonal.
struct Front {
    /// Index of diagonal 0.
    zero: usize,
    reached: Vec<u32>,
}

impl Front {
    fn at(&self, diagonal: isize) -> u32 {
        self.reached[(self.zero as isize + diagonal) as usize]
    }

    fn set(&mut self, diagonal: isize, place: u32) {
        self.reached[(self.zero as isize + diagonal) as usize] = place;
    }

    /// Returns whether the best path of `n_gaps` gaps to a diagonal comes from the diagonal above.
    fn comes_from_above(&self, diagonal: isize, n_gaps: isize) -> bool {
        diagonal == -n_gaps || diagonal != n_gaps && self.at(diagonal - 1) < self.at(diagonal + 1)
    }
}

/// As [`common`], for sequences that differ in their first and last tokens.
fn middle(one: &[Token], two: &[Token], max_gaps: usize) -> Option<Vec<Pair>> {
    if one.is_empty() || two.is_empty() {
        return (one.len().max(two.len()) <= max_gaps).then(Vec::new);
    }

    let mut front = Front { zero: max_gaps + 1, reached: vec![0; 2 * max_gaps + 3] };
    let mut fronts: Vec<Front> = Vec::new();
    for n_gaps in 0..=max_gaps as isize {
        let (from, to) =
            ((front.zero as isize - n_gaps - 1) as usize, (front.zero as isize + n_gaps + 1) as usize);
        fronts.push(Front { zero: n_gaps as usize + 1, reached: front.reached[from..=to].to_vec() });

        for diagonal in (-n_gaps..=n_gaps).step_by(2) {
            let mut a = match front.comes_from_above(diagonal, n_gaps) {
                true => front.at(diagonal + 1),
                false => front.at(diagonal - 1) + 1,
            };
            let mut b = (a as isize - diagonal) as usize;
            while (a as usize) < one.len() && b < two.len() && one[a as usize] == two[b] {
                (a, b) = (a + 1, b + 1);
            }

            front.set(diagonal, a);
            if a as usize >= one.len() && b >= two.len() {
                return Some(trace(&fronts, (one.len() as u32, two.len() as u32)));
            }
        }
    }

    None
}

/// The pairs on the path to `end`, whose number of gaps is that of the last of `fronts`.
fn trace(fronts: &[Front], end: (u32, u32)) -> Vec<Pair> {
    let (mut a, mut b) = end;
    let mut pairs = Vec::new();

    for (n_gaps, front) in fronts.iter().enumerate().rev() {
        let diagonal = a as isize - b as isize;
        let (from_a, from_b) = match n_gaps as isize {
            0 => (0, 0),
            n if front.comes_from_above(diagonal, n) => {
                let from = front.at(diagonal + 1);
                (from, (from as isize - diagonal - 1) as u32)
            }
            _ => {
                let from = front.at(diagonal - 1);
                (from, (from as isize - diagonal + 1) as u32)
            }
        };

        while a > from_a && b > from_b {
            (a, b) = (a - 1, b - 1);
            pairs.push((a, b));
        }
        (a, b) = (from_a, from_b);
    }

    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use codeweaver_chunk::LanguageId;

    use super::super::tokens::Tokens;
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        Tokens::read(text, LanguageId::by_name("c").unwrap(), "").list
    }

    /// The length of the longest common subsequence, by the table of all prefixes.
    fn n_common(one: &[Token], two: &[Token]) -> usize {
        let mut row = vec![0; two.len() + 1];
        for a in one {
            let mut diagonal = 0;
            for (at, b) in two.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if a == b { diagonal + 1 } else { row[at].max(above) };
                diagonal = above;
            }
        }
        row[two.len()]
    }

    #[test]
    fn pairs_are_a_longest_common_subsequence() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..500 {
            let mut any =
                |n: usize| -> String { (0..n).map(|_| ["a ", "b ", "c "][random.usize(0..3)]).collect() };
            let (one, two) = (tokens(&any(23)), tokens(&any(17)));
            let pairs = common(&one, &two, 40).unwrap();
            assert!(pairs.iter().all(|&(a, b)| one[a as usize] == two[b as usize]));
            assert!(pairs.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
            let expected = n_common(&one, &two);
            assert_eq!(pairs.len(), expected);
            let n_gaps = 40 - 2 * expected;
            assert_eq!(common(&one, &two, n_gaps).map(|pairs| pairs.len()), Some(expected));
            assert!(n_gaps == 0 || common(&one, &two, n_gaps - 1).is_none());
        }
    }

    #[test]
    fn names_decide_between_equal_shapes() {
        let (one, two) = (tokens("f(a, b, c)"), tokens("f(a, x, b, c)"));
        let blind = |tokens: &[Token]| tokens.iter().map(|token| token.blind()).collect::<Vec<_>>();
        let pairs = by_names((&one, &two), (&blind(&one), &blind(&two)), 40).unwrap();
        assert_eq!(pairs, [(0, 0), (1, 1), (2, 2), (3, 3), (4, 6), (5, 7), (6, 8), (7, 9)]);
    }
}
