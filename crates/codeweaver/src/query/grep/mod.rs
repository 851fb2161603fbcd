//! Grep: the lines that match a text or a regular expression, complete as those of `git grep`.
//!
//! * [`pattern`]: the text or expression that lines are searched for.
//! * `narrow`: a search for code with the lines of its exact part, and without excluded words.
//! * `reading`: the readings of a pattern that does not say whether it is an expression.
//! * [`request`]: the pattern with its filters.
//! * `needles`: the words that a file with a match has. Most files lack one and need not be read.
//! * `corpus`: the files that are searched: those of a tree, with the changes of the working tree.
//! * `of_engine`: the files that are searched of an index that is kept elsewhere.
//! * `scan`: the search of the candidates, on all cores.
//! * `lines`: the matching lines of one file.
//! * [`found`]: the files with matches, in order, and their lines. `answer`: their form in JSON.
//!
//! The search covers all files of the tree and, with the working tree, those that git neither tracks nor
//! ignores: also files that are not indexed because they are generated, too large or of an unknown language.
//! It leaves out credentials and files that the settings or `.codeweaverignore` exclude; the answer says so.
//! Changed files are searched in the form that git would commit.

mod answer;
mod corpus;
pub mod found;
mod lines;
pub(in crate::query) mod narrow;
pub(in crate::query) mod needles;
mod of_engine;
pub mod pattern;
mod reading;
pub mod request;
mod scan;

use std::time::Instant;

use super::engine::Engine;
use super::error::QueryError;
use super::view::open::ViewSource;

pub use answer::{LineAnswer, StreamedAnswer};
pub use corpus::CorpusInfo;
pub use found::{Found, FurtherLines, GrepFile, GrepLine, Page};
pub use pattern::Pattern;
pub use request::GrepRequest;

/// Finds all files of the codebase of `source` with lines that match the pattern of `request`.
///
/// # Errors
/// [`QueryError::Pattern`] if the pattern cannot be searched for, [`QueryError::Gated`] if there is no index,
/// [`QueryError::Cancelled`].
pub(crate) fn find<'a>(source: &ViewSource<'a>, request: &GrepRequest) -> Result<Found<'a>, QueryError> {
    let started = Instant::now();
    request.check()?;

    let matchers = pattern::Matchers::compile(&request.pattern, &request.filters.without)?;
    let corpus = corpus::Corpus::open(source, request)?;
    Found::search(source.codebase, request.clone(), matchers, corpus, started)
}

/// As [`find`], in the repositories of `engine`. Texts that it does not keep are those of the codebase of
/// `source`.
///
/// # Errors
/// [`QueryError::Pattern`] as for [`find`]; [`QueryError::Engine`] if the engine does not answer, or for a
/// revision.
pub(crate) fn find_in_engine<'a>(
    source: &ViewSource<'a>,
    engine: &dyn Engine,
    request: &GrepRequest,
) -> Result<Found<'a>, QueryError> {
    let started = Instant::now();
    request.check()?;

    let matchers = pattern::Matchers::compile(&request.pattern, &request.filters.without)?;
    let corpus = of_engine::corpus(source.codebase, engine, request)?;
    Found::search(source.codebase, request.clone(), matchers, corpus, started)
}

/// Returns the result of `find` for the pattern of `request` or, if no line matches it, for the first of the
/// `readings` that a line matches. Without any, the result of the first pattern.
///
/// # Errors
/// Those of `find`.
pub(crate) fn find_first<'a>(
    request: &GrepRequest,
    readings: &[Pattern],
    find: impl Fn(&GrepRequest) -> Result<Found<'a>, QueryError>,
) -> Result<Found<'a>, QueryError> {
    let first = find(request)?;
    if first.n_files() > 0 {
        return Ok(first);
    }

    for pattern in readings.iter().filter(|pattern| **pattern != request.pattern) {
        let found = find(&GrepRequest { pattern: pattern.clone(), ..request.clone() })?;
        if found.n_files() > 0 {
            return Ok(found);
        }
    }

    Ok(first)
}
