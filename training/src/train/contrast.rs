//! Symmetric InfoNCE loss over a batch, at several lengths of the same vectors (Matryoshka), and its
//! gradient.
//!
//! A. van den Oord and others, "Representation learning with contrastive predictive coding", 2018; A.
//! Kusupati and others, "Matryoshka representation learning", 2022. Scores of a shorter vector are partial
//! sums of those of a longer one, and gradients accumulate in the other direction, so that additional lengths
//! cost no additional matrix products.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, s};

use super::rows::{dot, length};

/// A vector length and the weight of its loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    pub dim: usize,
    pub weight: f32,
}

/// One number for every text and for every document, at each level.
type Sums = (Vec<Vec<f32>>, Vec<Vec<f32>>);

/// Loss over batches of `n` texts and `n` documents, with its working memory.
pub struct Contrast {
    n: usize,
    temperature: f32,
    levels: Vec<Level>,
    threads: usize,
    /// Cosines of each level, text by document.
    cosines: Vec<Vec<f32>>,
    /// Their exponentials; after the backward pass the gradient with respect to unnormalised scores.
    exponentials: Vec<Vec<f32>>,
}

impl Contrast {
    /// `levels` must ascend; the last has the full length.
    pub fn new(n: usize, temperature: f32, levels: &[Level], threads: usize) -> Contrast {
        let matrices = || levels.iter().map(|_| vec![0.0; n * n]).collect();
        Contrast {
            n,
            temperature,
            levels: levels.to_vec(),
            threads,
            cosines: matrices(),
            exponentials: matrices(),
        }
    }

    /// Returns the mean loss of texts and documents (n × dim each, not normalised; row i of one belongs to
    /// row i of the other) and writes its gradient with respect to each. Cells in `masked` (text, document)
    /// are not negatives.
    pub fn run(
        &mut self,
        texts: &[f32],
        documents: &[f32],
        masked: &[(usize, usize)],
        gradients: (&mut [f32], &mut [f32]),
    ) -> f64 {
        let dim = self.levels.last().map_or(0, |level| level.dim);
        let by_text = inverse_lengths(texts, dim, &self.levels);
        let by_document = inverse_lengths(documents, dim, &self.levels);
        let (row_sums, column_sums) = self.forward(texts, documents, masked, &by_text, &by_document);
        let loss = self.loss(&row_sums, &column_sums);
        let (row_dots, column_dots) = self.backward(&row_sums, &column_sums, &by_text, &by_document);
        self.products(documents, texts, gradients.0, false);
        self.products(texts, documents, gradients.1, true);
        self.remove_radial(texts, &by_text, &row_dots, gradients.0);
        self.remove_radial(documents, &by_document, &column_dots, gradients.1);
        loss
    }

    fn rows_per_thread(&self) -> usize {
        self.n.div_ceil(self.threads)
    }

    /// Cosines and exponentials of all levels; sums of the latter by row and by column.
    fn forward(
        &mut self,
        texts: &[f32],
        documents: &[f32],
        masked: &[(usize, usize)],
        by_text: &[Vec<f32>],
        by_document: &[Vec<f32>],
    ) -> Sums {
        let (n, block, temperature) = (self.n, self.rows_per_thread(), self.temperature);
        let levels = &self.levels;
        let dim = levels.last().map_or(0, |level| level.dim);
        let blocks =
            split(&mut self.cosines, block * n).into_iter().zip(split(&mut self.exponentials, block * n));
        let sums: Vec<Sums> = std::thread::scope(|scope| {
            let handles: Vec<_> = blocks
                .enumerate()
                .map(|(part, (mut cosines, mut exponentials))| {
                    scope.spawn(move || {
                        let first = part * block;
                        let rows = cosines[0].len() / n;
                        scores(&texts[first * dim..][..rows * dim], documents, levels, n, &mut cosines);
                        let mut row_sums = vec![vec![0.0; rows]; levels.len()];
                        let mut column_sums = vec![vec![0.0; n]; levels.len()];
                        for level in 0..levels.len() {
                            for row in 0..rows {
                                let cosines = &mut cosines[level][row * n..][..n];
                                let exponentials = &mut exponentials[level][row * n..][..n];
                                let inverse = by_text[level][first + row];
                                for (cosine, other) in cosines.iter_mut().zip(&by_document[level]) {
                                    *cosine *= inverse * other;
                                }
                                for (exponential, cosine) in exponentials.iter_mut().zip(&*cosines) {
                                    *exponential = exp((*cosine - 1.0) / temperature);
                                }
                                for &(_, column) in masked.iter().filter(|(text, _)| *text == first + row) {
                                    exponentials[column] = 0.0;
                                }
                                row_sums[level][row] = sum(exponentials);
                                for (sum, exponential) in column_sums[level].iter_mut().zip(&*exponentials) {
                                    *sum += exponential;
                                }
                            }
                        }
                        (row_sums, column_sums)
                    })
                })
                .collect();
            handles.into_iter().map(join).collect()
        });
        combine(sums, levels.len(), n)
    }

