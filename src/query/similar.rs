//! Search for chunks that are similar to a given one.

use super::answer::Ranking;
use super::answer::evidence::Evidence;
use super::cancel::Cancel;
use super::error::{QueryError, guarded};
use super::locate;
use super::parse::ParsedQuery;
use super::rank::{self, WEIGHTS};
use super::request::{Filters, Mode, Request, ViewRequest};
use super::response::Response;
use super::retrieve::dense::DenseSearch;
use super::retrieve::{self, Candidate, Candidates};
use super::search::Searcher;
use super::view::freshness::RequestUpdate;
use super::view::scope::Scope;
use super::view::{RowId, View};
use crate::config::Settings;
use crate::embed::Embedder;
use crate::sys::DotKernel;

/// Number of nearest chunks that are ranked, including the given one.
const MAX_NEIGHBOURS: usize = 200;

/// A request for chunks that are similar to the chunk at a line of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarRequest {
    /// Path of the file, relative to the root of the repository.
    pub path: String,
    /// A line of the chunk, 1-based.
    pub line: u32,
    /// The state of the codebase that is searched.
    pub view: ViewRequest,
    /// Conditions on results.
    pub filters: Filters,
    /// Number of best matches to leave out, because an earlier response had them.
    pub offset: usize,
    /// Maximum number of matches, at least 1.
    pub limit: usize,
    /// Maximum number of tokens of all matches together, at least 1.
    pub token_limit: u32,
    /// Minimum relevance of a match, 0–1.
    pub min_score: f32,
    /// Whether matches have only locations and names, no text.
    pub without_content: bool,
}

impl SimilarRequest {
    /// A request with the defaults of `settings`.
    pub fn new(path: &str, line: u32, settings: &Settings) -> SimilarRequest {
        let Request { view, filters, offset, limit, token_limit, min_score, without_content, .. } =
            Request::new("", settings);
        let path = path.to_owned();
        SimilarRequest { path, line, view, filters, offset, limit, token_limit, min_score, without_content }
    }
}

impl Searcher {
    /// Finds the chunks whose vectors are nearest to that of the chunk at `request.line`, without that chunk
    /// itself.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] if there is no such chunk, and those of [`Searcher::search`].
    pub fn similar(
        &self,
        request: &SimilarRequest,
        update: RequestUpdate<'_>,
    ) -> Result<Response, QueryError> {
        let as_search = Request {
            filters: request.filters.clone(),
            offset: request.offset,
            limit: request.limit,
            token_limit: request.token_limit,
            min_score: request.min_score,
            view: request.view.clone(),
            without_content: request.without_content,
            ..Request::new(&format!("similar to {}:{}", request.path, request.line), &self.codebase.settings)
        };
        guarded(|| {
            as_search.check()?;
            self.respond(&as_search, update, |view, _| self.rank_similar(view, request))
        })
    }

    fn rank_similar(&self, view: &View, request: &SimilarRequest) -> Result<Ranking, QueryError> {
        let file = locate::file(view, &request.path)?;
        let origin = chunk_at(view, file.doc, request.line).ok_or_else(|| QueryError::NotFound {
            what: format!("{}:{} (the file has no chunk there)", request.path, request.line),
        })?;
        let scope = view.scope(&request.filters);
        let candidates = self.neighbours(view, &scope, origin, &request.view.cancel);
        request.view.cancel.check()?;
        let query = ParsedQuery::parse("", Mode::Semantic, None);
        let context = rank::Context {
            view,
            query: &query,
            task: None,
            weights: &WEIGHTS,
            paths: &self.paths,
            filters: &request.filters,
        };
        let mut files = rank::rank(&context, &candidates);
        // The cosine is the relevance: it compares between queries as it is.
        for file in &mut files {
            file.chunks.sort_by(|a, b| b.cosine.total_cmp(&a.cosine));
            file.relevance = file.chunks[0].cosine.clamp(0.0, 1.0);
        }
        files.sort_by(|a, b| {
            b.relevance.total_cmp(&a.relevance).then_with(|| view.entry(a.entry).0.cmp(view.entry(b.entry).0))
        });
        Ok(Ranking {
            files,
            evidence: Evidence::default(),
            intent: query.intent,
            n_candidates: candidates.list.len(),
            strategies: vec!["dense_exact"],
            warnings: Vec::new(),
            absent_languages: scope.absent_languages.clone(),
            absent_paths: scope.absent_paths.clone(),
        })
    }

    /// The chunks nearest to that of `origin`, without it.
    fn neighbours(&self, view: &View, scope: &Scope, origin: RowId, cancel: &Cancel) -> Candidates {
        let (segment, _) = view.row(origin);
        let scale = self.embedder().map_or(1.0, Embedder::scale);
        let vector = segment.vector(origin.row);
        let search = DenseSearch {
            view,
            scope,
            vector,
            kernel: &DotKernel::new(vector),
            k: MAX_NEIGHBOURS,
            tuning: self.tuning,
            is_over: &|| cancel.is_cancelled(),
        };
        let nearest = retrieve::nearest(&search, scale).into_iter().filter(|(_, id)| *id != origin);
        let list = nearest.map(|(cosine, id)| Candidate {
            id,
            doc: view.doc_of(id),
            cosine,
            ..Candidate::default()
        });
        Candidates { list: list.collect(), n_scored: scope.n_rows, ..Candidates::default() }
    }
}

/// The smallest chunk of a doc that contains `line`.
fn chunk_at(view: &View, doc: u32, line: u32) -> Option<RowId> {
    let row = |id: RowId| view.row(id).1;
    locate::rows(view, doc)
        .filter(|&id| (row(id).start_line..=row(id).end_line).contains(&line))
        .min_by_key(|&id| (row(id).end_byte - row(id).start_byte, row(id).start_byte))
}
