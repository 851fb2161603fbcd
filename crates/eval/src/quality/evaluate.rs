//! The evaluation phase of one issue: two explorations make the ground truth, with which a judge compares the
//! results of the search.

use std::collections::{BTreeSet, HashSet};
use std::thread;

use super::artefact::{Conversation, EvaluatedIssue, Found, FoundFile, SearchedIssue, TruthFile};
use super::explorer::{Exploration, Explorer};
use super::external;
use super::figures::{Counts, Overlap, Scores};
use super::judge::{Case, Judge};
use super::subject::Subject;
use super::verdict::{Judgement, Relevant, Verdict};
use crate::error::EvalError;

/// The explorers and the judge of an iteration.
pub struct Evaluators<'a> {
    /// Run A and run B.
    pub explorers: [&'a Explorer; 2],
    pub judge: &'a Judge,
    pub areas: &'a [String],
    pub limits: &'a external::Limits,
}

impl Evaluators<'_> {
    /// Evaluates the results of the search for an issue.
    ///
    /// # Errors
    /// Those of [`Explorer::explore`] and [`Judge::judge`].
    pub fn evaluate(
        &self,
        subject: &Subject<'_>,
        conversation: &Conversation,
        searched: &SearchedIssue,
    ) -> Result<EvaluatedIssue, EvalError> {
        let (run_a, run_b) = self.explore(subject)?;
        let truth = union(&run_a, &run_b);

        let mut evaluated = EvaluatedIssue {
            conversation_id: conversation.issue.id.clone(),
            product_area: conversation.product_area.clone(),
            scores: Scores::default(),
            former_scores: None,
            not_judged: None,
            intersection: Vec::new(),
            our_unique: Vec::new(),
            ground_truth_unique: Vec::new(),
            ground_truth: truth,
            area_check: None,
            reasoning: String::new(),
            run_a,
            run_b,
        };
        // The ground truth is unknown then, and not empty.
        if !evaluated.run_a.explored && !evaluated.run_b.explored {
            evaluated.not_judged = Some("no explorer could look for it".to_owned());
            return Ok(evaluated);
        }

        let found = &searched.search_results;
        let former = searched.former_files_found.as_deref();
        // The files of both weights are judged together, so that equal files get equal verdicts.
        let to_judge = not_in_truth(found, former.unwrap_or_default(), &evaluated.ground_truth);
        let case = Case {
            subject,
            area: &conversation.product_area,
            areas: self.areas,
            truth: &evaluated.ground_truth,
            found,
            to_judge: &to_judge,
        };
        let judgement = self.judge.judge(&case, self.limits)?;

        fill(&mut evaluated, &found.files_found, former, judgement);
        Ok(evaluated)
    }

    /// Runs both explorations at the same time.
    fn explore(&self, subject: &Subject<'_>) -> Result<(Exploration, Exploration), EvalError> {
        let [a, b] = self.explorers;
        let (a, b) = thread::scope(|scope| {
            let b = scope.spawn(|| b.explore(subject, "b", self.limits));
            (a.explore(subject, "a", self.limits), b.join())
        });

        // A panic of the other thread continues in this one.
        let b = b.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((a?, b?))
    }
}

/// Returns the union of two explorations, sorted by path.
fn union(a: &Exploration, b: &Exploration) -> Vec<TruthFile> {
    let (a, b) = (a.paths(), b.paths());
    let mut files = Vec::new();
    for &path in a.union(&b) {
        let one_run = !(a.contains(path) && b.contains(path));
        files.push(TruthFile { path: path.to_owned(), one_run });
    }

    files
}

/// Counts the files that both runs found; all zero if one of them could not look.
pub fn overlap(a: &Exploration, b: &Exploration) -> Overlap {
    if !a.explored || !b.explored {
        return Overlap::default();
    }
    let (a, b) = (a.paths(), b.paths());
    Overlap { a: a.len(), b: b.len(), both: a.intersection(&b).count() }
}

/// Returns the files that only the search found, first of `found`, then of `former`, each path once.
fn not_in_truth(found: &Found, former: &[FoundFile], truth: &[TruthFile]) -> Vec<FoundFile> {
    let mut seen: HashSet<&str> = truth.iter().map(|file| file.path.as_str()).collect();
    let all = found.files_found.iter().chain(former);
    all.filter(|file| seen.insert(&file.path)).cloned().collect()
}

