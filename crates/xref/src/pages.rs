//! Paging of responses, for clients with a token limit.
//!
//! A response is a sequence of items: the definitions of the symbol, then the edges, sorted by level and
//! grade, each followed by the notes that it makes relevant. A part is a range of that sequence. Every
//! definition, edge and note is in exactly one part, and the most certain edges are in the first. A part is
//! self-contained: it repeats the nodes that its edges and notes refer to.

use std::collections::BTreeSet;
use std::ops::Range;

use super::notes;
use super::response::{CallGraphResponse, EDGES_TRUNCATED, NOTES_TRUNCATED, Node, Note};

/// An element of the sequence, as an index into the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Root(usize),
    Edge(usize),
    Note(usize),
}

/// A response as a sequence of items.
pub struct Pages {
    /// The whole response, with all notes.
    whole: CallGraphResponse,
    items: Vec<Item>,
    /// For each note, the position of the item that makes it relevant, and its own position if it is shown.
    note_positions: Vec<(usize, Option<usize>)>,
}

impl Pages {
    /// Makes the sequence of `whole`, which must contain all notes; the first `note_limit` of them are shown.
    /// The total of a part counts the notes that its items make relevant.
    pub fn new(mut whole: CallGraphResponse, note_limit: usize) -> Pages {
        let files: BTreeSet<String> = whole.nodes.iter().map(|node| node.file.clone()).collect();
        let sites = whole.edges.iter().flat_map(|edge| edge.sites.iter().map(|site| site.file.clone()));
        let files = files.into_iter().chain(sites).collect();
        let symbols = whole.nodes.iter().map(|node| node.symbol_id.clone()).collect();

        let selected = notes::select(std::mem::take(&mut whole.notes), &files, &symbols, usize::MAX);
        (whole.notes, whole.total_note_count) = (selected.notes, selected.total);

        let mut by_certainty: Vec<usize> = (0..whole.edges.len()).collect();
        by_certainty.sort_by_key(|&at| (whole.edges[at].depth, whole.edges[at].grade));
        let mut notes_of: Vec<Vec<usize>> = vec![Vec::new(); by_certainty.len() + 1];

        for (at, note) in whole.notes.iter().enumerate() {
            // A note on a root comes with the roots, any other one with the first edge that makes it
            // relevant.
            let is_of_root = note.symbol_id.as_ref().is_some_and(|id| whole.roots.contains(id));
            let first = by_certainty.iter().position(|&edge| is_made_relevant(&whole, edge, note));
            notes_of[if is_of_root { 0 } else { first.map_or(0, |edge| edge + 1) }].push(at);
        }

        let mut items: Vec<Item> = (0..whole.roots.len()).map(Item::Root).collect();
        let mut note_positions = vec![(0, None); whole.notes.len()];
        for (n, notes) in notes_of.iter().enumerate() {
            let made_relevant_by = if n == 0 { 0 } else { items.len() };
            items.extend(n.checked_sub(1).map(|edge| Item::Edge(by_certainty[edge])));
            for &note in notes {
                let shown = (note < note_limit).then_some(items.len());
                note_positions[note] = (made_relevant_by, shown);
                items.extend(shown.map(|_| Item::Note(note)));
            }
        }

        Pages { whole, items, note_positions }
    }

    /// The number of items.
    pub fn n_items(&self) -> usize {
        self.items.len()
    }

    /// The end of the part that begins at `from` and has at most `limit` edges.
    pub fn end_of(&self, from: usize, limit: usize) -> usize {
        let mut edges = (from..self.n_items()).filter(|&at| matches!(self.items[at], Item::Edge(_)));
        edges.nth(limit).unwrap_or(self.n_items())
    }

    /// The part with the items of `range`. Counts and warnings report the items that it lacks.
    pub fn part(&self, range: Range<usize>) -> CallGraphResponse {
        let whole = &self.whole;
        let is_whole = range == (0..self.n_items());
        let items = self.items.get(range.clone()).unwrap_or_default();

        let roots = positions(items, |item| if let Item::Root(at) = item { Some(at) } else { None });
        let edges = positions(items, |item| if let Item::Edge(at) = item { Some(at) } else { None });
        let noted = positions(items, |item| if let Item::Note(at) = item { Some(at) } else { None });

        let mut part = CallGraphResponse {
            roots: roots.iter().map(|&at| whole.roots[at].clone()).collect(),
            edges: edges.iter().map(|&at| whole.edges[at].clone()).collect(),
            notes: noted.iter().map(|&at| whole.notes[at].clone()).collect(),
            nodes: Vec::new(),
            symbol: whole.symbol.clone(),
            warnings: whole.warnings.clone(),
            coverage: whole.coverage.clone(),
            // They belong to the answer as a whole, so the first part has them.
            unlisted: whole.unlisted.clone().filter(|_| range.start == 0),
            rev: whole.rev.clone(),
            commit: whole.commit.clone(),
            tree: whole.tree.clone(),
            ..*whole
        };

        part.nodes = if is_whole { whole.nodes.clone() } else { self.nodes_of(&part) };
        if !is_whole {
            let here = self.note_positions.iter().filter(|(by, shown)| {
                range.contains(by) || shown.is_some_and(|shown| range.contains(&shown))
            });
            part.total_note_count = here.count();
        }

        part.returned_note_count = part.notes.len();
        part.edges_truncated = part.edges.len() < part.total_edge_count;
        part.notes_truncated = part.notes.len() < part.total_note_count;

        for (is_truncated, code) in
            [(part.edges_truncated, EDGES_TRUNCATED), (part.notes_truncated, NOTES_TRUNCATED)]
        {
            if is_truncated && !part.warnings.iter().any(|warning| warning == code) {
                part.warnings.push(code.to_owned());
            }
        }

        part
    }

    /// The nodes that a part refers to, and one node of each file that it has a note on.
    fn nodes_of(&self, part: &CallGraphResponse) -> Vec<Node> {
        let ends = part.edges.iter().flat_map(|e| [Some(&e.src_symbol_id), e.dst_symbol_id.as_ref()]);
        let noted = part.notes.iter().map(|note| note.symbol_id.as_ref());
        let mut named: BTreeSet<&String> = ends.chain(noted).flatten().chain(&part.roots).collect();

        let nodes = &self.whole.nodes;

        for note in &part.notes {
            let is_in_file = |node: &&Node| node.file == note.file;
            if !nodes.iter().filter(is_in_file).any(|node| named.contains(&node.symbol_id)) {
                named.extend(nodes.iter().find(is_in_file).map(|node| &node.symbol_id));
            }
        }

        nodes.iter().filter(|node| named.contains(&node.symbol_id)).cloned().collect()
    }
}

/// The positions in the response of the items of one kind, in the order of the response.
fn positions(items: &[Item], of_kind: fn(Item) -> Option<usize>) -> Vec<usize> {
    let mut positions: Vec<usize> = items.iter().filter_map(|item| of_kind(*item)).collect();
    positions.sort_unstable();
    positions
}

/// Returns whether the edge brings the subject of the note into the answer.
fn is_made_relevant(whole: &CallGraphResponse, edge: usize, note: &Note) -> bool {
    let edge = &whole.edges[edge];
    match &note.symbol_id {
        Some(id) => *id == edge.src_symbol_id || Some(id) == edge.dst_symbol_id.as_ref(),
        None => edge.sites.iter().any(|site| site.file == note.file),
    }
}
