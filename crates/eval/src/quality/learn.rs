//! The learning phase: draws conclusions from an iteration, for people and for the next iteration.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use codeweaver_text::{self as text, for_each_term};

use super::area;
use super::artefact::{
    Calibration, Conversations, EvaluatedIssue, Evaluation, Iteration, NoiseTerm, Patterns, SearchResults,
};
use super::explorer::Explorer;
use super::figures::Overlap;
use super::guard::MIN_AREA;
use super::trial::{level, level_of};
use super::verdict::Relevant;

/// Iterations whose overlap decides which explorers are used.
const CALIBRATED: std::ops::RangeInclusive<usize> = 1..=2;
/// Overlap from which the cheaper explorer suffices.
const SUFFICIENT: f64 = 0.90;
/// Least number of irrelevant files with a noise term: fewer are outliers.
const MIN_NOISE: usize = 3;
/// Number of entries of a list.
const N_LISTED: usize = 10;

/// Decides whether run B alone would have found the files of run A, over iterations 1 and 2 as far as they
/// are done. If so, run A uses the explorer of run B from then on. `all` has the overlap of each iteration.
pub fn calibrate(all: &[Overlap], explorers: &[Explorer; 2]) -> Calibration {
    let calibrated = all.iter().enumerate().filter(|(i, _)| CALIBRATED.contains(i));
    let overlap = calibrated.map(|(_, overlap)| *overlap).fold(Overlap::default(), Overlap::plus);

    let (is_decided, rate) = (all.len() > *CALIBRATED.end(), overlap.rate());
    let suffices = is_decided && rate.is_some_and(|rate| rate >= SUFFICIENT);
    let [a, b] = explorers;
    Calibration { overlap, rate, explorers: [if suffices { b } else { a }.to_string(), b.to_string()] }
}

/// Finds the properties that issues with low scores share in an iteration.
pub fn patterns(
    conversations: &Conversations,
    searched: &SearchResults,
    evaluation: &Evaluation,
) -> Patterns {
    let figures = &evaluation.figures;
    let weakest_area = figures
        .by_product_area
        .iter()
        .filter(|(_, means)| means.judged >= MIN_AREA)
        .filter_map(|(area, means)| Some((area, level(means)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(area, _)| area.clone());
    let weakest_dimension = figures.aggregate.scores.dimensions.lowest().map(|(name, _)| name.to_owned());

    let missed: Vec<&str> = evaluation
        .issues
        .iter()
        .flat_map(|issue| issue.ground_truth_unique.iter().map(String::as_str))
        .collect();

    Patterns {
        weakest_area,
        weakest_dimension,
        noise_terms: noise_terms(searched, evaluation),
        missed_kinds: frequent(missed.iter().map(|path| kind(path)), 1),
        missed_files: frequent(missed.into_iter(), 2),
        lowest: lowest(&evaluation.issues),
        verdicts_against_labels: against_labels(conversations, evaluation),
    }
}

/// Returns the words of issues that snippets of at least [`MIN_NOISE`] irrelevant files contain, and of more
/// than twice as many irrelevant files as relevant ones. The most frequent come first.
fn noise_terms(searched: &SearchResults, evaluation: &Evaluation) -> Vec<NoiseTerm> {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (searched, evaluated) in searched.results.iter().zip(&evaluation.issues) {
        let found = &searched.search_results;
        // Terms of snippets are stems, so words are compared by their stems.
        let words: Vec<(String, String)> = found
            .search_terms_used
            .iter()
            .map(|word| (text::stem(&word.to_lowercase()), word.to_lowercase()))
            .filter(|(stem, _)| !text::is_stop_word(stem))
            .collect();

        for snippet in &found.snippets {
            let verdict = evaluated.our_unique.iter().find(|verdict| verdict.path == snippet.path);
            let is_relevant = match verdict.map(|verdict| verdict.relevant) {
                // A file without a verdict is in the ground truth.
                None | Some(Relevant::Yes) => true,
                Some(Relevant::No) => false,
                Some(Relevant::NotJudged) => continue,
            };

            let mut shown = HashSet::new();
            for_each_term(&snippet.content, &mut |term| {
                shown.insert(term.to_owned());
            });

            for (_, word) in words.iter().filter(|(stem, _)| shown.contains(stem)) {
                let (irrelevant, relevant) = counts.entry(word.clone()).or_default();
                *(if is_relevant { relevant } else { irrelevant }) += 1;
            }
        }
    }

    let noisy = counts.into_iter().filter(|(_, (no, yes))| *no >= MIN_NOISE && *no > 2 * yes);
    let mut terms: Vec<NoiseTerm> =
        noisy.map(|(term, (irrelevant, relevant))| NoiseTerm { term, irrelevant, relevant }).collect();
    terms.sort_by(|a, b| b.irrelevant.cmp(&a.irrelevant).then_with(|| a.term.cmp(&b.term)));
    terms.truncate(N_LISTED);
    terms
}

/// Returns the extension of a path, or its name if it has none.
fn kind(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(_, extension)| extension)
}

/// Returns the most frequent of `names` that occur at least `least` times, with their numbers.
fn frequent<'a>(names: impl Iterator<Item = &'a str>, least: usize) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);

    let mut all: Vec<(String, usize)> =
        counts.into_iter().filter(|(_, n)| *n >= least).map(|(name, n)| (name.to_owned(), n)).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all.truncate(N_LISTED);
    all
}

