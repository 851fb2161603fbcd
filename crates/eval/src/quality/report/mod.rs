//! The report of a loop, as Markdown and as a page of HTML that loads nothing.

mod escape;
mod html;
mod markdown;
mod plot;

use super::artefact::{Iteration, Learnings, Outcome, Trial};
use super::figures::{DIMENSIONS, Figures, Scores};
use super::guard::MIN_AREA;

pub use html::html;
pub use markdown::markdown;

/// Columns of the table of figures.
const FIGURES: [&str; 3] = ["precision", "recall", "gestalt"];

/// Returns the figures in the order of [`FIGURES`].
fn figures(scores: &Scores) -> [Option<f64>; 3] {
    [scores.precision, scores.recall, scores.gestalt]
}

/// Formats a figure; one that was not judged is a dash.
fn printed(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

/// Describes the outcome of the loop in a sentence.
fn outcome(learnings: &Learnings) -> String {
    match learnings.outcome {
        Outcome::Continue => format!("The loop continues after iteration {}.", learnings.iteration),
        Outcome::Converged => format!("The loop converged in iteration {}.", learnings.iteration),
        Outcome::MaxIterations => "The loop ended at its maximum number of iterations.".to_owned(),
        Outcome::PoolExhausted => "The loop ended because the pool has too few unused issues.".to_owned(),
    }
}

/// A table: a head and rows. Their text is not escaped yet.
struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Returns the table of the figures of all iterations.
fn iterations(done: &[Iteration]) -> Table {
    let names = ["iteration", "issues", "judged"].into_iter().chain(FIGURES).chain(["overlap", "uncertain"]);

    let mut rows = Vec::new();
    for Iteration { evaluation, .. } in done {
        let means = &evaluation.figures.aggregate;
        let mut row =
            vec![evaluation.iteration.to_string(), means.count.to_string(), means.judged.to_string()];
        row.extend(figures(&means.scores).map(printed));
        row.extend([printed(evaluation.overlap.rate()), printed(evaluation.figures.uncertain_rate)]);
        rows.push(row);
    }

    Table { head: names.map(str::to_owned).collect(), rows }
}

/// Returns the table of the figures of all issues and of each area.
fn areas(all: &Figures) -> Table {
    let names = ["area", "issues", "judged"].into_iter().chain(FIGURES).chain(DIMENSIONS);
    let areas = all.by_product_area.iter().map(|(name, means)| (name.as_str(), means));

    let mut rows = Vec::new();
    for (name, means) in std::iter::once(("all", &all.aggregate)).chain(areas) {
        let mut row = vec![name.to_owned(), means.count.to_string(), means.judged.to_string()];
        row.extend(figures(&means.scores).map(printed));
        row.extend(means.scores.dimensions.values().map(printed));
        rows.push(row);
    }

    Table { head: names.map(str::to_owned).collect(), rows }
}

/// Returns the figures of the areas over all iterations, since one iteration has few issues of each.
fn areas_of_all(done: &[Iteration]) -> Figures {
    let issues = done.iter().flat_map(|iteration| &iteration.evaluation.issues);
    Figures::new(issues.map(|issue| (issue.product_area.as_str(), issue.scores)))
}

/// Describes a change on trial, with precision and recall of the same issues before and after it.
fn trial(trial: &Trial) -> String {
    let [before, after] = [&trial.before, &trial.after].map(|figures| figures.aggregate.scores);

    format!(
        "On trial since iteration {}, over {} issues: {}; on the same issues, precision {} → {}, recall {} → {}.",
        trial.since,
        trial.after.aggregate.count,
        trial.description,
        printed(before.precision),
        printed(after.precision),
        printed(before.recall),
        printed(after.recall),
    )
}

/// Describes an iteration in sentences.
fn notes(iteration: &Iteration) -> Vec<String> {
    let Iteration { evaluation, learnings, .. } = iteration;
    let [a, b] = &evaluation.explorers;
    let mut notes = vec![format!("Explored by {a} and {b}, judged by {}.", evaluation.judge)];

    for anomaly in &evaluation.anomalies {
        notes.push(format!(
            "Anomaly: {} of {} is {:.2}, of all {:.2} ({} judged{}).",
            anomaly.figure,
            anomaly.area,
            anomaly.value,
            anomaly.aggregate,
            anomaly.judged,
            if anomaly.judged < MIN_AREA { ", may be chance" } else { "" }
        ));
    }

    notes.extend(learnings.trial.as_ref().map(trial));
    if let Some(rolled_back) = &learnings.rolled_back {
        let lost: Vec<String> = rolled_back
            .regressions
            .iter()
            .map(|it| format!("; {} of {} from {:.2} to {:.2}", it.figure, it.area, it.before, it.after))
            .collect();
        notes.push(format!("Taken back: {}: {}{}.", rolled_back.description, rolled_back.why, lost.concat()));
    }

    if let Some(change) = &learnings.change {
        let changes: Vec<String> = change
            .weights
            .iter()
            .map(|it| format!("{} {:.3} → {:.3}", it.name, it.before, it.after))
            .collect();
        notes.push(format!(
            "Changed for the next iteration: {} ({}).",
            change.description,
            changes.join(", ")
        ));
    }
    if let Some(why) = &learnings.no_change {
        notes.push(format!("Nothing is changed: {why}."));
    }

    if !learnings.open_criteria.is_empty() {
        notes.push(format!("Not converged: {}.", learnings.open_criteria.join("; ")));
    }
    notes.extend(learnings.proposals.iter().map(|proposal| format!("Proposal: {proposal}.")));
    notes
}

/// Returns the criteria of success of the loop as a whole, each with whether it is met.
fn criteria(config: &super::Config, done: &[Iteration]) -> Vec<(String, bool)> {
    let Some(last) = done.last() else { return Vec::new() };
    let figures = &last.evaluation.figures;
    let scores = &figures.aggregate.scores;
    let limits = &config.thresholds;
    let accuracy = figures.classification_accuracy;
    let lost =
        done.first().map_or(0, |first| super::guard::regressions(&first.evaluation.figures, figures).len());

    vec![
        at_least("precision", scores.precision, limits.precision),
        at_least("recall", scores.recall, limits.recall),
        at_least("gestalt", scores.gestalt, limits.gestalt),
        (
            format!("figures of areas more than 0.15 below all: {}", last.evaluation.anomalies.len()),
            last.evaluation.anomalies.is_empty(),
        ),
        at_least("accuracy of the areas", accuracy, 0.85),
        (format!("figures that fell by more than 0.10 since the baseline: {lost}"), lost == 0),
    ]
}

/// Returns the criterion that a figure is at least `least`; a figure that was not judged does not meet it.
fn at_least(name: &str, value: Option<f64>, least: f64) -> (String, bool) {
    let criterion = format!("{name} is at least {least:.2}: {}", printed(value));
    (criterion, value.is_some_and(|value| value >= least))
}
