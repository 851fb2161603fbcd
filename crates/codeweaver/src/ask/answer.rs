//! Answer: the response to a question.

use serde::Serialize;

use crate::query::response::IndexInfo;
use crate::query::view::MatchState;

pub use super::generated::{Generated, NOTHING_FOUND};

/// The answer to a question.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct Answer {
    /// The question.
    pub question: String,
    /// Whether the documents answer it.
    pub status: AnswerStatus,
    /// The sentences and code blocks that answer it, best first.
    pub answer: Vec<Quote>,
    /// The passages around them and further ones, best first.
    pub passages: Vec<Quote>,
    /// The answer of a language model from the passages, if one is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generated: Option<Generated>,
    /// Why the configured language model gave no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The files of the quotes, each once.
    pub sources: Vec<Source>,
    /// Probability that the documents answer the question, 0–1.
    pub relevance: f32,
    /// Words of the question that occur nowhere, as written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent_words: Vec<String>,
    /// Warnings for the user about data that was missing.
    #[schemars(description = "What was missing, for the user.")]
    pub warnings: Vec<String>,
    /// The index that was searched.
    #[schemars(description = "What was searched.")]
    pub index: IndexInfo,
}

/// Whether there is an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerStatus {
    /// There is.
    Answered,
    /// No document answers the question.
    NothingFound,
}

/// A part of a document, word for word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Quote {
    /// Number of the source, from 1.
    pub source: usize,
    /// Relative to the root of the repository.
    pub path: String,
    /// First and last line, 1-based, inclusive.
    pub lines: (u32, u32),
    /// Half-open range of bytes in the file as UTF-8.
    pub bytes: (usize, usize),
    /// Titles of the headings around it, outermost first.
    pub headings: Vec<String>,
    /// Exactly the bytes of the range.
    pub text: String,
}

impl Quote {
    /// `path:first-last`.
    pub fn place(&self) -> String {
        let (first, last) = self.lines;
        let path = &self.path;
        if first == last { format!("{path}:{first}") } else { format!("{path}:{first}-{last}") }
    }
}

/// A file that an answer quotes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Source {
    /// From 1.
    pub number: usize,
    /// Relative to the root of the repository.
    pub path: String,
    /// Hex oid of the contents from which is quoted.
    pub blob: String,
    /// Whether the file is committed.
    pub state: MatchState,
}

impl Answer {
    /// Returns whether the documents answer the question.
    pub fn is_answered(&self) -> bool {
        self.status == AnswerStatus::Answered
    }
}

impl Answer {
    /// The answer with other paths.
    pub fn with_paths(mut self, path: impl Fn(&str) -> String) -> Answer {
        for quote in self.answer.iter_mut().chain(&mut self.passages) {
            quote.path = path(&quote.path);
        }
        for source in &mut self.sources {
            source.path = path(&source.path);
        }

        self
    }
}
