//! Follows callers, callees and references level by level.
//!
//! A level looks up all its symbols at once. Only exact edges and unique names lead to the next level: the
//! target of an ambiguous edge is listed and not followed. Everything is ordered by path and position, so an
//! answer depends only on the view, except where a limit is reached, which the answer reports.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use codeweaver::query::locate;
use codeweaver::query::symbol_lookup;
use codeweaver::query::view::View;
use codeweaver::query::view::freshness::RequestUpdate;
use codeweaver::query::{Cancel, Filters, QueryError, Searcher, ViewRequest, WorktreeMode};
use codeweaver_chunk::SymbolKind;
use codeweaver_git::quoting;
use codeweaver_store::StoreError;

use super::call_sites::{self, CallSite};
use super::candidates::CandidateFilter;
use super::definitions::{DefId, Definitions, FileDefs, segments};
use super::extract;
use super::facts::{Facts, Reference};
use super::modules::Paths;
use super::request::{CallGraphRequest, Direction};
use super::resolver::Resolver;
use super::response::{CallGraphResponse, CallGraphStatus, EdgeKind, Grade, NEAR_NAMES};
use super::response_builder::{Endpoint, MAX_CANDIDATES, NewEdge, NoteSubject, ResponseBuilder};
use super::sources::{Limits, PARSER_STACK, Sources, limit};
use super::symbol_spec::{self, parse_location};

/// Maximum number of definitions that one symbol stands for.
const MAX_ROOTS: usize = 50;
/// Maximum number of times that an answer is repeated with changed files that it showed as committed.
const MAX_ROUNDS: usize = 3;
/// Maximum number of symbols without a definition for which the nearest names are looked up.
const MAX_MISSPELT: usize = 3;
/// Maximum number of symbols of one level.
const MAX_LEVEL: usize = 200;
/// The time limit of work that has none.
const UNLIMITED: Duration = Duration::from_secs(7 * 24 * 3600);

/// The cross-references of a codebase, answered from the views that its searches use.
pub struct Xref<'a> {
    searcher: &'a Searcher,
}

impl<'a> Xref<'a> {
    pub fn new(searcher: &'a Searcher) -> Xref<'a> {
        Xref { searcher }
    }

    /// Answers `request` from the current view of the worktree, or of `request.rev`.
    ///
    /// Parses the files that may hold call sites; `request` limits their number, their bytes and the time.
    pub fn query(
        &self,
        request: &CallGraphRequest,
        updater: RequestUpdate<'_>,
    ) -> Result<CallGraphResponse, QueryError> {
        self.searcher.guarded(|| self.query_unguarded(request, updater))
    }

    fn query_unguarded(
        &self,
        request: &CallGraphRequest,
        updater: RequestUpdate<'_>,
    ) -> Result<CallGraphResponse, QueryError> {
        request.check()?;
        let started = Instant::now();
        let codebase = &self.searcher.codebase;

        let defaults = ViewRequest::new(&codebase.settings);
        let located = request.symbols.iter().filter_map(|symbol| parse_location(symbol));
        let paths = located.filter_map(|(path, ..)| locate::clean(path).ok());
        let mut wanted = ViewRequest {
            revision: request.rev.clone(),
            worktree: if request.committed { WorktreeMode::Exclude } else { defaults.worktree },
            budget: ViewRequest::UNLIMITED,
            cancel: request.cancel.clone(),
            files: paths.map(|path| quoting::text(&path)).collect(),
            ..defaults
        };

        let mut round = 0;
        loop {
            let view = self.searcher.view(&wanted, updater)?;
            let response = self.answer(&view, request, started)?;

            // Lines of a committed version are never shown for a file that has changed.
            let pending = response.files().filter(|path| view.is_pending(quoting::bytes(path).as_ref()));
            let pending: BTreeSet<String> = pending.map(str::to_owned).collect();

            round += 1;
            if pending.is_empty() || round > MAX_ROUNDS {
                return Ok(with_near_names(response, &view, request));
            }
            wanted.files.extend(pending);
        }
    }

    fn answer(
        &self,
        view: &View,
        request: &CallGraphRequest,
        started: Instant,
    ) -> Result<CallGraphResponse, QueryError> {
        self.on_large_stack(|| answer(self.searcher, view, request, started))
    }

    /// Every call site of the current view in the files whose path begins with one of `prefixes`, ordered by
    /// path and position, without limits.
    pub fn call_sites(
        &self,
        prefixes: &[String],
        updater: RequestUpdate<'_>,
        visit: &mut (dyn FnMut(CallSite) + Send),
    ) -> Result<(), QueryError> {
        let codebase = &self.searcher.codebase;
        let wanted = ViewRequest { budget: ViewRequest::UNLIMITED, ..ViewRequest::new(&codebase.settings) };
        let view = self.searcher.view(&wanted, updater)?;

        let cancel = Cancel::default();
        let deadline = Instant::now() + UNLIMITED;
        let limits = Limits { files: usize::MAX, bytes: u64::MAX, deadline, cancel: &cancel };

        self.on_large_stack(|| {
            let (defs, paths) = (Definitions::new(&view), Paths::new(&view));
            let sources = Sources::new(codebase, &view, limits);
            let filter = CandidateFilter { defs: &defs, sources: &sources };
            let resolver = Resolver::new(filter, &paths);
            call_sites::each((&defs, &sources, &paths, &resolver), prefixes, visit);
            Ok(())
        })
    }

    /// Runs `work` on a thread of its own: parsers recurse, and the stack of the calling thread may be small.
    fn on_large_stack<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, QueryError> + Send,
    ) -> Result<T, QueryError> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("xref".to_owned()).stack_size(PARSER_STACK);

