//! Indexes what a suite names and asks everything, in one process.

use super::error::EvalError;
use super::metric::{Place, Scores, best_rank, score};
use super::report::{Asked, Report};
use super::suite::{Labelled, Suite, SuiteRepository};
use crate::embed::Embedder;
use crate::git::{BStr, ByteSlice};
use crate::index::progress::Silent;
use crate::index::{Codebase, IndexError, Target, updater};
use crate::query::rank::{RankedFile, Weights};
use crate::query::view::View;
use crate::query::{Request, Searcher, ViewRequest, WorktreeMode};
use crate::store::StoreReader;
use gix::glob::wildmatch;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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

/// One revision of a repository, with what is asked of it.
pub struct Opened {
    pub repository: SuiteRepository,
    /// One for all revisions of a repository.
    pub searcher: Arc<Searcher>,
    pub view: View,
}

impl Runner {
    /// Opens the repositories of `suite`, which are the folders of their names in `repos` (or `repos` itself, if there is
    /// no such folder and the suite has one repository), and indexes what is not indexed yet. Each gets a `.codeweaver`.
    ///
    /// Questions that name a revision are asked of that one. Revisions of a repository share their store, so each costs
    /// the blobs that it has and the others have not.
    pub fn open(suite: Suite, repos: &Path, overrides: &[(String, String)]) -> Result<Runner, EvalError> {
        let mut runner = Runner { opened: Vec::new(), warnings: Vec::new() };
        let is_alone = suite.repositories.len() == 1;
        for repository in suite.repositories {
            let path = place(repos, &repository.name, is_alone)?;
            runner.open_repository(repository, &path, overrides)?;
        }
        Ok(runner)
    }

    fn open_repository(
        &mut self,
        repository: SuiteRepository,
        path: &Path,
        overrides: &[(String, String)],
    ) -> Result<(), EvalError> {
        let mut overrides = overrides.to_vec();
        if let Some(root) = &repository.root {
            // Only what is below the root is indexed, so that statistics are those of the root.
            overrides.push(("policy.include".to_owned(), format!("{}/**", root.trim_end_matches('/'))));
        }
        let searcher = Arc::new(Searcher::new(Codebase::open(path, &overrides)?));
        let parts = by_revision(repository);
        if parts.len() > 1 {
            // What the others are small differences to.
            open_view(&searcher, "HEAD")?;
        }
        for part in parts {
            let spec = part.revision.as_deref().unwrap_or("HEAD");
            let repo = &searcher.codebase.repo;
            let spec = match repo.resolve(spec) {
                Ok(_) => spec.to_owned(),
                // The labels of another revision would mean nothing for a question that names its own.
                Err(e) if part.questions.iter().any(|question| question.rev.is_some()) => {
                    return Err(e.into());
                }
                Err(e) => {
                    self.warnings.push(format!("{}: {spec} is not there ({e}), HEAD was taken", part.name));
                    "HEAD".to_owned()
                }
            };
            let view = open_view(&searcher, &spec)?;
            self.opened.push(Opened { repository: part, searcher: searcher.clone(), view });
        }
        Ok(())
    }

    /// Asks everything, ranking with `weights`; NDCG, precision, recall and MRR to depth `k`.
    pub fn run(&self, weights: &Weights, k: usize) -> Report {
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
                answered.push((i, ask(opened, question, weights, k)));
            }
        };
        let mut answered: Vec<(usize, Asked)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        });
        answered.sort_by_key(|(i, _)| *i);
        Report::new(self.embedder(), k, answered.into_iter().map(|(_, asked)| asked).collect())
    }

    pub fn opened(&self) -> &[Opened] {
        &self.opened
    }

    fn embedder(&self) -> String {
        let embedder = self.opened.first().and_then(|opened| opened.searcher.embedder());
        embedder.map_or("none", Embedder::name).to_owned()
    }
}

/// The repository once for each revision that its questions name, in the order in which they are named: a mined suite
/// lists neighbouring revisions one after the other, so each is a small step from the last.
fn by_revision(repository: SuiteRepository) -> Vec<SuiteRepository> {
    let mut parts: Vec<SuiteRepository> = Vec::new();
    let SuiteRepository { name, language, revision, root, questions } = repository;
    for question in questions {
        let revision = question.rev.clone().or_else(|| revision.clone());
        match parts.iter_mut().find(|part| part.revision == revision) {
            Some(part) => part.questions.push(question),
            None => parts.push(SuiteRepository {
                name: name.clone(),
                language: language.clone(),
                revision,
                root: root.clone(),
                questions: vec![question],
            }),
        }
    }
    parts
}

/// The view of exactly the tree of `spec`, which is indexed if it is not yet. Unless it is HEAD's, the worktree's own
/// index stays what it is.
fn open_view(searcher: &Searcher, spec: &str) -> Result<View, EvalError> {
    let codebase = &searcher.codebase;
    let revision = codebase.repo.resolve(spec)?;
    let head = Target::head(codebase)?;
    let target = match head.tree == Some(revision.tree) {
        true => head,
        false => {
            Target { tree: Some(revision.tree), commit: revision.commit, reference: None, is_head: false }
        }
    };
    let key = codebase.snapshot_key(&revision.tree.to_string());
    let reader = StoreReader::open(&codebase.store()).map_err(IndexError::from)?;
    if !reader.is_some_and(|reader| matches!(reader.snapshot(&key), Ok(Some(_)))) {
        updater::run(codebase, &target, Default::default(), &Silent)?;
    }
    let committed = ViewRequest {
        revision: Some(spec.to_owned()),
        worktree: WorktreeMode::Exclude,
        timeout: TIMEOUT,
        ..ViewRequest::default()
    };
    Ok(searcher.view(&committed, &|_, _| false)?)
}

