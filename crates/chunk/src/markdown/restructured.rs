//! Headings of reStructuredText: titles with an underline and perhaps an overline of punctuation.

use super::opening::{HeadingLine, LineContext};
use super::titles::plain_title;

/// Reads a title with its underline. The first underline character of a document is the highest level, the
/// next new one the second, and so on; `underlines` holds those that have occurred.
pub(super) fn heading(context: &LineContext<'_>, underlines: &mut Vec<char>) -> Option<HeadingLine> {
    let below = context.below?;
    let mark = adornment(below)?;
    let title = context.line.trim();

    // The underline may be two characters short, and 40 are enough for any title.
    let is_long_enough = below.chars().count() + 2 >= title.chars().count().min(40);
    if title.is_empty() || adornment(title).is_some() || !is_long_enough || context.inside_paragraph {
        return None;
    }

    let position = underlines.iter().position(|&known| known == mark).unwrap_or_else(|| {
        underlines.push(mark);
        underlines.len() - 1
    });
    Some(HeadingLine { level: position + 1, title: plain_title(title), n_lines: 2 })
}

/// Returns the punctuation character that a line repeats at least three times and holds alone.
pub(super) fn adornment(line: &str) -> Option<char> {
    let first = line.chars().next().filter(|c| c.is_ascii_punctuation() && !matches!(c, '|' | '(' | ')'))?;
    (line.len() >= 3 && line.chars().all(|c| c == first)).then_some(first)
}
