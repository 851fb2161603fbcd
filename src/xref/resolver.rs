//! A site → the definitions it may mean, with a grade.
//!
//! Evidence is tried from the strongest: the scopes around the site, imports, the package. What a language says settles it
//! both ways: a name that must be imported and is not is no definition of another file, whatever is called alike. Only where
//! evidence ends are definitions counted by name.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use super::candidates::{allowed, in_namespace, is_local, named_in};
use super::definitions::{Def, DefId, Definitions, FileDefs, segments};
use super::dialect::{Dialect, Modules, is_library_method};
use super::facts::{Binding, Facts, Form, Use};
use super::modules::Paths;
use super::response::Grade;
use super::sources::Sources;
use crate::chunk::SymbolKind;

/// What C and C++ write like a call. Macros around such a thing make the parser see definitions of it.
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
/// Of a name that the language wants imported.
pub(super) const NOT_IMPORTED: &str = "neither defined nor imported here";
/// Names that are looked up to settle one site.
const MAX_DEPTH: u32 = 12;

/// What a site means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resolution {
    pub grade: Grade,
    /// By path and position; empty if and only if unresolved.
    pub targets: Vec<DefId>,
    pub evidence: &'static str,
}

impl Resolution {
    pub fn unresolved(evidence: &'static str) -> Resolution {
        Resolution { grade: Grade::Unresolved, targets: Vec::new(), evidence }
    }

    /// The single definition of a proof.
    pub fn proven(&self) -> Option<DefId> {
        (self.grade == Grade::Exact).then(|| self.targets.first().copied()).flatten()
    }
}

/// A site with its surroundings.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub file: &'a FileDefs,
    pub facts: &'a Facts,
    pub dialect: &'static Dialect,
    pub site: &'a Use,
}

/// What one kind of evidence says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Evidence {
    /// The site means one of these.
    Found(Vec<DefId>),
    /// It means nothing in the repository.
    Outside,
    /// It says nothing.
    Nothing,
}