impl Opened {
    /// The ranked files for `query`, with other weights than usual if need be.
    pub fn rank(&self, request: &Request, weights: &Weights) -> Vec<RankedFile> {
        self.searcher.rank(request, &self.view, weights, Instant::now() + TIMEOUT).files
    }

    pub fn request(&self, query: &str) -> Request {
        let mut request = Request::new(query, &self.searcher.codebase.settings);
        request.view.worktree = WorktreeMode::Exclude;
        request
    }

    /// The place that is shown for a file; its text only `with_text`.
    pub fn place(&self, file: &RankedFile, with_text: bool) -> Place {
        let best = &file.chunks[0];
        let row = &self.view.reader.segments[best.id.segment as usize].rows()[best.id.row as usize];
        let symbols = file.chunks.iter().flat_map(|chunk| {
            let segment = &self.view.reader.segments[chunk.id.segment as usize];
            let symbols = segment.symbols_of(&segment.rows()[chunk.id.row as usize]);
            symbols.map(|symbol| segment.string(symbol.name).to_owned())
        });
        Place {
            path: String::from_utf8_lossy(self.view.entry(file.entry).0).into_owned(),
            lines: (row.start_line, row.end_line),
            symbols: symbols.collect(),
            text: if with_text { self.text(file).unwrap_or_default() } else { String::new() },
            relevance: file.relevance,
        }
    }

    /// The text of the best chunk.
    fn text(&self, file: &RankedFile) -> Option<String> {
        let best = file.chunks[0].id;
        let segment = &self.view.reader.segments[best.segment as usize];
        let row = &segment.rows()[best.row as usize];
        let oid = segment.blob_oid(segment.doc_of(best.row)?.1);
        let bytes = self.view.blob(&self.searcher.codebase, &oid).ok()??;
        let text = bytes.get(row.start_byte as usize..row.end_byte as usize)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

fn ask(opened: &Opened, question: &Labelled, weights: &Weights, k: usize) -> Asked {
    let mut request = opened.request(&question.query);
    request.intent = question.intent;
    let started = Instant::now();
    let files = opened.rank(&request, weights);
    let took = started.elapsed();
    let with_text = question.targets.iter().any(|target| target.contains.is_some());
    let depth = k.max(question.excluded_depth());
    let places: Vec<Place> = files.iter().take(depth).map(|file| opened.place(file, with_text)).collect();
    let shows_excluded = places
        .iter()
        .take(question.excluded_depth())
        .any(|place| question.excluded.iter().any(|glob| is_excluded(glob, &place.path)));
    let scores = if shows_excluded { Scores::default() } else { score(&places, &question.targets, k) };
    let met = |expected: &super::suite::Expected| {
        best_rank(&places, &expected.targets).is_some_and(|rank| rank <= expected.depth)
    };
    Asked {
        repository: opened.repository.name.clone(),
        language: question.language.clone().unwrap_or_else(|| opened.repository.language.clone()),
        kept_aside: opened.repository.is_kept_aside(),
        category: question.category.clone(),
        intent: question.intent.map(|intent| intent.name().to_owned()),
        query: question.query.clone(),
        rank: best_rank(&places, &question.targets),
        expectation_met: (!question.expected.is_empty())
            .then(|| !shows_excluded && question.expected.iter().all(met)),
        scores,
        relevance: files.first().map_or(0.0, |file| file.relevance),
        micros: took.as_micros() as u64,
        results: places.into_iter().map(|place| place.path).collect(),
    }
}

/// Whether `glob` names `path`. As in the reference form, `*` crosses folders: `tests/*` is everything below `tests`.
fn is_excluded(glob: &str, path: &str) -> bool {
    let pattern: &BStr = glob.into();
    gix::glob::wildmatch(pattern, path.as_bytes().as_bstr(), wildmatch::Mode::empty())
}

fn place(repos: &Path, name: &str, is_alone: bool) -> Result<PathBuf, EvalError> {
    let path = repos.join(name);
    match () {
        () if !name.is_empty() && path.is_dir() => Ok(path),
        () if is_alone && repos.is_dir() => Ok(repos.to_path_buf()),
        () => Err(EvalError::MissingRepository { name: name.to_owned(), path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excluded_globs_cross_folders() {
        assert!(is_excluded("tests/*", "tests/a/b.py") && is_excluded("*_test.go", "x/y_test.go"));
        assert!(!is_excluded("tests/*", "src/tests/a.py"));
    }

    #[test]
    fn questions_are_gathered_by_revision() {
        let question = |query: &str, rev: Option<&str>| Labelled {
            query: query.to_owned(),
            category: String::new(),
            language: None,
            intent: None,
            rev: rev.map(str::to_owned),
            targets: Vec::new(),
            expected: Vec::new(),
            excluded: Vec::new(),
        };
        let parts = by_revision(SuiteRepository {
            name: "n".to_owned(),
            language: String::new(),
            revision: Some("main".to_owned()),
            root: None,
            questions: vec![question("1", Some("b")), question("2", None), question("3", Some("b"))],
        });
        let shape: Vec<(Option<&str>, usize)> =
            parts.iter().map(|part| (part.revision.as_deref(), part.questions.len())).collect();
        assert_eq!(shape, [(Some("b"), 2), (Some("main"), 1)]);
    }
}
