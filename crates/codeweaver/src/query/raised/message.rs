//! Message: a query that is, or contains, a message as a program prints it.
//!
//! A message is recognised by the form in which programs print errors: the name of an exception or a level in
//! front, values between quotation marks, words that only messages begin with or have. Questions and subjects
//! are not looked at any further, so their answers do not change.

use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::FxHashMap;

use super::letters::letters;
use crate::query::parse::report::is_report;
use crate::query::parse::report::trace::ascii;

/// Minimum and maximum number of words.
const MIN_WORDS: usize = 3;
const MAX_WORDS: usize = 320;
/// Maximum number of lines besides those of a trace. A longer text is a report that tells more than a
/// message.
const MAX_LINES: usize = 24;
/// Maximum number of lines of a text that has no certain sign of a message.
const MAX_PLAIN_LINES: usize = 4;
/// Minimum number of words of a line that only begins like a sentence.
const MIN_SENTENCE: usize = 4;

/// Beginnings of questions and tasks, in lower case.
const ASKED: &str = "how where what which why when who whose does do is are can should find show list explain \
    describe add implement fix";
/// Beginnings of subjects and tasks, with which longer messages begin too.
const NAMED: &str = "create make write tests test support parse handle handling code function class method \
    implementation logic error errors exception";
/// Maximum number of words of a text that may be a subject as well.
const SHORT: usize = 5;
/// Shares of the words of a text that a literal has to have if the text reads like a message, and if it may
/// be a subject as well.
const SOME: f32 = 0.5;
const MOST: f32 = 0.75;
/// Words that messages have, in lower case.
const TOLD: &str = "cannot can't couldn't doesn't didn't won't isn't failed unable invalid illegal must unexpected \
    unsupported unrecognized denied refused exceeded occurred";
/// Words that messages begin with, and that descriptions have too.
const TOLD_FIRST: &str = "not no missing required expected unknown undefined already only failure";

/// The name of an exception, with its qualifiers; then a colon, a bracket or the end of the line.
const NAME: &str =
    r"(?P<name>[A-Z]\w*(?:Error|Exception|Warning|Fault|Failure|Panic|Interrupt|NotFound|Exit))";

/// Words of [`SIGNS`] that stand without a colon or a bracket.
const LEADING: &[&str] = &[
    "ERR",
    "FATAL",
    "WARN",
    "CRITICAL",
    "Uncaught ",
    "Unhandled ",
    "terminate called",
    "Exception",
    "Error",
    "Warning",
    "Fault",
    "Failure",
    "Panic",
    "Interrupt",
    "NotFound",
    "Exit",
];

static SIGNS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // A level or a program in front, the form of Elixir, a code, a time, or an exception.
    Regex::new(&ascii(&format!(
        r"(?m)^\s*(?:[>|E]\s+)?(?:(?:\S+\s)?\(?(?:error|fatal|warning|warn|panic|hint|E\d+|Error|Exception|Fatal|Warning|Deprecation|Caused by|PHP [A-Z]\w+ error)(?:\[\w+\])?(?:\)|:)\s|(?:.*\s)?(?:ERR|FATAL|ERROR|WARN|WARNING|CRITICAL):?\s|\*\* \(|\w+: \(\d+\) |\[[\w.-]+\] |thread '|Uncaught |Unhandled |terminate called|Exception in |[\w.:\\$]*{NAME}\b(?:\s*\[\w+\])?\s*(?::|\(|$)|[\w.:\\]*[.:\\][A-Z]\w+: |-(?:ERR|WRONGTYPE) )"
    )))
    .ok()
});
static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&ascii(&format!(r"\b{NAME}\b"))).ok());
/// A line of a stack trace, of source below it, or of a code block's fence.
static TRACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"^\s*(?:at [\w.$<>/@]+|at async |File "|from \S+:\d+:in|\S+\.rb:\d+:in|#\d+ |\.\.\. \d+ more|Traceback \(most|```|goroutine \d+|stack traceback|\[C\]: in|-->|\S+\.\w{1,4}:\d+(?::\d+)?:? in |\d+: 0x)"#,
    )
    .ok()
});

/// A message, as words.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// In lower case, in the order of the text.
    pub words: Vec<String>,
    /// The places of each word.
    places: FxHashMap<String, Vec<u32>>,
    /// Names of exceptions, without qualifiers.
    pub names: Vec<String>,
    /// The text without traces.
    pub text: String,
    /// Length of its words besides values between quotation marks, in letters.
    pub n_letters: f32,
    /// Whether the form alone shows that it is a message.
    pub is_certain: bool,
    /// Minimum share of its words that a literal has to have.
    pub min_share: f32,
}

impl Message {
    /// Recognises the message in `query`; `None` if there is none.
    pub fn parse(query: &str) -> Option<Message> {
        // Names and short subjects, which most queries are, end here.
        if super::literals::words(query).take(MIN_WORDS).count() < MIN_WORDS {
            return None;
        }

        let (lines, has_trace) = lines_of(query)?;
        let text = lines.join("\n");

        let is_certain = has_trace || has_sign(&text);
        let is_plain = lines.len() <= MAX_PLAIN_LINES && !is_report(query);
        let min_share = match is_certain {
            true => 0.0,
            false => told(&text).filter(|_| is_plain)?,
        };

        let mut words: Vec<String> = super::literals::words(&text).collect();
        words.truncate(MAX_WORDS);
        if words.len() < MIN_WORDS {
            return None;
        }

        let mut places: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        for (at, word) in words.iter().enumerate() {
            places.entry(word.clone()).or_default().push(at as u32);
        }

        let n_letters = super::literals::words(&without_quoted(&text)).map(|word| letters(&word)).sum();
        Some(Message { words, places, names: names_in(&text), text, n_letters, is_certain, min_share })
    }

