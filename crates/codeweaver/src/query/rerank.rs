//! Rerank: the best files in the order in which a cross-encoder scores their best chunks.
//!
//! A cross-encoder reads query and text together, which takes milliseconds a text, so it gets few texts and
//! has a time limit. If it fails or is late, the first ranking stays, and a warning says so.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use codeweaver_embed::{EmbedError, Reranker};
use codeweaver_index::Codebase;

use super::answer::Ranking;
use super::error::QueryError;
use super::request::{Mode, Request};
use super::response::Strategy;
use super::similar::texts::Texts;
use super::view::View;

/// The cross-encoder of the settings, opened by the first query that needs it.
#[derive(Default)]
pub(super) struct LazyReranker(OnceLock<Result<Reranker, EmbedError>>);

impl LazyReranker {
    /// Orders the best files of `ranking` by `search.rerank` of `codebase`, if that is set and `request` is a
    /// query in words.
    pub fn apply(
        &self,
        codebase: &Codebase,
        request: &Request,
        view: &View,
        ranking: &mut Ranking,
        deadline: Instant,
    ) {
        let settings = &codebase.settings.search;
        let Some(name) = &settings.rerank else { return };
        let n = ranking.files.len().min(settings.rerank_top as usize);
        if n < 2 || !matches!(request.mode, Mode::Hybrid | Mode::Semantic | Mode::Keyword) {
            return;
        }

        let opened = self.0.get_or_init(|| Reranker::open(name, &codebase.settings.model));
        let deadline = deadline.min(Instant::now() + Duration::from_millis(settings.rerank_ms));

        let scores = match opened {
            Ok(reranker) => best_texts(codebase, view, ranking, n).map(|texts| {
                reranker
                    .scores(&request.query, &texts, deadline)
                    .map_err(|error| (error.to_string(), error.fix()))
            }),
            Err(error) => Ok(Err((error.to_string(), error.fix()))),
        };

        let failure = match scores {
            Ok(Ok(Some(scores))) => {
                let mut order: Vec<usize> = (0..n).collect();
                // Stable: of equal scores the first ranking decides.
                order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
                let best: Vec<_> = ranking.files.drain(..n).collect();
                let mut best: Vec<_> = best.into_iter().map(Some).collect();
                let ordered: Vec<_> = order.into_iter().filter_map(|i| best[i].take()).collect();
                ranking.files.splice(0..0, ordered);
                ranking.strategies.push(Strategy::Rerank);
                return;
            }
            Ok(Ok(None)) => format!("it was not done within {} ms (search.rerank_ms)", settings.rerank_ms),
            Ok(Err((why, fix))) => format!("{why}; {fix}"),
            Err(error) => error.to_string(),
        };

        tracing::warn!(component = "searcher", operation = "rerank", error = %failure, "the first ranking stands");
        ranking.warnings.push(format!("not reranked by `{name}`, the first ranking is shown: {failure}"));
    }
}

/// Returns the texts of the best chunks of the best `n` files.
fn best_texts(
    codebase: &Codebase,
    view: &View,
    ranking: &Ranking,
    n: usize,
) -> Result<Vec<String>, QueryError> {
    let mut texts = Texts::new(codebase, view);

    let mut found = Vec::with_capacity(n);
    for file in &ranking.files[..n] {
        let id = file.chunks[0].id;
        let (_, row) = view.row(id);
        let (start, end) = (row.start_byte as usize, row.end_byte as usize);
        let text = texts.of_doc(id)?.get(start..end).unwrap_or_default();
        found.push(String::from_utf8_lossy(text).into_owned());
    }

    Ok(found)
}
