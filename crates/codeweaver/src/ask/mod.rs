//! Ask: answers to questions from the documents of a codebase, with their sources.
//!
//! The modules in the order in which a question passes through them:
//!
//! * [`question`]: what kind of answer it asks for.
//! * [`units`]: the sentences and code blocks of the documents that were retrieved.
//! * [`extract`]: the units that answer it, and the passages around them.
//! * [`mod@generate`], [`api`]: a language model that words the answer from the passages, if one is
//!   configured.
//! * [`answer`]: what is returned.
//!
//! [`collection`] makes the documents of directories outside of any repository a codebase, [`serve`] answers
//! over WebSocket from memory, and [`client`] asks such a server.
//!
//! Nothing in an extractive answer comes from elsewhere than a document: each part is a range of its bytes.

pub mod answer;
pub mod api;
pub mod client;
pub mod collection;
pub mod extract;
pub mod generate;
pub mod question;
pub mod serve;
pub mod units;

use crate::query::view::freshness::RequestUpdate;
use crate::query::{Filters, QueryError, Request, Searcher};
pub use answer::Answer;
use api::Api;
pub use extract::Limits;

/// Number of documents that are read for an answer.
const MAX_DOCUMENTS: usize = 12;
/// Number of passages that a person is shown.
pub const SHOWN_PASSAGES: usize = 5;
/// Number of passages that a language model is given.
pub const GIVEN_PASSAGES: usize = 8;

/// The search for the documents that answer `question`, of the codebase of `searcher`.
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

/// Answers `question`, for which `request` searches, with what the documents say, word for word, in at most
/// `max_passages` passages.
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
    let passages = searcher.passages(request, update)?;
    let limits = Limits { min_relevance: searcher.codebase.settings.qa.min_relevance, max_passages };
    Ok(extract::answer(question, passages, limits, searcher.embedder()))
}

/// Has the language model of `api` word `answer`, if the documents answer the question. `chunk` gets each
/// part as it arrives, and ends the answer by returning false.
///
/// A failure leaves the extractive answer and is told in [`Answer::failure`].
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
