//! Trials: compare a change of the weights with the weights before it, on the same issues.
//!
//! A trial begins with the iteration after the change and lasts until another change is tried, so that areas
//! with one issue in an iteration get enough issues to be compared. The change is taken back if an area, or
//! all issues together, lose more than [`guard::REGRESSION`], or if too few issues were judged. When the
//! trial ends, the change is also taken back if precision and recall over all issues are lower with it at
//! all.

use codeweaver::query::rank::Weights;

use super::artefact::{Evaluation, Iteration, RolledBack, Trial};
use super::figures::{Figures, Means, Scores};
use super::guard::{self, MIN_AREA};

impl Trial {
    /// Returns the trial that `now`, the iteration after `done`, is part of; `None` if no change is on trial.
    pub fn new(done: &[Iteration], now: &Evaluation) -> Option<Trial> {
        // Former weights are kept only while a change is on trial.
        done.last()?.learnings.former_weights.as_ref()?;
        let since = done.iter().rposition(|iteration| iteration.learnings.change.is_some())?;
        let description = done[since].learnings.change.as_ref()?.description.clone();

        let (mut before, mut after) = (Vec::new(), Vec::new());
        for evaluation in done[since + 1..].iter().map(|iteration| &iteration.evaluation).chain([now]) {
            for issue in &evaluation.issues {
                let area = issue.product_area.as_str();
                // Defaults have no figures, so an issue without former scores counts as not judged.
                before.push((area, issue.former_scores.unwrap_or_default()));
                after.push((area, issue.scores));
            }
        }

        let (before, after) = (Figures::new(before.into_iter()), Figures::new(after.into_iter()));
        Some(Trial { since, description, before, after })
    }

    /// Returns the change as taken back if the trial fails while it lasts; `None` if it goes on.
    pub fn failure(&self, weights: &Weights) -> Option<RolledBack> {
        let judged = self.before.aggregate.judged.min(self.after.aggregate.judged);
        let regressions = guard::regressions(&self.before, &self.after);

        let why = match () {
            () if judged < MIN_AREA => {
                format!("{judged} issues were judged, and {MIN_AREA} are needed to try it")
            }
            () if !regressions.is_empty() => "it lost more than the limit".to_owned(),
            () => return None,
        };

        Some(RolledBack { description: self.description.clone(), why, regressions, weights: weights.clone() })
    }

    /// Returns the change as taken back if the trial, which ends, lost over all issues; `None` if it did not.
    pub fn loss(&self, weights: &Weights) -> Option<RolledBack> {
        let (before, after) = (level(&self.before.aggregate)?, level(&self.after.aggregate)?);

        let why = "precision and recall of all issues are lower with it".to_owned();
        (after < before - guard::ROUNDING).then(|| RolledBack {
            description: self.description.clone(),
            why,
            regressions: Vec::new(),
            weights: weights.clone(),
        })
    }
}

/// Returns the mean of precision and recall; if there is only one of them, that one.
pub fn level(means: &Means) -> Option<f64> {
    level_of(&means.scores)
}

/// Returns the mean of precision and recall of `scores`; if there is only one of them, that one.
pub fn level_of(scores: &Scores) -> Option<f64> {
    let (precision, recall) = (scores.precision, scores.recall);
    Some((precision.or(recall)? + recall.or(precision)?) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::super::figures::Scores;
    use super::*;
    use codeweaver::query::rank::WEIGHTS;

    /// A trial over issues, given as area, recall before and recall after.
    fn trial(issues: &[(&str, Option<f64>, Option<f64>)]) -> Trial {
        let scores = |recall: Option<f64>| Scores { recall, ..Scores::default() };
        Trial {
            since: 1,
            description: "x".to_owned(),
            before: Figures::new(issues.iter().map(|(area, before, _)| (*area, scores(*before)))),
            after: Figures::new(issues.iter().map(|(area, _, after)| (*area, scores(*after)))),
        }
    }

    fn why(back: Option<RolledBack>) -> String {
        back.map(|back| back.why).unwrap_or_default()
    }

    #[test]
    fn an_area_is_judged_once_it_has_enough_issues() {
        let good = ("rest", Some(0.5), Some(0.6));
        let bad = ("rare", Some(0.9), Some(0.7));
        let two = trial(&[good, good, good, good, bad, bad]);
        assert!(two.failure(&WEIGHTS).is_none(), "two issues of an area do not decide");
        let three = trial(&[good, good, good, good, bad, bad, bad]).failure(&WEIGHTS).unwrap();
        assert_eq!((three.regressions.len(), three.regressions[0].area.as_str()), (1, "rare"));
        assert_eq!(three.weights, *WEIGHTS);
    }

    #[test]
    fn a_change_of_which_nothing_is_known_is_taken_back() {
        let none = ("a", None, None);
        assert!(why(trial(&[none; 15]).failure(&WEIGHTS)).starts_with("0 issues were judged"));
        let same = ("a", Some(0.5), Some(0.5));
        assert!(why(trial(&[none, same, same]).failure(&WEIGHTS)).starts_with("2 issues were judged"));
        assert!(trial(&[none, same, same, same]).failure(&WEIGHTS).is_none());
        assert!(trial(&[same]).loss(&WEIGHTS).is_none(), "nothing was lost");
    }

    #[test]
    fn a_small_loss_counts_at_the_end_alone() {
        let small = trial(&[("a", Some(0.50), Some(0.49)); 4]);
        assert!(small.failure(&WEIGHTS).is_none());
        assert!(why(small.loss(&WEIGHTS)).contains("lower"));
        assert!(trial(&[("a", Some(0.50), Some(0.51)); 4]).loss(&WEIGHTS).is_none());
    }

    #[test]
    fn the_level_is_the_mean_of_what_there_is() {
        let of = |precision, recall| {
            let scores = Scores { precision, recall, ..Scores::default() };
            level(&Means { scores, ..Means::default() })
        };
        assert_eq!(of(Some(0.25), Some(0.75)), Some(0.5));
        assert_eq!((of(Some(0.25), None), of(None, Some(0.75))), (Some(0.25), Some(0.75)));
        assert_eq!(of(None, None), None);
    }
}
