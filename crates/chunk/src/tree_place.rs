//! Places of chunks in the syntax tree of their file, for the output of `chunks`. They are not stored, so they
//! cost one more parse.

use tree_sitter::Node;

use super::grammar::{self, Loaded};
use super::lines::TextIndex;
use super::semantic;
use super::{Chunk, ChunkSource, LanguageId, SemanticClass};

/// Maximum number of nodes among which the node of a chunk is looked for.
const MAX_SIBLINGS: usize = 10_000;

/// The place of a chunk in the syntax tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct TreePlace {
    /// Grammar kind of the node that gives the chunk its class: the chunk itself, or the first such node in
    /// it.
    pub kind: &'static str,
    /// Grammar kind of the node around it.
    pub parent_kind: Option<&'static str>,
    /// Number of nodes around it.
    pub nesting_level: u32,
    /// Whether it has named children.
    pub is_composite: bool,
    /// Whether the tables have a class for its kind.
    pub has_explicit_rule: bool,
    /// Number of its named children.
    pub connection_count: u32,
}

/// Returns the place of each of `chunks`, which are those of `text`; `None` for chunks that were not made by
/// syntax, or are in another language than the file.
pub fn tree_places(text: &str, language: LanguageId, chunks: &[Chunk]) -> Vec<Option<TreePlace>> {
    let none = || vec![None; chunks.len()];
    let Some(grammar) = grammar::for_text(language.name(), text) else { return none() };
    let Ok(tree) = semantic::parse(&TextIndex::new(text.as_bytes()), grammar) else { return none() };

    let places = chunks.iter().map(|chunk| {
        let is_of_tree = chunk.source == ChunkSource::Semantic && chunk.language == language;
        is_of_tree.then(|| place_of(node_of(chunk, text, tree.root_node(), grammar), grammar))
    });
    places.collect()
}

/// Returns the node that gives a chunk its class: that of its whole text, or else the first child in it of
/// this class, or else the largest.
fn node_of<'t>(chunk: &Chunk, text: &str, root: Node<'t>, grammar: &'static Loaded) -> Node<'t> {
    let (start, end) = trimmed(chunk, text);
    let whole = root.descendant_for_byte_range(start, end).unwrap_or(root);
    if (whole.start_byte(), whole.end_byte()) == (start, end) && class_of(whole, grammar) == chunk.class {
        return whole;
    }

    // Several definitions share the chunk, or a comment stands before one.
    let mut cursor = whole.walk();
    let inside = |node: &Node<'t>| start <= node.start_byte() && node.end_byte() <= end;
    let children: Vec<Node<'t>> =
        whole.named_children(&mut cursor).take(MAX_SIBLINGS).filter(inside).collect();

    let of_class = children.iter().find(|node| class_of(**node, grammar) == chunk.class);
    let largest = children.iter().max_by_key(|node| node.end_byte() - node.start_byte());
    of_class.or(largest).copied().unwrap_or(whole)
}

/// Returns the range of a chunk without blanks at its ends.
fn trimmed(chunk: &Chunk, text: &str) -> (usize, usize) {
    let (start, end) = (chunk.byte_range.start as usize, chunk.byte_range.end as usize);
    let part = text.get(start..end).unwrap_or_default();
    let before = part.len() - part.trim_start().len();
    (start + before, start + before + part.trim().len())
}

fn kind_of(node: Node<'_>, grammar: &'static Loaded) -> &'static str {
    grammar.language.node_kind_for_id(node.kind_id()).unwrap_or("unknown")
}

fn class_of(node: Node<'_>, grammar: &'static Loaded) -> SemanticClass {
    grammar.rules.kind(node.kind_id()).class
}

fn place_of(node: Node<'_>, grammar: &'static Loaded) -> TreePlace {
    let around = std::iter::successors(node.parent(), Node::parent);
    let n_children = node.named_child_count();

    TreePlace {
        kind: kind_of(node, grammar),
        parent_kind: node.parent().map(|parent| kind_of(parent, grammar)),
        nesting_level: around.count() as u32,
        is_composite: n_children > 0,
        has_explicit_rule: class_of(node, grammar) != SemanticClass::Unknown,
        connection_count: n_children as u32,
    }
}

#[cfg(test)]
mod tests {
    use codeweaver_config::{ChunkerSettings, Granularity};

    use super::*;
    use crate::chunk_blob;

    #[test]
    fn places_are_those_of_the_node_of_a_chunk() {
        let text =
            "import os\n\n# adds\ndef add(a, b):\n    return a + b\n\nclass Sum:\n    def of(self): pass\n";
        let python = LanguageId::by_name("python").unwrap();
        let settings = ChunkerSettings { granularity: Granularity::Definition, ..ChunkerSettings::default() };
        let chunks = chunk_blob(text.as_bytes(), python, &settings).chunks;

        let places = tree_places(text, python, &chunks);
        let kinds: Vec<_> = places.iter().flatten().map(|place| place.kind).collect();
        assert!(kinds.ends_with(&["function_definition", "class_definition"]), "{places:#?}");

        let class = places.last().copied().flatten().unwrap();
        assert_eq!((class.parent_kind, class.nesting_level), (Some("module"), 1));
        assert!(class.has_explicit_rule && class.is_composite);
        // Its name and its body.
        assert_eq!(class.connection_count, 2);
    }

    #[test]
    fn chunks_without_syntax_have_no_place() {
        let tcl = LanguageId::by_name("tcl").unwrap();
        let text = "proc a {} {\n  return 1\n}\n";
        let chunks = chunk_blob(text.as_bytes(), tcl, &ChunkerSettings::default()).chunks;
        assert_eq!(tree_places(text, tcl, &chunks), [None]);
    }
}