            let thread = thread.spawn_scoped(scope, work).map_err(|source| {
                let path = self.searcher.codebase.root();
                StoreError::Io { action: "start a thread for", path, source }
            })?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Answers a request from one view. Must run on a stack that is large enough for parsers.
fn answer(
    searcher: &Searcher,
    view: &View,
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
    };

    let found: Vec<Vec<DefId>> =
        request.symbols.iter().map(|symbol| walk.definitions_of(symbol.trim())).collect();
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

    let n_found = roots.len();
    roots.truncate(MAX_ROOTS);
    for &root in &roots {
        walk.answer.reach(Endpoint::Definition(root), 0);
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
}

impl Walk<'_, '_> {
    /// The definitions that a symbol stands for.
    fn definitions_of(&self, symbol: &str) -> Vec<DefId> {
        let found = symbol_spec::find(symbol, self.defs, self.paths);

        // A declaration and its definition are one symbol.
        let families: BTreeSet<&str> =
            found.iter().filter_map(|id| self.defs.file(id.entry)?.dialect.map(|d| d.family)).collect();

        match (families.len(), found.first().and_then(|id| self.defs.file(id.entry)?.dialect)) {
            (1, Some(dialect)) if self.request.direction != Direction::Definitions => {
                self.filter.without_declarations(dialect, found)
            }
            _ => found,
        }
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
                self.sources.record_limit(limit::LEVEL);
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
        let mut next = BTreeSet::new();

        for (family, names) in self.names_of(&wanted) {
            for file in self.files_with(&names, family, level) {
                if self.request.cancel.is_cancelled() {
                    return next;
                }
                let Some(facts) = self.sources.facts(&file) else { continue };

                let local = local_names(&facts, &names);
                for site in facts.references.iter().filter(|site| local.contains(&*site.name)) {
                    let Some(resolution) = self.resolver.resolve(&file, &facts, site) else { continue };
                    for &target in resolution.targets.iter().filter(|target| wanted.contains_key(target)) {
                        let from = self.endpoint_at(&file, site.at);
                        // A type stands for its constructors.
                        let target = wanted.get(&target).copied().unwrap_or(target);
                        self.answer.add_edge(NewEdge {
                            from,
                            to: Some(target),
                            file: &file,
                            site,
                            resolution: &resolution,
                            kind: EdgeKind::Call,
                            depth,
                        });
                        if let (Endpoint::Definition(id), true) =
                            (from, resolution.grade <= Grade::UniqueName)
                        {
                            next.insert(id);
                        }
                    }
                }
            }
        }

        next
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

                for &target in resolution.targets.iter().take(MAX_CANDIDATES) {
                    self.answer.add_edge(NewEdge { to: Some(target), ..edge });
                    // The target of an ambiguous call is a guess, so it is not followed.
                    if resolution.grade <= Grade::UniqueName && self.is_followed(target) {
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

    /// Adds every reference to `roots`, calls included.
    fn references(&mut self, roots: &[DefId]) {
        let wanted = self.with_constructors(roots);
        let roots_by_id: BTreeMap<DefId, DefId> = roots.iter().map(|&id| (id, id)).collect();

        for (family, names) in self.names_of(&roots_by_id) {
            for file in self.files_with(&names, family, roots) {
                let Some(facts) = self.sources.facts(&file) else { continue };
                for mention in &mentions(&file, &facts, &names) {
                    if self.sources.is_out_of_time() {
                        return;
                    }
                    if !is_own_name(&file, &facts, mention) {
                        self.add_mention(&file, &facts, mention, &wanted);
                    }
                }
            }
        }
    }

    /// Adds the edges from a mention to the symbols in `wanted`.
    fn add_mention(
        &mut self,
        file: &FileDefs,
        facts: &Facts,
        mention: &Reference,
        wanted: &BTreeMap<DefId, DefId>,
    ) {
        let call = facts.references.iter().find(|call| call.at == mention.at);
        let is_base =
            facts.bases.iter().any(|(at, name)| (*at..at + name.len() as u32).contains(&mention.at));
        let kind = match call {
            Some(_) => EdgeKind::Call,
            None if is_base => EdgeKind::Inherit,
            None => EdgeKind::Reference,
        };

        let Some(resolution) = self.resolver.resolve(file, facts, call.unwrap_or(mention)) else { return };
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
    }

    /// Files that may hold one of `names`, with their facts loaded; files near those of the symbols come
    /// first.
    fn files_with(
        &mut self,
        names: &BTreeSet<String>,
        family: &'static str,
        near: &[DefId],
    ) -> Vec<Rc<FileDefs>> {
        let mut entries = BTreeSet::new();
        for name in names {
            entries.extend(self.defs.mentioning(name, family));
        }

        self.answer.candidate_files.extend(&entries);

        let homes: BTreeSet<String> =
            near.iter().filter_map(|id| Some(self.defs.file(id.entry)?.path.clone())).collect();
        let mut files: Vec<Rc<FileDefs>> =
            entries.iter().filter_map(|&entry| self.defs.file(entry)).collect();
        // If a limit is reached, the files that are most likely to matter have been read.
        files.sort_by_cached_key(|file| (distance(&homes, &file.path), file.path.clone()));

        let words: Vec<String> = names.iter().cloned().collect();
        self.sources.prefetch(&files, &words);
        for file in &files {
            self.note_unread(file);
        }

        files.retain(|file| self.sources.is_loaded(file.entry));
        files
    }

    /// Adds a note if the file could not be read or parsed.
    fn note_unread(&mut self, file: &FileDefs) {
        if let Some(problem) = self.sources.problem(file.entry) {
            self.answer.note(file, problem, NoteSubject::default(), "its calls are not known");
            // The note is about the file, so the file is a node of the answer.
            self.answer.reach(Endpoint::File(file.entry), self.request.depth);
        }
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

/// `response`, with the nearest names that are defined if the symbols have no definition.
fn with_near_names(
    mut response: CallGraphResponse,
    view: &View,
    request: &CallGraphRequest,
) -> CallGraphResponse {
    if response.status != CallGraphStatus::NotFound {
        return response;
    }

    let filters = Filters { include_tests: true, ..Filters::default() };
    for symbol in request.symbols.iter().filter(|symbol| parse_location(symbol).is_none()).take(MAX_MISSPELT)
    {
        let near = symbol_lookup::nearest(view, symbol, &filters);
        if !near.is_empty() {
            let near = near.join(", ");
            response.warnings.push(format!("{NEAR_NAMES}: the nearest names to {symbol} are {near}"));
        }
    }
    response
}

/// The sort key of a file by its distance from `homes`: these first, then by the folders shared with them.
fn distance(homes: &BTreeSet<String>, path: &str) -> (bool, std::cmp::Reverse<usize>) {
    let shared = homes
        .iter()
        .map(|home| home.split('/').zip(path.split('/')).take_while(|(a, b)| a == b).count())
        .max();
    (!homes.contains(path), std::cmp::Reverse(shared.unwrap_or(0)))
}

/// The references in a file to one of `names` or to an alias of one, in order of position.
fn mentions(file: &FileDefs, facts: &Facts, names: &BTreeSet<String>) -> Vec<Reference> {
    let Some(dialect) = file.dialect else { return Vec::new() };
    let mut mentions = Vec::new();
    for name in local_names(facts, names) {
        mentions.extend(extract::references_to(facts.text.as_bytes(), dialect, &name).unwrap_or_default());
    }
    mentions.sort_by_key(|site| site.at);
    mentions
}

/// `names`, and the aliases that imports of the file give them.
fn local_names(facts: &Facts, names: &BTreeSet<String>) -> BTreeSet<String> {
    let mut local = names.clone();

    for import in &facts.imports {
        let original = import.name.as_deref().or_else(|| segments(&import.path).last());
        if let (Some(alias), Some(original)) = (&import.alias, original)
            && (names.contains(original) || import.default)
        {
            local.insert(alias.to_string());
        }
    }

    local
}

/// Returns whether `mention` is the name in a definition itself: the first occurrence in the text of the
/// definition.
fn is_own_name(file: &FileDefs, facts: &Facts, mention: &Reference) -> bool {
    let mut named = file.around(mention.at).filter(|(_, def)| def.name == *mention.name);
    named.any(|(_, def)| {
        let text = facts.text.get(def.range.start as usize..def.range.end as usize).unwrap_or_default();
        extract::occurrences(text, &mention.name).next() == Some((mention.at - def.range.start) as usize)
    })
}
