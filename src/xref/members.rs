//! What stands around a site: scopes, receivers, types and their bases.

use super::candidates::{allowed, named_in};
use super::definitions::{Def, DefId, FileDefs, segments};
use super::dialect::Modules;
use super::modules::Module;
use super::name_lookup::MAX_HOPS;
use super::resolver::{Evidence, NOT_IMPORTED, Place, Resolution, Resolver, innermost};
use super::response::Grade;
use crate::chunk::SymbolKind;

/// Bases above a type that are followed.
const MAX_BASES: usize = 32;

/// Members of a name in a type and its bases.
pub(super) enum Members {
    Found(Vec<DefId>),
    /// These, unless a base that is not in the repository comes before.
    Doubtful(Vec<DefId>),
    /// Nowhere here, but a base is not in the repository.
    Outside,
    /// Nowhere that is known, but it is not certain what a base is.
    Unknown,
    Missing,
}

impl Resolver<'_, '_> {
    /// Definitions in the scopes around a site, of the innermost scope that has any, and whether no base that is not known
    /// could have one too.
    pub(super) fn around(&self, place: Place<'_>, name: &str) -> (Vec<DefId>, bool) {
        let file = place.file;
        let mut is_certain = true;
        let mut in_type = false;
        for (scope, around) in file.around(place.site.at) {
            let local = |def: &Def| def.parent == Some(scope) && allowed(place, def);
            let mut here: Vec<DefId> = Vec::new();
            if around.kind.has_members() && place.dialect.bare_members {
                in_type = true;
                match self.members(file, scope, place, name) {
                    Members::Found(found) => here = found,
                    Members::Doubtful(found) => (here, is_certain) = (found, false),
                    Members::Outside | Members::Unknown => is_certain = false,
                    Members::Missing => {}
                }
                if place.facts.anonymous.iter().any(|range| range.contains(&place.site.at)) {
                    is_certain = false;
                }
            } else if !around.kind.has_members() {
                here = named_in(file, name).filter(|(_, def)| local(def)).map(|(i, _)| file.id(i)).collect();
                // A method that is defined outside of its type.
                if here.is_empty() && place.dialect.bare_members && !in_type && around.kind.is_callable() {
                    let owner = around.owner();
                    let in_parent = around.parent.map_or("", |parent| file.def(parent).qualified.as_str());
                    if !owner.is_empty() && owner != in_parent {
                        match self.members_of_named(owner, place, name) {
                            Members::Found(found) => here = found,
                            Members::Doubtful(found) => (here, is_certain) = (found, false),
                            Members::Outside | Members::Unknown => is_certain = false,
                            Members::Missing => {}
                        }
                    }
                }
                // A module of Rust sees nothing of what encloses it.
                let is_module = around.kind == SymbolKind::Module
                    || around.kind == SymbolKind::Test && !around.signature.contains("fn ");
                if here.is_empty() && is_module && place.dialect.modules == Modules::Rust {
                    return (Vec::new(), is_certain);
                }
            }
            if !here.is_empty() {
                return (here, is_certain);
            }
        }
        let free = |def: &Def| def.parent.is_none() && def.owner().is_empty() && allowed(place, def);
        let same_namespace = |def: &Def| {
            let Some(parent) = def.parent.map(|parent| file.def(parent)) else { return false };
            let reopened =
                |(_, other): (u32, &Def)| other.qualified == parent.qualified && other.kind == parent.kind;
            parent.kind == SymbolKind::Namespace
                && allowed(place, def)
                && file.around(place.site.at).any(reopened)
        };
        let top = named_in(file, name).filter(|(_, def)| free(def) || same_namespace(def));
        (top.map(|(i, _)| file.id(i)).collect(), is_certain)
    }

