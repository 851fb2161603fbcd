//! Pipeline: the stages from a request and its view to ranked files, each of which a query passes once.
//!
//! The form in which the query is searched for, retrieval and ranking of its parts, and the stages that
//! change the order of the ranked files.

use std::borrow::Cow;
use std::time::Instant;

use codeweaver_text as text;

use super::answer::Ranking;
use super::answer::evidence::Evidence;
use super::engine::Wanted;
use super::error::QueryError;
use super::form::Form;
use super::part::QueryPart;
use super::raised::Raised;
use super::rank::{self, Weights, near_duplicates};
use super::request::{Mode, Request};
use super::resources::Resources;
use super::retrieve::Retrieval;
use super::stage::Stage;
use super::view::View;
use super::wanted;

/// The stages after ranking, in their order. Files that raise a message come before those that repeat it. The
/// cross-encoder is the last, since it reads only the best files of the final order.
const LATER: [Stage; 3] = [Stage::Verbatim, Stage::Raised, Stage::Rerank];

/// The ranking of the files of a view for a request.
pub struct Pipeline<'a> {
    pub resources: Resources<'a>,
    pub request: &'a Request,
    pub view: &'a View,
    pub weights: &'a Weights,
    /// The time at which retrieval ends.
    pub deadline: Instant,
}

impl Pipeline<'_> {
    /// Ranks all files, without limits and texts.
    pub fn run(&self) -> Ranking {
        let Pipeline { resources, request, view, .. } = self;

        let is_by_words = self.is_by_words();
        let (raised, unread) = match self.raised(is_by_words) {
            Ok(raised) => (raised, None),
            Err(error) => (Raised::default(), Some(error)),
        };
        let form = Form::choose(resources, request, view, is_by_words, &raised);

        let mut ranking = form.rank(view, &request.filters.kinds, |part| self.rank_part(part));
        if let Some(error) = unread {
            ranking.warnings.push(format!("code was not compared with the message in the query: {error}"));
        }

        for stage in LATER {
            if request.stages.has(stage) {
                self.apply(stage, &form, &raised, &mut ranking);
            }
        }
        ranking
    }

    /// The candidates that an engine has to find for the query. The view needs the counts of the engine and
    /// no files.
    pub fn wanted(&self) -> Vec<Wanted> {
        let Pipeline { resources, request, view, weights, .. } = self;
        let form = Form::choose(resources, request, view, self.is_by_words(), &Raised::default());
        let of_part = |part: &QueryPart| wanted::of_part(part, request, resources.model, weights);

        let mut all: Vec<Wanted> = form.parts().into_iter().map(of_part).collect();
        // A message that code prints is searched for as typed, which only its candidates show.
        if matches!(form, Form::Translated { .. } | Form::Respelt { .. }) {
            all.push(of_part(&QueryPart::new(&request.query, request)));
        }
        all
    }

    /// Returns whether files are searched for by words.
    fn is_by_words(&self) -> bool {
        let Request { mode, stages, .. } = self.request;
        matches!(mode, Mode::Hybrid | Mode::Keyword) && stages.has(Stage::Files)
    }

    /// Finds the code that prints the message in the query, if files are searched for by words.
    fn raised(&self, is_by_words: bool) -> Result<Raised, QueryError> {
        let Pipeline { resources, request, view, deadline, .. } = self;
        if !is_by_words || !request.stages.has(Stage::Raised) {
            return Ok(Raised::default());
        }

        let cancel = &request.view.cancel;
        Raised::find(resources, request, view, &|| Instant::now() > *deadline || cancel.is_cancelled())
    }
    /// Applies one of the [`LATER`] stages to `ranking`.
    fn apply(&self, stage: Stage, form: &Form, raised: &Raised, ranking: &mut Ranking) {
        let Pipeline { resources: Resources { codebase, reranker, tuning, .. }, request, view, .. } = *self;

        match (stage, form) {
            (Stage::Raised, _) => raised.promote(view, ranking),
            // The parts of a long query are evidence enough for its order.
            (_, Form::Report(_)) => {}
            (Stage::Verbatim, Form::Typed { copied, .. }) => {
                let promoted = copied.promote(codebase, request, view, tuning.min_parallel_rows, ranking);
                if let Err(error) = promoted {
                    let what = "files were not compared with the query as it is written";
                    ranking.warnings.push(format!("{what}: {error}"));
                }
            }
            (Stage::Rerank, _) => reranker.apply(codebase, request, view, ranking, self.deadline),
            _ => {}
        }
    }

    /// Retrieves and ranks the files for one part of the query.
    fn rank_part(&self, part: &QueryPart) -> Ranking {
        let Pipeline { resources, request, view, deadline, .. } = *self;
        let query = &part.query;
        let scope = view.scope(&request.filters);
        let cancel = &request.view.cancel;
        let (vector, mut warnings) = resources.model.vector(request.mode, &part.embedded);

        let mut weights = Cow::Borrowed(self.weights);
        if !part.has_mentions {
            weights.to_mut().mention = 0.0;
        }

        let started = Instant::now();
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
            rows: &part.rows,
            rows_strategy: part.rows_strategy,
            paths: resources.paths,
            tuning: resources.tuning,
            is_over: &|| Instant::now() > deadline || cancel.is_cancelled(),
        }
        .run();
        let retrieval = started.elapsed();

        let context = rank::Context {
            view,
            query,
            weights: &weights,
            paths: resources.paths,
            filters: &request.filters,
        };

        // The answer to a cancelled request is discarded, so ranking would be wasted work.
        let mut files = Vec::new();
        if !cancel.is_cancelled() {
            files = match request.stages.has(Stage::Files) {
                true => rank::rank(&context, &candidates),
                false => rank::chunks(&context, &candidates),
            };
        }
        if part.is_folded && request.stages.has(Stage::Files) {
            files = near_duplicates::fold(view, files);
        }

        if candidates.timed_out || Instant::now() > deadline {
            let timeout_ms = request.view.timeout.as_millis();
            warnings
                .push(format!("the time budget of {timeout_ms} ms was used up, results may be incomplete"));
        }

        Ranking {
            files,
            absent_words: text::as_written(&query.text, candidates.absent_terms(query)),
            evidence: Evidence::new(view, query, &candidates.idf, &request.filters.kinds).with_vector(vector),
            intent: query.intent.clone(),
            n_candidates: candidates.list.len(),
            retrieval,
            strategies: candidates.strategies,
            warnings,
            notes: Vec::new(),
            absent_languages: scope.absent_languages.clone(),
            absent_paths: scope.absent_paths.clone(),
        }
    }
}
