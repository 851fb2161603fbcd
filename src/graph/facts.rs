//! One file → its call sites, imports, bindings and bases, by the queries of its language.
//!
//! A function of the bytes and the language alone, so it may be kept under the id of the blob.

use std::ops::Range;

use tree_sitter::{Node, Query, QueryCursor, StreamingIterator, Tree};

use super::dialect::{Dialect, Modules};
use super::imports;
use super::queries::{self, Capture};
use crate::chunk::lines::TextIndex;
use crate::chunk::{grammar, readable, semantic};

/// Longest receiver, type or path that is understood; longer ones are expressions.
const MAX_PATH_BYTES: usize = 200;
/// Most sites, imports and bindings kept of one file.
const MAX_FACTS: usize = 100_000;
/// States of a query that may be open at once.
const MATCH_LIMIT: u32 = 4096;

/// How a name is used at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Form {
    /// Perhaps a call without parentheses.
    Word,
    Bare,
    Macro,
    New,
    /// Through a type or module: `A::f`.
    Path,
    /// On a value: `a.f`.
    Member,
    /// A mention that is no call.
    Mention,
    /// A type, in a question of ours.
    Type,
}

/// A place where a name is called or mentioned.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Use {
    /// Offset of the name.
    pub at: u32,
    /// 1-based.
    pub line: u32,
    pub name: Box<str>,
    pub form: Form,
    /// Text before the name, without white space; empty if it is no path.
    pub receiver: Option<Box<str>>,
    /// Arguments, where their number is certain.
    pub arguments: Option<u32>,
}

/// A name that an import binds, or that is passed on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Import {
    pub at: u32,
    /// Module or qualified name, as written.
    pub path: Box<str>,
    /// What is imported of the module; the module itself if `None`.
    pub name: Option<Box<str>>,
    pub alias: Option<Box<str>>,
    pub all: bool,
    /// The alias stands for the module.
    pub module: bool,
    /// The alias stands for what the module exports as its default.
    pub default: bool,
    pub export: bool,
    /// Members of a type.
    pub is_static: bool,
    /// `mod name;`
    pub child: bool,
}

/// A name that is bound to a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Binding {
    pub at: u32,
    pub name: Box<str>,
    /// Where it is visible; `None` in the whole file.
    pub reach: Option<Range<u32>>,
    pub type_name: Option<Box<str>>,
    /// `type_name` was called, so it is the type only if it names one.
    pub by_call: bool,
}

/// A member variable with its declared type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub at: u32,
    pub name: Box<str>,
    pub type_name: Box<str>,
}

/// All that resolution needs of a file.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub text: Box<str>,
    pub uses: Vec<Use>,
    pub imports: Vec<Import>,
    pub bindings: Vec<Binding>,
    pub fields: Vec<Field>,
    /// Bases of the type around an offset.
    pub bases: Vec<(u32, Box<str>)>,
    /// Names of receivers that stand for the object itself, by their offset.
    pub selfs: Vec<(u32, Box<str>)>,
    /// Types without names.
    pub anonymous: Vec<Range<u32>>,
    pub default_export: Option<Box<str>>,
    /// The parser met what it does not know.
    pub has_errors: bool,
}

/// Why a file has no facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unparsed;

/// Reads a file.
pub(crate) fn read(bytes: &[u8], dialect: &'static Dialect) -> Result<Facts, Unparsed> {
    let (text, _) = readable(bytes);
    let index = TextIndex::new(text.as_bytes());
    let (tree, queries) = parsed(&index, dialect)?;
    let mut reader = Reader {
        text: &text,
        index: &index,
        dialect,
        out: Facts::default(),
        scopes: Vec::new(),
        in_block: Vec::new(),
    };
    each_match(&queries.facts, &queries.captures, tree.root_node(), &text, None, &mut |captures| {
        reader.add(captures);
    });
    let mut facts = reader.finish();
    facts.has_errors = tree.root_node().has_error();
    facts.text = text.into();
    Ok(facts)
}

