//! Hides macros of C and C++ that the grammars read as something else.
//!
//! `class API Name {` reads as a function `Name` that returns `class API`, with its members as statements,
//! and `Q_OBJECT public:` as a field of the type `Q_OBJECT`. Neither is an error of the tree, so such macros
//! are hidden before a text is parsed. Offsets and line ends are kept.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;

use codeweaver_text::group_len;

use super::blank;
use super::bodies::is_attribute;

/// Maximum number of words between the keyword of a type and its body.
const MAX_WORDS: usize = 8;
/// Maximum length of the arguments of a macro.
const MAX_ARGUMENTS: usize = 2_000;
/// Maximum length of the text between the name of a type and its body.
const MAX_BASES: usize = 1_000;

/// Words that may follow the name of a type.
const AFTER_NAME: &[&[u8]] = &[b"final", b"sealed", b"abstract"];
/// Words with arguments before the name of a type that the grammars know.
const KNOWN: &[&[u8]] = &[b"alignas", b"_Alignas", b"__declspec", b"__attribute__", b"__attribute"];

/// Macros of Qt that stand for nothing among the members of a class, or for an attribute of one.
const QT_MACROS: &[&[u8]] = &[
    b"Q_CLASSINFO",
    b"Q_DECLARE_PRIVATE",
    b"Q_DECLARE_PRIVATE_D",
    b"Q_DECLARE_PUBLIC",
    b"Q_DISABLE_COPY",
    b"Q_DISABLE_COPY_MOVE",
    b"Q_DISABLE_MOVE",
    b"Q_ENUM",
    b"Q_ENUMS",
    b"Q_ENUM_NS",
    b"Q_FLAG",
    b"Q_FLAGS",
    b"Q_FLAG_NS",
    b"Q_GADGET",
    b"Q_GADGET_EXPORT",
    b"Q_INTERFACES",
    b"Q_INVOKABLE",
    b"Q_NAMESPACE",
    b"Q_NAMESPACE_EXPORT",
    b"Q_OBJECT",
    b"Q_OBJECT_BINDABLE_PROPERTY",
    b"Q_PLUGIN_METADATA",
    b"Q_PRIVATE_PROPERTY",
    b"Q_PRIVATE_SLOT",
    b"Q_PROPERTY",
    b"Q_REVISION",
    b"Q_SCRIPTABLE",
    b"Q_SIGNAL",
    b"Q_SLOT",
    b"QML_ANONYMOUS",
    b"QML_ELEMENT",
    b"QML_NAMED_ELEMENT",
    b"QML_SINGLETON",
    b"QML_UNCREATABLE",
    b"QML_VALUE_TYPE",
];

/// Macros without a semicolon before the keyword of the members that follow: `GENERATED_BODY()\npublic:`.
static BEFORE_ACCESS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?-u)(?m)(?:^|[{;])[ \t]*((?:[A-Z][A-Z0-9_]{3,}(?:\([^();\n]*\))?\s+)+)(?:public|protected|private)[ \t]*:";
    Regex::new(pattern).expect("the pattern is valid: a test compiles it")
});

/// Sections of signals and slots: `signals:`, `public Q_SLOTS:`.
static QT_SECTION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r"(?-u)(?m)^[ \t]*(signals|Q_SIGNALS|(?:public|protected|private)[ \t]+(?:slots|Q_SLOTS))[ \t]*:";
    Regex::new(pattern).expect("the pattern is valid: a test compiles it")
});

/// Returns `bytes` without such macros; `None` if there are none.
pub(super) fn without_class_macros(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut hidden = head_macros(bytes);
    hidden.extend(BEFORE_ACCESS.captures_iter(bytes).filter_map(|found| Some(found.get(1)?.range())));

    let is_qt = memmem::find(bytes, b"Q_OBJECT").is_some() || memmem::find(bytes, b"Q_GADGET").is_some();
    if is_qt {
        hidden.extend(qt_macros(bytes));
    }

    let mut shown = bytes.to_vec();
    for range in hidden {
        blank(&mut shown[range]);
    }
    if is_qt {
        for section in QT_SECTION.captures_iter(bytes).filter_map(|found| found.get(1)) {
            // Shorter than any of the words that it replaces.
            blank(&mut shown[section.range()]);
            shown[section.start()..section.start() + b"public".len()].copy_from_slice(b"public");
        }
    }

    (shown != bytes).then_some(shown)
}

