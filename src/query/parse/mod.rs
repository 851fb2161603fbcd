//! Parse: everything that is derived from the text of a query.
//!
//! * [`intent`]: the kind of answer that it asks for.
//! * [`names`]: the names of definitions that it may contain.
//! * [`mentions`]: the files that it names.

pub mod intent;
pub mod mentions;
pub mod names;

use super::request::Mode;
use crate::text::{self, Mention, QueryTerm};
use intent::{Intent, QueryIntent};
use names::QueryName;

/// A query with everything that is derived from its text.
#[derive(Debug, Clone)]
pub struct ParsedQuery {
    /// The query as it was given.
    pub text: String,
    /// Weighted terms, in the order of the query.
    pub terms: Vec<QueryTerm>,
    /// Names that a definition may have.
    pub names: Vec<QueryName>,
    /// Files, and lines of files.
    pub mentions: Vec<Mention>,
    /// The kind of answer.
    pub intent: QueryIntent,
}

impl ParsedQuery {
    /// Parses `text`. `intent` is the one of the request, if it has one.
    pub fn parse(text: &str, mode: Mode, intent: Option<Intent>) -> ParsedQuery {
        let terms = text::query_terms(text);
        let names = names::find(text, &terms, mode);
        let focus: Vec<String> = terms.iter().map(|term| term.term.clone()).collect();
        ParsedQuery {
            text: text.to_owned(),
            names,
            mentions: text::mentions(text),
            intent: intent::detect(text, intent, &focus),
            terms,
        }
    }

    /// Whether the query is a single word, which is then likely to be a name.
    pub fn is_single_word(&self) -> bool {
        self.text.split_whitespace().count() == 1
    }

    /// Whether the query has several words that carry meaning.
    pub fn is_sentence(&self) -> bool {
        self.terms.iter().filter(|term| term.weight == 1.0).count() > 1
    }
}
