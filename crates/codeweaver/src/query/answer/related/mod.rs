//! Related symbols: what has to do with the definition that answers a query.
//!
//! They are found by names, as the index has them: what the text of the definition calls, who mentions its
//! name, which types have the same base. The best matches of an answer have room for a few of each, so the
//! nearest are taken, and names that are common in the view are left out. Unlike [`codeweaver_xref`], nothing is
//! resolved by scopes and imports, and nothing is complete.
//!
//! * `symbols`: definitions and mentions of a name in a view.
//! * `mentions`: callers and tests.
//! * `words`: the names in a text.

mod mentions;
mod symbols;
mod words;

use super::texts::Texts;
use crate::query::definitions::kind_of;
use crate::query::error::QueryError;
use crate::query::view::{RowId, View};
use codeweaver_chunk::{SymbolKind, tokens};
use codeweaver_git::quoting;
use codeweaver_index::policy::PathFlags;
use codeweaver_store::symbols::SymbolRecord;
use symbols::{Found, Symbols};
use words::Calls;

/// Maximum number of related symbols of a match, and of most relations.
const MAX_RELATED: usize = 12;
const MAX_OF_RELATION: usize = 3;
/// Maximum number of callees, and of types that a definition names.
const MAX_CALLEES: usize = 4;
const MAX_TYPES: usize = 2;
/// A name with more definitions says too little about which one is meant.
const MAX_DEFINITIONS: usize = 3;
/// Length from which a name of several words is taken to mean the only definition that has it.
const SPECIFIC_BYTES: usize = 8;
/// Maximum number of names of a text that are looked up.
const MAX_NAMES: usize = 40;
/// Bytes of the text of a definition in which names are looked for.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// What a symbol has to do with the definition that answers a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(
    missing_docs,
    reason = "documented at the fields of `RelatedSymbol`: variants with documentation have another schema"
)]
pub enum Relation {
    Caller,
    Callee,
    Overrides,
    OverriddenBy,
    SameBase,
    Supertype,
    Subtype,
    Test,
    Type,
    Sibling,
}

/// A symbol that has to do with the definition that answers a query.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct RelatedSymbol {
    /// Qualified name.
    pub symbol: String,
    /// What it is to the definition: its `caller` or `callee`, a `test` that names it, what it `overrides` or
    /// is `overridden_by`, the same member of a type of the `same_base`, its `supertype` or `subtype`, a
    /// `type` that it names, or a `sibling`, which is the nearest of its kind in the same place.
    pub relation: Relation,
    /// Relative to the root of the repository.
    pub path: String,
    /// The first line.
    pub line: u32,
}

impl RelatedSymbol {
    /// Tokens of its place.
    pub(super) fn n_tokens(&self) -> u32 {
        tokens::count(&self.path) + 2
    }
}

/// A definition that answers, in a chunk of the file of an entry.
pub struct Focused {
    pub id: RowId,
    pub symbol: SymbolRecord,
    pub entry: u32,
}

/// Finds related symbols in a view.
pub struct Relations<'a> {
    symbols: Symbols<'a>,
}

