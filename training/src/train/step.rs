//! One optimisation step: vectors of a batch, loss, gradients of the rows, Adam update.
//!
//! D. Kingma and J. Ba, "Adam: a method for stochastic optimization", 2015. The moments of a row are updated
//! only if the row occurs in the batch. A batch has three bags for each pair (text, code, path), which are
//! the rows of one sparse matrix: its product with the table gives the vectors, and the product of its
//! transpose with their gradients gives the gradient of the table.

use super::batch::Batch;
use super::contrast::{Contrast, Level};
use super::rows::{Rows, dot, length};

/// Parameters that are constant during a run.
#[derive(Debug, Clone)]
pub struct Hyperparameters {
    pub batch: usize,
    pub temperature: f32,
    pub levels: Vec<Level>,
    /// Weight of the path relative to the code.
    pub path_weight: f32,
    pub beta: [f32; 2],
    pub threads: usize,
}

const EPSILON: f32 = 1e-8;

/// The table with the working memory of a step.
pub struct Trainer {
    pub rows: Rows,
    pub moments: [Vec<f32>; 2],
    hyperparameters: Hyperparameters,
    contrast: Contrast,
    /// Vectors of texts, codes and paths, in consecutive blocks, and their gradients.
    sums: Vec<f32>,
    gradients: Vec<f32>,
    documents: Vec<f32>,
    by_document: Vec<f32>,
}

impl Trainer {
    pub fn new(rows: Rows, moments: [Vec<f32>; 2], hyperparameters: Hyperparameters) -> Trainer {
        let block = hyperparameters.batch * rows.dim;
        Trainer {
            contrast: Contrast::new(
                hyperparameters.batch,
                hyperparameters.temperature,
                &hyperparameters.levels,
                hyperparameters.threads,
            ),
            moments,
            hyperparameters,
            sums: vec![0.0; 3 * block],
            gradients: vec![0.0; 3 * block],
            documents: vec![0.0; block],
            by_document: vec![0.0; block],
            rows,
        }
    }

    /// Updates the table by one batch and returns the loss of the batch. `step` counts from 1.
    pub fn step(&mut self, batch: &Batch, step: u64, rate: f32) -> f64 {
        let loss = self.gradients(batch);
        self.update(batch, step, rate);
        loss
    }

    /// Computes the loss, and the gradients with respect to the sums of all bags.
    fn gradients(&mut self, batch: &Batch) -> f64 {
        let (dim, block) = (self.rows.dim, self.hyperparameters.batch * self.rows.dim);
        self.sum_bags(batch);
        let mu = self.hyperparameters.path_weight;
        let (texts, rest) = self.sums.split_at(block);
        let (codes, paths) = rest.split_at(block);
        let vectors = codes.chunks_exact(dim).zip(paths.chunks_exact(dim));
        for ((code, path), document) in vectors.zip(self.documents.chunks_exact_mut(dim)) {
            let (a, b) = (inverse(length(code)), mu * inverse(length(path)));
            for ((out, code), path) in document.iter_mut().zip(code).zip(path) {
                *out = a * code + b * path;
            }
        }
        let (by_text, rest) = self.gradients.split_at_mut(block);
        let loss = self.contrast.run(texts, &self.documents, &batch.masked, (by_text, &mut self.by_document));
        let (by_code, by_path) = rest.split_at_mut(block);
        for (weight, vectors, out) in [(1.0, codes, by_code), (mu, paths, by_path)] {
            let gradients = self.by_document.chunks_exact(dim);
            for ((gradient, vector), out) in
                gradients.zip(vectors.chunks_exact(dim)).zip(out.chunks_exact_mut(dim))
            {
                through_unit(gradient, vector, weight, out);
            }
        }
        loss
    }

    /// `sums` = bags × rows, the bags shared out so that every thread has as many entries.
    fn sum_bags(&mut self, batch: &Batch) {
        let (rows, dim) = (&self.rows, self.rows.dim);
        let bounds = batch.balanced(self.hyperparameters.threads);
        std::thread::scope(|scope| {
            let mut rest = &mut self.sums[..];
            for bags in bounds {
                let (sums, after) = rest.split_at_mut(bags.len() * dim);
                rest = after;
                scope.spawn(move || {
                    for (bag, sum) in bags.zip(sums.chunks_exact_mut(dim)) {
                        sum.fill(0.0);
                        for (&id, &weight) in batch.ids(bag).iter().zip(batch.weights(bag)) {
                            rows.add(id, weight, sum);
                        }
                    }
                });
            }
        });
    }