    /// The places of `word`, ascending.
    pub fn places_of(&self, word: &str) -> &[u32] {
        self.places.get(word).map_or(&[], Vec::as_slice)
    }
}

/// Returns the lines of `query` besides those of traces, and whether there are such; `None` if it tells more
/// than a message.
fn lines_of(query: &str) -> Option<(Vec<&str>, bool)> {
    // A trace has several lines. Most queries have one, for which the expression is not even compiled.
    if !query.contains('\n') {
        return Some((vec![query], false));
    }

    let is_trace = |line: &str| TRACE.as_ref().is_some_and(|trace| trace.is_match(line));
    let mut lines: Vec<&str> = Vec::new();
    let mut has_trace = false;
    let mut is_source = false;

    for line in query.lines() {
        if line.starts_with('#') && line.trim_start_matches('#').starts_with(' ') {
            return None;
        }
        let frame = is_trace(line);
        has_trace |= frame;
        // Python prints the source below its frame.
        let below = std::mem::replace(&mut is_source, frame && line.trim_start().starts_with("File \""));
        if frame || (below && line.starts_with("    ")) || line.trim().is_empty() {
            continue;
        }
        lines.push(line);
    }

    (!lines.is_empty() && lines.len() <= MAX_LINES).then_some((lines, has_trace))
}

/// Returns whether a line of `text` begins as only messages do.
fn has_sign(text: &str) -> bool {
    let may_have = text.contains([':', '(', '[']) || LEADING.iter().any(|word| text.contains(word));
    may_have && SIGNS.as_ref().is_some_and(|signs| signs.is_match(text))
}

/// Returns the share of its words that a literal has to have if a text without a certain sign reads like a
/// message; `None` if it reads like a question or a subject.
fn told(text: &str) -> Option<f32> {
    let words: Vec<String> = text.split_whitespace().map(plain).collect();
    let begins_with = |beginnings: &str| words.first().is_some_and(|word| is_among(word, beginnings));
    if words.len() < MIN_WORDS || begins_with(ASKED) {
        return None;
    }

    let is_told = words.iter().any(|word| is_among(word, TOLD)) || begins_with(TOLD_FIRST);
    if begins_with(NAMED) && !(is_told && words.len() > SHORT) {
        return None;
    }

    let has_value = text.contains(['"', '\'', '`', '%', '“', '[', ';', '(']) || text.contains(": ");
    let is_sentence = text.starts_with(char::is_uppercase) || text.trim_end().ends_with('.');
    // A few words without a value may be a subject, which only a whole literal shows to be a message.
    match (is_told || has_value, words.len() > SHORT) {
        (true, true) => Some(SOME),
        (true, false) => Some(MOST),
        (false, _) => (is_sentence && words.len() >= MIN_SENTENCE).then_some(MOST),
    }
}

/// Returns a word in lower case, without signs around it.
fn plain(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'")
}

/// Returns whether `word` is one of `words`, which blanks divide.
fn is_among(word: &str, words: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// Returns `text` without what stands between quotation marks or brackets.
fn without_quoted(text: &str) -> String {
    let mut rest = String::new();
    let mut close = None;

    for (at, c) in text.char_indices() {
        match (close, c) {
            (Some(mark), c) if c == mark => close = None,
            (Some(_), _) => {}
            // An apostrophe follows a letter.
            (None, '\'') if text[..at].ends_with(char::is_alphanumeric) => rest.push(c),
            (None, '"' | '\'' | '`') => close = Some(c),
            (None, '[') => close = Some(']'),
            (None, _) => rest.push(c),
        }
    }
    rest
}

/// The names of exceptions in `text`, without duplicates.
fn names_in(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for found in NAMES.iter().flat_map(|regex| regex.find_iter(text)) {
        if !names.iter().any(|known| known == found.as_str()) {
            names.push(found.as_str().to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_from_questions_and_subjects() {
        assert!([&*SIGNS, &*NAMES, &*TRACE].into_iter().all(Option::is_some), "every pattern compiles");
        for (text, is_certain) in [
            ("ValueError: no such key", true),
            ("requests.exceptions.MissingSchema: Invalid URL 'x'", true),
            ("** (ArgumentError) unknown meta key :foo", true),
            ("curl: (28) Operation timed out after 5001 milliseconds", true),
            ("(error) ERR invalid expire time in 'hexpire' command", true),
            ("[json.exception.out_of_range.401] array index 5 is out of range", true),
            ("RuntimeError\n\nThe lock file is not compatible", true),
            ("could not work\n  at f (a.js:1:2)", true),
            ("unknown key in the table", false),
            ("Could not find a matching version of package cachy", false),
            ("No test suite found in file a.ts", false),
        ] {
            let message = Message::parse(text);
            assert_eq!(message.map(|it| it.is_certain), Some(is_certain), "{text}");
        }
        for text in [
            "where are sessions refreshed",
            "how does it handle an invalid key",
            "retry with backoff",
            "parse_header",
            "error handling",
            "retry with backoff when the connection is not available",
            "error handlers of the user for exceptions",
            "### Bug\nTypeError: it fails",
            "Keep the lock while files are removed\n\nTwo processes wrote to the file at the same time, so\nthe state was lost.",
        ] {
            assert!(Message::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn traces_are_no_part_of_a_message() {
        let message = Message::parse(
            "Traceback (most recent call last):\n  File \"a/b.py\", line 3, in f\n    raise x(1)\nValueError: no such key",
        )
        .unwrap();
        assert_eq!((message.text.as_str(), message.names.len()), ("ValueError: no such key", 1));
        assert_eq!((message.words.len(), message.places_of("such")), (4, &[2][..]));
    }
}
