//! Calibration: from scores, which compare within one query, to relevances, which compare between queries.
//!
//! The relevance of the best file is a probability, by logistic regression on absolute [`Evidence`]. Its
//! coefficients ([`CALIBRATION`]) are learned by `codeweaver-train calibrate` from queries that a repository
//! answers and from queries about other repositories. Those of words and vectors are then learned again by
//! `benches/refusal/fit.py`.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use codeweaver_text::QueryTerm;

use super::context::Context;
use super::ranked_file::RankedFile;
use super::weights::Weights;
use crate::query::retrieve::{Candidate, Candidates, relatives};

pub use crate::query::response::Evidence;

/// Number of words from which a query counts as long.
const MANY_WORDS: f32 = 8.0;

/// Coefficients of one logistic regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logistic {
    pub bias: f32,
    /// In the order of [`Evidence::values`].
    pub coefficients: [f32; Evidence::LEN],
}

impl Logistic {
    /// Returns the probability that a file with `evidence` answers the query, 0–1.
    pub fn probability(&self, evidence: &Evidence) -> f32 {
        probability(self.bias, &self.coefficients, &evidence.values())
    }
}

/// Returns the probability that a logistic regression gives for `values`, 0–1.
pub fn probability<const N: usize>(bias: f32, coefficients: &[f32; N], values: &[f32; N]) -> f32 {
    let products = values.iter().zip(coefficients).map(|(value, factor)| value * factor);
    1.0 / (1.0 + libm::expf(-(bias + products.sum::<f32>())))
}

/// The coefficients, by the kinds of evidence that are available.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Words and vectors.
    pub hybrid: Logistic,
    /// Words alone: the cosine is 0.
    pub keyword: Logistic,
    /// Vectors alone: coverage, absent and inflected words, definition and path are 0.
    pub semantic: Logistic,
}

/// The coefficients in use.
pub static CALIBRATION: LazyLock<Calibration> = LazyLock::new(|| {
    // The file is compiled in and read by a test, so an error in it is a bug.
    serde_json::from_str(include_str!("calibration.json"))
        .unwrap_or_else(|e| panic!("src/query/rank/calibration.json: {e}"))
});

/// Sets the evidence and the relevance of `files`, which are sorted by score.
///
/// The relevance of the best file follows from its evidence. That of the others is multiplied by the square
/// root of their share of the best score, because a use of a name scores far below its definition and is
/// still relevant.
pub fn calibrate(context: &Context<'_>, candidates: &Candidates, files: &mut [RankedFile]) {
    let query = QueryEvidence::new(context, candidates);
    for file in files.iter_mut() {
        file.evidence = query.evidence(context.weights, file);
    }

    let Some(best) = files.first() else { return };
    let relevance = query.relevance(best);
    let best_score = best.explanation.score.max(f32::MIN_POSITIVE);

    for file in files {
        file.relevance = relevance * (file.explanation.score / best_score).clamp(0.0, 1.0).sqrt();
    }
}

/// The evidence that all files of a query share.
struct QueryEvidence {
    shared: Evidence,
    has_words: bool,
    has_vectors: bool,
}

impl QueryEvidence {
    fn new(context: &Context<'_>, candidates: &Candidates) -> QueryEvidence {
        let n_words = context.query.words().count();
        let absent = candidates.absent_terms(context.query);
        let (inflected, absent): (Vec<_>, Vec<_>) =
            absent.partition(|term| relatives::has_relative(context.view, &term.term));

        let share = |words: &[&QueryTerm]| words.len() as f32 / n_words.max(1) as f32;
        let shared = Evidence {
            coverage: candidates.list.iter().map(|c| c.coverage).fold(0.0f32, f32::max),
            absent: share(&absent),
            inflected: share(&inflected),
            words: (n_words as f32 / MANY_WORDS).min(1.0),
            rows: (libm::logf(1.0 + context.view.n_rows() as f32) / 10.0).min(1.0),
            ..Evidence::default()
        };

        QueryEvidence {
            shared,
            has_words: !candidates.idf.is_empty(),
            has_vectors: candidates.list.iter().any(|c| c.cosine != 0.0),
        }
    }

    fn evidence(&self, weights: &Weights, file: &RankedFile) -> Evidence {
        let max = |of: &dyn Fn(&Candidate) -> f32| file.chunks.iter().map(of).fold(0.0f32, f32::max);
        Evidence {
            cosine: max(&|c| c.cosine),
            definition: max(&|c| c.definition),
            // Not the feature itself: a quotient may differ from it in the last bit.
            path: file.explanation.path / weights.path.max(f32::MIN_POSITIVE),
            ..self.shared
        }
    }

    /// Returns the probability that `file` answers the query, 0–1.
    fn relevance(&self, file: &RankedFile) -> f32 {
        // A definition is evidence of words, even if the tokeniser finds none in the query.
        let has_words = self.has_words || file.evidence.definition > 0.0;
        let model = match (has_words, self.has_vectors) {
            (true, true) => &CALIBRATION.hybrid,
            (true, false) => &CALIBRATION.keyword,
            (false, _) => &CALIBRATION.semantic,
        };

        // A file that the query names is meant, regardless of the other words of the query.
        1.0 - (1.0 - model.probability(&file.evidence)) * (1.0 - 0.9 * file.features.file.mention)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_evidence_makes_a_file_more_relevant() {
        let some = Evidence { cosine: 0.3, coverage: 0.5, words: 0.5, rows: 0.7, ..Evidence::default() };
        for model in [&CALIBRATION.hybrid, &CALIBRATION.keyword] {
            let probability = model.probability(&some);
            assert!((0.0..=1.0).contains(&probability));
            let inflected = model.probability(&Evidence { inflected: 0.5, ..some });
            assert!(inflected < probability);
            assert!(model.probability(&Evidence { absent: 0.5, ..some }) < inflected);
            for more in [
                Evidence { coverage: 0.9, ..some },
                Evidence { definition: 1.0, ..some },
                Evidence { path: 1.0, ..some },
            ] {
                assert!(model.probability(&more) > probability, "{more:?}");
            }
        }
        assert!(
            CALIBRATION.hybrid.probability(&Evidence { cosine: 0.6, ..some })
                > CALIBRATION.hybrid.probability(&some)
        );
    }
}
