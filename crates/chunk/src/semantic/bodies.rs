//! Hides text that a grammar cannot parse from the parser: bodies of functions, and macros between
//! definitions.
//!
//! After a text that a grammar does not expect, the parser may skip the rest of the file, and the definitions
//! in it would be lost. Most such texts are inside a function. In C and C++ others are macros that stand for
//! a keyword, an attribute or a declaration. So a text with errors is parsed again with such macros blank,
//! and with those bodies blank that the parser failed on: bodies with an error that are no block of the tree.
//! A body that has no error by itself stays visible, unless there are no fewer errors then. Text inside
//! hidden bodies is not in the tree. A body that is a block hides no other definition, whatever errors are
//! inside.
//!
//! The second parse reuses the parts of the first tree whose text is the same.

use std::ops::Range;

use rustc_hash::FxHashSet;
use tree_sitter::{InputEdit, Language, Node, Point, Tree};

use super::blank;

/// The rules by which the braces of a language are told apart.
struct Braces {
    grammar: &'static str,
    /// Kind of the nodes that are the statements of a body with its braces.
    block: &'static str,
    /// Words before a brace that holds members.
    containers: &'static [&'static str],
    /// Words before a brace that holds a body, if no word of `containers` comes later.
    functions: &'static [&'static str],
    /// Text around a member that is parsed alone.
    around: (&'static str, &'static str),
    /// True if parentheses after a word of `containers` are the parameters of a function that returns such a
    /// type.
    types_before_parameters: bool,
    /// True if macros of the preprocessor may stand between definitions.
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
        block: "compound_statement",
        containers: &["struct", "union", "enum", "extern"],
        functions: &[],
        around: ("", ""),
        types_before_parameters: true,
        has_macros: true,
    },
    Braces {
        grammar: "cpp",
        block: "compound_statement",
        containers: &["class", "struct", "union", "enum", "namespace", "extern"],
        functions: &[],
        around: ("", ""),
        types_before_parameters: true,
        has_macros: true,
    },
    Braces {
        grammar: "csharp",
        block: "block",
        containers: &["class", "struct", "interface", "enum", "namespace", "record"],
        functions: &[],
        around: CLASS,
        types_before_parameters: false,
        has_macros: false,
    },
    Braces {
        grammar: "java",
        block: "block",
        containers: &["class", "interface", "@interface", "enum", "record", "module"],
        functions: &[],
        around: CLASS,
        types_before_parameters: false,
        has_macros: false,
    },
    Braces {
        grammar: "kotlin",
        block: "block",
        containers: &["class", "interface", "object"],
        functions: &["fun", "val", "var", "init", "constructor", "typealias"],
        around: CLASS,
        types_before_parameters: false,
        has_macros: false,
    },
    Braces {
        grammar: "scala",
        block: "block",
        containers: &["class", "trait", "object", "enum", "package", "extension", "given"],
        functions: &["def", "val", "var"],
        around: CLASS,
        types_before_parameters: false,
        has_macros: false,
    },
    Braces {
        grammar: "swift",
        block: "function_body",
        containers: &["class", "struct", "enum", "protocol", "extension", "actor"],
        functions: &["func", "var", "let", "init", "deinit", "subscript", "get", "set"],
        around: CLASS,
        types_before_parameters: false,
        has_macros: false,
    },
];

/// Returns the tree of `bytes` without the bodies that the parser fails on; `None` if it has no fewer errors
/// than `tree`. `parse` reuses the tree that it is given. `probe` parses a part of the text; it is called
/// with each body at most once.
pub(super) fn tree_without_bodies(
    grammar: &str,
    bytes: &[u8],
    tree: &Tree,
    parse: &dyn Fn(&[u8], &Tree) -> Option<Tree>,
    probe: &dyn Fn(&[u8]) -> Option<Tree>,
) -> Option<Tree> {
    let braces = LANGUAGES.iter().find(|braces| braces.grammar == grammar)?;

    let errors = errors_of(tree);
    if errors.is_empty() {
        return None;
    }

    let mut scan = Scan::new(braces, bytes, &tree.language());
    scan.tree(tree);
    let Scan { mut bodies, blocks, conditions, mut macros, .. } = scan;

    // Errors inside of bodies lose no definition outside of them.
    if errors.iter().all(|error| is_inside(&bodies, error.start) && is_inside(&bodies, error.end)) {
        return None;
    }

    bodies.retain(|body| is_one_at(&errors, &body.contents) && !blocks.contains(&body.contents));
    // A macro whose surroundings parse is understood as it is.
    macros.retain(|range| is_one_at(&errors, &reach(bytes, range)));
    if bodies.is_empty() && macros.is_empty() {
        return None;
    }

    let mut shown = bytes.to_vec();
    for range in macros {
        blank(&mut shown[range]);
    }

    // All bodies are hidden only if it does not help to hide the broken ones.
    let broken: Vec<Body> =
        bodies.iter().filter(|body| !is_sound(body, braces, &shown, probe)).cloned().collect();
    let attempts = if broken.len() < bodies.len() { vec![broken, bodies] } else { vec![broken] };
    for bodies in attempts {
        let hidden = hidden(&shown, &bodies, &conditions);
        let again = parse(&hidden, &edited(tree, bytes, &hidden));
        if let Some(again) = again.filter(|again| error_bytes(again) < error_bytes(tree)) {
            return Some(again);
        }
    }

    None
}

