//! Guards: anomalies, regressions and convergence, as defined in document 003.

use serde::{Deserialize, Serialize};

use super::figures::{Figures, Means};

/// Distance below the aggregate beyond which an area is an anomaly.
pub const ANOMALY: f64 = 0.15;
/// Loss of an area beyond which a change is taken back.
pub const REGRESSION: f64 = 0.10;
/// Least number of judged issues with which an area can take a change back; of fewer, one would decide.
pub const MIN_AREA: usize = 3;
/// Tolerance for the rounding errors in a difference of means.
pub const ROUNDING: f64 = 1e-9;
/// The name under which all issues are judged together.
pub const ALL: &str = "all";

/// Aims of the loop, each a mean over all issues.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    pub precision: f64,
    pub recall: f64,
    pub gestalt: f64,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds { precision: 0.80, recall: 0.70, gestalt: 4.0 }
    }
}

/// An area that is far below the aggregate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Anomaly {
    pub area: String,
    /// `precision` or `recall`.
    pub figure: String,
    pub value: f64,
    pub aggregate: f64,
    /// Number of judged issues of the area. With few of them, the anomaly may be chance.
    pub judged: usize,
}

/// An area that became worse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Regression {
    pub area: String,
    pub figure: String,
    pub before: f64,
    pub after: f64,
    pub judged: usize,
}

