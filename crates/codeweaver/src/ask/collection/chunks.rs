//! Chunks: the identifiers of the chunks of each document in an index.

use std::collections::BTreeMap;

use codeweaver_index::{Codebase, Target};
use codeweaver_store::rows::chunk_id_digits;
use codeweaver_store::{StoreError, StoreReader};

/// The identifiers of the chunks of the documents in the snapshot of `target`, by path in the repository, in
/// order of position. Each is the hexadecimal form of the column `chunk_id` of a shard: a hash of the
/// contents of the document and of the range of the chunk in it. The same contents therefore have the same
/// identifiers in every index. Empty without such a snapshot.
pub fn identifiers(
    codebase: &Codebase,
    target: &Target,
) -> Result<BTreeMap<Vec<u8>, Vec<String>>, StoreError> {
    let Some(reader) = StoreReader::open(&codebase.store())? else { return Ok(BTreeMap::new()) };
    let key = codebase.snapshot_key(&target.tree_oid());
    let Some(snapshot) = reader.snapshot(&key)? else { return Ok(BTreeMap::new()) };

    let entries = reader.live_entries(&snapshot.entries);
    Ok(entries.map(|(_, entry, path)| (path.to_vec(), of_doc(&reader, entry.doc))).collect())
}

/// The identifiers of the chunks of a doc; none if no segment has it.
fn of_doc(reader: &StoreReader, doc: u32) -> Vec<String> {
    let Some((segment, ordinal)) = reader.locate_doc(doc) else { return Vec::new() };
    let segment = &reader.segments[segment];
    let Some(record) = segment.docs().get(ordinal as usize) else { return Vec::new() };

    let key = segment.key(record);
    let rows = segment.doc_rows(ordinal);
    let rows = segment.rows().get(rows.start as usize..rows.end as usize).unwrap_or(&[]);
    rows.iter().map(|row| chunk_id_digits(&key, &(row.start_byte..row.end_byte))).collect()
}