/// A body in braces.
#[derive(Clone)]
struct Body {
    /// First offset at which the definition of the body may begin.
    header: usize,
    /// The range between the braces.
    contents: Range<usize>,
}

/// A condition of the preprocessor: `#if … #else … #endif`.
struct Condition {
    /// The line of the `#if`.
    start: Range<usize>,
    /// The range from the first other directive to the line end of the last one.
    rest: Range<usize>,
}

struct Brace {
    header: usize,
    start: usize,
}

/// Finds the outermost bodies in a sequence of tokens.
struct Scan<'a> {
    braces: &'a Braces,
    /// The kind of blocks.
    block: Option<u16>,
    bytes: &'a [u8],
    open: Vec<Brace>,
    /// Number of braces in `open`, from the first, that are containers.
    n_containers: usize,
    n_parentheses: u32,
    /// Start of the text before the next brace.
    header: usize,
    /// True if that text says that members follow.
    is_container: bool,
    bodies: Vec<Body>,
    /// The contents of blocks that have errors.
    blocks: FxHashSet<Range<usize>>,
    conditions: Vec<Condition>,
    /// Positions of the open conditions, each with a flag that its first branch has ended.
    branches: Vec<(usize, bool)>,
    macros: Vec<Range<usize>>,
    /// The macro that the last tokens belong to, and the number of open parentheses in its arguments.
    pending: Option<(Range<usize>, u32)>,
    /// Number of `branches` whose first branch has ended. The others repeat the braces of the first.
    n_others: usize,
}

impl<'a> Scan<'a> {
    fn new(braces: &'a Braces, bytes: &'a [u8], language: &Language) -> Scan<'a> {
        let block = language.id_for_node_kind(braces.block, true);

