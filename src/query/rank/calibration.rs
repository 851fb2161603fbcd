//! Calibration: from scores, which compare within one query, to relevances, which compare between queries.

use super::features::Extractor;
use super::ranked_file::RankedFile;
use super::weights::Weights;
use crate::query::retrieve::{Candidate, Candidates};

/// Nearness of the best chunk that queries about something absent reach as well.
const CHANCE_NEARNESS: f32 = 0.2;
/// Nearness of the best chunk that leaves no doubt.
const CERTAIN_NEARNESS: f32 = 0.5;

/// Sets the relevance of `files`, which are sorted by score.
///
/// The relevance of the best file follows from absolute evidence: the share of the query that its chunks
/// cover, their nearness, and whether they define what the query names. For the others it is multiplied by
/// the square root of their share of the best score, because a use of a name scores far below its definition
/// and is still relevant.
pub fn calibrate(
    extractor: &Extractor<'_>,
    weights: &Weights,
    candidates: &Candidates,
    files: &mut [RankedFile],
) {
    let Some(best) = files.first() else { return };
    let relevance = absolute_relevance(extractor, weights, candidates, best);
    let best_score = best.explanation.score.max(f32::MIN_POSITIVE);
    for file in files {
        file.relevance = relevance * (file.explanation.score / best_score).clamp(0.0, 1.0).sqrt();
    }
}

/// Probability that `file` is relevant, 0–1, from independent kinds of evidence.
fn absolute_relevance(
    extractor: &Extractor<'_>,
    weights: &Weights,
    candidates: &Candidates,
    file: &RankedFile,
) -> f32 {
    let max = |of: &dyn Fn(&Candidate) -> f32| file.chunks.iter().map(of).fold(0.0f32, f32::max);
    let coverage = max(&|c| c.coverage);
    let mean = candidates.mean_cosine;
    let nearness = ((max(&|c| c.cosine) - mean) / (1.0 - mean).max(0.1)).clamp(0.0, 1.0);
    let definition = max(&|c| c.definition);
    let has_terms = !candidates.idf.is_empty();
    // Not the features themselves: a quotient may differ from them in the last bit.
    let path = file.explanation.path / weights.path.max(f32::MIN_POSITIVE);
    let mention = file.explanation.mention / weights.mention.max(f32::MIN_POSITIVE);
    let path_nearness = if has_terms { extractor.path_query().absolute_cosine(&file.chunks[0]) } else { 0.0 };
    let by_nearness = if has_terms {
        0.5 * nearness
    } else {
        // Vectors are the only evidence, and two unrelated texts have some similarity by chance.
        (nearness - CHANCE_NEARNESS) / (CERTAIN_NEARNESS - CHANCE_NEARNESS)
    };
    let evidence = [
        0.75 * coverage * coverage,
        by_nearness,
        0.9 * definition,
        0.4 * path,
        0.2 * path_nearness,
        0.9 * mention,
    ];
    1.0 - evidence.iter().map(|evidence| 1.0 - evidence.clamp(0.0, 1.0)).product::<f32>()
}
