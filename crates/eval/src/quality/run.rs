//! Runs the loop, step by step. Every step leaves an artefact in the folder, from which a stopped loop
//! continues.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use codeweaver::query::rank::{WEIGHTS, Weights};
use codeweaver_git::Repo;

use super::area::{Areas, Classification};
use super::artefact::{
    CONVERSATIONS, Conversation, Conversations, EVALUATION, EvaluatedIssue, Evaluation, Iteration, LEARNINGS,
    Learnings, Outcome, RolledBack, SEARCH_RESULTS, SearchResults, SearchedIssue, Trial,
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
use super::{area, learn, learnt_areas, report, sample, search};
use crate::error::EvalError;
use crate::runner::repository_path;
use crate::tune::features;

const CONFIG: &str = "config.json";
const POOL: &str = "pool.json";
/// The changes tried and their results, for people and external learners.
const PROGRESS: &str = "progress.json";
/// The weights that the loop has arrived at.
const WEIGHTS_FILE: &str = "weights.json";

/// Interval at which the progress of a step is reported.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// A loop with its folder.
pub struct Loop {
    folder: Folder,
    config: Config,
    areas: Areas,
    pool: Vec<Issue>,
    repos: BTreeMap<String, Repo>,
    stop: Arc<AtomicBool>,
    /// Keeps the folder locked while it is open.
    _lock: File,
}

/// The result of a loop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub outcome: Outcome,
    /// Number of iterations after the baseline.
    pub iterations: usize,
    pub open_criteria: Vec<String>,
    /// The figures of the last iteration.
    pub figures: Figures,
    pub baseline: Figures,
    /// Number of changes of the weights that were kept, since no area lost by them.
    pub kept_changes: usize,
    /// Number of changes that were taken back.
    pub rolled_back: usize,
}

/// The results of a loop so far, as external learners get them.
#[derive(Serialize)]
struct Memory<'a> {
    iterations: Vec<Remembered<'a>>,
}

