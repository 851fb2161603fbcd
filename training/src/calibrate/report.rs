//! Figures of repositories from which the coefficients were not learned.

use std::fmt::Write as _;

use super::{Mask, Sample, fit};

const THRESHOLDS: &[f64] = &[0.1, 0.2, 0.3, 0.4, 0.5];
const FOLDS: usize = 5;
/// Bins of the reliability table.
const BINS: usize = 5;

/// Renders for each suite the share of foreign queries refused and of answered ones lost, by threshold; then
/// a reliability table, the share of queries that were answered by stated probability.
pub fn cross_validated(samples: &[Sample], kept_aside: &[usize], mask: &Mask) -> String {
    let mut repositories: Vec<(usize, &str)> =
        samples.iter().map(|sample| (sample.suite, sample.repository.as_str())).collect();
    repositories.sort_unstable();
    repositories.dedup();
    // A repository is in the same fold in every suite.
    let mut names: Vec<&str> = repositories.iter().map(|(_, name)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let fold_of = |sample: &Sample| names.binary_search(&sample.repository.as_str()).unwrap_or(0) % FOLDS;
    let mut scored: Vec<(&Sample, f64)> = Vec::new();
    for fold in 0..FOLDS {
        let is_learned = |sample: &&Sample| !kept_aside.contains(&sample.suite) && fold_of(sample) != fold;
        let learned: Vec<&Sample> = samples.iter().filter(is_learned).collect();
        let model = fit::fit(&learned, mask);
        let measured = samples.iter().filter(|sample| fold_of(sample) == fold);
        scored.extend(measured.map(|sample| (sample, fit::probability_of(&model, &sample.values, mask))));
    }
    let mut out = String::new();
    for suite in repositories.iter().map(|(suite, _)| *suite).collect::<std::collections::BTreeSet<_>>() {
        let (mut answered, mut foreign) = (Vec::new(), Vec::new());
        for (sample, p) in scored.iter().filter(|(sample, _)| sample.suite == suite) {
            match sample.is_answered {
                true => answered.push(*p),
                false => foreign.push(*p),
            }
        }

        let aside = if kept_aside.contains(&suite) { ", kept aside" } else { "" };
        let _ = writeln!(out, "suite {suite}{aside}: {} answered, {} foreign", answered.len(), foreign.len());
        for &threshold in THRESHOLDS {
            let below = |all: &[f64]| share(all.iter().filter(|&&p| p < threshold).count(), all.len());
            let _ = writeln!(
                out,
                "  at {threshold:.1}: {:5.1} % of foreign refused, {:5.2} % of answered lost",
                100.0 * below(&foreign),
                100.0 * below(&answered)
            );
        }
    }

    reliability(&mut out, samples, &scored);
    out
}

/// Appends the reliability table of `scored`, samples with their probabilities.
fn reliability(out: &mut String, samples: &[Sample], scored: &[(&Sample, f64)]) {
    out.push_str("reliability: stated → answered, both classes of a suite weighing the same\n");
    for bin in 0..BINS {
        let range = bin as f64 / BINS as f64..(bin + 1) as f64 / BINS as f64;
        let is_last = bin + 1 == BINS;
        let inside: Vec<(f64, f64, bool)> = scored
            .iter()
            .filter(|(_, p)| range.contains(p) || (is_last && *p == 1.0))
            .map(|(sample, p)| (weight(sample, samples), *p, sample.is_answered))
            .collect();
        let total: f64 = inside.iter().map(|(weight, _, _)| weight).sum();
        let stated: f64 = inside.iter().map(|(weight, p, _)| weight * p).sum();
        let answered: f64 = inside.iter().filter(|(_, _, is)| *is).map(|(weight, _, _)| weight).sum();
        let _ = writeln!(
            out,
            "  {:.2} → {:.2} ({} queries)",
            stated / total.max(f64::MIN_POSITIVE),
            answered / total.max(f64::MIN_POSITIVE),
            inside.len()
        );
    }
}

/// Returns the weight of a sample: one divided by the size of its class in its suite.
fn weight(sample: &Sample, samples: &[Sample]) -> f64 {
    let class = (sample.suite, sample.is_answered);
    let same = samples.iter().filter(|other| (other.suite, other.is_answered) == class);
    1.0 / same.count().max(1) as f64
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
