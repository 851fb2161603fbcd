//! Links to rows that a search could not reach.
//!
//! When the links of a row are cut to the best, the row that loses one is not asked whether it has another.
//! Some rows end up without a link that leads to them, in particular among rows that are nearly equal. Each
//! of them is given one from a near row, in place of a link that is not needed to reach anything.

use codeweaver_base::sys::DotKernel;
use codeweaver_store::hnsw::search::{HnswSearch, Scored};
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{HnswData, Layers as _, NONE};

/// Size of the candidate list that is searched for a row to link from, if no neighbour of the row has a link
/// to spare.
const EF: usize = 64;

/// Makes every row reachable from the entry on level 0.
///
/// The result depends on the graph and the vectors alone.
pub fn connect(graph: &mut HnswData, rows: &RowVectors<'_>) {
    let mut tree = Tree::new(graph);

    for row in 0..graph.header.n_rows {
        if !tree.has(row) {
            tree.attach(graph, rows, row);
        }
    }
}

/// The rows that are reachable from the entry on level 0, each by one link that must stay.
struct Tree {
    /// The row from which each row is reached; [`NONE`] for those that are not. The entry is its own parent.
    parents: Vec<u32>,
    /// Number of links that lead to each row.
    n_inbound: Vec<u32>,
}

impl Tree {
    fn new(graph: &HnswData) -> Tree {
        let n_rows = graph.header.n_rows as usize;
        let mut tree = Tree { parents: vec![NONE; n_rows], n_inbound: vec![0; n_rows] };

        for &neighbour in graph.level0.iter().filter(|&&neighbour| neighbour != NONE) {
            tree.n_inbound[neighbour as usize] += 1;
        }
        if n_rows > 0 {
            tree.add(graph, graph.header.entry, graph.header.entry);
        }

        tree
    }

    fn has(&self, row: u32) -> bool {
        self.parents[row as usize] != NONE
    }

    /// Adds `row`, and all rows that it leads to.
    fn add(&mut self, graph: &HnswData, row: u32, parent: u32) {
        self.parents[row as usize] = parent;

        let mut open = vec![row];
        while let Some(row) = open.pop() {
            for &neighbour in graph.neighbours(0, row) {
                if !self.has(neighbour) {
                    self.parents[neighbour as usize] = row;
                    open.push(neighbour);
                }
            }
        }
    }

    /// Links to `row`, which is not in the tree, from a near row that is.
    fn attach(&mut self, graph: &mut HnswData, rows: &RowVectors<'_>, row: u32) {
        let kernel = &DotKernel::new(rows.at(row));
        let neighbours = graph.neighbours(0, row).iter().filter(|&&neighbour| self.has(neighbour));
        let mut near: Vec<Scored> =
            neighbours.map(|&neighbour| (kernel.dot(rows.at(neighbour)), neighbour)).collect();
        near.sort_unstable_by(|a, b| b.cmp(a));

        if near.iter().any(|&(_, parent)| self.link(graph, parent, row)) {
            return;
        }

        let search = HnswSearch { layers: &*graph, rows, kernel };
        for (_, parent) in search.nearest(EF, &|found| self.has(found)) {
            if self.link(graph, parent, row) {
                break;
            }
        }
    }

    /// Links from `parent` to `row`. Returns false if `parent` has no link to spare.
    fn link(&mut self, graph: &mut HnswData, parent: u32, row: u32) -> bool {
        let width = graph.header.width as usize;
        let Some(slot) = self.free_slot(graph, parent) else { return false };

        let neighbour = &mut graph.level0[parent as usize * width + slot];
        if *neighbour != NONE {
            self.n_inbound[*neighbour as usize] -= 1;
        }
        *neighbour = row;
        self.n_inbound[row as usize] += 1;

        self.add(graph, row, parent);
        true
    }

    /// The first slot of `parent` that is not in use, or else that of the link, not of the tree, to the row
    /// to which most links lead.
    fn free_slot(&self, graph: &HnswData, parent: u32) -> Option<usize> {
        let neighbours = graph.neighbours(0, parent);
        if neighbours.len() < graph.header.width as usize {
            return Some(neighbours.len());
        }

        let spare = neighbours.iter().enumerate();
        let spare = spare.filter(|(_, neighbour)| self.parents[**neighbour as usize] != parent);
        spare
            .max_by_key(|(_, neighbour)| (self.n_inbound[**neighbour as usize], **neighbour))
            .map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::construct;
    use super::*;

    /// Rows on a circle: each is nearest to those before and after it.
    fn circle(n_rows: u32) -> Vec<i8> {
        let angles = (0..n_rows).map(|row| f64::from(row) / f64::from(n_rows) * std::f64::consts::TAU);
        angles.flat_map(|angle| [(angle.cos() * 127.0) as i8, (angle.sin() * 127.0) as i8]).collect()
    }

    #[test]
    fn rows_without_a_link_to_them_are_given_one_and_the_others_stay_reachable() {
        let vectors = circle(300);
        let rows = RowVectors::new([vectors.as_slice()].into_iter(), 2);
        let mut graph = construct::empty();
        construct::extend(&mut graph, &rows);
        let width = graph.header.width as usize;
        // All links of a row lead to the same few rows, so that most rows have no link to them.
        for slots in graph.level0.chunks_mut(width) {
            slots.iter_mut().zip(0..).for_each(|(slot, row)| *slot = row);
        }
        let tree = Tree::new(&graph);
        assert!((0..300).any(|row| !tree.has(row)));

        connect(&mut graph, &rows);
        let tree = Tree::new(&graph);
        assert!((0..300).all(|row| tree.has(row)));

        let before = graph.encode();
        connect(&mut graph, &rows);
        assert!(graph.encode() == before, "changed without need");
    }
}
