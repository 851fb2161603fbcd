//! Questions of a suite → signals of the files found for them.

use anyhow::Result;
use codeweaver::eval::metric::{DEPTH, Place, Scores, Target, score};
use codeweaver::eval::{Runner, ablate};
use codeweaver::query::rank::{Explanation, RankedFile, Weights};

/// The weights that are learned: those that the score is linear in.
pub const NAMES: [&str; 14] = [
    "lexical",
    "dense",
    "definition",
    "definition_in_sentence",
    "importance",
    "file_sum",
    "second_chunk",
    "file_lexical",
    "size",
    "path",
    "path_dense",
    "depth",
    "name_words",
    "mention",
];

/// One number for each of [`NAMES`].
pub type Linear = [f32; NAMES.len()];

/// Files that are learned from: the best by the weights in use, which nearly always hold the right ones.
const N_FILES: usize = 60;
/// A signal is read from what it contributed, so no weight may be 0 meanwhile.
const LEAST_WEIGHT: f32 = 1e-3;

/// A question with what was found for it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Number of the suite and name of the repository in it.
    pub repository: (usize, String),
    pub language: String,
    pub category: String,
    pub files: Vec<File>,
    targets: Vec<Target>,
}

/// A file with its signals.
#[derive(Debug, Clone)]
pub struct File {
    pub signals: Linear,
    /// Product of prior and intent.
    pub factor: f32,
    pub is_right: bool,
    place: Place,
}

impl File {
    pub fn score(&self, weights: &Linear) -> f32 {
        self.factor * self.signals.iter().zip(weights).map(|(signal, weight)| signal * weight).sum::<f32>()
    }
}

impl Asked {
    /// Figures of the answer that `weights` would give.
    pub fn scores(&self, weights: &Linear) -> Scores {
        let mut order: Vec<(f32, &File)> =
            self.files.iter().map(|file| (file.score(weights), file)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.place.path.cmp(&b.1.place.path)));
        let places: Vec<Place> = order.into_iter().take(DEPTH).map(|(_, file)| file.place.clone()).collect();
        score(&places, &self.targets, DEPTH)
    }
}

/// Asks everything with `weights`.
pub fn read(runner: &Runner, suite: usize, weights: &Weights) -> Result<Vec<Asked>> {
    let mut all = linear(weights);
    all.iter_mut().for_each(|weight| *weight = weight.max(LEAST_WEIGHT));
    let weights = with_linear(weights, &all)?;
    let mut asked = Vec::new();
    for opened in runner.opened() {
        for question in &opened.repository.questions {
            let mut request = opened.request(&question.query);
            request.intent = question.intent;
            let is_name = question.query.split_whitespace().count() == 1;
            let ranked = opened.rank(&request, &weights);
            let file = |file: &RankedFile| {
                let place =
                    opened.place(file, question.targets.iter().any(|target| target.contains.is_some()));
                let signals = signals(&file.explanation, is_name, &all);
                let factor = file.explanation.prior * file.explanation.intent;
                let is_right = question.targets.iter().any(|target| target.is_covered_by(&place));
                File { signals, factor, is_right, place }
            };
            asked.push(Asked {
                repository: (suite, opened.repository.name.clone()),
                language: opened.repository.language.clone(),
                category: question.category.clone(),
                files: ranked.iter().take(N_FILES).map(file).collect(),
                targets: question.targets.clone(),
            });
        }
    }
    Ok(asked)
}

/// What each signal was, from what it contributed.
fn signals(e: &Explanation, is_name: bool, weights: &Linear) -> Linear {
    let definition = if is_name { [e.definition, 0.0] } else { [0.0, e.definition] };
    let mut signals = [
        e.lexical,
        e.dense,
        definition[0],
        definition[1],
        e.importance,
        e.file_sum,
        e.second_chunk,
        e.file_lexical,
        e.size,
        e.path,
        e.path_dense,
        e.depth,
        e.name_words,
        e.mention,
    ];
    signals.iter_mut().zip(weights).for_each(|(signal, weight)| *signal /= weight);
    signals
}

pub fn linear(weights: &Weights) -> Linear {
    NAMES.map(|name| ablate::value(weights, name))
}

/// `weights` with the learned ones replaced, to three decimals: more would only show noise.
pub fn with_linear(weights: &Weights, learned: &Linear) -> Result<Weights> {
    let mut weights = weights.clone();
    for (name, value) in NAMES.iter().zip(learned) {
        weights = ablate::with(&weights, name, (value * 1000.0).round() / 1000.0)?;
    }
    Ok(weights)
}

/// All weights as JSON by name, without the digits that single precision only seems to have.
pub fn json(weights: &Weights) -> String {
    let line = |name: &String| {
        let value = (f64::from(ablate::value(weights, name)) * 10_000.0).round() / 10_000.0;
        format!("  \"{name}\": {value:?}")
    };
    format!("{{\n{}\n}}\n", ablate::names().iter().map(line).collect::<Vec<_>>().join(",\n"))
}

/// A weight to a line, before and after.
pub fn list(before: &Linear, after: &Linear) -> String {
    let line = |i: usize| format!("{:24} {:7.3} {:7.3}\n", NAMES[i], before[i], after[i]);
    (0..NAMES.len()).map(line).collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A question of `repository` with a right and a wrong file that have only the first two signals.
    pub fn question(repository: &str, right: [f32; 2], wrong: [f32; 2]) -> Asked {
        let file = |path: &str, first: [f32; 2], is_right| {
            let mut signals = [0.0; NAMES.len()];
            signals[..2].copy_from_slice(&first);
            File {
                signals,
                factor: 1.0,
                is_right,
                place: Place { path: path.to_owned(), lines: (1, 9), ..Place::default() },
            }
        };
        Asked {
            repository: (0, repository.to_owned()),
            language: "c".to_owned(),
            category: "semantic".to_owned(),
            files: vec![file("wrong.c", wrong, false), file("right.c", right, true)],
            targets: vec![Target { path: "right.c".to_owned(), ..Target::default() }],
        }
    }

    #[test]
    fn every_learned_weight_is_one_of_the_table() {
        let names = ablate::names();
        assert!(NAMES.iter().all(|name| names.iter().any(|known| known == name)));
        let weights = codeweaver::query::rank::WEIGHTS.clone();
        let text = json(&weights);
        let read: Weights = serde_json::from_str(&text).unwrap();
        assert_eq!(read, weights, "what is written is what is read");
    }

    #[test]
    fn signals_are_contributions_without_their_weights() {
        let mut weights = [2.0; NAMES.len()];
        weights[0] = 0.5;
        let e = Explanation { lexical: 0.25, definition: 1.0, depth: -0.4, ..Explanation::default() };
        let of = |is_name, name: &str| {
            signals(&e, is_name, &weights)[NAMES.iter().position(|known| *known == name).unwrap()]
        };
        let alone = ["lexical", "definition", "definition_in_sentence", "depth"].map(|name| of(true, name));
        assert_eq!(alone, [0.5, 0.5, 0.0, -0.2]);
        assert_eq!(["definition", "definition_in_sentence"].map(|name| of(false, name)), [0.0, 0.5]);
    }
}
