//! Runs the labelled queries of a suite and computes the features of the files found for them.

use codeweaver::query::rank::features::LINEAR_WEIGHTS;
use codeweaver::query::rank::{RankedFile, Weights};

use crate::error::EvalError;
use crate::metric::{DEPTH, Hit, Label, Scores, score};
use crate::runner::OpenRepository;
use crate::{Runner, ablate};

/// Names of the learned weights, in which the score is linear.
pub const NAMES: [&str; LINEAR_WEIGHTS.len()] = LINEAR_WEIGHTS;

/// One number for each of [`NAMES`].
pub type Linear = [f32; NAMES.len()];

/// Maximum number of files of a query: the best by the given weights, which nearly always include the
/// relevant ones.
const N_FILES: usize = 60;

/// A labelled query with the files found for it.
#[derive(Debug, Clone)]
pub struct RankedQuery {
    /// The number of the suite, and the name of the repository in it.
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
    /// Returns the metrics of the order that `weights` give. Of equal scores the smaller path comes first.
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
            let files = ranked.iter().take(N_FILES);

            queries.push(RankedQuery {
                repository: (suite, opened.repository.name.clone()),
                language: labelled.language.clone().unwrap_or_else(|| opened.repository.language.clone()),
                category: labelled.category.clone(),
                files: files.map(|file| with_features(opened, file, &labelled.labels, weights)).collect(),
                targets: labelled.labels.clone(),
            });
        }
    }

    queries
}

/// Computes the features of a ranked file, and whether it covers one of `labels`.
fn with_features(opened: &OpenRepository, file: &RankedFile, labels: &[Label], weights: &Weights) -> File {
    // The text of a chunk is read only if a label needs it.
    let place = opened.hit(file, labels.iter().any(|label| label.contains.is_some()));
    let features = file.features.linear(weights);
    let factor = file.explanation.prior * file.explanation.part * file.explanation.intent;
    let is_relevant = labels.iter().any(|label| label.is_covered_by(&place));
    File { features, factor, is_relevant, place }
}

/// Returns the learned weights of the table.
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

/// Formats all weights as JSON by name, rounded to four decimals.
pub fn json(weights: &Weights) -> String {
    let mut lines = Vec::new();
    for (name, value) in weights.by_name() {
        let value = (f64::from(value) * 10_000.0).round() / 10_000.0;
        lines.push(format!("  \"{name}\": {value:?}"));
    }

    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A query of `repository` with one relevant and one other file; only their first two features are not 0.
    pub fn query(repository: &str, relevant: [f32; 2], other: [f32; 2]) -> RankedQuery {
        RankedQuery {
            repository: (0, repository.to_owned()),
            language: "c".to_owned(),
            category: "semantic".to_owned(),
            files: vec![file("other.c", other, false), file("relevant.c", relevant, true)],
            targets: vec![Label { path: "relevant.c".to_owned(), ..Label::default() }],
        }
    }

    fn file(path: &str, first: [f32; 2], is_relevant: bool) -> File {
        let mut features = [0.0; NAMES.len()];
        features[..2].copy_from_slice(&first);

        let place = Hit { path: path.to_owned(), lines: (1, 9), ..Hit::default() };
        File { features, factor: 1.0, is_relevant, place }
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
