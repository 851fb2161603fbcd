//! HNSW over the vectors of one shard, frozen into flat arrays and searched in place.
//!
//! `hnsw_rs` rebuilds its graph on the heap when a dump is loaded, vector by vector, which a one-shot command
//! cannot afford. Its layers are therefore written out as flat arrays and mapped. Sections: 1 [`HnswHeader`];
//! 2 level 0, `width` neighbours per row, `u32::MAX` for none; 3 rows of the upper levels, level by level,
//! ascending; 4 end of each such row's neighbours in 5; 5 neighbours; 6 number of rows of each upper level.
//!
//! Source: Malkov and Yashunin 2018, algorithms 2 and 5. Deletion is not implemented: dead rows are traversed
//! and not returned.

use super::container::{Container, ContainerWriter};
use super::error::StoreError;
use super::live::LiveRows;
use crate::sys::{DotKernel, Mapped};
use bytemuck::{Pod, Zeroable};
use std::collections::BinaryHeap;
use std::path::Path;

const MAGIC: [u8; 8] = *b"CWHNSW\0\0";
/// 1: first version.
const VERSION: u32 = 1;
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct HnswHeader {
    pub n_rows: u32,
    /// Neighbours kept per row on level 0.
    pub width: u32,
    /// A row of the topmost level.
    pub entry: u32,
    /// Size of the candidate list at which the recall below was measured.
    pub ef: u32,
    /// recall@10 against the exact scan, on a sample of the segment's own vectors.
    pub recall: f32,
    pub zero: u32,
}

/// A graph in memory: neighbours per row and level.
pub struct HnswData {
    pub header: HnswHeader,
    /// `[n_rows][..]`, at most `width` each.
    pub level0: Vec<Vec<u32>>,
    /// For each upper level, from level 1 up: (row, neighbours), rows ascending.
    pub upper: Vec<Vec<(u32, Vec<u32>)>>,
}

impl HnswData {
    /// The bytes of the graph file.
    pub fn encode(&self) -> Vec<u8> {
        let width = self.header.width as usize;
        let mut level0 = vec![NONE; self.level0.len() * width];
        for (row, neighbours) in self.level0.iter().enumerate() {
            for (slot, &neighbour) in level0[row * width..(row + 1) * width].iter_mut().zip(neighbours) {
                *slot = neighbour;
            }
        }
        let (mut rows, mut ends, mut neighbours) = (Vec::new(), Vec::new(), Vec::new());
        for (row, of_row) in self.upper.iter().flatten() {
            rows.push(*row);
            neighbours.extend_from_slice(of_row);
            ends.push(neighbours.len() as u32);
        }
        let counts: Vec<u32> = self.upper.iter().map(|level| level.len() as u32).collect();
        let mut writer = ContainerWriter::new(MAGIC, VERSION);
        writer.section(1, bytemuck::bytes_of(&self.header).to_vec());
        for (id, section) in [(2, level0), (3, rows), (4, ends), (5, neighbours), (6, counts)] {
            writer.section(id, bytemuck::cast_slice(&section).to_vec());
        }
        writer.finish()
    }
}

/// How many rows a search returns, and the size of its candidate list.
#[derive(Debug, Clone, Copy)]
pub struct HnswLimits {
    pub keep: usize,
    /// At least `keep` is used.
    pub ef: usize,
}

/// An opened graph.
pub struct HnswIndex {
    file: Container,
    header: HnswHeader,
}

impl HnswIndex {
    /// Opens a graph for a segment of `n_rows` rows.
    pub fn open(path: &Path, n_rows: u32) -> Result<HnswIndex, StoreError> {
        HnswIndex::of(Container::open(path, MAGIC, VERSION)?, n_rows)
    }

    /// A graph that is not on disk, to measure it before it is written.
    pub fn in_memory(data: &HnswData) -> Result<HnswIndex, StoreError> {
        HnswIndex::of(Container::in_memory(&data.encode(), MAGIC, VERSION)?, data.header.n_rows)
    }

