//! Collects nodes, edges and notes, and assembles the response in its order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use codeweaver::query::view::View;
use codeweaver_git::quoting;
use codeweaver_index::policy::PathFlags;

use super::definitions::{DefId, Definitions, FileDefs, segments};
use super::dialect::Modules;
use super::facts::{Form, Reference};
use super::notes;
use super::request::{CallGraphRequest, Direction};
use super::resolution::{LOCAL_VALUE, Resolution};
use super::response::{
    CallGraphResponse, CallGraphStatus, Coverage, EDGES_TRUNCATED, Edge, EdgeKind, FOREIGN_CALLS, Grade,
    NOT_FOUND, NOTES_TRUNCATED, Node, Note, Site,
};
use super::sources::{Limit, Sources};
use super::symbol_spec;
use super::unlisted::UnlistedPlaces;
use super::unsearched;

/// Maximum number of definitions that one site may mean. A site that may mean more says nothing about each of
/// them, so it is counted and no edge.
const MAX_CANDIDATES: usize = 12;
/// Maximum number of unread files that a warning names.
const MAX_UNREAD: usize = 3;
/// Maximum number of sites listed for one edge.
const MAX_SITES: usize = 10;

/// One end of an edge: a definition, or a file for code outside any definition. Definitions order before
/// files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Endpoint {
    Definition(DefId),
    /// The live entry of the file.
    File(u32),
}

impl Endpoint {
    pub fn definition(self) -> Option<DefId> {
        match self {
            Endpoint::Definition(id) => Some(id),
            Endpoint::File(_) => None,
        }
    }

    fn entry(self) -> u32 {
        match self {
            Endpoint::Definition(id) => id.entry,
            Endpoint::File(entry) => entry,
        }
    }
}

/// Source, target, name as written, kind, grade and evidence. Sites that agree in all of these share an edge.
type EdgeKey = (Endpoint, Option<DefId>, String, EdgeKind, Grade, &'static str);

/// An edge with the sites found so far.
struct CollectedEdge {
    key: EdgeKey,
    /// The level at which it was found first.
    depth: u32,
    candidates: usize,
    sites: BTreeSet<Site>,
}

/// One resolved site, to be added as an edge or to an edge.
pub(super) struct NewEdge<'f> {
    pub from: Endpoint,
    /// `None` if the site is unresolved.
    pub to: Option<DefId>,
    /// The file of the site.
    pub file: &'f FileDefs,
    pub site: &'f Reference,
    pub resolution: &'f Resolution,
    pub kind: EdgeKind,
    pub depth: u32,
}

/// The symbol and line that a note is about, in addition to its file.
#[derive(Clone, Copy, Default)]
pub(super) struct NoteSubject {
    pub symbol: Option<DefId>,
    pub line: Option<u32>,
}

/// The answer to one request while it is being collected.
pub(super) struct ResponseBuilder<'a, 'v> {
    view: &'v View,
    request: &'a CallGraphRequest,
    defs: &'a Definitions<'v>,
    sources: &'a Sources<'v>,
    edges: Vec<CollectedEdge>,
    edge_at: BTreeMap<EdgeKey, usize>,
    /// The level at which each node was reached first.
    depths: BTreeMap<Endpoint, u32>,
    notes: Vec<Note>,
    /// Files that may mention the names, by their words.
    pub(super) candidate_files: BTreeSet<u32>,
    /// Places that name a symbol and are no edges.
    pub(super) unlisted: UnlistedPlaces,
    /// Warnings about symbols that stand for a definition of another name.
    pub(super) stands_for: Vec<String>,
    /// Whether code outside of the repository may call a symbol that has no callers in it.
    pub(super) has_foreign_calls: bool,
}

impl<'a, 'v> ResponseBuilder<'a, 'v> {
    pub fn new(
        view: &'v View,
        request: &'a CallGraphRequest,
        defs: &'a Definitions<'v>,
        sources: &'a Sources<'v>,
    ) -> ResponseBuilder<'a, 'v> {
        ResponseBuilder {
            view,
            request,
            defs,
            sources,

            edges: Vec::new(),
            edge_at: BTreeMap::new(),
            depths: BTreeMap::new(),
            notes: Vec::new(),
            candidate_files: BTreeSet::new(),
            unlisted: UnlistedPlaces::default(),
            stands_for: Vec::new(),
            has_foreign_calls: false,
        }
    }

