//! Pattern: the text or expression that lines are searched for, and its compiled form.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::query::error::QueryError;

/// A text or a regular expression that lines are searched for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The text, or the expression in the syntax of the `regex` crate.
    pub text: String,
    /// Whether `text` is a regular expression.
    pub is_regex: bool,
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Whether a match must not be part of a longer word of `A-Z`, `a-z`, `0-9` and `_`.
    pub word: bool,
}

/// The compiled conditions on lines.
pub(super) struct Matchers {
    /// A line must match it.
    pub wanted: RegexMatcher,
    /// A line must not match it.
    pub unwanted: Option<RegexMatcher>,
}

impl Matchers {
    /// Compiles the pattern of lines and that of the words, if any, that they must not have.
    ///
    /// # Errors
    /// Those of [`Pattern::compile`].
    pub fn compile(pattern: &Pattern, without: &[String]) -> Result<Matchers, QueryError> {
        let unwanted = (!without.is_empty()).then(|| Pattern::any_word(without).compile()).transpose()?;
        Ok(Matchers { wanted: pattern.compile()?, unwanted })
    }
}

impl Pattern {
    /// The pattern of lines with `text`.
    pub fn exact(text: &str) -> Pattern {
        Pattern { text: text.to_owned(), ..Pattern::default() }
    }

    /// The pattern of lines that match `expression`.
    pub fn regex(expression: &str) -> Pattern {
        Pattern { is_regex: true, ..Pattern::exact(expression) }
    }

    /// The pattern of lines with one of `words`, in upper or lower case.
    pub(in crate::query) fn any_word(words: &[String]) -> Pattern {
        let words: Vec<String> = words.iter().map(|word| regex_syntax::escape(word)).collect();
        Pattern { ignore_case: true, word: true, ..Pattern::regex(&words.join("|")) }
    }

    /// Compiles a matcher of single lines.
    ///
    /// # Errors
    /// [`QueryError::Pattern`] if the pattern is empty, is no regular expression, or can match a line break.
    pub(super) fn compile(&self) -> Result<RegexMatcher, QueryError> {
        let bad = |reason: String| Err(QueryError::Pattern { pattern: self.text.clone(), reason });
        if self.text.is_empty() {
            return bad("it is empty".to_owned());
        }
        if self.text.contains('\n') {
            return bad("it has a line break, and lines are searched one by one".to_owned());
        }

        let expression = self.expression();
        // Half boundaries of ASCII words are what `git grep --word-regexp` checks.
        let expression = match self.word {
            true => format!(r"(?-u:\b{{start-half}})(?:{expression})(?-u:\b{{end-half}})"),
            false => expression,
        };

        let built = RegexMatcherBuilder::new()
            .line_terminator(Some(b'\n'))
            .multi_line(true)
            .case_insensitive(self.ignore_case)
            .build(&expression);

        match built {
            Ok(matcher) => Ok(matcher),
            Err(error) => {
                // The expression may have been wrapped: the message is about what was typed.
                let typed = regex_syntax::Parser::new().parse(&self.text).err().filter(|_| self.is_regex);
                bad(typed.map_or_else(|| error.to_string(), |error| error.to_string()))
            }
        }
    }

    /// The pattern as a regular expression, without its conditions on words and case.
    pub(super) fn expression(&self) -> String {
        if self.is_regex { self.text.clone() } else { regex_syntax::escape(&self.text) }
    }
}
