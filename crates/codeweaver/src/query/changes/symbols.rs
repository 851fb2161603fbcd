//! Definitions that differ between two versions of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use codeweaver_chunk::{LanguageId, Symbol, SymbolKind, chunk_blob};
use codeweaver_config::ChunkerSettings;
use codeweaver_git::BStr;

use super::Changes;
use super::files::FileChange;
use crate::query::error::QueryError;

/// Maximum size in bytes of a text whose definitions are compared.
const MAX_BYTES: usize = 2 << 20;

/// The kind of a change of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolChangeKind {
    Added,
    Removed,
    /// Its signature, and possibly its body.
    Signature,
    /// Its body only.
    Body,
}

impl SymbolChangeKind {
    /// The mark in compact answers.
    pub fn mark(self) -> char {
        match self {
            SymbolChangeKind::Added => '+',
            SymbolChangeKind::Removed => '-',
            SymbolChangeKind::Signature => '*',
            SymbolChangeKind::Body => '~',
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            SymbolChangeKind::Added => "added",
            SymbolChangeKind::Removed => "removed",
            SymbolChangeKind::Signature => "signature",
            SymbolChangeKind::Body => "body",
        }
    }
}

/// A definition that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolChange {
    pub qualified_name: String,
    pub kind: SymbolChangeKind,
    /// The first line of the definition in the newer version, or in the older one if it was removed.
    pub line: u32,
}

impl SymbolChange {
    fn new(definition: &Definition, kind: SymbolChangeKind) -> SymbolChange {
        SymbolChange { qualified_name: definition.qualified_name.clone(), kind, line: definition.lines.0 }
    }

    /// Order in an answer: by line, the removed definitions last.
    fn order(&self) -> (bool, u32, &str) {
        (self.kind == SymbolChangeKind::Removed, self.line, &self.qualified_name)
    }
}

/// A definition of one version.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub qualified_name: String,
    pub signature: String,
    pub lines: (u32, u32),
    kind: SymbolKind,
    /// Hash of its text without the definitions in it that are listed too.
    own_text: [u8; 32],
    range: Range<u32>,
}

impl Definition {
    /// Returns whether the last segments of its name are `wanted`.
    pub fn is_named(&self, wanted: &[&str]) -> bool {
        ends_with(&self.qualified_name, wanted)
    }

    /// Hash of its whole text.
    pub fn hash(&self, text: &[u8]) -> [u8; 32] {
        *blake3::hash(text.get(self.range.start as usize..self.range.end as usize).unwrap_or_default())
            .as_bytes()
    }
}

/// The segments of a qualified name in the notation of any language.
pub(super) fn name_segments(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', ':', '\\', '#', '/', ' ']).filter(|segment| !segment.is_empty())
}

/// Returns whether the last segments of a qualified name are `wanted`.
pub(super) fn ends_with(qualified_name: &str, wanted: &[&str]) -> bool {
    let own: Vec<&str> = name_segments(qualified_name).collect();
    own.len() >= wanted.len() && own[own.len() - wanted.len()..] == *wanted
}

/// The definitions of a text, in order.
pub(super) fn outline(text: &[u8], language: LanguageId, settings: &ChunkerSettings) -> Vec<Definition> {
    if text.is_empty() || text.len() > MAX_BYTES || language.is_prose() || language.is_data() {
        return Vec::new();
    }

    let mut symbols: Vec<Symbol> =
        chunk_blob(text, language, settings).chunks.into_iter().flat_map(|chunk| chunk.symbols).collect();
    // Of symbols with the same beginning, the one around the others comes first.
    symbols
        .sort_by(|a, b| (a.byte_range.start, b.byte_range.end).cmp(&(b.byte_range.start, a.byte_range.end)));
    symbols.dedup_by(|a, b| a.byte_range == b.byte_range && a.name == b.name);
    remove_parts(&mut symbols);

    let mut found: Vec<Definition> = Vec::new();
    for (at, symbol) in symbols.iter().enumerate() {
        found.push(Definition {
            qualified_name: symbol.qualified_name.clone(),
            signature: symbol.signature.clone(),
            lines: (symbol.line_span.start, symbol.line_span.end),
            kind: symbol.kind,
            own_text: own_text_hash(text, symbol, &symbols[at + 1..]),
            range: symbol.byte_range.clone(),
        });
    }
    found
}

