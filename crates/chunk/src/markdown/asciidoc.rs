//! Headings and fences of AsciiDoc and of formats with the same headings (wikis, Typst).

use super::opening::{FenceEnd, HeadingLine, OpeningFence, prefixed_heading};
use super::titles::plain_title;
use crate::language::LanguageId;

/// Reads a delimiter line: at least four `-` or `.`, or at least three back-ticks, and nothing else.
pub(super) fn opening_fence(line: &str) -> Option<OpeningFence> {
    let mark = line.chars().next().filter(|c| matches!(c, '-' | '.' | '`'))?;
    let length = line.len();
    let is_long_enough = length >= 4 || mark == '`' && length >= 3;
    (is_long_enough && line.chars().all(|c| c == mark))
        .then_some(OpeningFence { end: FenceEnd::Repeated { mark, length }, language: None })
}

/// Returns the language of a source attribute line: `[source,rust]`.
pub(super) fn source_language(line: &str) -> Option<LanguageId> {
    let inside = line.strip_prefix("[source")?.strip_suffix(']')?;
    LanguageId::by_name(inside.split(',').nth(1)?.trim())
}

/// Reads `== Title`, also closed as in `== Title ==`.
pub(super) fn heading(line: &str) -> Option<HeadingLine> {
    let (level, title) = prefixed_heading('=', line)?;
    let title = title.trim_end_matches('=').trim();
    (!title.is_empty()).then(|| HeadingLine { level, title: plain_title(title), n_lines: 1 })
}
