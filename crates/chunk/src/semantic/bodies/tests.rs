use super::*;
use crate::grammar;

/// The text with the contents of its bodies replaced by dots.
fn bodies_of(language: &str, text: &str) -> String {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&grammar::by_language(language).unwrap().language).unwrap();
    let tree = parser.parse(text, None).unwrap();
    let braces = LANGUAGES.iter().find(|braces| braces.grammar == language).unwrap();
    let mut scan = Scan::new(braces, text.as_bytes(), &tree.language());
    each(&tree, &mut |node| scan.takes(node));
    let mut text = text.as_bytes().to_vec();
    scan.macros.iter().for_each(|range| blank(&mut text[range.clone()]));
    let shown = hidden(&text, &scan.bodies, &scan.conditions);
    let shown = String::from_utf8(shown).unwrap();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn bodies_are_told_from_braces_with_members() {
    for (language, text, expected) in [
        ("c", "struct a *f(struct b c) { if (x) { y; } }", "struct a *f(struct b c) { }"),
        ("c", "typedef struct a { int b; } a;", "typedef struct a { int b; } a;"),
        (
            "cpp",
            "A_BEGIN_NAMESPACE\nclass A_API B { A_CONSTEXPR B(int c) A_NOEXCEPT { d(); } };",
            "class B { B(int c) { } };",
        ),
        (
            "c",
            "PROTO(a)\nPROTO(b)\nstatic WORD c(void) { TEST(d); }\nTEST_BEGIN(e) { f(); }",
            "static WORD c(void) { } TEST_BEGIN(e) { }",
        ),
        (
            "cpp",
            "extern \"C\" { namespace a { class B : public C { void f() { g(); } int h; }; } }",
            "extern \"C\" { namespace a { class B : public C { void f() { } int h; }; } }",
        ),
        (
            "csharp",
            "namespace A { class B { C D { get; } void E(Type f = typeof(G)) { h(); } } }",
            "namespace A { class B { C D { } void E(Type f = typeof(G)) { } } }",
        ),
        (
            "java",
            "class A { @B(C.class) void d() { e(); } enum F { G } }",
            "class A { @B(C.class) void d() { } enum F { G } }",
        ),
        ("scala", "object A { def b = { c } }", "object A { def b = { } }"),
        (
            "kotlin",
            "class A {\nval b = c(D::class) { e }\nfun f() = g { h }\ncompanion object {\nfun i() { j() }\n}\n}\n",
            "class A { val b = c(D::class) { } fun f() = g { } companion object { fun i() { } } }",
        ),
        ("swift", "extension A { func b() { c() } }", "extension A { func b() { } }"),
    ] {
        assert_eq!(bodies_of(language, text), expected, "{text}");
    }
}

/// The tree of a text with what hides definitions left out, and the number of parses after the first.
fn definitions(language: &str, text: &str) -> (Option<Tree>, usize) {
    let grammar = grammar::by_language(language).unwrap();
    let parse = |bytes: &[u8], old: Option<&Tree>| {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&grammar.language).unwrap();
        parser.parse(bytes, old)
    };
    let n_parses = std::cell::Cell::new(0);
    let again = |bytes: &[u8], old: &Tree| {
        n_parses.set(n_parses.get() + 1);
        let (again, afresh) = (parse(bytes, Some(old))?, parse(bytes, None)?);
        assert_eq!(again.root_node().to_sexp(), afresh.root_node().to_sexp());
        Some(again)
    };
    let probe = |bytes: &[u8]| parse(bytes, None);
    let tree = parse(text.as_bytes(), None).unwrap();
    let better = tree_without_bodies(language, text.as_bytes(), &tree, &again, &probe);
    (better, n_parses.get())
}

#[test]
fn a_text_is_parsed_again_only_if_something_can_be_hidden() {
    let after = "int after(void)\n{\n\treturn 0;\n}\n";
    for (text, expected) in [
        // Errors in the header of a definition and in a body that ends where its braces do.
        ("static int __init f(void) { g(); }\n", (false, 0)),
        ("static int __init f(void) { a(; }\nint g(void) { b(; }\n", (false, 0)),
        // The parser does not find the end of the body.
        ("int f(int a) {\n#if A\n\tif (a) {\n#else\n\tif (!a) {\n#endif\n\t\tb(;\n\t}\n}\n", (true, 1)),
        // A macro without an error near it is left alone.
        ("static int __init f(void) { g(); }\nEXPORT_SYMBOL(f);\n", (false, 0)),
        ("A_API_EXPORT A_NOINLINE static int f(void) { g(); }\n", (true, 1)),
    ] {
        let (better, n_parses) = definitions("c", &format!("{text}{after}"));
        assert_eq!((better.is_some(), n_parses), expected, "{text}");
    }
}

#[test]
fn differences_are_found_with_their_lines() {
    let old = "a\nbb\n".repeat(100);
    let mut new = old.clone().into_bytes();
    for at in [2, 3, 200, 497] {
        new[at] = b' ';
    }
    assert_eq!(differences(old.as_bytes(), &new), [2..4, 200..201, 497..498]);
    assert!(differences(old.as_bytes(), old.as_bytes()).is_empty());
    let mut points = Points { bytes: old.as_bytes(), row: 0, line_start: 0 };
    let found = [2, 4, 200, 497].map(|at| points.at(at)).map(|point| (point.row, point.column));
    assert_eq!(found, [(1, 0), (1, 2), (80, 0), (199, 0)]);
}

#[test]
fn a_condition_that_a_body_crosses_is_hidden() {
    let text = "#if A\nint f(int a) {\n#else\nint f(long a) {\n#endif\n  g();\n}\nint h(void) { }\n";
    assert_eq!(bodies_of("c", text), "int f(int a) { } int h(void) { }");
    let whole = "#if A\nint f(int a) { b(); }\n#else\nint f(long a) { c(); }\n#endif\n";
    assert_eq!(bodies_of("c", whole), "#if A int f(int a) { } #else int f(long a) { c(); } #endif");
}
