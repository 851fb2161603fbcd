//! One step: vectors of a batch, loss, gradients by rows, Adam.
//!
//! D. Kingma and J. Ba, "Adam: a method for stochastic optimization", 2015; moments of a row move only when the row is
//! in a batch. A batch has three bags a pair (text, code, path), which are the rows of one sparse matrix: its product
//! with the table gives the vectors, that of its transpose with their gradients the gradient of the table.

use super::batch::Batch;
use super::contrast::{Contrast, Level};
use super::rows::{Rows, dot, length};

/// What does not change while training.
#[derive(Debug, Clone)]
pub struct Recipe {
    pub batch: usize,
    pub temperature: f32,
    pub levels: Vec<Level>,
    /// How much the path counts beside the code.
    pub path_weight: f32,
    pub beta: [f32; 2],
    pub threads: usize,
}

const EPSILON: f32 = 1e-8;

/// The table with everything that a step needs.
pub struct Trainer {
    pub rows: Rows,
    pub moments: [Vec<f32>; 2],
    recipe: Recipe,
    contrast: Contrast,
    /// Vectors of texts, codes and paths, one block after the other, and their gradients.
    sums: Vec<f32>,
    gradients: Vec<f32>,
    documents: Vec<f32>,
    by_document: Vec<f32>,
}

impl Trainer {
    pub fn new(rows: Rows, moments: [Vec<f32>; 2], recipe: Recipe) -> Trainer {
        let block = recipe.batch * rows.dim;
        Trainer {
            contrast: Contrast::new(recipe.batch, recipe.temperature, &recipe.levels, recipe.threads),
            moments,
            recipe,
            sums: vec![0.0; 3 * block],
            gradients: vec![0.0; 3 * block],
            documents: vec![0.0; block],
            by_document: vec![0.0; block],
            rows,
        }
    }

    /// Loss of the batch, with the table improved by it. `step` counts from 1.
    pub fn step(&mut self, batch: &Batch, step: u64, rate: f32) -> f64 {
        let loss = self.gradients(batch);
        self.update(batch, step, rate);
        loss
    }

    /// Loss, with the gradients by the sums of all bags.
    fn gradients(&mut self, batch: &Batch) -> f64 {
        let (dim, block) = (self.rows.dim, self.recipe.batch * self.rows.dim);
        self.sum_bags(batch);
        let mu = self.recipe.path_weight;
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
        let bounds = batch.balanced(self.recipe.threads);
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

    /// Adam for every row that the batch has. Rows are shared out by ids, so that threads never meet.
    fn update(&mut self, batch: &Batch, step: u64, rate: f32) {
        let dim = self.rows.dim;
        let index = batch.by_id(self.rows.n());
        let bounds = index.balanced(self.recipe.threads);
        let [beta1, beta2] = self.recipe.beta;
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

/// Gradient by a vector from the gradient by `weight · vector / |vector|`.
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
        let recipe = Recipe {
            batch: 6,
            temperature: 0.05,
            levels: vec![Level { dim: 8, weight: 1.0 }],
            path_weight: 0.4,
            beta: [0.9, 0.98],
            threads,
        };
        Trainer::new(rows, [vec![0.0; 320], vec![0.0; 320]], recipe)
    }

    /// The gradient by single numbers of the table, read off the first step of Adam's mean.
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
