//! Turns the query matches of one file into [`Facts`].

use std::ops::Range;

use tree_sitter::{Node, QueryCursor, StreamingIterator, Tree};

use codeweaver_chunk::lines::TextIndex;
use codeweaver_chunk::{grammar, semantic};

use super::dialect::{Dialect, Modules};
use super::facts::{Binding, Facts, Field, Form, Import, Reference, Unparsed};
use super::import_syntax;
use super::queries::{self, Capture, CompiledQuery};

/// Maximum length of a receiver, type or path; longer text is treated as an expression.
const MAX_PATH_BYTES: usize = 200;
/// Maximum number of references, and of bindings, kept from one file.
pub(super) const MAX_FACTS: usize = 100_000;
/// Maximum depth of a syntax tree. The parent of a node is found from the root, so a climb through the
/// parents takes the square of the depth, for each name.
const MAX_DEPTH: u32 = 1_000;
/// Maximum number of match states of a query in progress.
const MATCH_LIMIT: u32 = 4096;

/// The syntax tree of a file, and the queries of its language.
pub(super) fn parsed(
    index: &TextIndex<'_>,
    dialect: &'static Dialect,
) -> Result<(Tree, &'static queries::Queries), Unparsed> {
    let grammar = grammar::by_language(dialect.language).ok_or(Unparsed)?;
    let queries = queries::for_dialect(dialect).ok_or(Unparsed)?;
    let tree = semantic::parse(index, grammar).map_err(|_| Unparsed)?;
    if is_deep(&tree) {
        return Err(Unparsed);
    }
    Ok((tree, queries))
}

/// Returns whether a tree has more than [`MAX_DEPTH`] levels.
fn is_deep(tree: &Tree) -> bool {
    let mut cursor = tree.walk();

    loop {
        if cursor.goto_first_child() {
            if cursor.depth() > MAX_DEPTH {
                return true;
            }
            continue;
        }

        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}

/// The captures of one match.
pub(super) type Captured<'t> = [(Capture, Node<'t>)];

/// Visits every match of `query`, only those in `range` if one is given.
pub(super) fn each_match<'t>(
    query: &CompiledQuery,
    root: Node<'t>,
    text: &str,
    range: Option<Range<usize>>,
    visit: &mut impl FnMut(&Captured<'t>),
) {
    let mut cursor = QueryCursor::new();
    cursor.set_match_limit(MATCH_LIMIT);
    if let Some(range) = range {
        cursor.set_byte_range(range);
    }

    let mut matches = cursor.matches(&query.query, root, text.as_bytes());
    let mut captures = Vec::new();

    while let Some(found) = matches.next() {
        captures.clear();
        let captured =
            found.captures().iter().filter_map(|c| Some((*query.captures.get(c.index as usize)?, c.node)));
        captures.extend(captured.filter(|(capture, _)| *capture != Capture::Auxiliary));
        visit(&captures);
    }
}

/// Returns whether a match has a capture.
fn is_marked(captures: &Captured<'_>, wanted: Capture) -> bool {
    captures.iter().any(|(capture, _)| *capture == wanted)
}

/// The first node of a capture.
pub(super) fn node_of<'t>(captures: &Captured<'t>, wanted: Capture) -> Option<Node<'t>> {
    captures.iter().find(|(capture, _)| *capture == wanted).map(|(_, node)| *node)
}

/// The name of a type as written, or of the built-in type that a value or type of this syntax has (scripts).
fn type_text(node: Node<'_>, text: &str) -> Box<str> {
    match node.kind() {
        "array" | "array_type" => "Array".into(),
        "string" | "template_string" => "String".into(),
        "regex" => "RegExp".into(),

        "predefined_type" => match text.get(node.byte_range()).unwrap_or_default() {
            "string" => "String".into(),
            "number" => "Number".into(),
            "boolean" => "Boolean".into(),
            _ => "".into(),
        },
        _ => path_text(node, text),
    }
}

