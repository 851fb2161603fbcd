//! Scan: the string literals of a text by the marks of its language.

use memchr::memmem;

use super::Literal;
use super::syntax::Syntax;

/// Maximum length of a literal. A longer one is data, or its end was missed.
const MAX_BYTES: usize = 4000;
/// Maximum length of an expression inside of a literal.
const MAX_EXPRESSION: usize = 300;
/// Minimum length of a value without marks, in words.
const MIN_BARE_WORDS: usize = 2;

/// Returns the literals of `text`, in order.
pub fn literals(text: &[u8], syntax: &Syntax) -> Vec<Literal> {
    let begins = beginnings(syntax);
    let mut scan = Scan { text, syntax, at: 0, found: Vec::new() };

    // Nearly all bytes begin nothing.
    while let Some(ahead) = scan.rest().iter().position(|&byte| begins[usize::from(byte)]) {
        scan.at += ahead;
        scan.step();
    }
    scan.found
}

/// The bytes with which a comment or a literal may begin.
fn beginnings(syntax: &Syntax) -> [bool; 256] {
    let mut begins = [false; 256];
    let open = syntax.block_comment.map(|(open, _)| open);
    let comments = syntax.line_comments.iter().copied().chain(open);
    let first = comments.filter_map(|mark| mark.bytes().next());

    for byte in first.chain(*b"\"'`[>:=<\\") {
        begins[usize::from(byte)] = true;
    }
    begins
}

/// A text that is read from its beginning to its end.
struct Scan<'a> {
    text: &'a [u8],
    syntax: &'a Syntax,
    at: usize,
    found: Vec<Literal>,
}

