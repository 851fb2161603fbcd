//! Runs suites: indexes their repositories and ranks for their queries, in one process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gix::glob::wildmatch;

use codeweaver::query::rank::{RankedFile, Weights};
use codeweaver::query::view::View;
use codeweaver::query::{Request, Searcher, Stages, ViewRequest, WorktreeMode};
use codeweaver_embed::Embedder;
use codeweaver_git::{self as git, BStr, ByteSlice};
use codeweaver_index::progress::Silent;
use codeweaver_index::{Codebase, Target, updater};
use codeweaver_store::StoreReader;

use super::error::EvalError;
use super::labelled::{Expectation, LabelledQuery};
use super::metric::{Hit, Scores, best_rank, score};
use super::report::{QueryResult, Report};
use super::suite::{Suite, SuiteRepository};

/// Time limit of a query, so large that no query of a suite reaches it.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A suite whose repositories are indexed and open.
pub struct Runner {
    repositories: Vec<OpenRepository>,
    /// A message for each revision that does not exist, with the revision used instead.
    pub warnings: Vec<String>,
}

/// One revision of a repository, with its queries and its view.
pub struct OpenRepository {
    pub repository: SuiteRepository,
    /// Shared by all revisions of a repository.
    pub searcher: Arc<Searcher>,
    pub view: View,
}

impl Runner {
    /// Opens the repositories of `suite` and indexes revisions that are not indexed yet. A repository is the
    /// folder of its name in `repos`, or `repos` itself if there is no such folder and the suite has one
    /// repository. Each gets a `.codeweaver`.
    ///
    /// Queries that name a revision run on that revision. Revisions of a repository share their store, so
    /// each costs only the blobs that the others do not have.
    pub fn open(suite: Suite, repos: &Path, overrides: &[(String, String)]) -> Result<Runner, EvalError> {
        let mut runner = Runner { repositories: Vec::new(), warnings: Vec::new() };
        let is_alone = suite.repositories.len() == 1;
        for repository in suite.repositories {
            let path = repository_path(repos, &repository.name, is_alone)?;
            runner.open_repository(repository, &path, overrides)?;
        }
        Ok(runner)
    }

    /// Opens the repository at `path`, once for each revision that its queries name.
    fn open_repository(
        &mut self,
        repository: SuiteRepository,
        path: &Path,
        overrides: &[(String, String)],
    ) -> Result<(), EvalError> {
        let mut overrides = overrides.to_vec();
        if let Some(root) = &repository.root {
            // Only files below the root are indexed, so that the term statistics are those of the root.
            overrides.push(("policy.include".to_owned(), format!("{}/**", root.trim_end_matches('/'))));
        }

        let searcher = Arc::new(Searcher::new(Codebase::open(path, &overrides)?));
        let parts = by_revision(repository);
        if parts.len() > 1 {
            // HEAD is indexed first: the other revisions differ little from it.
            open_view(&searcher, "HEAD")?;
        }

        for part in parts {
            let spec = self.existing_revision(&searcher, &part)?;
            let view = open_view(&searcher, &spec)?;
            self.repositories.push(OpenRepository { repository: part, searcher: searcher.clone(), view });
        }

        Ok(())
    }

    /// Returns the revision of `repository`, or HEAD with a warning if it does not exist.
    fn existing_revision(
        &mut self,
        searcher: &Searcher,
        repository: &SuiteRepository,
    ) -> Result<String, EvalError> {
        let spec = repository.revision.as_deref().unwrap_or("HEAD");

        match searcher.codebase.repo.resolve(spec) {
            Ok(_) => Ok(spec.to_owned()),
            // Labels of a query that names its revision do not apply to another revision.
            Err(e) if repository.queries.iter().any(|labelled| labelled.rev.is_some()) => Err(e.into()),
            Err(e) => {
                let name = &repository.name;
                self.warnings.push(format!("{name}: {spec} cannot be resolved ({e}); HEAD is used instead"));
                Ok("HEAD".to_owned())
            }
        }
    }

    /// Runs all queries, ranking with `weights`. NDCG, precision, recall and MRR are computed to depth `k`.
    pub fn run(&self, weights: &Weights, k: usize) -> Report {
        self.run_with(weights, Stages::default(), k)
    }

    /// Runs all queries as [`Self::run`] does, with some of the stages only.
    pub fn run_with(&self, weights: &Weights, stages: Stages, k: usize) -> Report {
        let queries: Vec<(&OpenRepository, &LabelledQuery)> = self
            .repositories
            .iter()
            .flat_map(|opened| opened.repository.queries.iter().map(move |labelled| (opened, labelled)))
            .collect();

        let answered =
            on_all_cores(&queries, |(opened, labelled)| run_query(opened, labelled, weights, stages, k));
        Report::new(self.embedder(), k, answered)
    }

