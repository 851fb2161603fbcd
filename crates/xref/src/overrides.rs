//! Members that override or implement members of a base.
//!
//! A member overrides another one of its name if the type of the other is a base of its own type, directly or
//! not. In Rust the base is the trait of the `impl`. In Go, whose types do not name the interfaces that they
//! implement, it is an interface all of whose methods the type has.

use std::collections::{BTreeMap, BTreeSet};

use codeweaver_chunk::SymbolKind;

use super::arity;
use super::attributes;
use super::candidates::CandidateFilter;
use super::definitions::{Def, DefId, Definitions, FileDefs};
use super::dialect::{Dialect, Modules};
use super::facts::Reference;
use super::members::{MAX_BASES, TypeMembers};
use super::response::Grade;
use super::site::SiteContext;

/// Methods that Ruby calls by itself.
const CALLED_BY_RUBY: &[&str] = &[
    "call",
    "coerce",
    "const_missing",
    "each",
    "eql?",
    "extended",
    "hash",
    "included",
    "inherited",
    "inspect",
    "method_missing",
    "prepended",
    "respond_to_missing?",
    "to_ary",
    "to_hash",
    "to_proc",
    "to_s",
    "to_str",
];
/// Maximum number of members of one name that are looked at.
const MAX_MEMBERS: usize = 400;

/// Finds overriding and overridden members.
pub(super) struct Overrides<'r, 'a, 'v> {
    types: TypeMembers<'r, 'a, 'v>,
    defs: &'a Definitions<'v>,
    filter: CandidateFilter<'a, 'v>,
}

