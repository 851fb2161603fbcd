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
    #[cfg(target_arch = "x86_64")]
    avx512: bool,
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
            #[cfg(target_arch = "x86_64")]
            avx512: has_avx512(),
        }
    }

    /// Returns Σ query·row.
    ///
    /// # Panics
    /// If `row` and query have different dimensions.
    pub fn dot(&self, row: &[i8]) -> i32 {
        assert_eq!(row.len(), self.dim, "vectors of one space have one dimension");

        #[cfg(target_arch = "x86_64")]
        if self.avx512 && self.dim.is_multiple_of(64) {
            // SAFETY: AVX-512 was detected in `new`; `row` and `query` both have `dim` components, a multiple
            // of 64.
            return unsafe { dot_avx512(&self.query, row) };
        }

        #[cfg(target_arch = "x86_64")]
        if self.avx2 && self.dim.is_multiple_of(16) {
            // SAFETY: AVX2 was detected in `new`; `row` and `query` both have `dim` components, a multiple of
            // 16.
            return unsafe { dot_avx2(&self.query, row) };
        }

        self.query.iter().zip(row).map(|(&q, &r)| i32::from(q) * i32::from(r)).sum()
    }
}

/// Returns whether the CPU has the parts of AVX-512 that the kernels use.
#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512bw")
}

/// Returns the dot product of two vectors that are each used once.
///
/// # Panics
/// If they have different dimensions.
pub fn dot(one: &[i8], other: &[i8]) -> i32 {
    assert_eq!(one.len(), other.len(), "vectors of one space have one dimension");

    #[cfg(target_arch = "x86_64")]
    if one.len().is_multiple_of(64) && has_avx512() {
        // SAFETY: AVX-512 was detected; both vectors have the same number of components, a multiple of 64.
        return unsafe { dot_narrow_avx512(one, other) };
    }

    #[cfg(target_arch = "x86_64")]
    if one.len().is_multiple_of(16) && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was detected; both vectors have the same number of components, a multiple of 16.
        return unsafe { dot_narrow_avx2(one, other) };
    }

    one.iter().zip(other).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum()
}

/// Dot product of two rows of 8-bit components.
///
/// # Safety
/// The CPU must support AVX2. Both slices must have the same length, a multiple of 16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn dot_narrow_avx2(one: &[i8], other: &[i8]) -> i32 {
    use std::arch::x86_64::*;

    let mut sums = _mm256_setzero_si256();
    for (one, other) in one.chunks_exact(16).zip(other.chunks_exact(16)) {
        // SAFETY: both parts have 16 components; the unaligned form is used.
        let (one, other) = unsafe {
            (
                _mm256_cvtepi8_epi16(_mm_loadu_si128(one.as_ptr().cast())),
                _mm256_cvtepi8_epi16(_mm_loadu_si128(other.as_ptr().cast())),
            )
        };
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(one, other));
    }

    let mut lanes = [0i32; 8];
    // SAFETY: `lanes` has 32 bytes; the unaligned form is used.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sums) };
    lanes.iter().sum()
}

/// As [`dot_narrow_avx2`], with registers of twice the width.
///
/// # Safety
/// The CPU must support AVX-512 F and BW. Both slices must have the same length, a multiple of 64.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn dot_narrow_avx512(one: &[i8], other: &[i8]) -> i32 {
    use std::arch::x86_64::*;

    let mut sums = [_mm512_setzero_si512(); 2];
    for (one, other) in one.chunks_exact(64).zip(other.chunks_exact(64)) {
        for (half, sum) in sums.iter_mut().enumerate() {
            // SAFETY: both parts have 64 components, and `32 * half + 32 ≤ 64`; the unaligned form is used.
            let (one, other) = unsafe {
                (
                    _mm512_cvtepi8_epi16(_mm256_loadu_si256(one.as_ptr().add(32 * half).cast())),
                    _mm512_cvtepi8_epi16(_mm256_loadu_si256(other.as_ptr().add(32 * half).cast())),
                )
            };
            *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(one, other));
        }
    }

    _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
}

/// Prefetches `values` into the CPU cache.
#[inline]
pub fn prefetch<T>(values: &[T]) {
    const LINE: usize = 64;
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of_val(values)).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast::<i8>().wrapping_add(at)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, LINE);
}

