//! Resolves a reference to the definitions it may mean, with a grade.
//!
//! Evidence is tried from the strongest to the weakest: the scopes around the site, imports, the package.
//! Where a language requires names to be imported, a name that is not imported does not refer to another
//! file, even if a file defines that name. Definitions are counted by name only where no evidence decides.

use std::cell::Cell;

use super::candidates::CandidateFilter;
use super::definitions::{DefId, Definitions, FileDefs, segments};
use super::dialect::Modules;
use super::facts::{Facts, Form, Import, Reference};
use super::grading::Grader;
use super::linkage::Linkage;
use super::members::{BaseCache, MemberLookup, TypeMembers, TypeResolver};
use super::modules::Paths;
use super::name_lookup::NameLookup;
use super::receivers::Receivers;
use super::resolution::{FROM_LIBRARY, GLOBAL, LOCAL_VALUE, Lookup, NOT_IMPORTED, Resolution};
use super::response::Grade;
use super::scopes;
use super::site::SiteContext;
use super::sources::Sources;

/// Operators of C and C++ that are written like calls. Macros around them make the parser report definitions.
const C_OPERATORS: &[&str] = &[
    "alignas",
    "alignof",
    "decltype",
    "defined",
    "noexcept",
    "offsetof",
    "requires",
    "sizeof",
    "static_assert",
    "typeid",
    "_Static_assert",
];
/// Maximum number of names resolved on the way to one reference.
const MAX_DEPTH: u32 = 12;

/// Resolves references of one view. Holds the caches of one request.
pub(crate) struct Resolver<'a, 'v> {
    defs: &'a Definitions<'v>,
    sources: &'a Sources<'v>,
    names: NameLookup<'a, 'v>,
    grader: Grader<'a, 'v>,
    linkage: Linkage<'a, 'v>,
    /// The number of nested resolutions in progress.
    depth: Cell<u32>,
    known_bases: BaseCache,
}

impl<'a, 'v> Resolver<'a, 'v> {
    pub fn new(filter: CandidateFilter<'a, 'v>, paths: &'a Paths<'v>) -> Resolver<'a, 'v> {
        let CandidateFilter { defs, sources } = filter;
        let names = NameLookup::new(defs, sources, paths);

        Resolver {
            defs,
            sources,
            names,
            grader: Grader::new(filter, names),
            linkage: Linkage::new(filter, paths),
            depth: Cell::new(0),
            known_bases: BaseCache::default(),
        }
    }

    /// Resolves a reference; `None` if it is neither a call nor a mention of a definition.
    pub fn resolve(&self, file: &FileDefs, facts: &Facts, site: &Reference) -> Option<Resolution> {
        let dialect = file.dialect?;
        if dialect.family == "c" && C_OPERATORS.contains(&&*site.name) {
            return None;
        }

        // Names can depend on each other in cycles.
        if self.depth.get() >= MAX_DEPTH {
            return Some(Resolution::unresolved("too many names to follow"));
        }

        self.depth.set(self.depth.get() + 1);

        let ctx = SiteContext { file, facts, dialect, site };
        let resolution = match &site.receiver {
            Some(receiver) => Some(self.resolve_qualified(ctx, receiver)),
            None if site.form == Form::Member => Some(self.grader.by_member_name(ctx)),
            None => self.resolve_unqualified(ctx),
        };

        self.depth.set(self.depth.get() - 1);
        resolution
    }

    /// The definitions that an import or a list of exports of `file` gives the name `alias`.
    pub fn renamed(&self, file: &FileDefs, facts: &Facts, alias: &str) -> Vec<DefId> {
        let Some(dialect) = file.dialect else { return Vec::new() };
        let named = |import: &&Import| import.alias.as_deref() == Some(alias);
        let Some(import) = facts.imports.iter().find(named) else { return Vec::new() };

        let name = alias.into();
        let site =
            Reference { at: import.at, line: 0, name, form: Form::Mention, receiver: None, arguments: None };
        let ctx = SiteContext { file, facts, dialect, site: &site };
        for found in [self.names.imported(ctx, alias), self.names.exported(ctx, &[file.entry], alias, 0)] {
            if let Lookup::Found(targets) = found {
                return targets;
            }
        }
        Vec::new()
    }