impl<'a> Relations<'a> {
    pub fn new(view: &'a View) -> Relations<'a> {
        Relations { symbols: Symbols::new(view) }
    }

    /// The symbols that have to do with `focused`, at most twelve, callers first and siblings last.
    ///
    /// # Errors
    /// Those of reading blobs.
    pub fn of(&self, focused: &Focused, texts: &mut Texts<'_>) -> Result<Vec<RelatedSymbol>, QueryError> {
        let focus = self.symbols.found(focused.id, focused.symbol, focused.entry);
        let kind = kind_of(&focus.record);
        if !(kind.is_callable() || is_type(kind)) || focus.name.is_empty() {
            return Ok(Vec::new());
        }
        let mut list = List { focus: &focus, found: Vec::new() };
        let parent = self.symbols.around(&focus);
        let same_name = self.symbols.named(focus.name);
        let mentions = mentions::of(&self.symbols, &focus, same_name.as_deref(), texts)?;
        list.add(Relation::Caller, mentions.callers, MAX_OF_RELATION);
        let callees = self.callees(&focus, parent.as_ref(), texts)?;
        if is_type(kind) {
            self.add_types_around(&focus, &mut list);
        } else {
            list.add(Relation::Callee, callees.called, MAX_CALLEES);
        }
        if let Some(parent) = parent.as_ref().filter(|parent| !is_type(kind) && has_bases(parent)) {
            self.add_overriding(parent, same_name.unwrap_or_default(), &mut list);
        }
        list.add(Relation::Test, mentions.tests, MAX_OF_RELATION);
        list.add(Relation::Type, callees.types, MAX_TYPES);
        list.add(Relation::Sibling, self.siblings(&focus, parent.as_ref()), MAX_OF_RELATION);
        list.found.truncate(MAX_RELATED);
        Ok(list.found)
    }

    /// Definitions that the text of `focus`, which is in `parent`, calls, and types that it names, in the
    /// order of the text.
    fn callees(
        &self,
        focus: &Found<'a>,
        parent: Option<&Found<'a>>,
        texts: &mut Texts<'_>,
    ) -> Result<Callees<'a>, QueryError> {
        let Some(bytes) = texts.blob_of(focus.id)? else { return Ok(Callees::default()) };
        let (start, end) = (focus.record.start_byte as usize, focus.record.end_byte as usize);
        let text = bytes.get(start..end.min(start + MAX_TEXT_BYTES)).unwrap_or_default();
        let names = words::names(text, Calls::of(self.symbols.language_of(focus.id)));
        let own_types = parent.map(|parent| (parent.owner_name(), parent.bases(&self.symbols)));
        let is_of_own_type = |owner: &str| {
            own_types
                .as_ref()
                .is_some_and(|(own, bases)| owner == *own || bases.iter().any(|base| base == owner))
        };
        let is_meant = |it: &Found<'a>, n: usize, is_certain: bool| match self.symbols.around(it) {
            // A member is called on a value whose type is not known.
            Some(owner) if kind_of(&it.record).is_callable() => {
                let owner = owner.owner_name();
                let is_specific = n == 1 && it.name.len() >= SPECIFIC_BYTES && has_several_words(it.name);
                is_of_own_type(owner)
                    || (is_certain && (is_specific || words::mentions(text, owner).next().is_some()))
            }
            _ => is_certain || it.doc == focus.doc,
        };
        let nearest = |name: &str, is_certain: bool, fits: &dyn Fn(&Found<'a>) -> bool| {
            let mut all = self.symbols.named(name)?;
            all.retain(|it| fits(it) && (!it.is_aside() || focus.is_aside()));
            let is_here = |it: &Found<'_>| it.doc == focus.doc;
            if all.len() > MAX_DEFINITIONS && !all.iter().any(is_here) {
                return None;
            }
            let n = all.len();
            all.into_iter().filter(|it| is_meant(it, n, is_certain)).min_by_key(|it| it.distance(focus))
        };
        let is_callable = |it: &Found<'a>| kind_of(&it.record).is_callable();
        let is_other_type =
            |it: &Found<'a>| is_named_type(it) && parent.is_none_or(|parent| parent.owner_name() != it.name);
        let is_own = |name: &&str| *name != focus.name;
        let called = names.called.into_iter().filter(is_own).map(|name| (name, true));
        let called = called.chain(names.bare.into_iter().filter(is_own).map(|name| (name, false)));
        let types = names.types.into_iter().filter(is_own).take(MAX_NAMES);
        Ok(Callees {
            called: called
                .take(MAX_NAMES)
                .filter_map(|(name, is_certain)| nearest(name, is_certain, &is_callable))
                .collect(),
            types: types.filter_map(|name| nearest(name, true, &is_other_type)).collect(),
        })
    }

    /// Adds the types that the type `focus` is derived from, and those that are derived from it.
    fn add_types_around(&self, focus: &Found<'a>, list: &mut List<'_, 'a>) {
        // What an alias names is no base of it.
        let is_alias = |it: &Found<'a>| kind_of(&it.record) == SymbolKind::TypeAlias;
        if is_alias(focus) {
            return;
        }
        let supertypes = focus.bases(&self.symbols).into_iter().filter_map(|base| {
            let all = self.symbols.named(&base)?;
            all.into_iter().filter(is_named_type).min_by_key(|it| it.distance(focus))
        });
        list.add(Relation::Supertype, supertypes.collect(), MAX_OF_RELATION);
        let mut subtypes = self.symbols.types_that_mention(focus.name);
        subtypes.retain(|it| {
            it.name != focus.name && !is_alias(it) && it.is_derived_from(focus.name, &self.symbols)
        });
        subtypes.sort_by_key(|it| it.distance(focus));
        list.add(Relation::Subtype, subtypes, MAX_OF_RELATION);
    }

    /// Adds the members of `same_name` of types that `parent`, the type of the focus, is derived from, that
    /// are derived from it, or that have a base in common with it.
    fn add_overriding(&self, parent: &Found<'a>, same_name: Vec<Found<'a>>, list: &mut List<'_, 'a>) {
        let focus = list.focus;
        let bases = parent.bases(&self.symbols);
        let mut by_relation: [(Relation, Vec<Found<'a>>); 3] = [
            (Relation::Overrides, Vec::new()),
            (Relation::OverriddenBy, Vec::new()),
            (Relation::SameBase, Vec::new()),
        ];
        for other in same_name.into_iter().filter(|it| kind_of(&it.record).is_callable()) {
            let Some(theirs) = self.symbols.around(&other) else { continue };
            let of_theirs = theirs.bases(&self.symbols);
            let relation = match () {
                () if theirs.owner_name() == parent.owner_name() => continue,
                () if bases.iter().any(|base| base == theirs.owner_name()) => 0,
                () if of_theirs.iter().any(|base| base == parent.owner_name()) => 1,
                () if bases.iter().any(|base| of_theirs.contains(base)) => 2,
                () => continue,
            };
            by_relation[relation].1.push(other);
        }
        for (relation, mut found) in by_relation {
            found.sort_by_key(|it| it.distance(focus));
            list.add(relation, found, MAX_OF_RELATION);
        }
    }

    /// The definitions of the same kind beside `focus`: members of the same type, or of the same file. The
    /// nearest come first.
    fn siblings(&self, focus: &Found<'a>, parent: Option<&Found<'a>>) -> Vec<Found<'a>> {
        let is_beside = |it: &SymbolRecord| {
            let is_inside = parent.is_none_or(|parent| parent.contains(it));
            let is_other = it.start_byte >= focus.record.end_byte || it.end_byte <= focus.record.start_byte;
            is_inside
                && is_other
                && self.symbols.name_of(focus.id, it) != focus.name
                && it.nesting == focus.record.nesting
                && is_type(kind_of(it)) == is_type(kind_of(&focus.record))
                && (kind_of(it).is_callable() || is_type(kind_of(it)))
        };
        let mut siblings = self.symbols.near(focus, is_beside);
        siblings.sort_by_key(|it| it.record.start_byte.abs_diff(focus.record.start_byte));
        siblings
    }
}

