//! Lexemes: the words, numbers, literals, marks and comments of a text, without blanks.

use super::matching::{COLUMN_7, TokenMatch, is_word, match_end};
use super::skips::SkipFinder;
use crate::delimiter::families::{self, Anchor, Family};
use crate::language::LanguageId;

/// The kind of a lexeme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LexemeKind {
    /// A name or a keyword.
    Word,
    /// Begins with a digit.
    Number,
    /// A string or character literal, with its marks.
    Text,
    /// One character of punctuation.
    Mark,
    /// A comment, with its marks.
    Comment,
}

/// A word, number, literal, mark or comment of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lexeme {
    pub kind: LexemeKind,
    /// Half-open byte range in the text.
    pub start: usize,
    pub end: usize,
}

/// Returns the lexemes of `text`, in order.
///
/// Comments and literals are those of the delimiter family of `language`, so every language has lexemes, with
/// or without a grammar. Linear in the length of the text.
pub fn lexemes(text: &str, language: LanguageId) -> Vec<Lexeme> {
    let family = families::by_name(families::family_name(language, text));
    let bytes = text.as_bytes();
    let mut lexer = Lexer { bytes, family, skips: SkipFinder::new(bytes, family), line_start: 0 };

    let mut found = Vec::with_capacity(bytes.len() / 4);
    let (mut at, mut is_first) = (0, true);
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\n' {
            at += 1;
            (lexer.line_start, is_first) = (at, true);
            continue;
        }
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }

        let (kind, end) = lexer.next(at, is_first);
        found.push(Lexeme { kind, start: at, end });
        (at, is_first) = (end, false);
    }

    found
}

struct Lexer<'a> {
    bytes: &'a [u8],
    family: &'a Family,
    skips: SkipFinder<'a>,
    /// Start of the line of the current place.
    line_start: usize,
}

impl Lexer<'_> {
    /// The kind and the end of the lexeme that begins at `at`, which is not blank. `is_first` is true if only
    /// blanks precede it on its line.
    fn next(&mut self, at: usize, is_first: bool) -> (LexemeKind, usize) {
        if let Some((is_comment, end)) = self.skip(at, is_first) {
            return (if is_comment { LexemeKind::Comment } else { LexemeKind::Text }, end);
        }

        let byte = self.bytes[at];
        if !is_word(byte) {
            return (LexemeKind::Mark, at + 1);
        }

        let n = self.bytes[at..].iter().take_while(|&&byte| is_word(byte)).count();
        let kind = if byte.is_ascii_digit() { LexemeKind::Number } else { LexemeKind::Word };
        (kind, at + n)
    }

    /// Whether the comment or literal that begins at `at` is a comment, and its end.
    fn skip(&mut self, at: usize, is_first: bool) -> Option<(bool, usize)> {
        for &index in &self.family.dispatch[usize::from(self.bytes[at])] {
            let token = &self.family.tokens[usize::from(index)];
            let Some(skip) = token.skip else { continue };
            // The lines of a preprocessor are code.
            if self.family.skips[usize::from(skip)].continued {
                continue;
            }

            let is_in_place = match token.anchor {
                Anchor::Anywhere => true,
                Anchor::LineStart => is_first,
                Anchor::Column0 => at == self.line_start,
                Anchor::Column7 => at == self.line_start + COLUMN_7,
            };
            let end = match_end(self.bytes, at, &token.bytes, self.family.ignore_case);
            if let Some(end) = end.filter(|_| is_in_place) {
                let opening = TokenMatch { token: index, start: at, end };
                if let Some(end) = self.skips.end(skip, opening, is_first) {
                    return Some((self.family.skips[usize::from(skip)].is_comment, end));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
        let language = LanguageId::by_name(language).unwrap();
        let is_code = |lexeme: &&Lexeme| lexeme.kind != LexemeKind::Comment;
        let lexemes = lexemes(text, language);
        lexemes.iter().filter(is_code).map(|lexeme| &text[lexeme.start..lexeme.end]).collect()
    }

    #[test]
    fn comments_are_lexemes_of_their_own_and_literals_are_one_lexeme() {
        let rust = "fn f<'a>(x: &'a str) { /* one /* two */ */ g(\"a // b\", 'c', 1_0); } // end";
        let expected = [
            "fn",
            "f",
            "<",
            "'",
            "a",
            ">",
            "(",
            "x",
            ":",
            "&",
            "'",
            "a",
            "str",
            ")",
            "{",
            "g",
            "(",
            "\"a // b\"",
            ",",
            "'c'",
            ",",
            "1_0",
            ")",
            ";",
            "}",
        ];
        assert_eq!(texts(rust, "rust"), expected);

        let python = "def f(x):  # sum\n    '''Doc # one\n    two'''\n    return x + \"#\"\n";
        let expected =
            ["def", "f", "(", "x", ")", ":", "'''Doc # one\n    two'''", "return", "x", "+", "\"#\""];
        assert_eq!(texts(python, "python"), expected);
    }

    #[test]
    fn kinds_are_told_apart_and_the_lines_of_a_preprocessor_are_code() {
        let c = "#if A\nint b = 0x1f; // c\n#endif";
        let language = LanguageId::by_name("c").unwrap();
        let kinds: Vec<LexemeKind> = lexemes(c, language).iter().map(|lexeme| lexeme.kind).collect();
        use LexemeKind::{Comment as C, Mark as M, Number as N, Word as W};
        assert_eq!(kinds, [M, W, W, W, W, M, N, M, C, M, W]);
    }
}
