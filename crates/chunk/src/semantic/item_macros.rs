//! Shows the parser items inside macros of Rust (`cfg_rt! { … }`, `cfg_if! { if … { … } }`) as items.
//!
//! The grammar knows the contents of a macro only as tokens, so the definitions in it would not exist. If
//! these tokens are items in the place of an item, the parser reads the text again without the macro around
//! them: the items are then nodes of the one tree of the file, at their own offsets and in their own scopes.

use std::ops::Range;

use tree_sitter::{Node, Tree, TreeCursor};

use super::blank;

/// Maximum nesting of item macros. Each level parses its contents once more.
const MAX_DEPTH: u32 = 4;

/// Kinds of nodes that are definitions.
const DEFINITIONS: &[&str] = &[
    "function_item",
    "function_signature_item",
    "struct_item",
    "union_item",
    "enum_item",
    "trait_item",
    "impl_item",
    "type_item",
    "const_item",
    "static_item",
    "mod_item",
    "foreign_mod_item",
    "macro_definition",
];
/// Kinds of nodes that may stand between definitions.
const BESIDE: &[&str] = &[
    "attribute_item",
    "inner_attribute_item",
    "line_comment",
    "block_comment",
    "use_declaration",
    "extern_crate_declaration",
    "associated_type",
    "empty_statement",
    "macro_invocation",
];
/// Tokens of which every definition has one.
const KEYWORDS: &[&str] =
    &["fn", "struct", "enum", "union", "trait", "impl", "type", "const", "static", "mod", "macro_rules"];
/// Kinds of nodes, down from the root, that may hold an item.
const PLACES: &[&str] =
    &["source_file", "mod_item", "impl_item", "trait_item", "foreign_mod_item", "declaration_list"];

/// Returns `bytes` with item macros written so that the grammar reads their contents as items; `None` if
/// there are none. Offsets and line ends are kept.
///
/// `probe` parses a part of the text. It is called for each macro that might hold items and for the contents
/// of those, so with no byte more often than [`MAX_DEPTH`] times two.
pub(super) fn shown(
    bytes: &[u8],
    tree: &Tree,
    probe: &mut dyn FnMut(&[u8]) -> Option<Tree>,
) -> Option<Vec<u8>> {
    let mut search = Search { bytes, probe, hidden: Vec::new() };
    search.items(tree, 0, 0);

    if search.hidden.is_empty() {
        return None;
    }

    let mut shown = bytes.to_vec();
    for wrapping in &search.hidden {
        wrapping.write(&mut shown);
    }
    Some(shown)
}

/// Text around items that the parser should not read as it is.
struct Wrapping {
    range: Range<usize>,
    replacement: Replacement,
}

/// The replacement of a [`Wrapping`]. Some text is left if a chunk should begin at the wrapping.
#[derive(Clone, Copy)]
enum Replacement {
    /// `name! {` becomes `name!{}`: the use of the macro stays a reference to it.
    Use,
    Attribute,
    Blank,
}

impl Wrapping {
    /// Writes the replacement, which has the length of the wrapping.
    fn write(&self, bytes: &mut [u8]) {
        let text = &mut bytes[self.range.clone()];
        let len = text.len();

        match self.replacement {
            Replacement::Use if text.ends_with(b"! {") => text[len - 2..].copy_from_slice(b"{}"),
            // An attribute is a node at this place, so a chunk can begin here.
            Replacement::Use | Replacement::Attribute if len >= 4 => {
                blank(text);
                text[..3].copy_from_slice(b"#[a");
                text[len - 1] = b']';
            }
            _ => blank(text),
        }
    }
}

struct Search<'a> {
    bytes: &'a [u8],
    probe: &'a mut dyn FnMut(&[u8]) -> Option<Tree>,
    hidden: Vec<Wrapping>,
}

