//! Extracts the facts and the references of one file, by the queries of its language.
//!
//! The result depends only on the bytes and the language, so it may be cached under the blob oid.

use std::collections::BTreeSet;

use tree_sitter::{Node, Tree};

use codeweaver_chunk::lines::TextIndex;
use codeweaver_chunk::readable;

use super::dialect::Dialect;
use super::facts::{Facts, Form, Reference, Unparsed};
use super::queries::{Capture, CompiledQuery};
use super::reader::{MAX_FACTS, Reader, each_match, node_of, parsed, path_at_end, path_text};
use super::syntax_position::{self, Position};
use super::word_search::occurrences;

/// Extracts the facts of a file.
#[cfg(test)]
pub(crate) fn read(bytes: &[u8], dialect: &'static Dialect) -> Result<Facts, Unparsed> {
    Ok(read_with(bytes, dialect, |_| BTreeSet::new())?.0)
}

/// Extracts the facts of a file, and the occurrences of the names that `names_in` returns for them.
pub(crate) fn read_with(
    bytes: &[u8],
    dialect: &'static Dialect,
    names_in: impl FnOnce(&Facts) -> BTreeSet<String>,
) -> Result<(Facts, Occurrences), Unparsed> {
    let (text, _) = readable(bytes);
    let index = TextIndex::new(text.as_bytes());
    let (tree, queries) = parsed(&index, dialect)?;
    let mut reader = Reader::new(&text, &index, dialect);

    each_match(&queries.facts, tree.root_node(), &text, None, &mut |captures| {
        reader.add(captures);
    });

    let mut facts = reader.finish();
    facts.has_errors = tree.root_node().has_error();
    let names = names_in(&facts);
    let found = occurrences_in(&index, (&text, &tree), &queries.references, &names, |_, _| true);
    facts.text = text.into();
    Ok((facts, Occurrences { names, found }))
}

/// The occurrences of some names in a file, ordered by position.
#[derive(Debug)]
pub(crate) struct Occurrences {
    pub names: BTreeSet<String>,
    pub found: Vec<Occurrence>,
}

/// An occurrence of a name as a word.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Occurrence {
    /// Byte offset of the name.
    pub at: u32,
    /// 1-based.
    pub line: u32,
    pub name: Box<str>,
    pub position: Position,
    /// The name as a reference, if the syntax makes it one.
    pub reference: Option<Reference>,
}

/// The occurrences of `names` in a file whose offset and name satisfy `is_wanted`, ordered by position.
pub(crate) fn occurrences_of(
    bytes: &[u8],
    dialect: &'static Dialect,
    names: &BTreeSet<String>,
    is_wanted: impl Fn(u32, &str) -> bool,
) -> Result<Vec<Occurrence>, Unparsed> {
    let (text, _) = readable(bytes);
    let index = TextIndex::new(text.as_bytes());
    let (tree, queries) = parsed(&index, dialect)?;

    Ok(occurrences_in(&index, (&text, &tree), &queries.references, names, is_wanted))
}

/// The occurrences of `names` in a parsed file, as [`occurrences_of`] returns them. `references` is the query
/// of its language.
fn occurrences_in(
    index: &TextIndex<'_>,
    (text, tree): (&str, &Tree),
    references: &CompiledQuery,
    names: &BTreeSet<String>,
    is_wanted: impl Fn(u32, &str) -> bool,
) -> Vec<Occurrence> {
    let mut found: Vec<Occurrence> = Vec::new();
    for name in names {
        for at in occurrences(text, name).filter(|&at| is_wanted(at as u32, name)).take(MAX_FACTS) {
            found.push(Occurrence {
                at: at as u32,
                line: index.line_of(at as u32) as u32 + 1,
                name: name.as_str().into(),
                position: syntax_position::at(tree.root_node(), text, at..at + name.len()),
                reference: reference_at(references, tree.root_node(), text, (at, name), index),
            });
        }
    }

    found.sort_by_key(|occurrence| occurrence.at);
    found
}

/// Every reference to `name` in a file, calls included.
#[cfg(test)]
pub(crate) fn references_to(
    bytes: &[u8],
    dialect: &'static Dialect,
    name: &str,
) -> Result<Vec<Reference>, Unparsed> {
    let found = occurrences_of(bytes, dialect, &BTreeSet::from([name.to_owned()]), |_, _| true)?;
    Ok(found.into_iter().filter_map(|occurrence| occurrence.reference).collect())
}

