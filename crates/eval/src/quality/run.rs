//! Runs the loop, step by step.

use super::area::{Areas, Classification};
use super::artefact::{
    CONVERSATIONS, Conversation, Conversations, EVALUATION, EvaluatedIssue, Evaluation, Iteration, LEARNINGS,
    Learnings, Outcome, RolledBack, SEARCH_RESULTS, SearchResults, SearchedIssue,
};
use super::checkout::Checkout;
use super::config::{BATCH, Config};
use super::evaluate::{Evaluators, overlap};
use super::explorer::Explorer;
use super::figures::{Figures, Overlap};
use super::folder::Folder;
use super::guard;
use super::issue::Issue;
use super::learner::Proposed;
use super::subject::Subject;
use super::trial::Trial;
use super::{learn, report, sample, search};
use crate::error::EvalError;
use crate::runner::repository_path;
use crate::tune::features;
use codeweaver::query::rank::{WEIGHTS, Weights};
use codeweaver_git::Repo;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const CONFIG: &str = "config.json";
const POOL: &str = "pool.json";
/// What was tried and what came of it, for people and external learners.
const PROGRESS: &str = "progress.json";
/// The weights that the loop has arrived at.
const WEIGHTS_FILE: &str = "weights.json";

/// How often progress is told of a step.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// A loop with its folder.
pub struct Loop {
    folder: Folder,
    config: Config,
    areas: Areas,
    pool: Vec<Issue>,
    repos: BTreeMap<String, Repo>,
    stop: Arc<AtomicBool>,
    /// Locked as long as it is open.
    _lock: File,
}

/// What came of a loop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub outcome: Outcome,
    /// Number of iterations after the baseline.
    pub iterations: usize,
    pub open_criteria: Vec<String>,
    pub figures: Figures,
    pub baseline: Figures,
    /// Changes of the weights that no area lost by.
    pub kept_changes: usize,
    pub rolled_back: usize,
}

/// What a loop has learned so far.
#[derive(Serialize)]
struct Memory<'a> {
    iterations: Vec<Remembered<'a>>,
}

#[derive(Serialize)]
struct Remembered<'a> {
    iteration: usize,
    outcome: Outcome,
    figures: &'a Figures,
    anomalies: &'a [guard::Anomaly],
    patterns: &'a super::artefact::Patterns,
    proposals: &'a [String],
    change: Option<&'a str>,
    no_change: Option<&'a str>,
    rolled_back: Option<&'a RolledBack>,
}

impl Loop {
    /// Begins a loop in `folder`, which must have none. Revisions are resolved now, so that a branch that
    /// moves changes nothing.
    ///
    /// # Errors
    /// [`EvalError::LoopExists`], [`EvalError::LoopRuns`], [`EvalError::LoopSettings`],
    /// [`EvalError::TooFewIssues`], [`EvalError::MissingRepository`], and those of reading repositories and
    /// writing files.
    pub fn begin(folder: &Path, config: Config, pool: Vec<Issue>) -> Result<Loop, EvalError> {
        let folder = Folder::new(folder);
        if folder.path().join(CONFIG).exists() {
            return Err(EvalError::LoopExists { path: folder.path().to_path_buf() });
        }
        config.check()?;
        if pool.len() < config.least_issues() {
            return Err(EvalError::TooFewIssues { n: pool.len(), least: config.least_issues() });
        }
        let areas = config.areas()?;
        let repos = open_repositories(&pool, &config.repos)?;
        let mut pool = pool;
        for issue in &mut pool {
            let Some(repo) = repos.get(&issue.repository) else { continue };
            let resolved = repo.resolve(issue.rev.as_deref().unwrap_or("HEAD"))?;
            issue.rev = Some(resolved.commit.unwrap_or(resolved.tree).to_string());
        }
        std::fs::create_dir_all(folder.path()).map_err(EvalError::write(folder.path()))?;
        let lock = folder.lock()?;
        folder.write(&folder.path().join(POOL), &pool)?;
        // The last: a folder with it is a loop.
        folder.write(&folder.path().join(CONFIG), &config)?;
        Ok(Loop { folder, config, areas, pool, repos, stop: Arc::default(), _lock: lock })
    }

