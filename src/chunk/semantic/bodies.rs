//! What a grammar cannot parse, hidden from the parser: bodies of functions, and macros between definitions.
//!
//! After a text that a grammar does not expect, the parser may skip the rest of the file, and the definitions
//! in it would be lost. Most such texts are inside a function; in C and C++ others are macros that stand for
//! a keyword, an attribute or a declaration. So a text with errors is parsed again with every body and every
//! such macro blank. A body that has no error by itself is shown again, and the tree with the fewest errors
//! is taken. What is inside the bodies that stay hidden is not in the tree. Errors inside of bodies that end
//! there hide no other definition and are left alone.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::blank;

/// How the braces of a language are told apart.
struct Braces {
    grammar: &'static str,
    /// Words before a brace that holds members.
    containers: &'static [&'static str],
    /// Words before a brace that holds a body, if no word of `containers` comes later.
    functions: &'static [&'static str],
    /// What a member stands in when it is parsed alone.
    around: (&'static str, &'static str),
    /// Parentheses after a word of `containers` are the parameters of a function that returns such a type.
    types_before_parameters: bool,
    /// Macros of the preprocessor may stand between definitions.
    has_macros: bool,
}

/// Parts of the names of macros that stand for a keyword or an attribute.
const ATTRIBUTES: &[&str] = &[
    "ALIGNED",
    "ALLOC",
    "ALWAYS",
    "API",
    "ATTR",
    "ATTRIBUTE",
    "COLD",
    "CONSTEVAL",
    "CONSTEXPR",
    "DECL",
    "DEPRECATED",
    "EXPORT",
    "EXTERN",
    "FORCEINLINE",
    "FUNC",
    "HIDDEN",
    "HOT",
    "INLINE",
    "LIKELY",
    "LOCAL",
    "NAMESPACE",
    "NODISCARD",
    "NOEXCEPT",
    "NOINLINE",
    "NORETURN",
    "NOTHROW",
    "OVERRIDE",
    "PUBLIC",
    "STATIC",
    "UNUSED",
    "VISIBILITY",
    "VISIBLE",
];

const CLASS: (&str, &str) = ("class A {\n", "\n}");

const LANGUAGES: &[Braces] = &[
    Braces {
        grammar: "c",
        containers: &["struct", "union", "enum", "extern"],
        functions: &[],
        around: ("", ""),
        types_before_parameters: true,
        has_macros: true,
    },
    Braces {
        grammar: "cpp",
        containers: &["class", "struct", "union", "enum", "namespace", "extern"],
        functions: &[],
        around: ("", ""),
        types_before_parameters: true,
        has_macros: true,
    },
    Braces {
        grammar: "csharp",
        containers: &["class", "struct", "interface", "enum", "namespace", "record"],
        functions: &[],
        around: CLASS,
        types_before_parameters: false,
        has_macros: false,
    },
    Braces {
        grammar: "java",
        containers: &["class", "interface", "@interface", "enum", "record", "module"],
        functions: &[],
        around: CLASS,
        types_before_parameters: false,
        has_macros: false,
    },
    Braces {
        grammar: "scala",
        containers: &["class", "trait", "object", "enum", "package", "extension", "given"],
        functions: &["def", "val", "var"],
        around: CLASS,
        types_before_parameters: false,
        has_macros: false,
    },
    Braces {
        grammar: "swift",
        containers: &["class", "struct", "enum", "protocol", "extension", "actor"],
        functions: &["func", "var", "let", "init", "deinit", "subscript", "get", "set"],
        around: CLASS,
        types_before_parameters: false,
        has_macros: false,
    },
];

