//! Searcher: the stages of a search in sequence.

use super::answer::budget::Budget;
use super::answer::{self, Answer, Ranking, content};
use super::error::{QueryError, guarded};
use super::parse::intent;
use super::path_facts::PathMemory;
use super::rank::{self, Context, RankedFile, WEIGHTS, Weights, near_duplicates};
use super::request::{Mode, Request, ViewRequest};
use super::response::{IndexInfo, Response};
use super::retrieve::{self, Question, symbols};
use super::verify::answer_verified;
use super::view::View;
use super::view::freshness::RequestUpdate;
use super::view::open::{ViewCache, ViewSource};
use super::view::scope::passes_path;
use crate::embed::{self, Embedder};
use crate::index::Codebase;
use crate::text;
use std::sync::Arc;
use std::time::Instant;

/// Answers requests about one codebase.
///
/// A long-lived process keeps one: it caches open files, the status of the working tree and facts about paths.
pub struct Searcher {
    /// The codebase that is searched.
    pub codebase: Codebase,
    embedder: Option<Arc<dyn Embedder>>,
    /// Why there is no embedder.
    embedder_failure: Option<String>,
    cache: ViewCache,
    pub(super) paths: PathMemory,
}

impl Searcher {
    /// A searcher with the model of the settings. If the model cannot be opened, searches go without dense retrieval and
    /// say so in a warning.
    pub fn new(codebase: Codebase) -> Searcher {
        let (embedder, embedder_failure) = match embed::open(&codebase.settings.model) {
            Ok(embedder) => (Some(embedder), None),
            Err(e) => (None, Some(e.to_string())),
        };
        let paths = PathMemory::new(embedder.clone());
        Searcher { codebase, embedder, embedder_failure, cache: ViewCache::default(), paths }
    }

    /// The model that embeds queries, if it could be opened.
    pub fn embedder(&self) -> Option<&dyn Embedder> {
        self.embedder.as_deref()
    }

    /// Answers `request`.
    ///
    /// `update` is called if HEAD, or the revision of the request, is not indexed and the difference is too large for an
    /// overlay. A searcher itself never writes.
    ///
    /// # Errors
    /// [`QueryError::Parameter`] if the request makes no sense, [`QueryError::Gated`] if there is no index,
    /// [`QueryError::NotFound`] if its revision could not be indexed, [`QueryError::Cancelled`].
    pub fn search(&self, request: &Request, update: RequestUpdate<'_>) -> Result<Response, QueryError> {
        guarded(|| {
            request.check()?;
            self.respond(request, update, |view, deadline| Ok(self.rank(request, view, &WEIGHTS, deadline)))
        })
    }

    /// The response to `request` with the files that `rank` finds in its view.
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
            let (matches, token_count) = content::matches(&self.codebase, view, &ranking.files, &budget)?;
            Ok(Answer { matches, token_count, ranking })
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

    fn views(&self) -> ViewSource<'_> {
        ViewSource { codebase: &self.codebase, embedder: self.embedder(), cache: &self.cache }
    }

    /// What `view` shows, by which an answer can be checked.
    pub fn index_info(&self, view: &View) -> IndexInfo {
        answer::index_info(view, self.embedder().map_or("none", Embedder::name))
    }

    /// Ranks the files of `view` for `request`, without limits and texts. Evaluation comes in here, with other weights.
    pub fn rank(&self, request: &Request, view: &View, weights: &Weights, deadline: Instant) -> Ranking {
        let terms = text::query_terms(&request.query);
        let identifiers = text::identifiers(&request.query);
        let names = symbols::wanted(&request.query, &identifiers, request.mode);
        let mentions = text::mentions(&request.query);
        let focus: Vec<String> = terms.iter().map(|term| term.term.clone()).collect();
        let query_intent = intent::detect(&request.query, request.intent, &focus);
        let scope = view.scope(&request.filters);
        let mut warnings = Vec::new();
        let vector = match (&self.embedder, request.mode) {
            (_, Mode::Keyword | Mode::Symbol) => None,
            (Some(embedder), _) => Some(embedder.embed_query(&request.query)),
            (None, _) => None,
        };
        let failure = match &vector {
            Some(Err(e)) => Some(e.to_string()),
            None if matches!(request.mode, Mode::Hybrid | Mode::Semantic) => self.embedder_failure.clone(),
            _ => None,
        };
        if let Some(failure) = failure {
            warnings.push("Dense embedding service unavailable, using sparse search only".to_owned());
            tracing::warn!(component = "query", operation = "embed", error = %failure, "the dense side is unavailable");
        }
        let vector = vector.and_then(Result::ok);
        let is_over = || Instant::now() > deadline || request.view.cancel.is_cancelled();
        let question = Question {
            terms: &terms,
            names: &names,
            mentions: &mentions,
            vector: vector.as_deref(),
            scale: self.embedder().map_or(1.0, Embedder::scale),
            paths: &self.paths,
            mode: if vector.is_none() && request.mode == Mode::Semantic {
                Mode::Keyword
            } else {
                request.mode
            },
            ann: request.ann,
            weights,
            is_over: &is_over,
        };
        let found = retrieve::retrieve(view, &scope, &question);
        let passes = |path: &[u8], flags| passes_path(&request.filters, path, flags);
        let context = Context {
            view,
            terms: &terms,
            names: &names,
            mentions: &mentions,
            query: &request.query,
            intent: &query_intent,
            task: request.task,
            weights,
            paths: &self.paths,
            passes: &passes,
        };
        let files: Vec<RankedFile> = if request.view.cancel.is_cancelled() {
            Vec::new()
        } else if weights.whole_files == 0.0 {
            rank::chunks(&context, &found)
        } else {
            near_duplicates::fold(view, rank::rank(&context, &found))
        };
        if found.timed_out || Instant::now() > deadline {
            warnings.push(format!(
                "the time budget of {} ms was used up, results may be incomplete",
                request.view.timeout.as_millis()
            ));
        }
        Ranking {
            files,
            intent: query_intent,
            n_candidates: found.list.len(),
            strategies: found.strategies,
            warnings,
            absent_languages: scope.absent_languages.clone(),
        }
    }
}
