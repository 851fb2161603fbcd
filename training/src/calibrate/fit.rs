//! Learns coefficients from samples.

use std::collections::BTreeMap;

use codeweaver::query::rank::calibration::{Evidence, Logistic};

use super::{Mask, Sample};

/// Number of unknowns: the values and the bias.
const N: usize = Evidence::LEN + 1;
/// Pull of the coefficients towards 0, relative to all samples. The bias is free.
const PULL: f64 = 1e-5;
const STEPS: usize = 50;

/// Returns the coefficients that make `samples` most likely. Both classes of each suite weigh the same.
/// Deterministic.
pub fn fit(samples: &[&Sample], mask: &Mask) -> Logistic {
    let mut counts: BTreeMap<(usize, bool), f64> = BTreeMap::new();
    for sample in samples {
        *counts.entry((sample.suite, sample.is_answered)).or_default() += 1.0;
    }
    let classes = counts.len().max(1) as f64;
    let mut unknowns = [0.0f64; N];
    for _ in 0..STEPS {
        let mut gradient = [0.0f64; N];
        let mut hessian = [[0.0f64; N]; N];
        for sample in samples {
            let weight = 1.0 / (classes * counts[&(sample.suite, sample.is_answered)]);
            let x = inputs(&sample.values, mask);
            let p = probability(&unknowns, &x);
            let error = p - f64::from(u8::from(sample.is_answered));
            for i in 0..N {
                gradient[i] += weight * error * x[i];
                for j in 0..N {
                    hessian[i][j] += weight * p * (1.0 - p) * x[i] * x[j];
                }
            }
        }
        for i in 0..N {
            let pull = if i < Evidence::LEN { PULL } else { 0.0 };
            gradient[i] += pull * unknowns[i];
            // A value that is masked out has no curvature of its own.
            hessian[i][i] += pull.max(1e-9);
        }
        let step = solve(hessian, gradient);
        unknowns.iter_mut().zip(step).for_each(|(unknown, step)| *unknown -= step);
    }
    let rounded = |value: f64| ((value * 1000.0).round() / 1000.0) as f32;
    Logistic { bias: rounded(unknowns[N - 1]), coefficients: std::array::from_fn(|i| rounded(unknowns[i])) }
}

/// Returns the values that `mask` selects, and 1 for the bias.
fn inputs(values: &[f64; Evidence::LEN], mask: &Mask) -> [f64; N] {
    std::array::from_fn(|i| match values.get(i) {
        Some(value) if mask[i] => *value,
        Some(_) => 0.0,
        None => 1.0,
    })
}

/// Returns the probability that `model` gives to the values that `mask` selects.
pub fn probability_of(model: &Logistic, values: &[f64; Evidence::LEN], mask: &Mask) -> f64 {
    let unknowns =
        std::array::from_fn(|i| f64::from(model.coefficients.get(i).copied().unwrap_or(model.bias)));
    probability(&unknowns, &inputs(values, mask))
}

fn probability(unknowns: &[f64; N], x: &[f64; N]) -> f64 {
    let sum: f64 = unknowns.iter().zip(x).map(|(unknown, x)| unknown * x).sum();
    1.0 / (1.0 + (-sum).exp())
}

/// Solves `matrix` · x = `right` by elimination with pivots.
fn solve(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> [f64; N] {
    for i in 0..N {
        let pivot = (i..N).max_by(|&a, &b| matrix[a][i].abs().total_cmp(&matrix[b][i].abs())).unwrap_or(i);
        matrix.swap(i, pivot);
        right.swap(i, pivot);
        for row in i + 1..N {
            let (above, below) = matrix.split_at_mut(row);
            let factor = below[0][i] / above[i][i];
            below[0][i..].iter_mut().zip(&above[i][i..]).for_each(|(value, pivot)| *value -= factor * pivot);
            right[row] -= factor * right[i];
        }
    }
    let mut x = [0.0; N];
    for i in (0..N).rev() {
        let known: f64 = (i + 1..N).map(|j| matrix[i][j] * x[j]).sum();
        x[i] = (right[i] - known) / matrix[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(first: f64, is_answered: bool) -> Sample {
        let mut values = [0.0; Evidence::LEN];
        values[0] = first;
        Sample { suite: 1, repository: String::new(), values, is_answered }
    }

    #[test]
    fn what_separates_the_classes_gets_the_weight() {
        let samples: Vec<Sample> = (0..40).map(|i| sample(f64::from(i) / 40.0, i >= 20 || i == 7)).collect();
        let model = fit(&samples.iter().collect::<Vec<_>>(), &[true; Evidence::LEN]);
        assert!(model.coefficients[0] > 5.0 && model.bias < 0.0, "{model:?}");
        assert!(model.coefficients[1..].iter().all(|&c| c == 0.0));
        let at = |first: f64| probability_of(&model, &sample(first, true).values, &[true; Evidence::LEN]);
        assert!(at(0.9) > 0.9 && at(0.1) < 0.2);
    }

    #[test]
    fn a_masked_value_counts_for_nothing() {
        let samples: Vec<Sample> = (0..40).map(|i| sample(f64::from(i), i >= 20)).collect();
        let mut mask = [true; Evidence::LEN];
        mask[0] = false;
        let model = fit(&samples.iter().collect::<Vec<_>>(), &mask);
        assert_eq!(model.coefficients[0], 0.0);
    }
}