/// What the text of a definition names.
#[derive(Default)]
struct Callees<'a> {
    called: Vec<Found<'a>>,
    types: Vec<Found<'a>>,
}

/// The related symbols of a focus, as they are collected.
struct List<'l, 'a> {
    focus: &'l Found<'a>,
    found: Vec<RelatedSymbol>,
}

impl<'a> List<'_, 'a> {
    /// Adds the first of `all` that are outside of the focus and not there yet, at most `most`.
    fn add(&mut self, relation: Relation, all: Vec<Found<'a>>, most: usize) {
        let mut n = 0;
        for it in all {
            let is_here = it.doc == self.focus.doc;
            let is_same = it.record.start_byte == self.focus.record.start_byte;
            let is_focus = is_here && (is_same || self.focus.contains(&it.record));
            let path = quoting::text(it.path);
            let is_known = |known: &RelatedSymbol| known.symbol == it.qualified && known.path == path;
            if n == most || is_focus || self.found.iter().any(is_known) {
                continue;
            }
            n += 1;
            let line = it.record.start_line;
            self.found.push(RelatedSymbol { symbol: it.qualified.to_owned(), relation, path, line });
        }
    }
}

/// Whether a definition of this kind is a type of its own.
fn is_type(kind: SymbolKind) -> bool {
    (kind.has_members() && kind != SymbolKind::Impl) || kind == SymbolKind::TypeAlias
}

/// Whether a definition is a type, and not one that belongs to another (`Iterator::Item`).
fn is_named_type(it: &Found<'_>) -> bool {
    match kind_of(&it.record) {
        SymbolKind::TypeAlias => it.qualified == it.name,
        kind => is_type(kind),
    }
}

/// Whether a name is made of several words.
fn has_several_words(name: &str) -> bool {
    let inner = name.trim_matches('_');
    let has_hump =
        inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    inner.contains('_') || has_hump
}

/// Whether a definition may be derived from others.
fn has_bases(parent: &Found<'_>) -> bool {
    kind_of(&parent.record).has_members()
}

/// Whether a file or a definition is a test.
fn is_test(flags: PathFlags, record: &SymbolRecord) -> bool {
    flags.contains(PathFlags::TEST) || kind_of(record) == SymbolKind::Test
}
