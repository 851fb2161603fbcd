//! Pipeline: the stages from a request and its view to ranked files, in sequence.

use std::borrow::Cow;
use std::time::Instant;

use codeweaver_text as text;

use super::answer::Ranking;
use super::answer::evidence::Evidence;
use super::parse::ParsedQuery;
use super::parse::report::{Report, title};
use super::part::QueryPart;
use super::rank::{self, RankedFile, Weights, near_duplicates};
use super::report::ReportParts;
use super::request::{Mode, Request};
use super::resources::Resources;
use super::retrieve::{Candidates, Retrieval};
use super::spelling;
use super::translated;
use super::verbatim::Verbatim;
use super::view::View;

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
        let Pipeline { resources, request, view, weights, deadline } = *self;
        let min_parallel_rows = resources.tuning.min_parallel_rows;
        let has_words = matches!(request.mode, Mode::Hybrid | Mode::Keyword) && weights.whole_files > 0.0;

        // A long text, such as a stack trace, is searched for by its parts.
        if let Some(report) = has_words.then(|| Report::parse(&request.query)).flatten() {
            let parts = ReportParts::new(resources.codebase, view, request, &report);
            let (by_title, by_text) = (self.rank_part(&parts.title), self.rank_part(&parts.text));
            return parts.join(view, by_title, by_text, &request.filters.kinds);
        }

        let translation = translated::english(request, view);
        let words = translation.as_ref().map_or(&request.query, |translation| &translation.text);
        let words = title::without_references(words);

        let query = ParsedQuery::parse(words, request.mode, request.intent);
        let mut copied = Verbatim::default();
        // Translated words were not copied from the code.
        if has_words && translation.is_none() {
            let scope = view.scope(&request.filters);
            copied = Verbatim::find(request, &query.terms, view, &scope, min_parallel_rows);
        }

        let mut part = QueryPart {
            query,
            embedded: words.to_owned(),
            rows: copied.rows.clone(),
            rows_strategy: None,
            has_mentions: true,
            is_folded: true,
        };
        let mut ranking = self.rank_part(&part);

        // A word that the index lacks is the only reason to search a second time.
        let can_respell = has_words && translation.is_none() && !ranking.absent_words.is_empty();
        if let Some(respelling) =
            can_respell.then(|| spelling::respelt(words, &ranking.absent_words, view)).flatten()
        {
            part.query = ParsedQuery::parse(&respelling.text, request.mode, request.intent);
            part.embedded.clone_from(&respelling.text);
            ranking = self.rank_part(&part);
            ranking.strategies.push(spelling::STRATEGY);
            ranking.notes.push(respelling.note());
        }

        let promoted = copied.promote(resources.codebase, request, view, min_parallel_rows, &mut ranking);
        if let Err(error) = promoted {
            ranking
                .warnings
                .push(format!("files were not compared with the query as it is written: {error}"));
        }

        if let Some(translation) = &translation {
            ranking.strategies.push(translated::STRATEGY);
            ranking.notes.push(translated::note(translation));
        }

        // Last, since the cross-encoder reads only the best files of the final order.
        resources.reranker.apply(resources.codebase, request, view, &mut ranking, deadline);
        ranking
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

        let context = rank::Context {
            view,
            query,
            task: request.task,
            weights: &weights,
            paths: resources.paths,
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
}

/// Ranks candidates as files, or as chunks if the weights have no features of files.
fn ranked_files(context: &rank::Context<'_>, candidates: &Candidates, is_folded: bool) -> Vec<RankedFile> {
    if context.weights.whole_files == 0.0 {
        return rank::chunks(context, candidates);
    }

    let files = rank::rank(context, candidates);
    if is_folded { near_duplicates::fold(context.view, files) } else { files }
}
