//! Judges: decide whether the files that only the search found are relevant, and score the answer.
//!
//! The built-in judge decides by the labels of an issue, and does not judge an issue without labels. Any
//! other judge is an external command, described in docs/quality-loop.md. No verdict is made up: a file that
//! the judge leaves out is [`Relevant::NotJudged`].

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::artefact::{Found, FoundFile, TruthFile};
use super::external;
use super::figures::{self, Dimensions};
use super::subject::{Subject, Told};
use super::verdict::{Actionable, Judgement, Relevant, Verdict};
use crate::error::EvalError;

/// A judge. Its text form is `labels` or a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Judge {
    Labels,
    /// A command for the shell.
    External(String),
}

impl From<String> for Judge {
    fn from(text: String) -> Judge {
        if text == "labels" { Judge::Labels } else { Judge::External(text) }
    }
}

impl From<Judge> for String {
    fn from(judge: Judge) -> String {
        judge.to_string()
    }
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Judge::Labels => "labels",
            Judge::External(command) => command,
        })
    }
}

/// An issue with its ground truth and the results to judge.
pub struct Case<'a> {
    pub subject: &'a Subject<'a>,
    pub area: &'a str,
    /// The names of all areas.
    pub areas: &'a [String],
    pub truth: &'a [TruthFile],
    pub found: &'a Found,
    /// Files that are not in the ground truth: first those of this search, then those of the search with the
    /// weights before a change.
    pub to_judge: &'a [FoundFile],
}

/// The input of an external judge.
#[derive(Serialize)]
struct Question<'a> {
    version: u32,
    role: &'static str,
    issue: Told<'a>,
    product_area: &'a str,
    product_areas: &'a [String],
    tree: &'a str,
    ground_truth: &'a [TruthFile],
    search_results: &'a Found,
    files_to_judge: &'a [FoundFile],
}

impl Judge {
    pub fn is_external(&self) -> bool {
        matches!(self, Judge::External(_))
    }

    /// Judges `case`. The verdicts are about all files of `to_judge`, in that order.
    ///
    /// # Errors
    /// [`EvalError::Git`], and those of [`external::run`]; [`EvalError::Command`] also for a score that is
    /// not between 1 and 5.
    pub fn judge(&self, case: &Case<'_>, limits: &external::Limits) -> Result<Judgement, EvalError> {
        match self {
            Judge::Labels => by_labels(case),
            Judge::External(command) => by_command(command, case, limits),
        }
    }
}

/// Judges by an external command.
fn by_command(command: &str, case: &Case<'_>, limits: &external::Limits) -> Result<Judgement, EvalError> {
    let tree = case.subject.checkout()?;
    let question = Question {
        version: super::PROTOCOL,
        role: "judge",
        issue: case.subject.told(),
        product_area: case.area,
        product_areas: case.areas,
        tree: tree.path().to_str().unwrap_or_default(),
        ground_truth: case.truth,
        search_results: case.found,
        files_to_judge: case.to_judge,
    };

    let judgement: Judgement = external::run(command, tree.path(), &question, limits)?;
    complete(judgement, case).map_err(|why| EvalError::Command { command: command.to_owned(), why })
}

/// Checks the scores of an answer and returns it with one verdict for each file to judge, in their order.
fn complete(judgement: Judgement, case: &Case<'_>) -> Result<Judgement, String> {
    let scores = judgement.dimensions.values().into_iter().chain([judgement.gestalt]);
    if let Some(wrong) = scores.flatten().find(|score| !(1.0..=5.0).contains(score)) {
        return Err(format!("it answered with a score of {wrong}, which is not between 1 and 5"));
    }

    let mut verdicts = Vec::new();
    // Verdicts on other files are dropped.
    for file in case.to_judge {
        let given = judgement.verdicts.iter().find(|verdict| verdict.path == file.path);
        verdicts.push(given.cloned().unwrap_or_else(|| open(&file.path, "the judge left it out")));
    }

    Ok(Judgement { verdicts, ..judgement })
}

/// Returns the verdict on a file that was not judged.
fn open(path: &str, why: &str) -> Verdict {
    Verdict {
        path: path.to_owned(),
        relevant: Relevant::NotJudged,
        actionable: Actionable::NotJudged,
        reasoning: why.to_owned(),
    }
}

/// Judges by the labels of the issue.
///
/// There is no score of the answer as a whole, since labels say no more than the dimensions do.
fn by_labels(case: &Case<'_>) -> Result<Judgement, EvalError> {
    let labels: BTreeSet<&str> = case.subject.issue.relevant.iter().map(String::as_str).collect();
    if labels.is_empty() {
        let verdicts = case.to_judge.iter().map(|file| open(&file.path, "the issue has no labels"));
        return Ok(Judgement { verdicts: verdicts.collect(), ..Judgement::default() });
    }

    let verdicts = case.to_judge.iter().map(|file| label_verdict(file, &labels)).collect();
    Ok(Judgement { verdicts, dimensions: dimensions(case, &labels)?, ..Judgement::default() })
}