/// The text of a node that is a path of names; empty for any other expression.
pub(super) fn path_text(node: Node<'_>, text: &str) -> Box<str> {
    let written = text.get(node.byte_range()).unwrap_or_default();
    clean_path(written)
}

/// The text of a path without white space and generic arguments; empty if it is no path of names.
fn clean_path(written: &str) -> Box<str> {
    if written.len() > MAX_PATH_BYTES {
        return "".into();
    }

    let mut path: String = written.chars().filter(|c| !c.is_whitespace()).collect();
    if path.starts_with("super(") && path.ends_with(')') {
        return "super()".into();
    }

    // Generic arguments are not part of the name.
    if let Some(at) = path.find('<').filter(|_| path.ends_with('>')) {
        path.truncate(at);
        path.truncate(path.trim_end_matches("::").len());
    }

    let plain = path.trim_start_matches(['&', '*']).to_owned();
    let has_parentheses = plain.contains(['(', ')']) && plain != "(*this)";
    let is_path = plain.chars().all(|c| {
        c.is_alphanumeric()
            || matches!(c, '_' | '$' | '.' | ':' | '\\' | '-' | '>' | '@' | '?' | '!' | '&' | '*' | '(' | ')')
    });
    if has_parentheses || !is_path { "".into() } else { plain.into() }
}

