//! Finds the delimiter pairs of a text with their nesting, in one pass.
//!
//! At every place outside comments and literals the longest token of the family is used. A nestable end
//! closes the latest open start that it can end; any other end closes the latest start of its kind. Starts
//! without an end are ignored. Layout (indentation, columns, blank lines) opens and closes at the first text
//! of a line. There is no backtracking: work per byte is bounded by the size of the family, and a failed
//! search for the end of a literal is not repeated.
//!
//! [`matching`] finds the tokens at a place and [`skips`] the ends of comments and literals. [`tokens`],
//! [`bodies`], [`tags`] and [`layout`] open and close pairs. [`lexemes()`] reads a text by the same tables
//! without its nesting.

mod bodies;
mod layout;
mod lexemes;
mod matching;
mod skips;
mod tags;
mod tokens;

use super::families::{Delimiter, Family, Layout};
use matching::{COLUMN_7, Candidates, TokenMatch, is_word};
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
    /// The pair that the last `}` closed, if a further `{` on the line would be its body.
    closed_body: Option<Open>,
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
            closed_body: None,
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
            if self.at == self.line_start && self.has_number() {
                self.at += COLUMN_7;
                continue;
            }

            match self.bytes[self.at] {
                b'\n' => self.line_end(),
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => self.text(),
            }
        }
        self.end_of_text();
    }

    /// Returns whether the line that begins here begins with its number.
    fn has_number(&self) -> bool {
        let first = self.bytes[self.at..].get(..COLUMN_7).filter(|_| self.family.numbered_lines);
        first.is_some_and(|first| first.iter().all(u8::is_ascii_digit))
    }

    fn line_end(&mut self) {
        for open in std::mem::take(&mut self.lines) {
            self.close_at(open, self.text_end);
        }
        // Behind a `\`, the statement goes on.
        if !self.bytes[..self.at].ends_with(b"\\") {
            self.closed_body = None;
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
