//! Construction of a graph on all cores, with a result that does not depend on their number.
//!
//! Rows are inserted in batches. The neighbours of a batch are searched in the graph as it was before the
//! batch, so in any order, and linked in the order of insertion. Each row of a batch is also compared with
//! those before it in the batch, which the search does not find: files of a directory follow each other in a
//! segment and are near to each other, so a row may have its nearest neighbours in its own batch.
//!
//! The rows of an extension are inserted in an order that is as random as a hash of their numbers. So the
//! first of them are a sample of all, and the graph spans them from the beginning.

use std::collections::BTreeMap;

use rayon::prelude::*;

use codeweaver_base::sys::{self, DotKernel};
use codeweaver_store::hnsw::search::{HnswSearch, Scored, Visited};
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{EntryPoints, HnswData, HnswHeader, Layers, NONE};

use super::connect::connect;

/// Maximum number of neighbours of a row on level 0, and above: 117 bytes a row with the upper levels.
const WIDTH: usize = 28;
const WIDTH_ABOVE: usize = 14;
/// Number of neighbours that a new row begins with on level 0. The other slots are for rows that come later.
const FIRST_NEIGHBOURS: usize = 21;
/// Size of the candidate list when a row is inserted.
const EF_CONSTRUCTION: usize = 200;
/// Bits of a hash that decide whether a row of a level is on the next: one in 16 is.
const LEVEL_BITS: u32 = 4;
const MAX_LEVEL: u32 = 8;
/// A batch has one row for this many that are in the graph, and at most [`MAX_BATCH`].
const BATCH_SHARE: usize = 32;
/// The rows of a batch are compared with each other, which takes time in proportion to its square.
const MAX_BATCH: usize = 256;
/// Seeds of the hashes of a row that decide its level and its place in the order of insertion.
const LEVEL_SEED: u64 = 0x9E37_79B9_7F4A_7C15;
const ORDER_SEED: u64 = 0xD1B5_4A32_D192_ED03;

/// A graph without rows.
pub fn empty() -> HnswData {
    let header = HnswHeader { width: WIDTH as u32, ..HnswHeader::default() };
    HnswData { header, level0: Vec::new(), upper: Vec::new(), entry_points: EntryPoints::default() }
}

/// Inserts the rows of `rows` that `graph` does not have.
///
/// The result depends on the vectors and on the sizes of the extensions alone.
pub fn extend(graph: &mut HnswData, rows: &RowVectors<'_>) {
    let n_before = graph.header.n_rows;
    let order = insertion_order(n_before..rows.n_rows());

    // Rows that are not inserted yet have neither links nor links to them, so that no search finds them.
    graph.header.n_rows = rows.n_rows();
    graph.level0.resize(rows.n_rows() as usize * WIDTH, NONE);

    let mut left = order.as_slice();
    if n_before == 0
        && let Some((&first, others)) = left.split_first()
    {
        begin(graph, first);
        left = others;
    }

    while !left.is_empty() {
        let n_inserted = rows.n_rows() as usize - left.len();
        let n = (n_inserted / BATCH_SHARE).clamp(1, MAX_BATCH).min(left.len());
        let (batch, others) = left.split_at(n);
        let found = neighbours_of(graph, rows, batch);
        link(graph, rows, batch, found);
        left = others;
    }

    connect(graph, rows);
}

/// Adds the first row. It has no other to be linked with and becomes the entry on all of its levels.
fn begin(graph: &mut HnswData, first: u32) {
    graph.header.entry = first;
    graph.upper.resize_with(level_of(first), BTreeMap::new);
    for level in &mut graph.upper {
        level.insert(first, Vec::new());
    }
}

/// `rows` in the order in which they are inserted.
fn insertion_order(rows: std::ops::Range<u32>) -> Vec<u32> {
    let mut order: Vec<u32> = rows.collect();
    // Hashes of different rows differ.
    order.sort_unstable_by_key(|&row| hash(row, ORDER_SEED));
    order
}

/// The highest level of a row.
fn level_of(row: u32) -> usize {
    (hash(row, LEVEL_SEED).leading_zeros() / LEVEL_BITS).min(MAX_LEVEL) as usize
}

