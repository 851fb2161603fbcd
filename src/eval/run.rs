//! Indexes what a suite names and asks everything, in one process.

use super::error::EvalError;
use super::metric::{DEPTH, Place, Scores, score};
use super::report::{Asked, Report};
use super::suite::{Labelled, Suite, SuiteRepository};
use crate::embed::Embedder;
use crate::index::progress::Silent;
use crate::index::{Codebase, Target, updater};
use crate::query::rank::{RankedFile, Weights};
use crate::query::view::{Freshness, View};
use crate::query::{Request, Searcher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// No question of a suite is cut off by time.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A suite whose repositories are indexed and open.
pub struct Runner {
    opened: Vec<Opened>,
    /// Revisions that were not there, and what was taken instead.
    pub warnings: Vec<String>,
}

/// One repository of a suite.
pub struct Opened {
    pub repository: SuiteRepository,
    pub searcher: Searcher,
    pub view: View,
}

impl Runner {
    /// Opens the repositories of `suite`, which are the folders of their names in `repos` (or `repos` itself, if there is
    /// no such folder and the suite has one repository), and indexes what is not indexed yet. Each gets a `.codeweaver`.
    pub fn open(suite: Suite, repos: &Path, overrides: &[(String, String)]) -> Result<Runner, EvalError> {
        let mut runner = Runner { opened: Vec::new(), warnings: Vec::new() };
        let is_alone = suite.repositories.len() == 1;
        for repository in suite.repositories {
            let path = place(repos, &repository.name, is_alone)?;
            let opened = runner.open_one(repository, &path, overrides)?;
            runner.opened.push(opened);
        }
        Ok(runner)
    }

    fn open_one(
        &mut self,
        repository: SuiteRepository,
        path: &Path,
        overrides: &[(String, String)],
    ) -> Result<Opened, EvalError> {
        let mut overrides = overrides.to_vec();
        if let Some(root) = &repository.root {
            // Only what is below the root is indexed, so that statistics are those of the root.
            overrides.push(("policy.include".to_owned(), format!("{}/**", root.trim_end_matches('/'))));
        }
        let codebase = Codebase::open(path, &overrides)?;
        let mut spec = repository.revision.clone().unwrap_or_else(|| "HEAD".to_owned());
        let revision = match codebase.repo.resolve(&spec) {
            Ok(revision) => revision,
            Err(e) => {
                self.warnings.push(format!("{}: {spec} is not there ({e}), HEAD was taken", repository.name));
                spec = "HEAD".to_owned();
                codebase.repo.resolve(&spec)?
            }
        };
        let target =
            Target { tree: Some(revision.tree), commit: revision.commit, reference: None, is_head: true };
        let searcher = Searcher::new(codebase);
        let view = || searcher.view(Some(&spec), true, 0, TIMEOUT.as_millis() as u64, &|_, _| false);
        let view = match view() {
            Ok(view) if view.freshness == Freshness::Fresh => view,
            _ => {
                updater::run(&searcher.codebase, &target, Default::default(), &Silent)?;
                view()?
            }
        };
        Ok(Opened { repository, searcher, view })
    }

    /// Asks everything, ranking with `weights`.
    pub fn run(&self, weights: &Weights) -> Report {
        let questions: Vec<(&Opened, &Labelled)> = self
            .opened
            .iter()
            .flat_map(|opened| opened.repository.questions.iter().map(move |question| (opened, question)))
            .collect();
        let next = AtomicUsize::new(0);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let work = || {
            let mut answered = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some((opened, question)) = questions.get(i) else { return answered };
                answered.push((i, ask(opened, question, weights)));
            }
        };
        let mut answered: Vec<(usize, Asked)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        });
        answered.sort_by_key(|(i, _)| *i);
        Report::new(self.embedder(), answered.into_iter().map(|(_, asked)| asked).collect())
    }

    pub fn opened(&self) -> &[Opened] {
        &self.opened
    }

    pub fn n_chunks(&self) -> u64 {
        self.opened.iter().map(|opened| opened.view.n_rows()).sum()
    }

    fn embedder(&self) -> String {
        let embedder = self.opened.first().and_then(|opened| opened.searcher.embedder());
        embedder.map_or("none", Embedder::name).to_owned()
    }
}

impl Opened {
    /// The ranked files for `query`, with other weights than usual if need be.
    pub fn rank(&self, request: &Request, weights: &Weights) -> Vec<RankedFile> {
        self.searcher.rank(request, &self.view, weights, Instant::now() + TIMEOUT).files
    }

    pub fn request(&self, query: &str) -> Request {
        let mut request = Request::new(query, &self.searcher.codebase.settings);
        request.committed = true;
        request
    }

    /// The place that is shown for a file.
    pub fn place(&self, file: &RankedFile) -> Place {
        let best = &file.chunks[0];
        let row = &self.view.reader.segments[best.id.segment as usize].rows()[best.id.row as usize];
        let path = String::from_utf8_lossy(self.view.entry(file.entry).0).into_owned();
        Place { path, lines: (row.start_line, row.end_line) }
    }
}

fn ask(opened: &Opened, question: &Labelled, weights: &Weights) -> Asked {
    let mut request = opened.request(&question.query);
    request.intent = question.intent;
    let started = Instant::now();
    let files = opened.rank(&request, weights);
    let took = started.elapsed();
    let places: Vec<Place> = files.iter().take(DEPTH).map(|file| opened.place(file)).collect();
    let excluded = question.excluded.iter().any(|path| {
        let target = super::metric::Target { path: path.clone(), lines: None };
        places.iter().any(|place| target.is_covered_by(place))
    });
    Asked {
        repository: opened.repository.name.clone(),
        language: opened.repository.language.clone(),
        kept_aside: opened.repository.is_kept_aside(),
        category: question.category.clone(),
        query: question.query.clone(),
        scores: if excluded { Scores::default() } else { score(&places, &question.targets) },
        relevance: files.first().map_or(0.0, |file| file.relevance),
        micros: took.as_micros() as u64,
        results: places.into_iter().map(|place| place.path).collect(),
    }
}

fn place(repos: &Path, name: &str, is_alone: bool) -> Result<PathBuf, EvalError> {
    let path = repos.join(name);
    match () {
        () if !name.is_empty() && path.is_dir() => Ok(path),
        () if is_alone && repos.is_dir() => Ok(repos.to_path_buf()),
        () => Err(EvalError::MissingRepository { name: name.to_owned(), path }),
    }
}