/// Returns the ids of the issues with the lowest mean of precision and recall.
fn lowest(issues: &[EvaluatedIssue]) -> Vec<String> {
    let mut all: Vec<(f64, &str)> = Vec::new();
    for issue in issues {
        if let Some(level) = level_of(&issue.scores) {
            all.push((level, &issue.conversation_id));
        }
    }

    all.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
    all.into_iter().take(N_LISTED).map(|(_, id)| id.to_owned()).collect()
}

/// Counts the verdicts that call a labelled file irrelevant.
fn against_labels(conversations: &Conversations, evaluation: &Evaluation) -> usize {
    let mut n = 0;
    for (conversation, evaluated) in conversations.conversations.iter().zip(&evaluation.issues) {
        let labels = &conversation.issue.relevant;
        let irrelevant = evaluated.our_unique.iter().filter(|verdict| verdict.relevant == Relevant::No);
        n += irrelevant.filter(|verdict| labels.contains(&verdict.path)).count();
    }

    n
}

/// Returns proposals for people: changes that the patterns and figures of an iteration suggest.
pub fn proposals(patterns: &Patterns, evaluation: &Evaluation) -> Vec<String> {
    let mut proposals = Vec::new();

    if let Some(area) = &patterns.weakest_area {
        proposals.push(format!("look at the misses of the area `{area}`, which is the weakest"));
    }
    if let Some(term) = patterns.noise_terms.first() {
        let NoiseTerm { term, irrelevant, relevant } = term;
        proposals.push(format!(
            "the word `{term}` led to {irrelevant} irrelevant files and {relevant} relevant ones: it should weigh less"
        ));
    }
    if let Some((path, n)) = patterns.missed_files.first() {
        proposals.push(format!("{path} was missed by {n} issues: see why with `search --explain`"));
    }

    let figures = &evaluation.figures;
    if figures.classification_accuracy.is_some_and(|accuracy| accuracy < 0.85) {
        proposals.push("fewer than 85 % of the areas are right: correct the table of areas".to_owned());
    }
    for anomaly in evaluation.anomalies.iter().filter(|anomaly| anomaly.judged >= MIN_AREA) {
        proposals.push(format!(
            "{} of `{}` is {:.2} below the rest: a gap of the search, wrong areas, or a judge that errs there",
            anomaly.figure,
            anomaly.area,
            anomaly.aggregate - anomaly.value
        ));
    }
    if patterns.verdicts_against_labels > 0 {
        proposals.push(format!(
            "the judge called {} labelled files irrelevant: check the judge",
            patterns.verdicts_against_labels
        ));
    }

    // Vague proposals are made only if there are no others.
    if let Some(dimension) = patterns.weakest_dimension.as_ref().filter(|_| proposals.is_empty()) {
        proposals.push(format!("work on {dimension}, the weakest dimension"));
    }
    if let Some(id) = patterns.lowest.first().filter(|_| proposals.is_empty()) {
        proposals.push(format!("look at the issue {id}, which has the lowest figures"));
    }

    proposals
}

/// Returns the files that answer the `i`th issue of an iteration: found by both runs, judged relevant, or
/// labelled. A file of one run alone is not certain enough to learn from.
pub fn relevant_files(iteration: &Iteration, i: usize) -> Vec<String> {
    let Some(evaluated) = iteration.evaluation.issues.get(i) else { return Vec::new() };
    let found_by_both = evaluated.ground_truth.iter().filter(|file| !file.one_run).map(|file| &file.path);
    let judged = evaluated.our_unique.iter().filter(|verdict| verdict.relevant == Relevant::Yes);
    let labels = iteration.conversations.conversations.get(i).into_iter().flat_map(|it| &it.issue.relevant);

    let all: BTreeSet<&String> =
        found_by_both.chain(judged.map(|verdict| &verdict.path)).chain(labels).collect();
    all.into_iter().cloned().collect()
}

