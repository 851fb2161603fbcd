//! Chunked blobs as docs of a segment.

use codeweaver_chunk::ChunkedBlob;
use codeweaver_chunk::language::LanguageId;
use codeweaver_git::hash_blob;
use codeweaver_store::rows::{DocKey, DocMeta, RowMeta, variant};
use codeweaver_store::segment::SegmentBuilder;

/// Adds the blob with these bytes and chunks as a doc. Vectors and hashes of inputs depend only on the
/// position of the chunk.
pub fn push_doc(builder: &mut SegmentBuilder, bytes: &[u8], language: LanguageId, blob: &ChunkedBlob) {
    let key = DocKey {
        blob_oid: hash_blob(bytes, gix::hash::Kind::Sha1),
        variant: variant(language.name(), "fuzz"),
    };
    let chunks = blob.chunks.iter().enumerate();
    let rows: Vec<RowMeta> =
        chunks.map(|(at, chunk)| RowMeta::new(&key, chunk, [at as u8; 16], true)).collect();
    let vectors: Vec<i8> = (0..rows.len() * builder.data.dim).map(|i| (i * 31 % 251) as u8 as i8).collect();
    let doc = DocMeta {
        key,
        language: language.name().to_owned(),
        skipped: 0,
        blob_bytes: bytes.len() as u32,
        degradations: blob.degradations.iter().map(Into::into).collect(),
    };
    builder.push_doc(doc, rows, &vectors, bytes);
}
