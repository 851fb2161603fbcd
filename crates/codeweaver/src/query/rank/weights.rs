//! Weights: one table for all features, read from `weights.json`, which is compiled in.
//!
//! The weights in which the score is linear are learned by `eval::tune`, which writes that file;
//! the others were set by hand on the development repositories that are not held out. See `docs/ranking.md`.

use std::sync::LazyLock;

use codeweaver_store::postings::{FIELDS, Field};

use crate::query::retrieve::lexical::Bm25;

/// The weights of all features.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// BM25 of chunks: saturation of the term frequency.
    pub k1: f32,
    /// BM25 of chunks: influence of the length.
    pub b: f32,
    /// Weight of a match in the names of definitions, as against 1 in the body.
    pub field_symbol: f32,
    /// Weight of a match in documentation.
    pub field_doc: f32,
    /// Weight of a match in enclosing names.
    pub field_enclosing: f32,
    /// BM25 of files: saturation of the term frequency.
    pub file_k1: f32,
    /// BM25 of files: influence of the length.
    pub file_b: f32,

    /// BM25 of the chunk, relative to the best candidate's.
    pub lexical: f32,
    /// Cosine above the mean, relative to the best candidate's.
    pub dense: f32,
    /// A definition of the name that is the whole query.
    pub definition: f32,
    /// A definition of a name in a longer query.
    pub definition_in_sentence: f32,
    /// Factor on the definition if the file is named after it.
    pub definition_in_own_file: f32,
    /// Importance of the chunk's class for the task.
    pub importance: f32,

    /// Sum over the chunks of the file, relative to the best file's.
    pub file_sum: f32,
    /// BM25 of the file as a whole, relative to the best file's.
    pub file_lexical: f32,
    /// Share of the query's terms in the path.
    pub path: f32,
    /// Cosine of the path above the mean, relative to the best candidate's.
    pub path_dense: f32,
    /// The second best chunk of the file, as a share of the best of all.
    pub second_chunk: f32,
    /// Logarithm of the file's tokens.
    pub size: f32,
    /// Folders above the file. Subtracted.
    pub depth: f32,
    /// Words of the file's name. Subtracted.
    pub name_words: f32,
    /// Influence of a term's idf on its weight for paths, 0–1.
    pub path_rarity: f32,
    /// Weight of a term in a folder, as against 1 in the file's name.
    pub path_folders: f32,
    /// Deduction for other words in the file's name, 0–1.
    pub path_precision: f32,
    /// Deduction for a term that all paths have, 0–1.
    pub path_common: f32,
    /// The query names the file.
    pub mention: f32,
    /// Number of best chunks of all files that count towards `file_sum`.
    pub sum_over: f32,
    /// Number of tokens at which the similarity of a chunk counts half: a few words are similar to many
    /// queries.
    pub small_chunk: f32,

    /// Factor for tests. This and the following factors apply unless the query asks for the role; the least
    /// of them counts.
    pub prior_test: f32,
    /// Factor for examples.
    pub prior_example: f32,
    /// Factor for documentation.
    pub prior_docs: f32,
    /// Factor for compatibility code.
    pub prior_compat: f32,
    /// Factor for benchmarks.
    pub prior_bench: f32,
    /// Factor for third-party code.
    pub prior_vendored: f32,
    /// Factor for declarations without bodies.
    pub prior_stub: f32,
    /// Factor for indexes of exports, by how little else they have.
    pub prior_reexport: f32,
    /// Further factor for a header whose implementation is among the candidates or in the same folder.
    pub prior_header: f32,
    /// Factor for a header of C or C++ without such an implementation, if no other factor applies to it.
    pub prior_header_alone: f32,
    /// Maximum gain of the factor of a file: that of a part of the repository with all source files.
    pub part: f32,
    /// Further factor for a file for one platform, if a candidate of the same name is for any.
    pub prior_platform: f32,
    /// Factor for data files.
    pub prior_data: f32,
    /// Factor for prose.
    pub prior_prose: f32,
}

/// The weights in use.
pub static WEIGHTS: LazyLock<Weights> = LazyLock::new(|| {
    // The file is compiled in and read by a test, so an error in it is a bug.
    serde_json::from_str(include_str!("weights.json"))
        .unwrap_or_else(|e| panic!("src/query/rank/weights.json: {e}"))
});

impl Weights {
    /// Every weight with its name, in the order of the table.
    pub fn by_name(&self) -> Vec<(String, f32)> {
        let value = serde_json::to_value(self).unwrap_or_default();
        let map = value.as_object().cloned().unwrap_or_default();
        map.into_iter().map(|(name, value)| (name, value.as_f64().unwrap_or(0.0) as f32)).collect()
    }

    /// The parameters of lexical retrieval.
    pub fn bm25(&self) -> Bm25 {
        let fields = FIELDS.map(|field| match field {
            Field::Body | Field::Path => 1.0,
            Field::Symbol => self.field_symbol,
            Field::Doc => self.field_doc,
            Field::Enclosing => self.field_enclosing,
        });
        Bm25 { k1: self.k1, b: self.b, fields, file_k1: self.file_k1, file_b: self.file_b }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_exactly_the_fields_of_the_table() {
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