    fn of(file: Container, n_rows: u32) -> Result<HnswIndex, StoreError> {
        let damaged = |what: &str| StoreError::damaged(file.path(), what);
        let header = *file.records::<HnswHeader>(1)?.first().ok_or_else(|| damaged("its header is empty"))?;
        let n = |id| file.records::<u32>(id).map(<[u32]>::len);
        let fits = header.n_rows == n_rows
            && header.entry < n_rows.max(1)
            && n(2)? == header.n_rows as usize * header.width as usize
            && n(3)? == n(4)?
            && file.records::<u32>(6)?.iter().map(|&c| c as usize).sum::<usize>() == n(3)?;
        if !fits {
            return Err(damaged("it does not fit its segment"));
        }
        Ok(HnswIndex { file, header })
    }

    /// The map of the file.
    pub fn map(&self) -> &Mapped {
        self.file.map()
    }

    pub fn header(&self) -> &HnswHeader {
        &self.header
    }

    /// The `keep` live rows with the largest dot products among those that a search with `ef` candidates
    /// finds, as (dot product, row), best first. `vectors` are those of the segment, row-major.
    pub fn search(
        &self,
        vectors: &[i8],
        kernel: &DotKernel,
        live: &LiveRows,
        HnswLimits { keep, ef }: HnswLimits,
    ) -> Vec<(i32, u32)> {
        let dim = kernel.dim();
        if self.header.n_rows == 0 {
            return Vec::new();
        }
        let dot = |row: u32| kernel.dot(&vectors[row as usize * dim..(row as usize + 1) * dim]);
        let entry = self.descend(&dot);
        let mut seen = vec![0u64; (self.header.n_rows as usize).div_ceil(64)];
        let mut mark = |row: u32| {
            let (word, bit) = (row as usize / 64, 1u64 << (row % 64));
            let is_new = seen[word] & bit == 0;
            seen[word] |= bit;
            is_new
        };
        let level0: &[u32] = self.file.records(2).unwrap_or(&[]);
        let width = self.header.width as usize;
        let ef = ef.max(keep);
        let first = (dot(entry), entry);
        mark(entry);
        let mut open = BinaryHeap::from([first]);
        // The worst of the kept rows is on top.
        let mut best = BinaryHeap::from([std::cmp::Reverse(first)]);
        while let Some((score, row)) = open.pop() {
            if best.len() >= ef && best.peek().is_some_and(|worst| score < worst.0.0) {
                break;
            }
            for &neighbour in &level0[row as usize * width..(row as usize + 1) * width] {
                if neighbour >= self.header.n_rows || !mark(neighbour) {
                    continue;
                }
                let found = (dot(neighbour), neighbour);
                if best.len() < ef || best.peek().is_some_and(|worst| found > worst.0) {
                    open.push(found);
                    best.push(std::cmp::Reverse(found));
                    if best.len() > ef {
                        best.pop();
                    }
                }
            }
        }
        let mut found: Vec<(i32, u32)> =
            best.into_iter().map(|r| r.0).filter(|(_, row)| live.contains(*row)).collect();
        found.sort_unstable_by_key(|&(score, row)| (std::cmp::Reverse(score), row));
        found.truncate(keep);
        found
    }

    /// Greedy descent through the upper levels to a start on level 0.
    fn descend(&self, dot: &dyn Fn(u32) -> i32) -> u32 {
        let records = |id| self.file.records::<u32>(id).unwrap_or(&[]);
        let (rows, ends, neighbours, counts) = (records(3), records(4), records(5), records(6));
        let mut best = (dot(self.header.entry), self.header.entry);
        let mut level_end = rows.len();
        for &count in counts.iter().rev() {
            let level_start = level_end - count as usize;
            while let Ok(at) = rows[level_start..level_end].binary_search(&best.1) {
                let at = level_start + at;
                let start = if at == 0 { 0 } else { ends[at - 1] as usize };
                let of_row = neighbours.get(start..ends[at] as usize).unwrap_or(&[]);
                let next = of_row.iter().filter(|&&n| n < self.header.n_rows).map(|&n| (dot(n), n)).max();
                match next {
                    Some(next) if next.0 > best.0 => best = next,
                    _ => break,
                }
            }
            level_end = level_start;
        }
        best.1
    }

    pub fn verify(&self) -> Result<(), StoreError> {
        self.file.verify()
    }
}