    /// `self.f`, `super().f`, and the same of fields: `self.a.f`.
    pub(super) fn through_self(&self, place: Place<'_>, receiver: &str) -> Option<Resolution> {
        let dialect = place.dialect;
        if dialect.supers.contains(&receiver) {
            // A type without a name has a base of its own, which is not read.
            if place.facts.anonymous.iter().any(|range| range.contains(&place.site.at)) {
                return Some(self.not_itself(place, self.unknown_receiver(place)));
            }
            let owner = self.owner_at(place)?;
            let found = self
                .defs
                .file(owner.entry)
                .map(|file| self.members_of_bases(&file, owner.symbol, place, &place.site.name));
            return Some(match found {
                Some(Members::Found(found)) => self.graded(place, found, "base of the enclosing type"),
                Some(Members::Doubtful(found)) => {
                    self.doubtful(place, self.graded(place, found, "base of the enclosing type"))
                }
                Some(Members::Outside) => Resolution::unresolved("a base outside of the repository"),
                _ => self.not_itself(place, self.unknown_receiver(place)),
            });
        }
        let is_self = dialect.selfs.contains(&receiver) || self.is_receiver(place, receiver);
        if !is_self {
            return None;
        }
        // In a function inside a method, `this` is something else.
        let callable = place.file.callable_around(place.site.at).map(|i| place.file.def(i));
        let rebound = dialect.modules == Modules::Script
            && callable.is_some_and(|def| def.kind == SymbolKind::Function);
        let anonymous = place.facts.anonymous.iter().any(|range| range.contains(&place.site.at));
        if rebound || anonymous {
            return Some(self.unknown_receiver(place));
        }
        let owner = self.owner_at(place)?;
        Some(self.member_of(place, owner, "member of the enclosing type"))
    }

    /// What a base is asked for is never the member that asks.
    fn not_itself(&self, place: Place<'_>, mut found: Resolution) -> Resolution {
        let around = place.file.callable_around(place.site.at).map(|symbol| place.file.id(symbol));
        found.targets.retain(|target| Some(*target) != around);
        match found.targets.len() {
            0 => Resolution::unresolved("a base outside of the repository"),
            _ => found,
        }
    }

    /// A receiver that is a value with a declared type.
    pub(super) fn through_value(&self, place: Place<'_>, parts: &[&str]) -> Option<Resolution> {
        let first = *parts.first()?;
        let (file, facts, at) = (place.file, place.facts, place.site.at);
        let field = |name: &str, owner: Option<u32>| {
            let of_type = |field: &&super::facts::Field| {
                &*field.name == name && (owner.is_none() || file.type_around(field.at) == owner)
            };
            let mut types: Vec<&str> =
                facts.fields.iter().filter(of_type).map(|field| &*field.type_name).collect();
            types.dedup();
            (types.len() == 1).then(|| (types[0].to_owned(), at))
        };
        let is_self = place.dialect.selfs.contains(&first) || self.is_receiver(place, first);
        let owner = || self.owner_at(place).filter(|id| id.entry == file.entry).map(|id| id.symbol);
        let bound = innermost(facts, first, at);
        let declared = match (parts.len(), bound) {
            (2, _) if is_self => field(parts[1], Some(owner()?)),
            (1, Some(binding)) => {
                let same = |other: &&super::facts::Binding| {
                    other.name == binding.name && other.reach == binding.reach
                };
                let all: Vec<_> = facts.bindings.iter().filter(same).collect();
                let agree = all.iter().all(|other| other.type_name == binding.type_name);
                binding.type_name.clone().filter(|_| agree).map(|name| (name.into_string(), binding.at))
            }
            (1, None) if place.dialect.bare_members => field(first, Some(owner()?)),
            _ => None,
        };
        let is_local = bound.is_some_and(|binding| binding.reach.is_some());
        let is_made = bound.is_some_and(|binding| binding.by_call);
        let Some((type_name, declared_at)) = declared else {
            let known = bound.is_some_and(|binding| binding.reach.is_none()) && self.is_import(place, first);
            return (is_local && !known).then(|| self.unknown_receiver(place));
        };
        let type_of = self.type_named(file, facts, declared_at, &type_name);
        Some(match (type_of.proven(), type_of.evidence) {
            (Some(id), _) => self.member_of(place, id, "declared type of the receiver"),
            (None, "imported from a library") => Resolution::unresolved("the receiver is of a library"),
            (None, NOT_IMPORTED) if !is_made && is_of_language(place, &type_name) => {
                Resolution::unresolved("the receiver is of the language's own library")
            }
            _ => self.unknown_receiver(place),
        })
    }

