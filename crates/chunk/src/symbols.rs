//! From a definition node to its symbol: name, qualified name, signature, documentation.

use std::ops::Range;

use tree_sitter::Node;

use super::lines::TextIndex;
use super::rules::{NameFrom, Rules, SymbolRule, matches_word};
use super::{SemanticClass, Symbol, SymbolKind, doc};

/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 200;
/// Maximum length of a qualified name, in bytes. A longer one is replaced by the name alone.
const MAX_QUALIFIED: usize = 400;
/// Maximum number of bytes before the body of a definition that are searched for a test marker.
const MARKER_WINDOW: usize = 1024;

/// Maximum number of declarators inside each other.
const MAX_DECLARATORS: usize = 32;

/// Parts of a name that have no meaning of their own.
const EMPTY_QUALIFIERS: &[&str] = &["exports", "module", "this", "self", "prototype", "window", "globalThis"];

/// Surroundings of a definition.
pub(crate) struct Context<'a> {
    pub text: &'a str,
    pub index: &'a TextIndex<'a>,
    pub rules: &'a Rules,
    pub parent: Option<&'a Symbol>,
    pub parent_kind: u16,
    pub in_callable: bool,
    /// The comment before the definition.
    pub comment: Option<Range<u32>>,
    /// Byte offset at which the annotations before the definition start.
    pub annotations: Option<u32>,
    pub nesting: u8,
}

impl SymbolKind {
    /// Returns true for functions, methods, constructors, macros and tests.
    pub fn is_callable(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Constructor | Self::Macro | Self::Test)
    }

    /// Returns true for types, whose callables are methods.
    pub fn has_members(self) -> bool {
        matches!(
            self,
            Self::Class
                | Self::Struct
                | Self::Enum
                | Self::Interface
                | Self::Trait
                | Self::Impl
                | Self::Object
        )
    }

    /// Returns the class of a definition of this kind, unless it is found to be a test.
    pub fn class(self) -> SemanticClass {
        if self.has_members() {
            return SemanticClass::DefinitionType;
        }

        match self {
            Self::Function | Self::Method | Self::Constructor | Self::Macro => {
                SemanticClass::DefinitionCallable
            }
            Self::Module | Self::Namespace => SemanticClass::BoundaryModule,
            Self::Test => SemanticClass::DefinitionTest,
            Self::Heading => SemanticClass::DocumentationStructured,
            Self::TypeAlias => SemanticClass::DefinitionType,
            _ => SemanticClass::DefinitionData,
        }
    }

    /// Returns true for kinds that are not symbols inside a function body.
    fn is_data(self) -> bool {
        matches!(self, Self::Variable | Self::Constant | Self::Field | Self::Property | Self::Key)
    }
}

/// A definition.
pub(crate) struct Defined {
    pub symbol: Symbol,
    /// Symbols of parts of the node that follow, such as the second of `int a, b`. They are in order of
    /// position.
    pub others: Vec<Symbol>,
    /// Whether adjacent definitions of that name are merged.
    pub merge: bool,
}

/// Returns the definition that `node` is by the first of its rules that applies.
pub(crate) fn define(node: Node<'_>, rules: &[SymbolRule], context: &Context<'_>) -> Option<Defined> {
    rules.iter().find_map(|rule| define_by(node, rule, context))
}

/// Returns the definition that `node` is by one rule, if it applies.
fn define_by(node: Node<'_>, rule: &SymbolRule, context: &Context<'_>) -> Option<Defined> {
    if context.nesting >= rule.max_nesting || (context.in_callable && rule.kind.is_data()) {
        return None;
    }

    let source = context.text.as_bytes();
    if !rule.conditions.iter().all(|condition| condition.holds(node, context.parent_kind, source)) {
        return None;
    }

    let body = rule.body.find(node).filter(|body| body.start_byte() > node.start_byte());
    let head_end = body.map_or(node.end_byte(), |body| body.start_byte());
    let definition = Definition { node, rule, context, head_end, has_body: body.is_some() };
    let signature = signature(&definition);

    let (written, name_start) = match &rule.name {
        NameFrom::Fixed(name) => ((*name).to_owned(), node.end_byte()),
        NameFrom::Head => (signature.clone(), node.end_byte()),
        NameFrom::Path(path) => named(path.find(node)?, context.text)?,
        NameFrom::Declarator => named(declarator(node)?, context.text)?,
    };
    let parts = if rule.verbatim { vec![written.as_str()] } else { parts_of(&written) };
    let name = (*parts.last()?).to_owned();
    if name.is_empty() {
        return None;
    }

    // A type after the name is the result type, not a receiver.
    let receiver =
        rule.scope.as_ref().and_then(|path| path.find(node)).filter(|found| found.start_byte() < name_start);
    let receiver = receiver.and_then(|found| text_of(found, context.text)).map(clean_name);

    let qualified_name = qualify(context, receiver.as_deref(), &parts);
    let owner = receiver.as_deref().or(parts.len().checked_sub(2).map(|at| parts[at]));
    let (kind, class) = classify(&name, owner, &definition);

    // Without its first token, a definition that does not parse begins in the white space before it.
    let text = text_of(node, context.text)?;
    let start = node.start_byte() + (text.len() - text.trim_ascii_start().len());
    let end = node.start_byte() + text.trim_end().len();
    let byte_range = start as u32..end as u32;

    let mut symbol = Symbol {
        name,
        qualified_name,
        kind,
        class,
        signature,
        doc: documentation(node, context),
        line_span: context.index.span(&byte_range),
        byte_range,
        nesting: context.nesting,
    };

    let parts = match &rule.name {
        NameFrom::Path(path) => path.find_each(node),
        _ => Vec::new(),
    };
    let others = others(&symbol, &parts, context);
    // The parts of one node do not enclose each other.
    if let (false, Some((first, _))) = (others.is_empty(), parts.first()) {
        symbol.byte_range.end = first.end_byte() as u32;
        symbol.line_span = context.index.span(&symbol.byte_range);
    }

    Some(Defined { symbol, others, merge: rule.merge })
}

