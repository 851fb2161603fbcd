//! Construction of a graph on all cores, with a result that does not depend on their number.
//!
//! Rows are inserted in batches. The neighbours of a batch are searched in the graph as it was before the
//! batch, so in any order, and linked in the order of the rows. Batches are small compared with the graph, so
//! a row rarely misses a neighbour in its own batch.

use std::collections::BTreeMap;

use rayon::prelude::*;

use codeweaver_base::sys::{self, DotKernel};
use codeweaver_store::hnsw::search::{HnswSearch, Scored, Visited};
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{HnswData, HnswHeader, Layers, NONE};

/// Maximum number of neighbours of a row on level 0, and above: 117 bytes a row with the upper levels.
const WIDTH: usize = 28;
const WIDTH_ABOVE: usize = 14;
/// Number of neighbours that a new row begins with on level 0. The other slots are for rows that come later.
const FIRST_NEIGHBOURS: usize = 21;
/// Size of the candidate list when a row is inserted.
const EF_CONSTRUCTION: usize = 200;
/// One in this many rows of a level is on the next.
const LEVEL_SHARE: f64 = 16.0;
const MAX_LEVEL: usize = 8;
/// A batch has one row for this many that are in the graph, and at most [`MAX_BATCH`].
const BATCH_SHARE: u32 = 32;
const MAX_BATCH: u32 = 16 * 1024;

/// A graph without rows.
pub fn empty() -> HnswData {
    let header = HnswHeader { n_rows: 0, width: WIDTH as u32, entry: 0, ef: 0, recall: 0.0, zero: 0 };
    HnswData { header, level0: Vec::new(), upper: Vec::new() }
}

/// Inserts the rows of `rows` that `graph` does not have.
pub fn extend(graph: &mut HnswData, rows: &RowVectors<'_>) {
    // The first row has no other to be linked with: it becomes the entry on all of its levels.
    if graph.header.n_rows == 0 && rows.n_rows() > 0 {
        graph.upper.resize_with(level_of(0), BTreeMap::new);
        graph.upper.iter_mut().for_each(|level| drop(level.insert(0, Vec::new())));
        add_rows(graph, 1);
    }

    while graph.header.n_rows < rows.n_rows() {
        let n_rows = graph.header.n_rows;
        let batch = (n_rows / BATCH_SHARE).clamp(1, MAX_BATCH).min(rows.n_rows() - n_rows);
        let found = neighbours_of(graph, rows, n_rows..n_rows + batch);
        add_rows(graph, n_rows + batch);
        link(graph, rows, n_rows, found);
    }
}

fn add_rows(graph: &mut HnswData, n_rows: u32) {
    graph.header.n_rows = n_rows;
    graph.level0.resize(n_rows as usize * WIDTH, NONE);
}

/// The highest level of a row, as random as a hash of its number.
fn level_of(row: u32) -> usize {
    let mut hash = u64::from(row).wrapping_add(0x9E37_79B9_7F4A_7C15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^= hash >> 31;
    let unit = ((hash >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    ((-unit.ln() / LEVEL_SHARE.ln()) as usize).min(MAX_LEVEL)
}

/// For each row of `batch`, its neighbours on each of its levels that the graph has, from level 0 up.
fn neighbours_of(graph: &HnswData, rows: &RowVectors<'_>, batch: std::ops::Range<u32>) -> Vec<Vec<Vec<u32>>> {
    batch
        .into_par_iter()
        .with_min_len(16)
        .map_init(|| Visited::new(rows.n_rows()), |visited, row| neighbours_of_row(graph, rows, row, visited))
        .collect()
}

/// The neighbours of one row of [`neighbours_of`].
fn neighbours_of_row(
    graph: &HnswData,
    rows: &RowVectors<'_>,
    row: u32,
    visited: &mut Visited,
) -> Vec<Vec<u32>> {
    let kernel = &DotKernel::new(rows.at(row));
    let search = HnswSearch { layers: graph, rows, kernel };
    let top = level_of(row).min(graph.n_upper());

    // From the top down: the rows found on a level are where the search of the next begins.
    let mut starts = vec![search.descend(graph.n_upper(), top, visited)];
    let mut levels: Vec<Vec<u32>> = (0..=top)
        .rev()
        .map(|level| {
            starts = search.layer(level, &starts, EF_CONSTRUCTION, &|_| true, visited);
            diverse(rows, &starts, if level == 0 { FIRST_NEIGHBOURS } else { WIDTH_ABOVE })
        })
        .collect();
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

/// Adds the rows from `first` on with the neighbours found, and links back from these neighbours.
fn link(graph: &mut HnswData, rows: &RowVectors<'_>, first: u32, found: Vec<Vec<Vec<u32>>>) {
    // (level, row, its new neighbour)
    let mut back: Vec<(usize, u32, u32)> = Vec::new();

    for (row, levels) in (first..).zip(found) {
        let top = level_of(row);
        if top > graph.upper.len() {
            graph.upper.resize_with(top, BTreeMap::new);
            graph.header.entry = row;
        }

        for (level, neighbours) in levels.into_iter().enumerate() {
            back.extend(neighbours.iter().map(|&neighbour| (level, neighbour, row)));
            set(graph, level, row, neighbours);
        }
        // Levels that the graph did not have before this batch, in which the row has no neighbours yet.
        for level in &mut graph.upper[..top] {
            level.entry(row).or_default();
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