/// The part of an iteration that learners get.
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
    /// moves changes nothing. Without a table of areas, one is learnt from the repositories and the pool.
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

        let repos = open_repositories(&pool, &config.repos)?;

        let (mut config, mut pool) = (config, pool);
        for issue in &mut pool {
            let Some(repo) = repos.get(&issue.repository) else { continue };
            let resolved = repo.resolve(issue.rev.as_deref().unwrap_or("HEAD"))?;
            issue.rev = Some(resolved.commit.unwrap_or(resolved.tree).to_string());
        }

        if config.areas.is_empty() {
            let learnt = learnt_areas::table(&repos, &pool)?;
            config.areas = learnt.unwrap_or_else(|| area::BUILT_IN.to_owned());
        }
        let areas = config.areas()?;

        std::fs::create_dir_all(folder.path()).map_err(EvalError::write(folder.path()))?;
        let lock = folder.lock()?;
        folder.write(&folder.path().join(POOL), &pool)?;
        // Written last, since a folder that has it counts as a loop.
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

    /// Returns a flag that stops the loop: once set, it ends with [`EvalError::Interrupted`] at the next
    /// issue.
    pub fn stop(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// Reads the weights that the loop has arrived at; the built-in ones before the first iteration.
    ///
    /// # Errors
    /// [`EvalError::Read`], [`EvalError::Artefact`].
    pub fn weights(&self) -> Result<Weights, EvalError> {
        let weights = self.folder.read(&self.folder.path().join(WEIGHTS_FILE))?;
        Ok(weights.unwrap_or_else(|| WEIGHTS.clone()))
    }

    /// Runs the steps that are left. `say` gets a message about each step.
    ///
    /// # Errors
    /// Those of the steps. Finished steps stay finished.
    pub fn run(&self, say: &dyn Fn(&str)) -> Result<Summary, EvalError> {
        Checkout::sweep();
        let mut done: Vec<Iteration> = Vec::new();

        // Finished iterations are read from their artefacts, and published again.
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

    /// Runs an iteration, or reads it as far as it is done.
    fn iteration(
        &self,
        number: usize,
        done: &[Iteration],
        say: &dyn Fn(&str),
    ) -> Result<Iteration, EvalError> {
        let conversations = self.step(number, CONVERSATIONS, || Ok(self.sample(number, done)))?;

        let search_results = self.step(number, SEARCH_RESULTS, || {
            say(&format!("iteration {number}: searching"));
            self.search(&conversations, done)
        })?;

        let evaluation = self.step(number, EVALUATION, || {
            say(&format!("iteration {number}: exploring and judging"));
            self.evaluate(&conversations, &search_results, done, say)
        })?;
        // All of its lines are in evaluation.json now.
        self.folder.remove_partial(number);

        let partial = Unlearned { conversations, search_results, evaluation };
        let learnings = self.step(number, LEARNINGS, || {
            say(&format!("iteration {number}: learning"));
            self.learn(&partial, done)
        })?;

        let Unlearned { conversations, search_results, evaluation } = partial;
        Ok(Iteration { conversations, search_results, evaluation, learnings })
    }

    /// Reads the artefact `name`, or makes it with `make` and writes it if there is none.
    fn step<T: Serialize + serde::de::DeserializeOwned>(
        &self,
        number: usize,
        name: &str,
        make: impl FnOnce() -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        let path = self.folder.file(number, name);
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

    /// Chooses the issues of an iteration, of those that no iteration has used.
    fn sample(&self, number: usize, done: &[Iteration]) -> Conversations {
        let used: HashSet<String> = done
            .iter()
            .flat_map(|iteration| &iteration.conversations.conversations)
            .map(|conversation| conversation.issue.id.clone())
            .collect();

        let classes: Vec<Classification> =
            self.pool.iter().map(|issue| self.areas.classify(&issue.text)).collect();
        // The whole pool is classified each time, which costs no more than a pass over its texts.
        let areas: Vec<(String, String)> = self
            .pool
            .iter()
            .zip(&classes)
            .map(|(issue, class)| (issue.id.clone(), class.area.clone()))
            .collect();

        let n = if number == 0 { self.config.baseline } else { self.config.batch };
        let chosen = sample::sample(&areas, &used, n, self.config.seed);
        let n_left = self.pool.len() - used.len() - chosen.len();
        let conversations =
            chosen.into_iter().map(|i| Conversation::new(self.pool[i].clone(), classes[i].clone())).collect();
        Conversations { iteration: number, n_left, conversations }
    }

    /// Searches for the issues with the weights of this iteration and, while a change is on trial, also with
    /// those before it.
    fn search(&self, conversations: &Conversations, done: &[Iteration]) -> Result<SearchResults, EvalError> {
        let (weights, former) = weights_of_next(done);
        let mut tried = vec![&weights];
        tried.extend(former.as_ref());
        let (n, repos) = (self.config.results, &self.config.repos);
        let all_found = search::search(&conversations.conversations, &tried, n, repos)?;

        let mut results = Vec::new();
        for (conversation, found) in conversations.conversations.iter().zip(all_found) {
            // In the order of `tried`.
            let mut found = found.into_iter();
            results.push(SearchedIssue {
                conversation_id: conversation.issue.id.clone(),
                issue_summary: conversation.issue_summary.clone(),
                product_area: conversation.product_area.clone(),
                classification_confidence: conversation.classification_confidence,
                search_results: found.next().unwrap_or_default(),
                former_files_found: found.next().map(|found| found.files_found),
            });
        }

        Ok(SearchResults { iteration: conversations.iteration, weights, results })
    }

    /// Evaluates the results of the search, one issue after the other.
    fn evaluate(
        &self,
        conversations: &Conversations,
        searched: &SearchResults,
        done: &[Iteration],
        say: &dyn Fn(&str),
    ) -> Result<Evaluation, EvalError> {
        let number = conversations.iteration;
        let explorers = self.explorers(done);
        let issues = self.evaluate_issues(conversations, searched, &explorers, say)?;

        let mut figures =
            Figures::new(issues.iter().map(|issue| (issue.product_area.as_str(), issue.scores)));
        figures.classification_accuracy = learn::classification_accuracy(&issues);

        let is_on_trial = issues.iter().any(|issue| issue.former_scores.is_some());
        let former =
            issues.iter().map(|issue| (issue.product_area.as_str(), issue.former_scores.unwrap_or_default()));
        let overlaps = issues.iter().map(|issue| overlap(&issue.run_a, &issue.run_b));

        Ok(Evaluation {
            iteration: number,
            explorers: explorers.map(|explorer| explorer.to_string()),
            judge: self.config.judge.to_string(),
            former_figures: is_on_trial.then(|| Figures::new(former)),
            overlap: overlaps.fold(Overlap::default(), Overlap::plus),
            anomalies: guard::anomalies(&figures),
            figures,
            issues,
        })
    }

    /// Explores and judges the issues that a stopped loop has not evaluated yet, and returns all.
    fn evaluate_issues(
        &self,
        conversations: &Conversations,
        searched: &SearchResults,
        explorers: &[Explorer; 2],
        say: &dyn Fn(&str),
    ) -> Result<Vec<EvaluatedIssue>, EvalError> {
        let number = conversations.iteration;
        let areas: Vec<String> = self.areas.names().map(str::to_owned).collect();
        let evaluators = Evaluators {
            explorers: [&explorers[0], &explorers[1]],
            judge: &self.config.judge,
            areas: &areas,
            limits: &self.config.limits(&self.stop),
        };

        let mut issues = self.folder.partial(number)?;
        let mut reported_at = Instant::now();
        let n = conversations.conversations.len();
        for (conversation, searched) in
            conversations.conversations.iter().zip(&searched.results).skip(issues.len())
        {
            self.check_stop()?;

            let issue = &conversation.issue;
            let repo = self.repo(issue)?;
            let tree = repo.resolve(issue.rev.as_deref().unwrap_or("HEAD"))?.tree;
            let evaluated = evaluators.evaluate(&Subject::new(issue, repo, tree), conversation, searched)?;
            // Each issue is saved at once: external commands may take minutes for it.
            self.folder.add_partial(number, &evaluated)?;
            issues.push(evaluated);

            if reported_at.elapsed() >= PROGRESS_EVERY {
                say(&format!("iteration {number}: {} of {n} issues are judged", issues.len()));
                reported_at = Instant::now();
            }
        }

        Ok(issues)
    }

    /// Decides on the change that is on trial, whether the loop continues, and the change for the next
    /// iteration.
    fn learn(&self, now: &Unlearned, done: &[Iteration]) -> Result<Learnings, EvalError> {
        let number = now.conversations.iteration;
        let evaluation = &now.evaluation;
        let (used, former) = weights_of_next(done);
        let trial = Trial::new(done, evaluation);

        let since_previous = match done.last() {
            Some(previous) => guard::regressions(&previous.evaluation.figures, &evaluation.figures),
            None => Vec::new(),
        };
        let mut open = guard::open_criteria(&evaluation.figures, &since_previous, &self.config.thresholds);

        let mut rolled_back = trial.as_ref().and_then(|trial| trial.failure(&used));
        let n_left = now.conversations.n_left;
        // The trial ends with the loop, so a small loss counts as well.
        if self.outcome(number, n_left, open.is_empty()) != Outcome::Continue {
            rolled_back = rolled_back.or_else(|| trial.as_ref()?.loss(&used));
        }
        if rolled_back.is_some() {
            open.push("the last change was taken back".to_owned());
        }
        // Asked again: the loop does not converge with weights that were just taken back.
        let outcome = self.outcome(number, n_left, open.is_empty());

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

    /// Decides whether the loop continues. `is_good` says that no criterion is open.
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
        let proposed = self.config.learner.propose(
            &learnings.weights,
            &|| search::open(judged_issues(&all), &self.config.repos),
            &memory(&all),
            self.folder.path(),
            &self.config.limits(&self.stop),
        )?;

        let mut failed = all.iter().filter_map(|iteration| iteration.learnings.rolled_back.as_ref());
        match proposed {
            Proposed::Nothing(why) => learnings.no_change = Some(why),
            Proposed::Change(_, weights) if failed.any(|failed| failed.weights == *weights) => {
                learnings.no_change = Some("the same weights were taken back before".to_owned());
            }
            Proposed::Change(change, weights) => {
                self.apply(learnings, *weights)?;
                learnings.change = Some(change);
            }
        }

        Ok(())
    }

    /// Replaces the weights by `weights`, which are on trial from the next iteration on.
    fn apply(&self, learnings: &mut Learnings, weights: Weights) -> Result<(), EvalError> {
        let backup = format!("backups/iteration_{}.json", learnings.iteration);
        self.folder.write_text(&self.folder.path().join(backup), &features::json(&learnings.weights))?;
        let replaced = std::mem::replace(&mut learnings.weights, weights);

        // A new change ends the trial of the previous one. If that one lost, the new one is compared with the
        // weights before both.
        let lost = learnings.trial.as_ref().and_then(|trial| trial.loss(&replaced));
        learnings.former_weights = match learnings.former_weights.take() {
            Some(former) if lost.is_some() => {
                learnings.rolled_back = lost;
                Some(former)
            }
            _ => Some(replaced),
        };

        Ok(())
    }

    /// Returns the explorers of run A and run B in the next iteration.
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

    /// Writes the files that follow from the iterations: progress, weights, reports.
    fn publish(&self, done: &[Iteration]) -> Result<(), EvalError> {
        let folder = self.folder.path();
        self.folder.write(&folder.join(PROGRESS), &memory(done))?;
        if let Some(last) = done.last() {
            self.folder.write_text(&folder.join(WEIGHTS_FILE), &features::json(&last.learnings.weights))?;
        }

        self.folder.write_text(&folder.join("report.md"), &report::markdown(&self.config, done))?;
        self.folder.write_text(&folder.join("report.html"), &report::html(&self.config, done))
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

/// Returns the issues whose answers are known well enough to learn from, with those answers.
fn judged_issues(all: &[Iteration]) -> impl Iterator<Item = (&Conversation, Vec<String>)> {
    let issues = all.iter().flat_map(|iteration| {
        let conversations = iteration.conversations.conversations.iter().enumerate();
        conversations.map(|(i, conversation)| (conversation, learn::relevant_files(iteration, i)))
    });
    issues.filter(|(_, relevant)| !relevant.is_empty())
}

/// Returns the weights of the iteration after `done` and, if it tries a change, those before the change.
fn weights_of_next(done: &[Iteration]) -> (Weights, Option<Weights>) {
    match done.last() {
        Some(last) => (last.learnings.weights.clone(), last.learnings.former_weights.clone()),
        None => (WEIGHTS.clone(), None),
    }
}

/// Opens all repositories that the issues name.
fn open_repositories(pool: &[Issue], repos: &Path) -> Result<BTreeMap<String, Repo>, EvalError> {
    let names: std::collections::BTreeSet<&String> = pool.iter().map(|issue| &issue.repository).collect();
    let is_alone = names.len() == 1;

    let mut opened = BTreeMap::new();
    for name in names {
        let path = repository_path(repos, name, is_alone)?;
        opened.insert(name.clone(), Repo::discover_named(&path)?);
    }

    Ok(opened)
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

/// Formats an iteration in one line.
fn line(iteration: &Iteration) -> String {
    let scores = &iteration.evaluation.figures.aggregate.scores;
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

/// Formats a figure for a message.
fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "not judged".to_owned(), |value| format!("{value:.3}"))
}

fn summary(done: &[Iteration]) -> Summary {
    let (first, last) = (done.first(), done.last());
    let rolled_back = done.iter().filter(|iteration| iteration.learnings.rolled_back.is_some()).count();
    let changes = done.iter().filter(|iteration| iteration.learnings.change.is_some()).count();

    Summary {
        outcome: last.map_or(Outcome::Continue, |last| last.learnings.outcome),
        iterations: done.len().saturating_sub(1),
        open_criteria: last.map(|last| last.learnings.open_criteria.clone()).unwrap_or_default(),
        figures: last.map(|last| last.evaluation.figures.clone()).unwrap_or_default(),
        baseline: first.map(|first| first.evaluation.figures.clone()).unwrap_or_default(),
        // A change that is still on trial counts as kept.
        kept_changes: changes - rolled_back,
        rolled_back,
    }
}
