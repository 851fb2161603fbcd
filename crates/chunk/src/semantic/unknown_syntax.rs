//! Rewrites syntax that a grammar does not know as syntax that it knows.
//!
//! After such syntax the parser often gives up the rest of the file. Offsets and line ends are kept, so nodes
//! are at their own places, and names are read from the text itself.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::blank;

/// Returns `bytes` in a form that the grammar of that name knows; `None` if they hold no syntax that is known
/// to be a problem.
pub(super) fn rewritten(grammar: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    match grammar {
        "kotlin" => kotlin(bytes),
        "csharp" => first_branches(bytes),
        _ => None,
    }
}

/// The replacement for a match of a pattern. The pattern has one group.
#[derive(Clone, Copy)]
enum Rewrite {
    /// The group is replaced by blanks.
    Hide,
    /// The group, a soft keyword used as a name, becomes another name: its second byte is `_`.
    Rename,
}

/// Syntax of Kotlin that the grammar does not know.
static KOTLIN: LazyLock<Vec<(Regex, Rewrite)>> = LazyLock::new(|| {
    [
        // The guard of a branch: `is String if value.isEmpty() ->`.
        (r"(?-u)(?m)^[ \t]*!?(?:is|in)\b(?:[^\n-]|-[^\n>])*?[ \t](if\b[^{}]{0,300}?)->", Rewrite::Hide),
        (r"(?-u)(?m)^[ \t]*else[ \t]+(if\b[^\n{}]*?)->", Rewrite::Hide),
        // Annotations before an accessor.
        (
            r"(?-u)(?m)^[ \t]*((?:@[\w.]+(?:\([^()\n]*\))?\s+)+)(?:(?:private|internal|protected|public|inline)[ \t]+)*[gs]et\b",
            Rewrite::Hide,
        ),
        // An infix function named like an accessor: `insert { … } get id`.
        (r"(?-u)\}[ \t]*\b([gs]et)[ \t]+[\w(]", Rewrite::Rename),
        (r"(?-u)\)[ \t]*\b([gs]et)[ \t]+\w", Rewrite::Rename),
        // Variables named `by` and `final`.
        (r"(?-u)(?m)^[ \t]*(by)\.", Rewrite::Rename),
        (r"(?-u)(?m)^[ \t]*(final)[ \t]*=", Rewrite::Rename),
        // Several modifiers of a constructor.
        (
            r"(?-u)(?m)^[ \t]*((?:(?:actual|expect|internal|private|protected|public)[ \t]+){2,})constructor\b",
            Rewrite::Hide,
        ),
        // A variable named `where`, which is not followed by constraints of a type.
        (r"(?-u)(?:^|[^\w.])(where)[ \t]*[=.?(),{]", Rewrite::Rename),
        // The prefix of a string with interpolation by several dollar signs.
        (r#"(\$\$+)""#, Rewrite::Hide),
    ]
    .map(|(pattern, rewrite)| {
        (Regex::new(pattern).expect("the patterns are valid: a test compiles them"), rewrite)
    })
    .into()
});

/// Rewrites every match of the patterns of [`KOTLIN`].
fn kotlin(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut shown = bytes.to_vec();

    for (pattern, rewrite) in KOTLIN.iter() {
        for group in pattern.captures_iter(bytes).filter_map(|captures| captures.get(1)) {
            match rewrite {
                Rewrite::Hide => blank(&mut shown[group.range()]),
                Rewrite::Rename => shown[group.start() + 1] = b'_',
            }
        }
    }

    (shown != bytes).then_some(shown)
}

/// Returns the first branch of every condition of the preprocessor, without the directives around it. The
/// grammar of C# knows conditions between members and statements, but not around a modifier or a part of an
/// expression.
fn first_branches(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut shown = bytes.to_vec();
    // The open conditions; true if the first branch has ended.
    let mut open: Vec<bool> = Vec::new();
    let mut has_hidden = false;

    for line in shown.split_inclusive_mut(|&byte| byte == b'\n') {
        let directive = line.trim_ascii_start().strip_prefix(b"#").map(<[u8]>::trim_ascii_start);
        let is = |word: &[u8]| directive.is_some_and(|directive| directive.starts_with(word));

        let is_hidden = open.contains(&true) || is(b"if") || is(b"el") || is(b"endif");
        if is(b"if") {
            open.push(false);
        } else if is(b"endif") {
            open.pop();
        } else if is(b"el")
            && let Some(ended) = open.last_mut()
        {
            *ended = true;
        }

        if is_hidden {
            blank(line);
            has_hidden = true;
        }
    }

    has_hidden.then_some(shown)
}

#[cfg(test)]
mod tests {
    use tree_sitter::{Node, Tree};

    use super::*;
    use crate::{LanguageId, chunk_blob, grammar};
    use codeweaver_config::ChunkerSettings;

    fn parse(language: &str, text: &[u8]) -> Tree {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&grammar::by_language(language).unwrap().language).unwrap();
        parser.parse(text, None).unwrap()
    }

    fn has_error(language: &str, text: &[u8]) -> bool {
        parse(language, text).root_node().has_error()
    }

    /// The names of the classes and functions at `node` and below it.
    fn definitions<'t>(node: Node<'_>, text: &'t [u8]) -> Vec<&'t [u8]> {
        let is_definition = matches!(node.kind(), "class_declaration" | "function_declaration");
        let name = node.child_by_field_name("name").filter(|_| is_definition);
        let mut found: Vec<&[u8]> = name.map(|name| &text[name.byte_range()]).into_iter().collect();
        let mut cursor = node.walk();
        found.extend(node.children(&mut cursor).flat_map(|child| definitions(child, text)));
        found
    }

    #[test]
    fn every_pattern_compiles() {
        // One that does not compile panics here.
        assert!(KOTLIN.iter().all(|(pattern, _)| pattern.captures_len() == 2), "a pattern has one group");
    }

    #[test]
    fn unknown_syntax_is_written_as_known_syntax() {
        for (language, text) in [
            ("kotlin", "fun f(v: Any) = when (v) {\n    is String if v.isEmpty() -> 1\n    else -> 2\n}\n"),
            ("kotlin", "class A {\n    val b\n        @C(D::class)\n        get() = 1\n    fun e() {}\n}\n"),
            ("kotlin", "fun f() {\n    val id = T.insert {\n        a()\n    } get T.id\n    g()\n}\n"),
            ("kotlin", "fun a() {\n    b = c\n    where = p\n}\n"),
            ("kotlin", "val a = $$\"${b}\"\nfun c() {}\n"),
            (
                "csharp",
                "namespace A\n{\n#if B\n    internal\n#else\n    public\n#endif\n    class C { }\n}\n",
            ),
        ] {
            assert!(has_error(language, text.as_bytes()), "the grammar knows it: {text}");
            let shown = rewritten(language, text.as_bytes()).unwrap();
            assert!(!has_error(language, &shown), "{}", String::from_utf8_lossy(&shown));
            assert_eq!(shown.len(), text.len());
        }
    }

    #[test]
    fn kotlin_after_unknown_syntax_is_found() {
        for text in [
            "fun f(v: A) = when (v) {\n    is B -> 1\n    else if c -> 2\n    else -> 3\n}\nfun after() {}\n",
            "fun f() {\n    val id = T.insert(a) get T.id\n    g()\n}\nfun after() {}\n",
            "fun f() {\n    val a = b(c) set d\n    g()\n}\nfun after() {}\n",
            "fun f(by: A) {\n    val b = 1\n    by.c = b\n}\nfun after() {}\n",
            "fun f() {\n    var final: Int\n    final = 1\n}\nfun after() {}\n",
            "class A\ninternal actual constructor(val b: Int) {\n    fun c() {}\n}\nfun after() {}\n",
            "class A\nprivate expect constructor(val b: Int) {\n    fun c() {}\n}\nfun after() {}\n",
        ] {
            let finds_after = |shown: &[u8]| {
                let tree = parse("kotlin", shown);
                definitions(tree.root_node(), text.as_bytes()).contains(&&b"after"[..])
            };
            assert!(!finds_after(text.as_bytes()), "the grammar knows it: {text}");
            let shown =
                rewritten("kotlin", text.as_bytes()).unwrap_or_else(|| panic!("no pattern finds {text}"));
            assert!(!has_error("kotlin", &shown), "{}", String::from_utf8_lossy(&shown));
            assert!(finds_after(&shown), "{}", String::from_utf8_lossy(&shown));
            // The same at the end of the chunker.
            let language = LanguageId::by_name("kotlin").unwrap();
            let blob = chunk_blob(text.as_bytes(), language, &ChunkerSettings::default());
            assert_eq!(blob.degradations, [], "{text}");
            let mut symbols = blob.chunks.iter().flat_map(|chunk| &chunk.symbols);
            assert!(symbols.any(|symbol| symbol.name == "after"), "{text}");
        }
    }

    #[test]
    fn known_syntax_is_left_alone() {
        let known = "fun <T> f(a: T): Int where T : A {\n    if (a is B) return a.get(1)\n    return 2\n}\n";
        assert_eq!(rewritten("kotlin", known.as_bytes()), None);
        assert_eq!(rewritten("csharp", b"#region A\nclass B { }\n#endregion\n"), None);
        assert_eq!(rewritten("java", b"class A { }\n"), None);
    }
}
