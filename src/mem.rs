//! The one module with `unsafe`: mapping immutable files and the SIMD dot product (requirement X7).

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// A read-only file in memory, or bytes that stand for one.
///
/// Only immutable files are mapped: they are written under a temporary name, renamed once and never written again, and
/// garbage collection unlinks them without truncating, which keeps existing mappings valid.
pub struct Mapped(Bytes);

enum Bytes {
    File(memmap2::Mmap),
    /// Held as words, so that records in it are aligned as they are in a mapping; with the length in bytes.
    Owned(Vec<u64>, usize),
}

impl Mapped {
    /// Maps the whole of `path`.
    pub fn open(path: &Path) -> io::Result<Mapped> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Mapped::owned(&[]));
        }
        // SAFETY: the file is immutable by the publication protocol (see the type); a foreign process that truncates it
        // can end this process with SIGBUS, but cannot make it read memory that is not the file's.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(Mapped(Bytes::File(map)))
    }

    /// A copy of `bytes`.
    pub fn owned(bytes: &[u8]) -> Mapped {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Mapped(Bytes::Owned(words, bytes.len()))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::File(map) => map,
            Bytes::Owned(words, len) => &bytemuck::cast_slice(words)[..*len],
        }
    }
}

/// Dot products of one query with many rows; integer arithmetic, so every machine gives the same numbers.
pub struct DotKernel {
    /// The query widened to 16 bits once, padded with zeros to a multiple of 16.
    query: Vec<i16>,
    dim: usize,
    #[cfg(target_arch = "x86_64")]
    avx2: bool,
}

impl DotKernel {
    /// Prepares `query` for repeated use. Components lie in −127..=127.
    pub fn new(query: &[i8]) -> DotKernel {
        let mut wide: Vec<i16> = query.iter().map(|&q| i16::from(q)).collect();
        wide.resize(query.len().next_multiple_of(16), 0);
        DotKernel {
            query: wide,
            dim: query.len(),
            #[cfg(target_arch = "x86_64")]
            avx2: std::arch::is_x86_feature_detected!("avx2"),
        }
    }

    /// Σ query·row. Panics if `row` has another dimension than the query, which is a programming error.
    pub fn dot(&self, row: &[i8]) -> i32 {
        assert_eq!(row.len(), self.dim, "vectors of one space have one dimension");
        #[cfg(target_arch = "x86_64")]
        if self.avx2 && self.dim.is_multiple_of(16) {
            // SAFETY: AVX2 was detected in `new`; `row` and `query` both have `dim` components, a multiple of 16.
            return unsafe { dot_avx2(&self.query, row) };
        }
        self.query.iter().zip(row).map(|(&q, &r)| i32::from(q) * i32::from(r)).sum()
    }
}

/// Both slices must have the same length, a multiple of 16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn dot_avx2(query: &[i16], row: &[i8]) -> i32 {
    use std::arch::x86_64::*;
    let mut acc0 = _mm256_setzero_si256();
    let mut acc1 = _mm256_setzero_si256();
    let mut i = 0;
    while i + 32 <= row.len() {
        // SAFETY: i + 32 ≤ len, so both 16-byte loads of `row` and both 32-byte loads of `query` are in bounds; the
        // unaligned forms are used.
        unsafe {
            let r0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(row.as_ptr().add(i).cast()));
            let r1 = _mm256_cvtepi8_epi16(_mm_loadu_si128(row.as_ptr().add(i + 16).cast()));
            let q0 = _mm256_loadu_si256(query.as_ptr().add(i).cast());
            let q1 = _mm256_loadu_si256(query.as_ptr().add(i + 16).cast());
            acc0 = _mm256_add_epi32(acc0, _mm256_madd_epi16(r0, q0));
            acc1 = _mm256_add_epi32(acc1, _mm256_madd_epi16(r1, q1));
        }
        i += 32;
    }
    if i < row.len() {
        // SAFETY: the length is a multiple of 16, so exactly 16 components remain.
        unsafe {
            let r0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(row.as_ptr().add(i).cast()));
            let q0 = _mm256_loadu_si256(query.as_ptr().add(i).cast());
            acc0 = _mm256_add_epi32(acc0, _mm256_madd_epi16(r0, q0));
        }
    }
    let acc = _mm256_add_epi32(acc0, acc1);
    let half = _mm_add_epi32(_mm256_castsi256_si128(acc), _mm256_extracti128_si256::<1>(acc));
    let half = _mm_add_epi32(half, _mm_shuffle_epi32::<0b0100_1110>(half));
    let half = _mm_add_epi32(half, _mm_shuffle_epi32::<0b1011_0001>(half));
    _mm_cvtsi128_si32(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simd_and_plain_dot_products_agree() {
        let mut rng = fastrand::Rng::with_seed(7);
        for dim in [1, 15, 16, 48, 64, 255, 256, 384, 768] {
            for _ in 0..50 {
                let a: Vec<i8> = (0..dim).map(|_| rng.i8(-127..=127)).collect();
                let b: Vec<i8> = (0..dim).map(|_| rng.i8(-127..=127)).collect();
                let plain: i32 = a.iter().zip(&b).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum();
                assert_eq!(DotKernel::new(&a).dot(&b), plain, "dimension {dim}");
            }
        }
    }

    #[test]
    fn an_empty_file_maps_to_an_empty_slice() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Mapped::open(file.path()).unwrap().is_empty());
    }
}
