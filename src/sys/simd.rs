//! Integer SIMD kernels over rows of `i8` vectors and of packed sign bits.
//!
//! Every kernel has a scalar fallback with the same results, so scores do not depend on the machine.

/// Dot products of one query with many rows, in integer arithmetic: the results are the same on every
/// machine.
pub struct DotKernel {
    /// The query widened to 16 bits once, padded with zeros to a multiple of 16.
    query: Vec<i16>,
    dim: usize,
    #[cfg(target_arch = "x86_64")]
    avx2: bool,
}

impl DotKernel {
    /// Number of components of the query.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Prepares `query` for repeated use. Components must be in −127..=127.
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

    /// Returns Σ query·row.
    ///
    /// # Panics
    /// If `row` and query have different dimensions.
    pub fn dot(&self, row: &[i8]) -> i32 {
        assert_eq!(row.len(), self.dim, "vectors of one space have one dimension");
        #[cfg(target_arch = "x86_64")]
        if self.avx2 && self.dim.is_multiple_of(16) {
            // SAFETY: AVX2 was detected in `new`; `row` and `query` both have `dim` components, a multiple of
            // 16.
            return unsafe { dot_avx2(&self.query, row) };
        }
        self.query.iter().zip(row).map(|(&q, &r)| i32::from(q) * i32::from(r)).sum()
    }
}

/// Prefetches `row` into the CPU cache.
pub fn prefetch(row: &[i8]) {
    const LINE: usize = 64;
    #[cfg(target_arch = "x86_64")]
    for line in row.chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (row, LINE);
}

/// # Safety
/// The CPU must support AVX2. Both slices must have the same length, a multiple of 16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn dot_avx2(query: &[i16], row: &[i8]) -> i32 {
    use std::arch::x86_64::*;
    let mut acc0 = _mm256_setzero_si256();
    let mut acc1 = _mm256_setzero_si256();
    let mut i = 0;
    while i + 32 <= row.len() {
        // SAFETY: i + 32 ≤ len, so both 16-byte loads of `row` and both 32-byte loads of `query` are in
        // bounds; the unaligned forms are used.
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

/// Appends the Hamming distance of `query` to each of `rows`, which have the same number of words. In binary
/// quantisation it is the number of components with different signs.
pub fn hamming_distances(query: &[u64], rows: &[u64], distances: &mut Vec<u16>) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: popcnt was detected, which is the only requirement of the function.
        return unsafe { hamming_distances_popcnt(query, rows, distances) };
    }
    hamming_distances_plain(query, rows, distances);
}

/// Counts bits with one instruction instead of a dozen.
///
/// # Safety
/// The CPU must support popcnt.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
unsafe fn hamming_distances_popcnt(query: &[u64], rows: &[u64], distances: &mut Vec<u16>) {
    hamming_distances_plain(query, rows, distances);
}

#[inline(always)]
fn hamming_distances_plain(query: &[u64], rows: &[u64], distances: &mut Vec<u16>) {
    if let Ok(query) = <&[u64; 4]>::try_from(query) {
        // 256 components, the usual dimension, without an inner loop.
        let of_row =
            |row: &[u64; 4]| query.iter().zip(row).map(|(q, r)| (q ^ r).count_ones() as u16).sum::<u16>();
        distances.extend(rows.as_chunks().0.iter().map(of_row));
    } else {
        let of_row =
            |row: &[u64]| query.iter().zip(row).map(|(q, r)| (q ^ r).count_ones() as u16).sum::<u16>();
        distances.extend(rows.chunks_exact(query.len().max(1)).map(of_row));
    }
}

/// Adds weighted rows to `sums`: `sums[i] += Σ weight · rows[id · dim + i]`, where `dim` is the length of
/// `sums`.
///
/// Integer arithmetic that wraps around at 32 bits, so the results are the same on every machine. An id
/// beyond the rows adds nothing.
pub fn add_rows(rows: &[i8], weighted: &[(u32, i16)], sums: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if sums.len().is_multiple_of(16) && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was detected, and the length of `sums` is a multiple of 16.
        return unsafe { add_rows_avx2(rows, weighted, sums) };
    }
    add_rows_plain(rows, weighted, sums);
}

fn add_rows_plain(rows: &[i8], weighted: &[(u32, i16)], sums: &mut [i32]) {
    for &(id, weight) in weighted {
        let row = row_of(rows, id, sums.len());
        for (sum, &component) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_add(i32::from(weight) * i32::from(component));
        }
    }
}

/// The `dim` components of a row; empty if the row does not exist.
#[inline]
fn row_of(rows: &[i8], id: u32, dim: usize) -> &[i8] {
    rows.get(id as usize * dim..).and_then(|rest| rest.get(..dim)).unwrap_or_default()
}