/// Language, name, form and number of arguments.
type MemberKey = (&'static str, String, Form, Option<u32>);

pub(crate) struct Resolver<'a, 'v> {
    pub defs: &'a Definitions<'v>,
    pub sources: &'a Sources<'v>,
    pub paths: &'a Paths<'v>,
    depth: Cell<u32>,
    /// What a member of unknown owner means does not depend on the place.
    by_member: RefCell<FxHashMap<MemberKey, Resolution>>,
    pub(super) known_bases: RefCell<FxHashMap<DefId, Vec<Resolution>>>,
}

impl<'a, 'v> Resolver<'a, 'v> {
    pub fn new(
        defs: &'a Definitions<'v>,
        sources: &'a Sources<'v>,
        paths: &'a Paths<'v>,
    ) -> Resolver<'a, 'v> {
        Resolver {
            defs,
            sources,
            paths,
            depth: Cell::new(0),
            by_member: RefCell::default(),
            known_bases: RefCell::default(),
        }
    }

    /// What `site` means; `None` if it is no call and no mention after all.
    pub fn resolve(&self, file: &FileDefs, facts: &Facts, site: &Use) -> Option<Resolution> {
        let dialect = file.dialect?;
        if dialect.family == "c" && C_OPERATORS.contains(&&*site.name) {
            return None;
        }
        if self.depth.get() >= MAX_DEPTH {
            return Some(Resolution::unresolved("too many names to follow"));
        }
        self.depth.set(self.depth.get() + 1);
        let place = Place { file, facts, dialect, site };
        let resolution = match &site.receiver {
            Some(receiver) => Some(self.through(place, receiver)),
            None if site.form == Form::Member => Some(self.unknown_receiver(place)),
            None => self.bare(place),
        };
        self.depth.set(self.depth.get() - 1);
        resolution
    }

    /// The type that `name` means at `at`, if that is certain.
    pub fn type_named(&self, file: &FileDefs, facts: &Facts, at: u32, name: &str) -> Resolution {
        let (receiver, last) = match name.rfind(['.', ':', '\\']) {
            Some(cut) => (Some(name[..cut].trim_end_matches([':', '\\']).into()), &name[cut + 1..]),
            None => (None, name),
        };
        let site = Use { at, line: 0, name: last.into(), form: Form::Type, receiver, arguments: None };
        self.resolve(file, facts, &site).unwrap_or_else(|| Resolution::unresolved("no type"))
    }

    fn bare(&self, place: Place<'_>) -> Option<Resolution> {
        let name = &*place.site.name;
        // In Java, what is called is a method, whatever values are called alike.
        let is_method = place.dialect.language == "java" && place.site.form == Form::Bare;
        if let Some(binding) = shadow(place).filter(|_| !is_method) {
            let local = local_definition(place, binding);
            return match local {
                Some(symbol) => Some(self.graded(place, vec![place.file.id(symbol)], "same scope")),
                None if place.site.form == Form::Word => None,
                None => Some(Resolution::unresolved("a local value")),
            };
        }
        let (around, is_certain) = self.around(place, name);
        // `const f = require(…)` is a value here and something else where it comes from.
        let values = |id: &DefId| self.defs.with(*id, |_, def| def.is_value()).unwrap_or(false);
        let is_required =
            place.dialect.modules == Modules::Script && !around.is_empty() && around.iter().all(values);
        let required = if is_required { self.imported(place, name) } else { Evidence::Nothing };
        if !around.is_empty() && required == Evidence::Nothing {
            let found = self.graded(place, around, "same scope");
            return Some(if is_certain { found } else { self.doubtful(place, found) });
        }
        match self.imported(place, name) {
            Evidence::Found(targets) => return Some(self.graded(place, targets, "import")),
            Evidence::Outside => return Some(Resolution::unresolved("imported from a library")),
            Evidence::Nothing => {}
        }
        match self.package(place, name) {
            Evidence::Found(targets) if !targets.is_empty() => {
                let found = self.graded(place, targets, "same package");
                return Some(if is_certain { found } else { self.doubtful(place, found) });
            }
            _ => {}
        }
        match self.wildcards(place, name) {
            Evidence::Found(targets) if !targets.is_empty() => {
                return Some(self.graded(place, targets, "wildcard import"));
            }
            _ => {}
        }
        let is_global = place.site.form == Form::Macro;
        let scripts = place.dialect.modules == Modules::Script && place.facts.imports.is_empty();
        // What is imported from somewhere that cannot be told may well be here.
        let from_somewhere = self.is_import(place, name);
        if place.dialect.closed && !is_global && !scripts && !from_somewhere {
            return (place.site.form != Form::Word).then(|| Resolution::unresolved(NOT_IMPORTED));
        }
        let found = self.by_name(place);
        (place.site.form != Form::Word || found.grade != Grade::Unresolved).then_some(found)
    }

    /// A name behind a receiver.
    fn through(&self, place: Place<'_>, receiver: &str) -> Resolution {
        if receiver.is_empty() {
            return self.unknown_receiver(place);
        }
        if let Some(resolution) = self.through_self(place, receiver) {
            return resolution;
        }
        let parts: Vec<&str> = receiver
            .split(['.', '>', '?', '!'])
            .map(|part| part.trim_matches(['-', '&', '*']))
            .filter(|p| !p.is_empty())
            .collect();
        if let Some(resolution) = self.through_value(place, &parts) {
            return resolution;
        }
        match self.through_name(place, receiver) {
            (Evidence::Found(targets), how) if !targets.is_empty() => {
                return self.graded(place, targets, how);
            }
            (Evidence::Outside, how) => return Resolution::unresolved(how),
            _ => {}
        }
        // An object of this file whose members are named after it.
        let wanted = segments(receiver).chain([&*place.site.name]).collect::<Vec<_>>();
        let same: Vec<DefId> = named_in(place.file, &place.site.name)
            .filter(|(_, def)| segments(&def.qualified).eq(wanted.iter().copied()) && allowed(place, def))
            .map(|(symbol, _)| place.file.id(symbol))
            .collect();
        if !same.is_empty() {
            return self.graded(place, same, "same object");
        }
        if place.site.form == Form::Path || place.site.form == Form::Type {
            return self.by_path(place, receiver);
        }
        if self.is_global(place, receiver) {
            return Resolution::unresolved("a global of the language");
        }
        self.unknown_receiver(place)
    }

    /// A name that a file need not import, and that nothing here binds.
    fn is_global(&self, place: Place<'_>, receiver: &str) -> bool {
        let is_type_like = receiver.starts_with(char::is_uppercase) && !receiver.contains('.');
        let closed =
            place.dialect.closed && matches!(place.dialect.modules, Modules::Script | Modules::Declared);
        let known = place.dialect.globals.contains(&receiver);
        let is_type = |id: &DefId| self.defs.with(*id, |_, def| def.is_type()).unwrap_or(false);
        (known
            || closed && is_type_like && !self.defs.named(receiver, place.dialect.family).iter().any(is_type))
            && innermost(place.facts, receiver, place.site.at).is_none()
            && named_in(place.file, receiver).next().is_none()
            && !place.facts.imports.iter().any(|import| {
                import.all || super::name_lookup::local_name(import, place.dialect.modules) == Some(receiver)
            })
    }

    /// Members of that name, whatever they belong to.
    pub fn unknown_receiver(&self, place: Place<'_>) -> Resolution {
        let site = place.site;
        let key = (place.dialect.language, site.name.to_string(), site.form, site.arguments);
        if let Some(known) = self.by_member.borrow().get(&key) {
            return known.clone();
        }
        let any_kind = matches!(site.form, Form::Mention | Form::New | Form::Type);
        let members = |id: &DefId| {
            let look = |file: &FileDefs, def: &Def| {
                let callable = def.kind.is_callable()
                    || def.kind == SymbolKind::EnumMember
                    || def.is_value() && place.dialect.modules == Modules::Script;
                def.is_member() && !is_local(file, def) && (callable || any_kind)
            };
            self.defs.with(*id, look).unwrap_or(false)
        };
        let all = self.defs.named(&site.name, place.dialect.family);
        let resolution = self.counted(place, all.into_iter().filter(members).collect(), true);
        self.by_member.borrow_mut().insert(key, resolution.clone());
        resolution
    }

    /// By the last names of a path, where no import tells more.
    fn by_path(&self, place: Place<'_>, receiver: &str) -> Resolution {
        let wanted: Vec<&str> = segments(receiver).chain([&*place.site.name]).collect();
        let all = self.defs.named(&place.site.name, place.dialect.family);
        // An alias may stand for the first names; the last two are those of a type and its member.
        for n in (2..=wanted.len()).rev() {
            let tail = &wanted[wanted.len() - n..];
            let ends = |id: &&DefId| {
                let look = |file: &FileDefs, def: &Def| {
                    let full = file.full_name(def);
                    full.len() >= n && full[full.len() - n..].iter().zip(tail).all(|(a, b)| a == b)
                };
                self.defs.with(**id, look).unwrap_or(false)
            };
            let found: Vec<DefId> = all.iter().filter(ends).copied().collect();
            // Where names are global, the whole name of a thing is what it is called.
            if n == wanted.len() && place.dialect.modules == Modules::Global {
                let is_whole = |id: &&DefId| {
                    self.defs.with(**id, |file, def| file.full_name(def).len() == n).unwrap_or(false)
                };
                let whole: Vec<DefId> = found.iter().filter(is_whole).copied().collect();
                let whole = self.fitting(place, whole);
                if whole.len() == 1 {
                    return self.graded(place, whole, "full name");
                }
            }
            if !found.is_empty() {
                return self.counted_or_included(place, found);
            }
        }
        Resolution::unresolved("no definition of that path")
    }

    fn by_name(&self, place: Place<'_>) -> Resolution {
        let fits = |id: &DefId| {
            let look = |file: &FileDefs, def: &Def| {
                let visible = place.dialect.bare_members
                    || !def.is_member()
                    || file.full_name(def).len() <= 1
                    || in_namespace(file, def);
                visible && (!def.is_value() || place.site.form == Form::Mention)
            };
            self.defs.with(*id, look).unwrap_or(false)
        };
        let all = self.defs.named(&place.site.name, place.dialect.family);
        let found: Vec<DefId> = all.into_iter().filter(fits).collect();
        self.counted_or_included(place, found)
    }

    /// What an include leads to is proven, the rest is counted.
    fn counted_or_included(&self, place: Place<'_>, found: Vec<DefId>) -> Resolution {
        if place.dialect.modules == Modules::Include {
            // An include does not bring the members of a type into scope.
            let free = |id: &&DefId| {
                let look = |file: &FileDefs, def: &Def| !def.is_member() || in_namespace(file, def);
                place.site.receiver.is_some() || self.defs.with(**id, look).unwrap_or(false)
            };
            let visible: Vec<DefId> = found.iter().filter(free).copied().collect();
            let reached = self.included(place.file, &visible);
            if !reached.is_empty() {
                return self.graded(place, self.bodies(place, reached, &found), "include");
            }
        }
        self.counted(place, found, false)
    }

    /// By number: what fits by kind and arguments.
    fn counted(&self, place: Place<'_>, found: Vec<DefId>, is_member: bool) -> Resolution {
        let fitting = self.fitting(place, found);
        let in_library = is_member && is_library_method(place.dialect.family, &place.site.name);
        match fitting.len() {
            0 => Resolution::unresolved("no definition of that name"),
            1 if in_library => Resolution {
                grade: Grade::Ambiguous,
                targets: fitting,
                evidence: "also a name of the standard library",
            },
            1 => Resolution {
                grade: Grade::UniqueName,
                targets: fitting,
                evidence: "the only definition of that name",
            },
            _ => Resolution {
                grade: Grade::Ambiguous,
                targets: fitting,
                evidence: "several definitions of that name",
            },
        }
    }

    /// What evidence has proven: exact if it is one definition.
    pub fn graded(&self, place: Place<'_>, targets: Vec<DefId>, evidence: &'static str) -> Resolution {
        let fitting = self.fitting(place, targets);
        let targets = self.constructed(place, fitting);
        match targets.len() {
            0 => Resolution::unresolved("what is there does not fit"),
            1 => Resolution { grade: Grade::Exact, targets, evidence },
            _ => Resolution { grade: Grade::Ambiguous, targets, evidence: "several definitions there" },
        }
    }

    /// Not proven after all, for a base that is not known may have the name as well.
    pub fn doubtful(&self, place: Place<'_>, found: Resolution) -> Resolution {
        // Types that a base brings along are no rivals of those in scope.
        let of_type = |id: &DefId| {
            let look = |_: &FileDefs, def: &Def| def.is_type() || def.kind == SymbolKind::Constructor;
            self.defs.with(*id, look).unwrap_or(false)
        };
        if found.grade != Grade::Exact || found.targets.iter().all(of_type) {
            return found;
        }
        let n_named = self.defs.named(&place.site.name, place.dialect.family).len();
        let grade = if n_named == 1 { Grade::UniqueName } else { Grade::Ambiguous };
        Resolution { grade, evidence: "a base that is not known may have the name too", ..found }
    }
}

/// The binding of the site's name that is closest around it.
fn shadow<'f>(place: Place<'f>) -> Option<&'f Binding> {
    innermost(place.facts, &place.site.name, place.site.at).filter(|binding| binding.reach.is_some())
}

