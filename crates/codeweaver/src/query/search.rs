//! Searcher: the stages of a search in sequence.

use std::sync::Arc;
use std::time::Instant;

use codeweaver_embed::{self as embed, EmbedError, Embedder};
use codeweaver_index::Codebase;
use codeweaver_store::StoreError;
use codeweaver_text as text;

use super::answer::budget::Budget;
use super::answer::evidence::Evidence;
use super::answer::{self, Answer, Ranking, content};
use super::error::{QueryError, guarded};
use super::parse::ParsedQuery;
use super::parse::report::{Report, title};
use super::path_facts::PathCache;
use super::rank::own_weights::OwnWeights;
use super::rank::{self, RankedFile, Weights, near_duplicates};
use super::request::{Ann, Mode, Request, ViewRequest};
use super::rerank::LazyReranker;
use super::response::{IndexInfo, Response};
use super::retrieve::{Candidates, QueryVector, Retrieval, Tuning};
use super::spelling;
use super::translated;
use super::verbatim::Verbatim;
use super::verify::answer_verified;
use super::view::freshness::RequestUpdate;
use super::view::open::{ViewCache, ViewSource};
use super::view::{RowId, View};

/// Number of times that an answer is begun because files of the store changed during the one before.
const MAX_CHANGES: usize = 3;

/// Strategy that a response names if the user's own weights were used.
const OWN_WEIGHTS: &str = "own_weights";

/// Warning of answers without dense retrieval, as a specification words it; the next warning says why.
const DENSE_UNAVAILABLE: &str = "Dense embedding service unavailable, using sparse search only";

/// A query, or a part of one, that is ranked by itself.
pub(super) struct QueryPart<'a> {
    pub query: &'a ParsedQuery,
    /// The text that is compared with vectors.
    pub embedded: &'a str,
    /// Further rows that are candidates.
    pub rows: &'a [RowId],
    /// Name of the strategy under which `rows` were found, if it is reported.
    pub rows_strategy: Option<&'static str>,
    /// Whether near-duplicates are folded.
    pub is_folded: bool,
}

/// Answers requests about one codebase.
///
/// A long-lived process keeps one: it caches open files, the status of the working tree and facts about
/// paths.
pub struct Searcher {
    /// The codebase that is searched.
    pub codebase: Codebase,
    embedder: Option<Arc<dyn Embedder>>,
    /// Why there is no embedder.
    embedder_failure: Option<EmbedError>,
    pub(super) reranker: LazyReranker,
    cache: ViewCache,
    pub(super) paths: PathCache,
    weights: OwnWeights,
    pub(super) tuning: Tuning,
    pub(super) is_shared: bool,
}

impl Searcher {
    /// A searcher with the model of the settings. If the model cannot be opened, searches go without dense
    /// retrieval and say so in a warning.
    pub fn new(codebase: Codebase) -> Searcher {
        let (embedder, embedder_failure) = match embed::open(&codebase.settings.model) {
            Ok(embedder) => (Some(embedder), None),
            Err(e) => (None, Some(e)),
        };

        let paths = PathCache::new(embedder.clone());

        Searcher {
            weights: OwnWeights::open(&codebase),
            codebase,
            embedder,
            embedder_failure,
            reranker: LazyReranker::default(),
            cache: ViewCache::default(),
            paths,
            tuning: Tuning::default(),
            is_shared: false,
        }
    }

    /// This searcher for clients other than the owner of the files: [`Searcher::read`] then shows no
    /// credentials and no file that git ignores. Searches never show them.
    pub fn shared(self) -> Searcher {
        Searcher { is_shared: true, ..self }
    }

    /// This searcher with other thresholds.
    pub fn with_tuning(self, tuning: Tuning) -> Searcher {
        Searcher { tuning, ..self }
    }

