//! Searcher: all requests about one codebase.
//!
//! Each method opens the view of its request and calls the module that answers it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codeweaver_embed::Embedder;
use codeweaver_git::{BString, MaySee, Oid, quoting};
use codeweaver_index::Codebase;
use codeweaver_store::StoreError;

use super::answer::budget::Budget;
use super::answer::{self, Answer, Ranking, content};
use super::changes::{self, Changes, ChangesRequest};
use super::engine::{CandidateFiles, Engine};
use super::error::{QueryError, guarded};
use super::grep::{self, Found, GrepRequest, Pattern};
use super::left_out;
use super::listing::{self, ListRequest, Listing};
use super::model::QueryModel;
use super::outline::{self, Outline};
use super::passages::{self, Passages};
use super::path_facts::PathCache;
use super::pipeline::Pipeline;
use super::rank::own_weights::OwnWeights;
use super::rank::{WEIGHTS, Weights};
use super::read::{FileReader, FileText};
use super::record::Answered;
use super::request::{Ann, Mode, Request, ViewRequest};
use super::rerank::LazyReranker;
use super::resources::Resources;
use super::response::{IndexInfo, Response, Strategy};
use super::retrieve::Tuning;
use super::similar::{self, SimilarRequest};
use super::symbol_lookup::{self, SymbolList, SymbolRequest};
use super::verify::answer_verified;
use super::view::View;
use super::view::freshness::RequestUpdate;
use super::view::open::{ViewCache, ViewSource};
use super::view::whole::WholeCounts;

/// Maximum number of attempts at an answer while files of the store change during it.
const MAX_CHANGES: usize = 3;

/// The text of a blob that is in memory.
type HeldText<'a> = dyn Fn(&Oid) -> Option<Arc<str>> + 'a;

/// Answers requests about one codebase.
///
/// A long-lived process keeps one: it caches open files, the status of the working tree and facts about
/// paths.
pub struct Searcher {
    /// The codebase that is searched.
    pub codebase: Codebase,
    model: Arc<QueryModel>,
    reranker: Arc<LazyReranker>,
    cache: Arc<ViewCache>,
    paths: Arc<PathCache>,
    weights: Arc<OwnWeights>,
    tuning: Tuning,
    is_shared: bool,
    engine: Option<Arc<dyn Engine>>,
}

impl Searcher {
    /// A searcher with the model of the settings. If the model cannot be opened, searches go without dense
    /// retrieval and say so in a warning.
    pub fn new(codebase: Codebase) -> Searcher {
        let model = QueryModel::open(&codebase.settings);
        let paths = PathCache::new(model.shared());

        Searcher {
            weights: Arc::new(OwnWeights::open(&codebase)),
            codebase,
            model: Arc::new(model),
            reranker: Arc::default(),
            cache: Arc::default(),
            paths: Arc::new(paths),
            tuning: Tuning::default(),
            is_shared: false,
            engine: None,
        }
    }

    /// This searcher for clients other than the owner of the files: [`Searcher::read`] then shows no
    /// credentials and no file that git ignores. Searches never show them.
    pub fn shared(self) -> Searcher {
        Searcher { is_shared: true, ..self }
    }

    /// Returns this searcher for a reader who may see only those members of its catalogue that `may_see`
    /// allows. It answers as that of a catalogue without the others, and shares the caches of this one.
    pub fn limited_to(&self, may_see: Box<MaySee>) -> Searcher {
        let may_see: Arc<MaySee> = may_see.into();
        let mut codebase = self.codebase.clone();
        let of_repo = may_see.clone();
        codebase.repo = codebase.repo.limited_to(Box::new(move |name| of_repo(name)));

        Searcher {
            codebase,
            model: self.model.clone(),
            reranker: self.reranker.clone(),
            cache: self.cache.clone(),
            paths: self.paths.clone(),
            weights: self.weights.clone(),
            tuning: self.tuning,
            is_shared: self.is_shared,
            engine: self.engine.as_ref().map(|engine| engine.limited_to(may_see)),
        }
    }

