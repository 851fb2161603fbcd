//! The result of the delimiter and text steps.

use std::ops::Range;

use super::DelimiterMatch;

/// One piece of a text, which becomes a chunk.
///
/// The range is half-open and relative to the blob (the `base` given to the chunker is added). It is on
/// character boundaries, holds at least one non-blank character, begins with no blank line and ends with a
/// non-blank character. Pieces are in order of position and together hold every non-blank line. They overlap
/// only by `simple_overlap`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub byte_range: Range<u32>,
    /// The most important delimiter in the piece, the earliest of equals; `None` without a pair.
    pub delimiter: Option<DelimiterMatch>,
    /// Whether it must not be joined to the piece before.
    pub is_separate: bool,
}

/// Returns `range` without blank lines at its beginning and blanks at its end; empty if all of it is blank.
pub(crate) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    if inside.trim().is_empty() {
        return range.start..range.start;
    }

    let end = range.start + inside.trim_ascii_end().len();
    let first = range.start + inside.len() - inside.trim_ascii_start().len();

    // Indentation is kept as part of the first line, but not where a piece begins inside a line.
    let line_start = text[range.start..first].rfind('\n').map(|at| range.start + at + 1);
    let at_line_start = range.start == 0 || text.as_bytes()[range.start - 1] == b'\n';
    let start = line_start.unwrap_or(if at_line_start { range.start } else { first });
    start..end
}

/// Returns the offset in the blob. It saturates: blobs whose offsets would not fit 32 bits are skipped
/// before.
pub(crate) fn offset(base: u32, at: usize) -> u32 {
    base.saturating_add(u32::try_from(at).unwrap_or(u32::MAX))
}
