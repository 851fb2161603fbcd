//! `init-from-transformer`: initial rows from a small sentence transformer.
//!
//! Every entry is embedded as a text of one word, the vectors are projected on their principal components,
//! and each is scaled by the inverse document frequency of its word. Entries are stems, so the text that is
//! embedded is the most frequent word with that stem in the pairs.

use std::path::PathBuf;

use anyhow::Result;
use rustc_hash::FxHashMap;

use codeweaver_text::stem;

use super::init::clipped_idf;
use super::rows::{self, Rows, length};
use crate::dataset::{Dataset, for_each_file, pair_files};
use crate::evaluate::transformer;
use crate::pair::PairReader;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(long)]
    dataset: PathBuf,
    /// Directory with `.pairs` files, for the words of each stem.
    #[arg(long)]
    pairs: PathBuf,
    /// Directory with `model.onnx` and `tokenizer.json`.
    #[arg(long)]
    transformer: PathBuf,
    /// Shared library of ONNX Runtime.
    #[arg(long)]
    ort_library: Option<PathBuf>,
    #[arg(long, default_value_t = 256)]
    dims: usize,
    #[arg(long)]
    out: PathBuf,
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

/// Maximum number of pairs that are read from a repository: enough for every common word.
const MAX_PAIRS: usize = 4_000;
const WORDS_A_CALL: usize = 32;

pub fn run(args: &Args) -> Result<()> {
    let data = Dataset::read(&args.dataset)?;
    let words = most_frequent_words(args)?;
    let model = transformer(&args.transformer, args.ort_library.as_deref())?;
    let texts: Vec<&str> = data
        .vocabulary
        .iter()
        .map(|entry| words.get(entry.as_str()).map_or(entry.trim_start_matches("##"), String::as_str))
        .collect();
    let mut vectors: Vec<i8> = Vec::new();
    for (call, some) in texts.chunks(WORDS_A_CALL).enumerate() {
        model.embed_documents(some, &mut vectors)?;
        if call % 100 == 99 {
            println!("{} of {} entries", (call + 1) * WORDS_A_CALL, texts.len());
        }
    }
    let dim = model.dim();
    let vectors = vectors.iter().map(|&x| f32::from(x) / model.scale()).collect();
    let mut rows = principal_components(&Rows { dim, data: vectors }, args.dims);
    let mean = rows.data.chunks_exact(rows.dim).map(length).sum::<f32>() / rows.n() as f32;
    for (row, idf) in rows.data.chunks_exact_mut(args.dims).zip(clipped_idf(&data)) {
        row.iter_mut().for_each(|x| *x *= idf / mean);
    }
    rows::write(&args.out, &rows, None)
}

/// The most frequent word of each stem.
fn most_frequent_words(args: &Args) -> Result<FxHashMap<String, String>> {
    let files = pair_files(&args.pairs)?;
    let counted = for_each_file(&files, args.threads, |_, path| {
        let mut counts: FxHashMap<String, u32> = FxHashMap::default();
        for pair in PairReader::open(path)?.take(MAX_PAIRS) {
            let pair = pair?;
            words(&pair.text, &mut counts);
            words(&pair.code, &mut counts);
        }
        counts.retain(|_, n| *n > 1);
        Ok(counts)
    })?;
    let mut counts: FxHashMap<String, u32> = FxHashMap::default();
    for (word, n) in counted.into_iter().flatten() {
        *counts.entry(word).or_default() += n;
    }
    let mut best: FxHashMap<String, (u32, String)> = FxHashMap::default();
    for (word, n) in counts {
        let best = best.entry(stem(&word)).or_default();
        if (n, &best.1) > (best.0, &word) {
            *best = (n, word);
        }
    }
    Ok(best.into_iter().map(|(stem, (_, word))| (stem, word)).collect())
}

/// Counts the words of a text and the parts of its names, in lower case.
fn words(text: &str, counts: &mut FxHashMap<String, u32>) {
    let mut word = String::new();
    let mut was_lower = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            end_word(&mut word, counts);
        }
        was_lower = c.is_lowercase();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    end_word(&mut word, counts);
}

/// Counts a word of at least two bytes, and empties `word` for the next.
fn end_word(word: &mut String, counts: &mut FxHashMap<String, u32>) {
    if word.len() > 1 {
        match counts.get_mut(word.as_str()) {
            Some(n) => *n += 1,
            None => {
                counts.insert(word.clone(), 1);
            }
        }
    }
    word.clear();
}