    /// Records that a node was reached at a level; the first level stays.
    pub fn reach(&mut self, node: Endpoint, depth: u32) {
        self.depths.entry(node).or_insert(depth);
    }

    /// Adds a resolved site, with a note if its target is not certain. Returns whether it is an edge: a site
    /// with too many candidates is only counted.
    pub fn add_edge(&mut self, edge: NewEdge<'_>) -> bool {
        let NewEdge { from, to, file, site, resolution, kind, depth } = edge;

        if resolution.targets.len() > MAX_CANDIDATES {
            self.unlisted.add_candidates(&file.path, site.line, resolution.targets.len());
            return false;
        }

        for end in [Some(from), to.map(Endpoint::Definition)].into_iter().flatten() {
            self.reach(end, depth);
        }

        let receiver = site.receiver.as_deref().filter(|receiver| !receiver.is_empty());
        let is_dotted = file.dialect.is_some_and(|dialect| dialect.modules == Modules::Qualified);
        let separator = if site.form == Form::Path && !is_dotted { "::" } else { "." };
        let written = receiver
            .map(|receiver| receiver.trim_end_matches('.'))
            .map_or_else(|| site.name.to_string(), |receiver| format!("{receiver}{separator}{}", site.name));
        let key = (from, to, written, kind, resolution.grade, resolution.evidence);
        let place = Site { file: file.path.clone(), start_line: site.line };
        let about = NoteSubject { symbol: from.definition(), line: Some(site.line) };

        match (resolution.grade, resolution.evidence) {
            (Grade::Unresolved, LOCAL_VALUE) => {
                // The value may be any function.
                self.note(file, "dynamic_call", about, &format!("`{}` is a local value", key.2));
            }
            (Grade::Ambiguous, evidence) => {
                self.note(file, "ambiguous_call", about, &format!("`{}`: {evidence}", key.2));
            }
            _ => {}
        }

        let at = *self.edge_at.entry(key.clone()).or_insert_with(|| {
            self.edges.push(CollectedEdge {
                key,
                depth,
                candidates: resolution.targets.len(),
                sites: BTreeSet::new(),
            });
            self.edges.len() - 1
        });
        self.edges[at].sites.insert(place);
        true
    }

    /// Returns whether an edge leads to the definition `id`.
    pub fn leads_to(&self, id: DefId) -> bool {
        self.edges.iter().any(|edge| edge.key.1 == Some(id))
    }

    /// Adds a note on `file`.
    pub fn note(&mut self, file: &FileDefs, note_type: &'static str, about: NoteSubject, detail: &str) {
        let symbol_id = about.symbol.map(|id| self.id(Endpoint::Definition(id)));
        self.notes.push(Note {
            file: file.path.clone(),
            note_type,
            symbol_id,
            start_line: about.line,
            detail: Some(detail.to_owned()),
        });
    }

    /// The `symbolId` of a node.
    fn id(&self, end: Endpoint) -> String {
        match end {
            Endpoint::Definition(id) => self
                .defs
                .with(id, |file, def| {
                    format!("{}:{}#{}", quoting::printed(&file.path), def.lines.0, def.qualified)
                })
                .unwrap_or_default(),
            Endpoint::File(entry) => self.defs.file(entry).map(|file| file.path.clone()).unwrap_or_default(),
        }
    }

    /// The sort key of nodes: by path and position, files before their definitions.
    pub fn order(&self, end: Endpoint) -> (String, u32, u32) {
        match end {
            Endpoint::Definition(id) => self
                .defs
                .with(id, |file, def| (file.path.clone(), def.range.start, id.symbol + 1))
                .unwrap_or_default(),
            Endpoint::File(entry) => {
                (self.defs.file(entry).map(|file| file.path.clone()).unwrap_or_default(), 0, 0)
            }
        }
    }