    /// A receiver that is the name of a module or a type.
    pub(super) fn through_name(&self, place: Place<'_>, receiver: &str) -> (Evidence, &'static str) {
        let name = &*place.site.name;
        if place.dialect.modules == Modules::Script && matches!(receiver, "exports" | "module.exports") {
            return (self.in_files(place, &[place.file.entry], name, MAX_HOPS), "export of this file");
        }
        match place.dialect.modules {
            Modules::Python | Modules::Script => match self.module_behind(place, receiver) {
                Some((Module::Files(files), rest)) => {
                    let found = self.inside(place, &files, &rest, name);
                    return (found, "import of the module");
                }
                Some((Module::External, _)) => return (Evidence::Outside, "imported from a library"),
                _ => {}
            },
            Modules::Go => match self.go_package_named(place, receiver) {
                Some(Module::Files(files)) => {
                    return (self.in_files(place, &files, name, 0), "import of the package");
                }
                Some(Module::External) => return (Evidence::Outside, "imported from a library"),
                _ => {}
            },
            Modules::Rust => {
                let found = self.rust_path(place, receiver, name);
                match found {
                    Evidence::Found(_) => return (found, "path"),
                    Evidence::Outside => return (found, "imported from a library"),
                    Evidence::Nothing => {}
                }
            }
            _ => {}
        }
        let type_of = self.type_named(place.file, place.facts, place.site.at, receiver);
        let Some(id) = type_of.proven() else {
            let outside = type_of.evidence == "imported from a library";
            return (if outside { Evidence::Outside } else { Evidence::Nothing }, "imported from a library");
        };
        // `Type.new` makes one.
        if name == "new" && place.dialect.language == "ruby" {
            return (Evidence::Found(self.ruby_constructor(id)), "constructor of the type");
        }
        let Some(file) = self.defs.file(id.entry) else { return (Evidence::Nothing, "") };
        match self.members(&file, id.symbol, place, name) {
            Members::Found(found) | Members::Doubtful(found) => {
                (Evidence::Found(found), "member of the named type")
            }
            Members::Outside => (Evidence::Outside, "a base outside of the repository"),
            Members::Missing | Members::Unknown => (Evidence::Nothing, ""),
        }
    }

    fn ruby_constructor(&self, id: DefId) -> Vec<DefId> {
        let file = self.defs.file(id.entry);
        let own = file.map(|file| self.constructors(&file, id.symbol)).unwrap_or_default();
        if own.is_empty() { vec![id] } else { own }
    }

    fn member_of(&self, place: Place<'_>, owner: DefId, evidence: &'static str) -> Resolution {
        let Some(file) = self.defs.file(owner.entry) else { return self.unknown_receiver(place) };
        match self.members(&file, owner.symbol, place, &place.site.name) {
            Members::Found(found) => self.graded(place, found, evidence),
            Members::Doubtful(found) => self.doubtful(place, self.graded(place, found, evidence)),
            Members::Outside => Resolution::unresolved("a base outside of the repository"),
            Members::Missing | Members::Unknown => self.unknown_receiver(place),
        }
    }

    /// True if `name` stands for the object in the method around the site.
    fn is_receiver(&self, place: Place<'_>, name: &str) -> bool {
        let Some(callable) = place.file.callable_around(place.site.at).map(|i| place.file.def(i)) else {
            return false;
        };
        place.facts.selfs.iter().any(|(at, receiver)| &**receiver == name && callable.range.contains(at))
    }