    fn loss(&self, row_sums: &[Vec<f32>], column_sums: &[Vec<f32>]) -> f64 {
        let mut loss = 0.0;
        for (level, ((cosines, rows), columns)) in
            self.levels.iter().zip(self.cosines.iter().zip(row_sums).zip(column_sums))
        {
            for i in 0..self.n {
                let own = f64::from((cosines[i * self.n + i] - 1.0) / self.temperature);
                let sums = f64::from(rows[i]).ln() + f64::from(columns[i]).ln();
                loss += f64::from(level.weight) * (sums - 2.0 * own) / (2.0 * self.n as f64);
            }
        }
        loss
    }

    /// Replaces exponentials by the gradient with respect to unnormalised scores, summed from the longest
    /// level down. Returns for every vector of both sides Σ (gradient of the cosine × cosine), the radial
    /// part of its gradient.
    fn backward(
        &mut self,
        row_sums: &[Vec<f32>],
        column_sums: &[Vec<f32>],
        by_text: &[Vec<f32>],
        by_document: &[Vec<f32>],
    ) -> Sums {
        let (n, block) = (self.n, self.rows_per_thread());
        let levels = &self.levels;
        let temperature = self.temperature;
        let inverse_columns: Vec<Vec<f32>> =
            column_sums.iter().map(|sums| sums.iter().map(|sum| 1.0 / sum).collect()).collect();
        let inverse_columns = &inverse_columns;
        let blocks =
            split(&mut self.cosines, block * n).into_iter().zip(split(&mut self.exponentials, block * n));
        let dots = std::thread::scope(|scope| {
            let handles: Vec<_> = blocks
                .enumerate()
                .map(|(part, (mut cosines, mut gradients))| {
                    scope.spawn(move || {
                        let first = part * block;
                        let rows = cosines[0].len() / n;
                        let mut row_dots = vec![vec![0.0; rows]; levels.len()];
                        let mut column_dots = vec![vec![0.0; n]; levels.len()];
                        for (level, &Level { weight, .. }) in levels.iter().enumerate() {
                            let factor = weight / (2.0 * temperature * n as f32);
                            for row in 0..rows {
                                let at = first + row;
                                let cosines = &mut cosines[level][row * n..][..n];
                                let gradients = &mut gradients[level][row * n..][..n];
                                let inverse_row = 1.0 / row_sums[level][at];
                                for (gradient, inverse) in gradients.iter_mut().zip(&inverse_columns[level]) {
                                    *gradient *= factor * (inverse_row + inverse);
                                }
                                gradients[at] -= 2.0 * factor;
                                row_dots[level][row] = dot(gradients, cosines);
                                for ((sum, gradient), cosine) in
                                    column_dots[level].iter_mut().zip(&*gradients).zip(&*cosines)
                                {
                                    *sum += gradient * cosine;
                                }
                                let inverse = by_text[level][at];
                                for (gradient, other) in gradients.iter_mut().zip(&by_document[level]) {
                                    *gradient *= inverse * other;
                                }
                            }
                        }
                        for level in (1..levels.len()).rev() {
                            let (shorter, longer) = gradients.split_at_mut(level);
                            for (to, from) in shorter[level - 1].iter_mut().zip(&*longer[0]) {
                                *to += from;
                            }
                        }
                        (row_dots, column_dots)
                    })
                })
                .collect();
            handles.into_iter().map(join).collect()
        });
        combine(dots, levels.len(), n)
    }

