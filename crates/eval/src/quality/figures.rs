//! Figures: precision, recall, dimensions and gestalt of one issue, and their means by area.
//!
//! A figure that was not judged is `None`, and no mean counts it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Files of one issue, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Files that the search returned.
    pub found: usize,
    /// Found files that are in the ground truth.
    pub intersection: usize,
    /// Found files that are not in the ground truth and were judged relevant; `None` if one was not judged.
    pub unique_relevant: Option<usize>,
    /// Files of the ground truth that the search did not return.
    pub missed: usize,
}

impl Counts {
    /// Returns (intersection + ours judged relevant) / found.
    pub fn precision(&self) -> Option<f64> {
        share(self.intersection + self.unique_relevant?, self.found)
    }

    /// Returns (intersection + ours judged relevant) / (intersection + ours judged relevant + missed).
    pub fn recall(&self) -> Option<f64> {
        let relevant = self.intersection + self.unique_relevant?;
        share(relevant, relevant + self.missed)
    }
}

/// Returns `part / whole`; `None` if `whole` is 0.
pub fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Converts a share, 0–1, to a score between 1 and 5.
pub fn on_scale(share: f64) -> f64 {
    1.0 + 4.0 * share
}

/// The five dimensions, each 1 (worst) to 5.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dimensions {
    /// Whether the files are related to the issue.
    pub file_relevance: Option<f64>,
    /// Whether the snippets help to understand or fix it.
    pub snippet_quality: Option<f64>,
    /// Whether the files are in the right component.
    pub service_accuracy: Option<f64>,
    /// Absence of irrelevant text: 5 if all of the shown text is relevant.
    pub noise_ratio: Option<f64>,
    /// Whether the key files are among them.
    pub coverage: Option<f64>,
}

/// Names of the dimensions, in the order of [`Dimensions::values`].
pub const DIMENSIONS: [&str; 5] =
    ["file relevance", "snippet quality", "service accuracy", "noise ratio", "coverage"];

impl Dimensions {
    /// Returns the dimensions in the order of [`DIMENSIONS`].
    pub fn values(&self) -> [Option<f64>; 5] {
        [self.file_relevance, self.snippet_quality, self.service_accuracy, self.noise_ratio, self.coverage]
    }

    fn from_values(values: [Option<f64>; 5]) -> Dimensions {
        let [file_relevance, snippet_quality, service_accuracy, noise_ratio, coverage] = values;
        Dimensions { file_relevance, snippet_quality, service_accuracy, noise_ratio, coverage }
    }
}

/// The scores of one issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    pub precision: Option<f64>,
    pub recall: Option<f64>,
    pub dimensions: Dimensions,
    /// The score of the answer as a whole, 1–5.
    pub gestalt: Option<f64>,
}

/// Means over the issues of one area, or over all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Means {
    /// Number of issues, including those that have no figures.
    pub count: usize,
    /// Number of issues with precision or recall.
    pub judged: usize,
    #[serde(flatten)]
    pub scores: Scores,
}

/// The figures of one iteration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    pub aggregate: Means,
    pub by_product_area: BTreeMap<String, Means>,
    /// The share of area checks that agree with the table; `None` if no area was checked.
    pub classification_accuracy: Option<f64>,
    /// The share of issues whose area is uncertain.
    pub uncertain_rate: Option<f64>,
}

impl Figures {
    /// Computes the figures of issues, given as (area, scores).
    pub fn new<'a>(issues: impl Iterator<Item = (&'a str, Scores)>) -> Figures {
        let mut by_area: BTreeMap<String, Vec<Scores>> = BTreeMap::new();
        let mut all = Vec::new();

        for (area, scores) in issues {
            by_area.entry(area.to_owned()).or_default().push(scores);
            all.push(scores);
        }

        let n_uncertain = by_area.get(super::area::UNCERTAIN).map_or(0, Vec::len);
        Figures {
            aggregate: means(&all),
            by_product_area: by_area.into_iter().map(|(area, scores)| (area, means(&scores))).collect(),
            classification_accuracy: None,
            uncertain_rate: share(n_uncertain, all.len()),
        }
    }
}

/// Returns the means of `all`, each over the issues that have the figure.
fn means(all: &[Scores]) -> Means {
    let dimensions =
        std::array::from_fn(|i| mean(all.iter().filter_map(|scores| scores.dimensions.values()[i])));

    Means {
        count: all.len(),
        judged: all.iter().filter(|scores| scores.precision.or(scores.recall).is_some()).count(),
        scores: Scores {
            precision: mean(all.iter().filter_map(|scores| scores.precision)),
            recall: mean(all.iter().filter_map(|scores| scores.recall)),
            dimensions: Dimensions::from_values(dimensions),
            gestalt: mean(all.iter().filter_map(|scores| scores.gestalt)),
        },
    }
}

