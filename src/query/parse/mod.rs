//! Parse: everything that is derived from the text of a query.
//!
//! * [`intent`]: the kind of answer that it asks for.
//! * [`names`]: the names of definitions that it may contain.
//! * [`mentions`]: the files that it names.
//! * [`report`]: the parts of a long query.

pub mod intent;
pub mod mentions;
pub mod names;
pub mod report;

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
    /// Whether it is of a long text about a fault or a change, which asks for code: neither for tests nor for
    /// documents, unless the request does.
    pub is_report: bool,
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
            is_report: false,
            terms,
        }
    }

    /// Whether the query is a single word, which is then likely to be a name.
    pub fn is_single_word(&self) -> bool {
        self.text.split_whitespace().count() == 1
    }

    /// Whether the query asks for the tests of something: by its intent or by its words (`tests for the
    /// parser`, `unit test of Foo`, `parser tests`). A query that speaks of tests otherwise (`how test files
    /// are collected`) asks for code that has to do with tests.
    pub fn asks_for_tests(&self) -> bool {
        let is_given = self.intent.confidence == 1.0;
        let is_by_intent = is_given && self.intent.intent == Some(Intent::Test);
        is_by_intent || (!self.is_report && names_tests(&self.text))
    }

    /// The terms that carry meaning.
    pub fn words(&self) -> impl Iterator<Item = &QueryTerm> {
        self.terms.iter().filter(|term| term.is_word())
    }

    /// Whether the query has several words that carry meaning.
    pub fn is_sentence(&self) -> bool {
        self.words().count() > 1
    }
}

/// Whether the words of `text` ask for tests, see [`ParsedQuery::asks_for_tests`].
fn names_tests(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let word = |i: usize| words.get(i).map_or("", String::as_str);
    (0..words.len()).any(|i| {
        let before = if i > 0 { word(i - 1) } else { "" };
        let is_plural = matches!(word(i), "tests" | "specs" | "testcases");
        let is_test = is_plural || matches!(word(i), "test" | "spec" | "testcase");
        let is_last = i + 1 == words.len();
        let is_asked = matches!(word(i + 1), "for" | "of" | "that" | "which" | "covering" | "case" | "cases")
            || matches!(before, "unit" | "integration" | "regression" | "e2e" | "fuzz" | "which")
            || (is_last && (i == 0 || is_plural));
        (is_test && is_asked) || word(i) == "tested"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_that_ask_for_tests_are_told_from_those_that_speak_of_them() {
        for text in
            ["tests for the parser", "unit test of Foo", "parser tests", "where is retry tested", "test"]
        {
            assert!(names_tests(text), "{text}");
        }
        for text in
            ["how test files are collected", "testing client", "test reporter", "snapshot testing", ""]
        {
            assert!(!names_tests(text), "{text}");
        }
        let by_intent = ParsedQuery::parse("the parser", Mode::Hybrid, Some(Intent::Test));
        assert!(by_intent.asks_for_tests());
    }
}