/// Returns the symbols of all parts of a node but the first, which is that of `symbol`.
fn others(symbol: &Symbol, parts: &[(Node<'_>, Node<'_>)], context: &Context<'_>) -> Vec<Symbol> {
    let mut others = Vec::new();

    for (part, name) in parts.iter().skip(1) {
        let Some((name, _)) = named(*name, context.text).filter(|(name, _)| !name.is_empty()) else {
            continue;
        };
        let byte_range = part.start_byte() as u32..part.end_byte() as u32;
        others.push(Symbol {
            qualified_name: qualify(context, None, &[&name]),
            name,
            line_span: context.index.span(&byte_range),
            byte_range,
            ..symbol.clone()
        });
    }

    others
}

/// A node that is a definition by a rule.
struct Definition<'a, 't> {
    node: Node<'t>,
    rule: &'a SymbolRule,
    context: &'a Context<'a>,
    /// Start of the body, or the end of the definition if it has none.
    head_end: usize,
    has_body: bool,
}

/// Returns kind and class of a definition. `written_owner` is the receiver or qualifier in the source.
fn classify(
    name: &str,
    written_owner: Option<&str>,
    definition: &Definition<'_, '_>,
) -> (SymbolKind, SemanticClass) {
    let Definition { rule, context, .. } = definition;
    let mut kind = rule.kind;

    let owner = context.parent.filter(|parent| parent.kind.has_members());
    if kind == SymbolKind::Function && (owner.is_some() || written_owner.is_some()) {
        kind = SymbolKind::Method;
    }

    // Outside of its class (`A::A` in C++), a constructor has only a written owner.
    if matches!(kind, SymbolKind::Function | SymbolKind::Method) {
        let is_class_name = context.rules.constructor_is_class_name
            && (owner.is_some_and(|owner| owner.name == name) || written_owner == Some(name));
        if is_class_name || (owner.is_some() && context.rules.constructors.contains(&name)) {
            kind = SymbolKind::Constructor;
        }
    }

    let mut class = rule.class.unwrap_or_else(|| kind.class());

    if (kind.is_callable() || kind == SymbolKind::Class) && is_test(name, kind, definition) {
        class = SemanticClass::DefinitionTest;
        if kind != SymbolKind::Class {
            kind = SymbolKind::Test;
        }
    }

    (kind, class)
}

/// Returns whether a definition is a test, by its name or by a marker in its annotations or its head.
fn is_test(name: &str, kind: SymbolKind, definition: &Definition<'_, '_>) -> bool {
    let Definition { node, context, head_end, .. } = definition;
    let names = &context.rules.test_names;
    if names.iter().any(|word| matches_word(name.as_bytes(), word)) && has_evidence(kind, definition) {
        return true;
    }

    if context.rules.test_markers.is_empty() {
        return false;
    }

    let from = context.annotations.map_or(node.start_byte(), |start| start as usize);
    let to = (*head_end).min(from + MARKER_WINDOW);
    let head = window(context.text, from..to);
    context.rules.test_markers.iter().any(|marker| contains_marker(head, marker))
}

