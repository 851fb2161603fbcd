//! Learns weights from the features of judged files.

use std::collections::BTreeMap;

use super::features::{Linear, NAMES, RankedQuery};

/// Settings of [`fit`].
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The strength of the pull towards the initial weights.
    pub pull: f32,
    /// Factor of the scores before the softmax.
    pub sharpness: f32,
    /// Number of gradient steps.
    pub steps: usize,
    /// The interpolation between the initial weights (0) and those of least error (1). Like the pull, it
    /// limits overfitting to the few labelled queries.
    pub share: f32,
}

/// Step size relative to the weight; weights that start at 0 move on the scale of [`SMALL`].
const RATE: f32 = 0.05;
const SMALL: f32 = 0.4;
/// Decay rates of the optimiser, which is Adam (Kingma and Ba 2015).
const BETA: (f32, f32) = (0.9, 0.99);

/// Learns the weights that rank the relevant files of `queries` first, starting from and pulled towards
/// `start`. Deterministic.
pub fn fit<'a>(
    queries: impl Iterator<Item = &'a RankedQuery>,
    start: &Linear,
    settings: &Settings,
) -> Linear {
    // A query without a relevant file in its results has no gradient.
    let queries: Vec<&RankedQuery> =
        queries.filter(|query| query.files.iter().any(|file| file.is_relevant)).collect();

    // A step is relative to its weight: a weight that is small or 0 would hardly move without a floor.
    let scale = start.map(|weight| if weight > 0.0 { weight.max(0.2) } else { SMALL });
    let mut weights = *start;
    let (mut mean, mut square) = ([0.0f32; NAMES.len()], [0.0f32; NAMES.len()]);

    for step in 1..=settings.steps {
        let mut gradient = [0.0f32; NAMES.len()];
        for query in &queries {
            add_gradient(query, &weights, settings.sharpness, &mut gradient);
        }

        for (i, gradient) in gradient.iter().enumerate() {
            let pull = settings.pull * (weights[i] - start[i]) / (scale[i] * scale[i]);
            let g = gradient / queries.len().max(1) as f32 + pull;

            mean[i] = BETA.0 * mean[i] + (1.0 - BETA.0) * g;
            square[i] = BETA.1 * square[i] + (1.0 - BETA.1) * g * g;
            // The means start at 0; the correction makes up for the first steps.
            let corrected =
                (mean[i] / (1.0 - BETA.0.powi(step as i32)), square[i] / (1.0 - BETA.1.powi(step as i32)));
            weights[i] -= RATE * scale[i] * corrected.0 / (corrected.1.sqrt() + 1e-8);
            // Every feature is defined so that more of it favours the file.
            weights[i] = weights[i].max(0.0);
        }
    }

    std::array::from_fn(|i| start[i] + settings.share * (weights[i] - start[i]))
}

/// Adds the gradient of the cross entropy between the softmax of the scores and the uniform distribution over
/// the relevant files.
fn add_gradient(query: &RankedQuery, weights: &Linear, sharpness: f32, gradient: &mut Linear) {
    let scores: Vec<f32> = query.files.iter().map(|file| sharpness * file.score(weights)).collect();
    // The largest score is subtracted, so that no exponential overflows.
    let top = scores.iter().copied().fold(f32::MIN, f32::max);
    let total: f32 = scores.iter().map(|score| (score - top).exp()).sum();
    let share = 1.0 / query.files.iter().filter(|file| file.is_relevant).count().max(1) as f32;

    for (file, score) in query.files.iter().zip(&scores) {
        let wanted = if file.is_relevant { share } else { 0.0 };
        let error = sharpness * file.factor * ((score - top).exp() / total - wanted);
        gradient.iter_mut().zip(&file.features).for_each(|(gradient, feature)| *gradient += error * feature);
    }
}

