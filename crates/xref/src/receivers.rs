//! Resolves members through their receiver: `self`, a value of a declared type, a module or a type.

use codeweaver_chunk::SymbolKind;

use super::definitions::DefId;
use super::dialect::Modules;
use super::grading::Grader;
use super::members::{MemberLookup, TypeMembers};
use super::module_names;
use super::modules::Module;
use super::name_lookup::{MAX_HOPS, NameLookup};
use super::resolution::{
    EXTERNAL_BASE, FROM_LIBRARY, Lookup, NO_DEFINITION, NOT_IMPORTED, OF_LANGUAGE, OF_LIBRARY, Resolution,
};
use super::site::SiteContext;

/// Resolves qualified names by the meaning of their receiver.
#[derive(Clone, Copy)]
pub(super) struct Receivers<'r, 'a, 'v> {
    pub(super) types: TypeMembers<'r, 'a, 'v>,
    pub(super) names: NameLookup<'a, 'v>,
    pub(super) grader: &'r Grader<'a, 'v>,
}

impl Receivers<'_, '_, '_> {
    /// Resolves `self.f` and `super().f`; `None` for any other receiver.
    pub fn through_self(&self, ctx: SiteContext<'_>, receiver: &str) -> Option<Resolution> {
        let dialect = ctx.dialect;
        if dialect.super_names.contains(&receiver) {
            return self.through_super(ctx);
        }

        let is_self = dialect.self_names.contains(&receiver) || self.is_self_name(ctx, receiver);
        if !is_self {
            return None;
        }

        // A function inside a method has its own `this`.
        let callable = ctx.file.callable_around(ctx.site.at).map(|i| ctx.file.def(i));
        let rebound = dialect.modules == Modules::Script
            && callable.is_some_and(|def| def.kind == SymbolKind::Function);
        let anonymous = ctx.is_in_anonymous_type();
        if rebound || anonymous {
            return Some(self.grader.by_member_name(ctx));
        }

        let owner = self.types.owner_at(ctx)?;
        Some(self.resolve_member(ctx, owner, "member of the enclosing type"))
    }

    /// Resolves `super().f`; `None` if no type is around the site.
    fn through_super(&self, ctx: SiteContext<'_>) -> Option<Resolution> {
        // The base of a type without a name is not extracted.
        if ctx.is_in_anonymous_type() {
            return Some(self.without_caller(ctx, self.grader.by_member_name(ctx)));
        }

        let owner = self.types.owner_at(ctx)?;
        let file = self.types.defs.file(owner.entry);
        let found = file.map(|file| self.types.members_of_bases(&file, owner.symbol, ctx, &ctx.site.name));
        Some(match found {
            Some(MemberLookup::Found(found)) => {
                self.grader.grade_proven(ctx, found, "base of the enclosing type")
            }
            Some(MemberLookup::Uncertain(found)) => {
                let proven = self.grader.grade_proven(ctx, found, "base of the enclosing type");
                self.grader.downgrade(ctx, proven)
            }
            Some(MemberLookup::External) => Resolution::unresolved(EXTERNAL_BASE),
            _ => self.without_caller(ctx, self.grader.by_member_name(ctx)),
        })
    }

    /// Drops the callable around the site: a call on a base never means the method that makes it.
    fn without_caller(&self, ctx: SiteContext<'_>, mut found: Resolution) -> Resolution {
        let around = ctx.file.callable_around(ctx.site.at).map(|symbol| ctx.file.id(symbol));
        found.targets.retain(|target| Some(*target) != around);
        match found.targets.len() {
            0 => Resolution::unresolved(EXTERNAL_BASE),
            _ => found,
        }
    }

    /// Resolves a receiver that is a value of a declared type, as a local name or a field of `self`.
    pub fn through_value(&self, ctx: SiteContext<'_>, parts: &[&str]) -> Option<Resolution> {
        let first = *parts.first()?;
        let (file, facts, at) = (ctx.file, ctx.facts, ctx.site.at);
        let is_self = ctx.dialect.self_names.contains(&first) || self.is_self_name(ctx, first);

        let owner = || self.types.owner_at(ctx).filter(|id| id.entry == file.entry).map(|id| id.symbol);
        let bound = facts.binding_at(first, at);
        let declared = match (parts.len(), bound) {
            (2, _) if is_self => field_type(ctx, parts[1], owner()?),
            (1, Some(binding)) => {
                let mut all = facts
                    .bindings
                    .iter()
                    .filter(|other| other.name == binding.name && other.reach == binding.reach);
                // A name that is bound to values of several types has no type.
                let agree = all.all(|other| other.type_name == binding.type_name);
                binding.type_name.clone().filter(|_| agree).map(|name| (name.into_string(), binding.at))
            }
            (1, None) if ctx.dialect.bare_members => field_type(ctx, first, owner()?),
            _ => None,
        };

        let is_local = bound.is_some_and(|binding| binding.reach.is_some());
        let is_call_result = bound.is_some_and(|binding| binding.by_call);
        let Some((type_name, declared_at)) = declared else {
            // A local value hides modules and types of the same name, so nothing else is tried.
            let known =
                bound.is_some_and(|binding| binding.reach.is_none()) && self.names.is_imported(ctx, first);
            return (is_local && !known).then(|| self.grader.by_member_name(ctx));
        };

        let type_of = self.types.resolver.resolve_type_name(file, facts, declared_at, &type_name);
        Some(match (type_of.proven(), type_of.evidence) {
            (Some(id), _) => self.resolve_member(ctx, id, "declared type of the receiver"),
            (None, FROM_LIBRARY) => Resolution::unresolved(OF_LIBRARY),
            (None, NOT_IMPORTED | NO_DEFINITION) if !is_call_result && is_builtin_type(ctx, &type_name) => {
                Resolution::unresolved(OF_LANGUAGE)
            }
            _ => self.grader.by_member_name(ctx),
        })
    }

    /// Resolves a receiver that names a module or a type, with the evidence for it.
    pub fn through_name(&self, ctx: SiteContext<'_>, receiver: &str) -> (Lookup, &'static str) {
        let name = &*ctx.site.name;
        if ctx.dialect.modules == Modules::Script && matches!(receiver, "exports" | "module.exports") {
            return (self.names.exported(ctx, &[ctx.file.entry], name, MAX_HOPS), "export of this file");
        }

        match ctx.dialect.modules {
            Modules::Python | Modules::Script | Modules::Path => {
                match self.names.module_of_receiver(ctx, receiver) {
                    Some((Module::Files(files), rest)) => {
                        let found = self.module_member(ctx, &files, &rest, name);
                        return (found, "import of the module");
                    }
                    Some((Module::External, _)) => return (Lookup::External, FROM_LIBRARY),
                    _ => {}
                }
            }
            Modules::Go => match self.names.go_package_of_receiver(ctx, receiver) {
                Some(Module::Files(files)) => {
                    return (self.names.exported(ctx, &files, name, 0), "import of the package");
                }
                Some(Module::External) => return (Lookup::External, FROM_LIBRARY),
                _ => {}
            },
            Modules::Qualified => match module_names::behind_module(self.types.defs, ctx, receiver) {
                Lookup::External => return (Lookup::External, FROM_LIBRARY),
                found => return (found, "member of the named module"),
            },
            Modules::Rust => {
                let found = self.names.rust.resolve(ctx, receiver, name);

                match found {
                    Lookup::Found(_) => return (found, "path"),
                    Lookup::External => return (found, FROM_LIBRARY),
                    Lookup::Undecided => {}
                }
            }
            _ => {}
        }

        let type_of = self.types.resolver.resolve_type_name(ctx.file, ctx.facts, ctx.site.at, receiver);
        let Some(id) = type_of.proven() else {
            let outside = type_of.evidence == FROM_LIBRARY;
            return (if outside { Lookup::External } else { Lookup::Undecided }, FROM_LIBRARY);
        };
        // `Type.new` calls the constructor.
        if name == "new" && ctx.dialect.language == "ruby" {
            return (Lookup::Found(self.ruby_constructor(id)), "constructor of the type");
        }

        let Some(file) = self.types.defs.file(id.entry) else { return (Lookup::Undecided, "") };
        match self.types.members(&file, id.symbol, ctx, name) {
            MemberLookup::Found(found) | MemberLookup::Uncertain(found) => {
                (Lookup::Found(found), "member of the named type")
            }
            MemberLookup::External => (Lookup::External, EXTERNAL_BASE),
            MemberLookup::Missing | MemberLookup::Unknown => (Lookup::Undecided, ""),
        }
    }

    /// Resolves `name`, or `Type.name`, in a module.
    pub fn module_member(&self, ctx: SiteContext<'_>, files: &[u32], rest: &[String], name: &str) -> Lookup {
        let [type_name, ..] = rest else { return self.names.exported(ctx, files, name, 0) };

        let Lookup::Found(types) = self.names.exported(ctx, files, type_name, 0) else {
            return Lookup::Undecided;
        };

        match (types.as_slice(), rest.len()) {
            ([id], 1) => {
                let file = self.types.defs.file(id.entry);
                match file.map(|file| self.types.members(&file, id.symbol, ctx, name)) {
                    Some(MemberLookup::Found(found) | MemberLookup::Uncertain(found)) => Lookup::Found(found),
                    Some(MemberLookup::External) => Lookup::External,
                    _ => Lookup::Undecided,
                }
            }
            _ => Lookup::Undecided,
        }
    }

    /// The constructors of a Ruby type, or the type if it has none.
    fn ruby_constructor(&self, id: DefId) -> Vec<DefId> {
        let file = self.types.defs.file(id.entry);
        let own = file.map(|file| self.grader.filter.constructors_of(&file, id.symbol)).unwrap_or_default();
        if own.is_empty() { vec![id] } else { own }
    }

    /// Grades the member of `owner` that the site names.
    fn resolve_member(&self, ctx: SiteContext<'_>, owner: DefId, evidence: &'static str) -> Resolution {
        let Some(file) = self.types.defs.file(owner.entry) else { return self.grader.by_member_name(ctx) };
        match self.types.members(&file, owner.symbol, ctx, &ctx.site.name) {
            MemberLookup::Found(found) => self.grader.grade_proven(ctx, found, evidence),
            MemberLookup::Uncertain(found) => {
                self.grader.downgrade(ctx, self.grader.grade_proven(ctx, found, evidence))
            }
            MemberLookup::External => Resolution::unresolved(EXTERNAL_BASE),
            MemberLookup::Missing | MemberLookup::Unknown => self.grader.by_member_name(ctx),
        }
    }

    /// Returns whether `name` stands for the object itself in the method around the site.
    fn is_self_name(&self, ctx: SiteContext<'_>, name: &str) -> bool {
        let Some(callable) = ctx.file.callable_around(ctx.site.at).map(|i| ctx.file.def(i)) else {
            return false;
        };
        ctx.facts.self_names.iter().any(|(at, receiver)| &**receiver == name && callable.range.contains(at))
    }
}

