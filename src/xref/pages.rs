//! An answer in parts, for readers with little room.
//!
//! An answer is a sequence: the definitions that the symbol stands for, then the edges, those of each level by how sure
//! they are, each followed by the notes that it makes relevant (appendix E). A part is a stretch of that sequence. So every
//! definition, edge and note is in exactly one part, the surest edges are in the first, and a part can be understood by
//! itself: the nodes that its edges and notes name are repeated.

use super::notes;
use super::response::{CallGraphResponse, EDGES_TRUNCATED, NOTES_TRUNCATED, Node, Note};
use std::collections::BTreeSet;
use std::ops::Range;

/// One thing that an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Root(usize),
    Edge(usize),
    Note(usize),
}

/// The sequence of an answer.
pub struct Pages {
    /// With all its notes.
    whole: CallGraphResponse,
    items: Vec<Item>,
    /// For each note the item that makes it relevant, and its own if it is told.
    places: Vec<(usize, Option<usize>)>,
}

impl Pages {
    /// The sequence of `whole`, which should have all notes there are: of these the first `note_limit` are told. The notes of a
    /// part are counted among those that it makes relevant.
    pub fn new(mut whole: CallGraphResponse, note_limit: usize) -> Pages {
        let files: BTreeSet<String> = whole.nodes.iter().map(|node| node.file.clone()).collect();
        let sites = whole.edges.iter().flat_map(|edge| edge.sites.iter().map(|site| site.file.clone()));
        let files = files.into_iter().chain(sites).collect();
        let symbols = whole.nodes.iter().map(|node| node.symbol_id.clone()).collect();
        let kept = notes::select(std::mem::take(&mut whole.notes), &files, &symbols, usize::MAX);
        (whole.notes, whole.total_note_count) = (kept.notes, kept.total);
        let mut surest: Vec<usize> = (0..whole.edges.len()).collect();
        surest.sort_by_key(|&at| (whole.edges[at].depth, whole.edges[at].grade));
        let mut notes_of: Vec<Vec<usize>> = vec![Vec::new(); surest.len() + 1];
        for (at, note) in whole.notes.iter().enumerate() {
            let is_of_root = note.symbol_id.as_ref().is_some_and(|id| whole.roots.contains(id));
            let first = surest.iter().position(|&edge| is_made_relevant(&whole, edge, note));
            notes_of[if is_of_root { 0 } else { first.map_or(0, |edge| edge + 1) }].push(at);
        }
        let mut items: Vec<Item> = (0..whole.roots.len()).map(Item::Root).collect();
        let mut places = vec![(0, None); whole.notes.len()];
        for (n, notes) in notes_of.iter().enumerate() {
            let made_relevant_by = if n == 0 { 0 } else { items.len() };
            items.extend(n.checked_sub(1).map(|edge| Item::Edge(surest[edge])));
            for &note in notes {
                let told = (note < note_limit).then_some(items.len());
                places[note] = (made_relevant_by, told);
                items.extend(told.map(|_| Item::Note(note)));
            }
        }
        Pages { whole, items, places }
    }

    /// Items there are.
    pub fn n_items(&self) -> usize {
        self.items.len()
    }

    /// Where a part that begins at `from` ends if it may have `limit` edges.
    pub fn end_of(&self, from: usize, limit: usize) -> usize {
        let is_edge = |at: &usize| matches!(self.items[*at], Item::Edge(_));
        (from..self.n_items()).filter(is_edge).nth(limit).unwrap_or(self.n_items())
    }

    /// The part with these items. What it lacks of the whole is counted, and warned of.
    pub fn part(&self, range: Range<usize>) -> CallGraphResponse {
        let whole = &self.whole;
        let is_whole = range == (0..self.n_items());
        let items = self.items.get(range.clone()).unwrap_or_default();
        let chosen = |of: fn(Item) -> Option<usize>| -> Vec<usize> {
            let mut chosen: Vec<usize> = items.iter().filter_map(|item| of(*item)).collect();
            // Each kind in the order of the whole.
            chosen.sort_unstable();
            chosen
        };
        let roots = chosen(|item| if let Item::Root(at) = item { Some(at) } else { None });
        let edges = chosen(|item| if let Item::Edge(at) = item { Some(at) } else { None });
        let noted = chosen(|item| if let Item::Note(at) = item { Some(at) } else { None });
        let mut part = CallGraphResponse {
            roots: roots.iter().map(|&at| whole.roots[at].clone()).collect(),
            edges: edges.iter().map(|&at| whole.edges[at].clone()).collect(),
            notes: noted.iter().map(|&at| whole.notes[at].clone()).collect(),
            nodes: Vec::new(),
            symbol: whole.symbol.clone(),
            warnings: whole.warnings.clone(),
            coverage: whole.coverage.clone(),
            rev: whole.rev.clone(),
            commit: whole.commit.clone(),
            tree: whole.tree.clone(),
            ..*whole
        };
        part.nodes = if is_whole { whole.nodes.clone() } else { self.nodes_of(&part) };
        if !is_whole {
            let is_here = |(by, told): &&(usize, Option<usize>)| {
                range.contains(by) || told.is_some_and(|told| range.contains(&told))
            };
            part.total_note_count = self.places.iter().filter(is_here).count();
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

    /// The nodes that a part names, and one of each file that it has a note on.
    fn nodes_of(&self, part: &CallGraphResponse) -> Vec<Node> {
        let ends = part.edges.iter().flat_map(|e| [Some(&e.src_symbol_id), e.dst_symbol_id.as_ref()]);
        let noted = part.notes.iter().map(|note| note.symbol_id.as_ref());
        let mut named: BTreeSet<&String> = ends.chain(noted).flatten().chain(&part.roots).collect();
        let nodes = &self.whole.nodes;
        for note in &part.notes {
            let of_file = |node: &&Node| node.file == note.file;
            if !nodes.iter().filter(of_file).any(|node| named.contains(&node.symbol_id)) {
                named.extend(nodes.iter().find(of_file).map(|node| &node.symbol_id));
            }
        }
        nodes.iter().filter(|node| named.contains(&node.symbol_id)).cloned().collect()
    }
}

/// Whether the edge brings what the note is about into the answer.
fn is_made_relevant(whole: &CallGraphResponse, edge: usize, note: &Note) -> bool {
    let edge = &whole.edges[edge];
    match &note.symbol_id {
        Some(id) => *id == edge.src_symbol_id || Some(id) == edge.dst_symbol_id.as_ref(),
        None => edge.sites.iter().any(|site| site.file == note.file),
    }
}