/// Dot product of a widened query with a row. Two accumulators hide the latency of the additions.
///
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

/// As [`dot_avx2`], with registers of twice the width.
///
/// # Safety
/// The CPU must support AVX-512 F and BW. Both slices must have the same length, a multiple of 64.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn dot_avx512(query: &[i16], row: &[i8]) -> i32 {
    use std::arch::x86_64::*;
    let mut sums = [_mm512_setzero_si512(); 2];

    for (query, row) in query.chunks_exact(64).zip(row.chunks_exact(64)) {
        for (half, sum) in sums.iter_mut().enumerate() {
            // SAFETY: both parts have 64 components, and `32 * half + 32 ≤ 64`; the unaligned forms are used.
            let (query, row) = unsafe {
                (
                    _mm512_loadu_si512(query.as_ptr().add(32 * half).cast()),
                    _mm512_cvtepi8_epi16(_mm256_loadu_si256(row.as_ptr().add(32 * half).cast())),
                )
            };
            *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(row, query));
        }
    }

    _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
}

/// Number of rows in a block of sign bits, as many as a SIMD register has bytes.
pub const SIGN_BLOCK: usize = 32;

/// Estimates dot products of one query with many rows from the sign bits of the rows.
///
/// Sign bits are stored in blocks of [`SIGN_BLOCK`] rows: for each eight components, a byte of each row. Bit
/// *i* of a byte is set where component *i* is negative. The estimate is the dot product of the query,
/// rounded to a few levels, with vectors of ±1. It is looked up for four components at a time (André,
/// Kermarrec and Le Scouarnec, "Cache locality is not enough", 2015), in integers, so it is the same on every
/// machine.
pub struct SignKernel {
    /// Two tables per byte of a row, for its low and its high four bits.
    tables: Vec<[u8; 16]>,
}

impl SignKernel {
    /// Levels on either side of zero to which a query is rounded. With 127 levels recall@10 is the same.
    const LEVELS: usize = 15;
    /// The largest sum of the estimates of a row.
    const MAX_SUM: usize = u16::MAX as usize;

    /// Prepares `query` for repeated use. Components must be in −127..=127.
    pub fn new(query: &[i8]) -> SignKernel {
        let row_bytes = query.len().div_ceil(8);

        // A byte adds at most sixteen times the levels.
        let levels = (SignKernel::MAX_SUM / 16 / row_bytes.max(1)).clamp(1, SignKernel::LEVELS) as i32;

        let largest = query.iter().map(|q| i32::from(*q).abs()).max().unwrap_or(0).max(1);
        let mut rounded: Vec<i32> = query
            .iter()
            .map(|&q| (2 * i32::from(q) * levels + i32::from(q).signum() * largest) / (2 * largest))
            .collect();

        rounded.resize(8 * row_bytes, 0);
        SignKernel { tables: rounded.chunks_exact(4).map(sums_of_signs).collect() }
    }

    /// Number of bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.tables.len() / 2
    }

    /// Appends the estimate of each row of `blocks`. Estimates grow with the dot product and are not
    /// negative.
    ///
    /// # Panics
    /// If `blocks` is not a whole number of blocks of this many components.
    pub fn estimate(&self, blocks: &[u8], estimates: &mut Vec<u16>) {
        assert_eq!(blocks.len() % (SIGN_BLOCK * self.row_bytes()).max(1), 0, "blocks are whole");

        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // A block that is left over, or all of them.
            let mut rest = blocks;
            if has_avx512() {
                // SAFETY: AVX-512 was detected, and `blocks` is a whole number of blocks.
                rest = unsafe { estimate_avx512(&self.tables, blocks, estimates) };
            }
            // SAFETY: AVX2 was detected, and `rest` is a whole number of blocks.
            return unsafe { estimate_avx2(&self.tables, rest, estimates) };
        }

        estimate_plain(&self.tables, blocks, estimates);
    }
}

/// The sums of four components with each of the sixteen combinations of their signs, above the least of these
/// sums.
fn sums_of_signs(four: &[i32]) -> [u8; 16] {
    std::array::from_fn(|signs| {
        let positive = four.iter().enumerate().map(|(i, q)| if signs >> i & 1 == 1 { -q } else { *q });
        positive.zip(four).map(|(signed, q)| signed + q.abs()).sum::<i32>() as u8
    })
}