/// Returns the macros between the keyword of a type and its name.
fn head_macros(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();

    for keyword in [&b"class"[..], b"struct", b"union", b"enum"] {
        for at in memmem::find_iter(bytes, keyword) {
            let end = at + keyword.len();
            let is_word = !bytes[..at].last().is_some_and(is_word_byte)
                && bytes.get(end).is_some_and(u8::is_ascii_whitespace);
            if is_word && let Some(head) = Head::read(bytes, end) {
                found.extend(head.macros(bytes, keyword));
            }
        }
    }

    found
}

/// The words between the keyword of a type and its body.
struct Head {
    /// The words with their arguments, except those after the name.
    words: Vec<Range<usize>>,
    /// Offset of what ends the head: `{`, `:` or `;`.
    end: usize,
}

impl Head {
    /// Reads the words after a keyword; `None` if that is not the head of a type.
    fn read(bytes: &[u8], from: usize) -> Option<Head> {
        let mut words: Vec<Range<usize>> = Vec::new();
        let mut at = from;

        let end = loop {
            at += bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            match bytes.get(at)? {
                b'[' => at += memmem::find(bytes.get(at..at + MAX_BASES.min(bytes.len() - at))?, b"]]")? + 2,
                b'{' | b':' | b';' => break at,
                first if first.is_ascii_alphabetic() || *first == b'_' => {
                    let end = word_end(bytes, at)?;
                    words.push(at..end);
                    at = end;
                }
                _ => return None,
            }
            if words.len() > MAX_WORDS {
                return None;
            }
        };

        while words.last().is_some_and(|word| AFTER_NAME.contains(&&bytes[word.clone()])) {
            words.pop();
        }
        Some(Head { words, end })
    }

    /// Returns the words that are macros.
    fn macros(mut self, bytes: &[u8], keyword: &[u8]) -> Vec<Range<usize>> {
        let Some(name) = self.words.pop() else { return Vec::new() };
        self.words.retain(|word| {
            let name = bytes[word.clone()].split(|&byte| byte == b'(').next().unwrap_or_default();
            !KNOWN.contains(&name)
        });

        // `struct stat f() {` is a function, `enum class A {` has two keywords.
        let is_type = !bytes[name].contains(&b'(')
            && !self.words.iter().any(|word| matches!(&bytes[word.clone()], b"class" | b"struct"));
        if self.words.is_empty() || !is_type || !self.has_members(bytes, keyword) {
            return Vec::new();
        }
        self.words
    }

    /// Returns whether the head is that of a type, not the type of a variable (`struct POINT p {1, 2};`).
    fn has_members(&self, bytes: &[u8], keyword: &[u8]) -> bool {
        let are_attributes = self.words.iter().all(|word| is_attribute(bytes, word));
        let are_macros = self.words.iter().all(|word| is_macro(&bytes[word.clone()]));
        let rest = &bytes[self.end..];

        match (bytes[self.end], keyword) {
            (b';', b"class") => are_macros,
            (b';', _) => are_attributes,
            // A class has no variable of its own name before a brace.
            (b'{', b"class") => true,
            (b'{', _) if are_attributes => true,
            (b'{', b"enum") => are_macros && ends_first(rest, b',', b"};"),
            (b'{', _) => are_macros && ends_first(rest, b';', b"}"),
            (b':', keyword) => {
                let bases = &rest[..rest.len().min(MAX_BASES)];
                (keyword == b"class" || are_macros) && ends_first(bases, b'{', b";}")
            }
            _ => false,
        }
    }
}

/// Returns the macros of Qt among the members of classes, with their arguments.
fn qt_macros(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();

    for at in memmem::find_iter(bytes, b"Q") {
        if bytes[..at].last().is_some_and(is_word_byte) {
            continue;
        }
        let end = at + bytes[at..].iter().take_while(|byte| is_word_byte(byte)).count();
        if QT_MACROS.contains(&&bytes[at..end]) {
            found.push(at..word_end(bytes, at).unwrap_or(end));
        }
    }

    found
}

