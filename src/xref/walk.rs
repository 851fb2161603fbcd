//! Callers, callees and references, level by level.
//!
//! A level asks about all its symbols at once. Only exact edges and unique names lead to the next: what is reached by an
//! ambiguous edge is shown and not followed. Everything is ordered by path and position, so an answer depends on the view
//! alone (and, where a bound was hit, says so).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::definitions::{Def, DefId, Definitions, FileDefs};
use super::facts::{self, Facts, Form, Use};
use super::modules::Paths;
use super::request::{CallGraphRequest, Direction};
use super::resolver::{Resolution, Resolver};
use super::response::{CallGraphResponse, EdgeKind, Grade, Note, Site};
use super::sources::{Limits, PARSER_STACK, Sources};
use super::symbol_spec;
use crate::chunk::SymbolKind;
use crate::query::error::guarded;
use crate::query::search::AskUpdater;
use crate::query::view::View;
use crate::query::{QueryError, Searcher};
use crate::store::StoreError;

/// Definitions listed of one ambiguous call.
pub(super) const MAX_CANDIDATES: usize = 12;
/// Definitions that one name is taken for.
const MAX_ROOTS: usize = 50;
/// Symbols of one level.
const MAX_LEVEL: usize = 200;

impl Searcher {
    /// Answers `request`. Everything is read from the view of this moment.
    pub fn call_graph(
        &self,
        request: &CallGraphRequest,
        updater: AskUpdater<'_>,
    ) -> Result<CallGraphResponse, QueryError> {
        request.check()?;
        let started = Instant::now();
        let settings = &self.codebase.settings;
        let committed = request.committed || !settings.overlay.enabled;
        let view = self.view_while(
            request.rev.as_deref(),
            committed,
            u64::from(u32::MAX),
            settings.search.timeout_ms,
            updater,
            &request.cancel,
        )?;
        guarded(&self.codebase, || {
            // Parsers recurse, and who asks may have a small stack.
            std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().name("graph".to_owned()).stack_size(PARSER_STACK);
                let answer = || Walk::answer(self, &view, request, started);
                let failed = |source| StoreError::Io {
                    action: "start a thread for",
                    path: self.codebase.root(),
                    source,
                };
                let thread = thread.spawn_scoped(scope, answer).map_err(failed)?;
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }
}

/// From, to, written name, kind, grade and evidence.
pub(super) type EdgeKey = (End, Option<DefId>, String, EdgeKind, Grade, &'static str);

/// Where an edge comes from: a definition, or the top of a file.
pub(super) type End = Result<DefId, u32>;

/// An edge, being gathered.
pub(super) struct Found {
    pub(super) key: EdgeKey,
    /// The level at which it was found.
    pub(super) depth: u32,
    pub(super) candidates: usize,
    pub(super) sites: BTreeSet<Site>,
}

/// One question on its way to the answer.
pub(super) struct Walk<'a, 'v> {
    pub(super) view: &'v View,
    pub(super) request: &'a CallGraphRequest,
    pub(super) defs: &'a Definitions<'v>,
    pub(super) sources: &'a Sources<'v>,
    pub(super) paths: &'a Paths<'v>,
    pub(super) resolver: Resolver<'a, 'v>,
    pub(super) edges: Vec<Found>,
    pub(super) edge_at: BTreeMap<EdgeKey, usize>,
    /// Depth of every node.
    pub(super) depths: BTreeMap<End, u32>,
    pub(super) notes: Vec<Note>,
    pub(super) candidates: BTreeSet<u32>,
}

impl Walk<'_, '_> {
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
        let mut walk = Walk {
            view,
            request,
            defs: &defs,
            sources: &sources,
            paths: &paths,
            resolver: Resolver::new(&defs, &sources, &paths),
            edges: Vec::new(),
            edge_at: BTreeMap::new(),
            depths: BTreeMap::new(),
            notes: Vec::new(),
            candidates: BTreeSet::new(),
        };
        let found = walk.roots();
        let mut roots = found.clone();
        roots.truncate(MAX_ROOTS);
        for &root in &roots {
            walk.depths.insert(Ok(root), 0);
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
        request.cancel.check()?;
        let mut response = walk.respond(&roots, started);
        if found.len() > roots.len() {
            response.warnings.push(format!(
                "CALL_GRAPH_ROOTS_LIMIT: {} definitions, {MAX_ROOTS} of them are answered for",
                found.len()
            ));
        }
        Ok(response)
    }

    fn roots(&self) -> Vec<DefId> {
        let found = symbol_spec::find(self.request.symbol.trim(), self.defs, self.paths);
        // A declaration is no other symbol than what it declares.
        let families: BTreeSet<&str> =
            found.iter().filter_map(|id| self.defs.file(id.entry)?.dialect.map(|d| d.family)).collect();
        match (families.len(), found.first().and_then(|id| self.defs.file(id.entry)?.dialect)) {
            (1, Some(dialect)) if self.request.direction != Direction::Definitions => {
                self.resolver.without_declarations(dialect, found)
            }
            _ => found,
        }
    }

    /// Asks `step` level by level.
    fn levels(&mut self, roots: &[DefId], step: fn(&mut Self, &[DefId], u32) -> BTreeSet<DefId>) {
        let mut level: Vec<DefId> = roots.to_vec();
        let mut seen: BTreeSet<DefId> = roots.iter().copied().collect();
        for depth in 1..=self.request.depth {
            let found = step(self, &level, depth);
            level = found.into_iter().filter(|id| seen.insert(*id)).collect();
            level.sort_by_cached_key(|&id| self.order(Ok(id)));
            if level.len() > MAX_LEVEL {
                self.sources.bounds_hit.borrow_mut().insert("CALL_GRAPH_LEVEL_LIMIT");
                level.truncate(MAX_LEVEL);
            }
            if level.is_empty() || self.sources.is_out_of_time() {
                return;
            }
        }
    }

    /// Who calls the symbols of a level; returns those to ask about next.
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
                for site in facts.uses.iter().filter(|site| local.contains(&*site.name)) {
                    let Some(resolution) = self.resolver.resolve(&file, &facts, site) else { continue };
                    for &target in resolution.targets.iter().filter(|target| wanted.contains_key(target)) {
                        let from = self.end_of(&file, site.at);
                        // A class stands for its constructors.
                        let target = wanted.get(&target).copied().unwrap_or(target);
                        self.add(from, Some(target), &file, site, &resolution, EdgeKind::Call, depth);
                        if let (Ok(id), true) = (from, resolution.grade <= Grade::UniqueName) {
                            next.insert(id);
                        }
                    }
                }
            }
        }
        next
    }

