//! Markup dialects and the headings and fenced blocks that a line can begin in each.

use super::{asciidoc, commonmark, org, restructured};
use crate::language::LanguageId;

/// A family of markup formats with the same headings and fenced blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Markdown,
    /// reStructuredText: titles underlined with punctuation.
    Restructured,
    /// AsciiDoc, wikis, Typst: `== Title`, code between lines of `----`.
    Asciidoc,
    /// Org: `* Title`, `#+begin_src`.
    Org,
    /// No headings.
    Plain,
}

/// A line with its surroundings that decide whether it is a heading. Lines are without trailing white space.
pub(super) struct LineContext<'a> {
    pub line: &'a str,
    /// The next line.
    pub below: Option<&'a str>,
    /// True if a non-blank line that is neither heading nor fence directly precedes the line.
    pub inside_paragraph: bool,
}

/// A recognised heading.
pub(super) struct HeadingLine {
    /// Level of the heading, from 1.
    pub level: usize,
    /// The title as it is shown.
    pub title: String,
    /// Number of lines that the heading takes, from the line that was examined: 2 with an underline.
    pub n_lines: usize,
}

/// The first line of a fenced block.
pub(super) struct OpeningFence {
    pub end: FenceEnd,
    pub language: Option<LanguageId>,
}

/// The line that closes a fenced block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FenceEnd {
    /// A line of at least `length` times `mark` and nothing else.
    Repeated { mark: char, length: usize },
    /// `#+end_src`.
    EndSrc,
}

impl FenceEnd {
    /// Returns whether `line`, without trailing white space, closes the block.
    pub fn is_at(self, line: &str) -> bool {
        let line = line.trim_start();
        match self {
            FenceEnd::Repeated { mark, length } => {
                line.chars().count() >= length && line.chars().all(|c| c == mark)
            }
            FenceEnd::EndSrc => line.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("#+end_src")),
        }
    }
}

impl Dialect {
    /// Returns the dialect of a language, by its delimiter family.
    pub fn for_language(language: LanguageId) -> Dialect {
        match language.family() {
            "markdown_style" => Dialect::Markdown,
            "rst_style" => Dialect::Restructured,
            "asciidoc_style" | "wiki_style" | "typst_style" => Dialect::Asciidoc,
            "org_style" => Dialect::Org,
            _ => Dialect::Plain,
        }
    }

    /// Returns the fenced block that begins with `line`, which is without trailing white space.
    pub fn opening_fence(self, line: &str) -> Option<OpeningFence> {
        match self {
            Dialect::Markdown => commonmark::opening_fence(line),
            Dialect::Asciidoc => asciidoc::opening_fence(line),
            Dialect::Org => org::opening_fence(line),
            Dialect::Restructured | Dialect::Plain => None,
        }
    }

    /// Returns whether a fenced block without an end runs to the end of the document; otherwise its first
    /// line is text.
    pub fn unclosed_fence_runs_on(self) -> bool {
        self == Dialect::Markdown
    }

    /// Returns the heading that begins at a line. `underlines` collects the underline characters of
    /// reStructuredText in order of their first use, which is the order of their levels.
    pub fn heading(self, context: &LineContext<'_>, underlines: &mut Vec<char>) -> Option<HeadingLine> {
        match self {
            Dialect::Markdown => commonmark::heading(context),
            Dialect::Asciidoc => asciidoc::heading(context.line),
            Dialect::Org => org::heading(context.line),
            Dialect::Restructured => restructured::heading(context, underlines),
            Dialect::Plain => None,
        }
    }
}

/// Returns level and title of a line that begins with one to six `mark`s, followed by a blank or the end of
/// the line.
pub(super) fn prefixed_heading(mark: char, line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches(mark);
    let level = line.len() - rest.len();
    let is_separated = rest.is_empty() || rest.starts_with([' ', '\t']);
    ((1..=6).contains(&level) && is_separated).then(|| (level, rest.trim()))
}
