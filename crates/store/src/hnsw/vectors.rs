//! The vectors of some segments, with rows numbered across segments.

use std::sync::Arc;

use super::super::segment::Segment;

/// Number of rows for whose first the segment is stored. A search visits thousands of rows in random order.
const BLOCK: u32 = 4096;

/// The vectors of segments in order: row 0 is the first of the first segment.
pub struct RowVectors<'a> {
    parts: Vec<Part<'a>>,
    /// The part of the first row of each [`BLOCK`] of rows.
    blocks: Vec<u32>,
    dim: usize,
    n_rows: u32,
}

/// The vectors of one segment.
struct Part<'a> {
    /// Number of its first row.
    first: u32,
    /// The vectors, row-major.
    vectors: &'a [i8],
}

impl<'a> RowVectors<'a> {
    /// The vectors of `segments`; at most `u32::MAX` rows.
    pub fn from_segments(segments: &'a [Arc<Segment>]) -> RowVectors<'a> {
        let dim = segments.iter().find(|segment| segment.n_rows() > 0).map_or(1, |segment| segment.dim());
        RowVectors::new(segments.iter().map(|segment| segment.vectors()), dim)
    }

    /// The vectors of parts that are row-major.
    pub fn new(parts: impl Iterator<Item = &'a [i8]>, dim: usize) -> RowVectors<'a> {
        let mut n_rows = 0;
        let parts: Vec<Part<'a>> = parts
            .map(|vectors| {
                let first = n_rows;
                n_rows += (vectors.len() / dim) as u32;
                Part { first, vectors }
            })
            .collect();

        let blocks = (0..n_rows)
            .step_by(BLOCK as usize)
            .map(|row| parts.partition_point(|part| part.first <= row).saturating_sub(1) as u32)
            .collect();
        RowVectors { parts, blocks, dim, n_rows }
    }

    pub fn n_rows(&self) -> u32 {
        self.n_rows
    }

    /// The part of `row`, which must exist, and the number of the row in it.
    #[inline]
    pub fn locate(&self, row: u32) -> (usize, u32) {
        let mut part = self.blocks[(row / BLOCK) as usize] as usize;
        while self.parts.get(part + 1).is_some_and(|next| next.first <= row) {
            part += 1;
        }
        (part, row - self.parts[part].first)
    }

    /// The vector of `row`, which must exist.
    #[inline]
    pub fn at(&self, row: u32) -> &'a [i8] {
        let (part, row) = self.locate(row);
        &self.parts[part].vectors[row as usize * self.dim..][..self.dim]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_through_all_parts() {
        let parts: Vec<Vec<i8>> = [3usize, 0, 5000, 1, 9000]
            .iter()
            .enumerate()
            .map(|(part, n)| (0..*n).flat_map(|row| [part as i8, (row % 100) as i8]).collect())
            .collect();
        let rows = RowVectors::new(parts.iter().map(Vec::as_slice), 2);
        assert_eq!(rows.n_rows(), 14_004);
        let expected: Vec<&[i8]> = parts.iter().flat_map(|part| part.chunks(2)).collect();
        assert!((0..rows.n_rows()).all(|row| rows.at(row) == expected[row as usize]));
        assert_eq!((rows.locate(0), rows.locate(3), rows.locate(5003)), ((0, 0), (2, 0), (3, 0)));
    }
}
