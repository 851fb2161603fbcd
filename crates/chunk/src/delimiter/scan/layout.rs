//! Ranges that layout opens and closes: indentation, columns, blank lines and the ends of lines.

use super::matching::{TokenMatch, is_label, is_word};
use super::{MAX_NESTING, MAX_SEARCH, Scanner};
use crate::delimiter::families::Extent;

impl Scanner<'_> {
    /// Closes and opens by layout at the first text of a line.
    pub(super) fn line_begin(&mut self, candidate: Option<TokenMatch>) {
        self.indent = indentation(&self.bytes[self.line_start..self.at]);
        if self.blank_before {
            self.blank_lines();
        }

        let token = candidate.map(|found| &self.family.tokens[usize::from(found.token)]);
        let skip = token.and_then(|token| token.skip).map(|skip| &self.family.skips[usize::from(skip)]);
        // Comments and directives neither end nor begin a range by their indentation.
        if skip.is_some_and(|skip| skip.is_comment || skip.continued) {
            return;
        }

        // A line that ends or continues the one before begins nothing.
        let byte = self.bytes[self.at];
        let rest = &self.bytes[self.at..];
        let is_closer = matches!(byte, b')' | b']' | b'}' | b'|')
            || rest.starts_with(b"end") && rest.get(3).is_none_or(|&byte| !is_word(byte));
        self.statement_may_end(byte);

        let opens = token.and_then(|token| token.opens);
        let opens_by_layout = opens.is_some_and(|index| self.definition(index).extent == Extent::Dedent);
        if !is_closer {
            while self.dedents.last().is_some_and(|open| open.indent >= self.indent) {
                self.close_dedent();
            }

            let layout = if self.indent == 0 { self.top.or(self.indented) } else { self.indented };
            if let (Some(delimiter), false) = (layout, opens_by_layout) {
                self.open_by_extent(delimiter, None, self.at, self.at);
            }
        }

        if let Some(delimiter) =
            self.label.filter(|_| opens.is_none() && is_label(&self.bytes[self.at..], self.indent))
        {
            self.open_by_extent(delimiter, None, self.at, self.at);
        }
    }

    /// Closes and opens by layout at the first text after a blank line.
    fn blank_lines(&mut self) {
        for open in std::mem::take(&mut self.blanks) {
            self.close_at(open, self.text_end);
        }

        if let Some(delimiter) = self.paragraph {
            let open = self.opened(delimiter, None, self.at, self.at);
            self.blanks.push(open);
        }
    }

    /// Closes the innermost range that ends at a dedent.
    fn close_dedent(&mut self) {
        if let Some(open) = self.dedents.pop() {
            self.close_at(open, self.code_end);
        }
    }

    /// Ends the statement at a line that is not deeper than its keyword, in families whose statements end
    /// with the line.
    fn statement_may_end(&mut self, byte: u8) {
        if !self.family.newline_ends {
            return;
        }

        let outside = self.stack.last().map_or(0, |open| open.brackets);
        if let Some(pending) = self.pending {
            let continues = matches!(byte, b'{' | b')' | b':' | b'-') || self.indent > pending.indent;
            if !continues && self.brackets <= pending.brackets {
                self.pending = None;
            }
        }

        if self.pending.is_none() && self.brackets == outside && byte != b'{' {
            self.statement = None;
            self.after_parenthesis = false;
        }
    }

    /// Closes all ranges that the end of the text may end.
    pub(super) fn end_of_text(&mut self) {
        self.flush_comments();

        let mut rest = std::mem::take(&mut self.lines);
        rest.append(&mut self.blanks);
        for open in rest {
            self.close_at(open, self.text_end);
        }

        let mut rest = std::mem::take(&mut self.dedents);
        rest.append(&mut self.nexts);
        for open in rest {
            self.close_at(open, self.code_end);
        }
    }

    /// Opens a range that ends by its extent.
    pub(super) fn open_by_extent(&mut self, delimiter: u16, token: Option<u16>, start: usize, end: usize) {
        let definition = self.definition(delimiter);
        let open = self.opened(delimiter, token, start, end);

        match definition.extent {
            // A second keyword on the line belongs to the first.
            Extent::Dedent
                if self.dedents.len() < MAX_NESTING
                    && self.dedents.last().is_none_or(|last| last.line_start != open.line_start) =>
            {
                self.dedents.push(open);
            }
            Extent::Next => {
                while let Some(last) = self
                    .nexts
                    .last()
                    .copied()
                    .filter(|last| self.definition(last.delimiter).priority <= definition.priority)
                {
                    self.nexts.pop();
                    let end = self.code_end.max(last.mark_end).min(start);
                    self.close_at(last, end);
                }
                self.nexts.push(open);
            }
            Extent::Line if self.lines.len() < MAX_SEARCH => self.lines.push(open),
            Extent::Blank if self.blanks.len() < MAX_SEARCH => self.blanks.push(open),
            _ => {}
        }
    }
}

/// Returns the width of blanks in columns, with tab stops at every eighth.
fn indentation(blanks: &[u8]) -> u32 {
    blanks.iter().fold(0, |width, byte| if *byte == b'\t' { width / 8 * 8 + 8 } else { width + 1 })
}