    /// What the symbols of a level call; returns those to ask about next.
    fn callees(&mut self, level: &[DefId], depth: u32) -> BTreeSet<DefId> {
        let mut next = BTreeSet::new();
        for &id in level {
            if self.request.cancel.is_cancelled() {
                return next;
            }
            let Some(file) = self.defs.file(id.entry) else { continue };
            let Some(facts) = self.sources.facts(&file) else {
                self.unread(&file);
                continue;
            };
            let def = file.def(id.symbol);
            let is_container = def.is_type() || def.kind == SymbolKind::Impl;
            for site in facts.uses.iter().filter(|site| def.range.contains(&site.at)) {
                let from = self.end_of(&file, site.at);
                // What stands in a function inside belongs to that one.
                if from != Ok(id) && !(is_container || self.is_data(from)) {
                    continue;
                }
                let from = if is_container { from } else { Ok(id) };
                let Some(resolution) = self.resolver.resolve(&file, &facts, site) else { continue };
                if resolution.targets.is_empty() {
                    self.add(from, None, &file, site, &resolution, EdgeKind::Call, depth);
                    continue;
                }
                for &target in resolution.targets.iter().take(MAX_CANDIDATES) {
                    self.add(from, Some(target), &file, site, &resolution, EdgeKind::Call, depth);
                    if resolution.grade <= Grade::UniqueName && self.is_followed(target) {
                        next.insert(target);
                    }
                }
            }
            if facts.has_errors {
                self.note(
                    &file,
                    "parse_errors",
                    Some(id),
                    None,
                    "the parser did not understand all of this file",
                );
            }
        }
        next
    }

    fn references(&mut self, roots: &[DefId]) {
        let wanted = self.with_constructors(roots);
        let of_roots: BTreeMap<DefId, DefId> = roots.iter().map(|&id| (id, id)).collect();
        for (family, names) in self.names_of(&of_roots) {
            for file in self.files_with(&names, family, roots) {
                let Some(facts) = self.sources.facts(&file) else { continue };
                let Some(dialect) = file.dialect else { continue };
                let mut uses = Vec::new();
                for name in local_names(&facts, &names) {
                    uses.extend(facts::mentions(facts.text.as_bytes(), dialect, &name).unwrap_or_default());
                }
                uses.sort_by_key(|site| site.at);
                for mention in &uses {
                    if self.sources.is_out_of_time() {
                        return;
                    }
                    if is_own_name(&file, &facts, mention) {
                        continue;
                    }
                    let call = facts.uses.iter().find(|call| call.at == mention.at);
                    let kind = if call.is_some() { EdgeKind::Call } else { EdgeKind::Reference };
                    let resolution = match call {
                        Some(call) => self.resolver.resolve(&file, &facts, call),
                        None => self.mention(&file, &facts, mention),
                    };
                    let Some(resolution) = resolution else { continue };
                    let from = self.end_of(&file, mention.at);
                    for target in resolution.targets.iter().filter_map(|target| wanted.get(target).copied()) {
                        self.add(from, Some(target), &file, mention, &resolution, kind, 1);
                    }
                }
            }
        }
    }

    /// What a mention means; the names in an import mean what is imported.
    fn mention(&self, file: &FileDefs, facts: &Facts, mention: &Use) -> Option<Resolution> {
        let form = if mention.form == Form::Mention { Form::Mention } else { mention.form };
        self.resolver.resolve(file, facts, &Use { form, ..mention.clone() })
    }

