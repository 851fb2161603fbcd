//! Symbols without a definition of their own: other names of a definition, inherited members, and names that
//! files only use.

use std::collections::BTreeSet;

use codeweaver::query::QueryError;

use super::Walk;
use crate::definitions::{DefId, segments};
use crate::extract;
use crate::other_files;
use crate::response::{STANDS_FOR, UnlistedReason};
use crate::symbol_spec;
use crate::syntax_position::Position;

/// Maximum number of files that are read for one name.
const MAX_READ: usize = 300;

/// The name that is searched for if `symbol` has no definition; `None` for a location.
pub(super) fn name_of(symbol: &str) -> Option<&str> {
    segments(symbol).last().filter(|_| symbol_spec::parse_location(symbol).is_none())
}

impl Walk<'_, '_> {
    /// The definitions for which `symbol` stands, which has none of its own: it is exported or imported as
    /// another name of them, or inherited. Adds a warning that says so.
    pub(super) fn stood_for(&mut self, symbol: &str) -> Vec<DefId> {
        if symbol_spec::parse_location(symbol).is_some() {
            return Vec::new();
        }
        let Some(name) = segments(symbol).last() else { return Vec::new() };
        let owner = symbol.trim_end().strip_suffix(name).unwrap_or_default();
        let owner = owner.trim_end_matches(['.', ':', '\\', '#', '/', ' ']);

        let (found, how) = match owner.is_empty() {
            true => (self.renamed(name), "is another name of"),
            false => (self.inherited(owner, name), "is inherited:"),
        };
        if !found.is_empty() {
            let named: BTreeSet<String> =
                found.iter().filter_map(|&id| self.defs.with(id, |_, def| def.qualified.clone())).collect();
            let named: Vec<String> = named.into_iter().collect();
            self.answer.stands_for.push(format!("{STANDS_FOR}: {symbol} {how} {}", named.join(", ")));
        }
        found
    }

    /// The definitions that imports or exports call `alias`.
    fn renamed(&self, alias: &str) -> Vec<DefId> {
        let mut found = BTreeSet::new();
        for (entry, _) in self.defs.mentioning_outside(alias, "").into_iter().take(MAX_READ) {
            if self.sources.is_out_of_time() {
                break;
            }
            let Some(file) = self.defs.file(entry).filter(|file| file.dialect.is_some()) else { continue };
            let Some(facts) = self.sources.facts(&file) else { continue };
            found.extend(self.resolver.renamed(&file, &facts, alias));
        }
        self.in_order(found)
    }

    /// The members called `name` that the types called `owner` inherit.
    fn inherited(&self, owner: &str, name: &str) -> Vec<DefId> {
        let types = symbol_spec::find(owner, self.defs, self.paths);
        let types = types.into_iter().filter(|&id| self.defs.satisfies(id, |_, def| def.is_type()));
        let members: BTreeSet<DefId> = types.flat_map(|id| self.resolver.inherited(id, name)).collect();
        self.in_order(members)
    }

    fn in_order(&self, found: BTreeSet<DefId>) -> Vec<DefId> {
        let mut found: Vec<DefId> = found.into_iter().collect();
        found.sort_by_cached_key(|&id| {
            self.defs.with(id, |file, def| (file.path.clone(), def.range.start)).unwrap_or_default()
        });
        found
    }

    /// Adds the places that name `symbol`, which nothing in the index defines.
    pub(super) fn add_undefined(&mut self, symbol: &str) -> Result<(), QueryError> {
        let Some(name) = name_of(symbol) else { return Ok(()) };

        let files = self.defs.mentioning_outside(name, "");
        self.answer.candidate_files.extend(files.iter().map(|(entry, _)| *entry));
        let n_left = files.len().saturating_sub(MAX_READ);
        for (i, &(entry, language)) in files.iter().take(MAX_READ).enumerate() {
            if self.sources.is_out_of_time() {
                self.answer.unlisted.n_unchecked += files.len().min(MAX_READ) - i;
                break;
            }
            self.add_undefined_in(entry, language, name);
        }

        self.answer.unlisted.n_unchecked += n_left;
        self.left_out.add_all(name, &mut self.answer.unlisted)
    }

    /// Adds the places of one file that name `name`.
    fn add_undefined_in(&mut self, entry: u32, language: &str, name: &str) {
        let Some(file) = self.defs.file(entry) else { return };
        let Ok(Some(bytes)) = self.sources.bytes(&file.oid) else {
            self.answer.unlisted.n_unchecked += 1;
            return;
        };

        let found = &mut self.answer.unlisted;
        let Some(dialect) = file.dialect else {
            if other_files::may_use(language) {
                for line in other_files::lines_with(&bytes, language, name) {
                    found.add(UnlistedReason::OtherFile, &file.path, line);
                }
            }
            return;
        };

        let names = BTreeSet::from([name.to_owned()]);
        let Ok(places) = extract::occurrences_of(&bytes, dialect, &names, |_, _| true) else {
            found.n_unchecked += 1;
            return;
        };
        for place in places {
            let reason = match place.position {
                Position::Comment | Position::Prose => continue,
                Position::Literal => UnlistedReason::Literal,
                Position::Import => UnlistedReason::Import,
                Position::Name | Position::Taken | Position::Key | Position::Code => {
                    UnlistedReason::Unresolved
                }
            };
            found.add(reason, &file.path, place.line);
        }
    }
}