/// The reference that the occurrence of a name at an offset is; `None` if it is none.
fn reference_at(
    query: &CompiledQuery,
    root: Node<'_>,
    text: &str,
    (at, name): (usize, &str),
    index: &TextIndex<'_>,
) -> Option<Reference> {
    let near = at..at + name.len();
    let mut found: Option<Reference> = None;

    each_match(query, root, text, Some(near.clone()), &mut |captures| {
        let receiver = node_of(captures, Capture::Receiver).map(|node| path_text(node, text));
        for (capture, node) in captures {
            let Some(form) = mention_form(*capture) else { continue };
            // A member is matched as a plain name too; the more specific form is kept.
            let is_better = found.as_ref().is_none_or(|known| known.form == Form::Mention);
            if node.byte_range() == near && is_better {
                let (form, receiver) = match token_tree_path(*node, text) {
                    Some((form, receiver)) => (form, Some(receiver)),
                    None => (form, receiver.clone()),
                };
                found = Some(Reference {
                    at: at as u32,
                    line: index.line_of(at as u32) as u32 + 1,
                    name: name.into(),
                    form,
                    receiver,
                    arguments: None,
                });
            }
        }
    });

    found
}

/// The form and the receiver of a name behind `::` or `.` in unparsed text (a Rust token tree).
fn token_tree_path(node: Node<'_>, text: &str) -> Option<(Form, Box<str>)> {
    node.parent().filter(|parent| parent.kind() == "token_tree")?;
    let before = text.get(..node.start_byte())?.trim_end();

    if let Some(path) = before.strip_suffix("::") {
        return Some((Form::Path, path_at_end(path)));
    }
    let is_range = before.ends_with("..");
    before.strip_suffix('.').filter(|_| !is_range).map(|value| (Form::Member, path_at_end(value)))
}

/// The form of a reference with this capture; `None` if it is no reference.
fn mention_form(capture: Capture) -> Option<Form> {
    match capture {
        Capture::Reference => Some(Form::Mention),
        Capture::ReferenceMember => Some(Form::Member),
        Capture::ReferencePath => Some(Form::Path),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::dialect;
    use super::*;

    fn facts(language: &str, text: &str) -> Facts {
        read(text.as_bytes(), dialect::for_language(language).unwrap()).unwrap()
    }

    fn uses(language: &str, text: &str) -> Vec<String> {
        let of = |u: &Reference| format!("{:?} {}|{}", u.form, u.receiver.as_deref().unwrap_or("-"), u.name);
        facts(language, text).references.iter().map(of).collect()
    }

    #[test]
    fn a_tree_that_is_too_deep_is_not_read() {
        let ruby = dialect::for_language("ruby").unwrap();
        let nested = |n: usize| format!("{}call_it(n)\n{}", "if x\n".repeat(n), "end\n".repeat(n));
        assert!(read(nested(20_000).as_bytes(), ruby).is_err());
        assert!(read(nested(50).as_bytes(), ruby).is_ok());
    }

    #[test]
    fn calls_are_extracted_with_their_receivers() {
        assert_eq!(
            uses("python", "f(1)\nself.g(2)\na.b.h()\n(x + y).k()\nsuper().m()\n"),
            ["Bare -|f", "Member self|g", "Member a.b|h", "Member |k", "Bare -|super", "Member super()|m"]
        );
        assert_eq!(
            uses("rust", "fn x() { a::f(1); s.g::<T>(); assert!(h(1) == b::k(2), q.z()); mac!(); }"),
            ["Path a|f", "Member s|g", "Macro -|assert", "Bare -|h", "Path b|k", "Member q|z", "Macro -|mac"]
        );
        assert_eq!(
            uses("csharp", "class A { void M() { this.F(1); b?.G(); } }"),
            ["Member this|F", "Member b|G"]
        );
        assert_eq!(uses("cpp", "void f() { ns::g<int>(1); new A(2); }"), ["Path ns|g", "New -|A"]);
    }

    #[test]
    fn bindings_have_the_scope_of_their_language() {
        let text = "def f(a):\n    b = Foo()\n    return a\nc: Bar = 1\n";
        let python = facts("python", text);
        let names: Vec<_> =
            python.bindings.iter().map(|b| (&*b.name, b.reach.is_some(), b.by_call)).collect();
        assert_eq!(names, [("a", true, false), ("b", true, true), ("c", false, false)]);
        let go = facts("go", "package p\nfunc f() { if x { y := T{} } }\n");
        let reach = go.bindings[0].reach.clone().unwrap();
        assert_eq!(go.bindings[0].type_name.as_deref(), Some("T"));
        assert!(reach.end - reach.start < 14, "only its block: {reach:?}");
    }

    #[test]
    fn comments_and_strings_are_not_references() {
        let text = "# parse in a comment\nparse = 1\nx.parse('parse')\nparser = parse\n";
        let found =
            references_to(text.as_bytes(), dialect::for_language("python").unwrap(), "parse").unwrap();
        let lines: Vec<_> = found.iter().map(|u| (u.line, u.form)).collect();
        assert_eq!(lines, [(2, Form::Mention), (3, Form::Member), (4, Form::Mention)]);
    }

    #[test]
    fn malformed_input_does_not_panic() {
        for dialect in dialect::all() {
            for bytes in [&b"\xff\xfe\0(((("[..], b"", b"a(a(a(a(", "ü(é)".as_bytes(), &[b'('; 5000]] {
                let _ = read(bytes, dialect);
                let _ = references_to(bytes, dialect, "a");
            }
        }
    }
}