/// Collects the facts of one file, match by match.
pub(super) struct Reader<'a> {
    text: &'a str,
    index: &'a TextIndex<'a>,
    dialect: &'static Dialect,
    out: Facts,
    /// Ranges that limit the scope of bindings, with their kind.
    scopes: Vec<(Range<u32>, Capture)>,
    /// Offsets of bindings whose scope is their block, not their function.
    in_block: Vec<u32>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, index: &'a TextIndex<'a>, dialect: &'static Dialect) -> Reader<'a> {
        Reader { text, index, dialect, out: Facts::default(), scopes: Vec::new(), in_block: Vec::new() }
    }

    /// Adds the facts of one match.
    pub(super) fn add(&mut self, captures: &Captured<'_>) {
        let type_node = node_of(captures, Capture::Type).or_else(|| node_of(captures, Capture::TypeCall));
        let type_name = type_node.map(|node| type_text(node, self.text)).filter(|name| !name.is_empty());

        for &(capture, node) in captures {
            let range = node.start_byte() as u32..node.end_byte() as u32;
            match capture {
                Capture::Scope | Capture::Block | Capture::Class => self.scopes.push((range, capture)),
                Capture::Anonymous => self.out.anonymous_types.push(range),
                // A range around most of the file is a guard against repeated inclusion.
                Capture::Condition if node.byte_range().len() < self.text.len() / 2 => {
                    self.out.conditions.push(range);
                }
                Capture::Base => self.base(node),
                Capture::Default => self.out.default_export = Some(self.text_of(node).into()),
                Capture::SelfName => self.out.self_names.push((range.start, self.text_of(node).into())),
                Capture::Binding => self.binding(captures, node, type_name.clone()),
                Capture::Field => {
                    let name = self.text_of(node).into();
                    if let Some(type_name) = type_name.clone() {
                        self.out.fields.push(Field { at: range.start, name, type_name });
                    }
                }
                Capture::ImportText => self.import_text(node),
                Capture::ImportItems => {
                    let at = range.start;
                    let found = import_syntax::items(self.text_of(node));
                    self.out.imports.extend(found.into_iter().map(|import| Import { at, ..import }));
                }
                Capture::ImportMod => self.out.imports.push(Import {
                    at: range.start,
                    path: self.text_of(node).into(),
                    child: true,
                    ..Import::default()
                }),
                Capture::ImportPath => self.import(captures, node),
                Capture::ImportName if !is_marked(captures, Capture::ImportPath) => {
                    self.import(captures, node)
                }
                Capture::Call => self.site(captures, node, Form::Bare),
                Capture::CallBare => self.site(captures, node, Form::Word),
                Capture::CallMember => self.site(captures, node, Form::Member),
                Capture::CallPath => self.site(captures, node, Form::Path),
                Capture::CallNew => self.site(captures, node, Form::New),
                Capture::CallMacro => self.site(captures, node, Form::Macro),
                Capture::CallApplied => self.site(captures, node, Form::Applied),
                Capture::CallLoose => self.token_tree_name(captures, node),
                Capture::CallQualified => self.qualified(captures, node),
                _ => {}
            }
        }
    }

    fn text_of(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn binding(&mut self, captures: &Captured<'_>, node: Node<'_>, type_name: Option<Box<str>>) {
        let at = node.start_byte() as u32;
        if is_marked(captures, Capture::InBlock) {
            self.in_block.push(at);
        }

        self.out.bindings.push(Binding {
            at,
            from: visible_from(node, self.dialect),
            name: self.text_of(node).into(),
            reach: None,
            type_name,
            by_call: is_marked(captures, Capture::TypeCall),
        });
    }

    fn site(&mut self, captures: &Captured<'_>, node: Node<'_>, form: Form) {
        if self.dialect.language == "elixir" && !is_elixir_call(node, self.text) {
            return;
        }

        let receiver =
            node_of(captures, Capture::Receiver).map(|node| path_text(node, self.text)).or_else(|| {
                // The receiver has no node of its own in some grammars.
                let member = node_of(captures, Capture::Member)?;
                let before = self.text.get(member.start_byte()..node.start_byte())?;
                Some(clean_path(before.trim_end().trim_end_matches('.')))
            });

        let name = self.text_of(node).into();
        self.push(node.start_byte(), name, form, receiver, arguments(captures, self.text));
    }

    /// Adds a reference, unless the file has too many.
    fn push(
        &mut self,
        at: usize,
        name: Box<str>,
        form: Form,
        receiver: Option<Box<str>>,
        arguments: Option<u32>,
    ) {
        if self.out.references.len() >= MAX_FACTS {
            return;
        }

        let (at, line) = (at as u32, self.index.line_of(at as u32) as u32 + 1);
        self.out.references.push(Reference { at, line, name, form, receiver, arguments });
    }

    /// Adds a qualified name, which is split at its last separator: `a::b::f` or `\a\b\f`.
    fn qualified(&mut self, captures: &Captured<'_>, node: Node<'_>) {
        let written = self.text_of(node);
        let generic = written.find('<').unwrap_or(written.len());
        let written = &written[..generic];
        let Some(at) = written.rfind([':', '\\']) else { return };

        let (path, name) = written.split_at(at + 1);
        let (start, name) = (node.start_byte() + at + 1, name.trim().into());
        let receiver = clean_path(path.trim_end_matches([':', '\\']));
        self.push(start, name, Form::Path, Some(receiver), arguments(captures, self.text));
    }

    /// Adds a name in unparsed text (a Rust token tree); the text before it decides its form.
    fn token_tree_name(&mut self, captures: &Captured<'_>, node: Node<'_>) {
        let before = self.text.get(..node.start_byte()).unwrap_or_default().trim_end();
        let (form, receiver) = if let Some(rest) = before.strip_suffix("::") {
            (Form::Path, Some(path_at_end(rest)))
        } else if let Some(rest) = before.strip_suffix('.') {
            (Form::Member, Some(path_at_end(rest)))
        } else {
            (Form::Bare, None)
        };

        // The name after a keyword or in an attribute is no reference.
        let is_definition = before.ends_with("fn") || before.ends_with("struct") || before.ends_with("enum");
        if !is_definition && !before.ends_with('#') {
            let name = self.text_of(node).into();
            self.push(node.start_byte(), name, form, receiver, arguments(captures, self.text));
        }
    }

    fn import(&mut self, captures: &Captured<'_>, node: Node<'_>) {
        let text =
            |wanted: Capture| node_of(captures, wanted).map(|node| Box::<str>::from(self.text_of(node)));
        let path = text(Capture::ImportPath).unwrap_or_default();
        let is_path = is_marked(captures, Capture::ImportPath);

        self.out.imports.push(Import {
            at: node.start_byte() as u32,
            path: path.trim_matches(['"', '\'', '`']).into(),
            name: text(Capture::ImportName),
            alias: text(Capture::ImportAlias),
            all: is_marked(captures, Capture::ImportAll),
            module: is_marked(captures, Capture::ImportModule),
            default: is_marked(captures, Capture::ImportDefault),
            export: is_marked(captures, Capture::ImportExport) || !is_path,
            ..Import::default()
        });
    }

    fn import_text(&mut self, node: Node<'_>) {
        let at = node.start_byte() as u32;
        // The visibility stands before the captured text.
        let before = self.text.get(..node.start_byte()).unwrap_or_default();
        let export =
            before.rsplit(['\n', ';']).next().is_some_and(|head| head.trim_start().starts_with("pub"));
        let found = import_syntax::read(self.text_of(node), self.dialect);
        self.out.imports.extend(found.into_iter().map(|import| Import { at, export, ..import }));
    }

    fn base(&mut self, node: Node<'_>) {
        let name = path_text(node, self.text);
        if !name.is_empty() {
            self.out.bases.push((node.start_byte() as u32, name));
        }
    }

    /// The facts of all matches, in order of position and without duplicates.
    pub(super) fn finish(mut self) -> Facts {
        self.scopes.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));

        // Several patterns may match the same site; the most specific match is kept.
        self.out.references.sort_by_key(|site| {
            let specificity = (site.form, site.arguments.is_some(), site.receiver.is_some());
            (site.at, std::cmp::Reverse(specificity))
        });
        self.out.references.dedup_by_key(|site| site.at);

        self.out.imports.sort_by_key(|import| import.at);
        self.out.bases.sort();
        self.out.bases.dedup();

        self.place_bindings();
        self.out.fields.sort_by_key(|field| field.at);

        // In Python every import of a module is visible as an attribute of the module.
        if self.dialect.modules == Modules::Python {
            self.out.imports.iter_mut().for_each(|import| import.export = true);
        }

        self.out
    }

    /// Sets the reach of each binding to the scope around it. A binding in a type is a field.
    fn place_bindings(&mut self) {
        let mut bindings = std::mem::take(&mut self.out.bindings);
        bindings.truncate(MAX_FACTS);
        bindings.sort_by_key(|binding| (binding.at, binding.type_name.is_none()));
        bindings.dedup_by_key(|binding| binding.at);

        self.in_block.sort_unstable();
        let scopes = Nested::new(&self.scopes);
        for mut binding in bindings {
            let narrow = self.in_block.binary_search(&binding.at).is_ok();
            match scopes.around(binding.at, narrow) {
                Some((_, Capture::Class)) => {
                    if let Some(type_name) = binding.type_name.filter(|_| !binding.by_call) {
                        self.out.fields.push(Field { at: binding.at, name: binding.name, type_name });
                    }
                }
                around => {
                    binding.reach = around.map(|(range, _)| range.clone());
                    self.out.bindings.push(binding);
                }
            }
        }
    }
}

