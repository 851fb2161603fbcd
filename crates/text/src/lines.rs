//! Line starts of a text.

use std::ops::Range;

/// Byte offsets at which the lines of a text start.
///
/// A line includes its `\n`. A final `\n` starts no further line. An empty text has one empty line.
#[derive(Debug)]
pub struct LineIndex {
    /// Offsets of the line starts. Never empty; the first is 0.
    starts: Vec<u32>,
    n_bytes: u32,
    ends_with_newline: bool,
}

impl LineIndex {
    /// Indexes `bytes`, which must be shorter than 4 GiB. Linear.
    pub fn new(bytes: &[u8]) -> LineIndex {
        let n_bytes = bytes.len() as u32;
        let mut starts = Vec::with_capacity(bytes.len() / 32 + 2);
        starts.push(0);
        starts.extend(memchr::memchr_iter(b'\n', bytes).map(|at| at as u32 + 1));

        let ends_with_newline = bytes.ends_with(b"\n");
        if ends_with_newline {
            starts.pop();
        }
        LineIndex { starts, n_bytes, ends_with_newline }
    }

    /// Returns the number of lines, at least 1.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the 0-based line of a byte offset; the last line for offsets at or past the end.
    pub fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start as usize <= offset) - 1
    }

    /// Returns the 1-based line of a byte offset as an editor counts: the end of a text after a final `\n` is
    /// on a line of its own.
    pub fn editor_line(&self, offset: usize) -> usize {
        let past_last = self.ends_with_newline && offset >= self.n_bytes as usize;
        self.line_of(offset) + 1 + usize::from(past_last)
    }

    /// Returns the byte offset at which the 0-based line starts; the length of the text for the line after
    /// the last.
    pub fn start(&self, line: usize) -> usize {
        self.starts.get(line).map_or(self.n_bytes as usize, |&start| start as usize)
    }

    /// Returns the byte range of the 0-based line with its `\n`.
    pub fn range(&self, line: usize) -> Range<usize> {
        self.start(line)..self.start(line + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_have_lines_and_lines_have_ranges() {
        for (text, lines) in
            [("", &[""][..]), ("a", &["a"]), ("\n", &["\n"]), ("a\n\nb", &["a\n", "\n", "b"])]
        {
            let index = LineIndex::new(text.as_bytes());
            let ranges: Vec<_> = (0..index.count()).map(|line| index.range(line)).collect();
            assert_eq!(ranges.iter().map(|range| &text[range.clone()]).collect::<Vec<_>>(), lines);
            for (line, range) in ranges.into_iter().enumerate() {
                assert!(range.into_iter().all(|offset| index.line_of(offset) == line), "{text:?}");
            }
            assert_eq!(index.line_of(text.len() + 7), index.count() - 1);
        }
    }

    #[test]
    fn an_editor_shows_a_line_after_a_final_newline() {
        let lines = LineIndex::new(b"a\nb\n");
        assert_eq!([0, 1, 2, 3, 4].map(|offset| lines.editor_line(offset)), [1, 1, 2, 2, 3]);
        let lines = LineIndex::new(b"a\nb");
        assert_eq!([0, 2, 3].map(|offset| lines.editor_line(offset)), [1, 2, 2]);
        assert_eq!(LineIndex::new(b"").editor_line(0), 1);
    }
}