    /// Opens the loop in `folder` to continue it.
    ///
    /// # Errors
    /// [`EvalError::NoLoop`], [`EvalError::Artefact`], and those of [`Self::begin`].
    pub fn resume(folder: &Path) -> Result<Loop, EvalError> {
        let folder = Folder::new(folder);
        let missing = || EvalError::NoLoop { path: folder.path().to_path_buf() };
        let config: Config = folder.read(&folder.path().join(CONFIG))?.ok_or_else(missing)?;
        let pool: Vec<Issue> = folder.read(&folder.path().join(POOL))?.ok_or_else(missing)?;
        config.check()?;
        let lock = folder.lock()?;
        let (areas, repos) = (config.areas()?, open_repositories(&pool, &config.repos)?);
        Ok(Loop { folder, config, areas, pool, repos, stop: Arc::default(), _lock: lock })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Once set, the loop ends with [`EvalError::Interrupted`] at the next issue.
    pub fn stop(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// The weights that the loop has arrived at; the built-in ones before the first iteration.
    ///
    /// # Errors
    /// [`EvalError::Read`], [`EvalError::Artefact`].
    pub fn weights(&self) -> Result<Weights, EvalError> {
        let weights = self.folder.read(&self.folder.path().join(WEIGHTS_FILE))?;
        Ok(weights.unwrap_or_else(|| WEIGHTS.clone()))
    }

    /// Runs what is left. `say` is told of each step.
    ///
    /// # Errors
    /// Those of the steps. What is done stays done.
    pub fn run(&self, say: &dyn Fn(&str)) -> Result<Summary, EvalError> {
        Checkout::sweep();
        let mut done: Vec<Iteration> = Vec::new();
        loop {
            let number = done.len();
            let iteration = self.iteration(number, &done, say)?;
            let is_last = iteration.learnings.outcome != Outcome::Continue;
            say(&line(&iteration));
            done.push(iteration);
            self.publish(&done)?;
            if is_last {
                return Ok(summary(&done));
            }
        }
    }

    fn iteration(
        &self,
        number: usize,
        done: &[Iteration],
        say: &dyn Fn(&str),
    ) -> Result<Iteration, EvalError> {
        let step = |name: &str| say(&format!("iteration {number}: {name}"));
        let conversations = self.step(number, CONVERSATIONS, || Ok(self.sample(number, done)))?;
        let search_results = self.step(number, SEARCH_RESULTS, || {
            step("searching");
            self.search(&conversations, done)
        })?;
        let evaluation = self.step(number, EVALUATION, || {
            step("exploring and judging");
            self.evaluate(&conversations, &search_results, done, say)
        })?;
        self.folder.remove_partial(number);
        let partial = Unlearned { conversations, search_results, evaluation };
        let learnings = self.step(number, LEARNINGS, || {
            step("learning");
            self.learn(&partial, done)
        })?;
        let Unlearned { conversations, search_results, evaluation } = partial;
        Ok(Iteration { conversations, search_results, evaluation, learnings })
    }

    /// The artefact `name`, which `make` makes if it is not there.
    fn step<T: Serialize + serde::de::DeserializeOwned>(
        &self,
        number: usize,
        name: &str,
        make: impl FnOnce() -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        let path = self.folder.of(number, name);
        if let Some(artefact) = self.folder.read(&path)? {
            return Ok(artefact);
        }
        self.check_stop()?;
        let artefact = make()?;
        self.folder.write(&path, &artefact)?;
        Ok(artefact)
    }

    fn check_stop(&self) -> Result<(), EvalError> {
        if self.stop.load(Ordering::Relaxed) { Err(EvalError::Interrupted) } else { Ok(()) }
    }

    fn sample(&self, number: usize, done: &[Iteration]) -> Conversations {
        let used: HashSet<String> = done
            .iter()
            .flat_map(|iteration| &iteration.conversations.conversations)
            .map(|conversation| conversation.issue.id.clone())
            .collect();
        let classes: Vec<Classification> =
            self.pool.iter().map(|issue| self.areas.classify(&issue.text)).collect();
        let areas: Vec<(String, String)> = self
            .pool
            .iter()
            .zip(&classes)
            .map(|(issue, class)| (issue.id.clone(), class.area.clone()))
            .collect();
        let n = if number == 0 { self.config.baseline } else { self.config.batch };
        let chosen = sample::sample(&areas, &used, n, self.config.seed);
        let conversation = |&i: &usize| Conversation::new(self.pool[i].clone(), classes[i].clone());
        Conversations {
            iteration: number,
            n_left: self.pool.len() - used.len() - chosen.len(),
            conversations: chosen.iter().map(conversation).collect(),
        }
    }

    fn search(&self, conversations: &Conversations, done: &[Iteration]) -> Result<SearchResults, EvalError> {
        let (weights, former) = weights_of_next(done);
        let mut tried = vec![&weights];
        tried.extend(former.as_ref());
        let (n, repos) = (self.config.results, &self.config.repos);
        let found = search::search(&conversations.conversations, &tried, n, repos)?;
        let results = conversations.conversations.iter().zip(found).map(|(conversation, found)| {
            let mut found = found.into_iter();
            SearchedIssue {
                conversation_id: conversation.issue.id.clone(),
                issue_summary: conversation.issue_summary.clone(),
                product_area: conversation.product_area.clone(),
                classification_confidence: conversation.classification_confidence,
                search_results: found.next().unwrap_or_default(),
                former_files_found: found.next().map(|found| found.files_found),
            }
        });
        let results = results.collect();
        Ok(SearchResults { iteration: conversations.iteration, weights, results })
    }

    fn evaluate(
        &self,
        conversations: &Conversations,
        searched: &SearchResults,
        done: &[Iteration],
        say: &dyn Fn(&str),
    ) -> Result<Evaluation, EvalError> {
        let number = conversations.iteration;
        let explorers = self.explorers(done);
        let (areas, limits) =
            (self.areas.names().map(str::to_owned).collect::<Vec<_>>(), self.config.limits(&self.stop));
        let evaluators = Evaluators {
            explorers: [&explorers[0], &explorers[1]],
            judge: &self.config.judge,
            areas: &areas,
            limits: &limits,
        };
        let mut issues = self.folder.partial(number)?;
        let mut said = Instant::now();
        let n = conversations.conversations.len();
        for (conversation, searched) in
            conversations.conversations.iter().zip(&searched.results).skip(issues.len())
        {
            self.check_stop()?;
            let issue = &conversation.issue;
            let repo = self.repo(issue)?;
            let tree = repo.resolve(issue.rev.as_deref().unwrap_or("HEAD"))?.tree;
            let evaluated = evaluators.evaluate(&Subject::new(issue, repo, tree), conversation, searched)?;
            self.folder.add_partial(number, &evaluated)?;
            issues.push(evaluated);
            if said.elapsed() >= PROGRESS_EVERY {
                say(&format!("iteration {number}: {} of {n} issues are judged", issues.len()));
                said = Instant::now();
            }
        }
        let scores = |issue: &EvaluatedIssue| issue.scores;
        let mut figures =
            Figures::of(issues.iter().map(|issue| (issue.product_area.as_str(), scores(issue))));
        figures.classification_accuracy = learn::classification_accuracy(&issues);
        let is_on_trial = issues.iter().any(|issue| issue.former_scores.is_some());
        let former =
            issues.iter().map(|issue| (issue.product_area.as_str(), issue.former_scores.unwrap_or_default()));
        Ok(Evaluation {
            iteration: number,
            explorers: explorers.map(|explorer| explorer.to_string()),
            judge: self.config.judge.to_string(),
            former_figures: is_on_trial.then(|| Figures::of(former)),
            overlap: issues
                .iter()
                .map(|it| overlap(&it.run_a, &it.run_b))
                .fold(Overlap::default(), Overlap::plus),
            anomalies: guard::anomalies(&figures),
            figures,
            issues,
        })
    }

    fn learn(&self, now: &Unlearned, done: &[Iteration]) -> Result<Learnings, EvalError> {
        let number = now.conversations.iteration;
        let evaluation = &now.evaluation;
        let (used, former) = weights_of_next(done);
        let trial = Trial::of(done, evaluation);
        let since_previous = match done.last() {
            Some(previous) => guard::regressions(&previous.evaluation.figures, &evaluation.figures),
            None => Vec::new(),
        };
        let mut open = guard::open_criteria(&evaluation.figures, &since_previous, &self.config.thresholds);
        let mut rolled_back = trial.as_ref().and_then(|trial| trial.failure(&used));
        let outcome = |is_good| self.outcome(number, now.conversations.n_left, is_good);
        // The trial ends with the loop.
        if outcome(open.is_empty()) != Outcome::Continue {
            rolled_back = rolled_back.or_else(|| trial.as_ref()?.loss(&used));
        }
        if rolled_back.is_some() {
            open.push("the last change was taken back".to_owned());
        }
        let outcome = outcome(open.is_empty());
        let (current, former) = match (&rolled_back, former) {
            (Some(_), Some(former)) => (former, None),
            (_, former) => (used, former),
        };
        let overlaps: Vec<Overlap> =
            done.iter().map(|it| it.evaluation.overlap).chain([evaluation.overlap]).collect();
        let patterns = learn::patterns(&now.conversations, &now.search_results, evaluation);
        let mut learnings = Learnings {
            iteration: number,
            outcome,
            open_criteria: open,
            rolled_back,
            trial,
            regressions: since_previous,
            proposals: learn::proposals(&patterns, evaluation),
            patterns,
            calibration: learn::calibrate(&overlaps, &self.config.explorers),
            change: None,
            no_change: None,
            weights: current,
            former_weights: former,
        };
        self.propose(&mut learnings, now, done)?;
        Ok(learnings)
    }

    fn outcome(&self, number: usize, n_left: usize, is_good: bool) -> Outcome {
        match () {
            () if is_good && number >= self.config.min_iterations => Outcome::Converged,
            () if number >= self.config.max_iterations => Outcome::MaxIterations,
            () if n_left < *BATCH.start() => Outcome::PoolExhausted,
            () => Outcome::Continue,
        }
    }

    /// Asks the learner for a change, and backs up the weights that it replaces.
    fn propose(
        &self,
        learnings: &mut Learnings,
        now: &Unlearned,
        done: &[Iteration],
    ) -> Result<(), EvalError> {
        if learnings.outcome != Outcome::Continue {
            learnings.no_change = Some("no iteration follows that could test it".to_owned());
            return Ok(());
        }
        // The learner sees this iteration without the change that is to come.
        let all: Vec<Iteration> = done.iter().cloned().chain([now.with(learnings.clone())]).collect();
        let judged = || {
            let issues = all.iter().flat_map(|iteration| {
                let conversations = iteration.conversations.conversations.iter().enumerate();
                conversations.map(|(i, conversation)| (conversation, learn::relevant_files(iteration, i)))
            });
            search::open(issues.filter(|(_, relevant)| !relevant.is_empty()), &self.config.repos)
        };
        let proposed = self.config.learner.propose(
            &learnings.weights,
            &judged,
            &memory(&all),
            self.folder.path(),
            &self.config.limits(&self.stop),
        )?;
        let failed = all.iter().filter_map(|iteration| iteration.learnings.rolled_back.as_ref());
        match proposed {
            Proposed::Nothing(why) => learnings.no_change = Some(why),
            Proposed::Change(_, weights) if failed.clone().any(|failed| failed.weights == *weights) => {
                learnings.no_change = Some("the same weights were taken back before".to_owned());
            }
            Proposed::Change(change, weights) => {
                let backup = format!("backups/iteration_{}.json", learnings.iteration);
                self.folder
                    .write_text(&self.folder.path().join(backup), &features::json(&learnings.weights))?;
                let replaced = std::mem::replace(&mut learnings.weights, *weights);
                // The trial of the change before ends here.
                let lost = learnings.trial.as_ref().and_then(|trial| trial.loss(&replaced));
                learnings.former_weights = match learnings.former_weights.take() {
                    Some(former) if lost.is_some() => {
                        learnings.rolled_back = lost;
                        Some(former)
                    }
                    _ => Some(replaced),
                };
                learnings.change = Some(change);
            }
        }
        Ok(())
    }

    /// Run A and run B of the next iteration.
    fn explorers(&self, done: &[Iteration]) -> [Explorer; 2] {
        match done.last() {
            Some(last) => last.learnings.calibration.explorers.clone().map(Explorer::from),
            None => self.config.explorers.clone(),
        }
    }

    fn repo(&self, issue: &Issue) -> Result<&Repo, EvalError> {
        self.repos.get(&issue.repository).ok_or_else(|| EvalError::MissingRepository {
            name: issue.repository.clone(),
            path: self.config.repos.clone(),
        })
    }

    /// Writes what follows from the iterations: progress, weights, reports.
    fn publish(&self, done: &[Iteration]) -> Result<(), EvalError> {
        let at = |name: &str| self.folder.path().join(name);
        self.folder.write(&at(PROGRESS), &memory(done))?;
        if let Some(last) = done.last() {
            self.folder.write_text(&at(WEIGHTS_FILE), &features::json(&last.learnings.weights))?;
        }
        self.folder.write_text(&at("report.md"), &report::markdown(&self.config, done))?;
        self.folder.write_text(&at("report.html"), &report::html(&self.config, done))
    }
}

/// An iteration before the learning phase.
struct Unlearned {
    conversations: Conversations,
    search_results: SearchResults,
    evaluation: Evaluation,
}

impl Unlearned {
    fn with(&self, learnings: Learnings) -> Iteration {
        Iteration {
            conversations: self.conversations.clone(),
            search_results: self.search_results.clone(),
            evaluation: self.evaluation.clone(),
            learnings,
        }
    }
}

/// The weights of the next iteration and, if it tries a change, those before the change.
fn weights_of_next(done: &[Iteration]) -> (Weights, Option<Weights>) {
    match done.last() {
        Some(last) => (last.learnings.weights.clone(), last.learnings.former_weights.clone()),
        None => (WEIGHTS.clone(), None),
    }
}

fn open_repositories(pool: &[Issue], repos: &Path) -> Result<BTreeMap<String, Repo>, EvalError> {
    let names: std::collections::BTreeSet<&String> = pool.iter().map(|issue| &issue.repository).collect();
    let is_alone = names.len() == 1;
    let open =
        |name: &String| Ok((name.clone(), Repo::discover_named(&repository_path(repos, name, is_alone)?)?));
    names.into_iter().map(open).collect()
}

fn memory(done: &[Iteration]) -> Memory<'_> {
    Memory { iterations: done.iter().map(remembered).collect() }
}

fn remembered(iteration: &Iteration) -> Remembered<'_> {
    let Iteration { evaluation, learnings, .. } = iteration;
    Remembered {
        iteration: learnings.iteration,
        outcome: learnings.outcome,
        figures: &evaluation.figures,
        anomalies: &evaluation.anomalies,
        patterns: &learnings.patterns,
        proposals: &learnings.proposals,
        change: learnings.change.as_ref().map(|change| change.description.as_str()),
        no_change: learnings.no_change.as_deref(),
        rolled_back: learnings.rolled_back.as_ref(),
    }
}

