//! The beginnings of headings and fenced blocks, in any dialect.

use crate::language::LanguageId;

/// A line with its surroundings that decide whether it is a heading. Lines are without trailing white space.
pub(super) struct LineContext<'a> {
    pub line: &'a str,
    /// The next line.
    pub below: Option<&'a str>,
    /// True if the line above is the overline of a title, the same as the next line.
    pub is_overlined: bool,
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

/// Returns level and title of a line that begins with one to six `mark`s, followed by a blank or the end of
/// the line.
pub(super) fn prefixed_heading(mark: char, line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches(mark);
    let level = line.len() - rest.len();
    let is_separated = rest.is_empty() || rest.starts_with([' ', '\t']);
    ((1..=6).contains(&level) && is_separated).then(|| (level, rest.trim()))
}