    /// This searcher for the repositories of `engine`: [`Self::search`] and [`Self::grep`] answer about them.
    /// Texts that the engine does not keep are read from the codebase, and all other requests are about it.
    pub fn of_engine(self, engine: Arc<dyn Engine>) -> Searcher {
        Searcher { engine: Some(engine), ..self }
    }

    /// The engine that [`Self::search`] answers from, if it does.
    pub fn engine(&self) -> Option<&Arc<dyn Engine>> {
        self.engine.as_ref()
    }

    /// This searcher with other thresholds.
    pub fn with_tuning(self, tuning: Tuning) -> Searcher {
        Searcher { tuning, ..self }
    }

    /// The model that embeds queries, if it could be opened.
    pub fn embedder(&self) -> Option<&dyn Embedder> {
        self.model.embedder()
    }

    /// Checks that requests about HEAD are answered, without answering one.
    ///
    /// # Errors
    /// [`QueryError::Gated`] if there is no index that answers; the store cannot be read.
    pub fn check(&self) -> Result<(), QueryError> {
        self.guarded(|| self.views().check())
    }

    /// Answers `request`.
    ///
    /// `update` is called if HEAD, or the revision of the request, is not indexed and the difference is too
    /// large for an overlay. A searcher itself never writes.
    ///
    /// # Errors
    /// [`QueryError::Parameter`] if the request makes no sense, [`QueryError::Gated`] if there is no index,
    /// [`QueryError::NotFound`] if its revision could not be indexed, [`QueryError::Cancelled`].
    pub fn search(&self, request: &Request, update: RequestUpdate<'_>) -> Result<Response, QueryError> {
        let mut response = self.guarded(|| {
            request.check()?;
            if let Some(engine) = &self.engine {
                return self.search_engine(engine, request);
            }

            let narrowed = grep::narrow::narrowed(request, |grep| self.find_lines(grep))?;
            let (request, warnings) = match &narrowed {
                Some((narrowed, warnings)) => (narrowed, warnings.clone()),
                None => (request, Vec::new()),
            };

            let own = self.weights.get();
            let mut response = self.respond(request, update, |view, deadline| {
                check_ann(request, view)?;
                Ok(self.rank(request, view, &own.weights, deadline))
            })?;

            response.warnings.extend(warnings.into_iter().chain(own.warning));
            if own.path.is_some() {
                response.search_strategy.push(Strategy::OwnWeights);
            }
            if request.filters.lines.is_some() && response.total_matches == 0 {
                let all = "exact search shows all lines, in files that are not indexed too";
                response.warnings.push(format!("no indexed code with such a line fits the query: {all}"));
            }

            Ok(response)
        })?;

        if let Some(task) = request.task {
            response.query_intent.reasoning = format!("given as the task {task}");
        }

        Answered::search(&request.query, &response).log(&self.codebase);
        Ok(response)
    }

