//! Edges, nodes and notes as they are found → the answer, in its order.

use std::collections::BTreeSet;
use std::time::Instant;

use super::definitions::{DefId, FileDefs, segments};
use super::facts::{Form, Use};
use super::notes;
use super::resolver::Resolution;
use super::response::{
    CallGraphResponse, CallGraphStatus, Coverage, EDGES_TRUNCATED, Edge, EdgeKind, Grade, NOTES_TRUNCATED,
    Node, Note, Site,
};
use super::symbol_spec;
use super::walk::{End, Found, MAX_CANDIDATES, Walk};

/// Sites listed of one edge.
const MAX_SITES: usize = 10;

impl Walk<'_, '_> {
    #[expect(clippy::too_many_arguments, reason = "an edge has two ends, a site and a reason")]
    pub(super) fn add(
        &mut self,
        from: End,
        to: Option<DefId>,
        file: &FileDefs,
        site: &Use,
        why: &Resolution,
        kind: EdgeKind,
        depth: u32,
    ) {
        for end in [Some(from), to.map(Ok)].into_iter().flatten() {
            self.depths.entry(end).or_insert(depth);
        }
        let receiver = site.receiver.as_deref().filter(|receiver| !receiver.is_empty());
        let joint = if site.form == Form::Path { "::" } else { "." };
        let written = receiver
            .map_or_else(|| site.name.to_string(), |receiver| format!("{receiver}{joint}{}", site.name));
        let key = (from, to, written, kind, why.grade, why.evidence);
        let place = Site { file: file.path.clone(), start_line: site.line };
        let symbol = from.ok();
        match (why.grade, why.evidence) {
            (Grade::Unresolved, "a local value") => {
                self.note(
                    file,
                    "dynamic_call",
                    symbol,
                    Some(site.line),
                    &format!("`{}` is a local value", key.2),
                );
            }
            (Grade::Ambiguous, _) if why.targets.len() > MAX_CANDIDATES => {
                let detail = format!(
                    "`{}` may be any of {} definitions, {MAX_CANDIDATES} are listed",
                    key.2,
                    why.targets.len()
                );
                self.note(file, "candidates_truncated", symbol, Some(site.line), &detail);
            }
            (Grade::Ambiguous, evidence) => {
                self.note(
                    file,
                    "ambiguous_call",
                    symbol,
                    Some(site.line),
                    &format!("`{}`: {evidence}", key.2),
                );
            }
            _ => {}
        }
        let at = *self.edge_at.entry(key.clone()).or_insert_with(|| {
            self.edges.push(Found { key, depth, candidates: why.targets.len(), sites: BTreeSet::new() });
            self.edges.len() - 1
        });
        self.edges[at].sites.insert(place);
    }

    pub(super) fn note(
        &mut self,
        file: &FileDefs,
        note_type: &'static str,
        symbol: Option<DefId>,
        line: Option<u32>,
        detail: &str,
    ) {
        let symbol_id = symbol.map(|id| self.id(Ok(id)));
        self.notes.push(Note {
            file: file.path.clone(),
            note_type,
            symbol_id,
            start_line: line,
            detail: Some(detail.to_owned()),
        });
    }

    pub(super) fn id(&self, end: End) -> String {
        match end {
            Ok(id) => self
                .defs
                .with(id, |file, def| format!("{}:{}#{}", file.path, def.lines.0, def.qualified))
                .unwrap_or_default(),
            Err(entry) => self.defs.file(entry).map(|file| file.path.clone()).unwrap_or_default(),
        }
    }

    /// How ends are ordered.
    pub(super) fn order(&self, end: End) -> (String, u32, u32) {
        match end {
            Ok(id) => self
                .defs
                .with(id, |file, def| (file.path.clone(), def.range.start, id.symbol + 1))
                .unwrap_or_default(),
            Err(entry) => (self.defs.file(entry).map(|file| file.path.clone()).unwrap_or_default(), 0, 0),
        }
    }

