//! Finds the delimiter pairs of a text with their nesting, in one pass.
//!
//! At every place outside comments and literals the longest token of the family is used. A nestable end
//! closes the latest open start that it can end; any other end closes the latest start of its kind. Starts
//! without an end are ignored. Layout (indentation, columns, blank lines) opens and closes at the first text
//! of a line. There is no backtracking: work per byte is bounded by the size of the family, and a failed
//! search for the end of a literal is not repeated.

mod lexemes;
mod matching;
mod skips;
mod tags;

use super::families::{Anchor, Delimiter, Extent, Family, Layout, Token};
use matching::{Candidates, TokenMatch, is_label, is_word};
use skips::SkipFinder;
use tags::Tags;

pub use lexemes::{Lexeme, LexemeKind, lexemes};

/// A pair of delimiters, or a range that ends by layout. Offsets in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Boundary {
    pub start: usize,
    pub end: usize,
    /// Range without the marks.
    pub inner: (usize, usize),
    /// Index into the delimiters of the family.
    pub delimiter: u16,
    pub start_token: Option<u16>,
    pub end_token: Option<u16>,
    /// Number of open delimiters around it.
    pub nesting: u8,
}

/// Depth from which pairs are matched but not reported, because the text is not cut at them.
const MAX_NESTING: usize = 64;
/// Number of open starts among which an end searches its start. It bounds the cost of unbalanced text.
const MAX_SEARCH: usize = 32;
/// Maximum number of reported pairs, more than any file of indexed size has in practice.
const MAX_BOUNDARIES: usize = 400_000;
/// Minimum length of reported pairs of low priority inside one line.
const MIN_INLINE_BYTES: usize = 256;
/// Maximum length of modifiers, attributes and return types that belong to the definition after them.
const MAX_HEAD_BYTES: usize = 2000;
/// Highest priority of control flow (`if`, loops, `try`).
const MAX_CONTROL_PRIORITY: u8 = 50;

/// Returns all pairs of `text`, by start, the longer first.
pub(crate) fn scan(text: &str, family: &Family) -> Vec<Boundary> {
    let mut scanner = Scanner::new(text.as_bytes(), family);
    scanner.run();

    let mut found = scanner.found;
    found.sort_unstable_by_key(|b| (b.start, std::cmp::Reverse(b.end), b.delimiter));
    found
}

/// A start whose end has not been reached.
#[derive(Clone, Copy)]
struct Open {
    delimiter: u16,
    token: Option<u16>,
    start: usize,
    /// End of the start mark.
    mark_end: usize,
    /// Start of the line that the start is on.
    line_start: usize,
    indent: u32,
    nesting: u32,
    /// Bracket depth outside the pair.
    brackets: u32,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    family: &'a Family,
    found: Vec<Boundary>,
    /// The current place, and the start of its line.
    at: usize,
    line_start: usize,
    /// Indentation of the current line in columns, with tab stops at every eighth.
    indent: u32,
    /// True if only blanks precede the current place on its line.
    at_line_beginning: bool,
    /// True if a blank line, or the beginning of the text, precedes the current line.
    blank_before: bool,
    /// End of the last non-blank text.
    text_end: usize,
    /// End of the last non-blank text that is not a comment.
    code_end: usize,
    /// Open nestable pairs.
    stack: Vec<Open>,
    /// Open pairs that do not nest, at most one of each kind.
    flat: Vec<Open>,
    /// Open ranges by the place that ends them: a dedent, the next of their extent, a blank line, the end of
    /// the line.
    dedents: Vec<Open>,
    nexts: Vec<Open>,
    blanks: Vec<Open>,
    lines: Vec<Open>,
    tags: Tags,
    /// The keyword of a statement whose body has not begun yet.
    pending: Option<Open>,
    /// Start of the current statement.
    statement: Option<usize>,
    /// True if a `)` outside of brackets precedes the current place, as before the body of a function.
    after_parenthesis: bool,
    /// Number of open `(` and `[`.
    brackets: u32,
    /// The current block of comments.
    comments: Option<Open>,
    skips: SkipFinder<'a>,
    /// Delimiters of the family that start by layout.
    top: Option<u16>,
    indented: Option<u16>,
    label: Option<u16>,
    tag: Option<u16>,
    paragraph: Option<u16>,
}

