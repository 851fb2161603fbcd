//! Follows callers, callees and references level by level.
//!
//! A level looks up all its symbols at once. Only exact edges and unique names lead to the next level: the
//! target of an ambiguous edge is listed and not followed. Everything is ordered by path and position, so an
//! answer depends only on the view, except where a limit is reached, which the answer reports.

mod named_files;
mod undefined;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use codeweaver::query::view::View;
use codeweaver::query::{QueryError, Searcher, ViewRequest};
use codeweaver_chunk::SymbolKind;

use super::candidates::CandidateFilter;
use super::definitions::{DefId, Definitions, FileDefs};
use super::extract;
use super::facts::{Facts, Reference};
use super::left_out::LeftOutFiles;
use super::modules::Paths;
use super::name_check::{self, NameCheck, is_own_name};
use super::overrides::Overrides;
use super::request::{CallGraphRequest, Direction};
use super::resolution::Resolution;
use super::resolver::Resolver;
use super::response::{CallGraphResponse, EdgeKind, Grade};
use super::response_builder::{Endpoint, NewEdge, NoteSubject, ResponseBuilder};
use super::sources::{Limit, Limits, Sources};
use super::symbol_spec;
use super::unlisted::UnlistedPlaces;
use named_files::{NamedFiles, is_output, local_names};

/// Maximum number of definitions that one symbol stands for.
const MAX_ROOTS: usize = 50;
/// Maximum number of symbols of one level.
const MAX_LEVEL: usize = 200;

/// Answers a request from one view, with the request for it. Must run on a stack that is large enough for
/// parsers.
pub(super) fn answer(
    searcher: &Searcher,
    (view, asked): (&View, &ViewRequest),
    request: &CallGraphRequest,
    started: Instant,
) -> Result<CallGraphResponse, QueryError> {
    let limits = Limits {
        files: request.max_files,
        bytes: request.max_bytes,
        deadline: started + Duration::from_millis(request.timeout_ms),
        cancel: &request.cancel,
    };

    let (defs, paths) = (Definitions::new(view), Paths::new(view));
    let sources = Sources::new(&searcher.codebase, view, limits);
    let filter = CandidateFilter { defs: &defs, sources: &sources };
    let mut walk = Walk {
        request,
        defs: &defs,
        sources: &sources,
        paths: &paths,
        filter,
        resolver: Resolver::new(filter, &paths),
        answer: ResponseBuilder::new(view, request, &defs, &sources),
        left_out: LeftOutFiles::new(searcher, view, asked),
        failure: None,
        n_parsed: Cell::new(0),
    };

    let symbols = || request.symbols.iter().map(|symbol| symbol_spec::without_arguments(symbol));
    let mut found: Vec<Vec<DefId>> = Vec::new();
    for symbol in symbols() {
        let of_symbol = walk.definitions_of(symbol);
        found.push(if of_symbol.is_empty() { walk.stood_for(symbol) } else { of_symbol });
    }
    let mut roots: Vec<DefId> = Vec::new();
    for &id in found.iter().flatten() {
        if !roots.contains(&id) {
            roots.push(id);
        }
    }

    // A module or a package of the same name neither calls nor is called.
    let kind = |id: DefId| defs.with(id, |_, def| def.kind);
    if roots.iter().any(|&id| kind(id).is_some_and(SymbolKind::is_callable)) {
        roots.retain(|&id| !matches!(kind(id), Some(SymbolKind::Module | SymbolKind::Namespace)));
    }

    // Sources come before what is built of them, where a limit may be reached.
    roots.sort_by_key(|&id| defs.satisfies(id, |file, _| is_output(&file.path)));
    let n_found = roots.len();
    roots.truncate(MAX_ROOTS);
    for &root in &roots {
        walk.answer.reach(Endpoint::Definition(root), 0);
    }

    let undefined = symbols().zip(&found).filter(|(_, found)| found.is_empty());
    let undefined: Vec<&str> = undefined.map(|(symbol, _)| symbol).collect();
    walk.search_left_out(&undefined, &roots)?;
    for symbol in undefined {
        walk.add_undefined(symbol)?;
    }

    match request.direction {
        Direction::Callers => walk.levels(&roots, Walk::callers),
        Direction::Callees => walk.levels(&roots, Walk::callees),
        Direction::Both => {
            walk.levels(&roots, Walk::callers);
            walk.levels(&roots, Walk::callees);
        }
        Direction::References => walk.references(&roots),
        Direction::Definitions => {}
    }

    // A cancelled walk is incomplete, so no answer is made of it.
    request.cancel.check()?;
    if let Some(failure) = walk.failure {
        return Err(failure);
    }
    let mut response = walk.answer.finish(&found, &roots, started);
    if n_found > roots.len() {
        response.warnings.push(format!(
            "CALL_GRAPH_ROOTS_LIMIT: {n_found} definitions, {MAX_ROOTS} of them are answered for"
        ));
    }

    Ok(response)
}