    fn node(&self, end: Endpoint, depth: u32) -> Option<Node> {
        let file = self.defs.file(end.entry())?;
        let def = end.definition().map(|id| file.def(id.symbol));
        let flags = self.view.entry(end.entry()).1;

        Some(Node {
            symbol_id: self.id(end),
            name: def.map_or_else(
                || file.path.rsplit('/').next().unwrap_or_default().to_owned(),
                |def| def.name.clone(),
            ),
            qualified_name: def.map(|def| def.qualified.clone()).unwrap_or_default(),
            kind: def.map_or("file", |def| def.kind.name()),
            language: file.language.clone(),
            file: file.path.clone(),
            span: def.map(|def| def.lines),
            signature: def.map(|def| def.signature.clone()).unwrap_or_default(),
            blob: file.oid.to_string(),
            state: self.view.state_of(&quoting::bytes(&file.path)),
            depth,
            is_test: flags.contains(PathFlags::TEST),
        })
    }

    /// Assembles the response: edges cut to the limit, their nodes, and the notes on either. `found` are the
    /// definitions of each symbol, `roots` those that are answered for.
    pub fn finish(&mut self, found: &[Vec<DefId>], roots: &[DefId], started: Instant) -> CallGraphResponse {
        let mut edges = std::mem::take(&mut self.edges);
        let total_edge_count = edges.len();
        self.sort_edges(&mut edges);
        self.cut_edges(&mut edges);

        let nodes = self.nodes(&edges, roots);
        let edges: Vec<Edge> = edges.into_iter().map(|edge| self.edge(edge)).collect();
        let selected = self.select_notes(&nodes, &edges);

        let status = self.status(found);
        let edges_truncated = total_edge_count > edges.len();
        let notes_truncated = selected.total > selected.notes.len();
        let mut warnings = self.warnings(edges_truncated, notes_truncated);
        let unlisted = std::mem::take(&mut self.unlisted).finish(self.all_have_edges(found, &edges));

        let is_of_uses = !matches!(self.request.direction, Direction::Callees | Direction::Definitions);
        let unsearched =
            if is_of_uses && !roots.is_empty() { unsearched::warnings(self.view) } else { Vec::new() };
        let is_doubtful = unlisted.is_some() || self.has_foreign_calls || !unsearched.is_empty();
        warnings.extend(unsearched);
        warnings.extend((status == CallGraphStatus::NotFound).then(|| NOT_FOUND.to_owned()));
        if !roots.is_empty() {
            warnings.extend(self.not_found_warnings(found));
        }

        CallGraphResponse {
            status,
            symbol: self.request.symbols.join(", "),
            direction: self.request.direction,
            depth: self.request.depth,
            roots: roots.iter().map(|&id| self.id(Endpoint::Definition(id))).collect(),
            total_root_count: roots.len(),
            nodes,
            edges,
            edges_truncated,
            total_edge_count,
            notes_truncated,
            total_note_count: selected.total,
            returned_note_count: selected.notes.len(),
            notes: selected.notes,
            warnings,
            coverage: self.coverage(is_doubtful),
            unlisted,
            rev: self.view.spec.clone(),
            commit: self.view.commit.clone(),
            tree: self.view.shown_tree.clone(),
            freshness: self.view.freshness,
            pending_files: self.view.n_pending(),
            needs_update: self.view.needs_update,
            execution_time_ms: started.elapsed().as_millis() as u64,
        }
    }

    /// Sorts edges by level, source, first site and target.
    fn sort_edges(&self, edges: &mut [CollectedEdge]) {
        edges.sort_by_cached_key(|edge| {
            let (from, to, name, kind, grade, _) = &edge.key;
            let first = edge.sites.first().cloned();
            let to = to.map(|to| self.order(Endpoint::Definition(to)));
            (edge.depth, self.order(*from), first, to, name.clone(), *kind, *grade)
        });
    }