impl<'a> Scanner<'a> {
    fn new(bytes: &'a [u8], family: &'a Family) -> Self {
        let layout = |wanted| layout_delimiter(family, wanted);

        Self {
            bytes,
            family,
            found: Vec::new(),
            at: 0,
            line_start: 0,
            indent: 0,
            at_line_beginning: true,
            blank_before: true,
            text_end: 0,
            code_end: 0,
            stack: Vec::new(),
            flat: Vec::new(),
            dedents: Vec::new(),
            nexts: Vec::new(),
            blanks: Vec::new(),
            lines: Vec::new(),
            tags: Tags::default(),
            pending: None,
            statement: None,
            after_parenthesis: false,
            brackets: 0,
            comments: None,
            skips: SkipFinder::new(bytes, family),
            top: layout(Layout::Top),
            indented: layout(Layout::Indent),
            label: layout(Layout::Label),
            tag: layout(Layout::Tag),
            paragraph: layout(Layout::Paragraph),
        }
    }

    /// Returns the delimiter at an index of the family.
    fn definition(&self, delimiter: u16) -> &'a Delimiter {
        &self.family.delimiters[usize::from(delimiter)]
    }

    /// Reads the text from its beginning to its end.
    fn run(&mut self) {
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\n' => self.line_end(),
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => self.text(),
            }
        }
        self.end_of_text();
    }

    fn line_end(&mut self) {
        for open in std::mem::take(&mut self.lines) {
            self.close_at(open, self.text_end);
        }
        self.blank_before = self.at_line_beginning;
        self.at += 1;
        self.line_start = self.at;
        self.at_line_beginning = true;
    }

    /// Reads the comment, literal, token or plain text that begins at a non-blank byte.
    fn text(&mut self) {
        let is_first = std::mem::take(&mut self.at_line_beginning);
        let mut candidates = Candidates::at(self.bytes[self.at]);
        let mut candidate = candidates.next(self, is_first);

        if is_first {
            self.line_begin(candidate);
        }

        let start = self.at;
        let mut is_comment = false;
        loop {
            let Some(found) = candidate else {
                self.code(start);
                self.plain(start);
                break;
            };
            if let Some(skip) = self.family.tokens[usize::from(found.token)].skip {
                if let Some(skip_end) = self.skips.end(skip, found, is_first) {
                    is_comment = self.family.skips[usize::from(skip)].is_comment;
                    if is_comment {
                        self.comment(start, skip_end, is_first);
                    } else {
                        self.code(start);
                    }
                    self.pass_over(skip_end);
                    break;
                }
            } else {
                self.code(start);
                if self.token(found) {
                    self.at = found.end;
                    break;
                }
            }

            // The token has no meaning here; a shorter one may have.
            candidate = candidates.next(self, is_first);
        }

        self.text_end = self.at;
        if !is_comment {
            self.code_end = self.at;
        }
    }

    /// Prepares for text that is not a comment.
    fn code(&mut self, start: usize) {
        self.flush_comments();
        self.statement.get_or_insert(start);
    }

    /// Reads text that is not a token: a tag, a word or a punctuation character.
    fn plain(&mut self, start: usize) {
        let byte = self.bytes[start];
        if let Some(delimiter) = self.tag
            && let Some(step) = self.tags.read(self.bytes, start, self.line_start, delimiter)
        {
            self.at = step.at;
            if let Some((boundary, line_start)) = step.closed {
                self.report(boundary, line_start);
            }
            return;
        }

        self.at = start + 1;
        if is_word(byte) {
            while self.at < self.bytes.len() && is_word(self.bytes[self.at]) {
                self.at += 1;
            }
        } else {
            self.punctuation(byte, start);
        }
    }

    /// Moves to `end` and updates the line start.
    fn pass_over(&mut self, end: usize) {
        if let Some(newline) = self.bytes[self.at..end].iter().rposition(|&byte| byte == b'\n') {
            self.line_start = self.at + newline + 1;
        }
        self.at = end;
    }

    // ---- layout

    /// Closes and opens by layout at the first text of a line.
    fn line_begin(&mut self, candidate: Option<TokenMatch>) {
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

        if let Some(delimiter) = self.label.filter(|_| is_label(&self.bytes[self.at..])) {
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
    fn end_of_text(&mut self) {
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

    // ---- tokens

    /// Opens or closes the pair of a token. Returns false if the token has no meaning at this place.
    fn token(&mut self, found: TokenMatch) -> bool {
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

    /// Opens a range that ends by its extent.
    fn open_by_extent(&mut self, delimiter: u16, token: Option<u16>, start: usize, end: usize) {
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

    /// Returns a start at the current place, with its surroundings.
    fn opened(&self, delimiter: u16, token: Option<u16>, start: usize, mark_end: usize) -> Open {
        let depth = self.stack.len() + self.dedents.len() + self.nexts.len();

        Open {
            delimiter,
            token,
            start,
            mark_end,
            line_start: self.line_start,
            indent: self.indent,
            nesting: u32::try_from(depth).unwrap_or(u32::MAX),
            brackets: self.brackets,
        }
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

    // ---- statements with a body in braces

    /// Remembers a keyword whose body follows in braces. Returns false if it is used as a name.
    fn open_head(&mut self, delimiter: u16, found: TokenMatch) -> bool {
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

    /// Opens the body of the remembered keyword, or of a function after `)`, or a plain block.
    fn open_brace(&mut self, delimiter: u16, found: TokenMatch) {
        let TokenMatch { token, start, end } = found;
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
    fn punctuation(&mut self, byte: u8, at: usize) {
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

    // ---- comments

    /// Adds a comment. Adjacent comments that begin their lines form one block.
    fn comment(&mut self, start: usize, end: usize, first: bool) {
        if !first {
            self.flush_comments();
            return;
        }

        match &mut self.comments {
            Some(run) if !self.blank_before => run.mark_end = end,
            _ => {
                self.flush_comments();
                self.comments = Some(self.opened(self.family.comment, None, start, end));
            }
        }
    }

    /// Reports the current block of comments if it has more than one line.
    fn flush_comments(&mut self) {
        let Some(run) = self.comments.take() else { return };
        let lines = &self.bytes[run.start..run.mark_end];
        if lines.trim_ascii_end().contains(&b'\n') {
            self.close_at(run, run.mark_end);
        }
    }

    // ---- results

    /// Reports a pair that an end token closes.
    fn pair(&mut self, open: Open, found: TokenMatch) {
        let boundary = self.boundary(&open, found.end, Some(found.token), found.start);
        self.report(boundary, open.line_start);
    }

    /// Reports a range that ends without a token, unless it is empty.
    fn close_at(&mut self, open: Open, end: usize) {
        if end > open.start {
            let boundary = self.boundary(&open, end, None, end);
            self.report(boundary, open.line_start);
        }
    }

    fn boundary(&self, open: &Open, end: usize, end_token: Option<u16>, inner_end: usize) -> Boundary {
        Boundary {
            start: open.start,
            end,
            inner: (open.mark_end.min(inner_end), inner_end),
            delimiter: open.delimiter,
            start_token: open.token,
            end_token,
            nesting: u8::try_from(open.nesting).unwrap_or(u8::MAX),
        }
    }

    /// Adds a pair, unless it is unimportant: deeply nested, or of low priority and short.
    fn report(&mut self, boundary: Boundary, line_start: usize) {
        let priority = self.definition(boundary.delimiter).priority;
        let matters = boundary.delimiter < self.family.n_custom
            || priority >= 40
            || line_start != self.line_start
            || boundary.end - boundary.start >= MIN_INLINE_BYTES;

        if matters && usize::from(boundary.nesting) < MAX_NESTING && self.found.len() < MAX_BOUNDARIES {
            self.found.push(boundary);
        }
    }
}

/// Returns the delimiter of a family that starts by a layout.
fn layout_delimiter(family: &Family, wanted: Layout) -> Option<u16> {
    family.layout.iter().find(|(layout, _)| *layout == wanted).map(|&(_, index)| index)
}

/// Returns the width of blanks in columns, with tab stops at every eighth.
fn indentation(blanks: &[u8]) -> u32 {
    blanks.iter().fold(0, |width, byte| if *byte == b'\t' { width / 8 * 8 + 8 } else { width + 1 })
}
