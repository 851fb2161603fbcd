//! Less of an answer, for readers with little room.

use super::notes;
use super::response::{CallGraphResponse, EDGES_TRUNCATED, NOTES_TRUNCATED};
use std::collections::BTreeSet;

/// What there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub edges: usize,
    pub notes: usize,
    /// Definitions that the symbol stands for.
    pub roots: usize,
}

impl CallGraphResponse {
    /// The answer with the surest edges of each level, as many as there is room for. Nodes that only edges led to go with
    /// these, and notes with the nodes, by the rules of appendix E. What is left out is counted and warned of.
    ///
    /// The notes of `self` should be all there are: those that it lacks already are not known to be relevant.
    pub fn cut(&self, room: Room) -> CallGraphResponse {
        let mut cut = self.clone();
        let ends = |response: &CallGraphResponse| -> BTreeSet<String> {
            let ids = response.edges.iter().flat_map(|e| [Some(&e.src_symbol_id), e.dst_symbol_id.as_ref()]);
            ids.flatten().cloned().collect()
        };
        let ends_before = ends(self);
        if cut.edges.len() > room.edges {
            let mut surest: Vec<usize> = (0..cut.edges.len()).collect();
            surest.sort_by_key(|&at| (self.edges[at].depth, self.edges[at].grade));
            surest.truncate(room.edges);
            surest.sort_unstable();
            cut.edges = surest.into_iter().map(|at| self.edges[at].clone()).collect();
            cut.edges_truncated = true;
            cut.warn(EDGES_TRUNCATED);
        }
        cut.roots.truncate(room.roots);
        let ends_now = ends(&cut);
        let is_left = |id: &String| {
            let is_other = !ends_before.contains(id) && !self.roots.contains(id);
            cut.roots.contains(id) || ends_now.contains(id) || is_other
        };
        cut.nodes.retain(|node| is_left(&node.symbol_id));
        let files: BTreeSet<String> = cut.nodes.iter().map(|node| node.file.clone()).collect();
        let symbols: BTreeSet<String> = cut.nodes.iter().map(|node| node.symbol_id.clone()).collect();
        let kept = notes::keep(std::mem::take(&mut cut.notes), &files, &symbols, room.notes);
        (cut.notes, cut.total_note_count) = (kept.notes, kept.total);
        cut.returned_note_count = cut.notes.len();
        cut.notes_truncated = cut.returned_note_count < cut.total_note_count;
        if cut.notes_truncated {
            cut.warn(NOTES_TRUNCATED);
            // A file without edges is shown for its notes.
            let noted: BTreeSet<&str> = cut.notes.iter().map(|note| note.file.as_str()).collect();
            cut.nodes.retain(|node| {
                cut.roots.contains(&node.symbol_id)
                    || ends_now.contains(&node.symbol_id)
                    || noted.contains(node.file.as_str())
            });
        }
        cut
    }

    fn warn(&mut self, code: &str) {
        if !self.warnings.iter().any(|warning| warning == code) {
            self.warnings.push(code.to_owned());
        }
    }
}
