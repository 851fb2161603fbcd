//! Linkage of C: a name refers to what the file defines or includes, and beyond it to functions that another
//! file defines without `static`.
//!
//! The closure of a file is the file itself and the headers that it includes, directly or not. A header is
//! possible instead of certain if its `#include` is conditional or fits several files. A function that the
//! closure only declares is defined in another file, preferably one that sees the same declaration. A name
//! that occurs nowhere in the closure belongs to a library: C has no other way to import it.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use codeweaver_chunk::SymbolKind;

use super::candidates::CandidateFilter;
use super::definitions::{Def, DefId, Definitions, FileDefs};
use super::facts::Form;
use super::modules::{Module, Paths};
use super::resolution::{NO_DEFINITION, ONLY_DEFINITION, ONLY_FITTING, Resolution};
use super::response::Grade;
use super::site::SiteContext;
use super::sources::Sources;

/// Maximum number of headers followed from one file.
const MAX_HEADERS: usize = 400;

/// Evidence of a name that no header of the closure has.
const NOT_DECLARED: &str = "not declared in what the file includes";

/// Resolves names of C by linkage.
pub(super) struct Linkage<'a, 'v> {
    defs: &'a Definitions<'v>,
    sources: &'a Sources<'v>,
    paths: &'a Paths<'v>,
    filter: CandidateFilter<'a, 'v>,
    /// The closures of files, by live entry.
    closures: RefCell<FxHashMap<u32, Rc<Closure>>>,
}

/// The files whose names are visible in a file.
#[derive(Debug, Default)]
struct Closure {
    /// Live entries, the file itself first.
    certain: Vec<u32>,
    possible: Vec<u32>,
    /// A header is missing, or a limit was reached.
    is_incomplete: bool,
    /// A header has lines of C++.
    is_cpp: bool,
}

impl<'a, 'v> Linkage<'a, 'v> {
    pub fn new(filter: CandidateFilter<'a, 'v>, paths: &'a Paths<'v>) -> Linkage<'a, 'v> {
        let CandidateFilter { defs, sources } = filter;
        Linkage { defs, sources, paths, filter, closures: RefCell::default() }
    }

    /// Resolves an unqualified name that no local binding has; `None` if the file is not of C.
    pub fn resolve(&self, ctx: SiteContext<'_>) -> Option<Resolution> {
        if ctx.dialect.language != "c" {
            return None;
        }

        let closure = self.closure(ctx.file);
        if closure.is_cpp {
            return None;
        }

        let mut all = self.defs.named(&ctx.site.name, ctx.dialect.family);
        all.retain(|&id| {
            self.defs.satisfies(id, |file, def| {
                ctx.accepts(def) && (!def.is_member() || file.is_in_namespace(def) || is_enumerator(def))
            })
        });

        let certain = self.seen(&all, &closure.certain);
        if let Some(targets) = self.targets(ctx, &all, &certain, &closure.certain) {
            return Some(self.grade(ctx, targets));
        }

        let both: Vec<u32> = closure.certain.iter().chain(&closure.possible).copied().collect();
        let possible = self.seen(&all, &both);
        if let Some(targets) = self.targets(ctx, &all, &possible, &both) {
            return Some(count(targets, "a header that may be included"));
        }

        let external = self.external(&all);
        // The parser does not see every declaration, so the text is searched for the name.
        let is_mentioned = both[1..].iter().any(|&header| self.has_word(header, &ctx.site.name));
        if external.is_empty() || !is_mentioned && !closure.is_incomplete {
            let is_unknown = all.is_empty() || ctx.site.form == Form::Mention;
            return Some(Resolution::unresolved(if is_unknown { NO_DEFINITION } else { NOT_DECLARED }));
        }

        let is_only = self.filter.without_declarations(ctx.dialect, all).len() == 1;
        let evidence = if is_only { ONLY_DEFINITION } else { ONLY_FITTING };
        Some(count(external, evidence))
    }

    /// The definitions of a name, if definitions or declarations in `files`, which the site sees, decide it.
    fn targets(
        &self,
        ctx: SiteContext<'_>,
        all: &[DefId],
        seen: &[DefId],
        files: &[u32],
    ) -> Option<Vec<DefId>> {
        if seen.is_empty() {
            return None;
        }

        let (mut macros, mut others) = (seen.to_vec(), seen.to_vec());
        macros.retain(|&id| self.defs.satisfies(id, |_, def| def.kind == SymbolKind::Macro));
        others.retain(|&id| self.defs.satisfies(id, |_, def| def.kind != SymbolKind::Macro));
        let bodies: Vec<DefId> = others.iter().filter(|id| self.filter.has_body(**id)).copied().collect();
        let own: Vec<DefId> = bodies.iter().filter(|id| id.entry == ctx.file.entry).copied().collect();

        let functions = if !own.is_empty() {
            own
        } else if !bodies.is_empty() {
            bodies
        } else if !others.is_empty() {
            self.defined_elsewhere(all, &others, files)
        } else {
            Vec::new()
        };

        let mut targets = macros;
        targets.extend(functions);
        Some(targets)
    }

    /// The definitions in other files for `declarations`, or the declarations if there are none.
    fn defined_elsewhere(&self, all: &[DefId], declarations: &[DefId], files: &[u32]) -> Vec<DefId> {
        let external = self.external(all);
        let headers: Vec<u32> =
            declarations.iter().map(|id| id.entry).filter(|entry| files.contains(entry)).collect();

        let mut linked = external.clone();
        linked.retain(|id| {
            let Some(file) = self.defs.file(id.entry) else { return false };
            self.closure(&file).certain.iter().any(|entry| headers.contains(entry))
        });
        match (linked.is_empty(), external.is_empty()) {
            (false, _) => linked,
            (true, false) => external,
            (true, true) => declarations[..1].to_vec(),
        }
    }