/// Fills in the scores and lists that follow from the judgement.
fn fill(
    evaluated: &mut EvaluatedIssue,
    found: &[FoundFile],
    former: Option<&[FoundFile]>,
    judgement: Judgement,
) {
    let truth: BTreeSet<&str> = evaluated.ground_truth.iter().map(|file| file.path.as_str()).collect();
    let counts = counts(found, &truth, &judgement.verdicts);

    let ours: BTreeSet<&str> = found.iter().map(|file| file.path.as_str()).collect();
    evaluated.intersection = truth.intersection(&ours).map(|path| (*path).to_owned()).collect();
    evaluated.ground_truth_unique = truth.difference(&ours).map(|path| (*path).to_owned()).collect();

    evaluated.scores = Scores {
        precision: counts.precision(),
        recall: counts.recall(),
        dimensions: judgement.dimensions,
        gestalt: judgement.gestalt,
    };
    evaluated.former_scores = former.map(|former| {
        let counts = self::counts(former, &truth, &judgement.verdicts);
        Scores { precision: counts.precision(), recall: counts.recall(), ..Scores::default() }
    });

    // One file without a verdict leaves precision and recall open; the first such file is the reason.
    if counts.unique_relevant.is_none() {
        let open = judgement.verdicts.iter().find(|verdict| verdict.relevant == Relevant::NotJudged);
        evaluated.not_judged = open.map(|verdict| format!("{}: {}", verdict.path, verdict.reasoning));
    }

    evaluated.our_unique = judgement.verdicts;
    evaluated.area_check = judgement.area;
    evaluated.reasoning = judgement.reasoning;
}

/// Counts the files of `found` that are in the ground truth or judged relevant, and those that it missed.
fn counts(found: &[FoundFile], truth: &BTreeSet<&str>, verdicts: &[Verdict]) -> Counts {
    let (ours, unique): (Vec<&FoundFile>, Vec<&FoundFile>) =
        found.iter().partition(|file| truth.contains(file.path.as_str()));

    Counts {
        found: found.len(),
        intersection: ours.len(),
        unique_relevant: unique.iter().map(|file| relevance(file, verdicts)).sum(),
        missed: truth.len() - ours.len(),
    }
}

/// Returns 1 for a file that was judged relevant, 0 for an irrelevant one; `None` if it was not judged.
fn relevance(file: &FoundFile, verdicts: &[Verdict]) -> Option<usize> {
    match verdicts.iter().find(|verdict| verdict.path == file.path)?.relevant {
        Relevant::Yes => Some(1),
        Relevant::No => Some(0),
        Relevant::NotJudged => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::explorer::ExploredFile;
    use super::super::verdict::Actionable;
    use super::*;

    fn exploration(paths: &[&str]) -> Exploration {
        let file = |path: &&str| ExploredFile { path: (*path).to_owned(), lines: None, why: String::new() };
        Exploration { explored: true, files: paths.iter().map(file).collect(), ..Exploration::default() }
    }

    fn found(path: &str) -> FoundFile {
        FoundFile {
            repository: String::new(),
            path: path.to_owned(),
            lines: (1, 9),
            symbols: Vec::new(),
            relevance: 0.5,
        }
    }

    fn verdict(path: &str, relevant: Relevant) -> Verdict {
        let (actionable, reasoning) = (Actionable::NotJudged, "why".to_owned());
        Verdict { path: path.to_owned(), relevant, actionable, reasoning }
    }

    #[test]
    fn the_union_is_the_truth_and_files_of_one_run_are_flagged() {
        let (a, b) = (exploration(&["x", "y"]), exploration(&["z", "x"]));
        let truth = union(&a, &b);
        let flags: Vec<(&str, bool)> = truth.iter().map(|file| (file.path.as_str(), file.one_run)).collect();
        assert_eq!(flags, [("x", false), ("y", true), ("z", true)]);
        assert_eq!(overlap(&a, &b), Overlap { a: 2, b: 2, both: 1 });
        assert_eq!(overlap(&a, &Exploration::default()), Overlap::default(), "it could not look");
    }

    #[test]
    fn an_issue_is_counted_by_hand() {
        let truth: BTreeSet<&str> = ["a", "b", "c"].into();
        let files = [found("a"), found("d"), found("e"), found("f")];
        let mut verdicts =
            vec![verdict("d", Relevant::Yes), verdict("e", Relevant::No), verdict("f", Relevant::No)];
        let counted = counts(&files, &truth, &verdicts);
        assert_eq!(counted, Counts { found: 4, intersection: 1, unique_relevant: Some(1), missed: 2 });
        assert_eq!((counted.precision(), counted.recall()), (Some(0.5), Some(0.5)));
        verdicts[2].relevant = Relevant::NotJudged;
        assert_eq!(counts(&files, &truth, &verdicts).unique_relevant, None, "not judged is no verdict");
    }

    #[test]
    fn files_of_both_searches_are_judged_once() {
        let ours = Found { files_found: vec![found("a"), found("b")], ..Found::default() };
        let truth = [TruthFile { path: "a".to_owned(), one_run: true }];
        let paths: Vec<String> = not_in_truth(&ours, &[found("b"), found("c")], &truth)
            .into_iter()
            .map(|file| file.path)
            .collect();
        assert_eq!(paths, ["b", "c"]);
    }
}
