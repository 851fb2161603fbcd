//! Finds the tokens of a family that match at a place.

use super::Scanner;
use crate::delimiter::families::{Anchor, BLANKS};

/// Offset of the seventh column in its line.
pub(super) const COLUMN_7: usize = 6;

/// A token found in the text.
#[derive(Clone, Copy)]
pub(super) struct TokenMatch {
    /// Index into the tokens of the family.
    pub token: u16,
    pub start: usize,
    pub end: usize,
}

/// The tokens that match at the current place of a scanner, in the order in which they are tried.
pub(super) struct Candidates {
    next: usize,
    byte: u8,
}

impl Candidates {
    /// Starts at the current place, which holds `byte`.
    pub fn at(byte: u8) -> Candidates {
        Candidates { next: 0, byte }
    }

    /// Returns the next match. `is_first` is true if only blanks precede the place on its line.
    pub fn next(&mut self, scanner: &Scanner<'_>, is_first: bool) -> Option<TokenMatch> {
        let indices = &scanner.family.dispatch[usize::from(self.byte)];

        while let Some(&index) = indices.get(self.next) {
            self.next += 1;
            let token = &scanner.family.tokens[usize::from(index)];
            let is_in_place = match token.anchor {
                Anchor::Anywhere => true,
                Anchor::LineStart => is_first,
                Anchor::Column0 => scanner.at == scanner.line_start,
                Anchor::Column7 => scanner.at == scanner.line_start + COLUMN_7,
            };
            if !is_in_place {
                continue;
            }

            let start = scanner.at;
            if let Some(end) = match_end(scanner.bytes, start, &token.bytes, scanner.family.ignore_case) {
                return Some(TokenMatch { token: index, start, end });
            }
        }

        None
    }
}

/// Returns the end of `pattern` at `at`. Patterns that begin or end with a word character match whole words
/// only.
pub(super) fn match_end(bytes: &[u8], at: usize, pattern: &[u8], ignore_case: bool) -> Option<usize> {
    let mut end = at;

    for &wanted in pattern {
        if wanted == BLANKS {
            // More than 16 blanks are alignment, not a separator.
            let rest = &bytes[end..bytes.len().min(end + 16)];
            let blanks = rest.iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
            if blanks == 0 {
                return None;
            }
            end += blanks;
            continue;
        }

        let byte = *bytes.get(end)?;
        if byte != wanted && !(ignore_case && byte.to_ascii_lowercase() == wanted) {
            return None;
        }
        end += 1;
    }

    let is_word_byte = |byte: Option<&u8>| byte.is_some_and(|&byte| is_word(byte));

    if is_word_byte(pattern.first()) && !word_may_begin(bytes, at) {
        return None;
    }
    if is_word_byte(pattern.last()) && !word_may_end(bytes, end) {
        return None;
    }

    Some(end)
}

/// Returns false after a member operator (`x.class`), a symbol or variable mark (`:end`, `$if`), or a part of
/// a name (`non-class`).
fn word_may_begin(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map_or(b' ', |at| bytes[at]);
    match before(1) {
        b'.' | b'$' | b'@' => false,
        b':' => before(2) == b':',
        b'-' => !is_word(before(2)),
        byte => !is_word(byte),
    }
}

/// Returns false before the rest of a name (`end-of-file`).
fn word_may_end(bytes: &[u8], end: usize) -> bool {
    match bytes.get(end) {
        Some(b'-') => !bytes.get(end + 1).is_some_and(|&byte| is_word(byte)),
        Some(&byte) => !is_word(byte),
        None => true,
    }
}

/// Returns whether a byte is part of a word: letters, digits, `_`, and everything outside ASCII.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Returns whether a line begins with `name:`, or is `NAME.` or `NAME SECTION.` and nothing else. `rest` is
/// the text from the first one of the line on, and `indent` the column of it. A name of COBOL that ends in
/// a period may be a statement: one that ends another (`END-IF.`) or, in the columns for statements, any.
pub(super) fn is_label(rest: &[u8], indent: u32) -> bool {
    const MAX_NAME: usize = 128;
    /// The first columns for statements and for remarks in fixed-format COBOL, counted from 0.
    const STATEMENTS: u32 = 11;
    const REMARKS: usize = 72;

    let length = rest
        .iter()
        .take(MAX_NAME)
        .take_while(|&&byte| is_word(byte) || matches!(byte, b'$' | b'@' | b'-' | b'?' | b'.'))
        .count();
    let name = &rest[..length];
    let begins_with_digit = name.first().is_some_and(u8::is_ascii_digit);
    if name.is_empty() || name.starts_with(b"-") {
        return false;
    }

    match rest.get(length) {
        Some(b':') => !begins_with_digit && rest.get(length + 1) != Some(&b':'),
        Some(b'\n' | b'\r' | b' ' | b'\t') | None => {
            let line = rest[length..].split(|&byte| byte == b'\n').next().unwrap_or_default();
            let area = line.get(..REMARKS.saturating_sub(indent as usize + length)).unwrap_or(line);
            let (name, after) = match (name.split_last(), area.trim_ascii()) {
                (Some((b'.', name)), b"") => (name, true),
                (_, after) => (name, after.eq_ignore_ascii_case(b"section.")),
            };
            let is_name = name.iter().any(u8::is_ascii_alphabetic) && !name.starts_with(b".");
            after && is_name && indent < STATEMENTS && !is_statement(name)
        }
        _ => false,
    }
}

/// Returns whether `name` is a statement of COBOL that consists of one word.
fn is_statement(name: &[u8]) -> bool {
    const STATEMENTS: [&[u8]; 3] = [b"continue", b"exit", b"goback"];

    let is_end = name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"end-"));
    is_end || STATEMENTS.iter().any(|statement| name.eq_ignore_ascii_case(statement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_names_with_a_colon_or_a_period() {
        let numbered = format!("MAIN.{}00010000\n", " ".repeat(60));
        for label in ["main:\n", ".L1:", "MAIN-PARA.\r\n", "1000-READ.  \n", "1-A Section.", &numbered] {
            assert!(is_label(label.as_bytes(), 7), "{label}");
        }
        for statement in
            ["END-IF.\n", "end-perform.", "EXIT.", "GOBACK.\n", "a::b", "DISPLAY A.", ".", "1:", "12."]
        {
            assert!(!is_label(statement.as_bytes(), 7), "{statement}");
        }
        assert!(!is_label(b"MAIN-PARA.\n", 11));
    }
}