/// One request on its way through the call graph.
struct Walk<'a, 'v> {
    request: &'a CallGraphRequest,
    defs: &'a Definitions<'v>,
    sources: &'a Sources<'v>,
    paths: &'a Paths<'v>,
    filter: CandidateFilter<'a, 'v>,
    resolver: Resolver<'a, 'v>,
    answer: ResponseBuilder<'a, 'v>,
    left_out: LeftOutFiles<'a>,
    /// The first failure to search the files that are left out.
    failure: Option<QueryError>,
    /// Number of files that were parsed for the check of names.
    n_parsed: Cell<usize>,
}

impl<'a, 'v> Walk<'a, 'v> {
    /// Searches the left-out files for all names of the request at once.
    fn search_left_out(&mut self, undefined: &[&str], roots: &[DefId]) -> Result<(), QueryError> {
        let mut names: BTreeSet<String> =
            undefined.iter().filter_map(|symbol| undefined::name_of(symbol)).map(str::to_owned).collect();
        if !matches!(self.request.direction, Direction::Callees | Direction::Definitions) {
            let of_roots = self.names_of(&self.with_constructors(roots));
            names.extend(of_roots.into_values().flatten());
        }

        self.left_out.search(&names, &mut self.answer.unlisted)
    }

    /// The definitions that a symbol stands for.
    fn definitions_of(&self, symbol: &str) -> Vec<DefId> {
        let found = symbol_spec::find(symbol, self.defs, self.paths);

        // A declaration and its definition are one symbol.
        let families: BTreeSet<&str> =
            found.iter().filter_map(|id| self.defs.file(id.entry)?.dialect.map(|d| d.family)).collect();

        match (families.len(), found.first().and_then(|id| self.defs.file(id.entry)?.dialect)) {
            (1, Some(dialect)) if self.request.direction != Direction::Definitions => {
                let found = self.filter.without_declarations(dialect, self.defined(found, dialect.family));
                found.into_iter().map(|id| self.filter.definition_of_overload(id)).collect()
            }
            _ => found,
        }
    }

    /// `found`, with the definitions of a single one, which may be a declaration at a location: those of its
    /// file, or else of all files.
    fn defined(&self, found: Vec<DefId>, family: &str) -> Vec<DefId> {
        let &[id] = found.as_slice() else { return found };
        let Some((name, qualified)) = self.defs.with(id, |_, def| (def.name.clone(), def.qualified.clone()))
        else {
            return found;
        };

        let mut all = self.defs.named(&name, family);
        all.retain(|&other| self.defs.satisfies(other, |_, def| def.qualified == qualified));
        let own: Vec<DefId> = all.iter().copied().filter(|other| other.entry == id.entry).collect();
        let dialect = self.defs.file(id.entry).and_then(|file| file.dialect);
        for candidates in [own, all] {
            let Some(dialect) = dialect.filter(|_| candidates.contains(&id)) else { continue };
            let with_body = self.filter.without_declarations(dialect, candidates);
            if !with_body.contains(&id) && !with_body.is_empty() {
                return with_body;
            }
        }
        found
    }

    /// Runs `step` on each level; its result is the next level, without symbols that were in an earlier one.
    fn levels(&mut self, roots: &[DefId], step: fn(&mut Self, &[DefId], u32) -> BTreeSet<DefId>) {
        let mut level: Vec<DefId> = roots.to_vec();
        let mut seen: BTreeSet<DefId> = roots.iter().copied().collect();
        for depth in 1..=self.request.depth {
            let found = step(self, &level, depth);

            // Recursion would lead back to earlier levels.
            level = found.into_iter().filter(|id| seen.insert(*id)).collect();
            level.sort_by_cached_key(|&id| self.answer.order(Endpoint::Definition(id)));

            if level.len() > MAX_LEVEL {
                self.sources.record_limit(Limit::Level);
                level.truncate(MAX_LEVEL);
            }

            if level.is_empty() || self.sources.is_out_of_time() {
                return;
            }
        }
    }