impl Scan<'_> {
    fn rest(&self) -> &[u8] {
        &self.text[self.at..]
    }

    /// Reads the comment, literal or character at the current place.
    fn step(&mut self) {
        if self.comment() || self.heredoc() || self.line_string() {
            return;
        }

        let byte = self.text[self.at];
        let is_read = match byte {
            b'"' => self.triple(b"\"\"\"") || self.raw() || self.quoted(byte),
            b'\'' if self.syntax.has_single_quotes => {
                let is_apostrophe = self.before(1).is_some_and(|byte| byte.is_ascii_alphanumeric())
                    && self.before(2).is_some_and(|byte| byte.is_ascii_alphanumeric());
                !is_apostrophe && (self.triple(b"'''") || self.quoted(byte))
            }
            b'\'' => self.character(),
            b'`' if self.syntax.has_back_ticks => self.quoted(byte),
            b'[' if self.syntax.has_long_brackets && self.rest().starts_with(b"[[") => {
                self.until(b"[[", b"]]", true)
            }
            b'>' if self.syntax.has_tags => self.between_tags(),
            b':' | b'=' if self.syntax.has_bare_values => self.bare_value(),
            _ => false,
        };

        if !is_read {
            self.at += 1;
        }
    }

    /// The byte `n` before the current place.
    fn before(&self, n: usize) -> Option<u8> {
        self.at.checked_sub(n).map(|at| self.text[at])
    }

    /// Passes over a comment. Returns whether there is one.
    fn comment(&mut self) -> bool {
        if let Some((open, close)) = self.syntax.block_comment
            && self.rest().starts_with(open.as_bytes())
        {
            let inside = &self.text[self.at + open.len()..];
            let end = memmem::find(inside, close.as_bytes()).map_or(inside.len(), |end| end + close.len());
            self.at += open.len() + end;
            return true;
        }

        let begins = self.syntax.line_comments.iter().any(|mark| self.rest().starts_with(mark.as_bytes()));
        // `$#`, `a#b` and the address `https://…` are no comments.
        let is_separated = match self.text[self.at] {
            b'#' => self.before(1).is_none_or(|byte| byte.is_ascii_whitespace() || b";,)}]".contains(&byte)),
            _ => self.before(1) != Some(b':'),
        };
        if begins && is_separated {
            self.at = self.end_of_line();
            return true;
        }
        false
    }

    fn end_of_line(&self) -> usize {
        memchr::memchr(b'\n', self.rest()).map_or(self.text.len(), |end| self.at + end)
    }

    /// Adds the literal between marks of the lengths `open` and `close`, whose inside is `len` long, and
    /// moves behind it.
    fn add(&mut self, open: usize, len: usize, close: usize, is_raw: bool) -> bool {
        let start = self.at + open;
        let outer = self.at..start + len + close;
        self.at = outer.end;
        self.found.push(Literal { range: start..start + len, outer, is_raw });
        true
    }

    /// Reads a literal that ends at the next `close`. A long one, such as documentation, is passed over.
    fn until(&mut self, open: &[u8], close: &[u8], is_raw: bool) -> bool {
        let inside = &self.text[self.at + open.len()..];
        match memmem::find(inside, close) {
            Some(len) if len <= MAX_BYTES => self.add(open.len(), len, close.len(), is_raw),
            Some(len) => {
                self.at += open.len() + len + close.len();
                true
            }
            None => false,
        }
    }

    /// Reads a literal between three marks.
    fn triple(&mut self, mark: &[u8]) -> bool {
        self.rest().starts_with(mark) && self.until(mark, mark, false)
    }

    /// Reads the literals `r"…"`, `r#"…"#`, `R"x(…)x"` and `@"…"`, of which the prefix was passed.
    fn raw(&mut self) -> bool {
        let n_hashes = self.text[..self.at].iter().rev().take_while(|&&byte| byte == b'#').count();
        let prefix = self.before(n_hashes + 1);

        match prefix {
            Some(b'r') if n_hashes > 0 => {
                let close = [b"\"".as_slice(), &vec![b'#'; n_hashes]].concat();
                self.until(b"\"", &close, true)
            }
            Some(b'R') => {
                let inside = &self.text[self.at + 1..];
                let Some(name) = inside.iter().take(17).position(|&byte| byte == b'(') else { return false };
                let open = [b"\"".as_slice(), &inside[..name], b"("].concat();
                let close = [b")".as_slice(), &inside[..name], b"\""].concat();
                self.until(&open, &close, true)
            }
            Some(b'@') => self.until(b"\"", b"\"", true),
            _ => false,
        }
    }

    /// Reads a literal between two equal marks, with escapes and expressions inside.
    fn quoted(&mut self, mark: u8) -> bool {
        let is_multiline = mark == b'`' || self.syntax.is_multiline;
        let is_formatted = matches!(self.before(1), Some(b'f' | b'F' | b'$'))
            || matches!(self.before(2), Some(b'f' | b'F' | b'$'));
        let inside = &self.text[self.at + 1..];

        let mut at = 0;
        while at < inside.len().min(MAX_BYTES) {
            match inside[at] {
                byte if byte == mark => return self.add(1, at, 1, false),
                b'\n' if !is_multiline && inside[..at].last() != Some(&b'\\') => return false,
                b'\\' if inside.get(at + 1) == Some(&b'(') => at = expression_end(inside, at + 1, b'(', b')'),
                // The line end after it is met by the next step.
                b'\\' if inside.get(at + 1) == Some(&b'\n') => at += 1,
                b'\\' => at += 2,
                b'$' | b'#' if inside.get(at + 1) == Some(&b'{') => {
                    at = expression_end(inside, at + 1, b'{', b'}');
                }
                b'{' if is_formatted => at = expression_end(inside, at, b'{', b'}'),
                _ => at += 1,
            }
        }
        false
    }

    /// Passes over a character such as `'a'` or `'\n'`. Returns whether there is one.
    fn character(&mut self) -> bool {
        let inside = &self.text[self.at + 1..self.text.len().min(self.at + 12)];
        let from = if inside.first() == Some(&b'\\') { 2 } else { 1 };
        let len = inside.iter().skip(from).take(4).position(|&byte| byte == b'\'');

        match len.filter(|&len| len == 0 || inside[0] == b'\\' || inside[0] >= 0x80) {
            Some(len) => {
                self.at += 1 + from + len + 1;
                true
            }
            None => false,
        }
    }

    /// Reads the lines after `<<NAME`.
    fn heredoc(&mut self) -> bool {
        if !self.syntax.has_heredocs || !self.rest().starts_with(b"<<") {
            return false;
        }

        let after = self.rest()[2..].strip_prefix(b"<").unwrap_or(&self.rest()[2..]);
        let quoted = after.trim_ascii_start();
        let bare = match quoted.first() {
            Some(b'~' | b'-') => quoted[1..].trim_ascii_start(),
            _ => quoted,
        };
        let bare = match bare.first() {
            Some(b'"' | b'\'') => &bare[1..],
            _ => bare,
        };
        let len = bare.iter().take_while(|&&byte| byte.is_ascii_uppercase() || byte == b'_').count();
        if len < 2 {
            return false;
        }

        let name = bare[..len].to_vec();
        let first = self.end_of_line() + 1;
        let mut line = first;
        while line < self.text.len() && line - first <= MAX_BYTES {
            let rest = &self.text[line..];
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            if rest[..end].trim_ascii().strip_suffix(b";").unwrap_or(rest[..end].trim_ascii()) == name {
                self.found.push(Literal { range: first..line, outer: self.at..line + end, is_raw: false });
                self.at = line + end;
                return true;
            }
            line += end + 1;
        }
        false
    }

    /// Reads a line after `\\`.
    fn line_string(&mut self) -> bool {
        if !self.syntax.has_line_strings || !self.rest().starts_with(b"\\\\") {
            return false;
        }
        let len = self.end_of_line() - self.at - 2;
        self.add(2, len, 0, true)
    }

    /// Reads the text after a tag.
    fn between_tags(&mut self) -> bool {
        let inside = &self.text[self.at + 1..];
        let len = memchr::memchr(b'<', inside).unwrap_or(inside.len());
        if len > MAX_BYTES || n_words(&inside[..len]) < MIN_BARE_WORDS {
            return false;
        }
        self.add(1, len, 0, true)
    }

    /// Reads a value without marks, up to a comment or the end of the line.
    fn bare_value(&mut self) -> bool {
        let inside = &self.text[self.at + 1..self.end_of_line()];
        let is_marked =
            matches!(inside.trim_ascii_start().first(), Some(b'"' | b'\'' | b'{' | b'[' | b'|' | b'>'));
        let len = memmem::find(inside, b" #").unwrap_or(inside.len());
        let blanks = inside[..len].len() - inside[..len].trim_ascii_start().len();
        let value = inside[..len].trim_ascii();

        if is_marked || n_words(value) < MIN_BARE_WORDS {
            return false;
        }
        self.add(1 + blanks, value.len(), 0, true)
    }
}

/// Returns the end of the expression in `text` that the bracket `open` at `at` begins; the byte after that
/// bracket if it does not end soon.
fn expression_end(text: &[u8], at: usize, open: u8, close: u8) -> usize {
    let mut depth = 0usize;

    for (n, &byte) in text[at..].iter().take(MAX_EXPRESSION).enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at + n + 1;
            }
        }
    }
    at + 1
}

/// The number of words of `text`.
fn n_words(text: &[u8]) -> usize {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count()
}
