//! How sure it is that a file answers the question: scores, which compare only within one question, become relevances, which
//! compare between questions.

use super::path_features::{self, Words};
use super::{Context, RankedFile};
use crate::query::retrieve::{Candidate, Candidates};

/// Nearness that a question nobody answers here reaches as well.
const CHANCE_NEARNESS: f32 = 0.2;
/// Nearness that is as good as certain.
const CERTAIN_NEARNESS: f32 = 0.5;

/// Turns scores, which compare only within one question, into relevances that compare between questions.
///
/// The best file is judged by absolute evidence: how much of the question its chunks cover, how near they are, and whether
/// they define what was named. The others follow by the square root of their share of its score: a use of a name scores
/// far below its definition and is still an answer.
pub fn calibrate(context: &Context<'_>, found: &Candidates, words: &Words<'_>, files: &mut [RankedFile]) {
    let Some(first) = files.first() else { return };
    let (sure, top) =
        (sureness(context, found, words, first), first.explanation.score.max(f32::MIN_POSITIVE));
    for file in files {
        file.relevance = sure * (file.explanation.score / top).clamp(0.0, 1.0).sqrt();
    }
}

/// How sure it is that a file answers the question, 0–1.
fn sureness(context: &Context<'_>, found: &Candidates, words: &Words<'_>, file: &RankedFile) -> f32 {
    let strongest = |of: &dyn Fn(&Candidate) -> f32| file.chunks.iter().map(of).fold(0.0f32, f32::max);
    let coverage = strongest(&|c| c.coverage);
    let nearness =
        ((strongest(&|c| c.cosine) - found.mean_cosine) / (1.0 - found.mean_cosine).max(0.1)).clamp(0.0, 1.0);
    let definition = strongest(&|c| c.definition);
    let has_words = !found.idf.is_empty();
    let path = file.explanation.path / context.weights.path.max(f32::MIN_POSITIVE);
    let by_path_nearness =
        if has_words { path_features::absolute_path_nearness(words, &file.chunks[0]) } else { 0.0 };
    let mention = file.explanation.mention / context.weights.mention.max(f32::MIN_POSITIVE);
    let by_nearness = if !has_words {
        // Nothing but vectors was compared: what two unrelated texts have in common by chance is no evidence.
        (nearness - CHANCE_NEARNESS) / (CERTAIN_NEARNESS - CHANCE_NEARNESS)
    } else {
        0.5 * nearness
    };
    let evidence = [
        0.75 * coverage * coverage,
        by_nearness,
        0.9 * definition,
        0.4 * path,
        0.2 * by_path_nearness,
        0.9 * mention,
    ];
    1.0 - evidence.iter().map(|evidence| 1.0 - evidence.clamp(0.0, 1.0)).product::<f32>()
}
