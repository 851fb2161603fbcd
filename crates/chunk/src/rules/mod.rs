//! The data files of the grammars, compiled to tables by kind id.
//!
//! `data/symbols.txt` lists for each language the nodes that are definitions, the paths to their names, the
//! nodes that are comments, those that attach to the following definition, and those that are not searched.
//! `data/classes.txt` maps kinds to semantic classes. Both are compiled once per language and process. A walk
//! then costs one table look-up per node.

mod compile;

use tree_sitter::{Language, Node};

use super::{SemanticClass, SymbolKind};

/// Properties of a node kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KindInfo {
    pub class: SemanticClass,
    pub named: bool,
    /// A comment: attaches to the definition that follows, and documents it.
    pub comment: bool,
    /// An attribute or decorator: attaches to the definition that follows.
    pub attach: bool,
    /// A node that belongs to the one before it.
    pub follow: bool,
    /// A node that is not searched for definitions.
    pub skip: bool,
    /// A node of which such children may be searched nevertheless; see [`Rules::opens`].
    pub may_open: bool,
    first_rule: u16,
    rules: u16,
}

/// A rule that makes nodes of a kind definitions.
#[derive(Debug)]
pub(crate) struct SymbolRule {
    pub kind: SymbolKind,
    pub name: NameFrom,
    /// Text that precedes the name in the qualified name, for example the receiver of a Go method.
    pub scope: Option<Path>,
    /// The node that ends the signature.
    pub body: Path,
    /// Conditions that must all hold.
    pub conditions: Vec<Condition>,
    /// Consecutive definitions of one name are one symbol (equations of a function).
    pub merge: bool,
    /// The name is not split at separators.
    pub verbatim: bool,
    /// The rule applies only below fewer enclosing definitions than this.
    pub max_nesting: u8,
    pub class: Option<SemanticClass>,
}

/// The source of the name of a definition.
#[derive(Debug)]
pub(crate) enum NameFrom {
    Path(Path),
    /// C-family declarator: the innermost identifier of the field `declarator`.
    Declarator,
    /// The signature is the name.
    Head,
    /// A fixed name.
    Fixed(&'static str),
}

/// Alternative paths, each a chain of steps from a node.
#[derive(Debug, Default)]
pub(crate) struct Path(Vec<Vec<Step>>);

#[derive(Debug)]
enum Step {
    /// Child by field.
    Field(u16),
    /// First named child of one of these kinds.
    Child(Vec<u16>),
    /// Every child of one of these kinds, each of which is a definition of its own.
    Each(Vec<u16>),
    /// First node of one of these kinds, depth first, the node itself included.
    Descendant(Vec<u16>),
    /// Named child by position.
    Nth(u32),
}

/// A condition of a rule.
#[derive(Debug)]
pub(crate) enum Condition {
    /// There is a node at the path.
    Has(Path),
    /// There is no node at the path.
    Lacks(Path),
    /// The node at the path is of one of these kinds.
    Is(Path, Vec<u16>),
    /// The text at the path is one of these; see [`matches_word`] for `*`.
    Text(Path, Vec<&'static str>),
    /// The text at the path is none of these.
    NotText(Path, Vec<&'static str>),
    /// The parent is of one of these kinds.
    In(Vec<u16>),
}

/// All tables of one grammar.
#[derive(Debug)]
pub(crate) struct Rules {
    kinds: Vec<KindInfo>,
    rules: Vec<SymbolRule>,
    /// Kinds of nodes whose children are all searched for definitions if the conditions hold.
    openers: Vec<(Vec<u16>, Vec<Condition>)>,
    /// Text that joins the parts of a qualified name.
    pub separator: &'static str,
    /// Names of methods that are constructors.
    pub constructors: Vec<&'static str>,
    /// Names of callables that are tests; see [`matches_word`] for `*`.
    pub test_names: Vec<&'static str>,
    /// Words of which a file must contain one so that such a callable outside of types is a test; none if the
    /// name is enough.
    pub test_evidence: Vec<&'static str>,
    /// Words of which the signature of a type must contain one so that such a method is a test; none if any
    /// type will do.
    pub test_owners: Vec<&'static str>,
    /// Text that a class with such a name must contain.
    pub test_member: String,
    /// Text in the annotations or signature of a callable that makes it a test. A letter or digit at its end
    /// ends a word.
    pub test_markers: Vec<&'static str>,
    /// Path of documentation inside a definition (Python docstrings).
    pub inner_doc: Option<Path>,
    /// A method with the name of its class is a constructor.
    pub constructor_is_class_name: bool,
}

const PLAIN: KindInfo = KindInfo {
    class: SemanticClass::Unknown,
    named: false,
    comment: false,
    attach: false,
    follow: false,
    skip: false,
    may_open: false,
    first_rule: 0,
    rules: 0,
};

impl Rules {
    /// Compiles the sections of `name`. Kinds and fields that the grammar lacks are ignored; a test lists
    /// them.
    pub fn new(name: &str, language: &Language) -> Self {
        compile::compile(name, language)
    }

    #[inline]
    pub fn kind(&self, kind: u16) -> &KindInfo {
        self.kinds.get(usize::from(kind)).unwrap_or(&PLAIN)
    }

    pub fn rules_of(&self, info: &KindInfo) -> &[SymbolRule] {
        let first = usize::from(info.first_rule);
        &self.rules[first..first + usize::from(info.rules)]
    }

    /// Returns whether all children of a node are searched for definitions, even those of kinds that are not
    /// searched elsewhere: the arguments of `private def …` in Ruby.
    pub fn opens(&self, node: Node<'_>, parent_kind: u16, source: &[u8]) -> bool {
        self.openers.iter().any(|(kinds, conditions)| {
            kinds.contains(&node.kind_id())
                && conditions.iter().all(|condition| condition.holds(node, parent_kind, source))
        })
    }
}

impl KindInfo {
    #[inline]
    pub fn may_define(&self) -> bool {
        self.rules > 0
    }
}

/// Maximum number of nodes that one [`Step::Descendant`] visits.
const MAX_DESCENDANTS: usize = 64;

impl Path {
    /// Returns the node at the first alternative that leads to one.
    pub fn find<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        self.0.iter().find_map(|steps| walk(node, steps))
    }

    /// Returns the nodes that the path leads to through a step to each of several children: the child, and
    /// the node at the end. Empty if the path has no such step. The first is that of [`find`](Self::find).
    pub fn find_each<'t>(&self, node: Node<'t>) -> Vec<(Node<'t>, Node<'t>)> {
        let alternatives = self.0.iter().filter_map(|steps| {
            let at = steps.iter().position(|step| matches!(step, Step::Each(_)))?;
            Some((&steps[..at], &steps[at], &steps[at + 1..]))
        });

        let mut found = Vec::new();
        for (before, each, after) in alternatives {
            let (Some(parent), Step::Each(kinds)) = (walk(node, before), each) else { continue };
            let ends = children(parent, kinds).into_iter();
            found.extend(ends.filter_map(|child| Some((child, walk(child, after)?))));
        }
        found
    }
}

/// Returns the node at the end of `steps` from `node`.
fn walk<'t>(node: Node<'t>, steps: &[Step]) -> Option<Node<'t>> {
    steps.iter().try_fold(node, |node, step| step.take(node))
}

