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
    /// The group, a blank at the end of a statement, becomes a semicolon.
    End,
    /// The group, a string with a prefix of dollar signs, becomes one without a prefix and interpolation.
    Literal,
}

impl Rewrite {
    /// Rewrites the text of a group.
    fn apply(self, group: &mut [u8]) {
        match self {
            Rewrite::Hide => blank(group),
            Rewrite::Rename => group[1] = b'_',
            Rewrite::End => group[0] = b';',
            Rewrite::Literal => {
                let n_prefix = group.iter().take_while(|&&byte| byte == b'$').count();
                group[..n_prefix].fill(b' ');
                group.iter_mut().filter(|byte| **byte == b'$').for_each(|byte| *byte = b'_');
            }
        }
    }
}

/// Syntax of Kotlin that the grammar does not know.
static KOTLIN: LazyLock<Vec<(Regex, Rewrite)>> = LazyLock::new(|| {
    [
        // The guard of a branch: `is String if value.isEmpty() ->`.
        (r"(?-u)(?m)^[ \t]*!?(?:is|in)\b(?:[^\n-]|-[^\n>])*?[ \t](if\b[^{}]{0,300}?)->", Rewrite::Hide),
        (r"(?-u)(?m)^[ \t]*else[ \t]+(if\b[^\n{}]*?)->", Rewrite::Hide),
        // Annotations before an accessor.
        (
            r"(?-u)(?m)^[ \t]*((?:@[\w.]+(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?\s+)+)(?:(?:private|internal|protected|public|inline)[ \t]+)*[gs]et\b",
            Rewrite::Hide,
        ),
        // A call named like an accessor, in the line after a variable: `get("/") { … }`.
        (r"(?-u)(?m)^[ \t]*(get)\([^)\s]", Rewrite::Rename),
        (r"(?-u)(?m)^[ \t]*(set)\((?:[^\w\s)]|\w+[^\w):])", Rewrite::Rename),
        // An infix function named like an accessor: `insert { … } get id`.
        (r"(?-u)\}[ \t]*\b([gs]et)[ \t]+[\w(]", Rewrite::Rename),
        (r"(?-u)\)[ \t]*\b([gs]et)[ \t]+\w", Rewrite::Rename),
        // Variables named `by` and `final`.
        (r"(?-u)(?m)^[ \t]*(by)\.", Rewrite::Rename),
        (r"(?-u)(?m)^[ \t]*(final)[ \t]*=", Rewrite::Rename),
        // Modifiers and annotations of a constructor on a line of its own.
        (
            r"(?-u)(?m)^[ \t]*((?:(?:@[\w.]+(?:\([^()\n]*\))?|actual|expect|internal|private|protected|public)\s+)+)constructor\b",
            Rewrite::Hide,
        ),
        // Parameters of the context: `context(scope: Scope)` before a declaration.
        (
            r"(?-u)(?m)^[ \t]*(context\((?:[^()\n]|\([^()\n]*\))*\))\s+(?:@\w|(?:abstract|actual|class|data|expect|external|final|fun|infix|inline|interface|internal|open|operator|override|private|protected|public|sealed|suspend|tailrec|val|var)\b)",
            Rewrite::Hide,
        ),
        // A type of suspending functions in parentheses: `suspend ((A) -> B?)`.
        (r"(?-u)[:<(,=]\s*(suspend)\s+\(\(", Rewrite::Hide),
        // The last member of a type on one line has no semicolon: `interface A { fun b() }`.
        (
            r#"(?-u)\b(?:class|interface|object|companion)\b[^{}"\n]*\{[^{}"\n]*[^;{}\s]( )\}"#,
            Rewrite::End,
        ),
        (
            r#"(?-u)(?m)^[ \t]*(?:\w+ +)*(?:class|interface|object)\b[^{}"\n]*\{[^"\n]*[^;{}\s]( )\}[ \t]*$"#,
            Rewrite::End,
        ),
        // As before, after a body: `class A : B() { override fun c() { d() } }`.
        (
            r"(?-u)(?m)^[ \t]*(?:\w+ +)*(?:class|interface|object)\b[^{}\n]*\{[^\n]*\}( )\}[ \t]*$",
            Rewrite::End,
        ),
        (
            r"(?-u)(?m)^[ \t]*(?:\w+ +)*(?:class|interface|object)\b[^{}\n]*\{[^\n]*\}( )\} \}[ \t]*$",
            Rewrite::End,
        ),
        // Nor does a body that another member follows on its line.
        (
            r"(?-u)\}( )(?:(?:abstract|final|inline|internal|open|operator|override|private|protected|public|suspend) +)*(?:fun|val|var)\b",
            Rewrite::End,
        ),
        // A variable named `where`, which is not followed by constraints of a type.
        (r"(?-u)(?:^|[^\w.])(where)[ \t]*[=.?(),{]", Rewrite::Rename),
        // A string with interpolation by several dollar signs.
        (r#"(?-u)(\$\$+"(?:[^"\\\n]|\\.)+")"#, Rewrite::Literal),
        (r#"(?-u)(?s)(\$\$+""".*?""")"#, Rewrite::Literal),
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
            rewrite.apply(&mut shown[group.range()]);
        }
    }

    (shown != bytes).then_some(shown)
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
            ("kotlin", "@A($$\"${b.c-d:e}\")\nval f = $$\"\"\"\n${g\n\"\"\"\n"),
            ("kotlin", "interface A { fun b() }\n"),
            ("kotlin", "class A {\n    companion object { const val B = 1 }\n}\n"),
            ("kotlin", "open class A { open fun b() {} }\nclass C : A() { override fun b() {} }\n"),
            ("kotlin", "class A : B() { override fun c(): String { return \"d\" } }\nclass E\n"),
            ("kotlin", "class A { object B { fun c() {} } }\nclass D\n"),
            ("kotlin", "class A : B() { override fun c() {} override val d: Int get() = 1 }\nclass E\n"),
            ("kotlin", "enum class A(val b: Int) { C(1), D(2); val e: Int }\n"),
            ("kotlin", "class A {\n    context(b: C<D>, e: () -> F)\n    override fun g() = 1\n}\n"),
            ("kotlin", "class A\n@B\ninternal constructor(val c: Int) {\n    fun d() {}\n}\n"),
            ("kotlin", "val a: suspend ((B) -> C?) = d\n"),
            ("kotlin", "fun f() {\n    val a = b(c)\n\n    get(\"/\") { d() }\n}\n"),
            (
                "kotlin",
                "class A {\n    var b = 1\n        @C(\n            D(\"e\"),\n        )\n        set\n}\n",
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
        assert_eq!(rewritten("java", b"class A { }\n"), None);
    }
}
