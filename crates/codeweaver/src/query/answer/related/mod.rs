//! Related symbols: symbols that are related to the definition that answers a query.
//!
//! They are found by names, as the index has them: the names that the text of the definition calls, the
//! definitions that mention its name, the types that have the same base. The best matches of an answer have
//! room for a few of each, so the nearest are taken, and names that are common in the view are left out.
//! Unlike `codeweaver_xref`, nothing is resolved by scopes and imports, and nothing is complete.
//!
//! * `symbols`: definitions and mentions of a name in a view.
//! * `mentions`: callers and tests.
//! * `words`: the names in a text.

mod mentions;
mod symbols;
mod words;

use codeweaver_chunk::SymbolKind;
use codeweaver_git::quoting;
use codeweaver_index::policy::PathFlags;
use codeweaver_store::symbols::SymbolRecord;

use super::texts::Texts;
use crate::query::definitions::kind_of;
use crate::query::error::QueryError;
use crate::query::response::{RelatedSymbol, Relation};
use crate::query::view::{RowId, View};
use symbols::{Found, Symbols};
use words::Calls;

/// Maximum number of related symbols of a match, and of most relations.
const MAX_RELATED: usize = 12;
const MAX_OF_RELATION: usize = 3;
/// Maximum number of callees, and of types that a definition names.
const MAX_CALLEES: usize = 4;
const MAX_TYPES: usize = 2;
/// Maximum number of definitions of a name. With more, the name says too little about which one is meant.
const MAX_DEFINITIONS: usize = 3;
/// Minimum length of a name of several words that is taken to mean the only definition that has it.
const SPECIFIC_BYTES: usize = 8;
/// Maximum number of names of a text that are looked up.
const MAX_NAMES: usize = 40;
/// Bytes of the text of a definition in which names are looked for.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// A definition that answers a query, in a chunk of the file of an entry.
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

    /// The symbols that are related to `focused`, at most twelve, callers first and siblings last.
    ///
    /// # Errors
    /// Those of reading blobs.
    pub fn find(&self, focused: &Focused, texts: &mut Texts<'_>) -> Result<Vec<RelatedSymbol>, QueryError> {
        let focus = self.symbols.found(focused.id, focused.symbol, focused.entry);
        let kind = kind_of(&focus.record);
        if !(kind.is_callable() || is_type(kind)) || focus.name.is_empty() {
            return Ok(Vec::new());
        }

        let mut list = List { focus: &focus, found: Vec::new() };
        let parent = self.symbols.around(&focus);
        let same_name = self.symbols.named(focus.name);

        let mentions = mentions::find(&self.symbols, &focus, same_name.as_deref(), texts)?;
        list.add(Relation::Caller, mentions.callers, MAX_OF_RELATION);

        let callees = self.callees(&focus, parent.as_ref(), texts)?;
        if is_type(kind) {
            self.add_types_around(&focus, &mut list);
        } else {
            list.add(Relation::Callee, callees.called, MAX_CALLEES);
        }

        // Only members of types override others or are overridden.
        if let Some(parent) = parent.as_ref().filter(|parent| !is_type(kind) && has_bases(parent)) {
            self.add_overriding(parent, same_name.unwrap_or_default(), &mut list);
        }

        list.add(Relation::Test, mentions.tests, MAX_OF_RELATION);
        list.add(Relation::Type, callees.types, MAX_TYPES);
        list.add(Relation::Sibling, self.siblings(&focus, parent.as_ref()), MAX_OF_RELATION);
        list.found.truncate(MAX_RELATED);
        Ok(list.found)
    }

    /// The definitions that the text of `focus`, which is in `parent`, calls, and the types that it names, in
    /// the order of the text.
    fn callees(
        &self,
        focus: &Found<'a>,
        parent: Option<&Found<'a>>,
        texts: &mut Texts<'_>,
    ) -> Result<Callees<'a>, QueryError> {
        let Some(bytes) = texts.blob_of(focus.id)? else { return Ok(Callees::default()) };
        let (start, end) = (focus.record.start_byte as usize, focus.record.end_byte as usize);
        let text = bytes.get(start..end.min(start + MAX_TEXT_BYTES)).unwrap_or_default();
        let mut names = words::names(text, Calls::for_language(self.symbols.language_of(focus.id)));
        for list in [&mut names.called, &mut names.bare, &mut names.types] {
            list.retain(|name| *name != focus.name);
        }

        let own_type = parent.map(|parent| (parent.owner_name(), parent.bases(&self.symbols)));
        let lookup = CalleeLookup { symbols: &self.symbols, focus, text, own_type };
        let called = names.called.into_iter().map(|name| (name, true));
        let called = called.chain(names.bare.into_iter().map(|name| (name, false)));

        let mut callees = Callees::default();
        for (name, is_certain) in called.take(MAX_NAMES) {
            callees.called.extend(lookup.nearest(name, is_certain, |it| kind_of(&it.record).is_callable()));
        }
        for name in names.types.into_iter().take(MAX_NAMES) {
            callees.types.extend(lookup.nearest(name, true, |it| {
                is_named_type(it) && parent.is_none_or(|parent| parent.owner_name() != it.name)
            }));
        }
        Ok(callees)
    }

    /// Adds the types that the type `focus` is derived from, and the types that are derived from it.
    fn add_types_around(&self, focus: &Found<'a>, list: &mut List<'_, 'a>) {
        // An alias is another name of a type, not derived from it.
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

    /// Adds the members among `same_name` of the types that `parent`, the type of the focus, is derived from,
    /// of the types that are derived from it, and of those that have a base in common with it.
    fn add_overriding(&self, parent: &Found<'a>, same_name: Vec<Found<'a>>, list: &mut List<'_, 'a>) {
        let focus = list.focus;
        let bases = parent.bases(&self.symbols);
        let mut by_relation: [(Relation, Vec<Found<'a>>); 3] = [
            (Relation::Overrides, Vec::new()),
            (Relation::OverriddenBy, Vec::new()),
            (Relation::SameBase, Vec::new()),
        ];

        for other in same_name.into_iter().filter(|it| kind_of(&it.record).is_callable()) {
            let Some(other_parent) = self.symbols.around(&other) else { continue };
            let other_bases = other_parent.bases(&self.symbols);
            // The closest relation is tested first, since several may hold.
            let relation = match () {
                () if other_parent.owner_name() == parent.owner_name() => continue,
                () if bases.iter().any(|base| base == other_parent.owner_name()) => 0,
                () if other_bases.iter().any(|base| base == parent.owner_name()) => 1,
                () if bases.iter().any(|base| other_bases.contains(base)) => 2,
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
        let mut siblings = self.symbols.near(focus, |it| self.is_sibling(focus, parent, it));
        siblings.sort_by_key(|it| it.record.start_byte.abs_diff(focus.record.start_byte));
        siblings
    }

    /// Returns whether `it`, a definition of the same file, is a sibling of `focus`, which is in `parent`.
    fn is_sibling(&self, focus: &Found<'a>, parent: Option<&Found<'a>>, it: &SymbolRecord) -> bool {
        let is_inside = parent.is_none_or(|parent| parent.contains(it));
        let is_other = it.start_byte >= focus.record.end_byte || it.end_byte <= focus.record.start_byte;

        is_inside
            && is_other
            && self.symbols.name_of(focus.id, it) != focus.name
            && it.nesting == focus.record.nesting
            && is_type(kind_of(it)) == is_type(kind_of(&focus.record))
            && (kind_of(it).is_callable() || is_type(kind_of(it)))
    }
}

/// The definitions that the text of a definition names.
#[derive(Default)]
struct Callees<'a> {
    called: Vec<Found<'a>>,
    types: Vec<Found<'a>>,
}

/// Looks up the definitions of the names in the text of a definition.
struct CalleeLookup<'s, 'a> {
    symbols: &'s Symbols<'a>,
    focus: &'s Found<'a>,
    /// The text of `focus`.
    text: &'s [u8],
    /// The name of the type that `focus` is a member of, and the names of the bases of that type.
    own_type: Option<(&'a str, Vec<String>)>,
}

impl<'a> CalleeLookup<'_, 'a> {
    /// The nearest definition called `name` that `fits` and is meant; `None` if too many have the name.
    /// `is_certain` is false for a name that may be that of a variable.
    fn nearest(&self, name: &str, is_certain: bool, fits: impl Fn(&Found<'a>) -> bool) -> Option<Found<'a>> {
        let mut all = self.symbols.named(name)?;
        all.retain(|it| fits(it) && (!it.is_aside() || self.focus.is_aside()));
        // A definition in the same file is near enough to be meant, however many others there are.
        if all.len() > MAX_DEFINITIONS && !all.iter().any(|it| it.doc == self.focus.doc) {
            return None;
        }

        let n = all.len();
        all.into_iter().filter(|it| self.is_meant(it, n, is_certain)).min_by_key(|it| it.distance(self.focus))
    }

    /// Returns whether the text means `it`, one of `n` definitions of its name.
    fn is_meant(&self, it: &Found<'a>, n: usize, is_certain: bool) -> bool {
        match self.symbols.around(it) {
            // A member is called on a value whose type is not known.
            Some(owner) if kind_of(&it.record).is_callable() => {
                let owner = owner.owner_name();
                let is_specific = n == 1 && it.name.len() >= SPECIFIC_BYTES && has_several_words(it.name);
                self.is_own_type(owner)
                    || (is_certain && (is_specific || words::mentions(self.text, owner).next().is_some()))
            }
            _ => is_certain || it.doc == self.focus.doc,
        }
    }

    /// Returns whether the type called `name` is that of the focus or one of its bases.
    fn is_own_type(&self, name: &str) -> bool {
        self.own_type
            .as_ref()
            .is_some_and(|(own, bases)| name == *own || bases.iter().any(|base| base == name))
    }
}

/// The related symbols of a focus, as they are collected.
struct List<'l, 'a> {
    focus: &'l Found<'a>,
    found: Vec<RelatedSymbol>,
}

impl<'a> List<'_, 'a> {
    /// Adds the first of `all` that are outside of the focus and not in the list yet, at most `most`.
    fn add(&mut self, relation: Relation, all: Vec<Found<'a>>, most: usize) {
        let mut n = 0;
        for it in all {
            let is_here = it.doc == self.focus.doc;
            let is_same = it.record.start_byte == self.focus.record.start_byte;
            let is_focus = is_here && (is_same || self.focus.contains(&it.record));
            let path = quoting::text(it.path);
            let is_known = self.found.iter().any(|known| known.symbol == it.qualified && known.path == path);
            if n == most || is_focus || is_known {
                continue;
            }

            n += 1;
            let line = it.record.start_line;
            self.found.push(RelatedSymbol { symbol: it.qualified.to_owned(), relation, path, line });
        }
    }
}

/// Returns whether a definition of this kind is a type of its own.
fn is_type(kind: SymbolKind) -> bool {
    (kind.has_members() && kind != SymbolKind::Impl) || kind == SymbolKind::TypeAlias
}

/// Returns whether a definition is a type that does not belong to another one (as `Iterator::Item` does).
fn is_named_type(it: &Found<'_>) -> bool {
    match kind_of(&it.record) {
        SymbolKind::TypeAlias => it.qualified == it.name,
        kind => is_type(kind),
    }
}

/// Returns whether a name is made of several words.
fn has_several_words(name: &str) -> bool {
    let inner = name.trim_matches('_');
    let has_hump =
        inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    inner.contains('_') || has_hump
}

/// Returns whether a definition is another name of a type.
fn is_alias(it: &Found<'_>) -> bool {
    kind_of(&it.record) == SymbolKind::TypeAlias
}

/// Returns whether a definition may be derived from others.
fn has_bases(parent: &Found<'_>) -> bool {
    kind_of(&parent.record).has_members()
}

/// Returns whether a file or a definition is a test.
fn is_test(flags: PathFlags, record: &SymbolRecord) -> bool {
    flags.contains(PathFlags::TEST) || kind_of(record) == SymbolKind::Test
}