impl Step {
    /// Returns the node that the step leads to from `node`.
    fn take<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        match self {
            Self::Field(id) => node.child_by_field_id(*id),
            Self::Nth(n) => node.named_child(*n),
            Self::Child(kinds) | Self::Each(kinds) => first_child(node, kinds),
            Self::Descendant(kinds) => first_descendant(node, kinds),
        }
    }
}

/// Returns the children of one of `kinds`.
fn children<'t>(node: Node<'t>, kinds: &[u16]) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).filter(|child| kinds.contains(&child.kind_id())).collect()
}

/// Returns the first child of one of `kinds`.
fn first_child<'t>(node: Node<'t>, kinds: &[u16]) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    if !cursor.goto_first_child() {
        return None;
    }

    loop {
        if kinds.contains(&cursor.node().kind_id()) {
            return Some(cursor.node());
        }
        if !cursor.goto_next_sibling() {
            return None;
        }
    }
}

/// Returns the first node of one of `kinds`, depth first from `node` itself, among [`MAX_DESCENDANTS`] nodes.
fn first_descendant<'t>(node: Node<'t>, kinds: &[u16]) -> Option<Node<'t>> {
    let mut cursor = node.walk();

    for _ in 0..MAX_DESCENDANTS {
        if kinds.contains(&cursor.node().kind_id()) {
            return Some(cursor.node());
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }

    None
}

impl Condition {
    /// Returns whether the condition holds for `node`.
    pub fn holds(&self, node: Node<'_>, parent_kind: u16, source: &[u8]) -> bool {
        match self {
            Self::Has(path) => path.find(node).is_some(),
            Self::Lacks(path) => path.find(node).is_none(),
            Self::Is(path, kinds) => path.find(node).is_some_and(|found| kinds.contains(&found.kind_id())),
            Self::Text(path, words) => {
                path.find(node).is_some_and(|found| matches_any(&source[found.byte_range()], words))
            }

            // A node that is not there has none of the words.
            Self::NotText(path, words) => {
                path.find(node).is_none_or(|found| !matches_any(&source[found.byte_range()], words))
            }

            Self::In(kinds) => kinds.contains(&parent_kind),
        }
    }
}

fn matches_any(text: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| matches_word(text, word))
}

/// Returns whether `text` is `word`. A `*` at the start or the end of `word` stands for anything.
pub(crate) fn matches_word(text: &[u8], word: &str) -> bool {
    if let Some(prefix) = word.strip_suffix('*') {
        text.starts_with(prefix.as_bytes())
    } else if let Some(suffix) = word.strip_prefix('*') {
        text.ends_with(suffix.as_bytes())
    } else {
        text == word.as_bytes()
    }
}
