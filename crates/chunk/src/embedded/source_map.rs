//! A text that is written in another one with escapes, and the place of each of its bytes there.

use std::ops::Range;

use crate::lines::TextIndex;

/// A text made of parts of a document.
#[derive(Default)]
pub(super) struct SourceMap {
    pub text: String,
    /// For each byte of the text, the range of its character in the document.
    places: Vec<Range<u32>>,
}

impl SourceMap {
    /// Adds a text that is not in the document, at an offset of it.
    pub fn push_between(&mut self, text: &str, at: usize) {
        self.text.push_str(text);
        self.places.resize(self.text.len(), at as u32..at as u32);
    }

    /// Adds the contents of a JSON string, which are at `range` of the document.
    pub fn push_string(&mut self, document: &str, range: Range<usize>) {
        let mut at = range.start;

        while let Some(first) = document[at..range.end].chars().next() {
            let (written, length) = match first {
                '\\' => escaped(&document[at..range.end]),
                first => (first, first.len_utf8()),
            };
            self.text.push(written);
            self.places.resize(self.text.len(), at as u32..(at + length) as u32);
            at += length;
        }
    }

    /// Replaces an ASCII character by another one.
    pub fn replace(&mut self, at: usize, with: &str) {
        self.text.replace_range(at..at + with.len(), with);
    }

    /// Returns the place of a non-empty range in the document.
    pub fn place(&self, range: Range<usize>) -> Range<u32> {
        let start = self.places.get(range.start).map_or(0, |place| place.start);
        let end =
            range.end.checked_sub(1).and_then(|last| self.places.get(last)).map_or(start, |place| place.end);
        start..end.max(start)
    }

    /// Returns the place of a non-empty range in the document, up to the ends of its lines where only the
    /// syntax of strings is outside.
    pub fn lines(&self, range: Range<usize>, document: &str, index: &TextIndex<'_>) -> Range<u32> {
        let Range { start, end } = self.place(range);

        let line_start = index.line_start(index.line_of(start));
        let before = &document[line_start as usize..start as usize];
        let is_first = before.trim_start().is_empty() || before.trim_start() == "\"";

        let after = document[end as usize..].lines().next().unwrap_or_default();
        let rest = after.strip_prefix("\\r").unwrap_or(after);
        let rest = rest.strip_prefix("\\n").unwrap_or(rest);
        let is_last = matches!(rest.trim_end(), "\"" | "\"," | "");

        let end = if is_last { end + after.trim_end().len() as u32 } else { end };
        (if is_first { line_start } else { start })..end
    }
}

/// Returns the character that an escape at the beginning of a text stands for, and the length of the escape.
fn escaped(text: &str) -> (char, usize) {
    let letter = text[1..].chars().next();

    match letter {
        Some('n') => ('\n', 2),
        Some('t') => ('\t', 2),
        Some('r') => ('\r', 2),
        Some('b' | 'f') => (' ', 2),
        Some('u') => unicode(text).unwrap_or(('?', 2)),
        Some(other) => (other, 1 + other.len_utf8()),
        None => ('\\', 1),
    }
}

/// Returns the character of `\uXXXX`, or of two of them, and their length.
fn unicode(text: &str) -> Option<(char, usize)> {
    const LENGTH: usize = 6;
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let first = unit(text)?;

    if let Some(c) = char::from_u32(u32::from(first)) {
        return Some((c, LENGTH));
    }
    let second = text.get(LENGTH..).and_then(unit);
    let pair = [first, second.unwrap_or(0)];
    match char::decode_utf16(pair).next() {
        Some(Ok(c)) => Some((c, 2 * LENGTH)),
        _ => Some(('?', LENGTH)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_and_keep_their_places() {
        let document = r#"["a\n", "é\"\u00e9\ud83d\ude00\ud83d"]"#;
        let mut map = SourceMap::default();
        map.push_string(document, 2..5);
        map.push_between("#", 5);
        map.push_string(document, 9..document.len() - 2);
        assert_eq!(map.text, "a\n#é\"é😀?");
        assert_eq!(map.place(0..1), 2..3);
        assert_eq!(map.place(0..2), 2..5);
        let quote = map.text.find('"').unwrap();
        assert_eq!(&document[11..13], "\\\"");
        assert_eq!(map.place(quote..quote + 1), 11..13);
    }
}
