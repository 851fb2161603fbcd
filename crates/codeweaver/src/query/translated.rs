//! Queries in other languages than English, of which the index lacks a word.

use codeweaver_text::{self as text, Translation};

use super::request::{Mode, Request};
use super::retrieve::lexical;
use super::view::View;

/// Translates the query of `request` into English, if the index lacks one of its words; `None` if it is
/// searched for as written.
///
/// Code and comments in the language of the query are found by its own words, so nothing is translated as
/// long as the index has them all.
pub fn english(request: &Request, view: &View) -> Option<Translation> {
    if request.mode == Mode::Symbol {
        return None;
    }

    text::translate(&request.query, &|word: &str| {
        let terms = text::query_terms(word);
        !terms.is_empty() && lexical::idf_of(view, &terms).iter().all(|idf| *idf > 0.0)
    })
}

/// Returns the note for the user about the translation.
pub fn note(translation: &Translation) -> String {
    let Translation { text, language } = translation;
    format!("the query seems to be {language}; searched for the English words \"{text}\"")
}