/// The tree of `bytes` without the bodies that the parser fails on; `None` if it has no fewer errors than
/// `tree`. `probe` parses a part of the text: each body at most once.
pub(super) fn tree_without_bodies(
    grammar: &str,
    bytes: &[u8],
    tree: &Tree,
    parse: &dyn Fn(&[u8]) -> Option<Tree>,
    probe: &dyn Fn(&[u8]) -> Option<Tree>,
) -> Option<Tree> {
    let braces = LANGUAGES.iter().find(|braces| braces.grammar == grammar)?;
    let errors = error_bytes(tree);
    if errors == 0 {
        return None;
    }
    let mut scan = Scan::of(braces, bytes);
    each_leaf(tree, &mut |leaf| scan.token(leaf));
    let Scan { bodies, conditions, macros, .. } = scan;
    if errors_of(tree).iter().all(|error| is_inside(&bodies, error.start) && is_inside(&bodies, error.end)) {
        return None;
    }
    let mut bytes = bytes.to_vec();
    macros.into_iter().for_each(|range| blank(&mut bytes[range]));
    let bytes = bytes.as_slice();
    let bare = parse(&hidden(bytes, &bodies, &conditions)).filter(|bare| error_bytes(bare) < errors)?;
    let n_bodies = bodies.len();
    let broken: Vec<Body> = bodies.into_iter().filter(|body| !is_sound(body, braces, bytes, probe)).collect();
    if broken.len() == n_bodies {
        return Some(bare);
    }
    let most = parse(&hidden(bytes, &broken, &conditions));
    Some(most.filter(|most| error_bytes(most) <= error_bytes(&bare)).unwrap_or(bare))
}

/// A body in braces.
struct Body {
    /// Where the definition that it belongs to may begin.
    header: usize,
    /// Between the braces.
    contents: Range<usize>,
}

/// One `#if … #else … #endif`.
struct Condition {
    /// The line of the `#if`.
    start: Range<usize>,
    /// From the first other directive to the line end of the last.
    rest: Range<usize>,
}

struct Brace {
    header: usize,
    start: usize,
}

/// Finds the outermost bodies in a sequence of tokens.
struct Scan<'a> {
    braces: &'a Braces,
    bytes: &'a [u8],
    open: Vec<Brace>,
    /// How many of `open`, from the first, are containers.
    n_containers: usize,
    n_parentheses: u32,
    /// Where the text before the next brace starts.
    header: usize,
    /// Whether that text says that members follow.
    is_container: bool,
    bodies: Vec<Body>,
    conditions: Vec<Condition>,
    /// Positions of the conditions that are open, and whether their first branch has ended.
    branches: Vec<(usize, bool)>,
    macros: Vec<Range<usize>>,
    /// The macro that the last tokens belong to, and how many parentheses are open in its arguments.
    pending: Option<(Range<usize>, u32)>,
    /// How many of `branches` have ended their first branch. What follows repeats the braces of the first.
    n_others: usize,
}