    /// The type whose member the site is in.
    fn owner_at(&self, place: Place<'_>) -> Option<DefId> {
        let file = place.file;
        let (scope, around) = file.around(place.site.at).find(|(_, def)| {
            def.kind.has_members()
                || def.kind.is_callable() && !def.owner().is_empty() && def.parent.is_none()
                || def.kind.is_callable()
                    && def.parent.is_some_and(|parent| {
                        matches!(file.def(parent).kind, SymbolKind::Namespace | SymbolKind::Module)
                            && file.def(parent).qualified != def.owner()
                    })
        })?;
        if around.kind.has_members() && around.kind != SymbolKind::Impl {
            return Some(file.id(scope));
        }
        // Outside of its type: the type is the one of that name, here or in the package.
        let name = if around.kind == SymbolKind::Impl { around.name.as_str() } else { around.owner() };
        let last = segments(name).last()?.to_owned();
        let here: Vec<u32> = named_in(file, &last).filter(|(_, def)| def.is_type()).map(|(i, _)| i).collect();
        if let [only] = here[..] {
            return Some(file.id(only));
        }
        if here.is_empty() {
            return self.type_named(file, place.facts, around.range.start, &last).proven().or_else(|| {
                let family = self.defs.named(&last, place.dialect.family);
                let types: Vec<DefId> = family
                    .into_iter()
                    .filter(|&id| self.defs.with(id, |_, def| def.is_type()).unwrap_or(false))
                    .collect();
                (types.len() == 1).then(|| types[0])
            });
        }
        None
    }

    fn members_of_named(&self, owner: &str, place: Place<'_>, name: &str) -> Members {
        let Some(id) = self.owner_at(place) else { return Members::Missing };
        let fits = self
            .defs
            .with(id, |_, def| segments(&def.qualified).last() == segments(owner).last())
            .unwrap_or(false);
        match self.defs.file(id.entry).filter(|_| fits) {
            Some(file) => self.members(&file, id.symbol, place, name),
            None => Members::Missing,
        }
    }

    /// Members of a type by name: its own, else those of its bases, nearest first.
    pub(super) fn members(&self, file: &FileDefs, of: u32, place: Place<'_>, name: &str) -> Members {
        let own = self.own_members(file, of, place, name);
        if own.is_empty() { self.members_of_bases(file, of, place, name) } else { Members::Found(own) }
    }

    fn own_members(&self, file: &FileDefs, of: u32, place: Place<'_>, name: &str) -> Vec<DefId> {
        let owner = file.def(of);
        let belongs =
            |def: &Def| def.parent == Some(of) || def.parent != Some(of) && def.owner() == owner.qualified;
        let here: Vec<DefId> = named_in(file, name)
            .filter(|(i, def)| *i != of && belongs(def) && allowed(place, def))
            .map(|(i, _)| file.id(i))
            .collect();
        let Some(dialect) = file.dialect.filter(|dialect| dialect.open_types) else { return here };
        // Where there are no overloads, what is here is all.
        if !here.is_empty() && matches!(dialect.modules, Modules::Go | Modules::Rust) {
            return here;
        }
        // Its members may be elsewhere, if it is clear whose they are.
        let types = self.defs.named(&owner.name, dialect.family);
        let of_name = |id: &&DefId| {
            self.defs
                .with(**id, |other, def| {
                    def.is_type() && (dialect.modules != Modules::Go || other.directory() == file.directory())
                })
                .unwrap_or(false)
        };
        let partial = matches!(dialect.language, "csharp" | "ruby" | "swift");
        if types.iter().filter(of_name).count() > 1 && !partial {
            return here;
        }
        let elsewhere = self.defs.named(name, dialect.family).into_iter().filter(|&id| {
            let look = |other: &FileDefs, def: &Def| {
                let near = dialect.modules != Modules::Go || other.directory() == file.directory();
                let same = segments(def.owner()).last() == Some(owner.name.as_str());
                near && same && allowed(place, def)
            };
            self.defs.with(id, look).unwrap_or(false)
        });
        let mut all = here;
        all.extend(elsewhere);
        all.sort();
        all.dedup();
        all
    }

