//! Rank: from candidates to files in order, each with its best chunks. No I/O.
//!
//! * [`weights`]: the one table of weights; [`own_weights`]: a user's own table in its place.
//! * [`context`], [`ranked_file`]: the input and the output.
//! * [`features`]: everything known about a candidate, as plain data; [`path_features`] and [`roles`] are
//!   parts of it.
//! * `intents`, [`intent_fit`], `entry_point`, [`marks`]: effects of the intent of the query.
//! * [`calibration`]: from scores to relevances.
//! * [`near_duplicates`]: files that are almost the same as a better one.
//!
//! The score of a file is that of its best chunk, plus features of the file as a whole, plus the fit of its
//! path, times priors for its role. `docs/ranking.md` describes each feature and its contribution to the
//! quality of results.

pub mod calibration;
pub mod context;
mod entry_point;
pub mod features;
pub mod intent_fit;
mod intents;
pub mod marks;
pub mod near_duplicates;
pub mod own_weights;
pub mod path_features;
pub mod ranked_file;
pub mod roles;
pub mod weights;

use super::parse::mentions;
use super::retrieve::{Candidate, Candidates};
use super::view::scope::passes_path;
use features::{ChunkFeatures, ChunkSums, Extractor, FileFeatures, chunk_sums};
use roles::Roles;

pub use super::response::Explanation;
pub use context::Context;
pub use features::{Features, class_of};
pub use ranked_file::{NearDuplicate, RankedFile};
pub use weights::{WEIGHTS, Weights};

/// A candidate with its features.
struct ScoredChunk {
    candidate: Candidate,
    features: ChunkFeatures,
    /// The contributions of the chunk alone.
    explanation: Explanation,
}

/// Ranks files, best first; ties by path.
pub fn rank(context: &Context<'_>, candidates: &Candidates) -> Vec<RankedFile> {
    let extractor = Extractor::new(context, candidates);
    let scored = score_chunks(context, &extractor, candidates);
    let chunks: Vec<_> = scored.iter().map(|chunk| (chunk.candidate.doc, chunk.explanation)).collect();
    let sums = chunk_sums(&chunks, context.weights);

    let mut files = group_by_file(context, &extractor, scored);
    for file in &mut files {
        let sums = sums.get(&file.doc).copied().unwrap_or_else(ChunkSums::default);
        file.features.file = extractor.file(file.entry, &file.chunks[0], sums);
        file.explanation = file.features.contributions(context.weights);
    }

    sort(context, &mut files);

    // The intent is applied to the best files only, so they are sorted before and after.
    if let Some(intent) = context.query.acting_intent() {
        intent_fit::apply(context, candidates, &mut files);
        sort(context, &mut files);

        if intent.profile().entry_points {
            entry_point::apply(context, &mut files);
            sort(context, &mut files);
        }
    }

    calibration::calibrate(context, candidates, &mut files);
    files
}

/// Sorts files by score, best first; ties by path. If the query is a name and nothing else, files that
/// declare it come before those that use it.
fn sort(context: &Context<'_>, files: &mut [RankedFile]) {
    let is_name = context.query.is_written_name();

    let declares = |file: &RankedFile| is_name && declares(context, file);
    let path = |file: &RankedFile| context.view.entry(file.entry).0;
    files.sort_by(|a, b| {
        declares(b)
            .cmp(&declares(a))
            .then_with(|| b.explanation.score.total_cmp(&a.explanation.score))
            .then_with(|| path(a).cmp(path(b)))
    });
}

/// Returns whether a file declares a name of the query, and is not merely a test, an example or the like.
fn declares(context: &Context<'_>, file: &RankedFile) -> bool {
    let weights = context.weights;
    let is_secondary = file.features.file.roles.prior(weights) < weights.prior_reexport;
    !is_secondary && file.chunks.iter().any(|chunk| chunk.declares)
}

/// Ranks chunks by their similarity alone, each as if it were a file. For evaluation: it shows the quality of
/// retrieval without the features of files.
pub fn chunks(context: &Context<'_>, candidates: &Candidates) -> Vec<RankedFile> {
    let extractor = Extractor::new(context, candidates);
    let mut scored = score_chunks(context, &extractor, candidates);
    scored.sort_by(|a, b| similarity(context, &extractor, b).total_cmp(&similarity(context, &extractor, a)));

    let mut files = Vec::with_capacity(scored.len());
    for chunk in scored {
        let doc = chunk.candidate.doc;
        let Some((entry, also_at)) = best_entry(context, &extractor, doc) else { continue };
        let score = similarity(context, &extractor, &chunk);

        files.push(RankedFile {
            entry,
            doc,
            also_at,
            near_duplicates: Vec::new(),
            reasons: Vec::new(),
            entry_point: None,
            features: Features { chunk: chunk.features, file: FileFeatures::default() },
            explanation: Explanation { score, ..chunk.explanation },
            chunks: vec![chunk.candidate],
            evidence: calibration::Evidence::default(),
            relevance: 0.0,
        });
    }
    files
}