    /// The model that embeds queries, if it could be opened.
    pub fn embedder(&self) -> Option<&dyn Embedder> {
        self.embedder.as_deref()
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
        self.guarded(|| {
            request.check()?;

            let narrowed = self.narrowed(request)?;
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
                response.search_strategy.push(OWN_WEIGHTS);
            }
            if request.filters.lines.is_some() && response.total_found == 0 {
                let all = "exact search shows all lines, in files that are not indexed too";
                response.warnings.push(format!("no indexed code with the quoted text fits the query: {all}"));
            }

            Ok(response)
        })
    }

    /// Runs `answer` as [`guarded`] does. If another program changed a file of the store meanwhile, runs it
    /// again, since bytes that were read from it may be wrong.
    pub fn guarded<T>(&self, answer: impl Fn() -> Result<T, QueryError>) -> Result<T, QueryError> {
        let store = self.codebase.store();

        for _ in 0..MAX_CHANGES {
            let then = self.cache.now();
            let answered = guarded(&answer);

            if !self.cache.may_have_changed_since(&then, &store) {
                return answered;
            }

            tracing::warn!(component = "query", operation = "read", store = %store.root().display(), "a file of the index was changed by another program");
            self.cache.distrust(&store);
        }

        Err(StoreError::damaged(store.root(), "its files change while they are read").into())
    }

    /// Answers `request` with the files that `rank` finds in its view.
    pub(super) fn respond(
        &self,
        request: &Request,
        update: RequestUpdate<'_>,
        rank: impl Fn(&View, Instant) -> Result<Ranking, QueryError>,
    ) -> Result<Response, QueryError> {
        let started = Instant::now();
        let budget = Budget::new(request);

        let (view, answer) = answer_verified(&self.views(), &request.view, update, |view, deadline| {
            let ranking = rank(view, deadline)?;
            request.view.cancel.check()?;
            let fitted =
                content::matches(&self.codebase, view, &ranking, &budget, self.tuning.min_parallel_rows)?;
            Ok(Answer { fitted, ranking })
        })?;

        Ok(answer::respond(request, &view, answer, self.index_info(&view), started.elapsed()))
    }

    /// Opens the view of `request`.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub fn view(&self, request: &ViewRequest, update: RequestUpdate<'_>) -> Result<View, QueryError> {
        let views = self.views();
        views.open_or_update(&views.resolve(request)?, request.timeout, update)
    }

    pub(super) fn views(&self) -> ViewSource<'_> {
        ViewSource { codebase: &self.codebase, embedder: self.embedder(), cache: &self.cache }
    }

    /// Returns the state of the index that `view` shows, by which an answer can be checked.
    pub fn index_info(&self, view: &View) -> IndexInfo {
        answer::index_info(view, self.embedder().map_or("none", Embedder::name))
    }

    /// Ranks the files of `view` for `request` by `weights`, without limits and texts. Stops retrieving at
    /// `deadline`.
    pub fn rank(&self, request: &Request, view: &View, weights: &Weights, deadline: Instant) -> Ranking {
        let has_words = matches!(request.mode, Mode::Hybrid | Mode::Keyword) && weights.whole_files > 0.0;

        // A long text, such as a stack trace, is searched for by its parts.
        if let Some(report) = has_words.then(|| Report::parse(&request.query)).flatten() {
            return self.rank_report(request, &report, view, weights, deadline);
        }

        let translation = translated::english(request, view);
        let words = translation.as_ref().map_or(&request.query, |translation| &translation.text);
        let words = title::without_references(words);

        let query = ParsedQuery::parse(words, request.mode, request.intent);
        let mut copied = Verbatim::default();
        // Translated words were not copied from the code.
        if has_words && translation.is_none() {
            let scope = view.scope(&request.filters);
            copied = Verbatim::find(request, &query.terms, view, &scope, self.tuning.min_parallel_rows);
        }

        let part = QueryPart {
            query: &query,
            embedded: words,
            rows: &copied.rows,
            rows_strategy: None,
            is_folded: true,
        };
        let mut ranking = self.rank_part(request, &part, view, weights, deadline);

        // A word that the index lacks is the only reason to search a second time.
        let can_respell = has_words && translation.is_none() && !ranking.absent_words.is_empty();
        if let Some(respelling) =
            can_respell.then(|| spelling::respelt(words, &ranking.absent_words, view)).flatten()
        {
            let query = ParsedQuery::parse(&respelling.text, request.mode, request.intent);
            let part = QueryPart { query: &query, embedded: &respelling.text, ..part };
            ranking = self.rank_part(request, &part, view, weights, deadline);
            ranking.strategies.push(spelling::STRATEGY);
            ranking.notes.push(respelling.note());
        }

        if let Err(error) = self.promote_verbatim(request, &copied, view, &mut ranking) {
            ranking
                .warnings
                .push(format!("files were not compared with the query as it is written: {error}"));
        }

        if let Some(translation) = &translation {
            ranking.strategies.push(translated::STRATEGY);
            ranking.notes.push(translated::note(translation));
        }

        // Last, since the cross-encoder reads only the best files of the final order.
        self.rerank(request, view, &mut ranking, deadline);
        ranking
    }

    /// Ranks as [`Self::rank`] does, for `part` in place of the query of `request`.
    pub(super) fn rank_part(
        &self,
        request: &Request,
        part: &QueryPart<'_>,
        view: &View,
        weights: &Weights,
        deadline: Instant,
    ) -> Ranking {
        let query = part.query;
        let scope = view.scope(&request.filters);
        let cancel = &request.view.cancel;
        let (vector, mut warnings) = self.query_vector(request.mode, part.embedded);

        let candidates = Retrieval {
            view,
            scope: &scope,
            query,
            vector: vector.as_ref(),
            // Without a vector, terms are better than an empty result.
            mode: match request.mode {
                Mode::Semantic if vector.is_none() => Mode::Keyword,
                mode => mode,
            },
            ann: request.ann,
            bm25: weights.bm25(),
            rows: part.rows,
            rows_strategy: part.rows_strategy,
            paths: &self.paths,
            tuning: self.tuning,
            is_over: &|| Instant::now() > deadline || cancel.is_cancelled(),
        }
        .run();

        let context = rank::Context {
            view,
            query,
            task: request.task,
            weights,
            paths: &self.paths,
            filters: &request.filters,
        };

        let files = match cancel.is_cancelled() {
            // The answer to a cancelled request is discarded, so ranking would be wasted work.
            true => Vec::new(),
            false => ranked_files(&context, &candidates, part.is_folded),
        };

        if candidates.timed_out || Instant::now() > deadline {
            let timeout_ms = request.view.timeout.as_millis();
            warnings
                .push(format!("the time budget of {timeout_ms} ms was used up, results may be incomplete"));
        }

        Ranking {
            files,
            absent_words: text::as_written(&query.text, candidates.absent_terms(query)),
            evidence: Evidence::new(view, query, &candidates.idf, &request.filters.kinds),
            intent: query.intent.clone(),
            n_candidates: candidates.list.len(),
            strategies: candidates.strategies,
            warnings,
            notes: Vec::new(),
            absent_languages: scope.absent_languages.clone(),
            absent_paths: scope.absent_paths.clone(),
        }
    }

    /// Embeds `text` if `mode` needs a vector. If that fails, returns a warning in its place.
    fn query_vector(&self, mode: Mode, text: &str) -> (Option<QueryVector>, Vec<String>) {
        if matches!(mode, Mode::Keyword | Mode::Symbol) {
            return (None, Vec::new());
        }

        let failure = match (&self.embedder, &self.embedder_failure) {
            (Some(embedder), _) => match embedder.embed_query(text) {
                Ok(components) => {
                    return (Some(QueryVector { components, scale: embedder.scale() }), Vec::new());
                }
                Err(e) => Some(e),
            },
            (None, failure) => failure.clone(),
        };

        let mut warnings = vec![DENSE_UNAVAILABLE.to_owned()];
        if let Some(failure) = failure {
            tracing::warn!(component = "query", operation = "embed", error = %failure, "{DENSE_UNAVAILABLE}");
            warnings.push(format!("{failure}; {}", failure.fix()));
        }

        (None, warnings)
    }
}

/// Ranks candidates as files, or as chunks if the weights have no features of files.
fn ranked_files(context: &rank::Context<'_>, candidates: &Candidates, is_folded: bool) -> Vec<RankedFile> {
    if context.weights.whole_files == 0.0 {
        return rank::chunks(context, candidates);
    }

    let files = rank::rank(context, candidates);
    if is_folded { near_duplicates::fold(context.view, files) } else { files }
}

/// Refuses a request for a method of searching vectors that this index does not have.
fn check_ann(request: &Request, view: &View) -> Result<(), QueryError> {
    let is_dense = matches!(request.mode, Mode::Hybrid | Mode::Semantic);
    let needs_graph = is_dense && request.ann == Ann::Hnsw;

    if needs_graph && view.reader.graph().is_none() { Err(QueryError::NoGraph) } else { Ok(()) }
}
