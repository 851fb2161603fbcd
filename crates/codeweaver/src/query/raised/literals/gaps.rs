//! Gaps: the words of a literal, and the gaps that values fill.
//!
//! Every form of a value is known in every language: a text with another meaning of `%s` or `{}` is rare, and
//! costs a word.

use std::ops::Range;

use codeweaver_text::group_len;

/// Maximum length of a group in brackets that stands for a value.
const MAX_GROUP: usize = 300;

/// A word of a literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// In lower case.
    pub word: String,
    /// Whether a value may stand before it.
    pub has_gap_before: bool,
    /// Whether a value continues it, so that the message may have a longer word.
    pub is_open: bool,
}

/// Returns the words of a literal, in order. A word that continues a value is left out.
pub fn pieces(literal: &[u8], is_raw: bool) -> Vec<Piece> {
    let text = String::from_utf8_lossy(literal);
    let bytes = text.as_bytes();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut has_gap = false;
    let mut at = 0;

    while at < bytes.len() {
        if let Some(end) = gap_end(bytes, at, is_raw) {
            if let Some(last) = pieces.last_mut().filter(|_| !has_gap && is_word_end(&text, at)) {
                last.is_open = true;
            }
            has_gap = true;
            // The value is the beginning of the word behind it.
            at = word_at(&text, end).end;
            continue;
        }

        if bytes[at] == b'\\' && !is_raw {
            // The letter of an escape is no part of a word.
            at = text.ceil_char_boundary((at + 2).min(bytes.len()));
            continue;
        }

        let word = word_at(&text, at);
        if word.is_empty() {
            at = text.ceil_char_boundary(at + 1);
            continue;
        }
        at = word.end;
        let has_gap_before = std::mem::take(&mut has_gap);
        pieces.push(Piece { word: text[word].to_lowercase(), has_gap_before, is_open: false });
    }

    pieces
}

/// Returns the words of `text`, in lower case: letters, digits and `_`.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !is_word_char(c)).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The word that begins at `at`; empty if there is none.
fn word_at(text: &str, at: usize) -> Range<usize> {
    let len = text[at..].find(|c: char| !is_word_char(c)).unwrap_or(text.len() - at);
    at..at + len
}

/// Returns whether the character before `at` is one of a word.
fn is_word_end(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_some_and(is_word_char)
}

/// Returns the end of the placeholder at `at`; `None` if there is none.
fn gap_end(bytes: &[u8], at: usize, is_raw: bool) -> Option<usize> {
    let rest = &bytes[at..];
    let next = rest.get(1).copied();

    match rest[0] {
        b'%' => printf_len(rest).map(|len| at + len),
        b'{' if next == Some(b'{') => balanced_len(rest, b'{', b'}').map(|len| at + len),
        b'{' => balanced_len(rest, b'{', b'}').map(|len| at + len),
        b'$' | b'#' if next == Some(b'{') => balanced_len(&rest[1..], b'{', b'}').map(|len| at + 1 + len),
        b'$' if next == Some(b'(') => balanced_len(&rest[1..], b'(', b')').map(|len| at + 1 + len),
        b'$' => name_len(&rest[1..]).map(|len| at + 1 + len),
        b'\\' if next == Some(b'(') && !is_raw => {
            balanced_len(&rest[1..], b'(', b')').map(|len| at + 1 + len)
        }
        b'\\' if matches!(next, Some(b'u' | b'x')) && !is_raw => {
            let n = rest[2..].iter().take(6).take_while(|byte| byte.is_ascii_hexdigit()).count();
            Some(at + 2 + n)
        }
        _ => None,
    }
}

/// The length of the group in brackets that `text` begins with.
fn balanced_len(text: &[u8], open: u8, close: u8) -> Option<usize> {
    group_len(text, (open, close), MAX_GROUP)
}

/// The length of a name with its members, such as `user.name`.
fn name_len(text: &[u8]) -> Option<usize> {
    let is_first = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    text.first().filter(|byte| is_first(byte) || byte.is_ascii_digit())?;

    let is_inner = |at: usize, byte: u8| {
        let goes_on = text.get(at + 1).is_some_and(is_first);
        byte.is_ascii_alphanumeric() || byte == b'_' || (matches!(byte, b'.') && goes_on)
    };
    Some(text.iter().enumerate().take_while(|(at, byte)| is_inner(*at, **byte)).count())
}

/// The length of a conversion: `%s`, `%-10.3f`, `%1$s`, `%(name)s`, `%{name}`, `%<name>d`.
fn printf_len(text: &[u8]) -> Option<usize> {
    let inner = &text[1..];
    match inner.first()? {
        b'{' => return balanced_len(inner, b'{', b'}').map(|len| 1 + len),
        b'(' => {
            let len = balanced_len(inner, b'(', b')')?;
            return Some(1 + len + usize::from(inner.get(len).is_some_and(u8::is_ascii_alphabetic)));
        }
        b'<' => {
            let len = balanced_len(inner, b'<', b'>')?;
            return Some(1 + len + usize::from(inner.get(len).is_some_and(u8::is_ascii_alphabetic)));
        }
        _ => {}
    }

    let n_flags = inner.iter().take_while(|byte| b"-+ #0'*.$123456789".contains(byte)).count();
    // `100 % of` and `50 %` are words.
    if inner[..n_flags].contains(&b' ') {
        return None;
    }
    let n_sizes = inner[n_flags..].iter().take_while(|byte| b"hlLqjztI".contains(byte)).count();
    let letter = inner.get(n_flags + n_sizes).copied();
    let is_letter = letter.is_some_and(|byte| b"diouxXeEfFgGaAcsSpnvwTtqUb@".contains(&byte));

    match is_letter {
        true => Some(1 + n_flags + n_sizes + 1),
        // The size itself may be the letter, as in `%q`, and `%1` is complete.
        false if n_sizes > 0 || (n_flags > 0 && inner[..n_flags].iter().all(u8::is_ascii_digit)) => {
            Some(1 + n_flags + n_sizes.min(1))
        }
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a literal, with `_` for each gap.
    fn shown(literal: &str) -> String {
        let pieces = pieces(literal.as_bytes(), false);
        let shown =
            pieces.iter().map(|it| format!("{}{}", if it.has_gap_before { "_ " } else { "" }, it.word));
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn values_are_gaps_in_every_form() {
        for (literal, expected) in [
            ("Cannot open '%s' in %-10.2f s", "cannot open _ in _ s"),
            ("no %{attribute} is %<n>d of %1$s here", "no _ is _ of _ here"),
            ("unknown %(name)s given", "unknown _ given"),
            ("a {} b {0:>5} c {name!r} d", "a _ b _ c _ d"),
            ("a ${x.map(y => `{y}`)} b $name.size c #{h[\"k\"]} d", "a _ b _ c _ d"),
            ("is \\(value) wrong", "is _ wrong"),
            ("100% sure\\nnext \\\"line\\\"", "100 sure next line"),
            ("v%s is {}th of pre${x}", "v _ is _ of pre"),
            ("no such file", "no such file"),
        ] {
            assert_eq!(shown(literal), expected, "{literal}");
        }
    }
}