/// The type of the field `name` of the type `owner`, and the offset of the site; `None` if there is no such
/// field, or there are several with different types.
fn field_type(ctx: SiteContext<'_>, name: &str, owner: u32) -> Option<(String, u32)> {
    let fields = ctx
        .facts
        .fields
        .iter()
        .filter(|field| &*field.name == name && ctx.file.type_around(field.at) == Some(owner));
    let mut types: Vec<&str> = fields.map(|field| &*field.type_name).collect();
    types.dedup();
    (types.len() == 1).then(|| (types[0].to_owned(), ctx.site.at))
}

/// Returns whether a type that the file neither defines nor imports must be one of the language's own
/// library. Returns false where a wildcard import may provide it, and for type parameters.
fn is_builtin_type(ctx: SiteContext<'_>, name: &str) -> bool {
    let certain = matches!(ctx.dialect.language, "java" | "kotlin" | "go" | "python" | "rust")
        || ctx.dialect.modules == Modules::Script;
    let is_java = matches!(ctx.dialect.language, "java" | "kotlin");
    let wildcard = !is_java && ctx.facts.imports.iter().any(|import| import.all);
    certain && !wildcard && !is_type_parameter(ctx, name)
}

/// Returns whether `name` looks like a type parameter: it is short or in capitals, or is followed by a bound.
fn is_type_parameter(ctx: SiteContext<'_>, name: &str) -> bool {
    let is_upper_case = !name.chars().any(char::is_lowercase);
    let has_type_prefix = name.starts_with('T') && name[1..].starts_with(char::is_uppercase);
    let text = &ctx.facts.text;
    let has_bound = text.match_indices(name).any(|(at, _)| {
        let rest = text[at + name.len()..].trim_start();
        match ctx.dialect.modules {
            Modules::Rust => rest.starts_with(':') && !rest.starts_with("::"),
            Modules::Script => rest.starts_with("extends "),
            _ => false,
        }
    });

    is_upper_case || has_type_prefix || has_bound
}
