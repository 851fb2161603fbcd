//! Comparison of single definitions: a chunk is as similar as the nearest definition in it.

use std::ops::Range;

use rustc_hash::FxHashMap;

use codeweaver_base::sys::DotKernel;
use codeweaver_embed::Embedder;
use codeweaver_store::symbols::SymbolRecord;

use super::origin::Origin;
use super::texts::{Texts, input_of};
use crate::query::definitions::{is_of_kind, kind_of};
use crate::query::error::QueryError;
use crate::query::retrieve::Candidate;
use crate::query::view::{RowId, View};
use crate::query::{Cancel, Filters};

/// Number of nearest chunks whose definitions are compared one by one.
const MAX_CHUNKS: usize = 100;

/// A definition with everything that the definitions of chunks are compared with it by.
pub struct Comparison<'a> {
    pub view: &'a View,
    pub origin: &'a Origin,
    /// The definition of the origin.
    pub definition: &'a SymbolRecord,
    pub kernel: &'a DotKernel,
    pub embedder: &'a dyn Embedder,
    pub filters: &'a Filters,
    pub cancel: &'a Cancel,
}

impl Comparison<'_> {
    /// Replaces the cosines of the first [`MAX_CHUNKS`] of `list` by those of the nearest definition that
    /// begins in each chunk, and returns the bytes of these definitions. Other chunks stay as they are,
    /// unless all their text is that of the origin.
    pub fn refine(
        &self,
        texts: &mut Texts<'_>,
        list: &mut Vec<Candidate>,
    ) -> Result<FxHashMap<RowId, Range<u32>>, QueryError> {
        let n_compared = list.len().min(MAX_CHUNKS);
        // One file after the other, so that each is read once.
        list[..n_compared].sort_by_key(|candidate| (candidate.doc, candidate.id.row));

        let mut nearest = FxHashMap::default();
        for candidate in &mut list[..n_compared] {
            self.cancel.check()?;
            if let Some((cosine, symbol)) = self.nearest_in(texts, candidate)? {
                candidate.cosine = cosine;
                nearest.insert(candidate.id, symbol.start_byte..symbol.end_byte);
            }
        }

        list.retain(|candidate| {
            nearest.contains_key(&candidate.id)
                || !self.origin.has_text_in(self.view, candidate.doc, candidate.id)
        });
        Ok(nearest)
    }

    /// The definition in a chunk that is nearest to that of the origin, with its cosine. Only definitions of
    /// the same nature count: functions are compared with functions.
    fn nearest_in(
        &self,
        texts: &mut Texts<'_>,
        candidate: &Candidate,
    ) -> Result<Option<(f32, SymbolRecord)>, QueryError> {
        let (segment, row) = self.view.row(candidate.id);
        let mut symbols: Vec<SymbolRecord> = segment.symbols_of(row).collect();
        symbols.retain(|symbol| {
            nature(symbol) == nature(self.definition)
                && is_of_kind(symbol, &self.filters.kinds)
                && !self.origin.overlaps(candidate.doc, symbol)
        });
        if symbols.is_empty() {
            return Ok(None);
        }

        let text = texts.of_doc(candidate.id)?;
        let inputs: Vec<String> = symbols.iter().map(|symbol| input_of(segment, symbol, text)).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let mut vectors = Vec::new();
        if self.embedder.embed_documents(&inputs, &mut vectors).is_err() {
            return Ok(None);
        }

        let unit = 1.0 / (self.embedder.scale() * self.embedder.scale());
        let cosines = vectors.chunks_exact(self.embedder.dim()).map(|row| self.kernel.dot(row) as f32 * unit);
        // The first of equals.
        Ok(cosines.zip(symbols).rev().max_by(|(a, _), (b, _)| a.total_cmp(b)))
    }
}

/// The nature of a definition: whether it is callable, and whether it has members.
fn nature(symbol: &SymbolRecord) -> (bool, bool) {
    let kind = kind_of(symbol);
    (kind.is_callable(), kind.has_members())
}
