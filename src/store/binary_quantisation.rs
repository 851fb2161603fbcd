//! Sign bits of vectors: one bit per component, an eighth of the size of int8.
//!
//! Similar vectors differ in the sign of few components (Charikar, "Similarity estimation techniques from
//! rounding algorithms", 2002), so a large scan can skip nearly all vectors without reading them.

use std::borrow::Cow;
use std::ops::Range;

/// The sign bits of a segment's vectors.
pub struct SignBits<'a> {
    /// [`words`] per row, in segments that store them.
    pub stored: Option<&'a [u64]>,
    /// Row-major.
    pub vectors: &'a [i8],
    pub dim: usize,
}

impl<'a> SignBits<'a> {
    /// Sign bits of `rows`, which must exist: stored or computed.
    pub fn of(&self, rows: Range<u32>) -> Cow<'a, [u64]> {
        let part = |width: usize| rows.start as usize * width..rows.end as usize * width;
        match self.stored {
            Some(stored) => Cow::Borrowed(&stored[part(words(self.dim))]),
            None => Cow::Owned(of_rows(&self.vectors[part(self.dim)], self.dim)),
        }
    }
}

/// Words of one vector.
pub fn words(dim: usize) -> usize {
    dim.div_ceil(64)
}

/// Bit `i % 64` of word `i / 64` is set where component `i` is negative. `vectors` are row-major.
pub fn of_rows(vectors: &[i8], dim: usize) -> Vec<u64> {
    let mut signs = Vec::with_capacity(vectors.len() / dim.max(1) * words(dim));
    for vector in vectors.chunks_exact(dim.max(1)) {
        signs.extend(vector.chunks(64).map(|part| {
            part.chunks(8)
                .enumerate()
                .fold(0, |word, (byte, part)| word | u64::from(of_eight(part)) << (8 * byte))
        }));
    }
    signs
}

/// The sign bits of at most eight components, the first in the lowest bit.
fn of_eight(part: &[i8]) -> u8 {
    const SIGNS: u64 = 0x8080_8080_8080_8080;
    /// Moves bit `8i` of a word that has no other bits to bit `56 + i`.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    match <&[i8; 8]>::try_from(part) {
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
    fn each_row_has_words_of_its_own() {
        let mut vectors = vec![1i8; 2 * 70];
        (vectors[0], vectors[1], vectors[65], vectors[70 + 69]) = (-1, 0, -127, -5);
        assert_eq!(of_rows(&vectors, 70), [1, 1 << 1, 0, 1 << 5]);
        let mut rng = fastrand::Rng::with_seed(1);
        let vector: Vec<i8> = (0..256).map(|_| rng.i8(-127..=127)).collect();
        let signs = of_rows(&vector, 256);
        assert!(vector.iter().enumerate().all(|(i, &x)| (signs[i / 64] >> (i % 64) & 1 == 1) == (x < 0)));
    }
}