/// A hash that has a different value for each row (SplitMix64).
fn hash(row: u32, seed: u64) -> u64 {
    let mut hash = u64::from(row).wrapping_add(seed);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ (hash >> 31)
}

/// For each row of `batch`, its neighbours on each of its levels, from level 0 up.
fn neighbours_of(graph: &HnswData, rows: &RowVectors<'_>, batch: &[u32]) -> Vec<Vec<Vec<u32>>> {
    (0..batch.len())
        .into_par_iter()
        .with_min_len(8)
        .map_init(
            || Visited::new(rows.n_rows()),
            |visited, at| neighbours_of_row(graph, rows, &batch[..=at], visited),
        )
        .collect()
}

/// The neighbours of the last row of `batch`, in the graph and among the other rows of `batch`.
fn neighbours_of_row(
    graph: &HnswData,
    rows: &RowVectors<'_>,
    batch: &[u32],
    visited: &mut Visited,
) -> Vec<Vec<u32>> {
    let Some((&row, before)) = batch.split_last() else { return Vec::new() };
    let kernel = &DotKernel::new(rows.at(row));
    let before: Vec<Scored> = before.iter().map(|&other| (kernel.dot(rows.at(other)), other)).collect();

    let search = HnswSearch { layers: graph, rows, kernel };
    let top = level_of(row);
    let top_of_graph = top.min(graph.n_upper());
    let mut starts = vec![search.descend(graph.n_upper(), top_of_graph, visited)];

    // From the top down: the rows found on a level are where the search of the next begins.
    let mut levels = Vec::with_capacity(top + 1);
    for level in (0..=top).rev() {
        let mut candidates: Vec<Scored> =
            before.iter().copied().filter(|&(_, other)| level_of(other) >= level).collect();
        // The graph may lack the topmost levels of the batch.
        if level <= top_of_graph {
            starts = search.layer(level, &starts, EF_CONSTRUCTION, &|_| true, visited);
            candidates.extend(&starts);
        }

        candidates.sort_unstable_by(|a, b| b.cmp(a));
        candidates.truncate(EF_CONSTRUCTION);
        levels.push(diverse(rows, &candidates, if level == 0 { FIRST_NEIGHBOURS } else { WIDTH_ABOVE }));
    }

    levels.reverse();
    levels
}

/// Chooses at most `most` of `candidates`, which are sorted, best first: those that are nearer to the row
/// than to any that was chosen before (algorithm 4), then the best of the others.
fn diverse(rows: &RowVectors<'_>, candidates: &[Scored], most: usize) -> Vec<u32> {
    let (mut chosen, mut others): (Vec<u32>, Vec<u32>) = (Vec::with_capacity(most), Vec::new());

    for &(score, candidate) in candidates {
        if chosen.len() == most {
            break;
        }

        let vector = rows.at(candidate);
        let is_diverse = chosen.iter().all(|&row| sys::dot(vector, rows.at(row)) <= score);
        if is_diverse { chosen.push(candidate) } else { others.push(candidate) }
    }

    let n_free = most - chosen.len();
    chosen.extend(others.into_iter().take(n_free));
    chosen
}

/// Adds the rows of `batch` with the neighbours found, and links back from these neighbours.
fn link(graph: &mut HnswData, rows: &RowVectors<'_>, batch: &[u32], found: Vec<Vec<Vec<u32>>>) {
    // (level, row, its new neighbour)
    let mut back: Vec<(usize, u32, u32)> = Vec::new();

    for (&row, levels) in batch.iter().zip(found) {
        let top = levels.len().saturating_sub(1);
        if top > graph.upper.len() {
            graph.upper.resize_with(top, BTreeMap::new);
            graph.header.entry = row;
        }

        for (level, neighbours) in levels.into_iter().enumerate() {
            back.extend(neighbours.iter().map(|&neighbour| (level, neighbour, row)));
            set(graph, level, row, neighbours);
        }
    }

    back.sort_unstable();
    let by_row: Vec<&[(usize, u32, u32)]> =
        back.chunk_by(|one, next| (one.0, one.1) == (next.0, next.1)).collect();
    let linked: Vec<Vec<u32>> =
        by_row.par_iter().with_min_len(64).map(|links| with_links(graph, rows, links)).collect();

    for (links, neighbours) in by_row.iter().zip(linked) {
        set(graph, links[0].0, links[0].1, neighbours);
    }
}