    /// Answers `request` from the repositories of `engine`.
    fn search_engine(&self, engine: &Arc<dyn Engine>, request: &Request) -> Result<Response, QueryError> {
        let started = Instant::now();
        let deadline = started + request.view.timeout;
        check_possible(request)?;

        let narrowed = grep::narrow::with_exact_part(request, |grep| self.find_lines(grep))?;
        let (request, about_lines) = narrowed.unwrap_or_else(|| (request.clone(), Vec::new()));

        let own = self.weights.get();
        let whole = engine.whole()?;
        let counts = Arc::new(WholeCounts::new(engine.clone(), &whole));

        // Without files, the form of the query follows from the counts.
        let view = View::of_engine(&self.codebase, &whole, counts.clone(), CandidateFiles::default())?;
        let resources = self.resources();
        let wanted =
            Pipeline { resources, request: &request, view: &view, weights: &own.weights, deadline }.wanted();
        request.view.cancel.check()?;

        let found = engine.candidates(&wanted, &request.filters)?;
        let are_all = found.places.len() as u64 >= whole.totals.n_docs;
        let (request, about_words) = self.without_words(request, &found)?;
        let view = View::of_engine(&self.codebase, &whole, counts.clone(), found)?;
        // The engine has limits of its own.
        let deadline = Instant::now() + request.view.timeout;
        let mut ranking = self.rank(&request, &view, &own.weights, deadline);
        request.view.cancel.check()?;

        let missing = counts.failure().map(|why| format!("the engine did not count all words: {why}"));
        ranking.warnings.extend(missing.into_iter().chain(own.warning).chain(about_lines));
        let known = view.members_warnings(Some(&request.filters));
        let is_new = |it: &String| !view.warnings.contains(it) && !known.contains(it);
        ranking.warnings.extend(about_words.into_iter().filter(is_new));

        // The engine leaves out no words, so its candidates may be used up.
        let has_excluded = request.filters.without_lines.as_ref().is_some_and(|lines| !lines.is_empty());
        if has_excluded && !are_all && ranking.files.len() < request.offset.saturating_add(request.limit) {
            ranking
                .warnings
                .push("candidates with an excluded word are left out; there may be more".to_owned());
        }

        let budget = Budget::new(&request);
        let min_parallel_rows = self.tuning.min_parallel_rows;
        let fitted =
            content::matches(&self.codebase, &view, &ranking, &budget, min_parallel_rows, self.embedder())?;
        let answer = Answer { fitted, ranking };
        Ok(answer::respond(&request, &view, answer, self.index_info(&view), started.elapsed()))
    }

    /// Returns `request` for the code without excluded words among what an engine has `found`, with warnings.
    fn without_words(
        &self,
        mut request: Request,
        found: &CandidateFiles,
    ) -> Result<(Request, Vec<String>), QueryError> {
        if request.filters.without.is_empty() {
            return Ok((request, Vec::new()));
        }

        let places = found.places.iter().flatten();
        let files = places.map(|place| BString::from(place.path.as_slice())).collect();
        let (lines, warnings) = grep::narrow::excluded_lines(&request, files, |grep| self.find_lines(grep))?;
        request.filters.without_lines = Some(Arc::new(lines));
        Ok((request, warnings))
    }

    /// Ranks the files of `view` for `request` by `weights`, without limits and texts. Stops retrieving at
    /// `deadline`.
    pub fn rank(&self, request: &Request, view: &View, weights: &Weights, deadline: Instant) -> Ranking {
        Pipeline { resources: self.resources(), request, view, weights, deadline }.run()
    }

    /// Finds the code that is nearest to the definition at `request.line`, or to the chunk there if the line
    /// is in no definition. That definition or chunk itself is left out.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] if no chunk has the line, and those of [`Searcher::search`].
    pub fn similar(
        &self,
        request: &SimilarRequest,
        update: RequestUpdate<'_>,
    ) -> Result<Response, QueryError> {
        let as_search = request.as_search(&self.codebase.settings)?;

        self.guarded(|| {
            as_search.check()?;
            self.respond(&as_search, update, |view, _| {
                similar::rank_similar(&self.resources(), view, request)
            })
        })
    }

