//! HNSW over the vectors of the leading segments of a store, in flat arrays that are searched in place.
//!
//! * [`vectors`]: the vectors of these segments, with rows numbered across segments;
//! * [`search`]: the search of one layer, for building and for queries;
//! * this file: the graph in memory ([`HnswData`]) and on disk ([`HnswIndex`]).
//!
//! Sections: 1 [`HnswHeader`]; 2 level 0, `width` neighbours per row, `u32::MAX` for none; 3 rows of the
//! upper levels, level by level, ascending; 4 end of each such row's neighbours in 5; 5 neighbours; 6 number
//! of rows of each upper level; 7 vectors of sample questions; 8 rows near to each of them, `n_near` per
//! question.
//!
//! Source: Malkov and Yashunin 2018, algorithms 2 and 5. Deletion is not implemented: rows that are dead or
//! out of scope are traversed but not returned.

pub mod search;
pub mod vectors;

use std::collections::BTreeMap;
use std::path::Path;

use bytemuck::{Pod, Zeroable};

use codeweaver_base::sys::Mapped;

use super::container::{Container, ContainerWriter};
use super::error::StoreError;

const MAGIC: [u8; 8] = *b"CWHNSW\0\0";
const VERSION: u32 = 3;
/// The value of a slot without a neighbour.
pub const NONE: u32 = u32::MAX;

/// Numbers of best rows for which the recall of a graph is measured: what a list of matches shows, and what
/// ranking asks for.
pub const FEW: usize = 10;
pub const MANY: usize = 300;

/// The header of a graph file, 48 bytes.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub struct HnswHeader {
    pub n_rows: u32,
    /// Maximum number of neighbours of a row on level 0.
    pub width: u32,
    /// A row of the topmost level.
    pub entry: u32,
    /// Number of rows per sample question.
    pub n_near: u32,
    /// For questions about the repository.
    pub questions: Recalls,
    /// For vectors like those of the rows, as of code whose copies are searched for.
    pub rows: Recalls,
}

/// The recall of a graph for vectors of one kind.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Recalls {
    /// Of the best [`FEW`] rows.
    pub few: Recall,
    /// Of the best [`MANY`] rows.
    pub many: Recall,
}

impl Recalls {
    /// Returns the size of the candidate list of a search for the best `k` rows: the first of them are found
    /// as well as if they were asked for alone.
    pub fn ef(&self, k: usize) -> u32 {
        if k <= FEW { self.few.ef } else { self.few.ef.max(self.many.ef) }
    }
}

/// The recall of a graph against the exact scan.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Recall {
    /// Size of the candidate list with which the share was measured.
    pub ef: u32,
    /// Share of the best rows that are found; 0 if it was not measured.
    pub share: f32,
}

/// A kind of vector that is searched for. Rows are near to each other, and questions are not near to them, so
/// a graph needs a longer list for these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryKind {
    Question,
    Row,
}

impl HnswHeader {
    /// Returns the recalls for vectors of `kind`.
    pub fn recalls(&self, kind: QueryKind) -> &Recalls {
        match kind {
            QueryKind::Question => &self.questions,
            QueryKind::Row => &self.rows,
        }
    }
}

/// Sample questions with the rows that are near to each, at which the search for a question begins.
///
/// A question is about as far from its nearest rows as these are from each other, so a search that begins at
/// one row finds some groups of them late or never. Questions that are alike have the same groups.
#[derive(Debug, Clone, Default)]
pub struct EntryPoints {
    /// The vectors of the questions, row-major.
    pub questions: Vec<i8>,
    /// [`HnswHeader::n_near`] rows of each question.
    pub rows: Vec<u32>,
}

/// The neighbours of rows, level by level.
pub trait Layers {
    fn header(&self) -> &HnswHeader;

    /// The vectors of the sample questions, and the rows near to each.
    fn entry_points(&self) -> (&[i8], &[u32]);

    /// Number of levels above level 0.
    fn n_upper(&self) -> usize;

    /// The neighbours of `row` on `level`; empty if it is not on that level.
    fn neighbours(&self, level: usize, row: u32) -> &[u32];
}

/// A graph in memory.
pub struct HnswData {
    pub header: HnswHeader,
    /// `width` slots per row, [`NONE`] in those that are free.
    pub level0: Vec<u32>,
    /// Neighbours by row, for each level from level 1 up.
    pub upper: Vec<BTreeMap<u32, Vec<u32>>>,
    pub entry_points: EntryPoints,
}

impl Layers for HnswData {
    fn header(&self) -> &HnswHeader {
        &self.header
    }

    fn entry_points(&self) -> (&[i8], &[u32]) {
        (&self.entry_points.questions, &self.entry_points.rows)
    }

    fn n_upper(&self) -> usize {
        self.upper.len()
    }