/// Returns the share of area checks that agree with the table; `None` if there are none.
pub fn classification_accuracy(issues: &[EvaluatedIssue]) -> Option<f64> {
    let (mut n_checked, mut n_accurate) = (0, 0);
    for issue in issues {
        // In an uncertain area the table did not decide, so it was neither right nor wrong.
        let Some(check) = issue.area_check.as_ref().filter(|_| issue.product_area != area::UNCERTAIN) else {
            continue;
        };
        n_checked += 1;
        n_accurate += usize::from(check.accurate);
    }

    super::figures::share(n_accurate, n_checked)
}

#[cfg(test)]
mod tests {
    use super::super::figures::{Figures, Scores};
    use super::super::verdict::AreaCheck;
    use super::*;

    #[test]
    fn the_cheaper_explorer_is_used_twice_after_two_iterations_of_sufficient_overlap() {
        let explorers = [Explorer::History, Explorer::Grep];
        let names = |all: &[Overlap]| calibrate(all, &explorers).explorers.map(|name| name == "grep");
        let of = |both| Overlap { a: 10, b: 20, both };
        // The baseline does not count.
        assert_eq!(names(&[of(0), of(9)]), [false, true], "one iteration does not decide");
        assert_eq!(names(&[of(0), of(9), of(9)]), [true, true]);
        assert_eq!(names(&[of(10), of(9), of(8)]), [false, true]);
        assert_eq!(names(&[of(0), of(9), of(9), of(0)]), [true, true], "later iterations change nothing");
        let none = Overlap::default();
        assert_eq!(names(&[none, none, none]), [false, true], "nothing was found to compare");
        assert_eq!(calibrate(&[of(0), of(9), of(8)], &explorers).rate, Some(0.85));
    }

    fn issue(id: &str, area: &str, is_right: Option<bool>, precision: Option<f64>) -> EvaluatedIssue {
        EvaluatedIssue {
            conversation_id: id.to_owned(),
            product_area: area.to_owned(),
            scores: Scores { precision, ..Scores::default() },
            area_check: is_right.map(|accurate| AreaCheck { accurate, better: None }),
            ..EvaluatedIssue::default()
        }
    }

    #[test]
    fn accuracy_of_areas_by_hand() {
        // The figure of document 003, 0.87: 13 of 15.
        let of = |is_right: &[Option<bool>], area: &str| {
            let issues = is_right.iter().map(|is_right| issue("x", area, *is_right, None));
            classification_accuracy(&issues.collect::<Vec<_>>())
        };
        let mut checks = vec![Some(true); 13];
        checks.extend([Some(false); 2]);
        assert!((of(&checks, "a").unwrap() - 0.87).abs() < 0.005);
        checks.push(None);
        assert_eq!(of(&checks, "a"), Some(13.0 / 15.0), "not checked");
        assert_eq!(of(&checks, "uncertain"), None, "the table said nothing that could be right");
        assert_eq!(of(&[], "a"), None);
    }

    #[test]
    fn the_lowest_issues_come_first() {
        let issues =
            [issue("b", "a", None, Some(0.5)), issue("c", "a", None, None), issue("a", "a", None, Some(0.2))];
        assert_eq!(lowest(&issues), ["a", "b"]);
    }

    #[test]
    fn an_iteration_that_is_not_good_names_at_least_one_thing_to_improve() {
        let thin = issue("only", "a", None, Some(0.2));
        let figures = Figures::new([("a", thin.scores)].into_iter());
        let evaluation = Evaluation { figures, issues: vec![thin], ..Evaluation::default() };
        let weights = codeweaver::query::rank::WEIGHTS.clone();
        let searched = SearchResults { iteration: 0, weights, results: Vec::new() };
        let conversations = Conversations::default();
        let patterns = patterns(&conversations, &searched, &evaluation);
        assert_eq!(
            proposals(&patterns, &evaluation),
            ["look at the issue only, which has the lowest figures"]
        );
    }

    #[test]
    fn kinds_and_frequencies() {
        assert_eq!([kind("a/b.tar.gz"), kind("a/Makefile")], ["gz", "Makefile"]);
        let names = ["b", "a", "b", "c", "a"];
        assert_eq!(frequent(names.into_iter(), 2), [("a".to_owned(), 2), ("b".to_owned(), 2)]);
    }
}