    fn node(&self, end: End, depth: u32) -> Option<Node> {
        let entry = end.map_or_else(|entry| entry, |id| id.entry);
        let file = self.defs.file(entry)?;
        let def = end.ok().map(|id| file.def(id.symbol));
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
            state: self.view.state_of(file.path.as_bytes()),
            depth,
        })
    }

    pub(super) fn respond(&mut self, roots: &[DefId], started: Instant) -> CallGraphResponse {
        let mut edges: Vec<_> = std::mem::take(&mut self.edges);
        let depth_of = |end: End| self.depths.get(&end).copied().unwrap_or(0);
        let total_edge_count = edges.len();
        let in_order = |edges: &mut Vec<Found>| {
            edges.sort_by_cached_key(|found| {
                let (from, to, name, kind, grade, _) = &found.key;
                let (first, to) = (found.sites.first().cloned(), to.map(|to| self.order(Ok(to))));
                (found.depth, self.order(*from), first, to, name.clone(), *kind, *grade)
            });
        };
        in_order(&mut edges);
        if edges.len() > self.request.limit {
            // The surest of each level stay.
            edges.sort_by_key(|found| (found.depth, found.key.4));
            edges.truncate(self.request.limit);
            in_order(&mut edges);
        }
        let mut ends: BTreeSet<End> = roots.iter().map(|&id| Ok(id)).collect();
        ends.extend(edges.iter().flat_map(|found| [Some(found.key.0), found.key.1.map(Ok)]).flatten());
        // Files that could not be read are shown for their notes.
        let unread = |end: &&End| end.is_err_and(|entry| self.sources.problem(entry).is_some());
        ends.extend(self.depths.keys().filter(unread));
        let mut nodes: Vec<(u32, (String, u32, u32), Node)> = ends
            .iter()
            .filter_map(|&end| Some((depth_of(end), self.order(end), self.node(end, depth_of(end))?)))
            .collect();
        nodes.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let nodes: Vec<Node> = nodes.into_iter().map(|(_, _, node)| node).collect();
        let edges: Vec<Edge> = edges
            .into_iter()
            .map(|Found { key: (from, to, name, kind, grade, evidence), depth, candidates, sites }| Edge {
                src_symbol_id: self.id(from),
                dst_symbol_id: to.map(|to| self.id(Ok(to))),
                name,
                kind,
                grade,
                evidence,
                candidates,
                site_count: sites.len(),
                sites: sites.into_iter().take(MAX_SITES).collect(),
                depth,
            })
            .collect();
        let files: BTreeSet<String> = nodes
            .iter()
            .map(|node| node.file.clone())
            .chain(edges.iter().flat_map(|edge| edge.sites.iter().map(|site| site.file.clone())))
            .collect();
        let symbols: BTreeSet<String> = nodes.iter().map(|node| node.symbol_id.clone()).collect();
        let kept = notes::keep(std::mem::take(&mut self.notes), &files, &symbols, self.request.note_limit);
        let notes_truncated = kept.total > kept.notes.len();
        let edges_truncated = total_edge_count > edges.len();
        let bounds = self.sources.bounds_hit.borrow();
        let mut warnings: Vec<String> = bounds.iter().map(|code| (*code).to_owned()).collect();
        let complete = bounds.is_empty() && self.view.coverage.is_none();
        warnings.extend(edges_truncated.then(|| EDGES_TRUNCATED.to_owned()));
        warnings.extend(notes_truncated.then(|| NOTES_TRUNCATED.to_owned()));
        warnings.extend(self.view.warnings.iter().cloned());
        CallGraphResponse {
            status: self.status(roots),
            symbol: self.request.symbol.clone(),
            direction: self.request.direction,
            depth: self.request.depth,
            roots: roots.iter().map(|&id| self.id(Ok(id))).collect(),
            nodes,
            edges,
            edges_truncated,
            total_edge_count,
            notes_truncated,
            total_note_count: kept.total,
            returned_note_count: kept.notes.len(),
            notes: kept.notes,
            warnings,
            coverage: Coverage {
                candidate_files: self.candidates.len(),
                files_read: self.sources.files_read(),
                bytes_read: self.sources.bytes_read(),
                complete,
            },
            rev: self.view.spec.clone(),
            commit: self.view.commit.clone(),
            tree: self.view.tree_oid.clone(),
            freshness: self.view.freshness,
            is_behind: self.view.is_behind,
            execution_time_ms: started.elapsed().as_millis() as u64,
        }
    }

    fn status(&self, roots: &[DefId]) -> CallGraphStatus {
        if roots.is_empty() {
            let name = segments(self.request.symbol.trim()).last().unwrap_or_default();
            let known = self.defs.all_named(name);
            let is_place = symbol_spec::place(self.request.symbol.trim()).is_some();
            return if known.is_empty() || is_place {
                CallGraphStatus::NotFound
            } else {
                self.of_other_languages(&known)
            };
        }
        let same: BTreeSet<_> = roots
            .iter()
            .filter_map(|&id| self.defs.with(id, |file, def| (file.path.clone(), def.qualified.clone())))
            .collect();
        if same.len() > 1 { CallGraphStatus::Ambiguous } else { CallGraphStatus::Ok }
    }

    fn of_other_languages(&self, known: &[DefId]) -> CallGraphStatus {
        let supported = |id: &DefId| self.defs.file(id.entry).is_some_and(|file| file.dialect.is_some());
        if known.iter().any(supported) { CallGraphStatus::NotFound } else { CallGraphStatus::Unsupported }
    }
}