/// Returns whether a name before parentheses is called: the head of a definition and types are written alike.
fn is_elixir_call(name: Node<'_>, text: &str) -> bool {
    const DEFINITIONS: &[&str] =
        &["def", "defp", "defmacro", "defmacrop", "defguard", "defguardp", "defdelegate", "defn", "defnp"];
    const TYPES: &[&str] = &["spec", "type", "typep", "opaque", "callback", "macrocallback"];
    let text_of = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
    let target_of = |node: Node<'_>| node.child_by_field_name("target").map(text_of).unwrap_or_default();

    let mut around = std::iter::successors(name.parent(), |node| node.parent());
    !around.any(|node| {
        let is_head = node.kind() == "call"
            && DEFINITIONS.contains(&target_of(node))
            && node.named_child(1).is_some_and(|arguments| arguments.start_byte() == name.start_byte());
        let is_type = node.kind() == "unary_operator"
            && node.named_child(0).is_some_and(|operand| TYPES.contains(&target_of(operand)));
        is_head || is_type
    })
}

/// The path at the end of unparsed text.
pub(super) fn path_at_end(text: &str) -> Box<str> {
    let start = text.rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':' | '.')));
    clean_path(text.get(start.map_or(0, |at| at + 1)..).unwrap_or_default())
}