/// Returns the verdict on `file` by the paths of the labels.
fn label_verdict(file: &FoundFile, labels: &BTreeSet<&str>) -> Verdict {
    let (relevant, actionable, reasoning) = match labels.contains(file.path.as_str()) {
        true => (Relevant::Yes, Actionable::Yes, "it is a label"),
        false => (Relevant::No, Actionable::No, "it is not among the labels"),
    };
    Verdict { path: file.path.clone(), relevant, actionable, reasoning: reasoning.to_owned() }
}

/// Computes the dimensions by labels, each a share on the scale of 1 to 5:
/// * file relevance: found files that are labelled or in the ground truth, of all found files;
/// * snippet quality: labelled files found whose shown lines the fix changed, of those that the fix changed;
/// * service accuracy: components of labels in which a file was found, of all components of labels;
/// * noise ratio: shown lines that are in relevant files, of all shown lines;
/// * coverage: labels found, of all labels.
fn dimensions(case: &Case<'_>, labels: &BTreeSet<&str>) -> Result<Dimensions, EvalError> {
    let found = &case.found.files_found;
    let labelled: Vec<&FoundFile> = found.iter().filter(|file| labels.contains(file.path.as_str())).collect();
    let relevant: Vec<&FoundFile> = found
        .iter()
        .filter(|file| labels.contains(file.path.as_str()) || is_in_truth(file, case.truth))
        .collect();

    let n_shown_lines: usize = found.iter().map(n_lines).sum();
    let n_relevant_lines: usize = relevant.iter().map(|file| n_lines(file)).sum();

    let (mut n_changed, mut n_overlapping) = (0, 0);
    for file in &labelled {
        if let Some(changed) = case.subject.changed_lines(&file.path)? {
            n_changed += 1;
            let (first, last) = file.lines;
            let overlaps = changed.iter().any(|lines| lines.0 <= last && first <= lines.1);
            n_overlapping += usize::from(overlaps);
        }
    }

    let components: BTreeSet<&str> = labels.iter().map(|path| component(path)).collect();
    let found_components: BTreeSet<&str> = found.iter().map(|file| component(&file.path)).collect();

    Ok(Dimensions {
        file_relevance: scaled_share(relevant.len(), found.len()),
        snippet_quality: scaled_share(n_overlapping, n_changed),
        service_accuracy: scaled_share(components.intersection(&found_components).count(), components.len()),
        noise_ratio: scaled_share(n_relevant_lines, n_shown_lines),
        coverage: scaled_share(labelled.len(), labels.len()),
    })
}

fn is_in_truth(file: &FoundFile, truth: &[TruthFile]) -> bool {
    truth.iter().any(|known| known.path == file.path)
}

/// Returns the number of lines of a file that the search shows.
fn n_lines(file: &FoundFile) -> usize {
    (file.lines.1 + 1).saturating_sub(file.lines.0) as usize
}

/// Returns `part / whole` as a score between 1 and 5; `None` if `whole` is 0.
fn scaled_share(part: usize, whole: usize) -> Option<f64> {
    figures::share(part, whole).map(figures::on_scale)
}

/// Returns the component of a path: at most its first two directories.
fn component(path: &str) -> &str {
    let ends: Vec<usize> = path.match_indices('/').map(|(i, _)| i).collect();
    match ends.as_slice() {
        [] => "",
        [only] => &path[..*only],
        [_, second, ..] => &path[..*second],
    }
}

#[cfg(test)]
mod tests {
    use super::super::issue::Issue;
    use super::*;
    use codeweaver_git::Repo;
    use codeweaver_testkit::TestRepo;

    #[test]
    fn components_are_the_first_two_directories() {
        let of = |path| component(path);
        assert_eq!(["a.c", "lib/a.c", "lib/x/a.c", "lib/x/y/a.c"].map(of), ["", "lib", "lib/x", "lib/x"]);
    }