/// Every mention of `name` in a file, calls included.
pub(crate) fn mentions(bytes: &[u8], dialect: &'static Dialect, name: &str) -> Result<Vec<Use>, Unparsed> {
    let (text, _) = readable(bytes);
    let index = TextIndex::new(text.as_bytes());
    let (tree, queries) = parsed(&index, dialect)?;
    let mut found: Vec<Use> = Vec::new();
    for at in occurrences(&text, name) {
        let near = at..at + name.len();
        each_match(
            &queries.references,
            &queries.reference_captures,
            tree.root_node(),
            &text,
            Some(near.clone()),
            &mut |captures| {
                let receiver = node_of(captures, Capture::Receiver).map(|node| path_text(node, &text));
                for (capture, node) in captures {
                    let form = match capture {
                        Capture::Reference => Form::Mention,
                        Capture::ReferenceMember => Form::Member,
                        Capture::ReferencePath => Form::Path,
                        _ => continue,
                    };
                    if node.byte_range() == near && found.len() < MAX_FACTS {
                        found.push(Use {
                            at: at as u32,
                            line: index.line_of(at as u32) as u32 + 1,
                            name: name.into(),
                            form,
                            receiver: receiver.clone(),
                            arguments: None,
                        });
                    }
                }
            },
        );
    }
    // A member is matched as a plain name as well: what says more wins.
    let says = |form: Form| if form == Form::Mention { 0 } else { 1 };
    found.sort_by_key(|site| (site.at, std::cmp::Reverse(says(site.form))));
    found.dedup_by_key(|site| site.at);
    Ok(found)
}

/// True if `name` stands somewhere in `text` as a word.
pub(crate) fn has_word(text: &[u8], name: &str) -> bool {
    std::str::from_utf8(text).map_or(true, |text| occurrences(text, name).next().is_some())
}

pub(crate) fn occurrences<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

fn parsed(
    index: &TextIndex<'_>,
    dialect: &'static Dialect,
) -> Result<(Tree, &'static queries::Queries), Unparsed> {
    let grammar = grammar::by_language(dialect.language).ok_or(Unparsed)?;
    let queries = queries::of(dialect).ok_or(Unparsed)?;
    let tree = semantic::parse(index, grammar).map_err(|_| Unparsed)?;
    Ok((tree, queries))
}

type Captured<'t> = [(Capture, Node<'t>)];

fn each_match<'t>(
    query: &Query,
    names: &[Capture],
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
    let mut matches = cursor.matches(query, root, text.as_bytes());
    let mut captures = Vec::new();
    while let Some(found) = matches.next() {
        captures.clear();
        let known = found.captures().iter().filter_map(|c| Some((*names.get(c.index as usize)?, c.node)));
        captures.extend(known.filter(|(capture, _)| *capture != Capture::Auxiliary));
        visit(&captures);
    }
}

fn node_of<'t>(captures: &Captured<'t>, wanted: Capture) -> Option<Node<'t>> {
    captures.iter().find(|(capture, _)| *capture == wanted).map(|(_, node)| *node)
}

/// The text of a node that is a path of names; empty for any other expression.
fn path_text(node: Node<'_>, text: &str) -> Box<str> {
    let written = text.get(node.byte_range()).unwrap_or_default();
    clean_path(written)
}

fn clean_path(written: &str) -> Box<str> {
    if written.len() > MAX_PATH_BYTES {
        return "".into();
    }
    let mut path: String = written.chars().filter(|c| !c.is_whitespace()).collect();
    if path.starts_with("super(") && path.ends_with(')') {
        return "super()".into();
    }
    // Generic arguments say nothing about the name.
    if let Some(at) = path.find('<').filter(|_| path.ends_with('>')) {
        path.truncate(at);
        path.truncate(path.trim_end_matches("::").len());
    }
    let is_name = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '_' | '$' | '.' | ':' | '\\' | '-' | '>' | '@' | '?' | '!' | '&' | '*' | '(' | ')')
    };
    let plain = path.trim_start_matches(['&', '*']).to_owned();
    let parentheses = plain.contains(['(', ')']) && plain != "(*this)";
    if parentheses || !plain.chars().all(is_name) { "".into() } else { plain.into() }
}

struct Reader<'a> {
    text: &'a str,
    index: &'a TextIndex<'a>,
    dialect: &'static Dialect,
    out: Facts,
    /// Ranges that bound the reach of names, with what they are.
    scopes: Vec<(Range<u32>, Capture)>,
    /// Offsets of bindings that reach to the end of their block.
    in_block: Vec<u32>,
}