/// Properly nested ranges, with the index of the enclosing range of each.
struct Nested<'a> {
    ranges: &'a [(Range<u32>, Capture)],
    parents: Vec<Option<usize>>,
}

impl<'a> Nested<'a> {
    /// `ranges` must be sorted by start, longer ranges first.
    fn new(ranges: &'a [(Range<u32>, Capture)]) -> Nested<'a> {
        let mut parents = Vec::with_capacity(ranges.len());
        let mut open: Vec<usize> = Vec::new();

        for (i, (range, _)) in ranges.iter().enumerate() {
            while open.last().is_some_and(|&last| ranges[last].0.end < range.end) {
                open.pop();
            }
            parents.push(open.last().copied());
            open.push(i);
        }

        Nested { ranges, parents }
    }

    /// The innermost range around `at`; blocks count only if `narrow`.
    fn around(&self, at: u32, narrow: bool) -> Option<&'a (Range<u32>, Capture)> {
        let first = self.ranges.partition_point(|(range, _)| range.start <= at).checked_sub(1)?;

        let mut here = Some(first);
        while let Some(i) = here {
            let (range, capture) = &self.ranges[i];
            if range.end > at && (narrow || *capture != Capture::Block) {
                return Some(&self.ranges[i]);
            }
            here = self.parents[i];
        }
        None
    }
}

/// The number of arguments; `None` if there is no argument list or an argument is spread.
fn arguments(captures: &Captured<'_>, text: &str) -> Option<u32> {
    let list = node_of(captures, Capture::Arguments)?;
    let written = text.get(list.byte_range())?;
    let trailing = u32::from(node_of(captures, Capture::Trailing).is_some());
    // Arguments in unparsed text cannot be counted.
    if list.kind() == "token_tree" {
        return None;
    }

    let mut cursor = list.walk();
    let mut n = 0;
    for child in list.named_children(&mut cursor) {
        match child.kind() {
            kind if kind.contains("comment") => {}
            kind if is_spread(kind) => return None,
            _ => n += 1,
        }
    }

    // An ellipsis stands for an unknown number of arguments.
    (!written.contains("...")).then_some(n + trailing)
}

fn is_spread(kind: &str) -> bool {
    kind.contains("spread") || kind.contains("splat") || kind.contains("unpack")
}

/// The offset from which a binding is in effect: in Rust and Go, the end of its statement, so that the second
/// `x` in `let x = x()` is the previous one.
fn visible_from(node: Node<'_>, dialect: &Dialect) -> u32 {
    let statements: &[&str] = match dialect.modules {
        Modules::Rust => &["let_declaration", "let_condition"],
        Modules::Go => &["short_var_declaration", "var_spec"],
        _ => return 0,
    };
    let limits: &[&str] = &["block", "closure_parameters", "parameters", "function_item", "func_literal"];

    let mut around = node.parent();
    while let Some(parent) = around.filter(|parent| !limits.contains(&parent.kind())) {
        if statements.contains(&parent.kind()) {
            return parent.end_byte() as u32;
        }
        around = parent.parent();
    }
    0
}
