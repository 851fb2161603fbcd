//! Lines, token counts and shape of a text, kept so that any range is counted without reading it again.

use std::cell::OnceCell;
use std::ops::Range;

use codeweaver_text::LineIndex;

use super::{LineSpan, tokens};

/// Longest run of changing punctuation that is usual in code.
const LONG_RUN: u32 = 32;

/// A text with its line starts, the number of tokens before each line, and its shape.
pub struct TextIndex<'a> {
    bytes: &'a [u8],
    lines: LineIndex,
    /// The result of [`tokens_before_lines`], on first use.
    tokens_before: OnceCell<Vec<u32>>,
    pub shape: TextShape,
}

/// Measures by which a parser refuses texts that would be too costly.
#[derive(Default)]
pub struct TextShape {
    /// Deepest nesting of `(`, `[` and `{`; those in strings and comments count.
    pub bracket_depth: u32,
    /// Punctuation in long runs: the sum of the parts beyond [`LONG_RUN`] of each run between letters or
    /// digits. White space is not counted, and a repeated character counts once.
    pub punctuation: u32,
    /// Deepest nesting of indentation. List markers at the start of a line count as levels.
    pub indent_depth: u32,
    /// Bytes of the longest line.
    pub longest_line: u32,
}

impl<'a> TextIndex<'a> {
    /// Indexes `bytes`, which must be shorter than 4 GiB. Linear.
    pub fn new(bytes: &'a [u8]) -> Self {
        let lines = LineIndex::new(bytes);
        let shape = TextShape::from_bytes(bytes, &lines);
        Self { bytes, lines, tokens_before: OnceCell::new(), shape }
    }

    /// The indexed bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the 0-based line of a byte offset.
    pub fn line_of(&self, offset: u32) -> usize {
        self.lines.line_of(offset as usize)
    }

    /// Returns the byte offset at which the 0-based line starts.
    pub fn line_start(&self, line: usize) -> u32 {
        self.lines.start(line) as u32
    }

    /// Returns the 1-based inclusive lines of a non-empty byte range.
    pub fn span(&self, range: &Range<u32>) -> LineSpan {
        line_span(&self.lines, range.start as usize..range.end as usize)
    }

    /// Returns the number of tokens in a byte range, equal to counting its text.
    pub fn tokens(&self, range: Range<u32>) -> u32 {
        if range.start >= range.end {
            return 0;
        }

        let range = range.start as usize..range.end as usize;
        let first = self.lines.line_of(range.start);
        let last = self.lines.line_of(range.end - 1);
        let count = |part: Range<usize>| tokens::count_bytes(&self.bytes[part]);

        // A range inside one line is counted, unless it is the line.
        if first == last {
            return if self.lines.range(first) == range {
                self.tokens_of_lines(first..last + 1)
            } else {
                count(range)
            };
        }

        // The sums of whole lines are known; only a partial first or last line is counted.
        let head_is_whole = self.lines.start(first) == range.start;
        let from = if head_is_whole { first } else { first + 1 };
        let head = if head_is_whole { 0 } else { count(range.start..self.lines.start(first + 1)) };

        let tail_is_whole = self.lines.start(last + 1) == range.end;
        let to = if tail_is_whole { last + 1 } else { last };
        let tail = if tail_is_whole { 0 } else { count(self.lines.start(last)..range.end) };

        head + self.tokens_of_lines(from..to) + tail
    }

    /// Returns the number of tokens in whole lines.
    fn tokens_of_lines(&self, lines: Range<usize>) -> u32 {
        let before = self.tokens_before.get_or_init(|| tokens_before_lines(self.bytes, &self.lines));
        before[lines.end] - before[lines.start]
    }

    /// Returns true if only blanks precede `offset` on its line.
    pub fn starts_line(&self, offset: u32) -> bool {
        self.bytes[..offset as usize]
            .iter()
            .rev()
            .find(|byte| !matches!(byte, b' ' | b'\t'))
            .is_none_or(|&byte| byte == b'\n')
    }

    /// Returns the start of the line of `offset` if only blanks precede it, otherwise `offset`.
    pub fn back_to_line_start(&self, offset: u32) -> u32 {
        let blanks = self.bytes[..offset as usize]
            .iter()
            .rev()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();

        let start = offset as usize - blanks;
        if start == 0 || self.bytes[start - 1] == b'\n' { start as u32 } else { offset }
    }

    /// Returns `range` without blank lines at either end and without trailing white space; `None` if all of
    /// it is blank. Leading indentation is kept.
    pub fn trim(&self, range: Range<u32>) -> Option<Range<u32>> {
        let text = &self.bytes[range.start as usize..range.end as usize];
        let first = text.iter().position(|byte| !byte.is_ascii_whitespace())? as u32;
        let last = text.iter().rposition(|byte| !byte.is_ascii_whitespace())? as u32;

        let start = self.back_to_line_start(range.start + first).max(range.start);
        Some(start..range.start + last + 1)
    }
}

