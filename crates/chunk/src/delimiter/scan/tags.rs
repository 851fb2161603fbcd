//! Elements of markup: `<name …>` … `</name>`.

use super::matching::is_word;
use super::{Boundary, MAX_SEARCH};

/// Open elements of a markup text.
#[derive(Default)]
pub(super) struct Tags {
    open: Vec<OpenTag>,
    /// True between `<name` and `>`.
    in_tag: bool,
}

struct OpenTag {
    start: usize,
    name: (usize, usize),
    /// End of the start tag.
    mark_end: usize,
    /// Start of the line that the tag is on.
    line_start: usize,
}

/// The result of reading at a place.
pub(super) struct TagStep {
    /// The place after the text that was read.
    pub at: usize,
    /// The element that it closes, with the start of the line on which the element begins.
    pub closed: Option<(Boundary, usize)>,
}

impl Tags {
    /// Reads `<name`, `</name>` or `>` at `start`; `None` if it is none of them. `delimiter` is the delimiter
    /// of elements.
    pub fn read(&mut self, bytes: &[u8], start: usize, line_start: usize, delimiter: u16) -> Option<TagStep> {
        if bytes[start] == b'>' && self.in_tag {
            self.end_tag(bytes, start);
            return Some(TagStep { at: start + 1, closed: None });
        }
        if bytes[start] != b'<' {
            return None;
        }

        let is_closing = bytes.get(start + 1) == Some(&b'/');
        let name_start = start + 1 + usize::from(is_closing);
        let length = bytes[name_start..]
            .iter()
            .take(64)
            .take_while(|&&byte| is_word(byte) || matches!(byte, b':' | b'.' | b'-'))
            .count();
        let name = (name_start, name_start + length);
        // `<!--`, `<?` and a bare `<` begin no element.
        if length == 0 || !bytes[name_start].is_ascii_alphabetic() {
            return None;
        }

        // A name cut at its length limit could end inside a character.
        let mut at = name.1;
        while at < bytes.len() && bytes[at] >= 0x80 {
            at += 1;
        }

        if is_closing {
            return Some(self.close(bytes, at, name, delimiter));
        }

        self.in_tag = true;
        self.open.push(OpenTag { start, name, mark_end: name.1, line_start });
        Some(TagStep { at, closed: None })
    }

    /// Ends a start tag at its `>`; after `/` the element ends too.
    fn end_tag(&mut self, bytes: &[u8], at: usize) {
        self.in_tag = false;
        if at > 0 && bytes[at - 1] == b'/' {
            self.open.pop();
        } else if let Some(tag) = self.open.last_mut() {
            tag.mark_end = at + 1;
        }
    }

    /// Closes the latest open element of that name, in any case, and drops those opened after it.
    fn close(&mut self, bytes: &[u8], at: usize, name: (usize, usize), delimiter: u16) -> TagStep {
        let text = &bytes[name.0..name.1];
        let recent = self.open.iter().enumerate().rev().take(MAX_SEARCH);
        let found =
            recent.into_iter().find(|(_, tag)| bytes[tag.name.0..tag.name.1].eq_ignore_ascii_case(text));
        let Some((position, tag)) = found else {
            return TagStep { at, closed: None };
        };

        let end = if bytes.get(at) == Some(&b'>') { at + 1 } else { at };
        let boundary = Boundary {
            start: tag.start,
            end,
            inner: (tag.mark_end, name.0.saturating_sub(2).max(tag.mark_end)),
            delimiter,
            start_token: None,
            end_token: None,
            nesting: u8::try_from(position).unwrap_or(u8::MAX),
        };

        let line_start = tag.line_start;
        self.open.truncate(position);
        TagStep { at: end, closed: Some((boundary, line_start)) }
    }
}