/// Returns whether more than its name shows that a definition is a test. Many names begin with the word:
/// `test_client` of an application, `TestResponse` of a library.
fn has_evidence(kind: SymbolKind, definition: &Definition<'_, '_>) -> bool {
    let Definition { node, context, .. } = definition;
    let Rules { test_evidence, test_owners, test_member, .. } = context.rules;
    let contains_one =
        |text: &str, words: &[&str]| words.is_empty() || words.iter().any(|word| text.contains(word));
    let owner = context.parent.filter(|parent| parent.kind.has_members());

    match owner {
        _ if kind == SymbolKind::Class => {
            window(context.text, node.byte_range()).contains(test_member.as_str())
        }
        Some(owner) => {
            owner.class == SemanticClass::DefinitionTest || contains_one(&owner.signature, test_owners)
        }
        None => contains_one(context.text, test_evidence),
    }
}

/// Returns whether `head` contains `marker` and no word continues after it.
fn contains_marker(head: &str, marker: &str) -> bool {
    let is_word = marker.ends_with(|c: char| c.is_alphanumeric());
    head.match_indices(marker).any(|(at, _)| {
        !is_word || !head[at + marker.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

/// Returns the first sentence of the documentation inside a definition, else of the comment before it.
fn documentation(node: Node<'_>, context: &Context<'_>) -> String {
    let inner = context.rules.inner_doc.as_ref().and_then(|path| path.find(node));
    if let Some(inner) = inner {
        let text = doc::first_sentence(window(context.text, inner.byte_range()));
        if !text.is_empty() {
            return text;
        }
    }

    let comment = context.comment.clone().map(|range| range.start as usize..range.end as usize);
    comment.map(|range| doc::first_sentence(window(context.text, range))).unwrap_or_default()
}

/// Joins the enclosing names and the parts of the name by the separator of the language.
fn qualify(context: &Context<'_>, receiver: Option<&str>, parts: &[&str]) -> String {
    let mut qualified = String::new();
    if let Some(parent) = context.parent {
        qualified.push_str(&parent.qualified_name);
    }

    for part in receiver.into_iter().chain(parts.iter().copied()) {
        if !qualified.is_empty() {
            qualified.push_str(context.rules.separator);
        }
        qualified.push_str(part);
    }

    if qualified.len() > MAX_QUALIFIED {
        return parts.last().map(|part| (*part).to_owned()).unwrap_or_default();
    }

    qualified
}

/// Returns the innermost declarator of a C-family declaration.
fn declarator(node: Node<'_>) -> Option<Node<'_>> {
    let mut at = node.child_by_field_name("declarator")?;

    for _ in 0..MAX_DECLARATORS {
        match at.child_by_field_name("declarator").or_else(|| wrapped_declarator(at)) {
            Some(inner) => at = inner,
            None => return Some(at),
        }
    }

    None
}

/// Returns the declarator inside a node that wraps it without naming its field.
fn wrapped_declarator(node: Node<'_>) -> Option<Node<'_>> {
    let is_wrapper = matches!(
        node.kind(),
        "parenthesized_declarator" | "reference_declarator" | "attributed_declarator" | "pointer_declarator"
    );
    is_wrapper.then(|| node.named_child(node.named_child_count().saturating_sub(1) as u32)).flatten()
}

fn text_of<'t>(node: Node<'_>, text: &'t str) -> Option<&'t str> {
    text.get(node.byte_range())
}

/// Returns a part of the text; empty if the range starts inside a character.
fn window(text: &str, range: Range<usize>) -> &str {
    let mut end = range.end.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }

    text.get(range.start..end).unwrap_or_default()
}

/// Returns the clean name written in a node, and the offset at which it starts.
fn named(node: Node<'_>, text: &str) -> Option<(String, usize)> {
    let written = text_of(node, text)?;
    let name = clean_name(written);
    // In `TEST(Suite, Name)` the parameters are the name.
    let name = if written.starts_with('(') { name.replace(", ", ".") } else { name };
    Some((name, node.start_byte()))
}

/// Returns the text before the body, with the words that precede it on its line (`export const`, `type`).
fn signature(definition: &Definition<'_, '_>) -> String {
    const MAX_PREFIX: usize = 32;
    let &Definition { node, rule, context, head_end, has_body } = definition;
    let kind = rule.kind;

    let line_start = context.index.line_start(context.index.line_of(node.start_byte() as u32)) as usize;
    let before = window(context.text, line_start..node.start_byte());
    let are_words = before.len() < MAX_PREFIX
        && before.bytes().all(|b| b.is_ascii_alphabetic() || b == b' ' || b == b'\t');

    let mut signature = String::new();
    if are_words {
        doc::collapse(&mut signature, before);
    }

    // Collapsing shortens the text; eight times the limit is enough input.
    let end = head_end.min(node.start_byte() + doc::MAX_CHARS * 8);
    let head = window(context.text, node.start_byte()..end);
    let has_line_head =
        kind.is_callable() || kind.has_members() || kind.class() == SemanticClass::BoundaryModule;
    doc::collapse(&mut signature, &head[..head_length(head, has_line_head && !has_body)]);

    trim_signature(&mut signature);
    signature
}

/// Returns the length of the head of a definition: up to a line of comment, or with `first_line` (the grammar
/// names no body) up to the first line end outside of parentheses.
fn head_length(head: &str, first_line: bool) -> usize {
    let mut depth = 0i32;

    for (at, byte) in head.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'\n' if depth <= 0 => {
                let rest = head[at..].trim_start();
                let is_comment = ["#", "//", "/*", "--", "%"].iter().any(|start| rest.starts_with(start));
                if first_line || is_comment {
                    return at;
                }
            }
            _ => {}
        }
    }

    head.len()
}

/// Removes the text that opens the body from the end of a signature.
fn trim_signature(signature: &mut String) {
    for end in ["{", ":", "=>", "=", " do", "->"] {
        let trimmed = signature.trim_end();
        let length = trimmed.strip_suffix(end).map_or(trimmed.len(), |rest| rest.trim_end().len());
        signature.truncate(length);
    }
}

/// Returns a written name without quotes, generic arguments and white space around it.
fn clean_name(written: &str) -> String {
    let written = written.trim();
    let written = written.trim_matches(|c| matches!(c, '"' | '\'' | '`')).trim_start_matches([':', '@', '$']);
    let written = written.trim_start_matches('(').trim_end_matches([')', ':', ' ']);
    let may_be_generic =
        written.starts_with(|c: char| c.is_alphabetic() || c == '_') && !written.contains("operator");

    let mut name = String::new();
    let mut depth = 0u32;
    for c in written.chars() {
        if name.len() >= MAX_NAME {
            break;
        }
        match c {
            '<' if may_be_generic => depth += 1,
            '>' if may_be_generic && depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            // The name of a method with its parameters ends here; `not(` begins a selector.
            '(' if may_be_generic && !written.starts_with("not(") && !written.contains(' ') => break,
            c if c.is_whitespace() => {
                if !name.ends_with(' ') {
                    name.push(' ');
                }
            }
            c if c.is_control() => {}
            c => name.push(c),
        }
    }

    name.truncate(name.trim_end().len());
    name
}

/// Splits a written name such as `A::b`, `M.x`, `exports.f` or `A.prototype.b` into its parts, without
/// meaningless qualifiers.
fn parts_of(written: &str) -> Vec<&str> {
    // An operator may consist of separators itself, so it stays whole.
    if let Some(at) = written.find("operator") {
        let (owner, operator) = written.split_at(at);
        if owner.is_empty() || owner.ends_with("::") {
            return owner.split("::").filter(|part| !part.is_empty()).chain([operator]).collect();
        }
    }

    let is_plain = written.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '~' | '#'));
    let is_separated = written.chars().all(|c| is_word_char(c) || matches!(c, ':' | '.' | '\\'));
    if !is_plain || !is_separated {
        return vec![written];
    }

    let parts: Vec<&str> =
        written.split([':', '.', '\\']).map(str::trim).filter(|part| !part.is_empty()).collect();
    let named: Vec<&str> = parts.iter().copied().filter(|part| !EMPTY_QUALIFIERS.contains(part)).collect();
    if named.is_empty() { parts } else { named }
}

/// Returns true for characters that may occur in a part of a name.
fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '?' | '!' | '~' | '-' | '\'' | '#' | ' ' | '*' | '=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cleaned_and_split() {
        assert_eq!(clean_name("\"build\""), "build");
        assert_eq!(clean_name("Map<K, V>"), "Map");
        assert_eq!(clean_name(":name"), "name");
        assert_eq!(parts_of("A::b"), ["A", "b"]);
        assert_eq!(parts_of("module.exports.x"), ["x"]);
        assert_eq!(parts_of("A.prototype.b"), ["A", "b"]);
        assert_eq!(parts_of("App\\Http\\Kernel"), ["App", "Http", "Kernel"]);
        assert_eq!(parts_of("operator=="), ["operator=="]);
        assert_eq!(parts_of("Shape::operator=="), ["Shape", "operator=="]);
        assert_eq!(parts_of("module.exports"), ["module", "exports"]);
    }

    #[test]
    fn signatures_lose_what_opens_the_body() {
        for (given, wanted) in
            [("fn a() {", "fn a()"), ("def a():", "def a()"), ("const f = (a) =>", "const f = (a)")]
        {
            let mut signature = given.to_owned();
            trim_signature(&mut signature);
            assert_eq!(signature, wanted);
        }
    }
}
