//! Delimiter families: the starts and ends of the parts of a text, as data.
//!
//! A [`Family`] is a flat list of tokens with the delimiters that each opens, closes or skips, dispatched by
//! first byte. It is compiled from `data/families.txt` ([`table`]). Custom delimiters from the settings come
//! in front ([`with_custom`]).

mod infer;
mod table;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use codeweaver_config::CustomDelimiter;

use crate::language::{LanguageId, TEXT};

/// Kinds and their default priorities. Of two overlapping delimiters the one of higher priority is used.
const KINDS: [(&str, u8); 29] = [
    ("module_boundary", 90),
    ("class", 85),
    ("interface", 80),
    ("type_alias", 75),
    ("impl_block", 75),
    ("struct", 75),
    ("extension", 70),
    ("function", 70),
    ("property", 65),
    ("method", 65),
    ("enum", 65),
    ("context_manager", 60),
    ("module", 60),
    ("docstring", 60),
    ("decorator", 55),
    ("namespace", 55),
    ("comment_block", 55),
    ("try_catch", 50),
    ("loop", 50),
    ("conditional", 50),
    ("paragraph", 40),
    ("block", 30),
    ("annotation", 30),
    ("array", 25),
    ("tuple", 20),
    ("comment_line", 20),
    ("template_string", 15),
    ("string", 10),
    ("generic", 3),
];

/// Kinds that only settings use.
const RARE_KINDS: [(&str, u8); 2] = [("pragma", 5), ("whitespace", 1)];

/// Returns the canonical name of a kind, given in any case, and its default priority; `generic` for unknown
/// names.
fn kind(name: &str) -> (&'static str, u8) {
    let name = name.trim().to_ascii_lowercase();
    KINDS.iter().chain(&RARE_KINDS).find(|(kind, _)| *kind == name).copied().unwrap_or(("generic", 3))
}

/// The end of a delimiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Ends at one of its end tokens.
    Pair,
    /// Ends with the bracket that closes the next `{` of the statement.
    Body,
    /// Ends before the next line that is not deeper.
    Dedent,
    /// Ends before the next delimiter of this extent that has at least its priority.
    Next,
    /// Ends with the line.
    Line,
    /// Ends before a blank line.
    Blank,
    /// Ends with the tag of the same name.
    Tag,
}

/// A kind of pair: its matching and the range that it covers.
#[derive(Debug, Clone)]
pub(crate) struct Delimiter {
    pub kind: &'static str,
    pub priority: u8,
    /// The marks belong to the range.
    pub inclusive: bool,
    /// The range is extended to whole lines.
    pub whole_lines: bool,
    pub nestable: bool,
    /// Does not open if another start with the same end precedes it on its line (`while x do`).
    pub soft: bool,
    pub extent: Extent,
}

/// The places on a line where a token is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Anchor {
    Column0,
    /// The seventh column, behind the number of a line.
    Column7,
    /// First after indentation.
    LineStart,
    Anywhere,
}

/// A comment or literal: text in which no delimiter counts.
#[derive(Debug, Clone)]
pub(crate) struct Skip {
    /// Closing mark; empty for text up to the end of the line.
    pub close: Vec<u8>,
    pub is_comment: bool,
    pub nested: bool,
    pub multiline: bool,
    pub escapes: bool,
    /// A literal only if it closes within a few bytes: `'a'` is one, `'a` is not.
    pub short: bool,
    /// A final `\` continues the line.
    pub continued: bool,
}

/// A string to look for, with its meaning.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    /// The text to match, in lower case for families that ignore case. [`BLANKS`] stands for one or more
    /// blanks.
    pub bytes: Vec<u8>,
    pub anchor: Anchor,
    pub skip: Option<u16>,
    pub opens: Option<u16>,
    /// Bit set of the delimiters that it can end.
    pub closes: Vec<u64>,
}

/// Placeholder for blanks inside a token: a control character that source lines do not contain.
pub(crate) const BLANKS: u8 = 0x1f;

