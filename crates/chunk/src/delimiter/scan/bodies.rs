//! Statements with a body in braces: the keyword or head before the body, and the brackets between them.

use super::matching::{TokenMatch, is_word};
use super::{Boundary, Open, Scanner};
use crate::delimiter::families::{Anchor, Extent};

/// Maximum length of modifiers, attributes and return types that belong to the definition after them.
const MAX_HEAD_BYTES: usize = 2000;
/// Highest priority of control flow (`if`, loops, `try`).
const MAX_CONTROL_PRIORITY: u8 = 50;

impl Scanner<'_> {
    /// Remembers a keyword whose body follows in braces. Returns false if it is used as a name.
    pub(super) fn open_head(&mut self, delimiter: u16, found: TokenMatch) -> bool {
        let TokenMatch { token, start, end } = found;
        // `class:` and `type,` are names, not keywords.
        if is_word(self.bytes[start])
            && matches!(self.bytes.get(end), Some(b':' | b'=' | b',' | b'.' | b';' | b'?'))
        {
            return false;
        }

        // The keyword of a definition is not replaced by one in its head.
        let pending = self.pending.as_ref();
        if pending.is_none_or(|open| self.definition(open.delimiter).priority <= MAX_CONTROL_PRIORITY) {
            self.pending = Some(self.opened(delimiter, Some(token), start, end));
        }
        true
    }

    /// Returns whether a pair is that of a keyword whose body may be a later one on the line.
    pub(super) fn may_have_further_body(&self, delimiter: u16) -> bool {
        self.family.last_body && self.definition(delimiter).extent == Extent::Body
    }

    /// Opens the pair that was closed last again, at a further `{` of its statement. Returns false if there
    /// is none.
    fn reopen(&mut self, mark_end: usize) -> bool {
        let Some(closed) = self.closed_body.take().filter(|_| self.pending.is_none()) else { return false };

        // Its end was no end.
        let is_it = |found: &mut Boundary| (found.start, found.delimiter) == (closed.start, closed.delimiter);
        self.found.pop_if(is_it);
        self.stack.push(Open { mark_end, ..closed });
        true
    }

    /// Opens the body of the remembered keyword, or of a function after `)`, or a plain block.
    pub(super) fn open_brace(&mut self, delimiter: u16, found: TokenMatch) {
        let TokenMatch { token, start, end } = found;
        if self.reopen(end) {
            (self.statement, self.after_parenthesis) = (None, false);
            return;
        }

        let head = self.pending.filter(|head| self.brackets <= head.brackets);
        let call = self.after_parenthesis.then_some(self.family.paren_body).flatten();

        let mut open = self.opened(delimiter, Some(token), start, end);
        let statement = self.statement.filter(|&statement| start - statement <= MAX_HEAD_BYTES);

        match (head, call) {
            // `struct point *make(int x) {` is a function.
            (Some(head), call)
                if call.is_none() || !matches!(self.definition(head.delimiter).kind, "struct" | "enum") =>
            {
                self.pending = None;
                open = Open { delimiter: head.delimiter, token: head.token, indent: head.indent, ..open };

                // Nothing precedes a keyword that must begin its line.
                let is_anchored = head
                    .token
                    .is_some_and(|token| self.family.tokens[usize::from(token)].anchor != Anchor::Anywhere);
                let statement = statement.filter(|_| !is_anchored);
                open.start = statement.unwrap_or(head.start).min(head.start);
                open.line_start = head.line_start;
            }
            (_, Some(function)) => {
                self.pending = None;
                open.delimiter = function;
                open.start = statement.unwrap_or(start);
            }
            _ => {}
        }

        self.stack.push(open);
        (self.statement, self.after_parenthesis) = (None, false);
    }

    /// Tracks brackets and the ends of statements, for families with bodies.
    pub(super) fn punctuation(&mut self, byte: u8, at: usize) {
        if !self.family.has_bodies {
            return;
        }

        let outside = self.stack.last().map_or(0, |open| open.brackets);
        match byte {
            b'(' | b'[' => self.brackets += 1,
            b')' | b']' => {
                self.brackets = self.brackets.saturating_sub(1);
                self.pending = self.pending.filter(|pending| self.brackets >= pending.brackets);
                self.after_parenthesis = byte == b')' && self.brackets <= outside;
            }
            b';' if self.brackets <= outside => {
                (self.statement, self.after_parenthesis, self.pending) = (None, false, None);
                self.closed_body = None;
            }
            b',' if self.brackets <= outside => self.after_parenthesis = false,
            b'=' if !matches!(self.bytes.get(at + 1), Some(b'>' | b'=')) => {
                self.after_parenthesis = false;
                // `x = {` is a value, whatever keyword precedes the name.
                self.pending = self.pending.filter(|open| self.outlasts_assignment(open));
            }
            _ => {}
        }
    }

    /// Returns whether a keyword still waits for its body after a `=`.
    fn outlasts_assignment(&self, open: &Open) -> bool {
        let definition = self.definition(open.delimiter);
        definition.priority <= MAX_CONTROL_PRIORITY
            || definition.kind == "type_alias"
            || self.brackets > open.brackets
    }
}