/// Removes the symbols that are parts of others and not listed themselves: fields belong to the text of their
/// type, and what is defined in a function to the text of the function. A test may be a group of tests.
///
/// `symbols` are sorted by their beginning, those around others first.
fn remove_parts(symbols: &mut Vec<Symbol>) {
    let mut open: Vec<(Range<u32>, SymbolKind)> = Vec::new();
    symbols.retain(|symbol| {
        while open.last().is_some_and(|(range, _)| range.end <= symbol.byte_range.start) {
            open.pop();
        }

        let is_part = open.iter().any(|(_, outer)| match outer {
            SymbolKind::Test => symbol.kind != SymbolKind::Test,
            outer => outer.is_callable() || outer.has_members() && is_data(symbol.kind),
        });
        open.push((symbol.byte_range.clone(), symbol.kind));
        !is_part
    });
}

/// Hash of the text of `symbol` without that of the symbols in it. `after` are the symbols that follow it in
/// the list.
fn own_text_hash(text: &[u8], symbol: &Symbol, after: &[Symbol]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut from = symbol.byte_range.start;
    let inner = after.iter().take_while(|inner| inner.byte_range.start < symbol.byte_range.end);
    for inner in inner {
        if inner.byte_range.start >= from {
            // Blank space before an inner definition comes and goes with it.
            hasher.update(slice(text, from..inner.byte_range.start).trim_ascii_end());
            from = inner.byte_range.end;
        }
    }

    hasher.update(slice(text, from..symbol.byte_range.end));
    *hasher.finalize().as_bytes()
}

/// The bytes of `range`; empty if it exceeds the text.
fn slice(text: &[u8], range: Range<u32>) -> &[u8] {
    text.get(range.start as usize..range.end as usize).unwrap_or_default()
}

/// Returns whether a definition of this kind holds data and has no members.
fn is_data(kind: SymbolKind) -> bool {
    use SymbolKind as K;
    matches!(kind, K::Field | K::Property | K::EnumMember | K::Variable | K::Key)
}

/// The definitions that differ, in the order of the newer version, the removed ones last.
pub(super) fn compare(old: &[Definition], new: &[Definition]) -> Vec<SymbolChange> {
    // Definitions of one name (overloads, platforms) are compared in order, after those that are the same.
    type Pair<'d> = (Vec<&'d Definition>, Vec<&'d Definition>);
    let mut by_name: BTreeMap<(&str, u8), Pair<'_>> = BTreeMap::new();
    for (definitions, is_new) in [(old, false), (new, true)] {
        for definition in definitions {
            let pair = by_name.entry((&definition.qualified_name, definition.kind as u8)).or_default();
            if is_new { pair.1.push(definition) } else { pair.0.push(definition) }
        }
    }

    let mut changes = Vec::new();
    for (mut before, mut after) in by_name.into_values() {
        before.retain(|a| match after.iter().position(|b| b.own_text == a.own_text) {
            Some(at) => {
                after.remove(at);
                false
            }
            None => true,
        });

        let n_pairs = before.len().min(after.len());
        for (a, b) in before.iter().zip(&after) {
            let kind = match a.signature == b.signature {
                true => SymbolChangeKind::Body,
                false => SymbolChangeKind::Signature,
            };
            changes.push(SymbolChange::new(b, kind));
        }
        changes.extend(after[n_pairs..].iter().map(|b| SymbolChange::new(b, SymbolChangeKind::Added)));
        changes.extend(before[n_pairs..].iter().map(|a| SymbolChange::new(a, SymbolChangeKind::Removed)));
    }

    changes.sort_by(|a, b| a.order().cmp(&b.order()));
    one_of_each_name(changes, old)
}