/// The binding of `name` that holds at `at`: the one with the smallest reach.
pub(crate) fn innermost<'f>(facts: &'f Facts, name: &str, at: u32) -> Option<&'f Binding> {
    let here = facts.bindings.iter().filter(|binding| &*binding.name == name);
    let reaching = here.filter(|binding| binding.reach.as_ref().is_none_or(|reach| reach.contains(&at)));
    reaching.min_by_key(|binding| binding.reach.as_ref().map_or(u32::MAX, |reach| reach.end - reach.start))
}

/// The definition that a binding is the name of, or a local one of that name that is closer.
fn local_definition(place: Place<'_>, binding: &Binding) -> Option<u32> {
    let reach = binding.reach.as_ref()?;
    let local = named_in(place.file, &place.site.name).filter(|(_, def)| {
        let bound = def.range.contains(&binding.at) && def.kind.is_callable()
            || def.kind.is_callable() && def.range.start == binding.at;
        let inside = def.parent.is_some_and(|parent| {
            let parent = place.file.def(parent);
            parent.kind.is_callable()
                && parent.range.contains(&place.site.at)
                && parent.range.start >= reach.start
        });
        (bound || inside) && allowed(place, def)
    });
    // A parameter lies in its function too, but does not name it.
    local.filter(|(_, def)| reach.start <= def.range.start).map(|(symbol, _)| symbol).last()
}
