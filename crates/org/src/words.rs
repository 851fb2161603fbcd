//! The words of files, by which the engine finds those that may have a text or match an expression.
//!
//! They are those of [`codeweaver_store::words`]: runs of ASCII letters, digits, `_` and characters beyond
//! ASCII, as they are written.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use codeweaver::query::engine::{Needle, Requirement};
use codeweaver_store::words::is_word_byte;

/// Maximum length of a word; longer ones are kept in parts.
const MAX_BYTES: usize = 255;
/// Minimum length of the overlap of parts, and maximum length of a text that is looked for in words.
const OVERLAP: usize = 127;
/// Maximum number of parts of words that are looked for together. The engine goes through all of its words
/// for each of them, while whole words are looked up.
const MAX_PARTS: usize = 3;

/// The field with the words of a file.
pub const FIELD: &str = "words";

/// The different words of a text, sorted.
pub fn of_text(text: &str) -> Vec<&str> {
    let mut words = BTreeSet::new();

    for word in text.split(|c: char| c.is_ascii() && !is_word_byte(c as u8)).filter(|word| !word.is_empty()) {
        let mut rest = word;
        while rest.len() > MAX_BYTES {
            words.insert(&rest[..rest.floor_char_boundary(MAX_BYTES)]);
            // A text across the end of this part is whole in the next.
            rest = &rest[rest.floor_char_boundary(MAX_BYTES - OVERLAP - 4)..];
        }
        words.insert(rest);
    }
    words.into_iter().collect()
}

/// The condition on the documents of files that may meet `requirement`; `None` if all may.
pub fn condition(requirement: &Requirement) -> Option<Value> {
    let condition = of_requirement(requirement)?;
    // The words of files that an earlier version has sent are unknown.
    let unknown = json!({ "bool": { "must_not": { "exists": { "field": FIELD } } } });
    Some(any(&[condition, unknown]))
}

fn of_requirement(requirement: &Requirement) -> Option<Value> {
    match requirement {
        Requirement::Needle(needle) => Some(of_needle(needle)),
        // If the files of one branch are unknown, those of all are.
        Requirement::Any(parts) => {
            let parts: Option<Vec<Value>> = parts.iter().map(of_requirement).collect();
            Some(any(&parts?))
        }
        // Every part narrows the files, so any of them may be left out.
        Requirement::All(parts) => {
            let (whole, other): (Vec<&Requirement>, Vec<&Requirement>) =
                parts.iter().partition(|part| is_whole(part));
            let mut other: Vec<(usize, &Requirement)> =
                other.into_iter().map(|part| (length(part), part)).collect();
            other.sort_by_key(|(length, _)| std::cmp::Reverse(*length));

            let other = other.into_iter().take(MAX_PARTS).map(|(_, part)| part);
            let all: Vec<Value> = whole.into_iter().chain(other).filter_map(of_requirement).collect();
            (!all.is_empty()).then(|| json!({ "bool": { "filter": all } }))
        }
    }
}

fn any(conditions: &[Value]) -> Value {
    json!({ "bool": { "should": conditions, "minimum_should_match": 1 } })
}

fn is_whole(requirement: &Requirement) -> bool {
    matches!(requirement, Requirement::Needle(needle) if needle.is_start && needle.is_end && !needle.ignore_case)
}

fn length(requirement: &Requirement) -> usize {
    match requirement {
        Requirement::Needle(needle) => needle.text.len(),
        Requirement::All(_) | Requirement::Any(_) => 0,
    }
}

fn of_needle(needle: &Needle) -> Value {
    // A longer text may lie in no part of a word as a whole, so only its beginning is looked for.
    let text = &needle.text[..needle.text.floor_char_boundary(OVERLAP)];
    let is_end = needle.is_end && text.len() == needle.text.len();
    if needle.is_start && is_end && !needle.ignore_case {
        return json!({ "term": { FIELD: text } });
    }

    // The engine folds the case of ASCII alone, and two signs beyond it are cases of `k` and `s`.
    let is_open =
        |c: char| needle.ignore_case && (!c.is_ascii() || matches!(c.to_ascii_lowercase(), 'k' | 's'));
    let middle: String = text.chars().map(|c| if is_open(c) { '?' } else { c }).collect();
    let (before, after) = (if needle.is_start { "" } else { "*" }, if is_end { "" } else { "*" });
    json!({ "wildcard": { FIELD: {
        "value": format!("{before}{middle}{after}"), "case_insensitive": needle.ignore_case,
    } } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needle(text: &str, is_start: bool, is_end: bool, ignore_case: bool) -> Requirement {
        Requirement::Needle(Needle { text: text.to_owned(), is_start, is_end, ignore_case })
    }

    #[test]
    fn words_are_those_of_the_text() {
        assert_eq!(
            of_text("fn a_b(é: \"x y\") -> a_b\u{3000}c"),
            ["a_b", "a_b\u{3000}c", "fn", "x", "y", "é"]
        );
        assert!(of_text("() + -").is_empty());
    }

    #[test]
    fn every_text_that_is_looked_for_is_whole_in_a_part_of_a_long_word() {
        let word: String =
            (0..600).map(|n| if n % 3 == 0 { 'é' } else { char::from(b'a' + (n % 26) as u8) }).collect();
        let parts = of_text(&word);
        assert!(parts.iter().all(|part| part.len() <= MAX_BYTES));
        for (start, _) in word.char_indices() {
            let end = word.floor_char_boundary(start + OVERLAP);
            assert!(parts.iter().any(|part| part.contains(&word[start..end])), "{start}");
        }
    }

    #[test]
    fn whole_words_are_looked_up_and_parts_are_looked_for() {
        let shown = |requirement: &Requirement| of_requirement(requirement).map(|it| it.to_string());
        assert_eq!(shown(&needle("retry", true, true, false)).unwrap(), r#"{"term":{"words":"retry"}}"#);
        let part = shown(&needle("Task", false, true, true)).unwrap();
        assert!(part.contains(r#""value":"*Ta??""#) && part.contains(r#""case_insensitive":true"#), "{part}");
        // A branch without words may match any file.
        let any = Requirement::Any(vec![needle("abc", false, false, false), Requirement::All(Vec::new())]);
        assert_eq!(of_requirement(&any), None);
        assert_eq!(condition(&Requirement::All(vec![any])), None);
    }
}