/// Merges the changes of one name into one. Another overload is a change of the signature.
fn one_of_each_name(changes: Vec<SymbolChange>, old: &[Definition]) -> Vec<SymbolChange> {
    let existed: BTreeSet<&str> = old.iter().map(|definition| definition.qualified_name.as_str()).collect();
    let names: Vec<String> = changes.iter().map(|change| change.qualified_name.clone()).collect();

    let mut found: Vec<SymbolChange> = Vec::new();
    for mut change in changes {
        // The changed members of a type say that its body differs.
        if change.kind == SymbolChangeKind::Body
            && names.iter().any(|name| is_member_of(name, &change.qualified_name))
        {
            continue;
        }
        if change.kind == SymbolChangeKind::Added && existed.contains(change.qualified_name.as_str()) {
            change.kind = SymbolChangeKind::Signature;
        }

        match found.iter_mut().find(|known| known.qualified_name == change.qualified_name) {
            Some(known) if known.kind != change.kind => known.kind = SymbolChangeKind::Signature,
            Some(_) => {}
            None => found.push(change),
        }
    }
    found
}

/// Returns whether `name` is the qualified name of a member of the type called `outer`.
fn is_member_of(name: &str, outer: &str) -> bool {
    name.strip_prefix(outer).is_some_and(|rest| rest.starts_with(['.', ':', '#']))
}

impl Changes<'_> {
    /// The definitions of a file that differ; empty if its language has none, or if a side cannot be read.
    pub fn symbols(&mut self, file: &FileChange) -> Result<Vec<SymbolChange>, QueryError> {
        if file.skipped.is_some() {
            return Ok(Vec::new());
        }

        let (Some(old), Some(new)) = (self.contents.old(file)?, self.contents.new_text(file)?) else {
            return Ok(Vec::new());
        };

        let old = self.definitions(file.older_path(), &old);
        let new = self.definitions(file.path.as_ref(), &new);
        Ok(compare(&old, &new))
    }

    /// The definitions of a text at `path`.
    pub(super) fn definitions(&self, path: &BStr, text: &[u8]) -> Vec<Definition> {
        let language = self.contents.language(path, text);
        outline(text, language, &self.source.codebase.settings.chunker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(language: &str, old: &str, new: &str) -> String {
        let language = LanguageId::by_name(language).unwrap();
        let outline = |text: &str| outline(text.as_bytes(), language, &ChunkerSettings::default());
        let name = |change: &SymbolChange| format!("{}{}", change.kind.mark(), change.qualified_name);
        compare(&outline(old), &outline(new)).iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_the_innermost_definition_that_differs_is_named() {
        let old = "struct P { a: u32 }\n\nimpl P {\n    fn one(&self) -> u32 {\n        1\n    }\n\n    fn two(&self) {}\n}\n";
        let same = |new: String| changes("rust", old, &new);
        assert_eq!(same(old.to_owned()), "");
        assert_eq!(same(old.replace("        1\n", "        2\n")), "~P::one");
        assert_eq!(same(old.replace("-> u32", "-> u64")), "*P::one");
        assert_eq!(
            same(old.replace("    fn two(&self) {}\n", "    fn three(&self) {}\n")),
            "+P::three -P::two"
        );
        assert_eq!(same(old.replace("a: u32", "a: u64")), "~P", "a field is a part of its type");
        assert_eq!(same(format!("// A comment.\n\n{old}\nfn free() {{}}\n")), "+free");
    }

    #[test]
    fn a_class_is_not_changed_by_its_methods() {
        let old = "class A:\n    x = 1\n\n    def go(self):\n        return 1\n\n    def stay(self):\n        pass\n";
        assert_eq!(changes("python", old, &old.replace("return 1", "return 2")), "~A.go");
        assert_eq!(changes("python", old, &old.replace("x = 1", "x = 2")), "~A");
        assert_eq!(changes("python", old, ""), "-A -A.go -A.stay");
        let overload = "@overload\ndef f(a: int): ...\n\n@overload\ndef f(a: str): ...\n\ndef f(a):\n    def g(): pass\n    return a\n";
        assert_eq!(changes("python", "def f(a):\n    return a\n", overload), "*f");
        assert_eq!(changes("python", overload, &overload.replace("pass", "return 1")), "~f");
        assert_eq!(changes("markdown", "# One\n", "# Two\n"), "", "headings are no definitions");
    }
}
