//! A text with its delimiter pairs, sizes and token counts, shared by taking apart and packing.

use std::ops::Range;

use codeweaver_config::ChunkerSettings;
use codeweaver_text::LineIndex;

use super::families::{Delimiter, Family};
use super::scan::Boundary;
use crate::lines::tokens_before_lines;
use crate::tokens;

/// A part of the text that is not cut further.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub range: Range<usize>,
    /// Size in tokens.
    pub cost: u32,
    /// Index of the most important pair in the part, if there is one.
    pub boundary: Option<usize>,
    pub is_definition: bool,
    /// A definition by layout of one line, such as the type of a function before the function itself.
    pub is_line: bool,
    /// The innermost definition that was opened around the part, as the index of its pair.
    pub owner: Option<usize>,
    /// A blank line or the beginning of the text precedes it.
    pub after_blank_line: bool,
}

pub(super) struct Source<'a> {
    pub text: &'a str,
    pub family: &'a Family,
    pub settings: &'a ChunkerSettings,
    /// All pairs, by start, the longer first.
    pub boundaries: &'a [Boundary],
    pub sizes: Sizes,
    pub lines: LineIndex,
    tokens_before: Vec<u32>,
}

/// Sizes in tokens.
pub(super) struct Sizes {
    /// Wanted size of a piece.
    pub target: u32,
    /// Size up to which parts are joined if that avoids a cut, and beyond which they are taken apart: 1.6 ×
    /// the target.
    pub soft: u32,
    /// Size that no piece exceeds.
    pub limit: u32,
    /// Size to which text without a usable pair is split: 0.9 × the limit.
    pub split: u32,
}

impl Sizes {
    fn new(settings: &ChunkerSettings) -> Sizes {
        let limit = settings.token_limit.max(1);
        let target = settings.target_tokens.clamp(1, limit);
        let soft = (target.saturating_mul(8) / 5).min(limit);
        let split = (limit.saturating_mul(9) / 10).max(1);
        Sizes { target, soft, limit, split }
    }
}

impl<'a> Source<'a> {
    pub fn new(
        text: &'a str,
        family: &'a Family,
        settings: &'a ChunkerSettings,
        boundaries: &'a [Boundary],
    ) -> Source<'a> {
        let lines = LineIndex::new(text.as_bytes());
        let tokens_before = tokens_before_lines(text.as_bytes(), &lines);
        Source { text, family, settings, boundaries, sizes: Sizes::new(settings), lines, tokens_before }
    }

    /// Returns the delimiter of a pair.
    pub fn delimiter(&self, boundary: usize) -> &'a Delimiter {
        &self.family.delimiters[usize::from(self.boundaries[boundary].delimiter)]
    }

    /// Returns the priority of a pair, 0 for none.
    pub fn priority(&self, boundary: Option<usize>) -> u8 {
        boundary.map_or(0, |boundary| self.delimiter(boundary).priority)
    }

    /// Returns whether the pair `outer` is around the pair `inner`; no pair stands for the whole text.
    pub fn encloses(&self, outer: Option<usize>, inner: Option<usize>) -> bool {
        let Some(outer) = outer.map(|outer| &self.boundaries[outer]) else { return true };
        let inner = inner.map(|inner| &self.boundaries[inner]);
        inner.is_some_and(|inner| outer.start <= inner.start && inner.end <= outer.end)
    }

    /// Returns true if only white space with at least one blank line, or with the beginning of the text,
    /// precedes `at`.
    pub fn is_after_blank_line(&self, at: usize) -> bool {
        let before = &self.text.as_bytes()[..at];
        let mut newlines = 0;

        for byte in before.iter().rev() {
            match byte {
                b'\n' => newlines += 1,
                byte if byte.is_ascii_whitespace() => {}
                _ => return newlines >= 2,
            }
            // Stops early, or long runs of blank lines would be read for each part.
            if newlines >= 2 {
                return true;
            }
        }

        true
    }

    /// Returns the number of blank lines directly before `at`, at most 2.
    pub fn n_blank_lines_before(&self, at: usize) -> usize {
        let before = &self.text[..at];
        let blank = before.bytes().rev().take_while(u8::is_ascii_whitespace);
        // The first line end is that of the text before.
        blank.filter(|&byte| byte == b'\n').take(3).count().saturating_sub(1)
    }

    /// Returns whether a range holds nothing but comments that begin their lines.
    pub fn is_comment(&self, range: &Range<usize>) -> bool {
        let inside = &self.text[range.clone()];
        let end = range.start + inside.trim_end().len();
        let start = end - inside.trim().len();
        let range = start..end;
        let is_block = |boundary: &Boundary| {
            boundary.delimiter == self.family.comment
                && boundary.start <= range.start
                && range.end <= boundary.end
        };

        let from = self.boundaries.partition_point(|boundary| boundary.start < range.start);
        let mut begins_here =
            self.boundaries[from..].iter().take_while(|boundary| boundary.start == range.start);
        begins_here.any(is_block) || self.text[range].lines().all(|line| self.family.is_line_comment(line))
    }

    /// Returns the tokens of a range: the sums of whole lines, less the tokens of its first and last line
    /// that are outside of the range. For ranges cut inside a word the result may differ by a few from
    /// counting the text.
    pub fn cost(&self, range: &Range<usize>) -> u32 {
        if range.is_empty() {
            return 0;
        }

        let (first, last) = (self.lines.line_of(range.start), self.lines.line_of(range.end - 1));
        let (start, end) = (self.lines.start(first), self.lines.start(last + 1));
        let count = |range: Range<usize>| tokens::count(&self.text[range]);

        if first == last && (range.start, range.end) != (start, end) {
            return count(range.clone());
        }

        let lines = self.tokens_before[last + 1] - self.tokens_before[first];
        lines.saturating_sub(count(start..range.start)).saturating_sub(count(range.end..end))
    }
}