    /// The members called `name` that the type `of` has from its bases.
    pub fn inherited(&self, of: DefId, name: &str) -> Vec<DefId> {
        let Some(file) = self.defs.file(of.entry) else { return Vec::new() };
        let (Some(dialect), Some(facts)) = (file.dialect, self.sources.facts(&file)) else {
            return Vec::new();
        };

        let site = Reference {
            name: name.into(),
            form: Form::Mention,
            ..Reference::to_definition(file.def(of.symbol))
        };
        let ctx = SiteContext { file: &file, facts: &facts, dialect, site: &site };
        match self.types().members_of_bases(&file, of.symbol, ctx, name) {
            MemberLookup::Found(members) | MemberLookup::Uncertain(members) => members,
            MemberLookup::External | MemberLookup::Unknown | MemberLookup::Missing => Vec::new(),
        }
    }

    pub fn types(&self) -> TypeMembers<'_, 'a, 'v> {
        TypeMembers { defs: self.defs, sources: self.sources, known_bases: &self.known_bases, resolver: self }
    }

    fn receivers(&self) -> Receivers<'_, 'a, 'v> {
        Receivers { types: self.types(), names: self.names, grader: &self.grader }
    }

    /// Resolves a name without a receiver.
    fn resolve_unqualified(&self, ctx: SiteContext<'_>) -> Option<Resolution> {
        let name = &*ctx.site.name;

        // In Java, methods and values have separate namespaces, so a value never shadows a method.
        let is_method = ctx.dialect.language == "java" && ctx.site.form == Form::Bare;
        if let Some(binding) = scopes::local_binding(ctx).filter(|_| !is_method) {
            let local = scopes::local_definition(ctx, binding);
            return match local {
                Some(symbol) => Some(self.grader.grade_proven(ctx, vec![ctx.file.id(symbol)], "same scope")),
                None if ctx.site.form == Form::Word => None,
                None => Some(Resolution::unresolved(LOCAL_VALUE)),
            };
        }

        if let Some(resolution) = self.linkage.resolve(ctx) {
            // A word without a definition is taken for a variable, not for a call.
            let is_known = ctx.site.form != Form::Word || resolution.grade != Grade::Unresolved;
            return is_known.then_some(resolution);
        }

        let (around, is_certain) = scopes::enclosing_definitions(self.types(), ctx, name);
        // `const f = require(…)` defines a value here, but the import leads to the definition.
        let are_values = around.iter().all(|&id| self.defs.satisfies(id, |_, def| def.is_value()));
        let is_required = ctx.dialect.modules == Modules::Script && !around.is_empty() && are_values;
        let required = if is_required { self.names.imported(ctx, name) } else { Lookup::Undecided };
        if !around.is_empty() && required == Lookup::Undecided {
            let found = self.grader.grade_proven(ctx, around, "same scope");
            return Some(if is_certain { found } else { self.grader.downgrade(ctx, found) });
        }

        match self.names.imported(ctx, name) {
            Lookup::Found(targets) => return Some(self.grader.grade_proven(ctx, targets, "import")),
            Lookup::External => return Some(Resolution::unresolved(FROM_LIBRARY)),
            Lookup::Undecided => {}
        }
        match self.names.same_package(ctx, name) {
            Lookup::Found(targets) if !targets.is_empty() => {
                // Without a receiver before it, a member of an implicit one comes before an extension.
                let is_certain = is_certain && !self.has_extension(&targets);
                let found = self.grader.grade_proven(ctx, targets, "same package");
                return Some(if is_certain { found } else { self.grader.downgrade(ctx, found) });
            }
            _ => {}
        }
        match self.names.wildcard_imported(ctx, name) {
            Lookup::Found(targets) if !targets.is_empty() => {
                let is_certain = !self.has_extension(&targets);
                let found = self.grader.grade_proven(ctx, targets, "wildcard import");
                return Some(if is_certain { found } else { self.grader.downgrade(ctx, found) });
            }
            _ => {}
        }

        let is_global = ctx.site.form == Form::Macro;
        let scripts = ctx.dialect.modules == Modules::Script && ctx.facts.imports.is_empty();
        // An import whose module is not decidable may refer to the repository.
        let from_somewhere = self.names.is_imported(ctx, name);
        if ctx.dialect.requires_imports && !is_global && !scripts && !from_somewhere {
            if let Some(found) = self.of_implicit_receiver(ctx) {
                return Some(found);
            }
            return (ctx.site.form != Form::Word).then(|| Resolution::unresolved(NOT_IMPORTED));
        }

        let found = self.grader.by_name(ctx);
        (ctx.site.form != Form::Word || found.grade != Grade::Unresolved).then_some(found)
    }

    /// The members that an unqualified call of Kotlin may mean: a lambda can have a receiver, whose members
    /// need no name before them.
    fn of_implicit_receiver(&self, ctx: SiteContext<'_>) -> Option<Resolution> {
        if ctx.dialect.language != "kotlin" || ctx.site.form != Form::Bare {
            return None;
        }

        let found = self.grader.by_member_name(ctx);
        let is_found = found.grade != Grade::Unresolved;
        is_found.then_some(Resolution {
            grade: Grade::Ambiguous,
            evidence: "a member of an implicit receiver",
            ..found
        })
    }

    /// Resolves a name behind a receiver.
    fn resolve_qualified(&self, ctx: SiteContext<'_>, receiver: &str) -> Resolution {
        if receiver.is_empty() {
            return self.grader.by_member_name(ctx);
        }
        if let Some(resolution) = self.receivers().through_self(ctx, receiver) {
            return resolution;
        }

        let parts: Vec<&str> = receiver
            .split(['.', '>', '?', '!'])
            .map(|part| part.trim_matches(['-', '&', '*']))
            .filter(|p| !p.is_empty())
            .collect();

        if let Some(resolution) = self.receivers().through_value(ctx, &parts) {
            return resolution;
        }

        if let Lookup::Found(targets) = self.names.php_qualified(ctx, receiver) {
            return self.grader.grade_proven(ctx, targets, "full name");
        }

        match self.receivers().through_name(ctx, receiver) {
            (Lookup::Found(targets), how) if !targets.is_empty() => {
                return self.grader.grade_proven(ctx, targets, how);
            }
            (Lookup::External, how) => return Resolution::unresolved(how),
            _ => {}
        }

        // The receiver may be an object of this file, whose members have its name as owner.
        let wanted = segments(receiver).chain([&*ctx.site.name]).collect::<Vec<_>>();
        let same: Vec<DefId> = ctx
            .file
            .named(&ctx.site.name)
            .filter(|(_, def)| segments(&def.qualified).eq(wanted.iter().copied()) && ctx.accepts(def))
            .map(|(symbol, _)| ctx.file.id(symbol))
            .collect();
        if !same.is_empty() {
            return self.grader.grade_proven(ctx, same, "same object");
        }

        if ctx.site.form == Form::Path || ctx.site.form == Form::Type {
            return self.grader.by_path_suffix(ctx, receiver);
        }
        if self.is_global(ctx, receiver) {
            return Resolution::unresolved(GLOBAL);
        }
        self.grader.by_member_name(ctx)
    }

    /// Returns whether the receiver is a global of the language: it needs no import, and nothing in the file
    /// binds it.
    fn is_global(&self, ctx: SiteContext<'_>, receiver: &str) -> bool {
        // `Array.prototype.slice.call(…)`
        let receiver = receiver.strip_suffix(".prototype").unwrap_or(receiver);
        let is_type_like = receiver.starts_with(char::is_uppercase) && !receiver.contains('.');
        let closed = ctx.dialect.requires_imports
            && matches!(ctx.dialect.modules, Modules::Script | Modules::Declared);
        let known = ctx.dialect.globals.contains(&receiver);

        (known || closed && is_type_like && !self.is_type_name(ctx, receiver))
            && ctx.facts.binding_at(receiver, ctx.site.at).is_none()
            && ctx.file.named(receiver).next().is_none()
            && !ctx
                .facts
                .imports
                .iter()
                .any(|import| import.all || import.local_name(ctx.dialect.modules) == Some(receiver))
    }

    /// Returns whether one of the definitions is an extension of a type.
    fn has_extension(&self, ids: &[DefId]) -> bool {
        ids.iter().any(|&id| self.defs.satisfies(id, |file, def| file.is_extension(def)))
    }

    /// Returns whether a type of the repository has the name.
    fn is_type_name(&self, ctx: SiteContext<'_>, name: &str) -> bool {
        let named = self.defs.named(name, ctx.dialect.family);
        named.iter().any(|&id| self.defs.satisfies(id, |_, def| def.is_type()))
    }
}

impl TypeResolver for Resolver<'_, '_> {
    fn resolve_type_name(&self, file: &FileDefs, facts: &Facts, at: u32, name: &str) -> Resolution {
        let (receiver, last) = match name.rfind(['.', ':', '\\']) {
            Some(cut) => (Some(name[..cut].trim_end_matches([':', '\\']).into()), &name[cut + 1..]),
            None => (None, name),
        };

        let site = Reference { at, line: 0, name: last.into(), form: Form::Type, receiver, arguments: None };
        self.resolve(file, facts, &site).unwrap_or_else(|| Resolution::unresolved("no type"))
    }
}