    /// Cuts edges to the limit of the request. The most certain edges of each level are kept.
    fn cut_edges(&self, edges: &mut Vec<CollectedEdge>) {
        if edges.len() <= self.request.limit {
            return;
        }

        // The sort is stable, so edges of one level and grade stay in order.
        edges.sort_by_key(|edge| (edge.depth, edge.key.4));
        edges.truncate(self.request.limit);
        self.sort_edges(edges);
    }

    /// The nodes of the roots, of the ends of `edges` and of unread files, sorted by level and place.
    fn nodes(&self, edges: &[CollectedEdge], roots: &[DefId]) -> Vec<Node> {
        let mut ends: BTreeSet<Endpoint> = roots.iter().map(|&id| Endpoint::Definition(id)).collect();
        for edge in edges {
            ends.insert(edge.key.0);
            ends.extend(edge.key.1.map(Endpoint::Definition));
        }
        // Files that could not be read are nodes because there are notes on them.
        ends.extend(self.depths.keys().filter(|end| self.is_unread(**end)));

        let mut nodes: Vec<(u32, (String, u32, u32), Node)> = Vec::new();
        for end in ends {
            let depth = self.depths.get(&end).copied().unwrap_or(0);
            nodes.extend(self.node(end, depth).map(|node| (depth, self.order(end), node)));
        }
        nodes.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        nodes.into_iter().map(|(_, _, node)| node).collect()
    }

    /// Returns whether a node is a file that could not be read or parsed.
    fn is_unread(&self, end: Endpoint) -> bool {
        matches!(end, Endpoint::File(entry) if self.sources.problem(entry).is_some())
    }

    /// The edge as it is returned, with its first sites.
    fn edge(&self, edge: CollectedEdge) -> Edge {
        let CollectedEdge { key: (from, to, name, kind, grade, evidence), depth, candidates, sites } = edge;

        Edge {
            src_symbol_id: self.id(from),
            dst_symbol_id: to.map(|to| self.id(Endpoint::Definition(to))),
            name,
            kind,
            grade,
            evidence,
            candidates,
            site_count: sites.len(),
            sites: sites.into_iter().take(MAX_SITES).collect(),
            depth,
        }
    }

    /// Selects the notes on the returned nodes and on the files of the returned sites.
    fn select_notes(&mut self, nodes: &[Node], edges: &[Edge]) -> notes::SelectedNotes {
        let sites = edges.iter().flat_map(|edge| edge.sites.iter().map(|site| site.file.clone()));
        let files: BTreeSet<String> = nodes.iter().map(|node| node.file.clone()).chain(sites).collect();
        let symbols: BTreeSet<String> = nodes.iter().map(|node| node.symbol_id.clone()).collect();
        notes::select(std::mem::take(&mut self.notes), &files, &symbols, self.request.note_limit)
    }

    /// The warnings about everything that the response lacks, except definitions.
    fn warnings(&self, edges_truncated: bool, notes_truncated: bool) -> Vec<String> {
        let limits = self.sources.limits_reached();
        let mut warnings: Vec<String> = limits.into_iter().map(|limit| self.limit_warning(limit)).collect();
        warnings.extend(edges_truncated.then(|| EDGES_TRUNCATED.to_owned()));
        warnings.extend(notes_truncated.then(|| NOTES_TRUNCATED.to_owned()));
        warnings.extend(self.stands_for.iter().cloned());
        warnings.extend(self.has_foreign_calls.then(|| FOREIGN_CALLS.to_owned()));
        warnings.extend(self.view.warnings.iter().cloned());
        warnings.extend(self.view.missing_warning(None));
        warnings.extend(self.view.members_warnings(None));
        warnings
    }

