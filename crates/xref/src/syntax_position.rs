//! The part of the syntax that an occurrence of a name stands in.

use std::ops::Range;

use tree_sitter::Node;

/// Maximum number of nodes looked at above an occurrence.
const MAX_ANCESTORS: usize = 12;
/// Quotation marks that end a literal.
const QUOTES: [char; 4] = ['"', '\'', '`', '\n'];

/// The syntax around an occurrence of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// A comment, or text that is no code: the name is not used.
    Comment,
    /// A literal that may be the name: `"parse"`, `:parse`, or any literal with a name that is no word.
    Literal,
    /// A literal with other words beside the name, which is a word itself.
    Prose,
    /// An import or a list of exports.
    Import,
    /// The name in a definition or declaration.
    Name,
    /// A member that is taken out of a value: `const { save } = cart` (scripts).
    Taken,
    /// The key of an object, of a struct or of a named argument.
    Key,
    Code,
}

/// The position of the name in `range`.
pub(super) fn at(root: Node<'_>, text: &str, range: Range<usize>) -> Position {
    let path = path_to(root, &range);
    let Some((&node, above)) = path.split_last() else { return Position::Code };
    // The nearest come first.
    let above: Vec<Node<'_>> = above.iter().rev().take(MAX_ANCESTORS).copied().collect();
    let parent = above.first().copied();

    if is_comment(node, &above) {
        return Position::Comment;
    }
    if is_key(node, parent) {
        return Position::Key;
    }
    if is_taken(node, &above) {
        return Position::Taken;
    }
    if is_defined(node, parent) {
        return Position::Name;
    }

    if above.iter().any(|&node| is_import(node) || is_export_list(node, text)) {
        return Position::Import;
    }
    if node.kind().ends_with("symbol") {
        return Position::Literal;
    }
    if is_literal(node) {
        return literal(text, range);
    }

    Position::Code
}

/// The nodes around `range`, the outermost first.
fn path_to<'t>(root: Node<'t>, range: &Range<usize>) -> Vec<Node<'t>> {
    let mut path = Vec::new();
    let mut cursor = root.walk();

    while cursor.node().end_byte() >= range.end && cursor.node().start_byte() <= range.start {
        path.push(cursor.node());
        if cursor.goto_first_child_for_byte(range.start).is_none() {
            break;
        }
    }
    path
}

/// Returns whether a node is a comment, the documentation of a definition or text between tags.
fn is_comment(node: Node<'_>, above: &[Node<'_>]) -> bool {
    // A statement of Python that is only a string.
    let is_documentation = node.kind().starts_with("string")
        && above.iter().take(2).any(|node| node.kind() == "expression_statement" && node.child_count() == 1);

    node.kind().contains("comment")
        || above.iter().any(|node| node.kind().contains("comment"))
        || matches!(node.kind(), "jsx_text" | "text")
        || is_documentation
}

/// Returns whether a node is the name of a key, and not its value.
fn is_key(node: Node<'_>, parent: Option<Node<'_>>) -> bool {
    if node.kind() == "hash_key_symbol" {
        return true;
    }

    let Some(parent) = parent else { return false };
    let is_first = parent.named_child(0).is_some_and(|first| first.id() == node.id());
    match parent.kind() {
        "argument" | "field_initializer" | "jsx_attribute" | "keyword_argument" | "named_argument"
        | "pair" | "pair_pattern" | "value_argument" => is_first && parent.named_child_count() > 1,
        "name_colon" | "name_equals" => true,
        _ => false,
    }
}

/// Returns whether a node is a name in a pattern of a variable. One in a parameter names what the caller
/// passes.
fn is_taken(node: Node<'_>, above: &[Node<'_>]) -> bool {
    node.kind() == "shorthand_property_identifier_pattern"
        && !above.iter().any(|node| node.kind().contains("parameter"))
}

