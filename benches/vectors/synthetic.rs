//! Synthetic rows, for more of them than an index has: its vectors in turn, each with noise.
//!
//! The noise of a row is the sum of two differences between near neighbours, drawn from the whole index, each
//! with a random sign, and divided by √2. So it is about as long as one such difference, and a row about as
//! far from the one it was made of as rows are from their near neighbours, in directions in which these
//! differ. Noise that is equal in all directions could have that length, but not these directions. There are
//! as many sums as pairs of differences, so rows made of the same one are rarely equal.
//!
//! A row is then scaled to the length of that one: noise makes vectors longer, and longer ones have larger
//! products. The noise does not depend on how dense the surroundings of a row are, so groups of rows that are
//! nearly equal in the index are less so here.

use std::f32::consts::FRAC_1_SQRT_2;
use std::sync::Arc;

use codeweaver::query::Ann;
use codeweaver::query::view::View;
use codeweaver_git::Oid;
use codeweaver_index::build::SEAL_ROWS;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::rows::{DocKey, DocMeta, RowMeta};
use codeweaver_store::segment::{Segment, SegmentBuilder};

use crate::common::Result;
use crate::{KEEP, leading_scope, nearest};

/// Rows whose near neighbours are looked up, spread over the index.
const N_SAMPLED: u32 = 512;
/// Near neighbours of a row, those that equal it not counted.
const N_NEAR: usize = 10;
/// The same rows are made in every run.
const SEED: u64 = 17;
/// One synthetic row in this many is compared with the one it was made of.
const COMPARED: usize = 1000;

/// Adds `n_rows` rows to `view`, in segments as large as those of an index, and says how near they are to
/// those they were made of.
pub fn append(view: &mut View, n_rows: u32) -> Result<String> {
    let noise = Noise::new(view)?;
    let indexed = view.reader.segments.clone();
    let originals = RowVectors::from_segments(&indexed);
    let mut rng = fastrand::Rng::with_seed(SEED);
    let mut in_turn = (0..originals.n_rows()).cycle().enumerate();
    let mut cosines = Vec::new();
    let mut left = n_rows as usize;
    while left > 0 {
        let n = left.min(SEAL_ROWS);
        let mut vectors = Vec::with_capacity(n * noise.dim);
        for (i, row) in in_turn.by_ref().take(n) {
            let made = noise.added_to(originals.at(row), &mut rng);
            if i % COMPARED == 0 {
                cosines.push(cosine(originals.at(row), &made));
            }
            vectors.extend(made);
        }
        view.reader.push_segment(Arc::new(segment(&vectors, noise.dim)?));
        left -= n;
    }
    let (here, there) = (median(cosines), noise.cosine);
    Ok(format!("{n_rows}, median cosine with their originals {here:.3}, of near neighbours {there:.3}"))
}

struct Noise {
    /// Differences between near neighbours, row-major.
    differences: Vec<i16>,
    dim: usize,
    /// Median of these neighbours.
    cosine: f32,
}

impl Noise {
    fn new(view: &View) -> Result<Noise> {
        let scope = leading_scope(view, u32::MAX);
        let segments = &view.reader.segments;
        let rows = RowVectors::from_segments(segments);
        let (mut differences, mut cosines) = (Vec::new(), Vec::new());
        let step = (rows.n_rows() / N_SAMPLED).max(1);
        for row in (0..rows.n_rows()).step_by(step as usize) {
            let vector = rows.at(row);
            let near = nearest(view, &scope, vector, (Ann::Exact, KEEP)).into_iter();
            let near = near.map(|(_, id)| segments[id.segment as usize].vector(id.row));
            for other in near.filter(|other| *other != vector).take(N_NEAR) {
                differences.extend(vector.iter().zip(other).map(|(a, b)| i16::from(*b) - i16::from(*a)));
                cosines.push(cosine(vector, other));
            }
        }
        if differences.is_empty() {
            return Err("synthetic rows need vectors that differ".into());
        }
        Ok(Noise { differences, dim: rows.at(0).len(), cosine: median(cosines) })
    }

    fn added_to(&self, original: &[i8], rng: &mut fastrand::Rng) -> Vec<i8> {
        let mut difference = || {
            let at = rng.usize(0..self.differences.len() / self.dim) * self.dim;
            let factor = if rng.bool() { FRAC_1_SQRT_2 } else { -FRAC_1_SQRT_2 };
            (factor, &self.differences[at..at + self.dim])
        };
        let ((p, one), (q, other)) = (difference(), difference());
        let noise = one.iter().zip(other).map(|(&a, &b)| p * f32::from(a) + q * f32::from(b));
        let moved: Vec<f32> = original.iter().zip(noise).map(|(&x, noise)| f32::from(x) + noise).collect();
        let scale = length(original.iter().map(|&x| f32::from(x)))
            / length(moved.iter().copied()).max(f32::MIN_POSITIVE);
        moved.iter().map(|x| (x * scale).round().clamp(-127.0, 127.0) as i8).collect()
    }
}

/// One doc with these rows, of which nothing but the vectors is searched.
fn segment(vectors: &[i8], dim: usize) -> Result<Segment> {
    let doc = DocMeta {
        key: DocKey { blob_oid: Oid::from_bytes_or_panic(&[0; 20]), variant: 0 },
        language: String::new(),
        skipped: 0,
        blob_bytes: 0,
        degradations: Vec::new(),
    };
    let row = RowMeta {
        chunk_id: [0; 16],
        input_hash: [0; 16],
        byte_range: 0..0,
        lines: (1, 1),
        language: String::new(),
        source: 0,
        class: 0,
        is_container: false,
        token_count: 0,
        title: String::new(),
        enclosing: Vec::new(),
        symbols: Vec::new(),
        detail: String::new(),
    };
    // The last segment may be small, and is scanned like the others.
    let mut builder = SegmentBuilder::new(dim).with_sign_bits_from(1);
    builder.push_doc(doc, vec![row; vectors.len() / dim], vectors, &[]);
    Ok(Segment::in_memory(builder)?)
}

fn length(vector: impl Iterator<Item = f32>) -> f32 {
    vector.map(|x| x * x).sum::<f32>().sqrt()
}

fn cosine(a: &[i8], b: &[i8]) -> f32 {
    let product =
        |a: &[i8], b: &[i8]| a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum::<i32>() as f32;
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

fn median(mut values: Vec<f32>) -> f32 {
    values.sort_unstable_by(f32::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