/// Returns the end of the word at `start` with the arguments that follow it; `None` if these do not end.
fn word_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut end = start;
    loop {
        end += bytes[end..].iter().take_while(|byte| is_word_byte(byte)).count();
        if !bytes[end..].starts_with(b"::") {
            break;
        }
        end += 2;
    }

    match bytes.get(end) {
        Some(b'(') => Some(end + group_len(&bytes[end..], (b'(', b')'), MAX_ARGUMENTS)?),
        Some(b'<') => Some(end + group_len(&bytes[end..], (b'<', b'>'), MAX_ARGUMENTS)?),
        _ => Some(end),
    }
}

/// Returns whether `wanted` is in the text, before any of `others`.
fn ends_first(text: &[u8], wanted: u8, others: &[u8]) -> bool {
    text.iter().find(|&&byte| byte == wanted || others.contains(&byte)) == Some(&wanted)
}

/// Returns whether a word is written as macros are: capitals, digits and `_`.
fn is_macro(word: &[u8]) -> bool {
    let name = word.split(|&byte| byte == b'(').next().unwrap_or_default();
    name.len() > 2
        && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

fn is_word_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LanguageId, chunk_blob};
    use codeweaver_config::ChunkerSettings;

    fn shown(text: &str) -> String {
        let shown = without_class_macros(text.as_bytes()).unwrap_or_else(|| text.into());
        String::from_utf8(shown).unwrap()
    }

    /// The symbols of a text as `kind name`.
    fn symbols(language: &str, text: &str) -> Vec<String> {
        let language = LanguageId::by_name(language).unwrap();
        let blob = chunk_blob(text.as_bytes(), language, &ChunkerSettings::default());
        let symbols = blob.chunks.iter().flat_map(|chunk| &chunk.symbols);
        symbols.map(|symbol| format!("{:?} {}", symbol.kind, symbol.qualified_name)).collect()
    }

    #[test]
    fn macros_in_the_head_of_a_type_are_hidden() {
        for (text, expected) in [
            ("class API Name {\n", "class     Name {\n"),
            ("class foo_api Name {\n", "class         Name {\n"),
            (
                "class A_API B_DEP(1) Name final : public B {\n",
                "class                Name final : public B {\n",
            ),
            ("class [[nodiscard]] API n::Name<int> {\n", "class [[nodiscard]]     n::Name<int> {\n"),
            ("template <class T> struct API Name {\n", "template <class T> struct     Name {\n"),
            ("struct FOO Name { int x; };\n", "struct     Name { int x; };\n"),
            ("enum class API Name : int { A };\n", "enum class     Name : int { A };\n"),
            ("enum API Name { A, B };\n", "enum     Name { A, B };\n"),
            ("class API Name;\n", "class     Name;\n"),
        ] {
            assert_eq!(shown(text), expected);
        }

        for text in [
            "class Name final : public B { };\n",
            "class Name final {\n",
            "struct POINT p {1, 2};\n",
            "struct POINT p = {1, 2};\n",
            "struct POINT f(void) { return p; }\n",
            "enum KIND kind : 3;\n",
            "struct STAT s;\n",
            "class alignas(16) Name { };\n",
            "template <class T, class U> void f();\n",
            "enum class Kind { A, B };\n",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn a_class_with_a_macro_and_no_base_has_members() {
        let text = "namespace n {\nclass API Name {\npublic:\n  Name();\n  int run(int x);\n};\n}\n";
        let expected = ["Namespace n", "Class n::Name", "Constructor n::Name::Name", "Method n::Name::run"];
        assert_eq!(symbols("cpp", text), expected);
        assert_eq!(
            symbols("c", "struct API name { int x; };\nint f(void) { return 1; }\n"),
            ["Struct name", "Function f"]
        );
    }

    #[test]
    fn macros_of_qt_do_not_hide_the_constructor() {
        let text = "class W : public QObject {\n  Q_OBJECT public:\n  explicit W(QObject *parent = nullptr);\n\
                    signals:\n  void changed(int x);\npublic Q_SLOTS:\n  void go();\n};\n\
                    class V {\n  Q_GADGET\n  Q_PROPERTY(int a READ a)\n  V();\n  Q_INVOKABLE void run();\n};\n";
        let expected = [
            "Class W",
            "Constructor W::W",
            "Method W::changed",
            "Method W::go",
            "Class V",
            "Constructor V::V",
            "Method V::run",
        ];
        assert_eq!(symbols("cpp", text), expected);
        assert_eq!(
            shown("class A {\n  GENERATED_BODY()\npublic:\n"),
            "class A {\n                  \npublic:\n"
        );
    }
}
