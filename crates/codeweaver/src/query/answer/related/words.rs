//! The names in a text, by the form in which they are written.

use std::collections::HashSet;

/// Words before a parenthesis that are not called, in any language.
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
/// Languages in which a function may be called so, and in which the names of variables look the same.
const MAYBE_BY_NAME: &[&str] = &["ruby", "elixir", "perl", "nim", "crystal"];

/// The form in which calls are written in a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// A name and a parenthesis.
    Parenthesised,
    /// A name alone, which may be that of a variable too.
    MaybeByName,
    ByName,
}

impl Calls {
    /// The form of `language`.
    pub fn for_language(language: &str) -> Calls {
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
    /// Names that are called.
    pub called: Vec<&'t str>,
    /// Names that are called or are those of variables.
    pub bare: Vec<&'t str>,
    /// Capitalised names with a lower-case letter.
    pub types: Vec<&'t str>,
}

/// The names in `text`, whose calls have the form `calls`.
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

        let list = match () {
            () if is_type_name(name) => &mut names.types,
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

/// The capitalised names of a declaration outside of type arguments, parameters, annotations and comments:
/// the type itself and its bases. `are_parenthesised` says that the bases are in parentheses.
pub fn bases(declaration: &str, are_parenthesised: bool) -> Vec<&str> {
    let text = declaration.as_bytes();
    let max_depth = usize::from(are_parenthesised);

    let (mut found, mut depth, mut at) = (Vec::new(), 0usize, 0);
    while at < text.len() {
        let previous = at.checked_sub(1).map_or(b' ', |before| text[before]);
        let start = at;
        at += 1;

        match text[start] {
            b'/' if text[at..].starts_with(b"*") => {
                at = memchr::memmem::find(&text[at..], b"*/").map_or(text.len(), |end| at + end + 2);
            }
            b'/' if text[at..].starts_with(b"/") => break,
            b'@' => at = end_of_name(text, at),
            b'(' | b'[' => depth += 1,
            // Without an end it is a sign of its own, as in `class Foo < Base`.
            b'<' if is_closed_later(text, at) => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'>' if !matches!(previous, b'-' | b'=') => depth = depth.saturating_sub(1),
            byte if is_word(byte) => {
                at = end_of_name(text, start);
                let name = &declaration[start..at];
                // The bounds after it name other types.
                if name == "where" && depth == 0 {
                    break;
                }
                let name = name.rsplit(['.', ':']).next().unwrap_or(name);
                if depth <= max_depth && previous != b'=' && is_type_name(name) {
                    found.push(name);
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns whether a `>` that is not that of an arrow (`->`, `=>`) follows after `from`.
fn is_closed_later(text: &[u8], from: usize) -> bool {
    memchr::memchr_iter(b'>', &text[from..])
        .any(|end| end > 0 && !matches!(text[from + end - 1], b'-' | b'='))
}

/// The end of the name, with its qualifiers (`a.b`, `a::b`), that begins at `at`.
fn end_of_name(text: &[u8], mut at: usize) -> usize {
    loop {
        while is_word_at(text, at) {
            at += 1;
        }

        match &text[at..] {
            [b'.', ..] if is_word_at(text, at + 1) => at += 1,
            [b':', b':', ..] if is_word_at(text, at + 2) => at += 2,
            _ => return at,
        }
    }
}

fn is_word_at(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(|&byte| is_word(byte))
}

/// Returns whether a name begins with a capital and has a lower-case letter.
fn is_type_name(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// Returns whether a mention of `name` in `text` is a call.
fn is_called_anywhere(text: &[u8], name: &str) -> bool {
    mentions(text, name).any(|at| is_called(&text[at + name.len()..]))
}

/// Returns whether the text after a name calls it: `(`, `!(`, or `::<T>(`.
pub fn is_called(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"!").unwrap_or(rest);
    let rest = rest.strip_prefix(b"::<").map_or(rest, |generic| {
        generic.iter().position(|&byte| byte == b'>').map_or(rest, |end| &generic[end + 1..])
    });
    rest.first() == Some(&b'(')
}

/// The positions of `name` in `text` as a whole word outside of lines of comment.
pub fn mentions<'t>(text: &'t [u8], name: &'t str) -> impl Iterator<Item = usize> + 't {
    memchr::memmem::find_iter(text, name.as_bytes()).filter(move |&at| {
        let is_whole = at.checked_sub(1).is_none_or(|before| !is_word(text[before]))
            && text.get(at + name.len()).is_none_or(|&after| !is_word(after));
        is_whole && !is_comment(text, at)
    })
}

/// Returns whether the line of a byte begins as comments do.
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
    fn bases_are_outside_of_arguments_parameters_and_annotations() {
        for (declaration, are_parenthesised, expected) in [
            (
                "public class Foo<T extends Bar> extends Base<Item> implements Able",
                false,
                &["Foo", "Base", "Able"][..],
            ),
            (
                "@Since(Version::class) class Foo(val a: Item) : Base(a), Able by it",
                false,
                &["Foo", "Base", "Able"],
            ),
            ("class Foo(pkg.Base[Item], Able, metaclass=Meta):", true, &["Foo", "Base", "Able"]),
            ("class Foo < Module::Base", false, &["Foo", "Base"]),
            ("impl<T: Bound> Able<Item> for Foo<T> where T: Other", false, &["Able", "Foo"]),
            ("class Foo /* extends Old */ : public ns::Base<Item> {", false, &["Foo", "Base"]),
            ("struct Foo: Able { // of Other", false, &["Foo", "Able"]),
        ] {
            assert_eq!(bases(declaration, are_parenthesised), expected, "{declaration}");
        }
    }

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
