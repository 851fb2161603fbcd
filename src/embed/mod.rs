//! Chunks and queries → int8 vectors.
//!
//! A vector space is named by its fingerprint (model, dimension, quantisation, input recipe); vectors mix only if their
//! fingerprints are equal (requirement E5).

/// How much a vector costs, which decides batch sizes, checkpoints and caching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedCost {
    /// Microseconds: a table look-up. Recomputing is cheaper than looking a vector up.
    Table,
    /// Milliseconds and more: a transformer. Vectors are reused by the hash of their input.
    Model,
}

/// Turns text into unit vectors, quantised to int8 with one scale for the whole space.
///
/// Called from several threads at once. Deterministic: equal input gives equal bytes, whatever batch it is in. After an
/// error the embedder stays usable.
pub trait Embedder: Send + Sync {
    /// Identity of the vector space; enters the name of the store directory.
    fn fingerprint(&self) -> &str;
    /// Name shown to people, for example `builtin-interim-v0`.
    fn name(&self) -> &str;
    /// Components of a vector.
    fn dim(&self) -> usize;
    /// The real value of a component is `int8 / scale`.
    fn scale(&self) -> f32;
    fn cost(&self) -> EmbedCost;
    /// Appends one row of [`Self::dim`] components per input to `out`, in order.
    fn embed_documents(&self, inputs: &[&str], out: &mut Vec<i8>) -> Result<(), EmbedError>;
    /// One row for a query.
    fn embed_query(&self, query: &str) -> Result<Vec<i8>, EmbedError>;
    /// One row for a path bag, where the model has an additive path part (`None` for transformers).
    fn embed_path(&self, path: &str) -> Option<Vec<i8>>;
}

/// Why a model cannot be had or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {}