/// Returns the figures that guards compare, with their names.
fn judged_figures(means: &Means) -> [(&'static str, Option<f64>); 2] {
    [("precision", means.scores.precision), ("recall", means.scores.recall)]
}

/// Returns the areas that are more than [`ANOMALY`] below the aggregate.
pub fn anomalies(figures: &Figures) -> Vec<Anomaly> {
    let aggregate = judged_figures(&figures.aggregate);
    let mut found = Vec::new();

    for (area, means) in &figures.by_product_area {
        for ((figure, value), (_, whole)) in judged_figures(means).into_iter().zip(aggregate) {
            let (Some(value), Some(aggregate)) = (value, whole) else { continue };
            if exceeds(aggregate - value, ANOMALY) {
                let (area, figure) = (area.clone(), figure.to_owned());
                found.push(Anomaly { area, figure, value, aggregate, judged: means.judged });
            }
        }
    }

    found
}

/// Returns the losses of more than [`REGRESSION`] from `before` to `after`: of areas with at least
/// [`MIN_AREA`] judged issues on both sides, and of all issues together ([`ALL`]).
pub fn regressions(before: &Figures, after: &Figures) -> Vec<Regression> {
    let areas = after
        .by_product_area
        .iter()
        .filter_map(|(area, means)| Some((area.as_str(), before.by_product_area.get(area)?, means)));
    let all = std::iter::once((ALL, &before.aggregate, &after.aggregate));

    let mut found = Vec::new();
    for (area, before, after) in all.chain(areas) {
        let judged = before.judged.min(after.judged);
        if judged < MIN_AREA {
            continue;
        }

        for ((figure, old), (_, new)) in judged_figures(before).into_iter().zip(judged_figures(after)) {
            let (Some(before), Some(after)) = (old, new) else { continue };
            if exceeds(before - after, REGRESSION) {
                let (area, figure) = (area.to_owned(), figure.to_owned());
                found.push(Regression { area, figure, before, after, judged });
            }
        }
    }

    found
}

/// Returns whether `difference` is above `limit` by more than [`ROUNDING`].
fn exceeds(difference: f64, limit: f64) -> bool {
    difference > limit + ROUNDING
}

/// Returns the reasons why the loop continues; empty if it has converged. `since_previous` has the
/// regressions since the previous iteration.
pub fn open_criteria(
    figures: &Figures,
    since_previous: &[Regression],
    thresholds: &Thresholds,
) -> Vec<String> {
    let scores = figures.aggregate.scores;
    let mut reasons = Vec::new();
    let aims = [
        ("precision", scores.precision, thresholds.precision),
        ("recall", scores.recall, thresholds.recall),
        ("gestalt", scores.gestalt, thresholds.gestalt),
    ];

    for (name, value, aim) in aims {
        match value {
            None => reasons.push(format!("{name} was not judged")),
            Some(value) if value < aim => reasons.push(format!("{name} is {value:.2}, below {aim:.2}")),
            Some(_) => {}
        }
    }

    for Regression { area, figure, before, after, .. } in since_previous {
        reasons.push(format!("{figure} of {area} fell from {before:.2} to {after:.2}"));
    }

    reasons
}

#[cfg(test)]
mod tests {
    use super::super::figures::Scores;
    use super::*;
    use proptest::prelude::*;

    fn means(precision: f64, recall: f64, n: usize) -> Means {
        let scores = Scores { precision: Some(precision), recall: Some(recall), ..Scores::default() };
        Means { count: n, judged: n, scores }
    }

    fn figures(aggregate: Means, areas: &[(&str, Means)]) -> Figures {
        let by_product_area = areas.iter().map(|(name, means)| ((*name).to_owned(), *means)).collect();
        Figures { aggregate, by_product_area, ..Figures::default() }
    }

    #[test]
    fn anomalies_of_the_document() {
        // The example of document 003: aggregate 0.75 and 0.68; precision below 0.60 is flagged.
        let example = figures(
            means(0.75, 0.68, 15),
            &[
                ("analytics", means(0.78, 0.72, 3)),
                ("communities", means(0.82, 0.71, 5)),
                ("integrations", means(0.70, 0.65, 2)),
                ("scheduling", means(0.65, 0.60, 4)),
                ("uncertain", means(0.55, 0.50, 1)),
            ],
        );
        let flagged: Vec<(String, String)> =
            anomalies(&example).into_iter().map(|it| (it.area, it.figure)).collect();
        let uncertain = |figure: &str| ("uncertain".to_owned(), figure.to_owned());
        assert_eq!(flagged, [uncertain("precision"), uncertain("recall")]);
        let edge =
            figures(means(0.75, 0.75, 9), &[("a", means(0.60, 0.75, 3)), ("b", means(0.5999, 0.75, 3))]);
        assert_eq!(anomalies(&edge).len(), 1, "0.15 below is none");
    }

    #[test]
    fn a_loss_above_a_tenth_is_a_regression() {
        let before = figures(means(0.8, 0.7, 15), &[("a", means(0.8, 0.7, 5)), ("thin", means(1.0, 1.0, 2))]);
        let after =
            |a, all| figures(all, &[("a", a), ("thin", means(0.0, 0.0, 2)), ("new", means(0.0, 0.0, 9))]);
        let names = |after: &Figures| -> Vec<String> {
            regressions(&before, after).into_iter().map(|it| format!("{} {}", it.area, it.figure)).collect()
        };
        assert_eq!(names(&after(means(0.70, 0.60, 5), means(0.8, 0.7, 15))), [""; 0], "0.10 exactly");
        assert_eq!(names(&after(means(0.69, 0.70, 5), means(0.8, 0.7, 15))), ["a precision"]);
        assert_eq!(names(&after(means(0.80, 0.59, 5), means(0.6, 0.7, 15))), ["all precision", "a recall"]);
    }

    proptest! {
        #[test]
        fn guards_are_about_differences_alone(before in 0u32..=100, after in 0u32..=100, n in 0usize..6) {
            // In whole hundredths, where the limits can be met exactly.
            let of = |hundredths: u32| f64::from(hundredths) / 100.0;
            let area = |value: u32| figures(means(0.5, 0.5, 20), &[("a", means(of(value), 0.5, n))]);
            let lost = regressions(&area(before), &area(after));
            prop_assert_eq!(!lost.is_empty(), n >= MIN_AREA && before > after + 10);
            prop_assert!(lost.iter().all(|it| it.area == "a" && it.figure == "precision" && it.judged == n));
            let whole = figures(means(of(before), 0.5, 20), &[("a", means(of(after), 0.5, n))]);
            prop_assert_eq!(anomalies(&whole).len(), usize::from(before > after + 15));
        }

        #[test]
        fn the_loop_converges_at_its_thresholds(precision in 0u32..=100, recall in 0u32..=100, gestalt in 10u32..=50) {
            let mut all = means(f64::from(precision) / 100.0, f64::from(recall) / 100.0, 15);
            all.scores.gestalt = Some(f64::from(gestalt) / 10.0);
            let open = open_criteria(&figures(all, &[]), &[], &Thresholds::default());
            let expected = usize::from(precision < 80) + usize::from(recall < 70) + usize::from(gestalt < 40);
            prop_assert_eq!(open.len(), expected);
        }
    }

    #[test]
    fn convergence_needs_all_four() {
        let mut good = figures(means(0.80, 0.70, 15), &[]);
        good.aggregate.scores.gestalt = Some(4.0);
        let limits = Thresholds::default();
        assert_eq!(open_criteria(&good, &[], &limits), [""; 0]);
        let mut without = good.clone();
        without.aggregate.scores.gestalt = None;
        assert_eq!(open_criteria(&without, &[], &limits), ["gestalt was not judged"]);
        let mut low = good.clone();
        low.aggregate.scores.precision = Some(0.79);
        assert_eq!(open_criteria(&low, &[], &limits), ["precision is 0.79, below 0.80"]);
        let (area, figure) = ("a".to_owned(), "recall".to_owned());
        let lost = Regression { area, figure, before: 0.9, after: 0.7, judged: 3 };
        assert_eq!(open_criteria(&good, &[lost], &limits), ["recall of a fell from 0.90 to 0.70"]);
    }
}