    /// Adam update of every row in the batch. Each thread owns a range of ids.
    fn update(&mut self, batch: &Batch, step: u64, rate: f32) {
        let dim = self.rows.dim;
        let index = batch.by_id(self.rows.n());
        let bounds = index.balanced(self.hyperparameters.threads);
        let [beta1, beta2] = self.hyperparameters.beta;
        let correction = |beta: f32| (1.0 - f64::from(beta).powi(step.min(1 << 20) as i32)) as f32;
        let (rate, second) = (rate / correction(beta1), 1.0 / correction(beta2));
        let gradients = &self.gradients;
        let index = &index;
        let [first_moments, second_moments] = &mut self.moments;
        std::thread::scope(|scope| {
            let mut rest = (&mut self.rows.data[..], &mut first_moments[..], &mut second_moments[..]);
            for ids in bounds {
                let size = ids.len() * dim;
                let (rows, after_rows) = rest.0.split_at_mut(size);
                let (means, after_means) = rest.1.split_at_mut(size);
                let (squares, after_squares) = rest.2.split_at_mut(size);
                rest = (after_rows, after_means, after_squares);
                scope.spawn(move || {
                    let mut gradient = vec![0.0f32; dim];
                    let first = ids.start;
                    for id in ids {
                        let uses = index.uses(id);
                        if uses.is_empty() {
                            continue;
                        }
                        gradient.fill(0.0);
                        for &(bag, weight) in uses {
                            let from = &gradients[bag as usize * dim..][..dim];
                            for (sum, x) in gradient.iter_mut().zip(from) {
                                *sum += weight * x;
                            }
                        }
                        let at = (id - first) * dim;
                        let rows = rows[at..at + dim].iter_mut();
                        let moments = means[at..at + dim].iter_mut().zip(&mut squares[at..at + dim]);
                        for ((row, (mean, square)), g) in rows.zip(moments).zip(&gradient) {
                            *mean = beta1 * *mean + (1.0 - beta1) * g;
                            *square = beta2 * *square + (1.0 - beta2) * g * g;
                            *row -= rate * *mean / ((*square * second).sqrt() + EPSILON);
                        }
                    }
                });
            }
        });
    }
}

fn inverse(norm: f32) -> f32 {
    if norm > 0.0 { 1.0 / norm } else { 0.0 }
}

/// Gradient with respect to a vector, from the gradient with respect to `weight · vector / |vector|`.
fn through_unit(gradient: &[f32], vector: &[f32], weight: f32, out: &mut [f32]) {
    let inverse = inverse(length(vector));
    let along = dot(gradient, vector) * inverse * inverse;
    for ((out, gradient), x) in out.iter_mut().zip(gradient).zip(vector) {
        *out = weight * inverse * (gradient - along * x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(n: usize, ids: usize) -> Batch {
        let mut random = fastrand::Rng::with_seed(4);
        let mut batch = Batch::default();
        for bag in 0..3 * n {
            // Some pairs have no path.
            if bag < 2 * n || bag % 2 == 0 {
                let first = random.u16(..ids as u16 - 3);
                batch.push([(first, 1.0), (first + 1, 2f32.sqrt()), (first + 2, 2.0)]);
            }
            batch.end();
        }
        batch
    }

    fn trainer(threads: usize) -> Trainer {
        let mut random = fastrand::Rng::with_seed(5);
        let rows = Rows { dim: 8, data: (0..40 * 8).map(|_| random.f32() - 0.5).collect() };
        let hyperparameters = Hyperparameters {
            batch: 6,
            temperature: 0.05,
            levels: vec![Level { dim: 8, weight: 1.0 }],
            path_weight: 0.4,
            beta: [0.9, 0.98],
            threads,
        };
        Trainer::new(rows, [vec![0.0; 320], vec![0.0; 320]], hyperparameters)
    }

    /// The gradient of single table entries is read from Adam's mean after the first step.
    #[test]
    fn the_gradient_of_the_table_agrees_with_finite_differences() {
        let batch = batch(6, 40);
        let mut stepped = trainer(2);
        stepped.step(&batch, 1, 0.0);
        let mut checked = 0;
        for at in (0..320).step_by(3) {
            let moved = |by: f32| {
                let mut trainer = trainer(1);
                trainer.rows.data[at] += by;
                trainer.gradients(&batch)
            };
            let expected = (moved(2e-3) - moved(-2e-3)) / 4e-3;
            let found = f64::from(stepped.moments[0][at]) / 0.1;
            assert!((found - expected).abs() < 0.02 + 0.02 * expected.abs(), "{at}: {found} {expected}");
            checked += usize::from(expected.abs() > 0.1);
        }
        assert!(checked > 20, "{checked}");
    }

    #[test]
    fn the_loss_falls_and_threads_agree() {
        let batch = batch(6, 40);
        let run = |threads| {
            let mut trainer = trainer(threads);
            let losses: Vec<f64> = (1..=60).map(|step| trainer.step(&batch, step, 0.01)).collect();
            (losses, trainer.rows)
        };
        let (losses, rows) = run(2);
        assert!(losses[59] < 0.2 * losses[0], "{losses:?}");
        assert_eq!(run(2).1, rows);
        let (other, _) = run(1);
        assert!((other[59] - losses[59]).abs() < 0.05 * losses[0]);
    }
}
