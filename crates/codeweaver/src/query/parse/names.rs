//! Names in a query: the words that may be the name of a definition, and the forms in which names are
//! compared.

use std::ops::RangeInclusive;

use codeweaver_text::{self as text, QueryTerm, stem};

use crate::query::request::Mode;

/// Maximum number of names besides identifiers. A pasted text has hundreds of capitalised words.
const MAX_NAMES: usize = 48;
/// Maximum number of words that are examined.
const MAX_WORDS: usize = 2000;
/// Maximum number of adjacent words that are tried as one name in symbol mode.
const MAX_WORDS_IN_NAME: usize = 4;
/// Number of plain words in a whole query that may be one name, and the certainty of that name.
const WORDS_OF_NAME: RangeInclusive<usize> = 2..=6;
const JOINED_CERTAINTY: f32 = 0.6;
/// Certainty of a capitalised word, as against 1 of an identifier.
const CAPITALISED_CERTAINTY: f32 = 0.6;

/// A name that a definition may have.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryName {
    /// As written, with its qualifiers.
    pub name: String,
    /// Certainty that the query means a name, 0–1.
    pub certainty: f32,
}

/// Returns the names in `query`: identifiers with certainty 1, then capitalised words, then the words of a
/// short query as one name (`should set cookie`).
///
/// In symbol mode, every word and every sequence of up to four words is a name too.
pub fn find(query: &str, terms: &[QueryTerm], mode: Mode) -> Vec<QueryName> {
    let identifiers = text::identifiers(query);
    let mut names: Vec<QueryName> =
        identifiers.iter().map(|name| QueryName { name: name.clone(), certainty: 1.0 }).collect();

    let words = query.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.take(MAX_WORDS).collect();

    for (i, word) in words.iter().enumerate() {
        let is_capitalised =
            word.chars().next().is_some_and(char::is_uppercase) && word.chars().any(char::is_lowercase);
        // The parts of a qualified identifier are not names of their own.
        let is_part = identifiers.iter().any(|name| segments(name).any(|segment| segment == *word));

        // Every sentence begins with a capital letter; a query of a few words is rather a name.
        let is_name =
            i > 0 || words.len() <= 3 && terms.iter().any(|term| term.term == stem(&word.to_lowercase()));
        if is_capitalised && !is_part && word.len() > 2 && is_name {
            add_name(&mut names, (*word).to_owned(), CAPITALISED_CERTAINTY);
        }
    }

    if mode != Mode::Symbol && WORDS_OF_NAME.contains(&words.len()) && identifiers.is_empty() {
        add_name(&mut names, words.concat(), JOINED_CERTAINTY);
    }

    if mode == Mode::Symbol {
        for n in 1..=MAX_WORDS_IN_NAME.min(words.len()) {
            for adjacent in words.windows(n) {
                add_name(&mut names, adjacent.concat(), n as f32 / words.len() as f32);
            }
        }
    }

    names
}

/// Adds a name that is not among `names` yet, as long as there is room.
fn add_name(names: &mut Vec<QueryName>, name: String, certainty: f32) {
    if names.len() < MAX_NAMES && !names.iter().any(|known| known.name == name) {
        names.push(QueryName { name, certainty });
    }
}

/// Returns the segments of a qualified name (`a::b`, `a.b`, `a#b`, `a->b`, `a/b`).
pub fn segments(name: &str) -> impl Iterator<Item = &str> {
    name.split([':', '.', '#', '/', '>', '-']).filter(|segment| !segment.is_empty())
}

/// Returns the last segment of a qualified name.
pub fn last_segment(name: &str) -> &str {
    segments(name).last().unwrap_or(name)
}

/// Returns the letters and digits of `name` in lower case, equal for all naming styles (`next_token`,
/// `nextToken`).
pub fn normalised(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitalised_words_may_be_names() {
        let names = |query: &str, mode| {
            find(query, &text::query_terms(query), mode).into_iter().map(|name| name.name).collect::<Vec<_>>()
        };
        assert_eq!(names("how the Parser reads its JSON from files", Mode::Hybrid), ["Parser"]);
        assert_eq!(names("How it reads", Mode::Hybrid), ["Howitreads"]);
        assert_eq!(names("next token", Mode::Hybrid), ["nexttoken"]);
        assert_eq!(names("next token", Mode::Symbol), ["next", "token", "nexttoken"]);
    }
}