impl Family {
    /// Returns whether a line begins with a comment that ends with the line.
    pub fn is_line_comment(&self, line: &str) -> bool {
        let line = line.trim_start().as_bytes();
        let Some(&first) = line.first() else { return true };

        self.dispatch[usize::from(first)].iter().any(|&index| {
            let token = &self.tokens[usize::from(index)];
            let skip = token.skip.map(|skip| &self.skips[usize::from(skip)]);
            let is_comment = skip.is_some_and(|skip| skip.is_comment && skip.close.is_empty());
            is_comment && line.starts_with(&token.bytes)
        })
    }
}

impl Token {
    pub fn closes(&self, delimiter: u16) -> bool {
        let (word, bit) = (usize::from(delimiter / 64), delimiter % 64);
        self.closes.get(word).is_some_and(|bits| bits >> bit & 1 == 1)
    }

    pub fn closes_any(&self) -> bool {
        !self.closes.is_empty()
    }

    /// Returns the token as shown in the metadata of a chunk.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).replace('\x1f', " ")
    }

    fn set_closes(&mut self, delimiter: u16) {
        let word = usize::from(delimiter / 64);
        if self.closes.len() <= word {
            self.closes.resize(word + 1, 0);
        }
        self.closes[word] |= 1 << (delimiter % 64);
    }
}

/// Starts that are given by layout rather than by a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Any text in column 0.
    Top,
    /// Any line.
    Indent,
    /// A name and a colon at the start of a line.
    Label,
    /// An element of markup.
    Tag,
    /// Text after a blank line.
    Paragraph,
}

/// The delimiters of a group of languages, compiled for scanning.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    /// True if tokens match in any case.
    pub ignore_case: bool,
    /// A line end ends a statement outside of brackets.
    pub newline_ends: bool,
    /// A bracket in column 0 closes everything that is open.
    pub column_0_resets: bool,
    /// Six digits first on a line are its number.
    pub numbered_lines: bool,
    /// The delimiter that `) {` opens.
    pub paren_body: Option<u16>,
    /// The body of a statement is the last of the `{ }` that begin on a line of it.
    pub last_body: bool,
    /// Some delimiter ends with its body, so that statements and brackets are tracked.
    pub has_bodies: bool,
    pub delimiters: Vec<Delimiter>,
    /// Delimiters that start by layout.
    pub layout: Vec<(Layout, u16)>,
    pub skips: Vec<Skip>,
    pub tokens: Vec<Token>,
    /// Tokens by first byte, in the order in which they are tried: longer and stricter first.
    pub dispatch: Vec<Vec<u16>>,
    /// The pseudo-delimiter of runs of comments.
    pub comment: u16,
    /// Number of delimiters from the settings; they come first.
    pub n_custom: u16,
}

/// Returns the family of that name; `plain_style` if there is none.
pub(crate) fn by_name(name: &str) -> &'static Family {
    FAMILIES.compiled.get(name).unwrap_or(&FAMILIES.plain)
}

/// Returns the names of all families, sorted.
#[cfg(test)]
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = FAMILIES.compiled.keys().copied().collect();
    names.sort_unstable();
    names
}

/// Returns the hash of the table, a part of the chunker fingerprint.
pub fn table_fingerprint() -> &'static str {
    &FAMILIES.fingerprint
}

/// Returns the family of a language; for plain text and languages of settings, inferred from the text.
pub fn family_name(language: LanguageId, text: &str) -> &'static str {
    let is_unknown = language == TEXT || language.is_registered();
    if is_unknown { infer::infer_family(text) } else { language.family() }
}

/// Returns the family of that name with delimiters of the settings in front, which take precedence.
pub(crate) fn with_custom(name: &str, custom: &[CustomDelimiter]) -> Family {
    table::compile(name, custom)
}

struct Families {
    compiled: FxHashMap<&'static str, Family>,
    plain: Family,
    fingerprint: String,
}

static FAMILIES: LazyLock<Families> = LazyLock::new(|| Families {
    compiled: table::names().map(|name| (name, table::compile(name, &[]))).collect(),
    plain: table::compile("plain_style", &[]),
    fingerprint: blake3::hash(table::SOURCE.as_bytes()).to_hex()[..16].to_owned(),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_default_priorities() {
        for (name, priority) in [("class", 85), ("function", 70), ("comment_block", 55), ("whitespace", 1)] {
            assert_eq!(kind(name), (name, priority));
        }
        assert_eq!(kind("Class").0, "class");
        assert_eq!(kind("no such kind"), ("generic", 3));
    }
}