    /// Gradient with respect to one side: the gradient matrix (transposed for documents) times the other
    /// side, by level.
    fn products(&self, other: &[f32], own: &[f32], out: &mut [f32], transposed: bool) {
        let (n, block, levels) = (self.n, self.rows_per_thread(), &self.levels);
        let dim = own.len() / n;
        let gradients = &self.exponentials;
        std::thread::scope(|scope| {
            for (part, out) in out.chunks_mut(block * dim).enumerate() {
                scope.spawn(move || {
                    let first = part * block;
                    let rows = out.len() / dim;
                    let Ok(mut out) = ArrayViewMut2::from_shape((rows, dim), out) else { return };
                    let Ok(other) = ArrayView2::from_shape((n, dim), other) else { return };
                    let mut start = 0;
                    for (level, gradients) in levels.iter().zip(gradients) {
                        let Ok(gradients) = ArrayView2::from_shape((n, n), gradients) else { return };
                        let gradients = if transposed { gradients.reversed_axes() } else { gradients };
                        general_mat_mul(
                            1.0,
                            &gradients.slice(s![first..first + rows, ..]),
                            &other.slice(s![.., start..level.dim]),
                            0.0,
                            &mut out.slice_mut(s![.., start..level.dim]),
                        );
                        start = level.dim;
                    }
                });
            }
        });
    }

    /// Removes the radial part of the gradient, which would only change the length of vectors.
    fn remove_radial(&self, vectors: &[f32], inverses: &[Vec<f32>], dots: &[Vec<f32>], out: &mut [f32]) {
        let dim = vectors.len() / self.n;
        for (i, (vector, out)) in vectors.chunks_exact(dim).zip(out.chunks_exact_mut(dim)).enumerate() {
            for (level, (inverses, dots)) in self.levels.iter().zip(inverses.iter().zip(dots)) {
                let factor = dots[i] * inverses[i] * inverses[i];
                for (out, x) in out[..level.dim].iter_mut().zip(vector) {
                    *out -= factor * x;
                }
            }
        }
    }
}

/// Returns one divided by the length of each vector at each level; 0 for a zero vector.
fn inverse_lengths(vectors: &[f32], dim: usize, levels: &[Level]) -> Vec<Vec<f32>> {
    let mut inverses = Vec::with_capacity(levels.len());
    for level in levels {
        let lengths = vectors.chunks_exact(dim).map(|vector| length(&vector[..level.dim]));
        inverses.push(lengths.map(|length| if length > 0.0 { 1.0 / length } else { 0.0 }).collect());
    }

    inverses
}

/// Computes the unnormalised scores of a block of texts with all documents, by level.
fn scores(texts: &[f32], documents: &[f32], levels: &[Level], n: usize, out: &mut [&mut [f32]]) {
    let dim = levels.last().map_or(0, |level| level.dim);
    let rows = texts.len() / dim;
    let mut start = 0;
    for (level, &Level { dim: end, .. }) in levels.iter().enumerate() {
        let (shorter, rest) = out.split_at_mut(level);
        let scores = &mut *rest[0];
        let mut keep = 0.0;
        if let Some(shorter) = shorter.last() {
            scores.copy_from_slice(shorter);
            keep = 1.0;
        }
        let Ok(mut scores) = ArrayViewMut2::from_shape((rows, n), scores) else { return };
        let Ok(texts) = ArrayView2::from_shape((rows, dim), texts) else { return };
        let Ok(documents) = ArrayView2::from_shape((n, dim), documents) else { return };
        general_mat_mul(
            1.0,
            &texts.slice(s![.., start..end]),
            &documents.slice(s![.., start..end]).reversed_axes(),
            keep,
            &mut scores,
        );
        start = end;
    }
}

/// The same blocks of rows of all matrices.
fn split(matrices: &mut [Vec<f32>], block: usize) -> Vec<Vec<&mut [f32]>> {
    let mut out: Vec<Vec<&mut [f32]>> = Vec::new();
    for matrix in matrices {
        for (part, rows) in matrix.chunks_mut(block).enumerate() {
            if out.len() <= part {
                out.push(Vec::new());
            }
            out[part].push(rows);
        }
    }
    out
}