        Scan {
            braces,
            block: (block > 0).then_some(block),
            bytes,
            open: Vec::new(),
            n_containers: 0,
            n_parentheses: 0,
            header: 0,
            is_container: false,
            bodies: Vec::new(),
            blocks: FxHashSet::default(),
            conditions: Vec::new(),
            branches: Vec::new(),
            macros: Vec::new(),
            pending: None,
            n_others: 0,
        }
    }

    /// Takes the tokens of a tree, except those of items that have no errors.
    fn tree(&mut self, tree: &Tree) {
        each(tree, &mut |node| !self.skips(node) && self.takes(node));
    }

    /// Skips a node between definitions that has no errors, ends a header and is no single token. Returns
    /// whether it was skipped. The braces inside are balanced, and none of its bodies is to be hidden.
    fn skips(&mut self, node: Node<'_>) -> bool {
        let is_between = self.open.len() == self.n_containers
            && self.n_parentheses == 0
            && self.n_others == 0
            && !self.is_container
            && self.pending.is_none();
        if !is_between || node.has_error() || node.child_count() == 0 {
            return false;
        }

        let text = self.bytes[node.byte_range()].trim_ascii_end();
        let is_item = if text.starts_with(b"#") {
            text.starts_with(b"#define") || text.starts_with(b"#include")
        } else {
            text.ends_with(b";") || text.ends_with(b"}")
        };
        let is_skipped = is_item && !has_directive(&text[1..]);

        if is_skipped {
            self.begin_header(node.end_byte());
        }
        is_skipped
    }

    /// Takes a node if it is a token, or a block without errors. Returns whether its children are to be
    /// visited.
    fn takes(&mut self, node: Node<'_>) -> bool {
        if Some(node.kind_id()) == self.block && self.is_body(node) {
            let Range { start, end } = node.byte_range();
            if !node.has_error() && !has_directive(&self.bytes[start..end]) {
                // The braces inside are balanced.
                self.token("{", start..start + 1);
                self.token("}", end - 1..end);
                return false;
            }
            self.blocks.insert(start + 1..end - 1);
        }

        if node.child_count() == 0 && !node.is_missing() {
            self.token(node.kind(), node.byte_range());
        }
        true
    }

    /// Returns whether a block is a body, or in one.
    fn is_body(&self, block: Node<'_>) -> bool {
        let text = &self.bytes[block.byte_range()];
        let is_in_braces = text.len() > 1 && text.starts_with(b"{") && text.ends_with(b"}");
        is_in_braces && !self.is_container && self.pending.is_none()
    }

    /// Takes a token.
    fn token(&mut self, kind: &str, range: Range<usize>) {
        let text = &self.bytes[range.clone()];
        if text.first() == Some(&b'#') {
            return self.directive(range.start);
        }

        if self.is_argument(&range) || self.n_others > 0 {
            return;
        }

        match kind {
            "(" | "[" => self.n_parentheses += 1,
            ")" | "]" => {
                self.n_parentheses = self.n_parentheses.saturating_sub(1);
                self.is_container &= !(self.braces.types_before_parameters && self.n_parentheses == 0);
            }
            ";" => self.begin_header(range.end),
            "}" => self.close(range),
            kind if kind.ends_with('{') => self.open(range),
            _ if self.n_parentheses > 0 => {}
            _ => {
                let is_container = is_one_of(text, self.braces.containers);
                let is_function = is_one_of(text, self.braces.functions);
                self.is_container = is_container || self.is_container && !is_function;
            }
        }
    }

    /// Notes macros between definitions. Returns true for a token of their arguments.
    fn is_argument(&mut self, token: &Range<usize>) -> bool {
        let text = &self.bytes[token.clone()];

        if let Some((mut range, mut depth)) = self.pending.take() {
            let opens = depth == 0 && text == b"(" && token.start == range.end;
            if !opens && depth == 0 {
                // A macro without arguments is noted, and the token is read as any other.
                if is_attribute(self.bytes, &range) {
                    self.macros.push(range);
                }
            } else {
                range.end = token.end;
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

        if self.braces.has_macros
            && is_between
            && text.len() > 3
            && text.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
            && token.start >= self.header
        {
            self.pending = Some((token.clone(), 0));
        }
        false
    }

    /// Returns whether a macro with arguments stands alone on its lines, followed by the beginning of a
    /// definition.
    fn is_line(&self, range: &Range<usize>) -> bool {
        let before = self.bytes[..range.start].iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
        let after = &self.bytes[range.end..];
        let line_end = after.iter().position(|&byte| byte == b'\n').unwrap_or(after.len());
        let next = after.trim_ascii_start().first();
        before.is_none_or(|&byte| byte == b'\n')
            && after[..line_end].trim_ascii().is_empty()
            && next.is_none_or(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'#' | b'/' | b'}'))
    }

    /// Opens a brace; its contents begin a new header.
    fn open(&mut self, token: Range<usize>) {
        let is_container = self.is_container && self.n_parentheses == 0;
        if is_container && self.n_containers == self.open.len() {
            self.n_containers += 1;
        }

        let header = self.header.min(token.start);
        self.open.push(Brace { header, start: token.end });
        self.begin_header(token.end);
    }

    /// Closes a brace, and adds its contents if they are an outermost body.
    fn close(&mut self, token: Range<usize>) {
        self.begin_header(token.end);

        let Some(brace) = self.open.pop() else { return };

        if self.open.len() < self.n_containers {
            self.n_containers = self.open.len();
        } else if self.open.len() == self.n_containers && brace.start < token.start {
            let contents = brace.start..token.start;
            self.bodies.push(Body { header: brace.header, contents });
        }
    }

    /// Starts the text before the next brace at `at`.
    fn begin_header(&mut self, at: usize) {
        (self.header, self.is_container, self.n_parentheses) = (at, false, 0);
    }

    /// Takes a line that begins with `#`.
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

/// Returns whether a token is one of `words`.
fn is_one_of(token: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| word.as_bytes() == token)
}

/// Returns whether a line of a text may begin with `#`. The grammar of C takes an `#else` or `#endif` alone
/// for any other directive, so conditions need not be balanced even if the tree has no error.
fn has_directive(text: &[u8]) -> bool {
    memchr::memchr(b'#', text).is_some()
}