impl Search<'_> {
    /// Searches the items of a tree that was parsed from the text at `base`.
    fn items(&mut self, tree: &Tree, base: usize, depth: u32) {
        if depth >= MAX_DEPTH {
            return;
        }

        let mut cursor = tree.walk();
        loop {
            let node = cursor.node();
            if node.kind() == "macro_invocation" {
                self.invocation(node, base, depth);
            }
            let is_place = PLACES.contains(&node.kind()) || node.kind() == "expression_statement";
            let entered = is_place && cursor.goto_first_child();
            if !entered && !goto_next(&mut cursor) {
                return;
            }
        }
    }

    /// Shows the contents of a macro as items, or those of all its blocks, if they are items.
    fn invocation(&mut self, node: Node<'_>, base: usize, depth: u32) {
        let Some(group) = node.child(node.child_count().saturating_sub(1)) else { return };
        if group.kind() != "token_tree" || group.has_error() {
            return;
        }

        let start = base + node.start_byte();
        let outer = contents(group, base);

        if let Some(tree) = self.probed(group, base) {
            let is_block = self.bytes[outer.start - 1] == b'{';
            let replacement = if is_block { Replacement::Use } else { Replacement::Attribute };
            self.hide(start..outer.start, replacement);
            self.hide(outer.end..outer.end + 1, Replacement::Blank);
            self.items(&tree, outer.start, depth + 1);
            return;
        }

        let mut cursor = group.walk();
        let blocks: Vec<Node<'_>> = group
            .children(&mut cursor)
            .filter(|child| child.kind() == "token_tree" && self.starts_block(*child, base))
            .collect();
        // A blank block is fine, but one with other contents rules out all of them.
        let trees: Option<Vec<Option<Tree>>> = blocks
            .iter()
            .map(|block| match self.probed(*block, base) {
                None => self.is_blank(contents(*block, base)).then_some(None),
                tree => Some(tree),
            })
            .collect();
        let Some(trees) = trees.filter(|trees| trees.iter().any(Option::is_some)) else { return };

        let mut from = start;
        for (block, tree) in blocks.into_iter().zip(trees) {
            let inner = contents(block, base);
            self.hide(from..inner.start, Replacement::Attribute);
            if let Some(tree) = tree {
                self.items(&tree, inner.start, depth + 1);
            }
            self.hide(inner.end..inner.end + 1, Replacement::Blank);
            from = inner.end + 1;
        }
        self.hide(from..outer.end + 1, Replacement::Blank);
    }

    /// Returns the tree of the contents of a group, if they are items.
    fn probed(&mut self, group: Node<'_>, base: usize) -> Option<Tree> {
        let mut cursor = group.walk();
        // Most macros are refused here, without a parse.
        if !group.children(&mut cursor).any(|child| self.is_keyword(child, base)) {
            return None;
        }

        let range = contents(group, base);
        let tree = (self.probe)(self.bytes.get(range)?)?;
        are_items(&tree).then_some(tree)
    }

    fn is_keyword(&self, token: Node<'_>, base: usize) -> bool {
        KEYWORDS.contains(&token.kind())
            || token.kind() == "identifier"
                && self.bytes.get(base + token.start_byte()..base + token.end_byte()) == Some(b"macro_rules")
    }

    fn starts_block(&self, group: Node<'_>, base: usize) -> bool {
        self.bytes.get(base + group.start_byte()) == Some(&b'{')
    }

    fn is_blank(&self, range: Range<usize>) -> bool {
        self.bytes[range].trim_ascii().is_empty()
    }

    /// Adds a wrapping, without the white space around it.
    fn hide(&mut self, range: Range<usize>, replacement: Replacement) {
        let text = &self.bytes[range.clone()];
        let start = range.start + (text.len() - text.trim_ascii_start().len());
        let end = range.end - (text.len() - text.trim_ascii_end().len());
        if start < end {
            self.hidden.push(Wrapping { range: start..end, replacement });
        }
    }
}

/// Returns the range between the brackets of a token tree.
fn contents(group: Node<'_>, base: usize) -> Range<usize> {
    let end = base + group.end_byte().saturating_sub(1);
    (base + group.start_byte() + 1).min(end)..end
}

/// Returns whether a tree holds items and nothing else, without an error.
fn are_items(tree: &Tree) -> bool {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let mut has_definition = false;

    for node in root.named_children(&mut cursor) {
        let kind = match node.kind() {
            "expression_statement" => node.named_child(0).map_or(node, |inner| inner).kind(),
            kind => kind,
        };
        has_definition |= DEFINITIONS.contains(&kind);
        if !DEFINITIONS.contains(&kind) && !BESIDE.contains(&kind) {
            return false;
        }
    }

    has_definition && !root.has_error()
}

/// Moves to the next node outside of the current one. Returns false at the end of the tree.
fn goto_next(cursor: &mut TreeCursor<'_>) -> bool {
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar;

    fn parse(bytes: &[u8]) -> Option<Tree> {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&grammar::by_language("rust")?.language).ok()?;
        parser.parse(bytes, None)
    }

    /// The text as the parser is shown it, and the number of bytes that were probed.
    fn show(text: &str) -> (Option<String>, usize) {
        let mut n_probed = 0;
        let mut probe = |part: &[u8]| {
            n_probed += part.len();
            parse(part)
        };
        let shown = shown(text.as_bytes(), &parse(text.as_bytes()).unwrap(), &mut probe);
        (shown.map(|shown| String::from_utf8(shown).unwrap()), n_probed)
    }

    #[test]
    fn items_lose_the_macro_around_them() {
        for (text, expected) in [
            ("cfg_rt! {\n    pub fn a() {}\n}\n", "cfg_rt!{}\n    pub fn a() {}\n \n"),
            ("m!{fn a() {}}", "   fn a() {} "),
            ("bits! [ struct A; ];", "#[a   ] struct A;  ;"),
            ("impl A { cfg! { fn b(&self) {} } }", "impl A { cfg!{} fn b(&self) {}   }"),
            ("a! { b! { fn c() {} } }", "#[a     ] fn c() {}    "),
            (
                "cfg_if! { if #[cfg(unix)] { fn a() {} } else { } }",
                "#[a                       ] fn a() {}   #[a  ]    ",
            ),
        ] {
            assert_eq!(show(text).0.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_macros_are_left_alone() {
        for text in [
            "vec![1, 2];",
            "html! { <div>fn</div> }",
            "m! { fn a( }",
            "m! { let a = 1; fn b() {} }",
            "fn f() { quote! { fn a() {} } }",
            "macro_rules! m { () => { fn a() {} } }",
            "m! { use a::b; }",
        ] {
            assert_eq!(show(text).0, None, "{text}");
        }
    }

    #[test]
    fn the_work_is_bounded_at_any_nesting() {
        for (open, close) in [("m! { fn a() {} ", "}"), ("m! { fn { ", "} }"), ("m! { ", "}")] {
            let text = open.repeat(200) + &close.repeat(200);
            let (_, n_probed) = show(&text);
            assert!(
                n_probed <= 2 * MAX_DEPTH as usize * text.len(),
                "{open:?}: {n_probed} of {}",
                text.len()
            );
        }
    }
}
