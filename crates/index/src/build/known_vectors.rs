//! Look-ups of vectors that the store already has.

use rustc_hash::FxHashMap;

use codeweaver_embed::{EmbedCost, Embedder};
use codeweaver_store::StoreReader;

/// Vectors in the store, by the hash of their model input.
pub(crate) struct KnownVectors<'a> {
    reader: &'a StoreReader,
    /// Segment and row of every vector; built only for a model whose vectors cost more than a look-up.
    all: Option<FxHashMap<[u8; 16], (u32, u32)>>,
}

impl<'a> KnownVectors<'a> {
    pub fn new(reader: &'a StoreReader, embedder: &dyn Embedder) -> KnownVectors<'a> {
        let all = (embedder.cost() != EmbedCost::Table).then(|| rows_by_hash(reader));
        KnownVectors { reader, all }
    }

    /// Returns a look-up in the rows of doc `previous`, which has nearly every chunk of an edited file, and,
    /// for slow models, in the whole store.
    pub fn lookup(&self, previous: Option<u32>) -> impl Fn(&[u8; 16]) -> Option<Vec<i8>> + '_ {
        let near = previous.and_then(|doc| self.reader.locate_doc(doc)).map(|(s, ordinal)| {
            let segment = &self.reader.segments[s];
            (segment, segment.doc_rows(ordinal))
        });

        move |hash| {
            if let Some((segment, rows)) = &near {
                let hashes = segment.input_hashes().get(rows.start as usize..rows.end as usize)?;
                if let Some(i) = hashes.iter().position(|known| known == hash) {
                    return Some(segment.vector(rows.start + i as u32).to_vec());
                }
            }

            let (s, row) = self.all.as_ref()?.get(hash)?;
            Some(self.reader.segments[*s as usize].vector(*row).to_vec())
        }
    }
}

/// The segment and the row of every vector of the store, by the hash of its model input.
fn rows_by_hash(reader: &StoreReader) -> FxHashMap<[u8; 16], (u32, u32)> {
    let mut all = FxHashMap::default();
    for (s, segment) in reader.segments.iter().enumerate() {
        let hashes = segment.input_hashes().iter().enumerate();
        all.extend(hashes.map(|(row, hash)| (*hash, (s as u32, row as u32))));
    }
    all
}
