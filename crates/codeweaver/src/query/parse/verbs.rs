//! Verbs: words that do the same (`choose`, `pick`), and words that do the opposite (`sign`, `verify`).
//!
//! A question has the verb of what it asks for. Code has another one for the same deed, and the definition
//! beside it often does the opposite with the same nouns.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use codeweaver_text::stem;

/// Beginnings that turn a word into its opposite.
const NEGATIONS: [&str; 3] = ["un", "de", "dis"];
/// Minimum length of a word that is negated: `decode` is no `code`, and `under` no `der`.
const MIN_NEGATED_BYTES: usize = 5;

/// Deeds of actors that do the opposite as well: a serializer deserializes.
const BOTH_WAYS: [&str; 2] = ["serialize", "marshal"];

/// The relation of a word to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It does the same.
    Same,
    /// It does the opposite.
    Opposite,
}

/// A side of a line of the table.
type Side = (u16, bool);

/// The sides that each stem is on.
static SIDES: LazyLock<FxHashMap<String, Vec<Side>>> = LazyLock::new(|| {
    let lines = include_str!("verbs.txt").lines().filter(|line| !line.starts_with('#'));

    let mut sides: FxHashMap<String, Vec<Side>> = FxHashMap::default();
    for (number, line) in lines.enumerate() {
        for (is_second, words) in line.split('|').enumerate() {
            for word in words.split_whitespace() {
                sides.entry(stem(word)).or_default().push((number as u16, is_second > 0));
            }
        }
    }
    sides
});

/// Returns how the stem `word` relates to the stem `other`; `None` if they are equal or have nothing to do
/// with each other. Words that do the same in one sense and the opposite in another do the same.
pub fn relation(word: &str, other: &str) -> Option<Relation> {
    if word == other {
        return None;
    }
    if is_negation(word, other) || is_negation(other, word) {
        return Some(Relation::Opposite);
    }

    let (a, b) = (SIDES.get(word)?, SIDES.get(other)?);
    let shared = a.iter().flat_map(|a| b.iter().filter(move |b| a.0 == b.0).map(move |b| a.1 == b.1));
    let is_same = shared.max()?;
    Some(if is_same { Relation::Same } else { Relation::Opposite })
}

/// Returns whether the stem `word` is in the table.
pub fn is_known(word: &str) -> bool {
    SIDES.contains_key(word)
}

/// Returns whether an actor of this deed, a stem, does the opposite as well.
pub fn is_both_ways(deed: &str) -> bool {
    static STEMS: LazyLock<[String; 2]> = LazyLock::new(|| BOTH_WAYS.map(stem));
    STEMS.iter().any(|stem| stem == deed)
}

/// Returns the stem of what an actor does (`read` for `reader`), if it is in the table.
pub fn deed_of(actor: &str) -> Option<String> {
    if SIDES.contains_key(actor) {
        return Some(actor.to_owned());
    }

    let base = actor.strip_suffix("er").or_else(|| actor.strip_suffix("or"))?;
    // `writer` is of `write`, `reader` of `read`.
    [stem(base), stem(&format!("{base}e"))].into_iter().find(|deed| SIDES.contains_key(deed))
}

/// Returns whether `word` is `other` with a negation before it.
fn is_negation(word: &str, other: &str) -> bool {
    other.len() >= MIN_NEGATED_BYTES
        && word.len() > other.len()
        && NEGATIONS.iter().any(|negation| word.strip_prefix(negation) == Some(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_do_the_same_or_the_opposite() {
        use Relation::{Opposite, Same};
        for (a, b, expected) in [
            ("signed", "verify", Some(Opposite)),
            ("reads", "write", Some(Opposite)),
            ("verifying", "commit", Some(Opposite)),
            ("register", "unregister", Some(Opposite)),
            ("generate", "make", Some(Same)),
            ("picks", "choose", Some(Same)),
            ("delete", "clear", Some(Same)),
            ("sign", "sign", None),
            ("sign", "cookie", None),
            ("code", "decode", None),
        ] {
            let (a, b) = (stem(a), stem(b));
            assert_eq!(relation(&a, &b), expected, "{a} {b}");
            assert_eq!(relation(&b, &a), expected, "{b} {a}");
        }
    }

    #[test]
    fn actors_are_known_by_their_deeds() {
        for (actor, deed) in
            [("readers", "read"), ("writer", "write"), ("decoder", "decode"), ("loads", "load")]
        {
            assert_eq!(deed_of(&stem(actor)), Some(stem(deed)), "{actor}");
        }
        assert_eq!(deed_of("user"), None);
        assert!(is_both_ways(&deed_of(&stem("serializers")).unwrap()));
        assert!(!is_both_ways(&deed_of(&stem("writers")).unwrap()));
    }
}
