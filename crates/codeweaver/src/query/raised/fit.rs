//! Fit: the degree to which a message was printed from the literals of a statement.
//!
//! The constant words of the literals have to stand in the message in their order: words without a value
//! between them next to each other, and any words in place of a value. What counts is the length of the
//! constant text that the message has, less some of the text that it lacks.

use super::letters::letters;
use super::literals::Piece;
use super::message::Message;

/// Cost of a place at which the message leaves the literal, or the literal the message, without a value, in
/// letters.
const BREAK: f32 = 4.0;
/// Share of the constant text that the message lacks that is subtracted.
const LACKING: f32 = 0.4;
/// The fit of literals to a message, in letters of their constant text.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fit {
    /// The constant text that the message has, less the breaks.
    pub covered: f32,
    /// All constant text.
    pub total: f32,
    /// Number of words that the message has.
    pub n_words: u32,
}

impl Fit {
    /// The covered text, less some of what is lacking.
    pub fn score(&self) -> f32 {
        self.covered - LACKING * (self.total - self.covered).max(0.0)
    }

    /// The share of the constant text that the message has, 0–1.
    pub fn share(&self) -> f32 {
        self.covered / self.total.max(f32::MIN_POSITIVE)
    }
}

/// The best alignment up to some word of a literal, by the last word of the message that it uses.
#[derive(Clone, Copy, Default)]
struct Reached {
    covered: f32,
    n_words: u32,
}

impl Reached {
    fn max(self, other: Reached) -> Reached {
        if other.covered > self.covered { other } else { self }
    }
}

/// Returns the fit of the best alignment of `pieces` with `message`.
///
/// The alignments that end at a word of the literal are extended from those of the word before it, adjacently
/// or over a gap, or at the cost of a break from any word further up. Time is O(pieces × words).
pub fn fit(message: &Message, pieces: &[Piece]) -> Fit {
    let n = message.words.len();
    let total = total(pieces);
    // One more than the words, for the empty alignment before the first.
    let mut last = vec![Reached::default(); n + 1];
    let mut best_above = vec![Reached::default(); n + 1];
    let mut best = Reached::default();

    for (at, piece) in pieces.iter().enumerate() {
        let mut here = vec![Reached::default(); n + 1];
        let over_gap = (piece.has_gap_before && at > 0).then(|| prefix_max(&last));
        let weight = letters(&piece.word);

        for &place in message.places_of(&piece.word) {
            let place = place as usize;
            let broken = best_above[place];
            let broken = Reached { covered: (broken.covered - BREAK).max(0.0), ..broken };
            let adjacent = if piece.has_gap_before { Reached::default() } else { last[place] };
            let gap = over_gap.as_ref().map_or_else(Reached::default, |over| over[place]);

            let from = adjacent.max(gap).max(broken);
            here[place + 1] = Reached { covered: from.covered + weight, n_words: from.n_words + 1 };
            best = best.max(here[place + 1]);
        }

        let reached = prefix_max(&here);
        best_above.iter_mut().zip(&reached).for_each(|(above, reached)| *above = above.max(*reached));
        last = here;
    }

    Fit { covered: best.covered, total: total.max(best.covered), n_words: best.n_words }
}

/// The letters of `pieces`, without those of words that a value may continue.
pub fn total(pieces: &[Piece]) -> f32 {
    pieces.iter().filter(|piece| !piece.is_open).map(|piece| letters(&piece.word)).sum()
}

/// For each place, the best alignment that ends at or before it.
fn prefix_max(reached: &[Reached]) -> Vec<Reached> {
    let mut most = Reached::default();
    reached
        .iter()
        .map(|reached| {
            most = most.max(*reached);
            most
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::raised::literals::pieces;

    fn fit_of(message: &str, literal: &str) -> Fit {
        fit(&Message::parse(message).unwrap(), &pieces(literal.as_bytes(), false))
    }

    #[test]
    fn constant_words_count_in_their_order_with_values_between() {
        let message = "ValueError: Cannot open 'a b.txt' for writing: no space left";
        let whole = fit_of(message, "Cannot open '%s' for writing: %s");
        assert_eq!((whole.covered, whole.share(), whole.n_words), (6.0 + 4.0 + 1.0 + 7.0, 1.0, 4));
        for (less, why) in [
            ("Cannot open '%s' for reading: %s", "a word is another one"),
            ("for writing %s Cannot open", "the order is another one"),
            ("Cannot %s writing", "it covers less"),
            ("open '%s' writing", "a word without a gap is left out"),
        ] {
            assert!(fit_of(message, less).score() < whole.score(), "{why}");
        }
        assert_eq!(fit_of(message, "%s: %s").covered, 0.0);
        let both = "Error: a message of two parts is printed";
        assert!(
            fit_of(both, "a message of two parts").score() > fit_of(both, "a message of %s parts").score()
        );
    }
}