    fn neighbours(&self, level: usize, row: u32) -> &[u32] {
        match level.checked_sub(1) {
            None => level0_slots(&self.level0, self.header.width, row),
            Some(upper) => self.upper[upper].get(&row).map_or(&[], Vec::as_slice),
        }
    }
}

impl HnswData {
    /// Encodes the graph file.
    pub fn encode(&self) -> Vec<u8> {
        let (mut rows, mut ends, mut neighbours) = (Vec::new(), Vec::new(), Vec::new());
        for (row, row_neighbours) in self.upper.iter().flatten() {
            rows.push(*row);
            neighbours.extend_from_slice(row_neighbours);
            ends.push(neighbours.len() as u32);
        }

        let counts: Vec<u32> = self.upper.iter().map(|level| level.len() as u32).collect();
        let mut writer = ContainerWriter::new(MAGIC, VERSION);
        writer.section(1, bytemuck::bytes_of(&self.header).to_vec());
        for (id, section) in [(2, &self.level0), (3, &rows), (4, &ends), (5, &neighbours), (6, &counts)] {
            writer.section(id, bytemuck::cast_slice(section).to_vec());
        }
        writer.section(7, bytemuck::cast_slice(&self.entry_points.questions).to_vec());
        writer.section(8, bytemuck::cast_slice(&self.entry_points.rows).to_vec());
        writer.finish()
    }
}

/// An opened graph file.
pub struct HnswIndex {
    file: Container,
    header: HnswHeader,
}

impl Layers for HnswIndex {
    fn header(&self) -> &HnswHeader {
        &self.header
    }

    fn entry_points(&self) -> (&[i8], &[u32]) {
        (self.file.records(7).unwrap_or(&[]), self.records(8))
    }

    fn n_upper(&self) -> usize {
        self.records(6).len()
    }

    fn neighbours(&self, level: usize, row: u32) -> &[u32] {
        let Some(upper) = level.checked_sub(1) else {
            return level0_slots(self.records(2), self.header.width, row);
        };

        let counts = self.records(6);
        let start: usize = counts.iter().take(upper).map(|&n| n as usize).sum();
        let n = counts.get(upper).map_or(0, |&n| n as usize);
        let Ok(at) = self.records(3)[start..start + n].binary_search(&row) else { return &[] };

        let ends = self.records(4);
        let first = (start + at).checked_sub(1).map_or(0, |before| ends[before] as usize);
        self.records(5).get(first..ends[start + at] as usize).unwrap_or(&[])
    }
}

impl HnswIndex {
    /// Opens a graph over `n_rows` rows.
    pub fn open(path: &Path, n_rows: u32) -> Result<HnswIndex, StoreError> {
        let file = Container::open(path, MAGIC, VERSION)?;
        let damaged = |what: &str| StoreError::damaged(file.path(), what);
        let header = *file.records::<HnswHeader>(1)?.first().ok_or_else(|| damaged("its header is empty"))?;
        let n = |id| file.records::<u32>(id).map(<[u32]>::len);

        let fits = header.n_rows == n_rows
            && header.entry < n_rows.max(1)
            && n(2)? == header.n_rows as usize * header.width as usize
            && n(3)? == n(4)?
            && n(5)? <= u32::MAX as usize
            && file.records::<u32>(6)?.iter().map(|&c| c as usize).sum::<usize>() == n(3)?
            && file.records::<i8>(7).is_ok()
            && n(8)?.is_multiple_of(header.n_near.max(1) as usize);

        if !fits {
            return Err(damaged("it does not fit its segments"));
        }
        Ok(HnswIndex { file, header })
    }

    /// Copies the graph into memory, where it can be extended.
    pub fn to_data(&self) -> HnswData {
        let mut start = 0;
        let upper = self.records(6).iter().enumerate().map(|(upper, &n)| {
            let rows = &self.records(3)[start..start + n as usize];
            start += n as usize;
            rows.iter().map(|&row| (row, self.neighbours(upper + 1, row).to_vec())).collect()
        });

        let (questions, rows) = self.entry_points();
        HnswData {
            header: self.header,
            level0: self.records(2).to_vec(),
            upper: upper.collect(),
            entry_points: EntryPoints { questions: questions.to_vec(), rows: rows.to_vec() },
        }
    }

    /// The map of the file.
    pub fn map(&self) -> &Mapped {
        self.file.map()
    }

    pub fn verify(&self) -> Result<(), StoreError> {
        self.file.verify()
    }

    fn records(&self, id: u32) -> &[u32] {
        self.file.records(id).unwrap_or(&[])
    }
}

/// The slots of `row` that are in use; empty if the row does not exist.
fn level0_slots(level0: &[u32], width: u32, row: u32) -> &[u32] {
    let start = row as usize * width as usize;
    let slots = level0.get(start..start + width as usize).unwrap_or(&[]);
    let n = slots.iter().position(|&neighbour| neighbour == NONE).unwrap_or(slots.len());
    &slots[..n]
}
