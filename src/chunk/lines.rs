//! Lines and token counts of a text, so that any range is counted without reading it again.

use std::ops::Range;

use super::{LineSpan, tokens};

/// Real code has few runs of changing punctuation that are longer.
const LONG_RUN: u32 = 32;

/// Line starts of a text with the number of tokens before each line.
pub(crate) struct TextIndex<'a> {
    bytes: &'a [u8],
    /// Byte offset of every line start; the first is 0.
    starts: Vec<u32>,
    /// Tokens before the line of the same index, and at the end the sum.
    tokens_before: Vec<u32>,
    /// Deepest nesting of `(`, `[` and `{`, strings and comments not excepted.
    pub bracket_depth: u32,
    /// Punctuation in long runs: how much of each run between letters or digits is beyond [`LONG_RUN`], summed. White space
    /// is not counted, a repeated character once.
    pub punctuation: u32,
    /// Deepest nesting of indentation, list markers at the line start counted as levels.
    pub indent_depth: u32,
    /// Bytes of the longest line.
    pub longest_line: u32,
}

impl<'a> TextIndex<'a> {
    /// One pass over `bytes`, which must be shorter than 4 GiB.
    pub fn new(bytes: &'a [u8]) -> Self {
        let lines = bytes.len() / 32 + 2;
        let mut starts = Vec::with_capacity(lines);
        let mut tokens_before = Vec::with_capacity(lines);
        let (mut at, mut sum, mut depth, mut deepest) = (0, 0u32, 0u32, 0u32);
        let (mut run, mut punctuation, mut mark) = (0u32, 0u32, 0u8);
        let (mut indents, mut longest_line) = (Indents::default(), 0u32);
        while at < bytes.len() {
            starts.push(at as u32);
            tokens_before.push(sum);
            let mut end = at;
            while end < bytes.len() {
                let byte = bytes[end];
                end += 1;
                if byte.is_ascii_punctuation() {
                    let is_new = u32::from(byte != mark);
                    run += is_new;
                    punctuation += if run > LONG_RUN { is_new } else { 0 };
                    mark = byte;
                } else if byte > b' ' {
                    (run, mark) = (0, 0);
                }
                match byte {
                    b'\n' => break,
                    b'(' | b'[' | b'{' => {
                        depth += 1;
                        deepest = deepest.max(depth);
                    }
                    b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            indents.line(&bytes[at..end]);
            longest_line = longest_line.max((end - at) as u32);
            sum += tokens::count_bytes(&bytes[at..end]);
            at = end;
        }
        if starts.is_empty() {
            starts.push(0);
            tokens_before.push(0);
        }
        tokens_before.push(sum);
        Self {
            bytes,
            starts,
            tokens_before,
            bracket_depth: deepest,
            punctuation,
            indent_depth: indents.deepest,
            longest_line,
        }
    }

    /// The bytes this index was made of.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// 0-based line of a byte offset.
    pub fn line_of(&self, offset: u32) -> usize {
        self.starts.partition_point(|&start| start <= offset) - 1
    }

    /// Byte offset where the 0-based line starts.
    pub fn line_start(&self, line: usize) -> u32 {
        self.starts[line]
    }

    /// 1-based inclusive lines of a non-empty byte range.
    pub fn span(&self, range: &Range<u32>) -> LineSpan {
        let start = self.line_of(range.start);
        let end = self.line_of(range.end.saturating_sub(1).max(range.start));
        LineSpan { start: start as u32 + 1, end: end as u32 + 1 }
    }

    /// Tokens of a byte range, equal to counting its text.
    pub fn tokens(&self, range: Range<u32>) -> u32 {
        if range.start >= range.end {
            return 0;
        }
        let first = self.line_of(range.start);
        let last = self.line_of(range.end - 1);
        let part = |from: u32, to: u32| tokens::count_bytes(&self.bytes[from as usize..to as usize]);
        if first == last {
            return if self.covers_line(first, &range) {
                self.tokens_before[first + 1] - self.tokens_before[first]
            } else {
                part(range.start, range.end)
            };
        }
        let head_whole = self.starts[first] == range.start;
        let from = if head_whole { first } else { first + 1 };
        let head = if head_whole { 0 } else { part(range.start, self.starts[first + 1]) };
        let tail_whole = self.line_end(last) == range.end;
        let to = if tail_whole { last + 1 } else { last };
        let tail = if tail_whole { 0 } else { part(self.starts[last], range.end) };
        head + (self.tokens_before[to] - self.tokens_before[from]) + tail
    }

    /// True if only blanks stand between the line start and `offset`.
    pub fn starts_line(&self, offset: u32) -> bool {
        self.bytes[..offset as usize]
            .iter()
            .rev()
            .find(|byte| !matches!(byte, b' ' | b'\t'))
            .is_none_or(|&byte| byte == b'\n')
    }

    /// The start of the line of `offset` if only blanks stand before it, otherwise `offset`.
    pub fn back_to_line_start(&self, offset: u32) -> u32 {
        let blanks = self.bytes[..offset as usize]
            .iter()
            .rev()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        let start = offset as usize - blanks;
        if start == 0 || self.bytes[start - 1] == b'\n' { start as u32 } else { offset }
    }

    /// `range` without blank lines at either end and without trailing white space; `None` if nothing is left. Leading
    /// indentation is kept.
    pub fn trim(&self, range: Range<u32>) -> Option<Range<u32>> {
        let text = &self.bytes[range.start as usize..range.end as usize];
        let first = text.iter().position(|byte| !byte.is_ascii_whitespace())? as u32;
        let last = text.iter().rposition(|byte| !byte.is_ascii_whitespace())? as u32;
        let start = self.back_to_line_start(range.start + first).max(range.start);
        Some(start..range.start + last + 1)
    }

    fn covers_line(&self, line: usize, range: &Range<u32>) -> bool {
        self.starts[line] == range.start && self.line_end(line) == range.end
    }

    fn line_end(&self, line: usize) -> u32 {
        self.starts.get(line + 1).copied().unwrap_or(self.bytes.len() as u32)
    }
}

/// Columns of the indentation that is open at a line, as scanners of indented languages keep them.
#[derive(Default)]
struct Indents {
    columns: Vec<u32>,
    deepest: u32,
}

impl Indents {
    fn line(&mut self, line: &[u8]) {
        for (at, byte) in line.iter().enumerate() {
            let marker = matches!(byte, b'-' | b'?' | b':') && line.get(at + 1) == Some(&b' ');
            match byte {
                b'\n' | b'\r' => return,
                b' ' | b'\t' => {}
                _ => {
                    self.open(at as u32);
                    if !marker {
                        return;
                    }
                }
            }
        }
    }

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
    fn counts_any_range_like_the_tokeniser() {
        let text = "int main(void) {\n\treturn some_function(\"text\", 12345);\n}\n\n/* end */";
        let index = TextIndex::new(text.as_bytes());
        for start in 0..text.len() {
            for end in start..=text.len() {
                let direct = tokens::count(&text[start..end]);
                // A cut inside a word may join or part runs at the two ends only.
                let indexed = index.tokens(start as u32..end as u32);
                assert_eq!(indexed, direct, "{start}..{end}");
            }
        }
    }

    #[test]
    fn lines_and_trimming() {
        let index = TextIndex::new(b"\n\n  a\r\n  b\r\n\n");
        assert_eq!(index.trim(0..13), Some(2..10));
        assert_eq!(index.span(&(2..10)), LineSpan { start: 3, end: 4 });
        assert_eq!(index.trim(0..2), None);
        assert!(index.starts_line(4) && !index.starts_line(5));
        assert_eq!(TextIndex::new(b"").line_of(0), 0);
    }

    #[test]
    fn measures_long_runs_of_changing_punctuation() {
        let beyond = |text: &str| TextIndex::new(text.as_bytes()).punctuation;
        assert_eq!(beyond(&"// =====\n".repeat(16)), 0);
        assert_eq!(beyond(&"// =====\n".repeat(20)), 8);
        assert_eq!(beyond(&["-}".repeat(20), "-}".repeat(17)].join(" a ")), 8 + 2);
    }

    #[test]
    fn measures_bracket_depth() {
        assert_eq!(TextIndex::new(b"([{}]) (").bracket_depth, 3);
    }
}