/// Estimates without SIMD.
fn estimate_plain(tables: &[[u8; 16]], blocks: &[u8], estimates: &mut Vec<u16>) {
    for block in blocks.chunks_exact((SIGN_BLOCK * tables.len() / 2).max(1)) {
        let mut sums = [0u16; SIGN_BLOCK];
        for (bytes, tables) in block.chunks_exact(SIGN_BLOCK).zip(tables.chunks_exact(2)) {
            for (sum, byte) in sums.iter_mut().zip(bytes) {
                *sum += u16::from(tables[0][usize::from(byte & 15)])
                    + u16::from(tables[1][usize::from(byte >> 4)]);
            }
        }
        estimates.extend_from_slice(&sums);
    }
}

/// Estimates the 32 rows of a block at once: each shuffle looks up one table for all of them.
///
/// # Safety
/// The CPU must support AVX2. The length of `blocks` must be a multiple of 16 times the number of tables.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn estimate_avx2(tables: &[[u8; 16]], blocks: &[u8], estimates: &mut Vec<u16>) {
    use std::arch::x86_64::*;
    let low_bits = _mm256_set1_epi8(15);

    for block in blocks.chunks_exact((SIGN_BLOCK * tables.len() / 2).max(1)) {
        // Sums of pairs of rows, the odd row in the high byte, and sums of the odd rows alone. Two bytes of
        // sums are needed per row, while the tables give one.
        let (mut pairs, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for (bytes, tables) in block.chunks_exact(SIGN_BLOCK).zip(tables.chunks_exact(2)) {
            // SAFETY: `bytes` has 32 bytes and each table 16; the unaligned forms are used.
            let (bytes, low, high) = unsafe {
                (
                    _mm256_loadu_si256(bytes.as_ptr().cast()),
                    _mm256_broadcastsi128_si256(_mm_loadu_si128(tables[0].as_ptr().cast())),
                    _mm256_broadcastsi128_si256(_mm_loadu_si128(tables[1].as_ptr().cast())),
                )
            };

            let low = _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, low_bits));
            let high = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low_bits));
            // At most 240, as a table has no more than 120.
            let both = _mm256_add_epi8(low, high);
            pairs = _mm256_add_epi16(pairs, both);
            odd = _mm256_add_epi16(odd, _mm256_srli_epi16::<8>(both));
        }

        let even = _mm256_sub_epi16(pairs, _mm256_slli_epi16::<8>(odd));
        // Unpacking works within 128-bit halves: rows 0–7 and 16–23, and rows 8–15 and 24–31.
        let (first, second) = (_mm256_unpacklo_epi16(even, odd), _mm256_unpackhi_epi16(even, odd));

        let mut sums = [0u16; SIGN_BLOCK];
        // SAFETY: `sums` has 64 bytes; the unaligned forms are used.
        unsafe {
            let to: *mut __m256i = sums.as_mut_ptr().cast();
            _mm256_storeu_si256(to, _mm256_permute2x128_si256::<0x20>(first, second));
            _mm256_storeu_si256(to.add(1), _mm256_permute2x128_si256::<0x31>(first, second));
        }
        estimates.extend_from_slice(&sums);
    }
}

