//! Signals → weights.

use std::collections::BTreeMap;

use super::features::{Asked, Linear, NAMES};

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub pull: f32,
    pub sharpness: f32,
    pub steps: usize,
    /// How far of the way from the weights in use to those of least error, 0–1: guards against the few questions that are
    /// learned from, as the pull does.
    pub share: f32,
}

/// Steps of this size relative to the weight; weights that begin at 0 move on the scale of [`SMALL`].
const RATE: f32 = 0.05;
const SMALL: f32 = 0.4;
/// Adam (Kingma and Ba 2015).
const BETA: (f32, f32) = (0.9, 0.99);

/// The weights that put the right files of `asked` on top, starting from and pulled towards `start`. Deterministic.
pub fn fit<'a>(asked: impl Iterator<Item = &'a Asked>, start: &Linear, settings: &Settings) -> Linear {
    // A question whose answers were not found says nothing about order.
    let asked: Vec<&Asked> = asked.filter(|asked| asked.files.iter().any(|file| file.is_right)).collect();
    let scale = start.map(|weight| if weight > 0.0 { weight.max(0.2) } else { SMALL });
    let mut weights = *start;
    let (mut mean, mut square) = ([0.0f32; NAMES.len()], [0.0f32; NAMES.len()]);
    for step in 1..=settings.steps {
        let mut gradient = [0.0f32; NAMES.len()];
        for asked in &asked {
            add_gradient(asked, &weights, settings.sharpness, &mut gradient);
        }
        for (i, gradient) in gradient.iter().enumerate() {
            let pull = settings.pull * (weights[i] - start[i]) / (scale[i] * scale[i]);
            let g = gradient / asked.len().max(1) as f32 + pull;
            mean[i] = BETA.0 * mean[i] + (1.0 - BETA.0) * g;
            square[i] = BETA.1 * square[i] + (1.0 - BETA.1) * g * g;
            let corrected =
                (mean[i] / (1.0 - BETA.0.powi(step as i32)), square[i] / (1.0 - BETA.1.powi(step as i32)));
            weights[i] -= RATE * scale[i] * corrected.0 / (corrected.1.sqrt() + 1e-8);
            // Every signal is made so that more of it speaks for the file.
            weights[i] = weights[i].max(0.0);
        }
    }
    std::array::from_fn(|i| start[i] + settings.share * (weights[i] - start[i]))
}

/// Gradient of the cross entropy between the softmax of the scores and the right files, which share the whole.
fn add_gradient(asked: &Asked, weights: &Linear, sharpness: f32, gradient: &mut Linear) {
    let scores: Vec<f32> = asked.files.iter().map(|file| sharpness * file.score(weights)).collect();
    let top = scores.iter().copied().fold(f32::MIN, f32::max);
    let total: f32 = scores.iter().map(|score| (score - top).exp()).sum();
    let right = 1.0 / asked.files.iter().filter(|file| file.is_right).count().max(1) as f32;
    for (file, score) in asked.files.iter().zip(&scores) {
        let wanted = if file.is_right { right } else { 0.0 };
        let error = sharpness * file.factor * ((score - top).exp() / total - wanted);
        gradient.iter_mut().zip(&file.signals).for_each(|(gradient, signal)| *gradient += error * signal);
    }
}

/// For each repository the weights that were learned without it.
pub fn cross_validate(
    asked: &[Asked],
    start: &Linear,
    n_folds: usize,
    settings: &Settings,
) -> BTreeMap<(usize, String), Linear> {
    let mut repositories: Vec<_> = asked.iter().map(|asked| asked.repository.clone()).collect();
    repositories.dedup();
    fastrand::Rng::with_seed(1).shuffle(&mut repositories);
    let fold_of: BTreeMap<_, _> =
        repositories.into_iter().enumerate().map(|(i, repository)| (repository, i % n_folds)).collect();
    let of_fold: Vec<Linear> = (0..n_folds)
        .map(|fold| fit(asked.iter().filter(|asked| fold_of[&asked.repository] != fold), start, settings))
        .collect();
    fold_of.into_iter().map(|(repository, fold)| (repository, of_fold[fold])).collect()
}

#[cfg(test)]
mod tests {
    use super::super::features::tests::question;
    use super::*;

    const SETTINGS: Settings = Settings { pull: 0.001, sharpness: 3.0, steps: 100, share: 1.0 };

    #[test]
    fn a_signal_that_tells_right_from_wrong_gains_weight() {
        let mut start = [0.0; NAMES.len()];
        start[0] = 1.0;
        // The first signal misleads, the second tells.
        let asked: Vec<Asked> =
            (0..6).map(|i| question(&format!("r{}", i % 3), [0.2, 1.0], [0.6, 0.1])).collect();
        assert_eq!(asked[0].scores(&start).hit_at_1, 0.0);
        let learned = fit(asked.iter(), &start, &SETTINGS);
        assert!(learned[1] > 0.3 && learned[0] < 1.0, "{learned:?}");
        assert!(learned.iter().all(|weight| *weight >= 0.0));
        assert_eq!(asked[0].scores(&learned).hit_at_1, 1.0);
        assert_eq!(learned, fit(asked.iter(), &start, &SETTINGS), "the same twice");
        let strong = Settings { pull: 1000.0, ..SETTINGS };
        assert!((fit(asked.iter(), &start, &strong)[1] - start[1]).abs() < 0.05, "pulled back");
        let half = fit(asked.iter(), &start, &Settings { share: 0.5, ..SETTINGS });
        assert!((half[1] - learned[1] / 2.0).abs() < 1e-6, "half the way");
    }

    #[test]
    fn no_repository_is_judged_by_weights_that_saw_it() {
        let start = [0.5; NAMES.len()];
        // One repository of its own kind: weights learned with it would differ.
        let mut asked: Vec<Asked> =
            (0..3).map(|i| question(&format!("r{i}"), [1.0, 0.0], [0.0, 1.0])).collect();
        asked.push(question("odd", [0.0, 1.0], [1.0, 0.0]));
        let weights = cross_validate(&asked, &start, 4, &SETTINGS);
        let without = fit(asked[..3].iter(), &start, &SETTINGS);
        assert_eq!(weights[&(0, "odd".to_owned())], without);
        assert_ne!(weights[&(0, "r0".to_owned())], without);
    }
}