    /// Returns the passages that answer the question `request`, of the `request.limit` best files, as they
    /// are on disk.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub fn passages(&self, request: &Request, update: RequestUpdate<'_>) -> Result<Passages, QueryError> {
        self.guarded(|| {
            request.check()?;

            let (view, answer) = self
                .answer(request, update, |view, deadline| Ok(self.rank(request, view, &WEIGHTS, deadline)))?;
            passages::of_answer(&self.codebase, request, &view, answer, self.index_info(&view))
        })
    }

    /// Returns passages as [`Self::passages`] does, of a view that the caller holds and of texts that `read`
    /// returns. Changes since the view was opened are not noticed.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub fn passages_of(
        &self,
        request: &Request,
        view: &View,
        read: &HeldText<'_>,
    ) -> Result<Passages, QueryError> {
        guarded(|| {
            request.check()?;

            let mut ranking = self.rank(request, view, &WEIGHTS, Instant::now() + request.view.timeout);
            ranking.files.retain(|file| file.relevance >= request.min_score);
            ranking.files.truncate(request.limit);
            passages::gather(request, view, ranking, self.index_info(view), &mut |oid| Ok(read(oid)))
        })
    }

    /// Finds all files with lines that match the pattern of `request`.
    ///
    /// # Errors
    /// [`QueryError::Pattern`] if the pattern cannot be searched for, [`QueryError::Gated`] if there is no
    /// index, [`QueryError::Cancelled`].
    pub fn grep(&self, request: &GrepRequest) -> Result<Found<'_>, QueryError> {
        let found = self.find_lines(request)?;
        Answered::lines(&found).log(&self.codebase);
        Ok(found)
    }

    /// As [`Self::grep`], without a record.
    fn find_lines(&self, request: &GrepRequest) -> Result<Found<'_>, QueryError> {
        self.guarded(|| match &self.engine {
            Some(engine) => grep::find_in_engine(&self.views(), engine.as_ref(), request),
            None => grep::find(&self.views(), request),
        })
    }

    /// As [`Self::grep`], for the pattern of `request` or, if no line matches it, the first of the `readings`
    /// that a line matches. Without any, the result of the first pattern.
    ///
    /// # Errors
    /// As [`Self::grep`].
    pub fn grep_first(&self, request: &GrepRequest, readings: &[Pattern]) -> Result<Found<'_>, QueryError> {
        let found = grep::find_first(request, readings, |request| self.find_lines(request))?;
        Answered::lines(&found).log(&self.codebase);
        Ok(found)
    }

    /// The outline of `path` in `rev`, or in the working tree if `None`.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] if the file is not indexed, and the errors of [`Searcher::view`].
    pub fn outline(
        &self,
        path: &str,
        rev: Option<&str>,
        update: RequestUpdate<'_>,
    ) -> Result<Outline, QueryError> {
        self.guarded(|| {
            let view = self.view(&outline::view_request(path, rev, &self.codebase.settings)?, update)?;
            outline::outline(&view, path, self.index_info(&view))
        })
        .map_err(|error| self.with_near_paths(error, path, rev))
    }

    /// Reads `lines` (1-based, inclusive; all if `None`) of `path` in `rev`. `None` is the working tree, in a
    /// bare repository HEAD.
    ///
    /// # Errors
    /// [`QueryError::Parameter`] for invalid lines or a path outside of the repository;
    /// [`QueryError::NotFound`] if there is no such file; [`QueryError::Withheld`] if this searcher is shared
    /// and does not show it.
    pub fn read(
        &self,
        path: &str,
        lines: Option<(u32, u32)>,
        rev: Option<&str>,
    ) -> Result<FileText, QueryError> {
        self.guarded(|| self.files().read(path, lines, rev))
    }

    /// As [`Self::read`], with an error that suggests similar paths if there is no such file.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_or_suggest(
        &self,
        path: &str,
        lines: Option<(u32, u32)>,
        rev: Option<&str>,
    ) -> Result<FileText, QueryError> {
        self.read(path, lines, rev).map_err(|error| self.with_near_paths(error, path, rev))
    }

    /// `error`, with similar paths if it says that there is no file at `path`.
    fn with_near_paths(&self, error: QueryError, path: &str, rev: Option<&str>) -> QueryError {
        let QueryError::NotFound { what } = error else { return error };
        let mut near = self.near_paths(path, rev);
        // A file that is there fails for another reason.
        let is_there = near.iter().any(|known| known == path);
        near.retain(|path| !path.ends_with('/'));

        let near: Vec<_> = near.iter().map(|path| quoting::printed(path)).collect();
        match near.is_empty() || is_there {
            true => QueryError::NotFound { what },
            false => QueryError::NotFound { what: format!("{what} (did you mean {}?)", near.join(" or ")) },
        }
    }

    /// Reads the blob `oid` as the contents of `path`, in whichever revision it is.
    ///
    /// # Errors
    /// As [`Self::read`]. [`QueryError::NotFound`] also if no such blob is in this clone.
    pub fn read_blob(&self, path: &str, oid: &str) -> Result<FileText, QueryError> {
        self.guarded(|| self.files().read_blob(path, oid))
    }

    /// Looks up a name, a pattern or a place in `view`.
    ///
    /// # Errors
    /// [`QueryError::Parameter`] for an empty name, [`QueryError::UnknownName`] for a language or kind that
    /// there is not, [`QueryError::NotFound`] if the file of a place is not indexed.
    pub fn find_symbols(&self, view: &View, request: &SymbolRequest) -> Result<SymbolList, QueryError> {
        self.guarded(|| symbol_lookup::find(view, request))
    }

    /// Opens the view in which symbols are looked up, with the file of a place as it is on disk.
    ///
    /// # Errors
    /// Those of [`Self::view`].
    pub fn symbol_view(
        &self,
        request: &SymbolRequest,
        update: RequestUpdate<'_>,
    ) -> Result<View, QueryError> {
        self.view(&symbol_lookup::view_request(request), update)
    }

    /// Lists files.
    ///
    /// # Errors
    /// [`codeweaver_git::GitError::UnknownRevision`], [`QueryError::UnknownName`] for a language,
    /// [`QueryError::Cancelled`].
    pub fn list_files(&self, request: &ListRequest) -> Result<Listing, QueryError> {
        self.guarded(|| listing::list(self.views(), request))
    }

    /// Returns paths that are similar to `wanted`, which matches no file of the working tree or of `rev`.
    pub fn near_paths(&self, wanted: &str, rev: Option<&str>) -> Vec<String> {
        let files = self.list_files(&ListRequest::all(rev)).map(|listing| listing.files).unwrap_or_default();
        let all: Vec<BString> = files.into_iter().map(|file| file.path).collect();
        Listing::near(&all, wanted)
    }

    /// Opens the changes that `request` asks for, and applies `answer` to them.
    ///
    /// # Errors
    /// [`codeweaver_git::GitError::UnknownRevision`]; [`QueryError::NotFound`] if a symbol is in no file that
    /// is known; [`QueryError::Cancelled`].
    pub fn changes<T>(
        &self,
        request: &ChangesRequest,
        update: RequestUpdate<'_>,
        answer: impl FnOnce(&mut Changes<'_>) -> Result<T, QueryError> + Send,
    ) -> Result<T, QueryError>
    where
        T: Send,
    {
        changes::answer(self.views(), request, update, answer)
    }

    /// Opens the view of `request`.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub fn view(&self, request: &ViewRequest, update: RequestUpdate<'_>) -> Result<View, QueryError> {
        self.views().view(request, update)
    }

    /// Prepares the next request while none is answered: opens what it needs, and compares the working tree
    /// if that was done more than `age` ago.
    ///
    /// # Errors
    /// Those that the next request would have.
    pub fn prepare(&self, age: Duration) -> Result<(), QueryError> {
        let views = self.views();
        views.scan_after(age);
        self.guarded(|| views.view(&ViewRequest::new(&self.codebase.settings), &crate::never_update))
            .map(drop)
    }

    /// Returns the state of the index that `view` shows, by which an answer can be checked.
    pub fn index_info(&self, view: &View) -> IndexInfo {
        answer::index_info(view, self.model.name())
    }

    /// Runs `answer` as [`guarded`] does. If another program changed a file of the store meanwhile, runs it
    /// again, since bytes that were read from it may be wrong.
    ///
    /// # Errors
    /// Those of `answer`; [`QueryError::Internal`] if it panics; [`QueryError::Store`] if the files change
    /// again and again.
    pub fn guarded<T>(&self, answer: impl Fn() -> Result<T, QueryError>) -> Result<T, QueryError> {
        let store = self.codebase.store();

        for _ in 0..MAX_CHANGES {
            let then = self.cache.now();
            let answered = guarded(&answer);

            if !self.cache.may_have_changed_since(&then, &store) {
                return answered;
            }

            tracing::warn!(component = "searcher", operation = "read", store = %store.root().display(), "a file of the index was changed by another program");
            self.cache.distrust(&store);
        }

        Err(StoreError::damaged(store.root(), "its files change while they are read").into())
    }

    /// Responds to `request` with the files that `rank` finds in its view.
    fn respond(
        &self,
        request: &Request,
        update: RequestUpdate<'_>,
        rank: impl Fn(&View, Instant) -> Result<Ranking, QueryError>,
    ) -> Result<Response, QueryError> {
        let started = Instant::now();
        let (view, answer) = self.answer(request, update, rank)?;
        Ok(answer::respond(request, &view, answer, self.index_info(&view), started.elapsed()))
    }

    /// Answers `request` with the files that `rank` finds in its view, as they are on disk.
    fn answer(
        &self,
        request: &Request,
        update: RequestUpdate<'_>,
        rank: impl Fn(&View, Instant) -> Result<Ranking, QueryError>,
    ) -> Result<(View, Answer), QueryError> {
        let budget = Budget::new(request);

        let repos = request.filters.repos.as_ref();
        answer_verified(&self.views(), &request.view, repos, update, |view, deadline| {
            let mut ranking = rank(view, deadline)?;
            left_out::note(request, view, &mut ranking, |lines| grep::find(&self.views(), lines))?;
            request.view.cancel.check()?;

            let min_parallel_rows = self.tuning.min_parallel_rows;
            let embedder = self.embedder();
            let fitted =
                content::matches(&self.codebase, view, &ranking, &budget, min_parallel_rows, embedder)?;
            Ok(Answer { fitted, ranking })
        })
    }

    fn resources(&self) -> Resources<'_> {
        Resources {
            codebase: &self.codebase,
            model: &self.model,
            reranker: &self.reranker,
            paths: &self.paths,
            tuning: self.tuning,
        }
    }

    fn views(&self) -> ViewSource<'_> {
        ViewSource { codebase: &self.codebase, embedder: self.embedder(), cache: &self.cache }
    }

    fn files(&self) -> FileReader<'_> {
        FileReader { codebase: &self.codebase, is_shared: self.is_shared }
    }
}

/// Refuses a request that an engine cannot answer.
fn check_possible(request: &Request) -> Result<(), QueryError> {
    let refused = |what: &str, why: &str| QueryError::Engine {
        what: what.to_owned(),
        why: why.to_owned(),
        fix: "leave the condition out, or search a catalogue of the repositories".to_owned(),
    };

    if request.view.revision.is_some() {
        return Err(refused(
            "the revision cannot be searched",
            "an engine has the commits that were pushed last",
        ));
    }
    if request.filters.lines.is_some() {
        return Err(refused(
            "the condition on lines cannot be met",
            "an engine has the words of code and not its lines",
        ));
    }
    Ok(())
}

/// Refuses a request for a method of searching vectors that this index does not have.
fn check_ann(request: &Request, view: &View) -> Result<(), QueryError> {
    let is_dense = matches!(request.mode, Mode::Hybrid | Mode::Semantic);
    let needs_graph = is_dense && request.ann == Ann::Hnsw;

    if needs_graph && view.reader.graph().is_none() { Err(QueryError::NoGraph) } else { Ok(()) }
}