/// Returns for each query, in their order, the weights learned from the queries of the other folds.
///
/// `folds` has the fold of each query, from 0. The cost is one [`fit`] a fold.
pub fn cross_validate(
    queries: &[RankedQuery],
    start: &Linear,
    folds: &[usize],
    settings: &Settings,
) -> Vec<Linear> {
    let n_folds = folds.iter().max().map_or(0, |last| last + 1);
    let mut learned: Vec<Linear> = Vec::new();
    for fold in 0..n_folds {
        let others = queries.iter().zip(folds).filter(|(_, other)| **other != fold);
        learned.push(fit(others.map(|(query, _)| query), start, settings));
    }

    folds.iter().map(|&fold| learned[fold]).collect()
}

/// Returns the fold of each query, 0 to `n_folds` − 1. All queries of a repository are in one fold, so that
/// no repository is measured with weights that were learned from it. The queries of a single repository are
/// divided into blocks of neighbours, which for a mined suite are blocks of time.
pub fn folds(queries: &[RankedQuery], n_folds: usize) -> Vec<usize> {
    let mut repositories: Vec<_> = queries.iter().map(|query| query.repository.clone()).collect();
    repositories.dedup();
    if repositories.len() < 2 {
        return (0..queries.len()).map(|i| i * n_folds / queries.len().max(1)).collect();
    }

    // A fixed seed gives the same folds in every run.
    fastrand::Rng::with_seed(1).shuffle(&mut repositories);
    let n_folds = n_folds.min(repositories.len());
    let fold_of: BTreeMap<_, _> =
        repositories.into_iter().enumerate().map(|(i, repository)| (repository, i % n_folds)).collect();
    queries.iter().map(|query| fold_of[&query.repository]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::features::tests::query;
    use super::*;

    const SETTINGS: Settings = Settings { pull: 0.001, sharpness: 3.0, steps: 100, share: 1.0 };

    #[test]
    fn a_feature_that_separates_relevant_files_gains_weight() {
        let mut start = [0.0; NAMES.len()];
        start[0] = 1.0;
        // The first feature misleads, the second separates.
        let queries: Vec<RankedQuery> =
            (0..6).map(|i| query(&format!("r{}", i % 3), [0.2, 1.0], [0.6, 0.1])).collect();
        assert_eq!(queries[0].scores(&start).hit_at_1, 0.0);
        let learned = fit(queries.iter(), &start, &SETTINGS);
        assert!(learned[1] > 0.3 && learned[0] < 1.0, "{learned:?}");
        assert!(learned.iter().all(|weight| *weight >= 0.0));
        assert_eq!(queries[0].scores(&learned).hit_at_1, 1.0);
        assert_eq!(learned, fit(queries.iter(), &start, &SETTINGS), "the same twice");
        let strong = Settings { pull: 1000.0, ..SETTINGS };
        assert!((fit(queries.iter(), &start, &strong)[1] - start[1]).abs() < 0.05, "pulled back");
        let half = fit(queries.iter(), &start, &Settings { share: 0.5, ..SETTINGS });
        assert!((half[1] - learned[1] / 2.0).abs() < 1e-6, "half the way");
    }

    #[test]
    fn a_single_repository_is_divided_into_blocks() {
        let queries: Vec<RankedQuery> = (0..7).map(|_| query("r", [1.0, 0.0], [0.0, 1.0])).collect();
        assert_eq!(folds(&queries, 3), [0, 0, 0, 1, 1, 2, 2]);
        assert!(folds(&[], 3).is_empty());
    }

    #[test]
    fn no_repository_is_measured_with_weights_learned_from_it() {
        let start = [0.5; NAMES.len()];
        // One repository differs from the others: weights learned with it would differ as well.
        let mut queries: Vec<RankedQuery> =
            (0..3).map(|i| query(&format!("r{i}"), [1.0, 0.0], [0.0, 1.0])).collect();
        queries.push(query("odd", [0.0, 1.0], [1.0, 0.0]));
        let weights = cross_validate(&queries, &start, &folds(&queries, 4), &SETTINGS);
        let without = fit(queries[..3].iter(), &start, &SETTINGS);
        assert_eq!(weights[3], without);
        assert_ne!(weights[0], without);
    }
}
