//! Turns the text of a query into weighted terms, and finds the identifiers in it.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::stem::stem;
use super::terms::{TermKind, visit_terms};

/// One distinct term of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    pub term: String,
    /// Weight of a match of this term, in `(0, 1]`: the largest of its occurrences.
    pub weight: f32,
    /// True if the term is the whole of an identifier with several parts.
    pub is_identifier: bool,
}

impl QueryTerm {
    /// Returns whether the term carries meaning of its own, unlike a stop word or an everyday verb.
    pub fn is_word(&self) -> bool {
        self.weight == 1.0
    }
}

/// English stop words. Words that are also common names in code (`get`, `set`, `new`, `not`, `type`) are not
/// included.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "being", "but", "by", "can", "could", "did", "do", "does", "doing", "done", "during", "each",
    "ever", "every", "exactly", "for", "from", "had", "has", "have", "having", "he", "her", "here", "him",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "many", "may", "me", "might",
    "more", "most", "much", "must", "my", "no", "of", "on", "one", "only", "or", "other", "our", "out",
    "own", "please", "shall", "she", "should", "show", "so", "some", "such", "tell", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "upon", "us", "very",
    "was", "way", "we", "were", "what", "whats", "when", "where", "whether", "which", "while", "who", "whom",
    "whose", "why", "will", "with", "would", "you", "your",
];

/// Maximum number of terms of a query. Each costs one look-up in the index.
const MAX_TERMS: usize = 64;
/// Maximum number of identifiers of a query.
const MAX_NAMES: usize = 32;

/// Returns the terms of a query in order of first appearance, without stop words and duplicates.
///
/// A query that has only stop words keeps them, so that `"who am I"` still has results. The beginning and the
/// end of a long pasted text are kept: error messages are usually in the former, the relevant end of a trace
/// in the latter.
pub fn query_terms(query: &str) -> Vec<QueryTerm> {
    let all = collect(query);
    let passed: Vec<QueryTerm> =
        all.iter().filter(|(_, passes)| *passes).map(|(term, _)| term.clone()).collect();
    let terms = if passed.is_empty() { all.into_iter().map(|(term, _)| term).collect() } else { passed };

    head_and_tail(terms, MAX_TERMS)
}

/// Returns the words of `query` that `terms` were derived from, in the order of the query, without
/// duplicates.
pub fn as_written<'t>(query: &str, terms: impl Iterator<Item = &'t QueryTerm>) -> Vec<String> {
    let terms: Vec<&str> = terms.map(|term| term.term.as_str()).collect();
    let mut found: Vec<String> = Vec::new();
    if terms.is_empty() {
        return found;
    }

    for word in query.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()) {
        let mut is_of_term = false;
        visit_terms(word, |term, kind| is_of_term |= kind != TermKind::Part && terms.contains(&term));
        if is_of_term && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
    }

    found
}

/// Keeps `most` elements: the first two thirds of that number and the last third.
pub(super) fn head_and_tail<T>(mut all: Vec<T>, most: usize) -> Vec<T> {
    if all.len() > most {
        let tail = most / 3;
        all.drain(most - tail..all.len() - tail);
    }
    all
}

/// Returns every distinct term, and whether it passes the stop list.
fn collect(query: &str) -> Vec<(QueryTerm, bool)> {
    let stop = stop_stems();
    let mut found: Vec<(QueryTerm, bool)> = Vec::new();
    let mut position: HashMap<String, usize> = HashMap::new();

    visit_terms(query, |term, kind| {
        let passes = !(kind == TermKind::Word && stop.contains(term));
        let weight = weight_of(kind);
        let is_identifier = kind == TermKind::Whole;
        match position.get(term).and_then(|&at| found.get_mut(at)) {
            Some((known, known_passes)) => {
                known.weight = known.weight.max(weight);
                known.is_identifier |= is_identifier;
                *known_passes |= passes;
            }
            None => {
                position.insert(term.to_owned(), found.len());
                found.push((QueryTerm { term: term.to_owned(), weight, is_identifier }, passes));
            }
        }
    });

    found
}