/// Adds rows in pairs, since one instruction multiplies two pairs of 16-bit components and adds the products.
/// Processes 64 components at a time, whose sums stay in registers.
///
/// # Safety
/// The CPU must support AVX2. The length of `sums` must be a multiple of 16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn add_rows_avx2(rows: &[i8], weighted: &[(u32, i16)], sums: &mut [i32]) {
    let dim = sums.len();
    let mut from = 0;
    while from < dim {
        // SAFETY: the CPU supports AVX2, and `from + 16 * N ≤ dim`.
        unsafe {
            if from + 64 <= dim {
                add_block_avx2::<4>(rows, weighted, sums, from);
                from += 64;
            } else {
                add_block_avx2::<1>(rows, weighted, sums, from);
                from += 16;
            }
        }
    }
}

/// Adds the `16 * N` components from `from` on.
///
/// # Safety
/// The CPU must support AVX2. `from + 16 * N` must not exceed the length of `sums`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn add_block_avx2<const N: usize>(
    rows: &[i8],
    weighted: &[(u32, i16)],
    sums: &mut [i32],
    from: usize,
) {
    use std::arch::x86_64::*;
    let dim = sums.len();
    let mut totals = [[_mm256_setzero_si256(); 2]; N];
    let zeros = [0i8; 64];
    let block = |id: u32| {
        let row = row_of(rows, id, dim);
        if row.is_empty() { &zeros[..16 * N] } else { &row[from..from + 16 * N] }
    };
    for pair in weighted.chunks(2) {
        let (first, first_weight) = (block(pair[0].0), pair[0].1);
        let (second, second_weight) =
            pair.get(1).map_or((&zeros[..16 * N], 0), |pair| (block(pair.0), pair.1));
        let weights = i32::from(first_weight.cast_unsigned()) | i32::from(second_weight) << 16;
        let weights = _mm256_set1_epi32(weights);
        for (at, total) in totals.iter_mut().enumerate() {
            // SAFETY: both blocks have 16 * N components and `at` < N; the unaligned form is used.
            let (first, second) = unsafe {
                (
                    _mm256_cvtepi8_epi16(_mm_loadu_si128(first.as_ptr().add(16 * at).cast())),
                    _mm256_cvtepi8_epi16(_mm_loadu_si128(second.as_ptr().add(16 * at).cast())),
                )
            };
            let low = _mm256_madd_epi16(_mm256_unpacklo_epi16(first, second), weights);
            let high = _mm256_madd_epi16(_mm256_unpackhi_epi16(first, second), weights);
            total[0] = _mm256_add_epi32(total[0], low);
            total[1] = _mm256_add_epi32(total[1], high);
        }
    }
    for (at, [low, high]) in totals.into_iter().enumerate() {
        // Unpacking works within 128-bit halves: `low` has components 0–3 and 8–11, `high` 4–7 and 12–15.
        let ordered =
            [_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high)];
        for (part, total) in ordered.into_iter().enumerate() {
            let start = from + 16 * at + 8 * part;
            // SAFETY: `start + 8 ≤ from + 16 * N ≤ sums.len()`; the unaligned forms are used.
            unsafe {
                let to: *mut __m256i = sums.as_mut_ptr().add(start).cast();
                _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), total));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simd_and_plain_sums_of_rows_agree() {
        let mut rng = fastrand::Rng::with_seed(9);
        for dim in [1, 15, 16, 48, 64, 80, 256, 1024] {
            let rows: Vec<i8> = (0..40 * dim).map(|_| rng.i8(..)).collect();
            for n in [0, 1, 2, 3, 7, 40, 501] {
                let weighted: Vec<(u32, i16)> = (0..n).map(|_| (rng.u32(..42), rng.i16(..))).collect();
                let before: Vec<i32> = (0..dim).map(|_| rng.i32(..)).collect();
                let (mut fast, mut plain) = (before.clone(), before);
                add_rows(&rows, &weighted, &mut fast);
                add_rows_plain(&rows, &weighted, &mut plain);
                assert_eq!(fast, plain, "{n} rows of {dim}");
            }
        }
    }

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
    fn distances_count_differing_bits() {
        let mut rng = fastrand::Rng::with_seed(3);
        for words in [1, 3, 4, 12] {
            let query: Vec<u64> = (0..words).map(|_| rng.u64(..)).collect();
            let rows: Vec<u64> = (0..words * 9).map(|_| rng.u64(..)).collect();
            let mut distances = Vec::new();
            hamming_distances(&query, &rows, &mut distances);
            let bits = |words: &[u64]| words.iter().map(|word| format!("{word:064b}")).collect::<String>();
            let differing =
                |row: &[u64]| bits(row).bytes().zip(bits(&query).bytes()).filter(|(a, b)| a != b).count();
            let expected: Vec<u16> = rows.chunks(words).map(|row| differing(row) as u16).collect();
            assert_eq!(distances, expected);
        }
    }
}