    /// Functions and values with external linkage that have a body.
    fn external(&self, all: &[DefId]) -> Vec<DefId> {
        let mut external = all.to_vec();
        external.retain(|&id| {
            let is_visible = self.defs.satisfies(id, |file, def| {
                let is_header = file.path.ends_with(".h") || file.path.ends_with(".hpp");
                !is_static(def) && def.kind != SymbolKind::Macro && !is_header
            });
            is_visible && self.filter.has_body(id)
        });
        external
    }

    /// Grades the targets of a certain declaration.
    fn grade(&self, ctx: SiteContext<'_>, targets: Vec<DefId>) -> Resolution {
        let are_own = targets.iter().all(|id| id.entry == ctx.file.entry);
        let evidence = if are_own { "same scope" } else { "include" };
        match targets[..] {
            [only] if self.is_conditional(ctx, only) => {
                Resolution { grade: Grade::UniqueName, targets, evidence: "defined under a condition" }
            }
            [_] => Resolution { grade: Grade::Exact, targets, evidence },
            _ => Resolution { grade: Grade::Ambiguous, targets, evidence: "several definitions there" },
        }
    }

    /// Returns whether a definition that the site sees is compiled under a condition that does not hold for
    /// the site as well. A function of another file is not: its declaration decides.
    fn is_conditional(&self, ctx: SiteContext<'_>, id: DefId) -> bool {
        self.defs.satisfies(id, |file, def| {
            let seen =
                def.kind == SymbolKind::Macro || !file.path.ends_with(".c") || id.entry == ctx.file.entry;
            let Some(facts) = self.sources.facts(file).filter(|_| seen) else { return false };
            let site = (id.entry == ctx.file.entry).then_some(ctx.site.at);
            facts.conditions_at(def.range.start).any(|range| site.is_none_or(|site| !range.contains(&site)))
        })
    }

    fn seen(&self, all: &[DefId], files: &[u32]) -> Vec<DefId> {
        all.iter().filter(|id| files.contains(&id.entry)).copied().collect()
    }

    fn has_word(&self, entry: u32, word: &str) -> bool {
        let facts = self.defs.file(entry).and_then(|file| self.sources.facts(&file));
        facts.is_some_and(|facts| facts.has_word(word))
    }

    /// The closure of a file.
    fn closure(&self, file: &FileDefs) -> Rc<Closure> {
        if let Some(cached) = self.closures.borrow().get(&file.entry) {
            return cached.clone();
        }

        let closure = Rc::new(self.read_closure(file));
        self.closures.borrow_mut().insert(file.entry, closure.clone());
        closure
    }

    /// Follows the `#include` lines of a file, breadth first.
    fn read_closure(&self, file: &FileDefs) -> Closure {
        let mut closure = Closure { certain: vec![file.entry], ..Closure::default() };
        let mut next: Vec<(u32, bool)> = vec![(file.entry, true)];
        let mut at = 0;

        while let Some(&(entry, is_certain)) = next.get(at) {
            at += 1;

            let header = self.defs.file(entry);
            let Some((header, facts)) =
                header.and_then(|header| Some((header.clone(), self.sources.facts(&header)?)))
            else {
                closure.is_incomplete = true;
                continue;
            };

            closure.is_cpp |= !header.path.ends_with(".c") && facts.has_cpp();
            for import in &facts.imports {
                match self.paths.resolve(&import.path, &header, self.defs, self.sources) {
                    Module::Files(files) => {
                        let is_only = files.len() == 1 && facts.conditions_at(import.at).next().is_none();
                        for entry in files {
                            closure.add(entry, is_certain && is_only, &mut next);
                        }
                    }
                    _ => {
                        // A header of the system, or one that the build makes, defines no function of the
                        // repository.
                        closure.is_incomplete |= !import.path.starts_with('<') && !is_generated(&import.path)
                    }
                }
            }
        }

        closure
    }
}

impl Closure {
    /// Adds a header, and follows it unless it is known already, or known only as possible and now certain.
    fn add(&mut self, entry: u32, is_certain: bool, next: &mut Vec<(u32, bool)>) {
        let is_known = self.certain.contains(&entry) || !is_certain && self.possible.contains(&entry);
        if is_known {
            return;
        }
        if next.len() >= MAX_HEADERS {
            self.is_incomplete = true;
            return;
        }

        next.push((entry, is_certain));
        if is_certain {
            self.possible.retain(|known| *known != entry);
            self.certain.push(entry);
        } else {
            self.possible.push(entry);
        }
    }
}

fn is_enumerator(def: &Def) -> bool {
    def.kind == SymbolKind::EnumMember
}

/// Returns whether the signature has the keyword `static` before the name.
fn is_static(def: &Def) -> bool {
    let before = def.signature.split(def.name.as_str()).next().unwrap_or_default();
    before.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "static")
}

/// Returns whether a header that the repository does not have is made by `configure`: it has settings and no
/// functions.
fn is_generated(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    ["config.h", "version.h"].iter().any(|usual| {
        name.strip_suffix(usual).is_some_and(|rest| rest.is_empty() || rest.ends_with(['-', '_', '.']))
    })
}

/// Grades by the number of candidates.
fn count(targets: Vec<DefId>, evidence: &'static str) -> Resolution {
    match targets.len() {
        1 => Resolution { grade: Grade::UniqueName, targets, evidence },
        _ => Resolution { grade: Grade::Ambiguous, targets, evidence: "several definitions of that name" },
    }
}