    #[test]
    fn dimensions_of_labels_by_hand() {
        // The fix changed line 2 of lib/a/x.c, and line 9 of lib/b/y.c.
        let lines = |changed: usize| -> String {
            (1..=10).map(|i| if i == changed { "new\n".to_owned() } else { format!("{i}\n") }).collect()
        };
        let repo =
            TestRepo::with_files(&[("lib/a/x.c", &lines(0)), ("lib/b/y.c", &lines(0)), ("z.c", "z\n")]);
        repo.write("lib/a/x.c", lines(2)).write("lib/b/y.c", lines(9));
        repo.commit("fix");
        let repo = Repo::open_isolated(repo.root()).unwrap();
        let issue = Issue {
            id: "1".to_owned(),
            text: "t".to_owned(),
            repository: String::new(),
            rev: Some("HEAD~1".to_owned()),
            commit: Some("HEAD".to_owned()),
            relevant: ["lib/a/x.c", "lib/b/y.c", "doc/w.md"].map(str::to_owned).to_vec(),
        };
        let subject = Subject::new(&issue, &repo, repo.resolve("HEAD~1").unwrap().tree);
        let file = |path: &str, lines| FoundFile {
            repository: String::new(),
            path: path.to_owned(),
            lines,
            symbols: Vec::new(),
            relevance: 0.5,
        };
        // Two labels, one file of the truth, one other file; 4 + 3 + 2 of 10 lines are in relevant ones.
        let files_found = vec![
            file("lib/a/x.c", (1, 4)),
            file("lib/b/y.c", (1, 3)),
            file("truth.c", (1, 2)),
            file("z.c", (1, 1)),
        ];
        let found = Found { files_found, ..Found::default() };
        let truth = [TruthFile { path: "truth.c".to_owned(), one_run: true }];
        let to_judge = [file("z.c", (1, 1)), file("lib/a/x.c", (1, 4))];
        let case = Case {
            subject: &subject,
            area: "a",
            areas: &[],
            truth: &truth,
            found: &found,
            to_judge: &to_judge,
        };
        let judgement = by_labels(&case).unwrap();
        assert_eq!(
            judgement.verdicts.iter().map(|it| it.relevant).collect::<Vec<_>>(),
            [Relevant::No, Relevant::Yes]
        );
        let close = |value: Option<f64>, share: f64| {
            assert!((value.unwrap() - (1.0 + 4.0 * share)).abs() < 1e-9, "{value:?} {share}");
        };
        let dimensions = judgement.dimensions;
        close(dimensions.file_relevance, 3.0 / 4.0);
        close(dimensions.snippet_quality, 1.0 / 2.0);
        close(dimensions.service_accuracy, 2.0 / 3.0);
        close(dimensions.noise_ratio, 9.0 / 10.0);
        close(dimensions.coverage, 2.0 / 3.0);
        assert_eq!(judgement.gestalt, None);

        let unlabelled = Issue { relevant: Vec::new(), ..issue.clone() };
        let subject = Subject::new(&unlabelled, &repo, subject.tree);
        let judgement = by_labels(&Case { subject: &subject, ..case }).unwrap();
        assert!(judgement.verdicts.iter().all(|it| it.relevant == Relevant::NotJudged));
        assert_eq!(judgement.dimensions, Dimensions::default());
    }

    #[test]
    fn a_judge_cannot_leave_the_scale_and_what_it_leaves_out_is_not_judged() {
        let repo = TestRepo::with_files(&[("a.c", "a\n")]);
        let repo = Repo::open_isolated(repo.root()).unwrap();
        let issue = Issue {
            id: "1".to_owned(),
            text: "t".to_owned(),
            repository: String::new(),
            rev: None,
            commit: None,
            relevant: vec!["a.c".to_owned()],
        };
        let subject = Subject::new(&issue, &repo, repo.resolve("HEAD").unwrap().tree);
        let (path, repository) = ("a.c".to_owned(), String::new());
        let to_judge = [FoundFile { repository, path, lines: (1, 1), symbols: Vec::new(), relevance: 0.5 }];
        let found = Found::default();
        let case =
            Case { subject: &subject, area: "a", areas: &[], truth: &[], found: &found, to_judge: &to_judge };
        for wrong in [0.9, 5.1] {
            let judgement = Judgement { gestalt: Some(wrong), ..Judgement::default() };
            assert!(complete(judgement, &case).unwrap_err().contains("not between 1 and 5"));
        }
        let complete = complete(Judgement { gestalt: Some(5.0), ..Judgement::default() }, &case).unwrap();
        assert_eq!(complete.verdicts[0].relevant, Relevant::NotJudged, "although it is a label");
    }

    #[test]
    fn verdicts_are_read_as_documented() {
        let text = r#"{"verdicts":[{"path":"a","relevant":"yes","actionable":"maybe","reasoning":"r"},
            {"path":"b","relevant":"no"}],"area":{"accurate":false,"better":"x"},
            "dimensions":{"coverage":4},"gestalt":3.5}"#;
        let judgement: Judgement = serde_json::from_str(text).unwrap();
        assert_eq!(judgement.verdicts[0].actionable, Actionable::Maybe);
        assert_eq!(judgement.verdicts[1].actionable, Actionable::NotJudged);
        assert_eq!((judgement.gestalt, judgement.dimensions.coverage), (Some(3.5), Some(4.0)));
        assert!(
            serde_json::from_str::<Judgement>(r#"{"verdicts":[{"path":"a","relevant":"perhaps"}]}"#).is_err()
        );
    }
}