    /// Adds the callers of a level. Returns the symbols of the next level.
    fn callers(&mut self, level: &[DefId], depth: u32) -> BTreeSet<DefId> {
        let wanted = self.with_constructors(level);
        // A call of a method that is overridden may be a call of the one that overrides it.
        let through = if depth == 1 { self.overrides().overridden(level) } else { BTreeMap::new() };
        let mut next = BTreeSet::new();

        for (family, names) in self.names_of(&wanted) {
            let NamedFiles { files, names, modules } = self.files_with(&names, family, level);
            for file in files {
                if self.request.cancel.is_cancelled() {
                    return next;
                }
                let Some(facts) = self.sources.facts(&file) else { continue };

                let local = local_names(&facts, &names);
                let mut settled = BTreeSet::new();
                for site in facts.references.iter().filter(|site| local.contains(&*site.name)) {
                    let resolution = self.resolver.resolve(&file, &facts, site);
                    let found = resolution.as_ref();
                    if name_check::is_settled(self.defs, &wanted, (&facts, site), found) {
                        settled.insert(site.at);
                    }

                    let Some(resolution) = resolution else { continue };
                    let resolution = self.through_overridden(resolution, &through);
                    for &target in resolution.targets.iter().filter(|target| wanted.contains_key(target)) {
                        let from = self.endpoint_at(&file, site.at);
                        // A type stands for its constructors.
                        let target = wanted.get(&target).copied().unwrap_or(target);
                        let is_edge = self.answer.add_edge(NewEdge {
                            from,
                            to: Some(target),
                            file: &file,
                            site,
                            resolution: &resolution,
                            kind: EdgeKind::Call,
                            depth,
                        });
                        if let (Endpoint::Definition(id), true) =
                            (from, is_edge && resolution.grade <= Grade::UniqueName)
                        {
                            next.insert(id);
                        }
                    }
                }

                if depth == 1 {
                    self.add_late_imports(&file, &facts, &modules);
                    self.name_check(&wanted, true, |check, found| {
                        check.check((&file, &facts), &names, &settled, found);
                    });
                }
            }

            if depth == 1 {
                self.add_imports_of_others(&modules, family);
                self.check_others(&wanted, family, &names);
            }
        }

        // Callers of callers are further uses, and the symbols themselves have been looked at.
        let is_open =
            |&id: &DefId| !self.answer.leads_to(id) && self.overrides().may_be_called_from_outside(id);
        if depth == 1 && level.iter().any(is_open) {
            self.answer.has_foreign_calls = true;
        }
        next
    }

    /// A call of an overridden method as one that may mean the methods which override it.
    fn through_overridden(
        &self,
        resolution: Resolution,
        through: &BTreeMap<DefId, Vec<DefId>>,
    ) -> Resolution {
        let mut overriding: Vec<DefId> =
            resolution.targets.iter().filter_map(|id| through.get(id)).flatten().copied().collect();
        overriding.retain(|id| !resolution.targets.contains(id));
        if overriding.is_empty() {
            return resolution;
        }

        let targets = resolution.targets.into_iter().chain(overriding).collect();
        Resolution { grade: Grade::Ambiguous, targets, evidence: "through the method that it overrides" }
    }