/// Returns the mean of `values`; `None` if there are none.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum) = values.fold((0usize, 0.0), |(n, sum), value| (n + 1, sum + value));
    (n > 0).then(|| sum / n as f64)
}

/// Numbers of files that two explorations of the same issues found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Number of files that run A found, over all issues.
    pub a: usize,
    /// Number of files that run B found.
    pub b: usize,
    /// Number of files that both runs found.
    pub both: usize,
}

impl Overlap {
    /// Returns |A ∩ B| / |A|; `None` if run A found nothing.
    pub fn rate(&self) -> Option<f64> {
        share(self.both, self.a)
    }

    pub fn plus(self, other: Overlap) -> Overlap {
        Overlap { a: self.a + other.a, b: self.b + other.b, both: self.both + other.both }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(found: usize, intersection: usize, unique_relevant: usize, missed: usize) -> Counts {
        Counts { found, intersection, unique_relevant: Some(unique_relevant), missed }
    }

    #[test]
    fn precision_and_recall_by_hand() {
        // 8 files found: 4 in the truth, 2 of the other 4 judged relevant; 3 missed.
        let some = counts(8, 4, 2, 3);
        assert_eq!((some.precision(), some.recall()), (Some(0.75), Some(6.0 / 9.0)));
        assert_eq!(counts(0, 0, 0, 3).precision(), None, "nothing was found");
        assert_eq!(counts(0, 0, 0, 3).recall(), Some(0.0));
        assert_eq!(counts(2, 0, 0, 0).recall(), None, "there was nothing to find");
        let open = Counts { unique_relevant: None, ..some };
        assert_eq!((open.precision(), open.recall()), (None, None), "not judged");
    }

    #[test]
    fn figures_by_hand() {
        // Document 003: 15 issues, one uncertain, 7 %.
        let of = |area, precision| (area, Scores { precision, ..Scores::default() });
        let issues = [of("a", Some(1.0)), of("a", Some(0.5)), of("b", None), of("uncertain", Some(0.0))];
        let figures = Figures::new(issues.into_iter());
        assert_eq!(figures.aggregate.scores.precision, Some(0.5));
        assert_eq!((figures.aggregate.count, figures.aggregate.judged), (4, 3));
        assert_eq!(figures.by_product_area["a"].scores.precision, Some(0.75));
        assert_eq!(
            (figures.by_product_area["b"].scores.precision, figures.by_product_area["b"].judged),
            (None, 0)
        );
        assert_eq!(figures.uncertain_rate, Some(0.25));
        let fifteen = (0..15).map(|i| of(if i == 0 { "uncertain" } else { "a" }, None));
        assert!((Figures::new(fifteen).uncertain_rate.unwrap() - 0.07).abs() < 0.005);
        assert_eq!((on_scale(0.0), on_scale(0.5), on_scale(1.0)), (1.0, 3.0, 5.0));
    }

    #[test]
    fn overlap_by_hand() {
        let overlap = Overlap { a: 10, b: 30, both: 9 };
        assert_eq!(overlap.rate(), Some(0.9), "the share of A alone counts");
        assert_eq!(overlap.plus(Overlap { a: 10, b: 0, both: 0 }).rate(), Some(0.45));
        assert_eq!(Overlap { a: 0, b: 3, both: 0 }.rate(), None);
    }

    proptest! {
        #[test]
        fn figures_are_shares(intersection in 0usize..20, relevant in 0usize..20, noise in 0usize..20, missed in 0usize..20) {
            let it = counts(intersection + relevant + noise, intersection, relevant, missed);
            for figure in [it.precision(), it.recall()].into_iter().flatten() {
                prop_assert!((0.0..=1.0).contains(&figure));
            }
            prop_assert_eq!(it.precision() == Some(1.0), it.found > 0 && noise == 0);
            prop_assert_eq!(it.recall() == Some(1.0), intersection + relevant > 0 && missed == 0);
            // One file more that is judged relevant lowers neither.
            let more = counts(it.found, intersection, relevant + usize::from(noise > 0), missed);
            prop_assert!(more.precision() >= it.precision() && more.recall() >= it.recall());
        }

        #[test]
        fn the_aggregate_is_the_mean_of_the_areas_by_their_counts(values in proptest::collection::vec((0u8..4, 0.0f64..1.0), 1..40)) {
            let names = ["a", "b", "c", "uncertain"];
            let issues = values.iter().map(|(area, value)| {
                (names[usize::from(*area)], Scores { recall: Some(*value), ..Scores::default() })
            });
            let figures = Figures::new(issues);
            let sum: f64 = figures.by_product_area.values().map(|it| it.scores.recall.unwrap() * it.count as f64).sum();
            let mean = figures.aggregate.scores.recall.unwrap();
            prop_assert!((sum / values.len() as f64 - mean).abs() < 1e-9);
        }
    }
}
