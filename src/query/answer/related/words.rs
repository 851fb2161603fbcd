//! The names in a text, by the form in which they are written.

use std::collections::HashSet;

/// Words that stand before a parenthesis without being called, in any language.
const KEYWORDS: &[&str] = &[
    "and",
    "as",
    "assert",
    "await",
    "case",
    "catch",
    "class",
    "def",
    "defined",
    "delete",
    "do",
    "elif",
    "else",
    "elseif",
    "except",
    "fn",
    "for",
    "foreach",
    "fun",
    "func",
    "function",
    "if",
    "impl",
    "in",
    "instanceof",
    "is",
    "lambda",
    "let",
    "loop",
    "match",
    "new",
    "not",
    "or",
    "print",
    "return",
    "self",
    "sizeof",
    "super",
    "switch",
    "synchronized",
    "this",
    "throw",
    "try",
    "typeof",
    "unless",
    "until",
    "using",
    "void",
    "when",
    "where",
    "while",
    "with",
    "yield",
];

/// Languages in which a function is called by its name alone.
const BY_NAME: &[&str] = &["bash", "shell", "fish", "zsh", "haskell", "ocaml", "elm", "fsharp"];
/// Languages in which it may be, and in which the names of variables look the same.
const MAYBE_BY_NAME: &[&str] = &["ruby", "elixir", "perl", "nim", "crystal"];

/// How calls are written in a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// A name and a parenthesis.
    Parenthesised,
    /// A name alone, which may be that of a variable too.
    MaybeByName,
    ByName,
}

impl Calls {
    /// Those of `language`.
    pub fn of(language: &str) -> Calls {
        match () {
            () if BY_NAME.contains(&language) => Calls::ByName,
            () if MAYBE_BY_NAME.contains(&language) => Calls::MaybeByName,
            () => Calls::Parenthesised,
        }
    }
}

/// Names in a text, in its order, each once.
#[derive(Debug, Default, PartialEq)]
pub struct Names<'t> {
    /// What is called.
    pub called: Vec<&'t str>,
    /// What may be called, or is a variable.
    pub bare: Vec<&'t str>,
    /// Capitalised names with a lower-case letter.
    pub types: Vec<&'t str>,
}

/// The names in `text`, in which calls are written as `calls` says.
pub fn names(text: &[u8], calls: Calls) -> Names<'_> {
    let mut names = Names::default();
    let mut known = HashSet::new();
    let mut at = 0;
    while at < text.len() {
        if !is_word(text[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < text.len() && is_word(text[at]) {
            at += 1;
        }
        // Names of Ruby and Elixir may end so.
        if calls == Calls::MaybeByName && matches!(text.get(at), Some(b'?' | b'!')) {
            at += 1;
        }
        let Ok(name) = std::str::from_utf8(&text[start..at]) else { continue };
        if name.starts_with(|c: char| c.is_ascii_digit()) || KEYWORDS.contains(&name) || name.len() < 2 {
            continue;
        }
        let is_type = name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase);
        let list = match () {
            () if is_type => &mut names.types,
            () if calls == Calls::ByName || is_called(&text[at..]) => &mut names.called,
            () if calls == Calls::MaybeByName => &mut names.bare,
            () => continue,
        };
        if known.insert(name) {
            list.push(name);
        }
    }
    // A constructor, or an exported function of Go.
    names.called.extend(names.types.iter().copied().filter(|name| is_called_anywhere(text, name)));
    names
}

fn is_called_anywhere(text: &[u8], name: &str) -> bool {
    mentions(text, name).any(|at| is_called(&text[at + name.len()..]))
}

/// Whether the text after a name calls it: `(`, `!(`, `::<T>(`, or a block.
pub fn is_called(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"!").unwrap_or(rest);
    let rest = rest.strip_prefix(b"::<").map_or(rest, |generic| {
        generic.iter().position(|&byte| byte == b'>').map_or(rest, |end| &generic[end + 1..])
    });
    rest.first() == Some(&b'(')
}

/// Where `text` has `name` as a whole word outside of lines of comment.
pub fn mentions<'t>(text: &'t [u8], name: &'t str) -> impl Iterator<Item = usize> + 't {
    memchr::memmem::find_iter(text, name.as_bytes()).filter(move |&at| {
        let is_whole = at.checked_sub(1).is_none_or(|before| !is_word(text[before]))
            && text.get(at + name.len()).is_none_or(|&after| !is_word(after));
        is_whole && !is_comment(text, at)
    })
}

/// Whether the line of a byte begins as comments do.
fn is_comment(text: &[u8], at: usize) -> bool {
    let line = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let start = text[line..].trim_ascii_start();
    ["//", "/*", "*", "#", "--", ";", "%", "\"\"\""].iter().any(|sign| start.starts_with(sign.as_bytes()))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_types_are_told_from_other_words() {
        let text = b"if (ready(x)) { let it: Config = make::<T>(Config::new(a), Pool(1)); log!(\"x\"); }";
        let found = names(text, Calls::Parenthesised);
        assert_eq!(found.called, ["ready", "make", "log", "Pool"]);
        assert_eq!(found.types, ["Config", "Pool"]);
        assert_eq!(names(b"render template_name", Calls::ByName).called, ["render", "template_name"]);
        let ruby = names(b"valid?(x) if fresh?; render body", Calls::MaybeByName);
        assert_eq!((ruby.called, ruby.bare), (vec!["valid?"], vec!["fresh?", "render", "body"]));
    }

    #[test]
    fn mentions_are_whole_words_outside_of_comments() {
        let text = b"# save it\nself.save(x)\nsaved = 1\nautosave()\n";
        assert_eq!(mentions(text, "save").collect::<Vec<_>>(), [15]);
    }
}
