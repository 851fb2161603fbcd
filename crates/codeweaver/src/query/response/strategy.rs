//! Strategy: the kinds of evidence and the stages that took part in an answer, as a response names them.

/// A kind of evidence that found candidates, or a stage that acted on the query or on the order of the files.
///
/// Candidates were found by
///
/// * `lexical_bm25`: the words of the query, scored by BM25;
/// * `dense_exact`: vectors, all of which were compared;
/// * `dense_signs`: vectors, compared by their signs first;
/// * `dense_hnsw`: vectors, by the HNSW graph;
/// * `symbol`: definitions of what the query names;
/// * `path`: paths that have words of the query, or that it names;
/// * `evidence`: what a long text such as an issue report or a stack trace names or quotes.
///
/// Stages that acted are
///
/// * `translated_words`: a query in another language was searched for in English words;
/// * `respelt_words`: words that the index lacks were searched for in the spelling that it has;
/// * `raised_message`: the code that prints the message in the query came first;
/// * `verbatim`: files that have the query as it is written came first;
/// * `rerank`: a cross-encoder ordered the best files;
/// * `own_weights`: the user's own weights decided the order.
// The variants have no doc comments of their own because those would change the JSON schema.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, schemars::JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs, reason = "documented at the type")]
pub enum Strategy {
    LexicalBm25,
    DenseExact,
    DenseSigns,
    DenseHnsw,
    Symbol,
    Path,
    Evidence,
    TranslatedWords,
    RespeltWords,
    RaisedMessage,
    Verbatim,
    Rerank,
    OwnWeights,
}