    pub fn repositories(&self) -> &[OpenRepository] {
        &self.repositories
    }

    /// Returns the name of the model of the first repository.
    fn embedder(&self) -> String {
        let embedder = self.repositories.first().and_then(|opened| opened.searcher.embedder());
        embedder.map_or("none", Embedder::name).to_owned()
    }
}

/// Splits a repository by the revisions that its queries name, in the order of first mention. A mined suite
/// lists neighbouring revisions in sequence, so each differs little from the one before.
fn by_revision(repository: SuiteRepository) -> Vec<SuiteRepository> {
    let mut parts: Vec<SuiteRepository> = Vec::new();
    let SuiteRepository { name, language, revision, root, queries } = repository;

    for labelled in queries {
        let revision = labelled.rev.clone().or_else(|| revision.clone());
        match parts.iter_mut().find(|part| part.revision == revision) {
            Some(part) => part.queries.push(labelled),
            None => parts.push(SuiteRepository {
                name: name.clone(),
                language: language.clone(),
                revision,
                root: root.clone(),
                queries: vec![labelled],
            }),
        }
    }

    parts
}

/// Opens a view of exactly the tree of `spec`, which is indexed first if necessary. The index of the worktree
/// changes only if the tree is that of HEAD.
fn open_view(searcher: &Searcher, spec: &str) -> Result<View, EvalError> {
    let codebase = &searcher.codebase;
    let revision = codebase.repo.resolve(spec)?;
    let head = Target::head(codebase)?;
    // Only the target of HEAD changes the index of the worktree.
    let target = match head.tree == Some(revision.tree) {
        true => head,
        false => {
            Target { tree: Some(revision.tree), commit: revision.commit, reference: None, is_head: false }
        }
    };

    let key = codebase.snapshot_key(&revision.tree.to_string());
    // A store that cannot be read, such as one of another version, is repaired by the update.
    let reader = StoreReader::open(&codebase.store()).ok().flatten();
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

impl OpenRepository {
    /// Ranks the files for `request` with `weights`.
    pub fn rank(&self, request: &Request, weights: &Weights) -> Vec<RankedFile> {
        self.searcher.rank(request, &self.view, weights, Instant::now() + TIMEOUT).files
    }

    pub fn request(&self, query: &str) -> Request {
        let mut request = Request::new(query, &self.searcher.codebase.settings);
        request.view.worktree = WorktreeMode::Exclude;
        request
    }

    /// Returns the hit of a ranked file. Its text costs a read of the blob, and is read only if `with_text`.
    pub fn hit(&self, file: &RankedFile, with_text: bool) -> Hit {
        let best = &file.chunks[0];
        let row = &self.view.reader.segments[best.id.segment as usize].rows()[best.id.row as usize];

        let mut symbols = Vec::new();
        for chunk in &file.chunks {
            let segment = &self.view.reader.segments[chunk.id.segment as usize];
            let of_chunk = segment.symbols_of(&segment.rows()[chunk.id.row as usize]);
            symbols.extend(of_chunk.map(|symbol| segment.name(symbol.name).to_owned()));
        }

        Hit {
            path: git::quoting::text(self.view.entry(file.entry).0),
            lines: (row.start_line, row.end_line),
            symbols,
            text: if with_text { self.text(file).unwrap_or_default() } else { String::new() },
            relevance: file.relevance,
        }
    }

    /// Reads the text of the best chunk of `file`; `None` if its blob cannot be read.
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

/// Answers all queries on all cores. The answers have the order of the queries.
///
/// # Panics
/// If one of them does: without its answer, the figures would be those of another suite.
fn on_all_cores<Q: Sync, A: Send>(queries: &[Q], answer: impl Fn(&Q) -> A + Sync) -> Vec<A> {
    // Queries are handed out one by one, since their costs differ.
    let next = AtomicUsize::new(0);
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);

    let mut answered: Vec<(usize, A)> = std::thread::scope(|scope| {
        let others: Vec<_> =
            (1..n_threads).map(|_| scope.spawn(|| answer_some(queries, &next, &answer))).collect();

        // This thread works too.
        let mut answered = answer_some(queries, &next, &answer);
        for other in others {
            answered.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        answered
    });

    // Threads end in any order.
    answered.sort_by_key(|(i, _)| *i);
    answered.into_iter().map(|(_, answer)| answer).collect()
}

/// Answers queries until none is left. Threads share `next`, the number of the next query; each answer comes
/// with the number of its query.
fn answer_some<Q, A>(queries: &[Q], next: &AtomicUsize, answer: &impl Fn(&Q) -> A) -> Vec<(usize, A)> {
    let mut answered = Vec::new();

    loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        let Some(query) = queries.get(i) else { return answered };
        answered.push((i, answer(query)));
    }
}

/// Runs one query and scores its results. Only ranking is timed, not the reading of texts for labels.
fn run_query(
    opened: &OpenRepository,
    labelled: &LabelledQuery,
    weights: &Weights,
    stages: Stages,
    k: usize,
) -> QueryResult {
    let mut request = opened.request(&labelled.query);
    request.intent = labelled.intent;
    request.stages = stages;

    let started = Instant::now();
    let files = opened.rank(&request, weights);
    let took = started.elapsed();

    let with_text = labelled.labels.iter().any(|label| label.contains.is_some());
    // An excluded path may be beyond `k` and still fail the query.
    let depth = k.max(labelled.excluded_depth());
    let hits: Vec<Hit> = files.iter().take(depth).map(|file| opened.hit(file, with_text)).collect();

    let shows_excluded = hits
        .iter()
        .take(labelled.excluded_depth())
        .any(|hit| labelled.excluded.iter().any(|glob| is_excluded(glob, &hit.path)));
    let scores = if shows_excluded { Scores::default() } else { score(&hits, &labelled.labels, k) };
    let expectation_met = (!labelled.expected.is_empty())
        .then(|| !shows_excluded && labelled.expected.iter().all(|expected| is_met(expected, &hits)));

    QueryResult {
        repository: opened.repository.name.clone(),
        language: labelled.language.clone().unwrap_or_else(|| opened.repository.language.clone()),
        held_out: opened.repository.is_held_out(),
        category: labelled.category.clone(),
        intent: labelled.intent.map(|intent| intent.name().to_owned()),
        query: labelled.query.clone(),
        rank: best_rank(&hits, &labelled.labels),
        expectation_met,
        scores,
        relevance: files.first().map_or(0.0, |file| file.relevance),
        micros: took.as_micros() as u64,
        results: hits.into_iter().map(|hit| hit.path).collect(),
    }
}

/// Returns whether one of the expected labels is covered within the expected depth.
fn is_met(expected: &Expectation, hits: &[Hit]) -> bool {
    best_rank(hits, &expected.labels).is_some_and(|rank| rank <= expected.depth)
}

/// Returns whether `glob` matches `path`. `*` crosses folders: `tests/*` matches everything below `tests`.
fn is_excluded(glob: &str, path: &str) -> bool {
    let pattern: &BStr = glob.into();
    gix::glob::wildmatch(pattern, path.as_bytes().as_bstr(), wildmatch::Mode::empty())
}

/// Returns the folder of the repository called `name`, by the rule of [`Runner::open`].
pub(super) fn repository_path(repos: &Path, name: &str, is_alone: bool) -> Result<PathBuf, EvalError> {
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
    fn answers_have_the_order_of_the_queries() {
        let queries: Vec<usize> = (0..100).collect();
        assert_eq!(on_all_cores(&queries, |query| query * 2), (0..200).step_by(2).collect::<Vec<_>>());
    }

    #[test]
    fn a_query_that_panics_is_not_left_out() {
        let queries: Vec<usize> = (0..100).collect();
        let answers = std::panic::catch_unwind(|| on_all_cores(&queries, |query| assert_ne!(*query, 50)));
        assert!(answers.is_err(), "{answers:?}");
    }

    #[test]
    fn queries_are_grouped_by_revision() {
        let labelled = |query: &str, rev: Option<&str>| LabelledQuery {
            query: query.to_owned(),
            category: String::new(),
            language: None,
            intent: None,
            rev: rev.map(str::to_owned),
            labels: Vec::new(),
            expected: Vec::new(),
            excluded: Vec::new(),
        };
        let parts = by_revision(SuiteRepository {
            name: "n".to_owned(),
            language: String::new(),
            revision: Some("main".to_owned()),
            root: None,
            queries: vec![labelled("1", Some("b")), labelled("2", None), labelled("3", Some("b"))],
        });
        let shape: Vec<(Option<&str>, usize)> =
            parts.iter().map(|part| (part.revision.as_deref(), part.queries.len())).collect();
        assert_eq!(shape, [(Some("b"), 2), (Some("main"), 1)]);
    }
}