/// Returns the range in which the macro at `range` can cause an error: up to the end of the next header.
fn reach(bytes: &[u8], range: &Range<usize>) -> Range<usize> {
    let start = bytes[..range.start].trim_ascii_end().len();
    let next = bytes[range.end..].iter().position(|byte| matches!(byte, b';' | b'{' | b'}'));
    start..next.map_or(bytes.len(), |next| range.end + next + 1)
}

/// Returns whether the macro at `range` has the name of one that stands for a keyword or an attribute.
pub(super) fn is_attribute(bytes: &[u8], range: &Range<usize>) -> bool {
    let name = bytes[range.clone()].split(|&byte| byte == b'(').next().unwrap_or_default();
    name.split(|&byte| byte == b'_').any(|part| {
        let n_digits = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        ATTRIBUTES.iter().any(|word| word.as_bytes() == &part[..part.len() - n_digits])
    })
}

/// Returns `bytes` with blanks for the contents of `bodies`, and for conditions that begin or end inside of
/// one.
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

/// Returns whether an offset is inside of a body.
fn is_inside(bodies: &[Body], at: usize) -> bool {
    let next = bodies.partition_point(|body| body.contents.end < at);
    bodies.get(next).is_some_and(|body| body.contents.start <= at)
}

/// Returns whether one of `ranges`, which are in order, touches `range`.
fn is_one_at(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let next = ranges.partition_point(|other| other.end < range.start);
    ranges.get(next).is_some_and(|other| other.start <= range.end)
}

/// Returns `tree` of `old` with marks where `new` differs. Both texts have the same length and line ends.
fn edited(tree: &Tree, old: &[u8], new: &[u8]) -> Tree {
    let (mut tree, mut points) = (tree.clone(), Points { bytes: old, row: 0, line_start: 0 });

    for Range { start, end } in differences(old, new) {
        let (start_position, end_position) = (points.at(start), points.at(end));
        tree.edit(&InputEdit {
            start_byte: start,
            old_end_byte: end,
            new_end_byte: end,
            start_position,
            old_end_position: end_position,
            new_end_position: end_position,
        });
    }

    tree
}

/// Returns the ranges in which two texts of the same length differ. Differences that are near to each other
/// are one.
fn differences(old: &[u8], new: &[u8]) -> Vec<Range<usize>> {
    const STEP: usize = 64;
    let mut found: Vec<Range<usize>> = Vec::new();

    for (step, (old, new)) in old.chunks(STEP).zip(new.chunks(STEP)).enumerate() {
        if old == new {
            continue;
        }

        let start = step * STEP;
        let first = start + old.iter().zip(new).position(|(old, new)| old != new).unwrap_or(0);
        let last = old.iter().zip(new).rposition(|(old, new)| old != new);
        let end = start + last.map_or(old.len(), |last| last + 1);

        match found.last_mut() {
            Some(last) if last.end + STEP > first => last.end = end,
            _ => found.push(first..end),
        }
    }

    found
}

/// Lines and columns of ascending offsets.
struct Points<'a> {
    bytes: &'a [u8],
    row: usize,
    line_start: usize,
}

impl Points<'_> {
    /// Returns the point of an offset, which must not be before that of the last call.
    fn at(&mut self, offset: usize) -> Point {
        let line_start = self.line_start;
        for line_end in memchr::memchr_iter(b'\n', &self.bytes[line_start..offset]) {
            self.row += 1;
            self.line_start = line_start + line_end + 1;
        }
        Point::new(self.row, offset - self.line_start)
    }
}

/// Returns whether the definition of a body has no error when it is parsed alone.
fn is_sound(body: &Body, braces: &Braces, bytes: &[u8], probe: &dyn Fn(&[u8]) -> Option<Tree>) -> bool {
    let definition = &bytes[body.header..body.contents.end + 1];
    let (before, after) = braces.around;
    let alone = [before.as_bytes(), definition, after.as_bytes()].concat();
    probe(&alone).is_some_and(|tree| !tree.root_node().has_error())
}

/// Returns the number of bytes in ERROR nodes, plus one for each missing token.
pub(super) fn error_bytes(tree: &Tree) -> usize {
    errors_of(tree).iter().map(|error| error.len().max(1)).sum()
}

/// Returns the ranges of the outermost ERROR nodes and missing tokens.
pub(super) fn errors_of(tree: &Tree) -> Vec<Range<usize>> {
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

/// Visits nodes in the order of the text. The children of a node are visited if `visit` returns true for it.
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
mod tests;
