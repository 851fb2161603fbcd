//! Parse: everything that is derived from the text of a query.
//!
//! * [`detect`]: the kind of answer that it asks for.
//! * [`profile`]: its effects on ranking.
//! * [`names`]: the names of definitions that it may contain.
//! * [`mentions`]: the files that it names.
//! * [`report`]: the parts of a long query.
//! * [`verbs`]: words that do the same or the opposite.

pub mod detect;
pub mod mentions;
pub mod names;
pub mod profile;
pub mod report;
pub mod verbs;

use codeweaver_text::{self as text, Mention, QueryTerm};

use super::intent::{Intent, QueryIntent};
use super::request::Mode;
use names::QueryName;

/// Factor on the weight of the words that state the intent of a query.
const STATING_WEIGHT: f32 = 0.3;

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
    /// Whether the query is a long text about a fault or a change. It asks for code, neither for tests nor
    /// for documents, unless the request does.
    pub is_report: bool,
}

impl ParsedQuery {
    /// Parses `text`. `intent` is that of the request, if it has one.
    pub fn parse(text: &str, mode: Mode, intent: Option<Intent>) -> ParsedQuery {
        let mut terms = text::query_terms(text);
        let focus: Vec<String> = terms.iter().map(|term| term.term.clone()).collect();
        let intent = detect::intent(text, intent, &focus);

        let states = |term: &QueryTerm| intent.stated_by.contains(&term.term);
        // A query of nothing but such words is about them.
        if intent.acts && !terms.iter().all(states) {
            terms.iter_mut().filter(|term| states(term)).for_each(|term| term.weight *= STATING_WEIGHT);
        }

        let names = names::find(text, &terms, mode);

        ParsedQuery {
            text: text.to_owned(),
            names,
            mentions: text::mentions(text),
            intent,
            is_report: false,
            terms,
        }
    }

    /// Returns whether the query is a single word, which is then likely to be a name.
    pub fn is_single_word(&self) -> bool {
        self.text.split_whitespace().count() == 1
    }

    /// Returns whether the query is a single word that is written as only names are: with a capital, an
    /// underscore or a qualifier, or as a single letter.
    pub fn is_written_name(&self) -> bool {
        let word = self.text.trim();
        let is_letter = word.chars().count() == 1;
        self.is_single_word()
            && self.names.first().is_some_and(|name| name.certainty == 1.0)
            && (is_letter || word.contains(['_', ':', '.', '#', '>']) || word.contains(char::is_uppercase))
    }

    /// Returns the intent, if it changes the ranking. For a report, only an intent that is given does.
    pub fn acting_intent(&self) -> Option<Intent> {
        self.intent.acting().filter(|_| !self.is_report || self.intent.is_given())
    }

    /// Returns whether the query asks for the tests of something, by its intent or by its words.
    pub fn asks_for_tests(&self) -> bool {
        if self.intent.is_given() {
            return self.intent.intent == Some(Intent::Test);
        }

        self.acting_intent() == Some(Intent::Test) || (!self.is_report && detect::names_tests(&self.text))
    }

    /// Returns the terms that carry meaning.
    pub fn words(&self) -> impl Iterator<Item = &QueryTerm> {
        self.terms.iter().filter(|term| term.is_word())
    }

    /// Returns whether the query has several words that carry meaning.
    pub fn is_sentence(&self) -> bool {
        self.words().count() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_state_the_intent_count_less() {
        let weights = |text: &str, intent| -> Vec<(String, f32)> {
            let terms = ParsedQuery::parse(text, Mode::Hybrid, intent).terms;
            terms.into_iter().map(|term| (term.term, term.weight)).collect()
        };
        let of = |found: &[(String, f32)], word: &str| {
            found.iter().find(|(term, _)| *term == text::stem(word)).map(|(_, weight)| *weight)
        };
        let stated = weights("explain sessions", None);
        assert_eq!((of(&stated, "explain"), of(&stated, "sessions")), (Some(STATING_WEIGHT), Some(1.0)));
        let given = weights("explain sessions", Some(Intent::Understand));
        assert_eq!(of(&given, "explain"), Some(1.0));
        assert_eq!(of(&weights("explain", None), "explain"), Some(1.0), "nothing else is asked for");
    }

    #[test]
    fn queries_that_ask_for_tests_are_told_from_those_that_speak_of_them() {
        let asks = |text: &str| ParsedQuery::parse(text, Mode::Hybrid, None).asks_for_tests();
        for text in [
            "tests for the parser",
            "unit test of Foo",
            "parser tests",
            "where is retry tested",
            "test",
            "tests and specs",
        ] {
            assert!(asks(text), "{text}");
        }
        for text in [
            "how test files are collected",
            "testing client",
            "test reporter",
            "snapshot testing",
            "add a renderer & tests",
            "",
        ] {
            assert!(!asks(text), "{text}");
        }
        let given = |text: &str, intent| ParsedQuery::parse(text, Mode::Hybrid, Some(intent));
        assert!(given("the parser", Intent::Test).asks_for_tests());
        assert!(!given("fixtures of tests", Intent::Understand).asks_for_tests(), "the given intent decides");
        let report =
            ParsedQuery { is_report: true, ..ParsedQuery::parse("parser tests", Mode::Hybrid, None) };
        assert!(!report.asks_for_tests(), "a report may speak of tests");
    }
}