/// Projects the vectors, minus their mean, on the `dims` directions of largest variance, the largest first.
fn principal_components(vectors: &Rows, dims: usize) -> Rows {
    let (n, dim) = (vectors.n(), vectors.dim);
    let mut mean = vec![0.0f64; dim];
    for row in vectors.data.chunks_exact(dim) {
        mean.iter_mut().zip(row).for_each(|(mean, &x)| *mean += f64::from(x) / n as f64);
    }
    let mut covariance = vec![0.0f64; dim * dim];
    let mut centred = vec![0.0f64; dim];
    for row in vectors.data.chunks_exact(dim) {
        centred.iter_mut().zip(row.iter().zip(&mean)).for_each(|(to, (&x, mean))| *to = f64::from(x) - mean);
        for (line, &a) in covariance.chunks_exact_mut(dim).zip(&centred) {
            line.iter_mut().zip(&centred).for_each(|(sum, b)| *sum += a * b);
        }
    }
    let directions = eigenvectors(&mut covariance, dim);
    let mut out = Rows::zero(n, dims);
    for (row, to) in vectors.data.chunks_exact(dim).zip(out.data.chunks_exact_mut(dims)) {
        for (to, direction) in to.iter_mut().zip(&directions) {
            let projected: f64 =
                row.iter().zip(&mean).zip(direction).map(|((&x, mean), d)| (f64::from(x) - mean) * d).sum();
            *to = projected as f32;
        }
    }
    out
}

/// Eigenvectors of a symmetric matrix by descending eigenvalue (C. Jacobi, 1846): rotations that each make
/// one cell zero. The eigenvalues replace the diagonal.
fn eigenvectors(matrix: &mut [f64], n: usize) -> Vec<Vec<f64>> {
    let mut vectors: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let scale: f64 = matrix.iter().map(|x| x * x).sum();
    for _ in 0..30 {
        let rest: f64 =
            (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| matrix[i * n + j].powi(2)).sum();
        if rest <= 1e-18 * scale {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                let cell = matrix[p * n + q];
                if cell * cell <= 1e-24 * scale {
                    continue;
                }
                let theta = (matrix[q * n + q] - matrix[p * n + p]) / (2.0 * cell);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let cos = 1.0 / (t * t + 1.0).sqrt();
                let sin = t * cos;
                for k in 0..n {
                    let (a, b) = (matrix[k * n + p], matrix[k * n + q]);
                    (matrix[k * n + p], matrix[k * n + q]) = (cos * a - sin * b, sin * a + cos * b);
                }
                for k in 0..n {
                    let (a, b) = (matrix[p * n + k], matrix[q * n + k]);
                    (matrix[p * n + k], matrix[q * n + k]) = (cos * a - sin * b, sin * a + cos * b);
                }
                let (left, right) = vectors.split_at_mut(q);
                for (a, b) in left[p].iter_mut().zip(&mut right[0]) {
                    (*a, *b) = (cos * *a - sin * *b, sin * *a + cos * *b);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| matrix[b * n + b].total_cmp(&matrix[a * n + a]));
    order.into_iter().map(|i| std::mem::take(&mut vectors[i])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::rows::dot;

    #[test]
    fn principal_components_keep_distances_and_order_by_variance() {
        let mut random = fastrand::Rng::with_seed(8);
        let mut rows = Rows::zero(60, 6);
        for row in rows.data.chunks_exact_mut(6) {
            let (a, b) = (random.f32() * 10.0, random.f32() - 0.5);
            row.copy_from_slice(&[a + b, a - b, a, 2.0 * b, 1.0, b]);
        }
        let out = principal_components(&rows, 2);
        let distance = |rows: &Rows, i: usize, j: usize| {
            let difference: Vec<f32> = rows.row(i).iter().zip(rows.row(j)).map(|(a, b)| a - b).collect();
            length(&difference)
        };
        for i in 1..60 {
            assert!((distance(&rows, 0, i) - distance(&out, 0, i)).abs() < 1e-3);
        }
        let column = |at: usize| -> Vec<f32> { (0..60).map(|i| out.row(i)[at]).collect() };
        assert!(dot(&column(0), &column(0)) > 10.0 * dot(&column(1), &column(1)));
        assert!(dot(&column(0), &column(1)).abs() < 1e-2);
    }

    #[test]
    fn words_are_counted_by_their_spelling() {
        let mut counts = FxHashMap::default();
        words("parseHeaders(parsed) PARSED", &mut counts);
        assert_eq!((counts["parsed"], counts["parse"], counts["headers"]), (2, 1, 1));
    }
}
