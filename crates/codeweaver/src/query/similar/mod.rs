//! Search for code that is similar to the definition at a line.
//!
//! * [`origin`]: the definition that is compared, or the chunk if the line is in none.
//! * [`compare`]: the similarity of single definitions.
//! * [`texts`]: the texts of files and definitions.
//!
//! The nearest chunks are found by their vectors. Chunks hold several definitions, so if embedding a
//! definition takes only microseconds, the definitions in the nearest chunks are then embedded and compared
//! one by one.

mod compare;
mod origin;
pub(super) mod texts;

use std::time::Instant;

use rustc_hash::FxHashMap;

use codeweaver_base::sys::DotKernel;
use codeweaver_config::Settings;
use codeweaver_embed::{EmbedCost, Embedder};
use codeweaver_git::quoting;
use codeweaver_store::hnsw::QueryKind;

use super::answer::Ranking;
use super::cancel::Cancel;
use super::error::QueryError;
use super::locate;
use super::parse::ParsedQuery;
use super::path_facts::PathCache;
use super::rank::{self, RankedFile, WEIGHTS};
use super::request::{Filters, Mode, Request, ViewRequest};
use super::resources::Resources;
use super::retrieve::dense::DenseSearch;
use super::retrieve::{self, Candidate, Candidates};
use super::view::View;
use super::view::scope::Scope;
use compare::Comparison;
use origin::Origin;
use texts::Texts;

/// Number of nearest chunks that are ranked, including the given one.
const MAX_NEIGHBOURS: usize = 200;

/// Warning for an answer without the vector of the definition at the line.
const WITHOUT_MODEL: &str = "Dense embedding service unavailable, the whole chunk at the line is compared";

/// A request for code that is similar to the definition at a line of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarRequest {
    /// Path of the file, relative to the root of the repository.
    pub path: String,
    /// A line of the definition, 1-based.
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
    /// Number of best matches that may have text.
    pub texts: usize,
    /// Whether the best matches with text name related symbols.
    pub related: bool,
}

impl SimilarRequest {
    /// A request with the defaults of `settings`.
    pub fn new(path: &str, line: u32, settings: &Settings) -> SimilarRequest {
        let Request {
            view,
            filters,
            offset,
            limit,
            token_limit,
            min_score,
            without_content,
            texts,
            related,
            ..
        } = Request::new("", settings);

        SimilarRequest {
            path: path.to_owned(),
            line,
            view,
            filters,
            offset,
            limit,
            token_limit,
            min_score,
            without_content,
            texts,
            related,
        }
    }

    /// The search whose filters, limits and view are those of this request.
    ///
    /// # Errors
    /// [`QueryError::Parameter`] for a path outside of the repository.
    pub(super) fn as_search(&self, settings: &Settings) -> Result<Request, QueryError> {
        let query = format!("similar to {}:{}", self.path, self.line);
        let files = vec![quoting::text(&locate::clean(&self.path)?)];

        Ok(Request {
            filters: self.filters.clone(),
            offset: self.offset,
            limit: self.limit,
            token_limit: self.token_limit,
            min_score: self.min_score,
            view: ViewRequest { files, ..self.view.clone() },
            without_content: self.without_content,
            texts: self.texts,
            related: self.related,
            ..Request::new(&query, settings)
        })
    }
}

/// Ranks the code that is nearest to the definition at the line of `request`, or to the chunk there if the
/// line is in no definition. That definition or chunk itself is left out.
///
/// # Errors
/// Those of [`Origin::find`], [`QueryError::Cancelled`], and those of reading blobs.
pub(super) fn rank_similar(
    resources: &Resources<'_>,
    view: &View,
    request: &SimilarRequest,
) -> Result<Ranking, QueryError> {
    let cancel = &request.view.cancel;
    let file = locate::file(view, &request.path)?;
    let mut texts = Texts::new(resources.codebase, view);
    let embedder = resources.model.embedder();
    let origin = Origin::find(view, &mut texts, &file, request.line)?;
    let scope = view.scope(&request.filters);

    let own_vector = origin.vector(embedder);
    let (segment, _) = view.row(origin.chunk);
    let vector = own_vector.as_deref().unwrap_or(segment.vector(origin.chunk.row));
    let kernel = DotKernel::new(vector);
    let started = Instant::now();
    let mut candidates = neighbours(resources, view, &scope, (vector, &kernel), cancel);
    let retrieval = started.elapsed();

    let mut known = FxHashMap::default();
    match (embedder, &origin.definition) {
        // Other models take too long for a hundred chunks of definitions.
        (Some(embedder), Some(definition)) if own_vector.is_some() && embedder.cost() == EmbedCost::Table => {
            let comparison = Comparison {
                view,
                origin: &origin,
                definition,
                kernel: &kernel,
                embedder,
                filters: &request.filters,
                cancel,
            };
            known = comparison.refine(&mut texts, &mut candidates.list)?;
        }
        _ => candidates.list.retain(|found| !origin.has_text_in(view, found.doc, found.id)),
    }
    cancel.check()?;

    let query = ParsedQuery::parse("", Mode::Semantic, None);
    let files = rank_by_cosine(resources.paths, view, &query, &candidates, &request.filters);
    let is_chunk_compared = origin.definition.is_some() && own_vector.is_none();
    let warning = is_chunk_compared.then(|| WITHOUT_MODEL.to_owned());
    Ok(Ranking {
        files,
        evidence: origin.evidence.with_known(known, &request.filters.kinds),
        intent: query.intent,
        n_candidates: candidates.list.len(),
        retrieval,
        strategies: candidates.strategies,
        warnings: warning.into_iter().collect(),
        notes: Vec::new(),
        absent_words: Vec::new(),
        absent_languages: scope.absent_languages.clone(),
        absent_paths: scope.absent_paths.clone(),
    })
}

/// The files of `candidates`, those with the nearest chunk first, equals by path. `query` is empty.
fn rank_by_cosine(
    paths: &PathCache,
    view: &View,
    query: &ParsedQuery,
    candidates: &Candidates,
    filters: &Filters,
) -> Vec<RankedFile> {
    let context = rank::Context { view, query, weights: &WEIGHTS, paths, filters };
    let mut files = rank::rank(&context, candidates);

    // The cosine is the relevance: it compares between queries as it is.
    for file in &mut files {
        file.chunks.sort_by(|a, b| b.cosine.total_cmp(&a.cosine));
        file.relevance = file.chunks[0].cosine.clamp(0.0, 1.0);
    }
    files.sort_by(|a, b| {
        b.relevance.total_cmp(&a.relevance).then_with(|| view.entry(a.entry).0.cmp(view.entry(b.entry).0))
    });
    files
}

/// The chunks nearest to `vector`, best first.
fn neighbours(
    resources: &Resources<'_>,
    view: &View,
    scope: &Scope,
    (vector, kernel): (&[i8], &DotKernel),
    cancel: &Cancel,
) -> Candidates {
    let scale = resources.model.embedder().map_or(1.0, Embedder::scale);
    let search = DenseSearch {
        view,
        scope,
        vector,
        kernel,
        kind: QueryKind::Row,
        k: MAX_NEIGHBOURS,
        tuning: resources.tuning,
        is_over: &|| cancel.is_cancelled(),
    };

    let (nearest, strategy) = retrieve::nearest(&search, scale);
    let list = nearest.into_iter().map(|(cosine, id)| Candidate {
        id,
        doc: view.doc_of(id),
        cosine,
        ..Candidate::default()
    });
    Candidates { list: list.collect(), strategies: vec![strategy], ..Candidates::default() }
}