/// Returns the weight of a term. Parts weigh less because their whole is a term too; single characters weigh
/// less because they are common to many words.
fn weight_of(kind: TermKind) -> f32 {
    match kind {
        TermKind::Word | TermKind::Whole | TermKind::Number | TermKind::Pair => 1.0,
        TermKind::Part => 0.7,
        TermKind::Prefix => 0.5,
        TermKind::Character => 0.3,
    }
}

/// Returns whether queries are searched without a term.
pub fn is_stop_word(term: &str) -> bool {
    stop_stems().contains(term)
}

fn stop_stems() -> &'static HashSet<String> {
    static STEMS: OnceLock<HashSet<String>> = OnceLock::new();
    STEMS.get_or_init(|| STOP_WORDS.iter().map(|word| stem(word)).collect())
}

/// Returns the identifiers in a query, as written, without duplicates, in order.
///
/// These are words in back-ticks, words followed by `(`, words with an inner `_`, camel-case words, words
/// qualified by `::`, `.`, `->` or `#`, and the word, or the single letter, of a one-word query. A qualified
/// name is returned whole (`Parser::next`); callers split it. File names (`parse.rs`) count as qualified
/// names. If there are more than 32, the first and the last are returned.
pub fn identifiers(query: &str) -> Vec<String> {
    let mut found = Names::default();
    let mut rest = query;

    // A single letter is a name only if nothing else is asked for.
    let letter = query.trim();
    if letter.chars().count() == 1 && letter.chars().all(char::is_alphabetic) {
        return vec![letter.to_owned()];
    }

    while let Some(open) = rest.find('`') {
        // A back-tick without a partner quotes nothing.
        let Some(length) = rest[open + 1..].find('`') else { break };
        words(&rest[..open], false, &mut found);
        words(&rest[open + 1..open + 1 + length], true, &mut found);
        rest = &rest[open + 1 + length + 1..];
    }

    let is_one_word = query.split_whitespace().count() == 1;
    words(rest, is_one_word, &mut found);
    head_and_tail(found.list, MAX_NAMES)
}

/// An ordered set of names.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    known: HashSet<String>,
}

impl Names {
    fn add(&mut self, name: &str) {
        if self.known.insert(name.to_owned()) {
            self.list.push(name.to_owned());
        }
    }
}

/// Adds the words of `text` that look like identifiers; with `always`, every word that could be a name.
fn words(text: &str, always: bool, found: &mut Names) {
    for raw in text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'' | '`')) {
        let has_parenthesis = raw.contains('(');
        let name = raw.split(['(', '<', '[', '{']).find(|piece| !piece.is_empty()).unwrap_or("");
        let name = name.trim_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
        if name.chars().count() < 2 || !name.chars().any(char::is_alphabetic) {
            continue;
        }

        // A parenthesis before the name opens a remark, not a call.
        let is_called = has_parenthesis
            && raw.trim_start_matches(|c: char| !(c.is_alphanumeric() || c == '_')).starts_with(name)
            && !raw.starts_with('(');
        if always || is_called || is_name_like(name) {
            found.add(name);
        }
    }
}

/// Returns whether a word is written like an identifier.
fn is_name_like(name: &str) -> bool {
    let inner_underscore = name.trim_matches('_').contains('_') || (name.starts_with("__") && name.len() > 4);
    let qualified =
        name.contains("::") || name.contains("->") || has_inner(name, '.') || has_inner(name, '#');
    inner_underscore || qualified || is_camel_case(name)
}