impl<'r, 'a, 'v> Overrides<'r, 'a, 'v> {
    pub fn new(types: TypeMembers<'r, 'a, 'v>, filter: CandidateFilter<'a, 'v>) -> Overrides<'r, 'a, 'v> {
        Overrides { types, defs: filter.defs, filter }
    }

    /// The members that override one of `roots`: the member, the root, and how certain that is. Ordered by
    /// path and position.
    pub fn overriding(&self, roots: &[DefId]) -> Vec<(DefId, DefId, Grade)> {
        let mut found = Vec::new();

        for &root in roots {
            let Some(owner) = self.owner_of(root) else { continue };
            for member in self.members_named_like(root) {
                if !roots.contains(&member)
                    && let Some(grade) = self.base_grade(member, owner)
                {
                    found.push((member, root, grade));
                }
            }
        }
        found
    }

    /// The members that one of `roots` overrides, each with all members that override it.
    pub fn overridden(&self, roots: &[DefId]) -> BTreeMap<DefId, Vec<DefId>> {
        let mut found = BTreeMap::new();

        for &root in roots {
            for base in self.members_named_like(root) {
                let Some(owner) = self.owner_of(base) else { continue };
                if !found.contains_key(&base) && self.base_grade(root, owner).is_some() {
                    let all = self.overriding(&[base]);
                    found.insert(base, all.into_iter().map(|(member, ..)| member).collect());
                }
            }
        }
        found
    }

    /// Returns whether code outside of the repository may call a definition: the language itself, a framework
    /// that its attributes name, or a base of its type.
    pub fn may_be_called_from_outside(&self, id: DefId) -> bool {
        self.defs.satisfies(id, is_called_by_language) || self.is_registered(id) || self.has_foreign_base(id)
    }

    /// Returns whether an attribute of a definition, or a module that its module uses, may register it.
    fn is_registered(&self, id: DefId) -> bool {
        let Some(file) = self.defs.file(id.entry) else { return false };
        let (Some(facts), Some(dialect)) = (self.types.sources.facts(&file), file.dialect) else {
            return false;
        };

        let def = file.def(id.symbol);
        let is_public = def.signature.starts_with("def ");
        let is_callback = dialect.language == "elixir" && is_public && {
            let module = def.parent.map(|parent| file.def(parent).range.clone());
            let text = module.and_then(|range| facts.text.get(range.start as usize..range.end as usize));
            let mut lines = text.unwrap_or(&facts.text).lines().map(str::trim_start);
            lines.any(|line| line.starts_with("use ") || line.starts_with("@behaviour "))
        };
        is_callback || attributes::may_register(&facts.text, def, dialect.language)
    }

    /// Returns whether a type outside of the repository may declare a member, and so call it: a base of its
    /// type, or the trait of its `impl`.
    fn has_foreign_base(&self, id: DefId) -> bool {
        let is_member = self.defs.satisfies(id, |_, def| is_overridable(def));
        let Some(file) = self.defs.file(id.entry).filter(|_| is_member) else { return false };

        if file.dialect.is_some_and(|dialect| dialect.modules == Modules::Rust) {
            let parent = file.def(id.symbol).parent.map(|parent| file.def(parent));
            let found = parent.and_then(|parent| {
                let facts = self.types.sources.facts(&file)?;
                Some(self.types.resolver.resolve_type_name(
                    &file,
                    &facts,
                    parent.range.start,
                    trait_of(parent)?,
                ))
            });
            return found.is_some_and(|found| found.targets.is_empty());
        }

        let mut level: Vec<DefId> = self.owner_of(id).into_iter().collect();
        let mut seen: BTreeSet<DefId> = level.iter().copied().collect();
        while let Some(of) = level.pop() {
            let bases = self.types.bases(of);
            if bases.iter().any(|base| base.targets.is_empty()) {
                return true;
            }
            let new = bases.iter().flat_map(|base| &base.targets).copied();
            level.extend(new.filter(|&base| seen.len() < MAX_BASES && seen.insert(base)));
        }

        false
    }

    /// The other members with the name and the number of parameters of a member; none if it is no callable
    /// member.
    fn members_named_like(&self, id: DefId) -> Vec<DefId> {
        let own = self.defs.with(id, |file, def| (file.dialect, def.clone()));
        let Some((Some(dialect), own)) = own.filter(|(_, def)| is_overridable(def)) else {
            return Vec::new();
        };

        let mut members = self.defs.named(&own.name, dialect.family);
        members.retain(|&other| {
            other != id
                && self
                    .defs
                    .satisfies(other, |_, def| is_overridable(def) && takes_the_same(dialect, &own, def))
        });
        members.truncate(MAX_MEMBERS);
        self.filter.without_declarations(dialect, members)
    }

    /// The certainty with which `owner` is a base of the type of `member`; `None` if it is none.
    fn base_grade(&self, member: DefId, owner: DefId) -> Option<Grade> {
        let file = self.defs.file(member.entry)?;
        let dialect = file.dialect?;

        match dialect.modules {
            Modules::Rust => self.trait_grade(&file, member, owner),
            Modules::Go => self.interface_grade(member, owner),
            _ => self.ancestor_grade(self.owner_of(member)?, owner),
        }
    }

    /// Looks for `owner` among the bases of a type, nearest first.
    fn ancestor_grade(&self, of: DefId, owner: DefId) -> Option<Grade> {
        let mut level = vec![(of, Grade::Exact)];
        let mut seen = BTreeSet::from([of]);

        while !level.is_empty() && seen.len() < MAX_BASES {
            let mut next = Vec::new();
            for (id, grade) in level {
                for base in self.types.bases(id) {
                    let grade = grade.max(base.grade);
                    if base.targets.contains(&owner) {
                        return Some(grade);
                    }
                    next.extend(
                        base.targets.iter().filter(|target| seen.insert(**target)).map(|&id| (id, grade)),
                    );
                }
            }
            level = next;
        }

        None
    }

    /// Compares the trait of the `impl` around a member with `owner`.
    fn trait_grade(&self, file: &FileDefs, member: DefId, owner: DefId) -> Option<Grade> {
        let parent = file.def(member.symbol).parent.map(|parent| file.def(parent))?;
        let name = trait_of(parent)?;
        let facts = self.types.sources.facts(file)?;
        let found = self.types.resolver.resolve_type_name(file, &facts, parent.range.start, name);
        found.targets.contains(&owner).then_some(found.grade)
    }

    /// Compares the methods of a type of Go with those of the interface `owner`.
    fn interface_grade(&self, member: DefId, owner: DefId) -> Option<Grade> {
        let interface = self.defs.file(owner.entry)?;
        if interface.def(owner.symbol).kind != SymbolKind::Interface {
            return None;
        }

        let of = self.owner_of(member)?;
        let own = self.defs.file(of.entry)?;
        // The methods of a type are in the files of its package.
        let has = |name: &str| {
            self.defs.named(name, "go").iter().any(|&id| {
                self.defs.satisfies(id, |file, def| {
                    file.directory() == own.directory() && def.owner() == own.def(of.symbol).qualified
                })
            })
        };
        let methods =
            interface.defs.iter().filter(|def| def.parent == Some(owner.symbol) && def.kind.is_callable());
        let is_implemented =
            of != owner && methods.clone().count() > 0 && methods.into_iter().all(|def| has(&def.name));
        is_implemented.then_some(Grade::UniqueName)
    }

    /// The type that a member belongs to.
    fn owner_of(&self, id: DefId) -> Option<DefId> {
        let file = self.defs.file(id.entry)?;
        let facts = self.types.sources.facts(&file)?;

        // A site at the definition itself is inside its type.
        let site = Reference::to_definition(file.def(id.symbol));
        self.types.owner_at(SiteContext { file: &file, facts: &facts, dialect: file.dialect?, site: &site })
    }
}

/// Returns whether the language calls methods of this name by itself.
fn is_called_by_language(file: &FileDefs, def: &Def) -> bool {
    let name = def.name.as_str();
    // A method of a constant of an enum is called through the enum.
    if def.parent.is_some_and(|parent| file.def(parent).kind == SymbolKind::EnumMember) {
        return true;
    }

    match file.dialect.map(|dialect| dialect.language) {
        Some("python") => name.starts_with("__") && name.ends_with("__"),
        Some("php") => name.starts_with("__"),
        Some("kotlin") => def.signature.split_whitespace().any(|word| word == "operator"),
        Some("javascript" | "typescript" | "tsx") => {
            matches!(name, "toJSON" | "toString" | "valueOf" | "then") || name.starts_with('[')
        }
        Some("ruby") => {
            // A setter is called by an assignment.
            name.ends_with('=')
                || !name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                || CALLED_BY_RUBY.contains(&name)
        }
        Some("scala") => {
            let mut words = def.signature.split_whitespace();
            matches!(name, "apply" | "unapply" | "unapplySeq" | "update")
                || words.any(|word| matches!(word, "implicit" | "given"))
        }
        Some("cpp") => name.starts_with("operator") || name.starts_with('~'),
        Some("csharp") => def.signature.split_whitespace().any(|word| word == "operator"),
        Some("lua") => name.starts_with("__"),
        Some("swift") => {
            matches!(name, "callAsFunction" | "deinit" | "subscript")
                || !name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        }
        // Any type of a library may be an interface with this method.
        Some("go") => def.is_member() && name.starts_with(char::is_uppercase),
        _ => false,
    }
}

fn is_overridable(def: &Def) -> bool {
    matches!(def.kind, SymbolKind::Method | SymbolKind::Function | SymbolKind::Property) && def.is_member()
}

/// Returns whether two members take the same number of arguments, where the number selects one of several
/// members.
fn takes_the_same(dialect: &Dialect, one: &Def, other: &Def) -> bool {
    let arity = |def: &Def| arity::from_signature(&def.signature, &def.name);
    match (arity(one), arity(other)) {
        (Some(one), Some(other)) if dialect.arity => one == other,
        _ => true,
    }
}

/// The name of the trait in the signature of an `impl`: `Trait` in `impl<T> Trait<T> for Type`.
fn trait_of(def: &Def) -> Option<&str> {
    if def.kind != SymbolKind::Impl {
        return None;
    }

    let (head, _) = def.signature.split_once(" for ")?;
    let name = head.trim_start_matches("unsafe ").strip_prefix("impl")?;
    // The parameters of the `impl` come before the name.
    let name = match name.strip_prefix('<') {
        Some(parameters) => {
            let mut depth = 1;
            let end = parameters.find(|c: char| {
                depth += i32::from(c == '<') - i32::from(c == '>');
                depth == 0
            })?;
            &parameters[end + 1..]
        }
        None => name,
    };

    let name = name.trim().trim_start_matches('!');
    Some(name.split('<').next().unwrap_or(name).trim()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trait_of_an_impl_is_read_from_its_signature() {
        let def = |signature: &str| Def {
            name: "X".to_owned(),
            qualified: "X".to_owned(),
            kind: SymbolKind::Impl,
            signature: signature.to_owned(),
            range: 0..1,
            lines: (1, 1),
            parent: None,
        };
        assert_eq!(trait_of(&def("impl Draw for X")), Some("Draw"));
        assert_eq!(trait_of(&def("impl<T: Into<U>, U> a::Draw<T> for X<T>")), Some("a::Draw"));
        assert_eq!(trait_of(&def("unsafe impl Send for X")), Some("Send"));
        assert_eq!(trait_of(&def("impl X")), None);
    }
}
