//! Headings and fences of Markdown, after CommonMark.

use super::opening::{FenceEnd, HeadingLine, LineContext, OpeningFence, prefixed_heading};
use super::titles::plain_title;
use crate::language::LanguageId;

/// Reads a fence of at least three back-ticks or tildes with an optional info string.
pub(super) fn opening_fence(line: &str) -> Option<OpeningFence> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| *c == '`' || *c == '~')?;
    let info = line.trim_start_matches(mark);
    let length = line.len() - info.len();

    // Inline code closes its back-ticks on the same line.
    if length < 3 || mark == '`' && info.contains('`') {
        return None;
    }

    // ```rust,ignore   ~~~ {.python}   ```{r, echo=FALSE}
    let word = info.trim().trim_start_matches(['{', '.']);
    let word = word.split([' ', ',', '}', '{', ':', '\t']).next().unwrap_or_default();
    Some(OpeningFence { end: FenceEnd::Repeated { mark, length }, language: LanguageId::by_name(word) })
}

/// Reads an ATX heading (`## Title`) or a setext heading (a title over a line of `=` or `-`).
pub(super) fn heading(context: &LineContext<'_>) -> Option<HeadingLine> {
    let line = context.line;
    let indent = line.len() - line.trim_start_matches(' ').len();
    if indent > 3 || line.trim().is_empty() {
        return None;
    }

    if let Some((level, title)) = prefixed_heading('#', line.trim_start()) {
        let bare = title.trim_end_matches('#');
        let title = if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim() } else { title };
        return Some(HeadingLine { level, title: plain_title(title), n_lines: 1 });
    }

    let below = context.below?.trim_start();
    let level = match (below.len() >= 2, below.chars().next()) {
        (true, Some('=')) if below.chars().all(|c| c == '=') => 1,
        (true, Some('-')) if below.chars().all(|c| c == '-') => 2,
        _ => return None,
    };

    // List items, quotes and table rows above a rule are not titles, nor is the last line of a longer
    // paragraph.
    let title = line.trim();
    let is_other_block = title.starts_with(['-', '*', '+', '>', '|', '<', '=']);
    (!is_other_block && !context.inside_paragraph).then(|| HeadingLine {
        level,
        title: plain_title(title),
        n_lines: 2,
    })
}
