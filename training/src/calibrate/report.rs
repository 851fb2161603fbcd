//! Figures of repositories that were not learned from.

use std::fmt::Write as _;

use super::{Mask, Sample, fit};

const THRESHOLDS: &[f64] = &[0.1, 0.2, 0.3, 0.4, 0.5];
const FOLDS: usize = 5;
/// Bins of the reliability table.
const BINS: usize = 5;

/// For each suite: the share of foreign queries refused and of answered ones lost, by threshold; then how
/// often queries were answered by the probability that was stated.
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
        let of = |is_answered: bool| -> Vec<f64> {
            let of_suite = scored.iter().filter(|(sample, _)| sample.suite == suite);
            of_suite.filter(|(sample, _)| sample.is_answered == is_answered).map(|(_, p)| *p).collect()
        };
        let (answered, foreign) = (of(true), of(false));
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
    out.push_str("reliability: stated → answered, both classes of a suite weighing the same\n");
    for bin in 0..BINS {
        let range = bin as f64 / BINS as f64..(bin + 1) as f64 / BINS as f64;
        let is_in = |p: f64| range.contains(&p) || (bin + 1 == BINS && p == 1.0);
        let weight = |sample: &Sample| {
            let same = samples
                .iter()
                .filter(|other| (other.suite, other.is_answered) == (sample.suite, sample.is_answered));
            1.0 / same.count().max(1) as f64
        };
        let inside: Vec<(f64, f64, bool)> = scored
            .iter()
            .filter(|(_, p)| is_in(*p))
            .map(|(sample, p)| (weight(sample), *p, sample.is_answered))
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
    out
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