/// Estimates the rows of two blocks at once, as [`estimate_avx2`] does those of one. Returns the block that is
/// left over.
///
/// # Safety
/// The CPU must support AVX-512 F and BW. The length of `blocks` must be a multiple of 16 times the number of
/// tables.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn estimate_avx512<'b>(tables: &[[u8; 16]], blocks: &'b [u8], estimates: &mut Vec<u16>) -> &'b [u8] {
    use std::arch::x86_64::*;
    let low_bits = _mm512_set1_epi8(15);
    // Even rows are in the first of two registers, and odd rows in the second, in order.
    // SAFETY: the arrays have 64 bytes; the unaligned form is used.
    let rows = unsafe {
        [0, 16].map(|first: u16| {
            let rows: [u16; 32] = std::array::from_fn(|at| first + at as u16 / 2 + at as u16 % 2 * 32);
            _mm512_loadu_si512(rows.as_ptr().cast())
        })
    };

    let mut two_blocks = blocks.chunks_exact((SIGN_BLOCK * tables.len()).max(1));
    for two in two_blocks.by_ref() {
        let (first, second) = two.split_at(two.len() / 2);
        let bytes = first.chunks_exact(SIGN_BLOCK).zip(second.chunks_exact(SIGN_BLOCK));

        // Sums of pairs of rows, the odd row in the high byte, and sums of the odd rows alone.
        let (mut pairs, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        for ((first, second), tables) in bytes.zip(tables.chunks_exact(2)) {
            // SAFETY: `first` and `second` have 32 bytes and each table 16; the unaligned forms are used.
            let (bytes, low, high) = unsafe {
                let first = _mm512_castsi256_si512(_mm256_loadu_si256(first.as_ptr().cast()));
                (
                    _mm512_inserti64x4::<1>(first, _mm256_loadu_si256(second.as_ptr().cast())),
                    _mm512_broadcast_i32x4(_mm_loadu_si128(tables[0].as_ptr().cast())),
                    _mm512_broadcast_i32x4(_mm_loadu_si128(tables[1].as_ptr().cast())),
                )
            };

            let low = _mm512_shuffle_epi8(low, _mm512_and_si512(bytes, low_bits));
            let high = _mm512_shuffle_epi8(high, _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), low_bits));
            let both = _mm512_add_epi8(low, high);
            pairs = _mm512_add_epi16(pairs, both);
            odd = _mm512_add_epi16(odd, _mm512_srli_epi16::<8>(both));
        }

        let even = _mm512_sub_epi16(pairs, _mm512_slli_epi16::<8>(odd));
        for rows in rows {
            let mut sums = [0u16; SIGN_BLOCK];
            let in_order = _mm512_permutex2var_epi16(even, rows, odd);
            // SAFETY: `sums` has 64 bytes; the unaligned form is used.
            unsafe { _mm512_storeu_si512(sums.as_mut_ptr().cast(), in_order) };
            estimates.extend_from_slice(&sums);
        }
    }

    two_blocks.remainder()
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

/// Adds weighted rows without SIMD.
fn add_rows_plain(rows: &[i8], weighted: &[(u32, i16)], sums: &mut [i32]) {
    for &(id, weight) in weighted {
        let row = row_of(rows, id, sums.len());
        for (sum, &component) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_add(i32::from(weight) * i32::from(component));
        }
    }
}

/// Returns the `dim` components of a row; empty if the row does not exist.
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

            // The weights of both rows are interleaved like their components.
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
                assert_eq!(dot(&a, &b), plain, "dimension {dim}");
            }
        }
    }

    #[test]
    fn simd_and_plain_estimates_agree_and_order_rows_by_dot_product() {
        let mut rng = fastrand::Rng::with_seed(3);
        for dim in [1usize, 8, 60, 256, 768, 4096] {
            let query: Vec<i8> = (0..dim).map(|_| rng.i8(-127..=127)).collect();
            let kernel = SignKernel::new(&query);
            let blocks: Vec<u8> = (0..3 * SIGN_BLOCK * kernel.row_bytes()).map(|_| rng.u8(..)).collect();
            let (mut fast, mut plain) = (Vec::new(), Vec::new());
            kernel.estimate(&blocks, &mut fast);
            estimate_plain(&kernel.tables, &blocks, &mut plain);
            assert_eq!(fast, plain, "dimension {dim}");
            assert_eq!(fast.len(), 3 * SIGN_BLOCK);
            // The row with the signs of the query has the largest possible estimate, its opposite the least.
            let signs: Vec<u8> = query
                .chunks(8)
                .map(|part| part.iter().enumerate().fold(0, |byte, (i, q)| byte | u8::from(*q < 0) << i))
                .collect();
            let equal: Vec<u8> = signs.iter().flat_map(|byte| [*byte; SIGN_BLOCK]).collect();
            let opposite: Vec<u8> = equal.iter().map(|byte| !byte).collect();
            let mut ends = Vec::new();
            kernel.estimate(&equal, &mut ends);
            kernel.estimate(&opposite, &mut ends);
            assert!(fast.iter().all(|estimate| (ends[SIGN_BLOCK]..=ends[0]).contains(estimate)));
            assert_eq!(ends[SIGN_BLOCK], 0);
        }
    }
}
