//! Sign bits of vectors: one bit per component, an eighth of the size of int8, in the blocks that
//! [`SignKernel`](codeweaver_base::sys::SignKernel) reads.
//!
//! The sign bits of a vector are enough to estimate its dot product with a query (Charikar, "Similarity
//! estimation techniques from rounding algorithms", 2002), so a large scan can skip nearly all vectors
//! without reading them.

use std::ops::Range;

use codeweaver_base::sys::SIGN_BLOCK;

/// The sign bits of a segment's vectors.
#[derive(Debug, Clone, Copy)]
pub struct SignBits<'a> {
    /// The blocks of all rows.
    pub blocks: &'a [u8],
    pub dim: usize,
}

impl<'a> SignBits<'a> {
    /// The blocks of `rows`, which must exist and begin with a block.
    pub fn rows(&self, rows: Range<u32>) -> &'a [u8] {
        let (start, end) = (rows.start as usize, rows.end as usize);
        let row_bytes = self.dim.div_ceil(8);
        &self.blocks[start * row_bytes..end.next_multiple_of(SIGN_BLOCK) * row_bytes]
    }
}

/// Number of bytes in the blocks of `n_rows` rows.
pub fn bytes(n_rows: u32, dim: usize) -> usize {
    (n_rows as usize).next_multiple_of(SIGN_BLOCK) * dim.div_ceil(8)
}

/// The blocks of `vectors`, which are row-major. Unused rows of the last block are zero.
pub fn blocks(vectors: &[i8], dim: usize) -> Vec<u8> {
    let (dim, row_bytes) = (dim.max(1), dim.div_ceil(8));
    let mut blocks = vec![0; (vectors.len() / dim).next_multiple_of(SIGN_BLOCK) * row_bytes];
    for (row, vector) in vectors.chunks_exact(dim).enumerate() {
        let block = &mut blocks[row / SIGN_BLOCK * SIGN_BLOCK * row_bytes..];
        for (i, eight) in vector.chunks(8).enumerate() {
            block[i * SIGN_BLOCK + row % SIGN_BLOCK] = of_eight(eight);
        }
    }
    blocks
}

/// The sign bits of at most eight components, the first in the lowest bit.
fn of_eight(part: &[i8]) -> u8 {
    const SIGNS: u64 = 0x8080_8080_8080_8080;
    /// Moves bit `8i` of a word that has no other bits to bit `56 + i`.
    const GATHER: u64 = 0x0102_0408_1020_4080;

    match <&[i8; 8]>::try_from(part) {
        // All eight at once: the sign bits of the word are gathered by one multiplication.
        Ok(eight) => {
            let word = u64::from_le_bytes(bytemuck::cast(*eight));
            (((word & SIGNS) >> 7).wrapping_mul(GATHER) >> 56) as u8
        }
        Err(_) => {
            part.iter().enumerate().fold(0, |bits, (i, &component)| bits | u8::from(component < 0) << i)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_a_byte_of_every_eight_components() {
        let mut rng = fastrand::Rng::with_seed(1);
        for (n_rows, dim) in [(1, 256), (32, 256), (33, 70), (100, 8), (0, 16)] {
            let vectors: Vec<i8> = (0..n_rows * dim).map(|_| rng.i8(-127..=127)).collect();
            let blocks = blocks(&vectors, dim);
            assert_eq!(blocks.len(), bytes(n_rows as u32, dim));
            for (row, vector) in vectors.chunks_exact(dim).enumerate() {
                let block = &blocks[row / 32 * 32 * dim.div_ceil(8)..];
                let bit = |i: usize| block[i / 8 * 32 + row % 32] >> (i % 8) & 1 == 1;
                assert!(vector.iter().enumerate().all(|(i, &x)| bit(i) == (x < 0)), "row {row}");
            }
        }
    }
}