impl<'a> Scan<'a> {
    fn of(braces: &'a Braces, bytes: &'a [u8]) -> Scan<'a> {
        Scan {
            braces,
            bytes,
            open: Vec::new(),
            n_containers: 0,
            n_parentheses: 0,
            header: 0,
            is_container: false,
            bodies: Vec::new(),
            conditions: Vec::new(),
            branches: Vec::new(),
            macros: Vec::new(),
            pending: None,
            n_others: 0,
        }
    }

    fn token(&mut self, token: Node<'_>) {
        if token.is_missing() {
            return;
        }
        let text = &self.bytes[token.byte_range()];
        if text.first() == Some(&b'#') {
            return self.directive(token.start_byte());
        }
        if self.is_argument(&token) || self.n_others > 0 {
            return;
        }
        match token.kind() {
            "(" | "[" => self.n_parentheses += 1,
            ")" | "]" => {
                self.n_parentheses = self.n_parentheses.saturating_sub(1);
                self.is_container &= !(self.braces.types_before_parameters && self.n_parentheses == 0);
            }
            ";" => self.begin_header(token.end_byte()),
            "}" => self.close(token),
            kind if kind.ends_with('{') => self.open(token),
            _ if self.n_parentheses > 0 => {}
            _ => {
                let is = |words: &[&str]| words.iter().any(|word| word.as_bytes() == text);
                self.is_container =
                    is(self.braces.containers) || self.is_container && !is(self.braces.functions);
            }
        }
    }

    /// Notes macros between definitions; true for a token of their arguments.
    fn is_argument(&mut self, token: &Node<'_>) -> bool {
        let text = &self.bytes[token.byte_range()];
        if let Some((mut range, mut depth)) = self.pending.take() {
            let opens = depth == 0 && text == b"(" && token.start_byte() == range.end;
            if !opens && depth == 0 {
                if is_attribute(self.bytes, &range) {
                    self.macros.push(range);
                }
            } else {
                range.end = token.end_byte();
                match text {
                    b"(" => depth += 1,
                    b")" => depth -= 1,
                    _ => {}
                }
                if depth > 0 {
                    self.pending = Some((range, depth));
                } else if is_attribute(self.bytes, &range) || self.is_line(&range) {
                    self.macros.push(range);
                } else {
                    self.is_container = false;
                }
                return true;
            }
        }
        let is_between = self.open.len() == self.n_containers && self.n_parentheses == 0;
        let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
        if self.braces.has_macros
            && is_between
            && text.len() > 3
            && text.iter().all(is_name)
            && token.start_byte() >= self.header
        {
            self.pending = Some((token.byte_range(), 0));
        }
        false
    }

    /// Whether a macro with arguments stands alone on its lines, followed by the beginning of a definition.
    fn is_line(&self, range: &Range<usize>) -> bool {
        let before = self.bytes[..range.start].iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
        let after = &self.bytes[range.end..];
        let line_end = after.iter().position(|&byte| byte == b'\n').unwrap_or(after.len());
        let next = after.trim_ascii_start().first();
        before.is_none_or(|&byte| byte == b'\n')
            && after[..line_end].trim_ascii().is_empty()
            && next.is_none_or(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'#' | b'/' | b'}'))
    }

    fn open(&mut self, token: Node<'_>) {
        let is_container = self.is_container && self.n_parentheses == 0;
        if is_container && self.n_containers == self.open.len() {
            self.n_containers += 1;
        }
        let header = self.header.min(token.start_byte());
        self.open.push(Brace { header, start: token.end_byte() });
        self.begin_header(token.end_byte());
    }

    fn close(&mut self, token: Node<'_>) {
        self.begin_header(token.end_byte());
        let Some(brace) = self.open.pop() else { return };
        if self.open.len() < self.n_containers {
            self.n_containers = self.open.len();
        } else if self.open.len() == self.n_containers && brace.start < token.start_byte() {
            let contents = brace.start..token.start_byte();
            self.bodies.push(Body { header: brace.header, contents });
        }
    }

    fn begin_header(&mut self, at: usize) {
        (self.header, self.is_container, self.n_parentheses) = (at, false, 0);
    }

    /// A line that begins with `#`.
    fn directive(&mut self, start: usize) {
        let rest = &self.bytes[start..];
        let line = start..start + rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let name = self.bytes[start + 1..line.end].trim_ascii_start();
        if name.starts_with(b"if") {
            self.branches.push((self.conditions.len(), false));
            self.conditions.push(Condition { rest: line.end..line.end, start: line.clone() });
        } else if (name.starts_with(b"el") || name.starts_with(b"endif"))
            && let Some((at, is_other)) = self.branches.last_mut()
        {
            let condition = &mut self.conditions[*at];
            let from = if *is_other { condition.rest.start } else { line.start };
            condition.rest = from..line.end;
            if !std::mem::replace(is_other, true) {
                self.n_others += 1;
            }
            if name.starts_with(b"endif") {
                self.branches.pop();
                self.n_others -= 1;
            }
        }
        if self.n_others == 0 {
            self.begin_header(line.end);
        }
    }
}