/// Returns the 1-based inclusive lines of a non-empty byte range.
pub(super) fn line_span(lines: &LineIndex, range: Range<usize>) -> LineSpan {
    LineSpan {
        start: line_number(lines, range.start),
        end: line_number(lines, range.end.saturating_sub(1).max(range.start)),
    }
}

/// Returns the 1-based line of a byte offset, saturating.
fn line_number(lines: &LineIndex, offset: usize) -> u32 {
    u32::try_from(lines.line_of(offset) + 1).unwrap_or(u32::MAX)
}

/// Returns the number of tokens before each line, followed by the number in the whole text.
pub(super) fn tokens_before_lines(bytes: &[u8], lines: &LineIndex) -> Vec<u32> {
    let mut before = Vec::with_capacity(lines.count() + 1);
    let mut sum = 0;
    before.push(0);

    for line in 0..lines.count() {
        sum += tokens::count_bytes(&bytes[lines.range(line)]);
        before.push(sum);
    }

    before
}

impl TextShape {
    /// Measures a text in one pass over its bytes.
    fn from_bytes(bytes: &[u8], lines: &LineIndex) -> TextShape {
        let (mut shape, mut indents) = (TextShape::default(), Indents::default());
        let (mut depth, mut run, mut last_mark) = (0u32, 0u32, 0u8);

        for line in 0..lines.count() {
            let line = &bytes[lines.range(line)];
            for &byte in line {
                if byte.is_ascii_punctuation() {
                    let is_new = u32::from(byte != last_mark);
                    run += is_new;
                    shape.punctuation += if run > LONG_RUN { is_new } else { 0 };
                    last_mark = byte;
                } else if byte > b' ' {
                    (run, last_mark) = (0, 0);
                }

                match byte {
                    b'(' | b'[' | b'{' => {
                        depth += 1;
                        shape.bracket_depth = shape.bracket_depth.max(depth);
                    }
                    b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }

            indents.line(line);
            shape.longest_line = shape.longest_line.max(line.len() as u32);
        }

        shape.indent_depth = indents.deepest;
        shape
    }
}

/// Columns of the indentation that is open at a line, as scanners of indented languages keep them.
#[derive(Default)]
struct Indents {
    columns: Vec<u32>,
    deepest: u32,
}

impl Indents {
    /// Opens the levels that a line begins with: its indentation and that after each list marker.
    fn line(&mut self, line: &[u8]) {
        for (at, byte) in line.iter().enumerate() {
            let is_marker = matches!(byte, b'-' | b'?' | b':') && line.get(at + 1) == Some(&b' ');

            match byte {
                b'\n' | b'\r' => return,
                b' ' | b'\t' => {}
                _ => {
                    self.open(at as u32);
                    if !is_marker {
                        return;
                    }
                }
            }
        }
    }

    /// Closes the levels at or right of `column` and opens one there.
    fn open(&mut self, column: u32) {
        while self.columns.last().is_some_and(|&last| last >= column) {
            self.columns.pop();
        }

        self.columns.push(column);
        self.deepest = self.deepest.max(self.columns.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_any_range_as_the_tokeniser_does() {
        let text = "int main(void) {\n\treturn some_function(\"text\", 12345);\n}\n\n/* end */";
        let index = TextIndex::new(text.as_bytes());
        for start in 0..text.len() {
            for end in start..=text.len() {
                let direct = tokens::count(&text[start..end]);
                let indexed = index.tokens(start as u32..end as u32);
                assert_eq!(indexed, direct, "{start}..{end}");
            }
        }
    }

    #[test]
    fn trims_blank_lines_and_finds_lines() {
        let index = TextIndex::new(b"\n\n  a\r\n  b\r\n\n");
        assert_eq!(index.trim(0..13), Some(2..10));
        assert_eq!(index.span(&(2..10)), LineSpan { start: 3, end: 4 });
        assert_eq!(index.trim(0..2), None);
        assert!(index.starts_line(4) && !index.starts_line(5));
        assert_eq!(TextIndex::new(b"").line_of(0), 0);
    }

    #[test]
    fn measures_long_runs_of_changing_punctuation() {
        let beyond = |text: &str| TextIndex::new(text.as_bytes()).shape.punctuation;
        assert_eq!(beyond(&"// =====\n".repeat(16)), 0);
        assert_eq!(beyond(&"// =====\n".repeat(20)), 8);
        assert_eq!(beyond(&["-}".repeat(20), "-}".repeat(17)].join(" a ")), 8 + 2);
    }

    #[test]
    fn measures_bracket_depth() {
        assert_eq!(TextIndex::new(b"([{}]) (").shape.bracket_depth, 3);
    }
}