impl Reader<'_> {
    fn add(&mut self, captures: &Captured<'_>) {
        let marked = |wanted: Capture| captures.iter().any(|(capture, _)| *capture == wanted);
        let type_node = node_of(captures, Capture::Type).or_else(|| node_of(captures, Capture::TypeCall));
        let type_name = type_node.map(|node| path_text(node, self.text)).filter(|name| !name.is_empty());
        for &(capture, node) in captures {
            let range = node.start_byte() as u32..node.end_byte() as u32;
            match capture {
                Capture::Scope | Capture::Block | Capture::Class => self.scopes.push((range, capture)),
                Capture::Anonymous => self.out.anonymous.push(range),
                Capture::Base => self.base(node),
                Capture::Default => self.out.default_export = Some(self.text_of(node).into()),
                Capture::SelfName => self.out.selfs.push((range.start, self.text_of(node).into())),
                Capture::Binding => {
                    if marked(Capture::InBlock) {
                        self.in_block.push(range.start);
                    }
                    self.out.bindings.push(Binding {
                        at: range.start,
                        name: self.text_of(node).into(),
                        reach: None,
                        type_name: type_name.clone(),
                        by_call: marked(Capture::TypeCall),
                    });
                }
                Capture::Field => {
                    let name = self.text_of(node).into();
                    if let Some(type_name) = type_name.clone() {
                        self.out.fields.push(Field { at: range.start, name, type_name });
                    }
                }
                Capture::ImportText => self.import_text(node),
                Capture::ImportMod => self.out.imports.push(Import {
                    at: range.start,
                    path: self.text_of(node).into(),
                    child: true,
                    ..Import::default()
                }),
                Capture::ImportPath => self.import(captures, node),
                Capture::ImportName if !marked(Capture::ImportPath) => self.import(captures, node),
                Capture::Call => self.site(captures, node, Form::Bare),
                Capture::CallBare => self.site(captures, node, Form::Word),
                Capture::CallMember => self.site(captures, node, Form::Member),
                Capture::CallPath => self.site(captures, node, Form::Path),
                Capture::CallNew => self.site(captures, node, Form::New),
                Capture::CallMacro => self.site(captures, node, Form::Macro),
                Capture::CallLoose => self.loose(captures, node),
                Capture::CallQualified => self.qualified(captures, node),
                _ => {}
            }
        }
    }

    fn text_of(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn site(&mut self, captures: &Captured<'_>, node: Node<'_>, form: Form) {
        let receiver =
            node_of(captures, Capture::Receiver).map(|node| path_text(node, self.text)).or_else(|| {
                let member = node_of(captures, Capture::Member)?;
                let before = self.text.get(member.start_byte()..node.start_byte())?;
                Some(clean_path(before.trim_end().trim_end_matches('.')))
            });
        let name = self.text_of(node).into();
        self.push(node.start_byte(), name, form, receiver, arguments(captures, self.text));
    }

    fn push(
        &mut self,
        at: usize,
        name: Box<str>,
        form: Form,
        receiver: Option<Box<str>>,
        arguments: Option<u32>,
    ) {
        if self.out.uses.len() < MAX_FACTS {
            let (at, line) = (at as u32, self.index.line_of(at as u32) as u32 + 1);
            self.out.uses.push(Use { at, line, name, form, receiver, arguments });
        }
    }

    /// `a::b::f` and `\a\b\f`: split at the last separator.
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

    /// A name in unparsed text: what stands before it tells how it is used.
    fn loose(&mut self, captures: &Captured<'_>, node: Node<'_>) {
        let before = self.text.get(..node.start_byte()).unwrap_or_default().trim_end();
        let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.');
        let (form, receiver) = if let Some(rest) = before.strip_suffix("::") {
            let start = rest.rfind(|c: char| !part(c)).map_or(0, |at| at + 1);
            let path = rest.get(start..).unwrap_or_default();
            (Form::Path, Some(clean_path(path)))
        } else if let Some(rest) = before.strip_suffix('.') {
            let start = rest.rfind(|c: char| !part(c)).map_or(0, |at| at + 1);
            let path = rest.get(start..).unwrap_or_default();
            (Form::Member, Some(clean_path(path)))
        } else {
            (Form::Bare, None)
        };
        let is_definition = before.ends_with("fn") || before.ends_with("struct") || before.ends_with("enum");
        if !is_definition && !before.ends_with('#') {
            let name = self.text_of(node).into();
            self.push(node.start_byte(), name, form, receiver, arguments(captures, self.text));
        }
    }

    fn import(&mut self, captures: &Captured<'_>, node: Node<'_>) {
        let marked = |wanted: Capture| captures.iter().any(|(capture, _)| *capture == wanted);
        let text =
            |wanted: Capture| node_of(captures, wanted).map(|node| Box::<str>::from(self.text_of(node)));
        let path = text(Capture::ImportPath).unwrap_or_default();
        let is_path = marked(Capture::ImportPath);
        self.out.imports.push(Import {
            at: node.start_byte() as u32,
            path: path.trim_matches(['"', '\'', '`', '<', '>']).into(),
            name: text(Capture::ImportName),
            alias: text(Capture::ImportAlias),
            all: marked(Capture::ImportAll),
            module: marked(Capture::ImportModule),
            default: marked(Capture::ImportDefault),
            export: marked(Capture::ImportExport) || !is_path,
            ..Import::default()
        });
    }

    fn import_text(&mut self, node: Node<'_>) {
        let at = node.start_byte() as u32;
        let before = self.text.get(..node.start_byte()).unwrap_or_default();
        let export =
            before.rsplit(['\n', ';']).next().is_some_and(|head| head.trim_start().starts_with("pub"));
        let found = imports::read(self.text_of(node), self.dialect);
        self.out.imports.extend(found.into_iter().map(|import| Import { at, export, ..import }));
    }

    fn base(&mut self, node: Node<'_>) {
        let name = path_text(node, self.text);
        if !name.is_empty() {
            self.out.bases.push((node.start_byte() as u32, name));
        }
    }

    fn finish(mut self) -> Facts {
        self.scopes.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        // The same site is matched by several patterns: the one that says most stays.
        let rank = |site: &Use| {
            (site.at, std::cmp::Reverse((site.form, site.arguments.is_some(), site.receiver.is_some())))
        };
        self.out.uses.sort_by_key(rank);
        self.out.uses.dedup_by_key(|site| site.at);
        self.out.imports.sort_by_key(|import| import.at);
        self.out.bases.sort();
        self.out.bases.dedup();
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
        self.out.fields.sort_by_key(|field| field.at);
        // Python passes on what its packages import.
        if self.dialect.modules == Modules::Python {
            self.out.imports.iter_mut().for_each(|import| import.export = true);
        }
        self.out
    }
}

