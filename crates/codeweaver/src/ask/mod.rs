//! Ask: answers to questions from the documents of a codebase, with their sources.
//!
//! The modules in the order in which a question passes through them:
//!
//! * [`question`]: the kind of answer that it asks for.
//! * [`units`]: the `sentences` and code blocks of the documents that were retrieved.
//! * [`extract`]: the units that answer it, by their words, their `form` and their
//!   `audience`, and the passages around them.
//! * [`mod@readable`]: quotes as people read them, without their `inline` markup.
//! * [`mod@generate`], [`api`]: a language model that words the answer from the passages, if one is
//!   configured; `generated` checks its citations.
//! * [`answer`]: the response.
//!
//! [`collection`] makes the documents of directories outside of any repository a codebase, [`serve`] answers
//! over WebSocket from memory, and [`client`] asks such a server.
//!
//! Every part of an extractive answer is a range of bytes of a document.

pub mod answer;
pub mod api;
mod audience;
pub mod client;
pub mod collection;
pub mod extract;
mod form;
pub mod generate;
mod generated;
mod inline;
pub mod question;
pub mod readable;
mod sentences;
pub mod serve;
pub mod units;

use std::time::Instant;

use crate::query::record::Answered;
use crate::query::view::freshness::RequestUpdate;
use crate::query::{Filters, QueryError, Request, Searcher};
use api::Api;

pub use answer::Answer;
pub use extract::Limits;
pub use readable::readable;

/// Number of documents that are read for an answer.
const MAX_DOCUMENTS: usize = 12;
/// Number of passages that are shown to a person.
pub const SHOWN_PASSAGES: usize = 5;
/// Number of passages that are given to a language model.
pub const GIVEN_PASSAGES: usize = 8;

/// The search request for the documents that answer `question` in the codebase of `searcher`.
pub fn request(question: &str, searcher: &Searcher) -> Request {
    let settings = &searcher.codebase.settings;
    let topic = question::topic(question);
    let mut request = Request::new(if topic.trim().is_empty() { question } else { topic }, settings);

    request.filters = Filters { only_documents: true, ..request.filters };
    request.limit = MAX_DOCUMENTS;
    request.token_limit = u32::MAX;
    request.min_score = 0.0;
    request.without_content = true;

    request
}

/// Answers `question` with quotations from the documents that `request` finds, in at most `max_passages`
/// passages.
///
/// # Errors
/// As [`Searcher::search`].
pub fn extractive(
    searcher: &Searcher,
    question: &str,
    request: &Request,
    max_passages: usize,
    update: RequestUpdate<'_>,
) -> Result<Answer, QueryError> {
    let limits = Limits { min_relevance: searcher.codebase.settings.ask.min_relevance, max_passages };

    let started = Instant::now();
    let answer = in_best_spelling(question, request, |question, request| {
        let passages = searcher.passages(request, update)?;
        Ok(extract::answer(question, passages, limits, searcher.embedder()))
    })?;
    log(searcher, &answer, started);
    Ok(answer)
}

/// Logs that a question was answered, by a search that began at `started`.
fn log(searcher: &Searcher, answer: &Answer, started: Instant) {
    let record = Answered {
        operation: "ask",
        query: &answer.question,
        duration_ms: started.elapsed().as_millis() as u64,
        results: answer.passages.len(),
        ..Answered::default()
    };
    record.log(&searcher.codebase);
}

/// The answer that `answer` gives to `question`, or to its other spelling if that is more relevant: "roll
/// back" may be written as one word.
fn in_best_spelling(
    question: &str,
    request: &Request,
    answer: impl Fn(&str, &Request) -> Result<Answer, QueryError>,
) -> Result<Answer, QueryError> {
    let as_asked = answer(question, request)?;
    let Some(compound) = question::with_compounds(&request.query) else { return Ok(as_asked) };

    let other = answer(&compound, &Request { query: compound.clone(), ..request.clone() })?;
    let is_known = other.absent_words.len() <= as_asked.absent_words.len();
    let is_better = is_known && other.relevance > as_asked.relevance;
    Ok(if is_better { Answer { question: question.to_owned(), ..other } } else { as_asked })
}

/// Lets the language model of `api` word `answer`, if the documents answer the question. `chunk` gets each
/// part as it arrives, and ends the answer by returning false.
///
/// A failure leaves the extractive answer and is reported in [`Answer::failure`].
pub fn generate(answer: &mut Answer, api: &Api, chunk: &mut dyn FnMut(&str) -> bool) {
    if !answer.is_answered() {
        return;
    }

    match generate::generate(answer, api, chunk) {
        Ok(generated) => {
            answer.warnings.extend(generated.warnings());
            if generated.says_nothing_found() {
                answer.status = answer::AnswerStatus::NothingFound;
            }
            answer.generated = Some(generated);
        }
        Err(error) => {
            tracing::warn!(component = "ask", operation = "generate", error = %error, "the answer is extractive");
            answer.failure = Some(format!("{error}; {}", error.fix(&api::NAMES)));
        }
    }
}