/// Returns whether `separator` stands between two word characters, except in abbreviations such as `e.g`.
fn has_inner(name: &str, separator: char) -> bool {
    let mut pieces = name.split(separator);
    let first = pieces.next().unwrap_or("");
    name.contains(separator)
        && (first.len() > 1 || pieces.clone().any(|piece| piece.len() > 2))
        && pieces.all(|piece| piece.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// Returns whether a lower-case letter is followed by an upper-case one, or an acronym by a word.
fn is_camel_case(name: &str) -> bool {
    let characters: Vec<char> = name.chars().collect();
    let hump = characters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    let acronym = characters.windows(4).any(|window| {
        window[0].is_uppercase()
            && window[1].is_uppercase()
            && window[2].is_lowercase()
            && window[3].is_lowercase()
    });
    hump || acronym
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(query: &str) -> String {
        query_terms(query).iter().map(|term| term.term.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn stop_words_and_duplicates_are_removed_in_order() {
        assert_eq!(
            terms("How does the parser parse a header, and where is the header parsed?"),
            "parser pars header"
        );
        assert_eq!(terms("where is it"), "where is it");
        assert_eq!(terms(""), "");
    }

    #[test]
    fn identifiers_weigh_more_than_their_parts() {
        let found = query_terms("parseHeader of header");
        let of = |name: &str| found.iter().find(|term| term.term == name).cloned();
        assert!(of("parseheader").is_some_and(|term| term.is_identifier && term.weight == 1.0));
        assert!(of("pars").is_some_and(|term| !term.is_identifier && term.weight < 1.0));
        assert!(of("header").is_some_and(|term| term.weight == 1.0), "the plain word wins");
        assert!(of("of").is_none());
    }

    #[test]
    fn terms_are_found_again_as_they_were_written() {
        let query = "Where is COBOL parsed by parseKlingonDate, COBOL?";
        let terms = query_terms(query);
        let of = |is_wanted: &dyn Fn(&QueryTerm) -> bool| {
            as_written(query, terms.iter().filter(|term| is_wanted(term)))
        };
        assert_eq!(of(&|term| term.is_identifier || term.term == "cobol"), ["COBOL", "parseKlingonDate"]);
        assert_eq!(of(&|term| term.term == "klingon"), [""; 0], "a part is not a word of the query");
        assert_eq!(of(&|_| false), [""; 0]);
    }

    #[test]
    fn stop_words_inside_identifiers_are_kept() {
        assert_eq!(terms("is_it_done"), "is it done isitdon");
    }

    #[test]
    fn both_ends_of_a_long_text_are_kept() {
        let text: String = (0..5000).map(|i| format!("word{i}x call_{i}() ")).collect();
        let terms = query_terms(&text);
        assert_eq!(terms.len(), MAX_TERMS);
        assert_eq!(terms[0].term, "word0x");
        assert_eq!(terms[MAX_TERMS - 1].term, "call4999");
        let names = identifiers(&text);
        assert_eq!(
            (names.len(), names[0].as_str(), names[MAX_NAMES - 1].as_str()),
            (MAX_NAMES, "call_0", "call_4999")
        );
        assert_eq!(head_and_tail(vec![1, 2, 3], 3), [1, 2, 3]);
        assert_eq!(head_and_tail(vec![1, 2, 3, 4, 5], 3), [1, 2, 5]);
    }

    #[test]
    fn identifiers_are_recognised_by_their_form() {
        for (query, expected) in [
            ("where is parse_header called", &["parse_header"][..]),
            ("how does HTTPServer handle Router requests", &["HTTPServer"]),
            ("fix Parser::next, please", &["Parser::next"]),
            ("what does open() do?", &["open"]),
            ("the `Widget` and `a b`", &["Widget"]),
            ("os.path.join usage.", &["os.path.join"]),
            ("tokenize", &["tokenize"]),
            ("e.g. a sentence. And another one", &[]),
            ("Vec<String> conversion fooBar fooBar", &["fooBar"]),
            ("call foo_bar(a, b)", &["foo_bar"]),
            ("version 1.2.3 and 3.14", &[]),
            ("(parenthesis) around", &[]),
            ("__init__ method", &["__init__"]),
            (" H ", &["H"]),
            ("a b", &[]),
            ("unbalanced ` tick_mark", &["tick_mark"]),
        ] {
            assert_eq!(identifiers(query), expected, "{query}");
        }
    }
}