    /// The warning about a limit: its value, and the files that were not read because of it.
    fn limit_warning(&self, limit: Limit) -> String {
        let request = self.request;
        let reached = match limit {
            Limit::Time => format!("stopped after {} s", request.timeout_ms as f64 / 1000.0),
            Limit::Files => format!("stopped after {} files", request.max_files),
            Limit::Bytes => format!("stopped after {} bytes", request.max_bytes),
            Limit::Level => return format!("{}: a level has too many symbols", limit.code()),
        };

        let unread = self.sources.unread();
        let mut paths: Vec<String> =
            unread.iter().filter_map(|&entry| Some(self.defs.file(entry)?.path.clone())).collect();
        paths.sort();
        let named: Vec<_> = paths.iter().take(MAX_UNREAD).map(|path| quoting::printed(path)).collect();
        let more = if paths.len() > MAX_UNREAD { ", …" } else { "" };
        let unread = match paths.len() {
            0 => String::new(),
            1 => format!("; 1 file that may name it was not read: {}", named.join(", ")),
            n => format!("; {n} files that may name it were not read: {}{more}", named.join(", ")),
        };
        format!("{}: {reached}{unread}", limit.code())
    }

    /// A warning for each symbol of the request that has no definition.
    fn not_found_warnings(&self, found: &[Vec<DefId>]) -> Vec<String> {
        let missing = self.request.symbols.iter().zip(found).filter(|(_, found)| found.is_empty());
        missing.map(|(symbol, _)| format!("CALL_GRAPH_NOT_FOUND: no definition of {symbol}")).collect()
    }

    /// Returns whether each symbol of the request has an edge that leads to it.
    fn all_have_edges(&self, found: &[Vec<DefId>], edges: &[Edge]) -> bool {
        let ends: BTreeSet<&str> = edges.iter().filter_map(|edge| edge.dst_symbol_id.as_deref()).collect();
        let has_edge = |id: &DefId| ends.contains(self.id(Endpoint::Definition(*id)).as_str());
        found.iter().all(|of_symbol| of_symbol.iter().any(has_edge))
    }

    /// The amount of source that was read. It is complete if no limit was reached, no file is missing and no
    /// place is unlisted.
    fn coverage(&self, is_doubtful: bool) -> Coverage {
        let is_cut = !self.sources.limits_reached().is_empty()
            || self.view.coverage.is_some()
            || self.view.missing_warning(None).is_some()
            || !self.view.members_warnings(None).is_empty();

        Coverage {
            candidate_files: self.candidate_files.len(),
            files_read: self.sources.files_read(),
            bytes_read: self.sources.bytes_read(),
            complete: !is_cut && !is_doubtful,
            is_cut,
        }
    }

    fn status(&self, found: &[Vec<DefId>]) -> CallGraphStatus {
        if found.iter().all(Vec::is_empty) {
            let symbol = self.request.symbols.first().map_or("", |symbol| symbol.trim());
            let known = self.defs.all_named(segments(symbol).last().unwrap_or_default());
            let is_place = symbol_spec::parse_location(symbol).is_some();
            return if known.is_empty() || is_place {
                CallGraphStatus::NotFound
            } else {
                self.status_of_unresolved(&known)
            };
        }

        let mut roots = found.iter().flatten();
        if self.request.direction != Direction::Definitions && !roots.any(|id| self.is_supported(id)) {
            return CallGraphStatus::Unsupported;
        }

        let is_ambiguous = found.iter().any(|found| self.has_several_names(found));
        if is_ambiguous { CallGraphStatus::Ambiguous } else { CallGraphStatus::Ok }
    }

    /// Returns whether definitions differ in their path or qualified name.
    fn has_several_names(&self, found: &[DefId]) -> bool {
        let names = found
            .iter()
            .filter_map(|&id| self.defs.with(id, |file, def| (file.path.clone(), def.qualified.clone())));
        names.collect::<BTreeSet<_>>().len() > 1
    }

    fn status_of_unresolved(&self, known: &[DefId]) -> CallGraphStatus {
        // The definitions in missing files are not known.
        let is_partial = self.view.n_missing(None) > 0;
        if is_partial || known.iter().any(|id| self.is_supported(id)) {
            CallGraphStatus::NotFound
        } else {
            CallGraphStatus::Unsupported
        }
    }

    /// Returns whether calls are read in the language of a definition.
    fn is_supported(&self, id: &DefId) -> bool {
        self.defs.file(id.entry).is_some_and(|file| file.dialect.is_some())
    }
}
