//! Markup dialects and the headings and fenced blocks that a line can begin in each.

use super::opening::{HeadingLine, LineContext, OpeningFence};
use super::restructured::Adornment;
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

    /// Returns the heading that begins at a line. `adornments` collects those of reStructuredText in order of
    /// their first use, which is the order of their levels.
    pub fn heading(self, context: &LineContext<'_>, adornments: &mut Vec<Adornment>) -> Option<HeadingLine> {
        match self {
            Dialect::Markdown => commonmark::heading(context),
            Dialect::Asciidoc => asciidoc::heading(context.line),
            Dialect::Org => org::heading(context.line),
            Dialect::Restructured => restructured::heading(context, adornments),
            Dialect::Plain => None,
        }
    }
}
