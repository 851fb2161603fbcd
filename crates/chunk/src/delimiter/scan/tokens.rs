//! Pairs that tokens open and close.

use super::matching::TokenMatch;
use super::{MAX_SEARCH, Open, Scanner};
use crate::delimiter::families::{Extent, Token};

impl Scanner<'_> {
    /// Opens or closes the pair of a token. Returns false if the token has no meaning at this place.
    pub(super) fn token(&mut self, found: TokenMatch) -> bool {
        let family = self.family;
        let token = &family.tokens[usize::from(found.token)];
        let TokenMatch { start, end, .. } = found;
        let byte = self.bytes[start];

        // A bracket in column 0 begins a definition, whatever was left open before it.
        if family.column_0_resets && start == self.line_start && byte == b'(' {
            self.stack.clear();
        }

        let closed = token.closes_any() && self.close(found, token);
        if byte == b'}' && end - start == 1 {
            (self.statement, self.after_parenthesis, self.pending) = (None, false, None);
        }

        let opened = match token.opens {
            Some(delimiter) if !closed => self.open(delimiter, found),
            _ => false,
        };

        if end - start == 1 && !matches!(byte, b'{' | b'}') {
            // The end of a pair has restored the depth outside of it, which `punctuation` lowers once more.
            self.brackets += u32::from(closed && matches!(byte, b')' | b']'));
            self.punctuation(byte, start);
        }

        closed || opened || token.closes_any()
    }

    /// Opens a delimiter at its start token. Returns false if the token is a name at this place.
    fn open(&mut self, delimiter: u16, found: TokenMatch) -> bool {
        let TokenMatch { token, start, end } = found;
        let definition = self.definition(delimiter);

        match definition.extent {
            Extent::Body => self.open_head(delimiter, found),
            Extent::Pair if !definition.nestable => {
                let open = self.opened(delimiter, Some(token), start, end);
                let kind = definition.kind;
                // An unclosed pair of the same kind is given up.
                self.flat.retain(|other| self.family.delimiters[usize::from(other.delimiter)].kind != kind);
                self.flat.push(open);
                true
            }
            Extent::Pair if self.bytes[start] == b'{' && end - start == 1 => {
                self.open_brace(delimiter, found);
                true
            }
            Extent::Pair => {
                if definition.soft && self.opened_on_this_line(delimiter) {
                    return true;
                }
                let open = self.opened(delimiter, Some(token), start, end);
                self.stack.push(open);
                true
            }
            _ => {
                self.open_by_extent(delimiter, Some(token), start, end);
                true
            }
        }
    }

    /// Returns whether a start on this line has the same end: in `while x do`, the loop has opened the pair
    /// that `end` closes.
    fn opened_on_this_line(&self, delimiter: u16) -> bool {
        const MAX_STARTS: usize = 4;

        for open in self.stack.iter().rev().take(MAX_STARTS) {
            if open.line_start != self.line_start {
                break;
            }
            if !self.definition(open.delimiter).soft && self.has_common_end(open.delimiter, delimiter) {
                return true;
            }
        }

        false
    }

    /// Returns whether some token ends both delimiters.
    fn has_common_end(&self, one: u16, other: u16) -> bool {
        self.family.tokens.iter().any(|token| token.closes(one) && token.closes(other))
    }

    /// Closes the pair that an end token ends. Returns false if there is none.
    fn close(&mut self, found: TokenMatch, token: &Token) -> bool {
        if let Some(position) = self.flat.iter().rposition(|open| token.closes(open.delimiter)) {
            let open = self.flat.remove(position);
            self.pair(open, found);
            return true;
        }

        let Some(position) = self.start_of(token, found.start) else { return false };
        let open = self.stack[position];

        // Starts that were opened later have no end.
        self.stack.truncate(position);
        if found.end - found.start == 1 && self.bytes[found.start] == b'}' {
            self.closed_body = Some(open).filter(|_| self.may_have_further_body(open.delimiter));
        }
        self.brackets = open.brackets;
        self.pair(open, found);
        true
    }

    /// Returns the latest start that `token` can end. A word at the start of a line ends the latest start
    /// with the indentation of the line, if there is one.
    fn start_of(&self, token: &Token, start: usize) -> Option<usize> {
        let (latest, _) = self.endable(token).next()?;

        if token.bytes == b";" {
            // `;` ends all open statements (`create view … as select …;`) up to the enclosing block.
            let open = self.stack.iter().rev().take(MAX_SEARCH);
            let n_ended = open.take_while(|open| token.closes(open.delimiter)).count();
            return (n_ended > 0).then(|| self.stack.len() - n_ended);
        }

        let first_word = token.bytes.first().is_some_and(u8::is_ascii_alphabetic)
            && self.bytes[self.line_start..start].iter().all(u8::is_ascii_whitespace);
        if !first_word {
            return Some(latest);
        }

        let aligned = self.endable(token).find(|(_, open)| open.indent == self.indent);
        Some(aligned.map_or(latest, |(position, _)| position))
    }

    /// Returns the starts on the stack that `token` can end with their positions, the latest first.
    fn endable<'s>(&'s self, token: &'s Token) -> impl Iterator<Item = (usize, &'s Open)> {
        let recent = self.stack.iter().enumerate().rev().take(MAX_SEARCH);
        recent.filter(move |(_, open)| token.closes(open.delimiter))
    }
}