    /// Files that may hold one of `names`, read: those near to where the symbols are first.
    fn files_with(
        &mut self,
        names: &BTreeSet<String>,
        family: &'static str,
        near: &[DefId],
    ) -> Vec<Rc<FileDefs>> {
        let mut entries = BTreeSet::new();
        for name in names {
            match self.defs.mentioning(name, family) {
                Ok(found) => entries.extend(found),
                Err(all) => entries.extend(all),
            }
        }
        self.candidates.extend(&entries);
        let homes: BTreeSet<String> =
            near.iter().filter_map(|id| Some(self.defs.file(id.entry)?.path.clone())).collect();
        let distance = |path: &str| {
            let shared =
                |home: &String| home.split('/').zip(path.split('/')).take_while(|(a, b)| a == b).count();
            (!homes.contains(path), std::cmp::Reverse(homes.iter().map(shared).max().unwrap_or(0)))
        };
        let mut files: Vec<Rc<FileDefs>> =
            entries.iter().filter_map(|&entry| self.defs.file(entry)).collect();
        files.sort_by_cached_key(|file| (distance(&file.path), file.path.clone()));
        let words: Vec<String> = names.iter().cloned().collect();
        self.sources.prefetch(&files, &words);
        for file in &files {
            self.unread(file);
        }
        files.retain(|file| self.sources.is_loaded(file.entry));
        files
    }

    fn unread(&mut self, file: &FileDefs) {
        if let Some(problem) = self.sources.problem(file.entry) {
            self.note(file, problem, None, None, "its calls are not known");
            // Said of the file, so the file is in the answer.
            self.depths.entry(Err(file.entry)).or_insert(self.request.depth);
        }
    }

    /// By family, the names under which symbols are called.
    fn names_of(&self, wanted: &BTreeMap<DefId, DefId>) -> BTreeMap<&'static str, BTreeSet<String>> {
        let mut names: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
        for &id in wanted.keys() {
            let look = |file: &FileDefs, def: &Def| {
                let parent = def.parent.map(|parent| file.def(parent).name.clone());
                let constructed = parent.filter(|_| def.kind == SymbolKind::Constructor);
                file.dialect.map(|dialect| (dialect.family, constructed.unwrap_or_else(|| def.name.clone())))
            };
            if let Some((family, name)) = self.defs.with(id, look).flatten() {
                names.entry(family).or_default().insert(name);
            }
        }
        names
    }

    /// Targets that count for the symbols of a level: a class for itself and by its constructors.
    fn with_constructors(&self, level: &[DefId]) -> BTreeMap<DefId, DefId> {
        let mut wanted: BTreeMap<DefId, DefId> = BTreeMap::new();
        for &id in level {
            let of_type = self.defs.with(id, |file, def| {
                if def.is_type() { self.resolver.constructors(file, id.symbol) } else { Vec::new() }
            });
            for constructor in of_type.unwrap_or_default() {
                wanted.entry(constructor).or_insert(id);
            }
        }
        wanted.extend(level.iter().map(|&id| (id, id)));
        wanted
    }

    /// The definition that a site is in: the innermost callable, else the innermost definition, else the file.
    fn end_of(&self, file: &FileDefs, at: u32) -> End {
        let is_data =
            |def: &Def| matches!(def.kind, SymbolKind::Module | SymbolKind::Namespace | SymbolKind::Impl);
        let callable = file.callable_around(at);
        let other = || file.around(at).find(|(_, def)| !is_data(def)).map(|(symbol, _)| symbol);
        callable.or_else(other).map(|symbol| file.id(symbol)).ok_or(file.entry)
    }

    fn is_data(&self, end: End) -> bool {
        end.is_ok_and(|id| self.defs.with(id, |_, def| def.is_value()).unwrap_or(false))
    }

    fn is_followed(&self, id: DefId) -> bool {
        self.defs.with(id, |_, def| def.kind.is_callable()).unwrap_or(false)
    }
}

/// The names, and those that imports of the file give them.
fn local_names(facts: &Facts, names: &BTreeSet<String>) -> BTreeSet<String> {
    let mut local = names.clone();
    for import in &facts.imports {
        let original = import.name.as_deref().or_else(|| super::definitions::segments(&import.path).last());
        if let (Some(alias), Some(original)) = (&import.alias, original)
            && (names.contains(original) || import.default)
        {
            local.insert(alias.to_string());
        }
    }
    local
}

/// The name in a definition is no mention of it: it is the first in its text.
fn is_own_name(file: &FileDefs, facts: &Facts, mention: &Use) -> bool {
    let named = |(_, def): &(u32, &Def)| def.name == *mention.name;
    file.around(mention.at).filter(named).any(|(_, def)| {
        let text = facts.text.get(def.range.start as usize..def.range.end as usize).unwrap_or_default();
        facts::occurrences(text, &mention.name).next() == Some((mention.at - def.range.start) as usize)
    })
}
