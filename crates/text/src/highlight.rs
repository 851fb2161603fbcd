//! Finds the words of a query in a line of text.

use std::collections::HashSet;
use std::ops::Range;

use super::{TermKind, query_terms, visit_terms};

/// Finds the words of a query and the name of the symbol that was found.
#[derive(Debug, Clone, Default)]
pub struct Highlighter {
    terms: HashSet<String>,
    /// The name of the symbol without its owners; empty if there is none.
    symbol: String,
}

impl Highlighter {
    /// Finds the words that a search for `query` looks for, in every inflection and naming style.
    pub fn new(query: &str) -> Highlighter {
        let terms = query_terms(query).into_iter().map(|term| term.term).collect();
        Highlighter { terms, symbol: String::new() }
    }

    /// Returns a highlighter that also finds the last part of the qualified name of a symbol.
    pub fn with_symbol(&self, qualified_name: &str) -> Highlighter {
        let symbol = qualified_name
            .rsplit(|c: char| !c.is_alphanumeric() && !"_?!$".contains(c))
            .next()
            .unwrap_or_default();
        Highlighter { terms: self.terms.clone(), symbol: symbol.to_owned() }
    }

    /// Returns byte ranges of `line`, in order and disjoint: whole words, parts of identifiers, and pairs of
    /// characters of scripts without spaces.
    pub fn ranges(&self, line: &str) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();

        for word in runs(line) {
            if line[word.clone()] == self.symbol || self.is_whole(&line[word.clone()]) {
                ranges.push(word);
            } else {
                self.add_parts(line, word, &mut ranges);
            }
        }

        ranges
    }

    /// Adds the parts of a word that are words of the query; parts side by side become one range.
    fn add_parts(&self, line: &str, word: Range<usize>, ranges: &mut Vec<Range<usize>>) {
        let start = ranges.len();

        for part in parts(line, word) {
            if !self.has(&line[part.clone()]) {
                continue;
            }
            match ranges[start..].last_mut() {
                Some(last) if is_joined(line, last.end, part.start) => last.end = part.end,
                _ => ranges.push(part),
            }
        }
    }

    /// Returns whether the name of the symbol is in `line`.
    pub fn has_symbol(&self, line: &str) -> bool {
        runs(line).into_iter().any(|word| line[word] == self.symbol)
    }

    /// Returns whether all of a word is a word of the query.
    fn is_whole(&self, word: &str) -> bool {
        let mut is_whole = false;
        visit_terms(word, |term, kind| {
            is_whole |= matches!(kind, TermKind::Whole | TermKind::Word | TermKind::Number)
                && self.terms.contains(term);
        });
        is_whole
    }

    /// Returns whether a part of a word is a word of the query.
    fn has(&self, part: &str) -> bool {
        let mut has = false;
        visit_terms(part, |term, kind| has |= kind != TermKind::Character && self.terms.contains(term));
        has
    }
}

/// Returns true if nothing but an underscore is between the end of one part and the start of the next.
fn is_joined(line: &str, end: usize, start: usize) -> bool {
    end >= start || &line[end..start] == "_"
}

/// Returns the runs of letters, digits and underscores.
fn runs(line: &str) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = None;

    for (at, c) in line.char_indices() {
        if c.is_alphanumeric() || c == '_' {
            start.get_or_insert(at);
        } else if let Some(start) = start.take() {
            runs.push(start..at);
        }
    }

    runs.extend(start.map(|start| start..line.len()));
    runs
}

/// Returns the parts of an identifier: between underscores, at humps and after digits. In a script without
/// spaces, every pair of neighbours is a part.
fn parts(line: &str, word: Range<usize>) -> Vec<Range<usize>> {
    let chars: Vec<(usize, char)> =
        line[word.clone()].char_indices().map(|(at, c)| (word.start + at, c)).collect();
    let end_of = |i: usize| chars.get(i + 1).map_or(word.end, |(at, _)| *at);

    let mut parts = Vec::new();
    let mut start = word.start;
    for (i, &(at, c)) in chars.iter().enumerate() {
        let previous = i.checked_sub(1).and_then(|i| chars.get(i)).map(|(_, c)| *c);
        let next = chars.get(i + 1).map(|(_, c)| *c);
        let is_hump = c.is_uppercase()
            && (previous.is_some_and(|p| p.is_lowercase() || p.is_ascii_digit())
                || (previous.is_some_and(char::is_uppercase) && next.is_some_and(char::is_lowercase)));
        let is_after_digit = c.is_alphabetic() && previous.is_some_and(|p| p.is_ascii_digit());

        if c == '_' || is_hump || is_after_digit {
            parts.push(start..at);
            start = if c == '_' { at + 1 } else { at };
        }
        if is_unspaced(c) {
            parts.push(start..at);
            start = end_of(i);
            if next.is_some_and(is_unspaced) {
                parts.push(at..end_of(i + 1));
            }
        }
    }

    parts.push(start..word.end);
    // Underscores side by side leave empty parts.
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns whether a character is of a script that is written without spaces: Chinese, Japanese, Korean.
fn is_unspaced(c: char) -> bool {
    u32::from(c) >= 0x2e80 && !c.is_lowercase() && !c.is_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(query: &str, line: &'a str) -> Vec<&'a str> {
        Highlighter::new(query).ranges(line).into_iter().map(|range| &line[range]).collect()
    }

    #[test]
    fn words_are_found_in_every_inflection_and_naming_style() {
        assert_eq!(found("where are tokens refreshed", "// Refreshing the token."), ["Refreshing", "token"]);
        assert_eq!(
            found("parse header", "fn parse_header(parseTheHeader)"),
            ["parse_header", "parse", "Header"]
        );
        assert_eq!(found("parseHeader", "fn parse_header() { header }"), ["parse_header", "header"]);
        assert_eq!(found("server", "HTTPServer http_servers2 observer"), ["Server", "servers2"]);
        assert_eq!(found("where is it", "nothing of it"), ["it"]);
        assert_eq!(found("", "text"), [""; 0]);
    }

    #[test]
    fn scripts_without_spaces_are_found_by_pairs() {
        assert_eq!(found("删除用户", "// 删除一个用户"), ["删除", "用户"]);
        assert_eq!(found("größe", "die Größe: größeÄndern"), ["Größe", "größe"]);
    }

    #[test]
    fn the_symbol_is_found_as_it_is_written() {
        let highlighter = Highlighter::new("again and again").with_symbol("Retry::with_backoff");
        let line = "fn with_backoff(backoff: u32)";
        let found: Vec<_> = highlighter.ranges(line).into_iter().map(|range| &line[range]).collect();
        assert_eq!(found, ["with_backoff"]);
    }
}
