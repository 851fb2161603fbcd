//! Grades candidate definitions: proof by evidence, or counting by name.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use codeweaver_chunk::SymbolKind;

use super::callable_values::may_be_called;
use super::candidates::CandidateFilter;
use super::definitions::{Def, DefId, Definitions, FileDefs, segments};
use super::dialect::{Modules, is_library_method};
use super::facts::Form;
use super::name_lookup::NameLookup;
use super::resolution::{NO_DEFINITION, ONLY_DEFINITION, ONLY_FITTING, Resolution};
use super::response::Grade;
use super::site::SiteContext;

/// Language, name, form and number of arguments.
type MemberKey = (&'static str, String, Form, Option<u32>);

/// Turns candidate definitions into graded resolutions.
pub(super) struct Grader<'a, 'v> {
    pub(super) filter: CandidateFilter<'a, 'v>,
    defs: &'a Definitions<'v>,
    names: NameLookup<'a, 'v>,
    /// Cache of [`Grader::by_member_name`], whose result does not depend on the file of the site.
    by_member: RefCell<FxHashMap<MemberKey, Resolution>>,
}

impl<'a, 'v> Grader<'a, 'v> {
    pub fn new(filter: CandidateFilter<'a, 'v>, names: NameLookup<'a, 'v>) -> Grader<'a, 'v> {
        Grader { filter, defs: filter.defs, names, by_member: RefCell::default() }
    }

    /// Grades definitions that evidence has proven: exact if one is viable, ambiguous if several are.
    pub fn grade_proven(
        &self,
        ctx: SiteContext<'_>,
        targets: Vec<DefId>,
        evidence: &'static str,
    ) -> Resolution {
        let fitting = self.filter.viable(ctx, self.filter.members_defined_elsewhere(ctx.dialect, targets));
        let targets = self.filter.constructors_for_call(ctx, fitting);

        match targets.len() {
            0 => Resolution::unresolved("what is there does not fit"),
            1 => Resolution { grade: Grade::Exact, targets, evidence },
            _ if self.are_parts_of_one(ctx, &targets) => {
                Resolution { grade: Grade::Exact, targets, evidence }
            }
            _ => Resolution { grade: Grade::Ambiguous, targets, evidence: "several definitions there" },
        }
    }

    /// Returns whether the definitions are parts of one type or module: a class that is opened several times
    /// (Ruby), or declared as partial (C#).
    fn are_parts_of_one(&self, ctx: SiteContext<'_>, ids: &[DefId]) -> bool {
        let Some(Some(first)) = ids.first().map(|&id| self.name_of_part(ctx, id)) else { return false };
        ids.iter().all(|&id| self.name_of_part(ctx, id).as_ref() == Some(&first))
    }

    /// The full name of a type or module that may have further parts; `None` for any other definition.
    fn name_of_part(&self, ctx: SiteContext<'_>, id: DefId) -> Option<Vec<String>> {
        let name = self.defs.with(id, |file, def| {
            let is_part = match ctx.dialect.language {
                "ruby" => def.is_type() || def.kind == SymbolKind::Module,
                "csharp" => def.is_type() && def.signature.split_whitespace().any(|word| word == "partial"),
                _ => false,
            };
            is_part.then(|| file.full_name(def))
        });

        name.flatten()
    }

    /// Lowers an exact grade because a base that is not known may define the name as well.
    pub fn downgrade(&self, ctx: SiteContext<'_>, found: Resolution) -> Resolution {
        // Types inherited from a base do not compete with types in scope.
        let are_types = found.targets.iter().all(|&id| {
            self.defs.satisfies(id, |_, def| def.is_type() || def.kind == SymbolKind::Constructor)
        });
        if found.grade != Grade::Exact || are_types {
            return found;
        }

        let n_named = self.defs.named(&ctx.site.name, ctx.dialect.family).len();
        let grade = if n_named == 1 { Grade::UniqueName } else { Grade::Ambiguous };
        Resolution { grade, evidence: "a base that is not known may have the name too", ..found }
    }

    /// Counts the members of that name of all owners: the resolution of a receiver of unknown type.
    pub fn by_member_name(&self, ctx: SiteContext<'_>) -> Resolution {
        let site = ctx.site;
        let key = (ctx.dialect.language, site.name.to_string(), site.form, site.arguments);
        if let Some(cached) = self.by_member.borrow().get(&key) {
            return cached.clone();
        }

        let mut members = self.defs.named(&site.name, ctx.dialect.family);
        members.retain(|&id| self.defs.satisfies(id, |file, def| self.is_possible_member(ctx, file, def)));
        let resolution = self.grade_by_count(ctx, members, true);

        self.by_member.borrow_mut().insert(key, resolution.clone());
        resolution
    }

    /// Returns whether a definition is a member that the form of the site can mean.
    fn is_possible_member(&self, ctx: SiteContext<'_>, file: &FileDefs, def: &Def) -> bool {
        let any_kind = matches!(ctx.site.form, Form::Mention | Form::New | Form::Type);
        let callable = def.kind.is_callable()
            || def.kind == SymbolKind::EnumMember
            || def.is_value()
                && ctx.dialect.modules == Modules::Script
                && may_be_called((self.defs, self.filter.sources), file, def);
        def.is_member() && !file.is_nested_function(def) && (callable || any_kind)
    }

    /// Matches the last segments of a path against qualified names, where no import decides.
    pub fn by_path_suffix(&self, ctx: SiteContext<'_>, receiver: &str) -> Resolution {
        let wanted: Vec<&str> = segments(receiver).chain([&*ctx.site.name]).collect();
        let all = self.defs.named(&ctx.site.name, ctx.dialect.family);

        // The first segments may be an alias; the last two are a type and its member.
        for n in (2..=wanted.len()).rev() {
            let tail = &wanted[wanted.len() - n..];
            let mut found = all.clone();
            found.retain(|&id| {
                self.defs
                    .satisfies(id, |file, def| file.full_name(def).iter().rev().take(n).eq(tail.iter().rev()))
            });

            // Where names are global, a match of the full name is a proof.
            if n == wanted.len() && ctx.dialect.modules == Modules::Global {
                let mut whole = found.clone();
                whole.retain(|&id| self.defs.satisfies(id, |file, def| file.full_name(def).len() == n));
                let whole = self.filter.viable(ctx, whole);
                if !whole.is_empty() {
                    return self.grade_proven(ctx, whole, "full name");
                }
            }

            if !found.is_empty() {
                return self.grade_by_include_or_count(ctx, found);
            }
        }

        Resolution::unresolved("no definition of that path found")
    }

    /// Counts the definitions of the name, where no other evidence decides.
    pub fn by_name(&self, ctx: SiteContext<'_>) -> Resolution {
        let mut found = self.defs.named(&ctx.site.name, ctx.dialect.family);
        found.retain(|&id| {
            self.defs.satisfies(id, |file, def| {
                let is_visible = ctx.dialect.bare_members
                    || !def.is_member()
                    || file.full_name(def).len() <= 1
                    || file.is_in_namespace(def);
                is_visible && (!def.is_value() || ctx.site.form == Form::Mention)
            })
        });

        self.grade_by_include_or_count(ctx, found)
    }

    /// Grades definitions that the file includes as proven, and counts otherwise.
    fn grade_by_include_or_count(&self, ctx: SiteContext<'_>, found: Vec<DefId>) -> Resolution {
        if ctx.dialect.modules == Modules::Include {
            let mut visible = found.clone();
            // An include does not bring the members of a type into scope.
            visible.retain(|&id| {
                ctx.site.receiver.is_some()
                    || self.defs.satisfies(id, |file, def| !def.is_member() || file.is_in_namespace(def))
            });

            let reached = self.names.reached_by_includes(ctx.file, &visible);
            if !reached.is_empty() {
                return self.grade_proven(
                    ctx,
                    self.filter.definitions_of_reached(ctx, reached, &found),
                    "include",
                );
            }
        }

        self.grade_by_count(ctx, found, false)
    }

    /// Grades by the number of viable candidates.
    fn grade_by_count(&self, ctx: SiteContext<'_>, found: Vec<DefId>, is_member: bool) -> Resolution {
        let fitting = self.filter.viable(ctx, found);
        let in_library = is_member && is_library_method(ctx.dialect.family, &ctx.site.name);

        match fitting.len() {
            0 => Resolution::unresolved(NO_DEFINITION),
            // The repository has only this one, but the receiver may be of a type of the library.
            1 if in_library => Resolution {
                grade: Grade::Ambiguous,
                targets: fitting,
                evidence: "also a name of the standard library",
            },
            1 => {
                let named = self.defs.named(&ctx.site.name, ctx.dialect.family);
                let is_only = self.filter.without_declarations(ctx.dialect, named).len() == 1;
                let evidence = if is_only { ONLY_DEFINITION } else { ONLY_FITTING };
                Resolution { grade: Grade::UniqueName, targets: fitting, evidence }
            }
            _ => Resolution {
                grade: Grade::Ambiguous,
                targets: fitting,
                evidence: "several definitions of that name",
            },
        }
    }
}