/// The similarity of a chunk and of its path.
fn similarity(context: &Context<'_>, extractor: &Extractor<'_>, chunk: &ScoredChunk) -> f32 {
    let explanation = &chunk.explanation;
    let by_path = context.weights.path_dense * extractor.path_query().relative_cosine(&chunk.candidate);
    explanation.lexical + explanation.dense + by_path
}

fn score_chunks(
    context: &Context<'_>,
    extractor: &Extractor<'_>,
    candidates: &Candidates,
) -> Vec<ScoredChunk> {
    let mut scored = Vec::with_capacity(candidates.list.len());
    for candidate in &candidates.list {
        let features = extractor.chunk(candidate);
        let explanation = features.contributions(context.weights);
        scored.push(ScoredChunk { candidate: candidate.clone(), features, explanation });
    }

    scored
}

/// Groups chunks into files, in no order. A chunk with a line that the query names comes first, then the
/// best.
fn group_by_file(
    context: &Context<'_>,
    extractor: &Extractor<'_>,
    mut scored: Vec<ScoredChunk>,
) -> Vec<RankedFile> {
    scored.sort_by_key(|chunk| chunk.candidate.doc);

    let mut files = Vec::new();
    for chunks in scored.chunk_by_mut(|a, b| a.candidate.doc == b.candidate.doc) {
        let doc = chunks[0].candidate.doc;
        let Some((entry, also_at)) = best_entry(context, extractor, doc) else { continue };
        let (path, _) = context.view.entry(entry);

        chunks.sort_by(|a, b| {
            let (a, b) = (chunk_key(context, a, path), chunk_key(context, b, path));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
        });

        files.push(RankedFile {
            entry,
            doc,
            also_at,
            near_duplicates: Vec::new(),
            reasons: Vec::new(),
            entry_point: None,
            features: Features { chunk: chunks[0].features, file: FileFeatures::default() },
            explanation: chunks[0].explanation,
            chunks: chunks.iter().map(|chunk| chunk.candidate.clone()).collect(),
            evidence: calibration::Evidence::default(),
            relevance: 0.0,
        });
    }

    files
}

/// The values by which the chunks of the file at `path` are ordered, the least first.
fn chunk_key(context: &Context<'_>, chunk: &ScoredChunk, path: &[u8]) -> (bool, f32, u32) {
    let position = context.view.row(chunk.candidate.id).1.start_byte;
    (!has_mentioned_line(context, &chunk.candidate, path), -chunk.explanation.chunk(), position)
}

/// Returns the entry of a doc whose path fits best, and the others; `None` if no path passes the filters.
fn best_entry(context: &Context<'_>, extractor: &Extractor<'_>, doc: u32) -> Option<(u32, Vec<u32>)> {
    let Context { view, query, weights, .. } = *context;
    let mut entries: Vec<u32> = view
        .entries_of(doc)
        .filter(|&id| {
            let (path, flags) = view.entry(id);
            passes_path(context.filters, path, flags)
        })
        .collect();

    if entries.len() > 1 {
        let mut scored: Vec<(f32, &[u8], u32)> = Vec::with_capacity(entries.len());
        for &id in &entries {
            let (path, flags) = view.entry(id);
            let share = extractor.path_query().share(&context.paths.get(path), weights);
            let prior = Roles::unwanted(query, flags, "").prior(weights);
            scored.push((prior * (1.0 + share + mentions::best_fit(&query.mentions, path)), path, id));
        }
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        entries = scored.into_iter().map(|(_, _, id)| id).collect();
    }

    let first = *entries.first()?;
    Some((first, entries.split_off(1)))
}

/// Returns whether the query names a line of this chunk of the file at `path`.
fn has_mentioned_line(context: &Context<'_>, candidate: &Candidate, path: &[u8]) -> bool {
    let (_, row) = context.view.row(candidate.id);
    context.query.mentions.iter().any(|mention| {
        mention.line.is_some_and(|line| (row.start_line..=row.end_line).contains(&line))
            && mentions::fit(mention, path) > 0.0
    })
}
