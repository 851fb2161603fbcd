//! Tokens of definitions, in the form in which copies are compared: layout and comments do not count.

use std::ops::Range;

use codeweaver_chunk::syntax::Keywords;
use codeweaver_chunk::{LanguageId, LexemeKind, lexemes};

/// The number of bits of a token that name its text; those above are its kind.
const TEXT_BITS: u32 = 29;

/// Maximum number of bytes of a literal that is one token. The words of a longer one are tokens, because it
/// is more than a value: a template, a query, a script.
const MAX_LITERAL: usize = 80;

/// Types that grammars treat as names, by language. Replacing one by another makes a different definition.
const PRIMITIVES: &[(&[&str], &[&str])] = &[
    (
        &["c", "cpp", "java"],
        &[
            "bool", "boolean", "byte", "char", "double", "float", "int", "long", "short", "signed",
            "unsigned", "void",
        ],
    ),
    (
        &["csharp"],
        &[
            "bool", "byte", "char", "decimal", "double", "float", "int", "long", "object", "sbyte", "short",
            "string", "uint", "ulong", "ushort", "void",
        ],
    ),
    (
        &["go"],
        &[
            "bool",
            "byte",
            "complex64",
            "complex128",
            "error",
            "float32",
            "float64",
            "int",
            "int8",
            "int16",
            "int32",
            "int64",
            "rune",
            "string",
            "uint",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "uintptr",
        ],
    ),
];

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Punctuation, or a keyword of the language.
    Fixed = 0,
    /// A name that the definition may have declared itself, such as a parameter.
    Local = 1,
    /// The name of something outside: what is called, a member, a type.
    Outer = 2,
    /// The name of the definition where it is defined, which copies cannot share.
    Own = 3,
    Number = 4,
    Text = 5,
}

/// A token: its kind, and a hash of its text. Tokens are equal if both are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(u32);

impl Token {
    fn new(kind: Kind, text: &[u8]) -> Token {
        let hash = if kind == Kind::Own { 0 } else { hash_bytes(text) >> (64 - TEXT_BITS) };
        Token((kind as u32) << TEXT_BITS | hash as u32)
    }

    pub fn kind(self) -> Kind {
        match self.0 >> TEXT_BITS {
            1 => Kind::Local,
            2 => Kind::Outer,
            3 => Kind::Own,
            4 => Kind::Number,
            5 => Kind::Text,
            _ => Kind::Fixed,
        }
    }

    /// The token without its name or value, so that renamed copies are equal.
    pub fn blind(self) -> Token {
        match self.kind() {
            Kind::Fixed => self,
            Kind::Local | Kind::Outer | Kind::Own => Token((Kind::Local as u32) << TEXT_BITS),
            Kind::Number => Token((Kind::Number as u32) << TEXT_BITS),
            Kind::Text => Token((Kind::Text as u32) << TEXT_BITS),
        }
    }

    /// The token without the distinction between names of the definition and names of something outside.
    pub fn as_name(self) -> Token {
        match self.kind() {
            Kind::Outer => Token((Kind::Local as u32) << TEXT_BITS | self.0 & ((1 << TEXT_BITS) - 1)),
            _ => self,
        }
    }

    pub fn is_name(self) -> bool {
        matches!(self.kind(), Kind::Local | Kind::Outer | Kind::Own)
    }

    pub fn value(self) -> u32 {
        self.0
    }
}

/// The tokens of a definition, with their places in its text.
#[derive(Debug, Default)]
pub struct Tokens {
    pub list: Vec<Token>,
    pub places: Vec<Range<usize>>,
}

impl Tokens {
    /// The tokens of `text`, a definition called `name`.
    pub fn read(text: &str, language: LanguageId, name: &str) -> Tokens {
        let mut lexemes = lexemes(text, language);
        lexemes.retain(|lexeme| lexeme.kind != LexemeKind::Comment);
        let keywords = Keywords::new(language.name());
        let primitives = PRIMITIVES.iter().find(|(languages, _)| languages.contains(&language.name()));
        let primitives = primitives.map_or(&[][..], |(_, words)| words);
        let mut tokens = Tokens::default();
        // Further on, the name is that of what is called, which may be something else.
        let mut own_name = Some(name);

        for (at, lexeme) in lexemes.iter().enumerate() {
            let own = &text[lexeme.start..lexeme.end];
            let before = &text[lexemes[at.saturating_sub(2)].start..lexeme.start];
            match lexeme.kind {
                LexemeKind::Comment => {}
                LexemeKind::Mark => tokens.push(Kind::Fixed, own, lexeme.start),
                LexemeKind::Number => tokens.push(Kind::Number, own, lexeme.start),
                LexemeKind::Text if is_docstring(own, before) => {}
                LexemeKind::Text if own.len() > MAX_LITERAL => tokens.push_words(own, lexeme.start),
                LexemeKind::Text => tokens.push(Kind::Text, own, lexeme.start),
                LexemeKind::Word if own_name == Some(own) => {
                    tokens.push(Kind::Own, own, lexeme.start);
                    own_name = None;
                }
                LexemeKind::Word => {
                    let (before, after) = (before.trim_end(), text[lexeme.end..].trim_start());
                    let is_member = before.ends_with('.') || before.ends_with("->");
                    let is_fixed = !is_member && (keywords.contains(own) || primitives.contains(&own));
                    let kind = if is_fixed { Kind::Fixed } else { kind_of_name(own, before, after) };
                    tokens.push(kind, own, lexeme.start);
                }
            }
        }
        tokens
    }

