//! Meaning: the vector of the query, compared with those of definitions.
//!
//! A chunk has several definitions and one vector, so each definition gets its own. Only models whose vectors
//! are sums over terms embed that many texts while a query waits.

use codeweaver_base::sys::DotKernel;
use codeweaver_embed::Embedder;

use super::InFile;
use crate::query::retrieve::QueryVector;

/// Maximum number of definitions of a file whose meanings are compared.
const MAX_MEANINGS: usize = 96;

/// The meaning of a query.
pub(super) struct Meaning<'a> {
    embedder: &'a dyn Embedder,
    kernel: DotKernel,
    unit: f32,
}

impl<'a> Meaning<'a> {
    /// `None` if the vectors of the model are not sums over terms.
    pub(super) fn new(embedder: &'a dyn Embedder, vector: &QueryVector) -> Option<Meaning<'a>> {
        embedder.table()?;
        Some(Meaning { embedder, kernel: DotKernel::new(&vector.components), unit: vector.unit() })
    }

    /// The cosine of `text` with the query; 0 if it cannot be embedded.
    pub(super) fn cosine(&self, text: &str) -> f32 {
        let row = self.embedder.embed_query(text);
        row.map_or(0.0, |row| self.kernel.dot(&row) as f32 * self.unit)
    }
}

impl InFile<'_> {
    /// The cosines of the query with the name, signature and documentation of every definition, as far as
    /// they are above the mean; empty if meanings are not compared.
    pub(super) fn meanings(&self) -> Vec<f32> {
        let Some(meaning) = self.by.meaning.as_ref().filter(|_| self.compares_meanings) else {
            return Vec::new();
        };
        let n = self.definitions.len();
        if !(2..=MAX_MEANINGS).contains(&n) {
            return Vec::new();
        }

        let mut cosines = Vec::with_capacity(n);
        let mut text = String::new();
        for definition in &self.definitions {
            let (segment, _) = self.view.row(self.chunks[definition.chunk].id);
            let signature = segment.signature(&definition.record);
            text.clear();
            text.extend([definition.name, " ", signature.as_str(), " ", definition.doc.as_str()]);
            cosines.push(meaning.cosine(&text));
        }

        let mean = cosines.iter().sum::<f32>() / n as f32;
        cosines.iter().map(|cosine| (cosine - mean).max(0.0)).collect()
    }
}