/// Whether the macro at `range` has the name of one that stands for a keyword or an attribute.
fn is_attribute(bytes: &[u8], range: &Range<usize>) -> bool {
    let name = bytes[range.clone()].split(|&byte| byte == b'(').next().unwrap_or_default();
    name.split(|&byte| byte == b'_').any(|part| {
        let n_digits = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        ATTRIBUTES.iter().any(|word| word.as_bytes() == &part[..part.len() - n_digits])
    })
}

/// `bytes` with blanks for the contents of `bodies`, and for conditions that begin or end inside of one.
fn hidden(bytes: &[u8], bodies: &[Body], conditions: &[Condition]) -> Vec<u8> {
    let mut shown = bytes.to_vec();
    for body in bodies {
        blank(&mut shown[body.contents.clone()]);
    }
    for Condition { start, rest } in conditions {
        if is_inside(bodies, start.start) != is_inside(bodies, rest.end.saturating_sub(1)) {
            blank(&mut shown[start.clone()]);
            blank(&mut shown[rest.clone()]);
        }
    }
    shown
}

/// Whether an offset is inside of a body.
fn is_inside(bodies: &[Body], at: usize) -> bool {
    let next = bodies.partition_point(|body| body.contents.end < at);
    bodies.get(next).is_some_and(|body| body.contents.start <= at)
}

/// Whether the definition of a body has no error when it is parsed alone.
fn is_sound(body: &Body, braces: &Braces, bytes: &[u8], probe: &dyn Fn(&[u8]) -> Option<Tree>) -> bool {
    let definition = &bytes[body.header..body.contents.end + 1];
    let (before, after) = braces.around;
    let alone = [before.as_bytes(), definition, after.as_bytes()].concat();
    probe(&alone).is_some_and(|tree| !tree.root_node().has_error())
}

/// Bytes in ERROR nodes, and one for each missing token.
pub(super) fn error_bytes(tree: &Tree) -> usize {
    errors_of(tree).iter().map(|error| error.len().max(1)).sum()
}

/// The outermost ERROR nodes and missing tokens.
fn errors_of(tree: &Tree) -> Vec<Range<usize>> {
    let mut errors = Vec::new();
    each(tree, &mut |node| {
        let is_error = node.is_error() || node.is_missing();
        if is_error {
            errors.push(node.byte_range());
        }
        node.has_error() && !is_error
    });
    errors
}

fn each_leaf(tree: &Tree, visit: &mut impl FnMut(Node<'_>)) {
    each(tree, &mut |node| {
        if node.child_count() == 0 {
            visit(node);
        }
        true
    });
}

/// Visits nodes in the order of the text; the children of those for which `visit` is true.
fn each(tree: &Tree, visit: &mut impl FnMut(Node<'_>) -> bool) {
    let mut cursor = tree.walk();
    loop {
        let entered = visit(cursor.node()) && cursor.goto_first_child();
        while !entered && !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::grammar;

    /// The text with the contents of its bodies replaced by dots.
    fn bodies_of(language: &str, text: &str) -> String {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&grammar::by_language(language).unwrap().language).unwrap();
        let tree = parser.parse(text, None).unwrap();
        let braces = LANGUAGES.iter().find(|braces| braces.grammar == language).unwrap();
        let mut scan = Scan::of(braces, text.as_bytes());
        each_leaf(&tree, &mut |leaf| scan.token(leaf));
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
            ("swift", "extension A { func b() { c() } }", "extension A { func b() { } }"),
        ] {
            assert_eq!(bodies_of(language, text), expected, "{text}");
        }
    }

    #[test]
    fn a_condition_that_a_body_crosses_is_hidden() {
        let text = "#if A\nint f(int a) {\n#else\nint f(long a) {\n#endif\n  g();\n}\nint h(void) { }\n";
        assert_eq!(bodies_of("c", text), "int f(int a) { } int h(void) { }");
        let whole = "#if A\nint f(int a) { b(); }\n#else\nint f(long a) { c(); }\n#endif\n";
        assert_eq!(bodies_of("c", whole), "#if A int f(int a) { } #else int f(long a) { c(); } #endif");
    }
}
