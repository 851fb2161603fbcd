//! Derives a sample of the index again from git and compares it with the stored one. A hash proves that a
//! shard is unchanged, not that it was ever right.

use std::ops::Range;

use codeweaver_chunk::{self as chunk, LanguageId};
use codeweaver_embed::{EmbedCost, Embedder};
use codeweaver_git::BlobReader;
use codeweaver_store::rows::DocMeta;
use codeweaver_store::shard::{self, ShardData};
use codeweaver_store::{StoreLayout, StoreReader};
use codeweaver_text as text;

use super::build::{ChunkedBlob, Terms, embed_chunks};
use super::codebase::Codebase;
use super::error::IndexError;
use super::plan::doc_variant;
use super::repair::Finding;
use crate::policy::Exempt;

/// Minimum cosine between stored and new vectors: those of a transformer may differ in the last bits between
/// machines.
const MIN_COSINE: f64 = 0.999;

/// The result of a recomputation.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Recomputed {
    pub docs: u64,
    pub chunks: u64,
    /// Docs of the sample that cannot be derived here: those of another chunker version or other settings,
    /// and those whose blobs are not in this clone.
    pub skipped: u64,
    pub findings: Vec<Finding>,
}

/// Derives `percent` (0–100) of all docs again. The selection depends on their blobs only, so all machines
/// check the same docs.
pub fn recompute(
    codebase: &Codebase,
    embedder: &dyn Embedder,
    percent: f64,
) -> Result<Recomputed, IndexError> {
    let mut done = Recomputed::default();
    let store: StoreLayout = codebase.store();
    let Some(reader) = StoreReader::open(&store)? else { return Ok(done) };

    codebase.find_member_blobs()?;
    let mut blobs = codebase.repo.blobs();

    for segment in &reader.state.segments {
        let path = store.shard(&segment.name);
        let data = shard::read(&path)?;

        let mut first = 0;
        for (doc, &n_rows) in data.docs.iter().zip(&data.n_rows) {
            let rows = first..first + n_rows as usize;
            first = rows.end;

            // A doc without rows has nothing to compare.
            if n_rows == 0 || !is_sampled(doc, percent) {
                continue;
            }

            match differs(codebase, embedder, &mut blobs, &StoredDoc { doc, data: &data, rows })? {
                None => done.skipped += 1,
                Some(difference) => {
                    done.docs += 1;
                    done.chunks += u64::from(n_rows);
                    done.findings.extend(difference.map(|what| Finding { path: path.clone(), what }));
                }
            }
        }
    }

    Ok(done)
}

/// Returns whether the doc is in the sample. Object ids are evenly distributed, so their first bytes decide.
fn is_sampled(doc: &DocMeta, percent: f64) -> bool {
    let hash =
        doc.key.blob_oid.as_slice().iter().take(4).fold(0u32, |hash, &byte| hash << 8 | u32::from(byte));
    f64::from(hash) < percent / 100.0 * f64::from(u32::MAX) || percent >= 100.0
}

/// A doc with its rows in the data of its shard.
struct StoredDoc<'a> {
    doc: &'a DocMeta,
    data: &'a ShardData,
    rows: Range<usize>,
}

/// Returns the difference between the stored `doc` and a newly derived one; `None` if it cannot be derived
/// here.
fn differs(
    codebase: &Codebase,
    embedder: &dyn Embedder,
    blobs: &mut BlobReader,
    stored: &StoredDoc<'_>,
) -> Result<Option<Option<String>>, IndexError> {
    let StoredDoc { doc, data, rows } = stored;
    let Some(language) = LanguageId::by_name(&doc.language) else { return Ok(None) };

    let is_current = Exempt::all().any(|exempt| doc_variant(codebase, language, exempt) == doc.key.variant);
    let bytes = if is_current { blobs.read(&doc.key.blob_oid)? } else { None };
    let Some(bytes) = bytes else { return Ok(None) };
    let bytes = &*text::to_utf8(bytes);

    let settings = &codebase.settings;
    let chunks = chunk::chunk_blob(bytes, language, &settings.chunker).chunks;
    let blob = ChunkedBlob { key: &doc.key, bytes, chunks };
    let mut terms = Terms::new(embedder);
    // No vector counts as known: all are computed again.
    let fresh = embed_chunks(embedder, blob, &|_| None, settings.index.excerpts, &mut terms)?;

    let stored_vectors = &data.vectors[rows.start * data.dim..rows.end * data.dim];
    let what = if fresh.rows != data.rows[rows.clone()] {
        "its chunks"
    } else if !same_vectors(embedder, &fresh.vectors, stored_vectors) {
        "its vectors"
    } else {
        return Ok(Some(None));
    };

    Ok(Some(Some(format!("{what} of blob {} are not what comes out of it now", doc.key.blob_oid))))
}

/// Compares vectors: exactly for a table, which computes with integers, and by their cosines for other
/// models.
fn same_vectors(embedder: &dyn Embedder, fresh: &[i8], stored: &[i8]) -> bool {
    if embedder.cost() == EmbedCost::Table {
        return fresh == stored;
    }

    let pairs = fresh.chunks_exact(embedder.dim()).zip(stored.chunks_exact(embedder.dim()));
    fresh.len() == stored.len()
        && pairs.into_iter().all(|(a, b)| dot(a, b) >= MIN_COSINE * (dot(a, a) * dot(b, b)).sqrt())
}

fn dot(a: &[i8], b: &[i8]) -> f64 {
    a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeweaver_git::Oid;
    use codeweaver_store::rows::DocKey;

    #[test]
    fn samples_are_about_as_large_as_asked_for() {
        let doc = |i: u32| {
            let hash = blake3::hash(&i.to_le_bytes());
            let blob_oid = Oid::from_bytes_or_panic(&hash.as_bytes()[..20]);
            DocMeta {
                key: DocKey { blob_oid, variant: 0 },
                language: "rust".into(),
                skipped: 0,
                blob_bytes: 1,
                degradations: Vec::new(),
            }
        };
        let sampled = |percent| (0..10_000).filter(|&i| is_sampled(&doc(i), percent)).count();
        assert_eq!((sampled(0.0), sampled(100.0)), (0, 10_000));
        assert!((800..1200).contains(&sampled(10.0)), "{}", sampled(10.0));
    }
}