    fn members_of_bases(&self, file: &FileDefs, of: u32, place: Place<'_>, name: &str) -> Members {
        let mut level = vec![DefId { entry: file.entry, symbol: of }];
        let mut seen = level.clone();
        let (mut outside, mut unknown) = (false, false);
        while !level.is_empty() && seen.len() < MAX_BASES {
            let mut next = Vec::new();
            let mut found = Vec::new();
            for id in level {
                for base in self.bases(id) {
                    match base.proven() {
                        None if base.grade == Grade::Unresolved => outside = true,
                        None => unknown = true,
                        Some(base) if !seen.contains(&base) => {
                            seen.push(base);
                            next.push(base);
                            if let Some(file) = self.defs.file(base.entry) {
                                found.extend(self.own_members(&file, base.symbol, place, name));
                            }
                        }
                        Some(_) => {}
                    }
                }
            }
            if !found.is_empty() {
                let is_doubtful = outside || unknown;
                return if is_doubtful { Members::Doubtful(found) } else { Members::Found(found) };
            }
            level = next;
        }
        match (unknown, outside) {
            (true, _) => Members::Unknown,
            (false, true) => Members::Outside,
            (false, false) => Members::Missing,
        }
    }

    /// What the bases of a type mean, as written.
    fn bases(&self, id: DefId) -> Vec<Resolution> {
        if let Some(known) = self.known_bases.borrow().get(&id) {
            return known.clone();
        }
        // A type whose bases lead back to it has none while they are looked up.
        self.known_bases.borrow_mut().insert(id, Vec::new());
        let bases = self.read_bases(id);
        self.known_bases.borrow_mut().insert(id, bases.clone());
        bases
    }

    fn read_bases(&self, id: DefId) -> Vec<Resolution> {
        let Some(file) = self.defs.file(id.entry) else { return Vec::new() };
        let Some(facts) = self.sources.facts(&file) else { return vec![Resolution::unresolved("not read")] };
        let of_type = |at: u32| file.type_around(at) == Some(id.symbol);
        let written: Vec<(u32, String)> = facts
            .bases
            .iter()
            .filter(|(at, _)| of_type(*at))
            .map(|(at, name)| (*at, name.to_string()))
            .collect();
        let universal = |name: &str| matches!(name, "object" | "Object" | "Serializable" | "Cloneable");
        // They are looked up from outside of the type: its members do not count.
        let outside = file.def(id.symbol).range.start.saturating_sub(1);
        written
            .iter()
            .filter(|(_, name)| !universal(name))
            .map(|(_, name)| self.type_named(&file, &facts, outside, name))
            .collect()
    }
}

/// Whether a type that a file neither defines nor imports can only be one that the language brings along: not where a
/// wildcard may have brought it, and not if it is a parameter of something generic.
fn is_of_language(place: Place<'_>, name: &str) -> bool {
    let certain = matches!(place.dialect.language, "java" | "kotlin" | "go" | "python" | "rust")
        || place.dialect.modules == Modules::Script;
    let is_java = matches!(place.dialect.language, "java" | "kotlin");
    let wildcard = !is_java && place.facts.imports.iter().any(|import| import.all);
    certain && !wildcard && !is_parameter(place, name)
}

/// Whether `name` looks like a parameter: it is short or in capitals, or a bound follows it.
fn is_parameter(place: Place<'_>, name: &str) -> bool {
    let is_loud = !name.chars().any(char::is_lowercase);
    let is_t = name.starts_with('T') && name[1..].starts_with(char::is_uppercase);
    let text = &place.facts.text;
    let is_bound = |(at, _): (usize, &str)| {
        let rest = text[at + name.len()..].trim_start();
        match place.dialect.modules {
            Modules::Rust => rest.starts_with(':') && !rest.starts_with("::"),
            Modules::Script => rest.starts_with("extends "),
            _ => false,
        }
    };
    is_loud || is_t || text.match_indices(name).any(is_bound)
}
