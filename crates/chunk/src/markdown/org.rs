//! Headings and source blocks of Org.

use super::opening::{FenceEnd, HeadingLine, OpeningFence, prefixed_heading};
use super::titles::plain_title;
use crate::language::LanguageId;

/// Reads `#+begin_src rust`, in any case.
pub(super) fn opening_fence(line: &str) -> Option<OpeningFence> {
    let line = line.trim_start();
    let keyword = line.get(..11)?;
    keyword.eq_ignore_ascii_case("#+begin_src").then(|| OpeningFence {
        end: FenceEnd::EndSrc,
        language: line[11..].split_whitespace().next().and_then(LanguageId::by_name),
    })
}

/// Reads `** Title`.
pub(super) fn heading(line: &str) -> Option<HeadingLine> {
    let (level, title) = prefixed_heading('*', line)?;
    (!title.is_empty()).then(|| HeadingLine { level, title: plain_title(title), n_lines: 1 })
}