/// Returns whether a node is the name in the definition, declaration or parameter around it.
fn is_defined(node: Node<'_>, parent: Option<Node<'_>>) -> bool {
    let Some(parent) = parent else { return false };
    let kind = parent.kind();
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let is_use = has(&["access", "call", "invocation", "reference"]);
    let is_definition = has(&[
        "class",
        "declar",
        "definition",
        "enum",
        "function",
        "interface",
        "item",
        "method",
        "parameter",
    ]);

    !is_use && is_definition && parent.child_by_field_name("name").is_some_and(|name| name.id() == node.id())
}

fn is_import(node: Node<'_>) -> bool {
    let kind = node.kind();
    kind.starts_with("import")
        || matches!(
            kind,
            "use_declaration"
                | "namespace_use_declaration"
                | "using_directive"
                | "preproc_include"
                | "export_clause"
        )
}

/// Returns whether a node is the list of the public names of a Python module.
fn is_export_list(node: Node<'_>, text: &str) -> bool {
    matches!(node.kind(), "assignment" | "augmented_assignment")
        && text.get(node.byte_range()).is_some_and(|text| text.starts_with("__all__"))
}

fn is_literal(node: Node<'_>) -> bool {
    ["char", "heredoc", "string"].iter().any(|word| node.kind().contains(word))
}

/// The position of a name inside a literal. A name that is a plain word counts only if the literal has no
/// other words.
fn literal(text: &str, range: Range<usize>) -> Position {
    let name = text.get(range.clone()).unwrap_or_default();
    if !is_plain_word(name) {
        return Position::Literal;
    }

    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    let first = before.rfind(QUOTES).map_or(0, |at| at + 1);
    let last = after.find(QUOTES).unwrap_or(after.len());
    let has_blanks =
        before[first..].contains(char::is_whitespace) || after[..last].contains(char::is_whitespace);
    if has_blanks { Position::Prose } else { Position::Literal }
}

/// Returns whether a name may be a word of a sentence: only letters, of which only the first may be a
/// capital.
pub(super) fn is_plain_word(name: &str) -> bool {
    name.chars().all(char::is_alphabetic) && !name.chars().skip(1).any(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{dialect, extract};
    use super::Position as P;

    #[track_caller]
    fn check(language: &str, text: &str, name: &str, expected: &[super::Position]) {
        let dialect = dialect::for_language(language).unwrap();
        let names = BTreeSet::from([name.to_owned()]);
        let found = extract::occurrences_of(text.as_bytes(), dialect, &names, |_, _| true).unwrap();
        let positions: Vec<_> = found.iter().map(|occurrence| occurrence.position).collect();
        assert_eq!(positions, expected, "{language}: {text}");
    }

    #[test]
    fn comments_keys_and_sentences_are_told_from_code() {
        check(
            "python",
            "from m import load\n\n\ndef f(x):\n    '''load it'''\n    # load\n    g(load=1, key='load', text='do load it')\n    \
             return x.load\n\n\n__all__ = ['load']\n",
            "load",
            &[P::Import, P::Comment, P::Comment, P::Key, P::Literal, P::Prose, P::Code, P::Import],
        );
        check(
            "typescript",
            "import { save } from './a';\n// save\nconst o = { save: save, b: 'save me', c: `${save}` };\nexport { save };\n",
            "save",
            &[P::Import, P::Comment, P::Key, P::Code, P::Prose, P::Code, P::Import],
        );
        check(
            "javascript",
            "exports.go = function go() {};\ngo.call(this);\n",
            "go",
            &[P::Code, P::Name, P::Code],
        );
        check(
            "javascript",
            "const { go } = lib;\nfunction f({ go }) { return go; }\n",
            "go",
            &[P::Taken, P::Code, P::Code],
        );
        check("ruby", "before_action :check\nf(check: 1)\ncheck\n", "check", &[P::Literal, P::Key, P::Code]);
        check(
            "rust",
            "use a::go;\nfn f() { panic!(\"{}\", a::go); }\n/// go\n",
            "go",
            &[P::Import, P::Code, P::Comment],
        );
    }

    #[test]
    fn a_name_that_is_no_word_counts_in_every_literal() {
        check("python", "x = 'see load_all there'\n", "load_all", &[P::Literal]);
    }
}