/// The neighbours of a row with the new `links`, which all begin at it, cut to the best if they are too many.
fn with_links(graph: &HnswData, rows: &RowVectors<'_>, links: &[(usize, u32, u32)]) -> Vec<u32> {
    let (level, row, _) = links[0];
    let most = if level == 0 { WIDTH } else { WIDTH_ABOVE };
    let old = graph.neighbours(level, row);
    let all = old.iter().copied().chain(links.iter().map(|link| link.2));
    if old.len() + links.len() <= most {
        return all.collect();
    }

    let vector = rows.at(row);
    let mut scored: Vec<Scored> = all.map(|other| (sys::dot(vector, rows.at(other)), other)).collect();
    scored.sort_unstable_by(|a, b| b.cmp(a));
    diverse(rows, &scored, most)
}

/// Replaces the neighbours of `row` on `level`.
fn set(graph: &mut HnswData, level: usize, row: u32, neighbours: Vec<u32>) {
    match level.checked_sub(1) {
        Some(upper) => drop(graph.upper[upper].insert(row, neighbours)),
        None => {
            let slots = &mut graph.level0[row as usize * WIDTH..][..WIDTH];
            slots.fill(NONE);
            slots[..neighbours.len()].copy_from_slice(&neighbours);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIM: usize = 32;

    fn random(n_rows: usize) -> Vec<i8> {
        let mut rng = fastrand::Rng::with_seed(2);
        (0..n_rows * DIM).map(|_| rng.i8(-100..=100)).collect()
    }

    #[test]
    fn nearly_all_of_the_nearest_rows_are_found_also_under_a_filter_and_after_an_extension() {
        let vectors = random(3000);
        let rows = RowVectors::new(vectors.chunks(700 * DIM), DIM);
        let half = RowVectors::new(vectors[..1400 * DIM].chunks(700 * DIM), DIM);
        let mut graph = empty();
        extend(&mut graph, &half);
        extend(&mut graph, &rows);
        assert_eq!(graph.header.n_rows, 3000);
        for accept in [(|_| true) as fn(u32) -> bool, |row| row % 5 == 1] {
            let (mut hits, mut wanted) = (0, 0);
            for query in random(40).chunks(DIM).map(|query| query.iter().map(|x| -x).collect::<Vec<i8>>()) {
                let kernel = DotKernel::new(&query);
                let mut exact: Vec<Scored> =
                    (0..3000).filter(|&row| accept(row)).map(|row| (kernel.dot(rows.at(row)), row)).collect();
                exact.sort_unstable_by(|a, b| b.cmp(a));
                let search = HnswSearch { layers: &graph, rows: &rows, kernel: &kernel };
                let found = search.nearest(100, &accept);
                assert!(found.is_sorted_by(|a, b| a > b));
                assert!(found.iter().all(|(_, row)| accept(*row)));
                hits += exact[..10].iter().filter(|row| found.contains(row)).count();
                wanted += 10;
            }
            assert!(hits * 100 >= wanted * 95, "{hits} of {wanted}");
        }
    }

    #[test]
    fn a_graph_does_not_depend_on_the_number_of_threads() {
        let vectors = random(600);
        let rows = RowVectors::new([vectors.as_slice()].into_iter(), DIM);
        let graph = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut graph = empty();
            pool.install(|| extend(&mut graph, &rows));
            graph.encode()
        };
        assert_eq!(graph(1), graph(4));
    }

    #[test]
    fn equal_vectors_do_not_hide_others() {
        let mut vectors = vec![1i8; 500 * DIM];
        vectors.extend(random(100));
        let rows = RowVectors::new([vectors.as_slice()].into_iter(), DIM);
        let mut graph = empty();
        extend(&mut graph, &rows);
        let found = |row: u32| {
            let kernel = DotKernel::new(rows.at(row));
            let search = HnswSearch { layers: &graph, rows: &rows, kernel: &kernel };
            search.nearest(100, &|_| true).iter().any(|found| found.1 == row)
        };
        assert!((500..600).filter(|&row| found(row)).count() >= 90);
    }
}
