//! Labelled queries of a suite → features of the files found for them.

use crate::error::EvalError;
use crate::metric::{DEPTH, Hit, Label, Scores, score};
use crate::{Runner, ablate};
use codeweaver::query::rank::features::LINEAR_WEIGHTS;
use codeweaver::query::rank::{RankedFile, Weights};

/// Names of the learned weights: those in which the score is linear.
pub const NAMES: [&str; LINEAR_WEIGHTS.len()] = LINEAR_WEIGHTS;

/// One number for each of [`NAMES`].
pub type Linear = [f32; NAMES.len()];

/// Maximum number of files of a query: the best by the given weights, which nearly always include the
/// relevant ones.
const N_FILES: usize = 60;

/// A labelled query with the files found for it.
#[derive(Debug, Clone)]
pub struct RankedQuery {
    /// Number of the suite and name of the repository in it.
    pub repository: (usize, String),
    pub language: String,
    pub category: String,
    pub files: Vec<File>,
    targets: Vec<Label>,
}

/// A file with its features.
#[derive(Debug, Clone)]
pub struct File {
    pub features: Linear,
    /// Product of prior and intent.
    pub factor: f32,
    pub is_relevant: bool,
    place: Hit,
}

impl File {
    pub fn score(&self, weights: &Linear) -> f32 {
        self.factor * self.features.iter().zip(weights).map(|(feature, weight)| feature * weight).sum::<f32>()
    }
}

impl RankedQuery {
    /// Metrics of the order that `weights` give.
    pub fn scores(&self, weights: &Linear) -> Scores {
        let mut order: Vec<(f32, &File)> =
            self.files.iter().map(|file| (file.score(weights), file)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.place.path.cmp(&b.1.place.path)));
        let places: Vec<Hit> = order.into_iter().take(DEPTH).map(|(_, file)| file.place.clone()).collect();
        score(&places, &self.targets, DEPTH)
    }
}

/// Runs all queries of a suite with `weights`.
pub fn collect(runner: &Runner, suite: usize, weights: &Weights) -> Vec<RankedQuery> {
    let mut queries = Vec::new();
    for opened in runner.repositories() {
        for labelled in &opened.repository.queries {
            let mut request = opened.request(&labelled.query);
            request.intent = labelled.intent;
            let ranked = opened.rank(&request, weights);
            let file = |file: &RankedFile| {
                let place = opened.hit(file, labelled.labels.iter().any(|target| target.contains.is_some()));
                let features = file.features.linear(weights);
                let factor = file.explanation.prior * file.explanation.part * file.explanation.intent;
                let is_relevant = labelled.labels.iter().any(|target| target.is_covered_by(&place));
                File { features, factor, is_relevant, place }
            };
            queries.push(RankedQuery {
                repository: (suite, opened.repository.name.clone()),
                language: labelled.language.clone().unwrap_or_else(|| opened.repository.language.clone()),
                category: labelled.category.clone(),
                files: ranked.iter().take(N_FILES).map(file).collect(),
                targets: labelled.labels.clone(),
            });
        }
    }
    queries
}

/// The learned weights of the table.
pub fn linear(weights: &Weights) -> Linear {
    NAMES.map(|name| ablate::value(weights, name))
}

/// Returns `weights` with the learned ones replaced, rounded to three decimals.
pub fn with_linear(weights: &Weights, learned: &Linear) -> Result<Weights, EvalError> {
    let mut weights = weights.clone();
    for (name, value) in NAMES.iter().zip(learned) {
        weights = ablate::with(&weights, name, (value * 1000.0).round() / 1000.0)?;
    }
    Ok(weights)
}

/// All weights as JSON by name, rounded to four decimals.
pub fn json(weights: &Weights) -> String {
    let line = |(name, value): (String, f32)| {
        let value = (f64::from(value) * 10_000.0).round() / 10_000.0;
        format!("  \"{name}\": {value:?}")
    };
    format!("{{\n{}\n}}\n", weights.by_name().into_iter().map(line).collect::<Vec<_>>().join(",\n"))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A query of `repository` with one relevant and one other file; only their first two features are not 0.
    pub fn query(repository: &str, relevant: [f32; 2], other: [f32; 2]) -> RankedQuery {
        let file = |path: &str, first: [f32; 2], is_relevant| {
            let mut features = [0.0; NAMES.len()];
            features[..2].copy_from_slice(&first);
            File {
                features,
                factor: 1.0,
                is_relevant,
                place: Hit { path: path.to_owned(), lines: (1, 9), ..Hit::default() },
            }
        };
        RankedQuery {
            repository: (0, repository.to_owned()),
            language: "c".to_owned(),
            category: "semantic".to_owned(),
            files: vec![file("other.c", other, false), file("relevant.c", relevant, true)],
            targets: vec![Label { path: "relevant.c".to_owned(), ..Label::default() }],
        }
    }

    #[test]
    fn every_learned_weight_is_one_of_the_table() {
        let names = ablate::names();
        assert!(NAMES.iter().all(|name| names.iter().any(|known| known == name)));
        let weights = codeweaver::query::rank::WEIGHTS.clone();
        let text = json(&weights);
        let read: Weights = serde_json::from_str(&text).unwrap();
        assert_eq!(read, weights, "written and read back");
    }
}