/// Ranges that contain each other or do not touch, with the enclosing range of each.
struct Nested<'a> {
    ranges: &'a [(Range<u32>, Capture)],
    parents: Vec<Option<usize>>,
}

impl<'a> Nested<'a> {
    /// `ranges` by start, the longer first.
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

    /// The innermost range around `at`; without blocks unless `narrow`.
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

/// The number of arguments, `None` if there is no list or something is spread into it.
fn arguments(captures: &Captured<'_>, text: &str) -> Option<u32> {
    let list = node_of(captures, Capture::Arguments)?;
    let written = text.get(list.byte_range())?;
    let trailing = u32::from(node_of(captures, Capture::Trailing).is_some());
    if list.kind() == "token_tree" {
        return None;
    }
    let mut cursor = list.walk();
    let spread = |kind: &str| kind.contains("spread") || kind.contains("splat") || kind.contains("unpack");
    let mut n = 0;
    for child in list.named_children(&mut cursor) {
        match child.kind() {
            kind if kind.contains("comment") => {}
            kind if spread(kind) => return None,
            _ => n += 1,
        }
    }
    (!written.contains("...")).then_some(n + trailing)
}

#[cfg(test)]
mod tests {
    use super::super::dialect;
    use super::*;

    fn facts(language: &str, text: &str) -> Facts {
        read(text.as_bytes(), dialect::of(language).unwrap()).unwrap()
    }

    fn uses(language: &str, text: &str) -> Vec<String> {
        let of = |u: &Use| format!("{:?} {}|{}", u.form, u.receiver.as_deref().unwrap_or("-"), u.name);
        facts(language, text).uses.iter().map(of).collect()
    }

    #[test]
    fn calls_are_read_with_their_receivers() {
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
    fn a_binding_reaches_as_far_as_its_language_says() {
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
    fn mentions_are_leaves_not_text() {
        let text = "# parse in a comment\nparse = 1\nx.parse('parse')\nparser = parse\n";
        let found = mentions(text.as_bytes(), dialect::of("python").unwrap(), "parse").unwrap();
        let lines: Vec<_> = found.iter().map(|u| (u.line, u.form)).collect();
        assert_eq!(lines, [(2, Form::Mention), (3, Form::Member), (4, Form::Mention)]);
    }

    #[test]
    fn hostile_bytes_are_no_panic() {
        for dialect in dialect::all() {
            for bytes in [&b"\xff\xfe\0(((("[..], b"", b"a(a(a(a(", "ü(é)".as_bytes(), &[b'('; 5000]] {
                let _ = read(bytes, dialect);
                let _ = mentions(bytes, dialect, "a");
            }
        }
    }
}
