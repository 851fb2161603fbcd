//! Differences of two texts, line by line.

use std::ops::Range;

use gix::diff::blob::{Algorithm, InternedInput, diff_with_slider_heuristics, sources};

/// Maximum size of a text; larger ones are not compared.
const MAX_BYTES: usize = 8 << 20;
/// As in git, a file with a NUL in its first bytes is binary.
const BINARY_PROBE: usize = 8000;

/// The differences of two texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineDiff {
    pub hunks: Vec<LineHunk>,
    pub added: u32,
    pub removed: u32,
}

/// Lines that were replaced, counted from 0. One side may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineHunk {
    pub old: Range<u32>,
    pub new: Range<u32>,
}

/// Compares two texts; `None` if one is binary or larger than 8 MiB.
pub fn diff_lines(old: &[u8], new: &[u8]) -> Option<LineDiff> {
    if [old, new].iter().any(|text| text.len() > MAX_BYTES || is_binary(text)) {
        return None;
    }

    let input = InternedInput::new(sources::byte_lines(old), sources::byte_lines(new));
    let diff = diff_with_slider_heuristics(Algorithm::Histogram, &input);

    let hunks = diff.hunks().map(|hunk| LineHunk { old: hunk.before, new: hunk.after });
    Some(LineDiff { hunks: hunks.collect(), added: diff.count_additions(), removed: diff.count_removals() })
}

fn is_binary(text: &[u8]) -> bool {
    text[..text.len().min(BINARY_PROBE)].contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_counted_and_placed() {
        let diff = diff_lines(b"a\nb\nc\n", b"a\nB\nc\nd\n").unwrap();
        assert_eq!((diff.added, diff.removed), (2, 1));
        assert_eq!(diff.hunks[0], LineHunk { old: 1..2, new: 1..2 });
        assert_eq!(diff.hunks[1], LineHunk { old: 3..3, new: 3..4 });
        assert_eq!(diff_lines(b"same\n", b"same\n").unwrap(), LineDiff::default());
        assert_eq!(diff_lines(b"", b"x\n").unwrap().added, 1);
        assert_eq!(diff_lines(b"a\0", b"b"), None);
    }
}
