//! Syntax highlighting: the comments, literals, keywords, types and calls of a text.
//!
//! It is made of lexemes, so that every language has it, with or without a grammar, and that a part of a file
//! can be shown without parsing the whole. The queries for highlighting that come with grammars colour more,
//! but compiling one takes 20 to 60 ms, which is longer than a search, and 370 languages have none.

mod keywords;

use std::ops::Range;

use crate::delimiter::{Lexeme, LexemeKind, lexemes};
use crate::language::LanguageId;

pub use keywords::Keywords;

/// The kind of a piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyntaxKind {
    Comment,
    /// A string or character literal.
    Literal,
    Number,
    Keyword,
    /// The name of a type, as far as its case tells.
    Type,
    /// The name of a function or macro where it is declared or called.
    Function,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Syntax {
    pub kind: SyntaxKind,
    /// Byte range in the line.
    pub range: Range<usize>,
}

/// Returns the pieces of each of `lines`, which follow each other in a file of the language called
/// `language`: in order, disjoint. Prose and unknown languages have none.
///
/// A comment or literal that begins before the first line or ends after the last one is not recognised.
pub fn syntax_of_lines(lines: &[&str], language: &str) -> Vec<Vec<Syntax>> {
    let mut by_line = vec![Vec::new(); lines.len()];
    let Some(language) = LanguageId::by_name(language).filter(|language| !language.is_prose()) else {
        return by_line;
    };

    let text = lines.join("\n");
    let lexemes = lexemes(&text, language);
    let keywords = Keywords::new(language.name());

    let (mut line, mut line_start) = (0, 0);
    for (at, lexeme) in lexemes.iter().enumerate() {
        while line_start + lines[line].len() < lexeme.start {
            line_start += lines[line].len() + 1;
            line += 1;
        }
        let Some(kind) = kind_of(&text, &lexemes, at, keywords) else { continue };

        // A comment or literal may reach over several lines.
        let (mut line, mut line_start) = (line, line_start);
        while line_start < lexeme.end {
            let len = lines[line].len();
            let range = lexeme.start.saturating_sub(line_start)..(lexeme.end - line_start).min(len);
            if !range.is_empty() {
                by_line[line].push(Syntax { kind, range });
            }
            line_start += len + 1;
            line += 1;
        }
    }

    by_line
}

/// The kind of the lexeme at a position; `None` if it is shown as plain text.
fn kind_of(text: &str, lexemes: &[Lexeme], at: usize, keywords: Keywords) -> Option<SyntaxKind> {
    let lexeme = lexemes[at];
    match lexeme.kind {
        LexemeKind::Comment => return Some(SyntaxKind::Comment),
        LexemeKind::Text => return Some(SyntaxKind::Literal),
        LexemeKind::Number => return Some(SyntaxKind::Number),
        LexemeKind::Mark => return None,
        LexemeKind::Word => {}
    }

    let word = &text[lexeme.start..lexeme.end];
    let before = text[..lexeme.start].trim_end_matches([' ', '\t']).chars().next_back();
    let mut after = text[lexeme.end..].chars();
    let next = after.next();

    // A directive of a preprocessor, or an annotation.
    if matches!(text[..lexeme.start].chars().next_back(), Some('#' | '@')) && word != "self" {
        return Some(SyntaxKind::Keyword);
    }

    let is_member = before == Some('.');
    // A key of an object, a field or a parameter.
    let is_label =
        next == Some(':') && after.clone().next() != Some(':') && matches!(before, Some('{' | ',' | '('));
    if !is_member && !is_label && keywords.contains(word) {
        return Some(SyntaxKind::Keyword);
    }

    let is_macro = next == Some('!') && matches!(after.next(), Some('(' | '[' | '{'));
    if next == Some('(') || is_macro {
        return Some(SyntaxKind::Function);
    }

    let is_type =
        word.starts_with(|c: char| c.is_ascii_uppercase()) && word.contains(|c: char| c.is_ascii_lowercase());
    is_type.then_some(SyntaxKind::Type)
}

#[cfg(test)]
mod tests {
    use super::*;
    use SyntaxKind::{Comment, Function, Keyword, Literal, Number, Type};

    fn shown<'t>(lines: &[&'t str], language: &str) -> Vec<Vec<(SyntaxKind, &'t str)>> {
        let by_line = syntax_of_lines(lines, language);
        by_line
            .iter()
            .zip(lines)
            .map(|(pieces, line)| {
                pieces.iter().map(|piece| (piece.kind, &line[piece.range.clone()])).collect()
            })
            .collect()
    }

    #[test]
    fn words_literals_and_comments_have_their_kinds() {
        let rust = ["pub fn read(path: &Path) -> u8 { /* a", "b */ println!(\"{}\", self.path(1)) }"];
        let expected = vec![
            vec![(Keyword, "pub"), (Keyword, "fn"), (Function, "read"), (Type, "Path"), (Comment, "/* a")],
            vec![
                (Comment, "b */"),
                (Function, "println"),
                (Literal, "\"{}\""),
                (Keyword, "self"),
                (Function, "path"),
                (Number, "1"),
            ],
        ];
        assert_eq!(shown(&rust, "rust"), expected);

        let python = ["@cached", "def get(self): # get", "    return None"];
        let expected = vec![
            vec![(Keyword, "cached")],
            vec![(Keyword, "def"), (Function, "get"), (Keyword, "self"), (Comment, "# get")],
            vec![(Keyword, "return"), (Keyword, "None")],
        ];
        assert_eq!(shown(&python, "python"), expected);
    }

    #[test]
    fn names_of_members_and_fields_are_no_keywords() {
        assert_eq!(shown(&["const a = { new: b.delete }"], "javascript"), [[(Keyword, "const")]]);
    }

    #[test]
    fn languages_without_a_grammar_have_syntax_and_prose_has_none() {
        assert_eq!(
            shown(&["if x then -- no", "return 1"], "ada"),
            [
                vec![(Keyword, "if"), (Keyword, "then"), (Comment, "-- no")],
                vec![(Keyword, "return"), (Number, "1")]
            ]
        );
        assert_eq!(shown(&["if it `is` so"], "markdown"), [[]]);
        assert_eq!(shown(&["select a from B"], "no such language"), [[]]);
        assert_eq!(shown(&["SELECT a"], "sql"), [[(Keyword, "SELECT")]]);
    }

    #[test]
    fn every_grammar_spells_words_out_or_has_none() {
        for language in [
            "rust",
            "go",
            "python",
            "java",
            "typescript",
            "ruby",
            "c",
            "cpp",
            "csharp",
            "kotlin",
            "php",
            "swift",
        ] {
            let Keywords::Grammar(words) = Keywords::new(language) else {
                panic!("{language} has no grammar")
            };

            assert!(words.len() >= 20, "{language}: {words:?}");
        }
    }
}