    fn overrides(&self) -> Overrides<'_, 'a, 'v> {
        Overrides::new(self.resolver.types(), self.filter)
    }

    /// Runs `look` with the check of the names of `wanted`.
    fn name_check(
        &mut self,
        wanted: &BTreeMap<DefId, DefId>,
        only_calls: bool,
        look: impl FnOnce(NameCheck<'_, '_, '_>, &mut UnlistedPlaces),
    ) {
        let check = NameCheck {
            defs: self.defs,
            sources: self.sources,
            resolver: &self.resolver,
            wanted,
            only_calls,
            n_parsed: &self.n_parsed,
        };

        look(check, &mut self.answer.unlisted);
    }

    /// Checks the files of other languages, and those that are left out of the index.
    fn check_others(
        &mut self,
        wanted: &BTreeMap<DefId, DefId>,
        family: &'static str,
        names: &BTreeSet<String>,
    ) {
        self.name_check(wanted, true, |check, found| {
            names.iter().for_each(|name| check.check_others(name, family, found));
        });

        let searched = self.left_out.add_uses(names, family, self.defs, &mut self.answer.unlisted);
        self.failure = self.failure.take().or(searched.err());
    }

    /// Adds the callees of a level. Returns the symbols of the next level.
    fn callees(&mut self, level: &[DefId], depth: u32) -> BTreeSet<DefId> {
        let mut next = BTreeSet::new();

        for &id in level {
            if self.request.cancel.is_cancelled() {
                return next;
            }
            let Some(file) = self.defs.file(id.entry) else { continue };
            let Some(facts) = self.sources.facts(&file) else {
                self.note_unread(&file);
                continue;
            };

            let def = file.def(id.symbol);
            let is_container = def.is_type() || def.kind == SymbolKind::Impl;
            for site in facts.references.iter().filter(|site| def.range.contains(&site.at)) {
                let from = self.endpoint_at(&file, site.at);
                // A call in a nested function belongs to the nested function.
                if from != Endpoint::Definition(id) && !(is_container || self.is_value(from)) {
                    continue;
                }
                let from = if is_container { from } else { Endpoint::Definition(id) };
                let Some(resolution) = self.resolver.resolve(&file, &facts, site) else { continue };
                let edge = NewEdge {
                    from,
                    to: None,
                    file: &file,
                    site,
                    resolution: &resolution,
                    kind: EdgeKind::Call,
                    depth,
                };
                if resolution.targets.is_empty() {
                    self.answer.add_edge(edge);
                    continue;
                }

                for &target in &resolution.targets {
                    let is_edge = self.answer.add_edge(NewEdge { to: Some(target), ..edge });
                    // The target of an ambiguous call is a guess, so it is not followed.
                    if is_edge && resolution.grade <= Grade::UniqueName && self.is_followed(target) {
                        next.insert(target);
                    }
                }
            }

            if facts.has_errors {
                let about = NoteSubject { symbol: Some(id), line: None };
                let detail = "the parser did not understand all of this file";
                self.answer.note(&file, "parse_errors", about, detail);
            }
        }
        next
    }

    /// Adds every reference to `roots`, calls included: the members that override them, and references to
    /// these.
    fn references(&mut self, roots: &[DefId]) {
        let mut wanted = self.with_constructors(roots);
        for (overriding, root, grade) in self.overrides().overriding(roots) {
            self.add_override(overriding, root, grade);
            wanted.entry(overriding).or_insert(overriding);
        }
        let roots_by_id: BTreeMap<DefId, DefId> = roots.iter().map(|&id| (id, id)).collect();

        for (family, names) in self.names_of(&roots_by_id) {
            let NamedFiles { files, names, modules } = self.files_with(&names, family, roots);
            for (at, file) in files.iter().enumerate() {
                let (Some(facts), Some(dialect)) = (self.sources.facts(file), file.dialect) else {
                    continue;
                };
                let local = local_names(&facts, &names);
                let found = self.sources.occurrences(file.entry, &local).unwrap_or_else(|| {
                    extract::occurrences_of(facts.text.as_bytes(), dialect, &local, |_, _| true)
                        .unwrap_or_default()
                });

                let mut settled = BTreeSet::new();
                for mention in found.iter().filter_map(|occurrence| occurrence.reference.as_ref()) {
                    if self.sources.is_out_of_time() {
                        self.sources.record_unread(&files[at..]);
                        return;
                    }
                    let is_own = is_own_name(file, &facts, mention.at, &mention.name);
                    if is_own || self.add_mention(file, &facts, mention, &wanted) {
                        settled.insert(mention.at);
                    }
                }

                self.add_late_imports(file, &facts, &modules);
                self.name_check(&wanted, false, |check, found| {
                    check.check((file, &facts), &names, &settled, found);
                });
            }
            self.add_imports_of_others(&modules, family);
            self.check_others(&wanted, family, &names);
        }
    }

    /// Adds the edge from a member to the one that it overrides.
    fn add_override(&mut self, overriding: DefId, root: DefId, grade: Grade) {
        let Some(file) = self.defs.file(overriding.entry) else { return };
        let site = Reference::to_definition(file.def(overriding.symbol));
        let evidence =
            if grade == Grade::Exact { "a base of its type" } else { "a base that is not certain" };

        self.answer.add_edge(NewEdge {
            from: Endpoint::Definition(overriding),
            to: Some(root),
            file: &file,
            site: &site,
            resolution: &Resolution { grade, targets: vec![root], evidence },
            kind: EdgeKind::Override,
            depth: 1,
        });
    }

    /// Adds the edges from a mention to the symbols in `wanted`. Returns whether it is known what it means.
    fn add_mention(
        &mut self,
        file: &FileDefs,
        facts: &Facts,
        mention: &Reference,
        wanted: &BTreeMap<DefId, DefId>,
    ) -> bool {
        let call = facts.references.iter().find(|call| call.at == mention.at);
        let is_base =
            facts.bases.iter().any(|(at, name)| (*at..at + name.len() as u32).contains(&mention.at));
        let kind = match call {
            Some(_) => EdgeKind::Call,
            None if is_base => EdgeKind::Inherit,
            None => EdgeKind::Reference,
        };

        let resolution = self.resolver.resolve(file, facts, call.unwrap_or(mention));
        let is_settled = name_check::is_settled(self.defs, wanted, (facts, mention), resolution.as_ref());
        let Some(resolution) = resolution else { return is_settled };
        let from = self.endpoint_at(file, mention.at);
        for target in resolution.targets.iter().filter_map(|target| wanted.get(target).copied()) {
            self.answer.add_edge(NewEdge {
                from,
                to: Some(target),
                file,
                site: mention,
                resolution: &resolution,
                kind,
                depth: 1,
            });
        }

        is_settled
    }

    /// Adds a note if the file could not be read or parsed. Returns whether that is so.
    fn note_unread(&mut self, file: &FileDefs) -> bool {
        let Some(problem) = self.sources.problem(file.entry) else { return false };
        self.answer.note(file, problem, NoteSubject::default(), "its calls are not known");
        // The note is about the file, so the file is a node of the answer.
        self.answer.reach(Endpoint::File(file.entry), self.request.depth);
        true
    }

    /// The names by which symbols are called, by language family.
    fn names_of(&self, wanted: &BTreeMap<DefId, DefId>) -> BTreeMap<&'static str, BTreeSet<String>> {
        let mut names: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();

        for &id in wanted.keys() {
            let called = self.defs.with(id, |file, def| {
                // A constructor is called by the name of its type.
                let parent = def.parent.map(|parent| file.def(parent).name.clone());
                let type_name = parent.filter(|_| def.kind == SymbolKind::Constructor);
                file.dialect.map(|dialect| (dialect.family, type_name.unwrap_or_else(|| def.name.clone())))
            });
            if let Some((family, name)) = called.flatten() {
                names.entry(family).or_default().insert(name);
            }
        }

        names
    }

    /// Maps each definition that counts as a symbol of the level to that symbol: itself, and the constructors
    /// of a type.
    fn with_constructors(&self, level: &[DefId]) -> BTreeMap<DefId, DefId> {
        let mut wanted: BTreeMap<DefId, DefId> = BTreeMap::new();

        for &id in level {
            let constructors = self.defs.with(id, |file, def| {
                if def.is_type() { self.filter.constructors_of(file, id.symbol) } else { Vec::new() }
            });
            for constructor in constructors.unwrap_or_default() {
                wanted.entry(constructor).or_insert(id);
            }
        }

        wanted.extend(level.iter().map(|&id| (id, id)));
        wanted
    }

    /// The source of an edge at an offset: the innermost callable, else the innermost definition, else the
    /// file.
    fn endpoint_at(&self, file: &FileDefs, at: u32) -> Endpoint {
        let symbol = file.callable_around(at).or_else(|| {
            let definition = file.around(at).find(|(_, def)| {
                !matches!(def.kind, SymbolKind::Module | SymbolKind::Namespace | SymbolKind::Impl)
            });
            definition.map(|(symbol, _)| symbol)
        });

        match symbol {
            Some(symbol) => Endpoint::Definition(file.id(symbol)),
            None => Endpoint::File(file.entry),
        }
    }

    fn is_value(&self, end: Endpoint) -> bool {
        end.definition().is_some_and(|id| self.defs.satisfies(id, |_, def| def.is_value()))
    }

    fn is_followed(&self, id: DefId) -> bool {
        self.defs.satisfies(id, |_, def| def.kind.is_callable())
    }
}
