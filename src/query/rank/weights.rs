//! The weights of all signals: one table, read from `weights.json`, which is compiled in.
//!
//! The linear ones are learned by `codeweaver-train rank` (see `docs/ranking.md`), which writes that file; the others were
//! set by hand on those development repositories that are not kept aside.

use crate::store::postings::Field;
use std::sync::LazyLock;

/// The weights of all signals.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Weights {
    /// BM25 (Robertson and Zaragoza 2009) of chunks: saturation of the frequency, and how much length counts.
    pub k1: f32,
    pub b: f32,
    /// Weight of a match in names of definitions, in documentation, in enclosing names; 1 in the body.
    pub field_symbol: f32,
    pub field_doc: f32,
    pub field_enclosing: f32,
    /// BM25 of files.
    pub file_k1: f32,
    pub file_b: f32,

    /// BM25 of the chunk, scaled so that the best candidate has 1.
    pub lexical: f32,
    /// Cosine above the mean, scaled so that the best candidate has 1.
    pub dense: f32,
    /// A definition of exactly what was asked for by name alone.
    pub definition: f32,
    /// The same for a name inside a sentence.
    pub definition_in_sentence: f32,
    /// Factor on the definition if the file is named after it.
    pub definition_in_own_file: f32,
    /// Importance of the chunk's class for the task.
    pub importance: f32,

    /// Sum over a file's chunks, scaled so that the best file has 1.
    pub file_sum: f32,
    /// BM25 of the file as a whole, scaled so that the best file has 1.
    pub file_lexical: f32,
    /// Share of the question's words in the path.
    pub path: f32,
    /// Nearness of the path as a whole, scaled so that the nearest has 1.
    pub path_dense: f32,
    /// The second best chunk of a file, as a share of the best of all.
    pub second_chunk: f32,
    /// Logarithm of the file's tokens.
    pub size: f32,
    /// Folders above the file, subtracted.
    pub depth: f32,
    /// Words of the file's name, subtracted.
    pub name_words: f32,
    /// How much rarity decides what a word counts for the path, 0..1.
    pub path_rarity: f32,
    /// A word in a folder, as against one in the file's name.
    pub path_folders: f32,
    /// How much a path loses whose name has other words, 0..1.
    pub path_precision: f32,
    /// How much less a word counts that stands in all paths, 0..1.
    pub path_common: f32,
    /// The question names the file.
    pub mention: f32,
    /// 1; with 0 chunks are ranked alone, by their likeness only.
    pub whole_files: f32,
    /// Chunks of a file that count towards its sum are among this many best.
    pub sum_over: f32,
    /// Tokens at which a chunk's likeness to the question counts half: a few words are like many questions.
    pub small_chunk: f32,

    pub prior_test: f32,
    pub prior_example: f32,
    pub prior_docs: f32,
    pub prior_compat: f32,
    pub prior_bench: f32,
    pub prior_vendored: f32,
    pub prior_stub: f32,
    pub prior_reexport: f32,
    /// A header whose implementation is among the candidates or lies beside it.
    pub prior_header: f32,
    pub prior_data: f32,
    pub prior_prose: f32,
}

/// The weights in use.
pub static WEIGHTS: LazyLock<Weights> = LazyLock::new(|| {
    // The file is part of the program and read by a test: a fault in it is one of the program.
    serde_json::from_str(include_str!("weights.json"))
        .unwrap_or_else(|e| panic!("src/query/rank/weights.json: {e}"))
});

impl Weights {
    /// Weight of a term in `field` of a chunk.
    pub fn field(&self, field: Field) -> f32 {
        match field {
            Field::Body | Field::Path => 1.0,
            Field::Symbol => self.field_symbol,
            Field::Doc => self.field_doc,
            Field::Enclosing => self.field_enclosing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_nothing_in_it_is_ignored() {
        let written: serde_json::Value = serde_json::from_str(include_str!("weights.json")).unwrap();
        let read = serde_json::to_value(&*WEIGHTS).unwrap();
        let names =
            |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let (mut written, mut read) = (names(&written), names(&read));
        written.sort();
        read.sort();
        assert_eq!(written, read);
    }
}
