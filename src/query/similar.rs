//! Chunks like a given one (requirement R8).

use super::answer::Ranking;
use super::cancel::Cancel;
use super::error::{QueryError, guarded};
use super::locate;
use super::parse::intent;
use super::rank::{self, Context, WEIGHTS};
use super::request::{Filters, Request, ViewRequest};
use super::response::Response;
use super::retrieve::{self, Candidate, Candidates};
use super::search::Searcher;
use super::view::freshness::RequestUpdate;
use super::view::scope::{Scope, passes_path};
use super::view::{RowId, View};
use crate::config::Settings;
use crate::embed::Embedder;

/// Neighbours that are ranked.
const NEIGHBOURS: usize = 200;

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
    /// Finds the chunks whose vectors are nearest to that of the chunk at `request.line`, without that chunk itself.
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
        let found = self.neighbours(view, &scope, origin, &request.view.cancel);
        request.view.cancel.check()?;
        let n_candidates = found.list.len();
        let query_intent = intent::detect("", None, &[]);
        let passes = |path: &[u8], flags| passes_path(&request.filters, path, flags);
        let context = Context {
            view,
            terms: &[],
            names: &[],
            mentions: &[],
            query: "",
            intent: &query_intent,
            task: None,
            weights: &WEIGHTS,
            paths: &self.paths,
            passes: &passes,
        };
        let mut files = rank::rank(&context, &found);
        // Here the cosine itself is the relevance: it compares between questions as it is.
        for file in &mut files {
            file.chunks.sort_by(|a, b| b.cosine.total_cmp(&a.cosine));
            file.relevance = file.chunks[0].cosine.clamp(0.0, 1.0);
        }
        files.sort_by(|a, b| {
            b.relevance.total_cmp(&a.relevance).then_with(|| view.entry(a.entry).0.cmp(view.entry(b.entry).0))
        });
        Ok(Ranking {
            files,
            intent: query_intent,
            n_candidates,
            strategies: vec!["dense_exact"],
            warnings: Vec::new(),
            absent_languages: Vec::new(),
        })
    }

    fn neighbours(&self, view: &View, scope: &Scope, origin: RowId, cancel: &Cancel) -> Candidates {
        let segment = &view.reader.segments[origin.segment as usize];
        let scale = self.embedder().map_or(1.0, Embedder::scale);
        let vector = segment.vector(origin.row);
        let is_over = || cancel.is_cancelled();
        let nearest = retrieve::nearest(view, scope, vector, scale, NEIGHBOURS, &is_over);
        let list = nearest.into_iter().filter(|(_, id)| *id != origin).map(|(cosine, id)| Candidate {
            id,
            doc: view.reader.state.segments[id.segment as usize].doc_base
                + view.reader.segments[id.segment as usize].rows()[id.row as usize].doc,
            cosine,
            ..Candidate::default()
        });
        Candidates { list: list.collect(), n_scored: scope.n_rows, ..Candidates::default() }
    }
}

/// The smallest chunk that has `line`.
fn chunk_at(view: &View, doc: u32, line: u32) -> Option<RowId> {
    let row = |id: RowId| &view.reader.segments[id.segment as usize].rows()[id.row as usize];
    let holds = |id: &RowId| (row(*id).start_line..=row(*id).end_line).contains(&line);
    locate::rows(view, doc)
        .filter(holds)
        .min_by_key(|id| (row(*id).end_byte - row(*id).start_byte, row(*id).start_byte))
}
