//! Ends of comments and literals, inside which delimiters do not count.

use super::matching::{TokenMatch, is_word};
use crate::delimiter::families::{Family, Skip, Token};

/// Finds the ends of comments and literals. Linear in the text, because a failed search is not repeated.
pub(super) struct SkipFinder<'a> {
    bytes: &'a [u8],
    family: &'a Family,
    /// For each skip, the place up to which a failed search has shown that there is no end.
    failed_until: Vec<usize>,
}

impl<'a> SkipFinder<'a> {
    pub fn new(bytes: &'a [u8], family: &'a Family) -> SkipFinder<'a> {
        SkipFinder { bytes, family, failed_until: vec![0; family.skips.len()] }
    }

    /// Returns the end of the comment or literal that `opening` begins; `None` if it begins none. `is_first`
    /// is true if only blanks precede it on its line.
    pub fn end(&mut self, skip: u16, opening: TokenMatch, is_first: bool) -> Option<usize> {
        let index = usize::from(skip);
        // An earlier search from before this place found no end up to there.
        if opening.start < self.failed_until[index] {
            return None;
        }

        let skip = &self.family.skips[index];
        let token = &self.family.tokens[usize::from(opening.token)];

        if skip.close.is_empty() {
            let before = opening.start.checked_sub(1).map_or(b' ', |before| self.bytes[before]);
            // `$#`, `${#x}` and `a#b` hold no comment.
            let is_separated = is_first
                || before.is_ascii_whitespace()
                || matches!(before, b';' | b',' | b')' | b'}' | b']');
            return (token.bytes != b"#" || is_separated).then(|| self.line_end(skip, opening.end));
        }

        if skip.short {
            return self.short_literal_end(skip, opening);
        }

        match self.close_end(skip, token, opening.end) {
            Ok(end) => Some(end),
            Err(searched) => {
                self.failed_until[index] = searched;
                None
            }
        }
    }

    /// Returns the end of the line, or of the last of its continuations.
    fn line_end(&self, skip: &Skip, from: usize) -> usize {
        let mut at = from;
        while at < self.bytes.len() {
            if self.bytes[at] == b'\n' {
                let line = self.bytes[from..at].strip_suffix(b"\r").unwrap_or(&self.bytes[from..at]);
                if !(skip.continued && line.ends_with(b"\\")) {
                    return at;
                }
            }
            at += 1;
        }

        at
    }

    /// Returns the end of a character literal (`'a'`, `'\n'`). `None` for `'a` (a lifetime or label) and for
    /// the second quote of `1'000'000`.
    fn short_literal_end(&self, skip: &Skip, opening: TokenMatch) -> Option<usize> {
        if opening.start > 0 && is_word(self.bytes[opening.start - 1]) {
            return None;
        }

        let inside = &self.bytes[opening.end..self.bytes.len().min(opening.end + 12)];

        let mut at = 0;
        while at < inside.len() && inside[at] != b'\n' {
            if inside[at] == b'\\' && skip.escapes {
                at += 2;
                continue;
            }

            if at > 0 && inside[at..].starts_with(&skip.close) {
                // `'a, 'b` are two lifetimes.
                let literal = &inside[..at];
                let is_short = literal[0] == b'\\'
                    || std::str::from_utf8(literal).is_ok_and(|text| text.chars().count() <= 4);
                let is_literal = is_short && !literal.contains(&b',');
                return is_literal.then_some(opening.end + at + skip.close.len());
            }
            at += 1;
        }

        None
    }

    /// Returns the end of the closing mark, or as error the place up to which there is none.
    fn close_end(&self, skip: &Skip, token: &Token, from: usize) -> Result<usize, usize> {
        let (mut at, mut depth) = (from, 1u32);

        while at < self.bytes.len() {
            let byte = self.bytes[at];
            if byte == b'\n' && !skip.multiline {
                return Err(at);
            }
            if byte == b'\\' && skip.escapes {
                // An escape does not cross the line end that stops a one-line string.
                at += if self.bytes.get(at + 1) == Some(&b'\n') && !skip.multiline { 1 } else { 2 };
                continue;
            }

            let rest = &self.bytes[at..];
            if rest.starts_with(&skip.close) {
                depth -= 1;
                at += skip.close.len();
                if depth == 0 {
                    return Ok(at);
                }
            } else if skip.nested && rest.starts_with(&token.bytes) {
                depth += 1;
                at += token.bytes.len();
            } else {
                at += 1;
            }
        }

        Err(self.bytes.len())
    }
}