/// An iteration in one line.
fn line(iteration: &Iteration) -> String {
    let scores = &iteration.evaluation.figures.aggregate.scores;
    let figure =
        |value: Option<f64>| value.map_or_else(|| "not judged".to_owned(), |value| format!("{value:.3}"));
    let learnings = &iteration.learnings;
    let change = match (&learnings.rolled_back, &learnings.change) {
        (Some(_), Some(_)) => "; the last change is taken back, another one is tried",
        (Some(_), None) => "; the last change is taken back",
        (None, Some(_)) => "; the weights change",
        (None, None) => "",
    };
    format!(
        "iteration {}: precision {}, recall {}, gestalt {}{change}",
        learnings.iteration,
        figure(scores.precision),
        figure(scores.recall),
        figure(scores.gestalt),
    )
}

fn summary(done: &[Iteration]) -> Summary {
    let (first, last) = (done.first(), done.last());
    let figures = |iteration: Option<&Iteration>| {
        iteration.map(|iteration| iteration.evaluation.figures.clone()).unwrap_or_default()
    };
    let rolled_back = done.iter().filter(|iteration| iteration.learnings.rolled_back.is_some()).count();
    let changes = done.iter().filter(|iteration| iteration.learnings.change.is_some()).count();
    Summary {
        outcome: last.map_or(Outcome::Continue, |last| last.learnings.outcome),
        iterations: done.len().saturating_sub(1),
        open_criteria: last.map(|last| last.learnings.open_criteria.clone()).unwrap_or_default(),
        figures: figures(last),
        baseline: figures(first),
        kept_changes: changes - rolled_back,
        rolled_back,
    }
}
