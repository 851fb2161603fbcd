//! Members of types and of their bases.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::definitions::{Def, DefId, Definitions, FileDefs, segments};
use super::dialect::Modules;
use super::facts::Facts;
use super::resolution::Resolution;
use super::response::Grade;
use super::site::SiteContext;
use super::sources::Sources;
use codeweaver_chunk::SymbolKind;

/// Maximum number of bases above a type that are followed.
const MAX_BASES: usize = 32;

/// Resolves the name of a type at an offset of a file.
///
/// Members depend on bases, and bases are names that have to be resolved themselves. This trait is the one
/// place where a stage calls back into the resolver.
pub(super) trait TypeResolver {
    fn resolve_type_name(&self, file: &FileDefs, facts: &Facts, at: u32, name: &str) -> Resolution;
}

/// The resolved bases of types, cached for one request.
pub(super) type BaseCache = RefCell<FxHashMap<DefId, Vec<Resolution>>>;

/// The outcome of looking a member up in a type and its bases.
pub(super) enum MemberLookup {
    Found(Vec<DefId>),
    /// These, unless a base outside the repository overrides them.
    Uncertain(Vec<DefId>),
    /// Not in the repository, but a base is outside the repository.
    External,
    /// Not in a known base, but a base is not certain.
    Unknown,
    Missing,
}

/// Looks up types around a site, and their members.
#[derive(Clone, Copy)]
pub(super) struct TypeMembers<'r, 'a, 'v> {
    pub(super) defs: &'a Definitions<'v>,
    pub(super) sources: &'a Sources<'v>,
    pub(super) known_bases: &'r BaseCache,
    pub(super) resolver: &'r dyn TypeResolver,
}

impl TypeMembers<'_, '_, '_> {
    /// The type whose member contains the site.
    pub fn owner_at(&self, ctx: SiteContext<'_>) -> Option<DefId> {
        let file = ctx.file;
        let (scope, around) = file.around(ctx.site.at).find(|(_, def)| {
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
        // Defined outside its type: the type of that name in this file or in the package.
        let name = if around.kind == SymbolKind::Impl { around.name.as_str() } else { around.owner() };
        let last = segments(name).last()?.to_owned();
        let here: Vec<u32> = file.named(&last).filter(|(_, def)| def.is_type()).map(|(i, _)| i).collect();
        if let [only] = here[..] {
            return Some(file.id(only));
        }
        if here.is_empty() {
            return self
                .resolver
                .resolve_type_name(file, ctx.facts, around.range.start, &last)
                .proven()
                .or_else(|| {
                    let family = self.defs.named(&last, ctx.dialect.family);
                    let types: Vec<DefId> = family
                        .into_iter()
                        .filter(|&id| self.defs.with(id, |_, def| def.is_type()).unwrap_or(false))
                        .collect();
                    (types.len() == 1).then(|| types[0])
                });
        }
        None
    }

    /// Members of the type around the site, if its name is the last segment of `owner`.
    pub fn members_of_named(&self, owner: &str, ctx: SiteContext<'_>, name: &str) -> MemberLookup {
        let Some(id) = self.owner_at(ctx) else { return MemberLookup::Missing };
        let fits = self
            .defs
            .with(id, |_, def| segments(&def.qualified).last() == segments(owner).last())
            .unwrap_or(false);
        match self.defs.file(id.entry).filter(|_| fits) {
            Some(file) => self.members(&file, id.symbol, ctx, name),
            None => MemberLookup::Missing,
        }
    }

    /// Members of a type by name: its own, or else those of its bases, nearest first.
    pub fn members(&self, file: &FileDefs, of: u32, ctx: SiteContext<'_>, name: &str) -> MemberLookup {
        let own = self.own_members(file, of, ctx, name);
        if own.is_empty() { self.members_of_bases(file, of, ctx, name) } else { MemberLookup::Found(own) }
    }

    fn own_members(&self, file: &FileDefs, of: u32, ctx: SiteContext<'_>, name: &str) -> Vec<DefId> {
        let owner = file.def(of);
        let belongs =
            |def: &Def| def.parent == Some(of) || def.parent != Some(of) && def.owner() == owner.qualified;
        let here: Vec<DefId> = file
            .named(name)
            .filter(|(i, def)| *i != of && belongs(def) && ctx.accepts(def))
            .map(|(i, _)| file.id(i))
            .collect();
        let Some(dialect) = file.dialect.filter(|dialect| dialect.open_types) else { return here };
        // Without overloads, the members in this file are all there are.
        if !here.is_empty() && matches!(dialect.modules, Modules::Go | Modules::Rust) {
            return here;
        }
        // Members in other files count if the type they belong to is unambiguous.
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
                near && same && ctx.accepts(def)
            };
            self.defs.with(id, look).unwrap_or(false)
        });
        let mut all = here;
        all.extend(elsewhere);
        all.sort();
        all.dedup();
        all
    }

    /// Members of the bases of a type by name, of the nearest level that has any.
    pub fn members_of_bases(
        &self,
        file: &FileDefs,
        of: u32,
        ctx: SiteContext<'_>,
        name: &str,
    ) -> MemberLookup {
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
                                found.extend(self.own_members(&file, base.symbol, ctx, name));
                            }
                        }
                        Some(_) => {}
                    }
                }
            }
            if !found.is_empty() {
                let is_doubtful = outside || unknown;
                return if is_doubtful { MemberLookup::Uncertain(found) } else { MemberLookup::Found(found) };
            }
            level = next;
        }
        match (unknown, outside) {
            (true, _) => MemberLookup::Unknown,
            (false, true) => MemberLookup::External,
            (false, false) => MemberLookup::Missing,
        }
    }

    /// The resolved bases of a type, in the order written.
    fn bases(&self, id: DefId) -> Vec<Resolution> {
        if let Some(known) = self.known_bases.borrow().get(&id) {
            return known.clone();
        }
        // Breaks cycles: a type has no bases while they are being resolved.
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
        // Bases are resolved from outside the type, because its members are not in scope there.
        let outside = file.def(id.symbol).range.start.saturating_sub(1);
        written
            .iter()
            .filter(|(_, name)| !universal(name))
            .map(|(_, name)| self.resolver.resolve_type_name(&file, &facts, outside, name))
            .collect()
    }
}
