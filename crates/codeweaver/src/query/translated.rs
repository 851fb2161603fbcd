//! Queries in other languages than English, of which the index lacks a word.

use super::request::{Mode, Request};
use super::retrieve::lexical;
use super::view::View;
use codeweaver_text::{self as text, Translation};

/// What a response names this stage in its strategies.
pub const STRATEGY: &str = "translated_words";

/// The English words that are searched for in place of the query of `request`; `None` if its words are.
///
/// Code and comments in the language of the query are found by its own words, so nothing is done unless the
/// index lacks one of them.
pub fn english(request: &Request, view: &View) -> Option<Translation> {
    if request.mode == Mode::Symbol {
        return None;
    }
    let is_indexed = |word: &str| {
        let terms = text::query_terms(word);
        !terms.is_empty() && lexical::idf_of(view, &terms).iter().all(|idf| *idf > 0.0)
    };
    text::translate(&request.query, &is_indexed)
}

/// What is said of it to the user.
pub fn note(translation: &Translation) -> String {
    let Translation { text, language } = translation;
    format!("the query seems to be {language}; searched for the English words \"{text}\"")
}
