//! The stand-in for a model that cannot be used. With it, changed files are still found by their words.

use super::{EmbedCost, EmbedError, Embedder};

/// Embeds every text as the zero vector of a vector space. Its rows stay in memory: nothing that is published
/// is built with it.
pub struct Absent<'a> {
    /// Fingerprint of the space, so that stored vectors of the same model input are reused.
    pub fingerprint: &'a str,
    pub dim: usize,
    /// Whether vectors are looked up in the whole store ([`EmbedCost::Model`]).
    pub cost: EmbedCost,
}

impl Embedder for Absent<'_> {
    fn fingerprint(&self) -> &str {
        self.fingerprint
    }

    fn name(&self) -> &str {
        "none"
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn cost(&self) -> EmbedCost {
        self.cost
    }

    fn embed_documents(&self, inputs: &[&str], out: &mut Vec<i8>) -> Result<(), EmbedError> {
        out.resize(out.len() + inputs.len() * self.dim, 0);
        Ok(())
    }

    fn embed_query(&self, _: &str) -> Result<Vec<i8>, EmbedError> {
        Ok(vec![0; self.dim])
    }

    fn embed_path(&self, _: &str) -> Option<Vec<i8>> {
        None
    }
}
