//! Chunks like a given one (requirement R8).

use super::cancel::Cancel;
use super::error::{QueryError, guarded};
use super::locate;
use super::parse::intent;
use super::rank::{self, Context, WEIGHTS};
use super::request::{Filters, Request};
use super::response::Response;
use super::retrieve::{self, Candidate, Candidates};
use super::search::{AskUpdater, Found, Searcher};
use super::view::scope::{Scope, passes_path};
use super::view::{RowId, View};
use crate::embed::Embedder;
use std::time::Instant;

/// Neighbours that are ranked.
const NEIGHBOURS: usize = 200;

/// What to compare with: the chunk at a line of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarRequest {
    /// Repository-relative.
    pub path: String,
    /// 1-based.
    pub line: u32,
    pub rev: Option<String>,
    pub filters: Filters,
    pub offset: usize,
    pub limit: usize,
    pub token_limit: u32,
    pub min_score: f32,
    pub without_content: bool,
    /// Whether somebody still waits.
    pub cancel: Cancel,
}

impl Searcher {
    /// Finds chunks whose vectors are nearest to that of the chunk at `request.line`, itself left out.
    pub fn similar(&self, request: &SimilarRequest, updater: AskUpdater<'_>) -> Result<Response, QueryError> {
        guarded(&self.codebase, || self.similar_unguarded(request, updater))
    }

    fn similar_unguarded(
        &self,
        request: &SimilarRequest,
        updater: AskUpdater<'_>,
    ) -> Result<Response, QueryError> {
        let started = Instant::now();
        let settings = &self.codebase.settings;
        let as_search = Request {
            filters: request.filters.clone(),
            offset: request.offset,
            limit: request.limit,
            token_limit: request.token_limit,
            min_score: request.min_score,
            rev: request.rev.clone(),
            without_content: request.without_content,
            cancel: request.cancel.clone(),
            ..Request::new(&format!("similar to {}:{}", request.path, request.line), settings)
        };
        as_search.check()?;
        guarded(&self.codebase, || {
            let (view, answer) = self.verified(&as_search, updater, |view, _| {
                let found = self.similar_in(view, request)?;
                self.to_answer(&as_search, view, found)
            })?;
            Ok(self.respond(&as_search, &view, answer, started))
        })
    }

    fn similar_in(&self, view: &View, request: &SimilarRequest) -> Result<Found, QueryError> {
        let file = locate::file(view, &request.path)?;
        let origin = chunk_at(view, file.doc, request.line).ok_or_else(|| QueryError::NotFound {
            what: format!("{}:{} (the file has no chunk there)", request.path, request.line),
        })?;
        let scope = view.scope(&request.filters);
        let found = self.neighbours(view, &scope, origin, &request.cancel);
        request.cancel.check()?;
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
        Ok(Found { files, n_candidates, strategies: vec!["dense_exact"], ..Found::new(query_intent) })
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