    /// Adds the token with the text `own`, which begins at `start`.
    fn push(&mut self, kind: Kind, own: &str, start: usize) {
        self.list.push(Token::new(kind, own.as_bytes()));
        self.places.push(start..start + own.len());
    }

    /// Adds a token for each word of a long literal that begins at `start`.
    fn push_words(&mut self, literal: &str, start: usize) {
        for word in literal.split_ascii_whitespace() {
            let at = word.as_ptr() as usize - literal.as_ptr() as usize;
            self.push(Kind::Text, word, start + at);
        }
    }
}

/// Returns whether `tokens` call `name`: it is the name of something outside, before a parenthesis.
pub fn calls(tokens: &[Token], name: &str) -> bool {
    let (called, parenthesis) = (Token::new(Kind::Outer, name.as_bytes()), Token::new(Kind::Fixed, b"("));
    tokens.windows(2).any(|pair| pair == [called, parenthesis])
}

/// Returns whether a literal after `before` is the documentation of a function or class in Python.
fn is_docstring(literal: &str, before: &str) -> bool {
    let is_long = literal.starts_with("\"\"\"") || literal.starts_with("'''");
    is_long && before.trim_end().ends_with(':')
}

/// The kind of a name between two texts.
fn kind_of_name(name: &str, before: &str, after: &str) -> Kind {
    let is_member = [".", "::", "->", "@", "#"].iter().any(|mark| before.ends_with(mark));
    let is_called = ["(", "!(", "::"].iter().any(|mark| after.starts_with(mark));
    let is_type = name.starts_with(|first: char| first.is_ascii_uppercase());
    if is_member || is_called || is_type { Kind::Outer } else { Kind::Local }
}

/// FNV-1a with a final mix, so that every bit depends on all bytes. The same on every machine.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xCBF2_9CE4_8422_2325u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    mix(hash)
}

/// A permutation of the numbers that looks random (SplitMix64).
pub fn mix(number: u64) -> u64 {
    let mut hash = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, language: &str, name: &str) -> Vec<Token> {
        Tokens::read(text, LanguageId::by_name(language).unwrap(), name).list
    }

    #[test]
    fn layout_comments_and_the_own_name_do_not_count() {
        let one = tokens("fn sum(a: u32) -> u32 { a + 1 }", "rust", "sum");
        let two = tokens("// adds\nfn add(a: u32) // x\n    -> u32\n{\n    a + 1\n}", "rust", "add");
        assert_eq!(one, two);
        assert_ne!(one, tokens("fn add(b: u32) -> u32 { b + 1 }", "rust", "add"));
    }

    #[test]
    fn long_literals_are_words_and_docstrings_do_not_count() {
        let text = format!(
            "def f(x):\n    \"\"\"Documentation.\"\"\"\n    g('{}', 'short text')",
            "word ".repeat(20)
        );
        let read = Tokens::read(&text, LanguageId::by_name("python").unwrap(), "f");
        let shown: Vec<&str> = read.places.iter().map(|place| &text[place.clone()]).collect();
        assert_eq!(shown[..9], ["def", "f", "(", "x", ")", ":", "g", "(", "'word"]);
        assert_eq!(shown[27..], ["word", "'", ",", "'short text'", ")"]);
    }

    #[test]
    fn keywords_are_those_of_the_language() {
        let kinds = |text: &str, language: &str| -> Vec<Kind> {
            tokens(text, language, "f").iter().map(|token| token.kind()).collect()
        };
        assert_eq!(kinds("loop next", "python"), [Kind::Local; 2]);
        assert_eq!(kinds("loop next", "rust"), [Kind::Fixed, Kind::Local]);
        assert_eq!(kinds("it.loop", "rust"), [Kind::Local, Kind::Fixed, Kind::Outer], "a member");
        assert_eq!(kinds("end", "ruby"), [Kind::Fixed]);
        assert_eq!(kinds("int", "c"), [Kind::Fixed]);
        assert_eq!(kinds("string int64", "go"), [Kind::Fixed; 2]);
        assert_eq!(kinds("char", "python"), [Kind::Local]);
    }

    #[test]
    fn blind_tokens_differ_by_kind_alone() {
        let blind = |text| tokens(text, "python", "f").into_iter().map(Token::blind).collect::<Vec<_>>();
        assert_eq!(blind("def f(x):\n    return g(x, 1, 'a')"), blind("def h(y):\n  return k(z, 2, \"b\")"));
        assert_ne!(blind("return x"), blind("return 1"));
        assert_ne!(blind("return x"), blind("raise x"));
    }

    #[test]
    fn calls_are_names_before_a_parenthesis() {
        let text = "def f(job):\n    job.run(limit)\n    return make(job)";
        let calls = |name| calls(&tokens(text, "python", "f"), name);
        assert!(calls("run") && calls("make"));
        assert!(!calls("limit") && !calls("job") && !calls("f"), "a parameter and the own name");
    }

    #[test]
    fn names_are_local_unless_they_are_called_or_members_or_types() {
        let kinds: Vec<Kind> = tokens("run(job, Job::make(), this.name, f, f)", "rust", "f")
            .iter()
            .map(|token| token.kind())
            .collect();
        use Kind::{Fixed as F, Local as L, Outer as O, Own};
        assert_eq!(kinds, [O, F, L, F, O, F, F, O, F, F, F, F, F, O, F, Own, F, L, F]);
    }
}
