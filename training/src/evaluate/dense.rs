//! Matrices of vectors, and their products.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};

use crate::train::rows::{dot, length};

/// A list of vectors of the same length.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    pub dim: usize,
    pub data: Vec<f32>,
}

impl Matrix {
    /// `n` vectors, each written by `fill`.
    pub fn from_fn(dim: usize, n: usize, mut fill: impl FnMut(usize, &mut [f32])) -> Matrix {
        let mut data = vec![0.0; dim * n];
        data.chunks_exact_mut(dim).enumerate().for_each(|(i, out)| fill(i, out));
        Matrix { dim, data }
    }

    pub fn n(&self) -> usize {
        self.data.len() / self.dim
    }

    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.dim..][..self.dim]
    }

    /// The first `dim` components of every vector, normalised to length 1.
    pub fn shortened(&self, dim: usize) -> Matrix {
        Matrix::from_fn(dim, self.n(), |i, out| {
            out.copy_from_slice(&self.row(i)[..dim]);
            let norm = length(out);
            if norm > 0.0 {
                out.iter_mut().for_each(|x| *x /= norm);
            }
        })
    }
}

/// Dot products of every row of `a` with every row of `b`, row by row.
pub fn scores(a: &Matrix, b: &Matrix) -> Vec<f32> {
    let mut out = vec![0.0; a.n() * b.n()];
    if let (Ok(left), Ok(right), Ok(mut to)) = (
        ArrayView2::from_shape((a.n(), a.dim), &a.data),
        ArrayView2::from_shape((b.n(), b.dim), &b.data),
        ArrayViewMut2::from_shape((a.n(), b.n()), &mut out),
    ) {
        general_mat_mul(1.0, &left, &right.reversed_axes(), 0.0, &mut to);
    }
    out
}

/// Scores that include the paths of the documents: (q·ĉ + μ q·P̂) / √(1 + μ² + 2μ ĉ·P̂), or q·ĉ without a
/// path.
pub fn scores_with_paths(queries: &Matrix, codes: &Matrix, paths: &Matrix, mu: f32) -> Vec<f32> {
    let mut out = scores(queries, codes);
    let of_paths = scores(queries, paths);
    let n = codes.n();
    let norms: Vec<(f32, f32)> = (0..n)
        .map(|i| {
            let mu = if length(paths.row(i)) > 0.5 { mu } else { 0.0 };
            (mu, (1.0 + mu * mu + 2.0 * mu * dot(codes.row(i), paths.row(i))).sqrt())
        })
        .collect();
    for (scores, of_paths) in out.chunks_exact_mut(n.max(1)).zip(of_paths.chunks_exact(n.max(1))) {
        for ((score, path), (mu, norm)) in scores.iter_mut().zip(of_paths).zip(&norms) {
            *score = (*score + mu * path) / norm;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_with_paths_are_cosines_of_the_sum() {
        let random = |seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            Matrix::from_fn(8, 5, |_, out| out.iter_mut().for_each(|x| *x = random.f32() - 0.5)).shortened(8)
        };
        let (queries, codes, mut paths) = (random(1), random(2), random(3));
        paths.data[..8].fill(0.0);
        let found = scores_with_paths(&queries, &codes, &paths, 0.4);
        let sums = Matrix::from_fn(8, 5, |i, out| {
            let both = codes.row(i).iter().zip(paths.row(i));
            out.iter_mut().zip(both).for_each(|(out, (code, path))| *out = code + 0.4 * path);
        });
        let expected = scores(&queries, &sums.shortened(8));
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}
