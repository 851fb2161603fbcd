//! Words of a query that the index lacks because they are spelt otherwise there: typing errors, and British
//! or American spelling.

use std::collections::BTreeMap;

use codeweaver_text::{QueryTerm, is_one_edit_apart, one_edit_away, stem};

use super::retrieve::lexical;
use super::view::View;

/// Minimum length of a word that is respelt by a likely edit. Shorter ones are too near to too many others.
const MIN_BYTES: usize = 6;
/// Minimum length of a stem that lacks a letter.
const MIN_BYTES_OF_SHORTENED: usize = 5;
/// Minimum length of a stem that is respelt by any other edit.
const MIN_BYTES_OF_OTHER: usize = 8;
/// Maximum number of words that are looked up.
const MAX_WORDS: usize = 4;

/// A query with words of the index in place of some that the index lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Respelling {
    /// The query with the words of the index.
    pub text: String,
    /// Each word as written, with its replacement.
    words: Vec<(String, String)>,
}

/// Returns the query `text` with words of the view in place of those of `absent` that are one edit away from
/// one; `None` if there are none.
///
/// A word is replaced by the one that needs the likeliest edit, and among these by the most frequent. Names
/// and short words are left as they are. So are words that need an unlikely edit if other words stay absent:
/// such a query is about something else.
pub fn respelt(text: &str, absent: &[String], view: &View) -> Option<Respelling> {
    let plain = absent.iter().filter(|word| is_plain(word)).take(MAX_WORDS);
    let mut words: Vec<(String, String)> =
        plain.filter_map(|word| Some((word.clone(), likeliest(&word.to_ascii_lowercase(), view)?))).collect();

    if words.len() < absent.len() {
        words.retain(|(word, by)| is_likely(&word.to_ascii_lowercase(), by));
    }

    let replaced = words.iter().fold(text.to_owned(), |text, (word, by)| replace_word(&text, word, by));
    (!words.is_empty()).then_some(Respelling { text: replaced, words })
}

impl Respelling {
    /// Returns the note for the user about the respelling.
    pub fn note(&self) -> String {
        let words = self.words.iter().map(|(word, by)| format!("`{word}` is searched for as `{by}`"));
        format!("{}, since nothing that is indexed has it as written", words.collect::<Vec<_>>().join(", "))
    }
}

/// Returns whether `word` is a word of prose rather than a name: letters, all but the first lower-case.
fn is_plain(word: &str) -> bool {
    word.len() >= MIN_BYTES
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
}

/// Returns the word of `view` that is most likely meant by the lower-case `word`.
fn likeliest(word: &str, view: &View) -> Option<String> {
    let own = stem(word);
    let mut by_term: BTreeMap<String, String> = BTreeMap::new();

    for other in one_edit_away(word) {
        let min_bytes = if is_likely(word, &other) {
            0
        } else if other.len() > word.len() {
            MIN_BYTES_OF_SHORTENED
        } else {
            MIN_BYTES_OF_OTHER
        };

        let is_word = own.len() >= min_bytes
            && other.bytes().next() == word.bytes().next()
            && other.bytes().all(|byte| byte.is_ascii_lowercase());
        let term = stem(&other);
        // `docked` is one edit from `docker`, but its term `dock` is another word.
        if is_word && is_one_edit_apart(&own, &term) {
            let known = by_term.entry(term).or_insert_with(|| other.clone());
            if (!is_likely(word, &other), &other) < (!is_likely(word, known), known) {
                *known = other;
            }
        }
    }

    let terms: Vec<QueryTerm> = by_term
        .keys()
        .map(|term| QueryTerm { term: term.clone(), weight: 1.0, is_identifier: false })
        .collect();
    let idf = lexical::idf_of(view, &terms);

    let found = by_term.into_values().zip(idf).filter(|(_, idf)| *idf > 0.0);
    found
        .min_by(|(a, idf_of_a), (b, idf_of_b)| {
            let by_edit = is_likely(word, b).cmp(&is_likely(word, a));
            by_edit.then(idf_of_a.total_cmp(idf_of_b)).then_with(|| a.cmp(b))
        })
        .map(|(other, _)| other)
}

/// Returns whether `word` and `other`, which are one edit apart, are often written for each other: adjacent
/// letters swapped, a letter doubled, `s` and `z`, `our` and `or`.
fn is_likely(word: &str, other: &str) -> bool {
    let (short, long) = if word.len() <= other.len() { (word, other) } else { (other, word) };
    let (short, long) = (short.as_bytes(), long.as_bytes());

    if short.len() == long.len() {
        let differing: Vec<(u8, u8)> =
            short.iter().copied().zip(long.iter().copied()).filter(|(a, b)| a != b).collect();
        return match differing.as_slice() {
            [(b's', b'z') | (b'z', b's')] => true,
            [(a, b), (c, d)] => (a, b) == (d, c),
            _ => false,
        };
    }

    let at = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let before = at.checked_sub(1).and_then(|before| long.get(before));
    long.get(at) == before || (before == Some(&b'o') && long[at..].starts_with(b"ur"))
}

/// Replaces `word` by `by` in `text`, wherever it stands as a word of its own.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let is_word_char = |c: char| c.is_alphanumeric() || c == '_';
    let mut replaced = String::with_capacity(text.len());
    let mut from = 0;

    for (at, _) in text.match_indices(word) {
        let after = at + word.len();
        if text[..at].ends_with(is_word_char) || text[after..].starts_with(is_word_char) {
            continue;
        }
        replaced.push_str(&text[from..at]);
        replaced.push_str(by);
        from = after;
    }

    replaced.push_str(&text[from..]);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_short_words_are_not_respelt() {
        for word in ["tokenise", "Tokenise", "colliison"] {
            assert!(is_plain(word), "{word}");
        }
        for word in ["kafka", "COBOL_", "fooBarBaz", "foo_bar", "HTTPError", "sha256", "größer"] {
            assert!(!is_plain(word), "{word}");
        }
    }

    #[test]
    fn likely_edits_are_told_from_others() {
        for (word, other) in [
            ("colliison", "collision"),
            ("tokenise", "tokenize"),
            ("colour", "color"),
            ("color", "colour"),
            ("cancelled", "canceled"),
            ("begining", "beginning"),
        ] {
            assert!(is_likely(word, other), "{word} {other}");
        }
        for (word, other) in [("auction", "action"), ("charges", "changes"), ("scrypt", "script")] {
            assert!(!is_likely(word, other), "{word} {other}");
        }
    }

    #[test]
    fn only_whole_words_are_replaced() {
        assert_eq!(replace_word("serialise to serialise_x, serialise", "serialise", "serialize"), {
            "serialize to serialise_x, serialize"
        });
    }
}
