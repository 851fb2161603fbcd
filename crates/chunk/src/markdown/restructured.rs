//! Headings of reStructuredText: titles with an underline and perhaps an overline of punctuation.

use super::opening::{HeadingLine, LineContext};
use super::titles::plain_title;

/// The punctuation of a title. The same character with an overline and without one are two levels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Adornment {
    mark: char,
    is_overlined: bool,
}

/// Reads a title with its underline. The first adornment of a document is the highest level, the next new one
/// the second, and so on; `adornments` holds those that have occurred.
pub(super) fn heading(context: &LineContext<'_>, adornments: &mut Vec<Adornment>) -> Option<HeadingLine> {
    let below = context.below?;
    let mark = adornment(below)?;
    let title = context.line.trim();

    // The underline may be two characters short, and 40 are enough for any title.
    let is_long_enough = below.chars().count() + 2 >= title.chars().count().min(40);
    if title.is_empty() || adornment(title).is_some() || !is_long_enough || context.inside_paragraph {
        return None;
    }

    let own = Adornment { mark, is_overlined: context.is_overlined };
    let position = adornments.iter().position(|&known| known == own).unwrap_or_else(|| {
        adornments.push(own);
        adornments.len() - 1
    });
    Some(HeadingLine { level: position + 1, title: plain_title(title), n_lines: 2 })
}

/// Returns the punctuation character that a line repeats at least three times and holds alone.
pub(super) fn adornment(line: &str) -> Option<char> {
    let first = line.chars().next().filter(|c| c.is_ascii_punctuation() && !matches!(c, '|' | '(' | ')'))?;
    (line.len() >= 3 && line.chars().all(|c| c == first)).then_some(first)
}