/// Concatenates the rows of all threads and sums the columns in thread order.
fn combine(parts: Vec<Sums>, levels: usize, n: usize) -> Sums {
    let mut rows = vec![Vec::with_capacity(n); levels];
    let mut columns = vec![vec![0.0; n]; levels];
    for (part_rows, part_columns) in parts {
        for level in 0..levels {
            rows[level].extend_from_slice(&part_rows[level]);
            for (sum, part) in columns[level].iter_mut().zip(&part_columns[level]) {
                *sum += part;
            }
        }
    }
    (rows, columns)
}

fn join<T>(handle: std::thread::ScopedJoinHandle<'_, T>) -> T {
    match handle.join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for lane in 0..8 {
            lanes[lane] += chunk[lane];
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

/// e^x for x ≤ 0 with a relative error below 1e-5; x below −87 counts as −87. Branch-free, so that loops
/// vectorise.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let scaled = x.max(-87.0) * std::f32::consts::LOG2_E;
    // Adding 1.5 · 2^23 rounds to an integer, which the low bits hold until the constant is subtracted again.
    let shifted = scaled + 12_582_912.0;
    let fraction = (scaled - (shifted - 12_582_912.0)) * std::f32::consts::LN_2;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    let series = 1.0
        + fraction
            * (1.0
                + fraction
                    * (0.5
                        + fraction
                            * (1.0 / 6.0
                                + fraction * (1.0 / 24.0 + fraction * (1.0 / 120.0 + fraction / 720.0)))));
    power * series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(n: usize, seed: u64) -> Vec<f32> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..n).map(|_| random.f32() - 0.5).collect()
    }

    #[test]
    fn exponentials_are_exact_to_five_digits() {
        for i in 0..40_000 {
            let x = -(i as f32) * 0.002;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) - exact).abs() <= exact * 1e-5, "{x}");
        }
        assert!(exp(-1000.0) < 1e-37);
    }

    /// Reference implementation of the loss, without optimisations.
    fn plain(texts: &[f64], documents: &[f64], n: usize, levels: &[Level], masked: &[(usize, usize)]) -> f64 {
        let dim = texts.len() / n;
        let mut loss = 0.0;
        for level in levels {
            let cosine = |i: usize, j: usize| {
                let (a, b) = (&texts[i * dim..][..level.dim], &documents[j * dim..][..level.dim]);
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                dot(a, b) / (dot(a, a) * dot(b, b)).sqrt() / 0.05
            };
            let allowed = |i: usize, j: usize| !masked.contains(&(i, j));
            for i in 0..n {
                let row: f64 = (0..n).filter(|&j| allowed(i, j)).map(|j| cosine(i, j).exp()).sum();
                let column: f64 = (0..n).filter(|&j| allowed(j, i)).map(|j| cosine(j, i).exp()).sum();
                loss +=
                    f64::from(level.weight) * (row.ln() + column.ln() - 2.0 * cosine(i, i)) / 2.0 / n as f64;
            }
        }
        loss
    }

    #[test]
    fn loss_and_gradient_agree_with_finite_differences() {
        let (n, dim) = (9, 16);
        let levels = [Level { dim: 4, weight: 0.3 }, Level { dim: 16, weight: 1.0 }];
        let masked = [(1, 5), (5, 1), (0, 8)];
        let (texts, documents) = (random(n * dim, 1), random(n * dim, 2));
        let double = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let mut found = Vec::new();
        for threads in [1, 2, 4] {
            let (mut by_text, mut by_document) = (vec![7.0; n * dim], vec![7.0; n * dim]);
            let mut contrast = Contrast::new(n, 0.05, &levels, threads);
            let loss = contrast.run(&texts, &documents, &masked, (&mut by_text, &mut by_document));
            let expected = plain(&double(&texts), &double(&documents), n, &levels, &masked);
            assert!((loss - expected).abs() < 1e-4 * expected, "{loss} {expected}");
            for (gradient, is_text) in [(&by_text, true), (&by_document, false)] {
                for at in (0..n * dim).step_by(5) {
                    let moved = |by: f64| {
                        let (mut texts, mut documents) = (double(&texts), double(&documents));
                        (if is_text { &mut texts } else { &mut documents })[at] += by;
                        plain(&texts, &documents, n, &levels, &masked)
                    };
                    let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                    assert!((f64::from(gradient[at]) - expected).abs() < 2e-4 + 1e-3 * expected.abs());
                }
            }
            found.push((by_text, by_document));
        }
        assert_eq!(found.len(), 3);
    }
}
