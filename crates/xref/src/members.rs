//! Members of types and of their bases.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use codeweaver_chunk::SymbolKind;

use super::definitions::{DefId, Definitions, FileDefs, segments};
use super::dialect::Modules;
use super::facts::Facts;
use super::resolution::Resolution;
use super::response::Grade;
use super::site::SiteContext;
use super::sources::Sources;

/// Maximum number of bases above a type that are followed.
pub(super) const MAX_BASES: usize = 32;

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
    /// These members, unless a base outside the repository overrides them.
    Uncertain(Vec<DefId>),
    /// There is none in the repository, but a base is outside the repository.
    External,
    /// There is none in a known base, but a base is not certain.
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

        // A member that is defined outside its type: the type of that name in this file or in the package.
        let name = if around.kind == SymbolKind::Impl { around.name.as_str() } else { around.owner() };
        let last = segments(name).last()?.to_owned();
        let here: Vec<u32> = file.named(&last).filter(|(_, def)| def.is_type()).map(|(i, _)| i).collect();

        if let [only] = here[..] {
            return Some(file.id(only));
        }

        if !here.is_empty() {
            return None;
        }

        let resolved = self.resolver.resolve_type_name(file, ctx.facts, around.range.start, &last);
        resolved.proven().or_else(|| {
            // Without a proof, the only type of that name counts.
            let mut types = self.defs.named(&last, ctx.dialect.family);
            types.retain(|&id| self.defs.satisfies(id, |_, def| def.is_type()));
            (types.len() == 1).then(|| types[0])
        })
    }

    /// Members of the type around the site, if its name is the last segment of `owner`.
    pub fn members_of_named(&self, owner: &str, ctx: SiteContext<'_>, name: &str) -> MemberLookup {
        let Some(id) = self.owner_at(ctx) else { return MemberLookup::Missing };
        let fits =
            self.defs.satisfies(id, |_, def| segments(&def.qualified).last() == segments(owner).last());

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

    /// Members that belong to the type itself, in this file or, if the language allows it, in others.
    fn own_members(&self, file: &FileDefs, of: u32, ctx: SiteContext<'_>, name: &str) -> Vec<DefId> {
        let owner = file.def(of);
        let here: Vec<DefId> = file
            .named(name)
            .filter(|(i, def)| *i != of && (def.parent == Some(of) || def.owner() == owner.qualified))
            .filter(|(_, def)| ctx.accepts(def))
            .map(|(i, _)| file.id(i))
            .collect();

        let Some(dialect) = file.dialect.filter(|dialect| dialect.open_types) else { return here };
        // Without overloads, the members in this file are all there are.
        if !here.is_empty() && matches!(dialect.modules, Modules::Go | Modules::Rust) {
            return here;
        }

        // Members in other files count if the type they belong to is unambiguous.
        let types = self.defs.named(&owner.name, dialect.family);
        let is_near =
            |other: &FileDefs| dialect.modules != Modules::Go || other.directory() == file.directory();
        let types =
            types.iter().filter(|&&id| self.defs.satisfies(id, |other, def| def.is_type() && is_near(other)));
        let partial = matches!(dialect.language, "csharp" | "ruby" | "swift");
        if types.count() > 1 && !partial {
            return here;
        }

        let mut elsewhere = self.defs.named(name, dialect.family);
        elsewhere.retain(|&id| {
            self.defs.satisfies(id, |other, def| {
                let is_same = segments(def.owner()).last() == Some(owner.name.as_str());
                is_near(other) && is_same && ctx.accepts(def)
            })
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

            // Members of a nearer base hide those of the bases above it.
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
    pub fn bases(&self, id: DefId) -> Vec<Resolution> {
        if let Some(cached) = self.known_bases.borrow().get(&id) {
            return cached.clone();
        }

        // Breaks cycles: a type has no bases while they are being resolved.
        self.known_bases.borrow_mut().insert(id, Vec::new());
        let bases = self.read_bases(id);
        self.known_bases.borrow_mut().insert(id, bases.clone());
        bases
    }

    /// Resolves the bases of a type as they are written.
    fn read_bases(&self, id: DefId) -> Vec<Resolution> {
        let Some(file) = self.defs.file(id.entry) else { return Vec::new() };
        let Some(facts) = self.sources.facts(&file) else { return vec![Resolution::unresolved("not read")] };

        // Bases are resolved from outside the type, because its members are not in scope there.
        let outside = file.def(id.symbol).range.start.saturating_sub(1);
        facts
            .bases
            .iter()
            .filter(|(at, _)| file.type_around(*at) == Some(id.symbol))
            .filter(|(_, name)| !matches!(&**name, "object" | "Object" | "Serializable" | "Cloneable"))
            .map(|(_, name)| self.resolver.resolve_type_name(&file, &facts, outside, name))
            .collect()
    }
}
