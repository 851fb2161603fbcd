//! Bags: how often each kind of token occurs in a definition, by which most pairs are refused before they are
//! aligned.

use super::tokens::{Token, mix};

/// Number of counters. Tokens that share one make a bag weaker, never wrong.
const N: usize = 64;

/// The number of blind tokens by a hash of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bag([u16; N]);

impl Bag {
    pub fn new(tokens: &[Token]) -> Bag {
        let mut counts = [0u16; N];
        for token in tokens {
            let at = mix(u64::from(token.blind().value())) as usize % N;
            counts[at] = counts[at].saturating_add(1);
        }
        Bag(counts)
    }

    /// The number of tokens that only one of two definitions has, whatever their order; at most the number of
    /// gaps of any alignment.
    pub fn difference(&self, other: &Bag) -> usize {
        self.0.iter().zip(&other.0).map(|(one, two)| u32::from(one.abs_diff(*two))).sum::<u32>() as usize
    }
}

#[cfg(test)]
mod tests {
    use codeweaver_chunk::LanguageId;

    use super::super::align;
    use super::super::tokens::Tokens;
    use super::*;

    #[test]
    fn no_alignment_has_fewer_gaps_than_bags_differ() {
        let mut random = fastrand::Rng::with_seed(11);
        let language = LanguageId::by_name("c").unwrap();
        let words = ["if ", "( ", ") ", "a ", "\"t\" ", "1 ", "+ ", "; "];

        for _ in 0..300 {
            let mut any = || -> Vec<Token> {
                let text: String = (0..random.usize(1..40)).map(|_| words[random.usize(0..8)]).collect();
                Tokens::read(&text, language, "").list.into_iter().map(Token::blind).collect()
            };
            let (one, two) = (any(), any());
            let pairs = align::common(&one, &two, 80).unwrap();
            let n_gaps = one.len() + two.len() - 2 * pairs.len();
            let difference = Bag::new(&one).difference(&Bag::new(&two));
            assert!(difference <= n_gaps, "{difference} of {n_gaps}");
            assert_eq!(Bag::new(&one).difference(&Bag::new(&one)), 0);
        }
    }
}
