//! Snapshots: the entries that answer for one tree under one settings key, with the totals that ranking
//! needs.
//!
//! ```text
//! magic "CWSNAP\0\0", version u32, header length u32, header (JSON), roaring bitmap of entry ids,
//! BLAKE3 of everything before it
//! ```
//!
//! The totals are maintained by adding and subtracting the changes of a diff. A doc counts once, however many
//! live entries it has: it is added with its first and subtracted with its last.

use std::collections::BTreeMap;
use std::path::Path;

use roaring::RoaringBitmap;

use codeweaver_base::regular_file;

use super::content;
use super::error::StoreError;
use super::postings::N_FIELDS;

const MAGIC: [u8; 8] = *b"CWSNAP\0\0";
const VERSION: u32 = 1;

/// The header of a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Totals {
    /// Hexadecimal oid of the tree; empty for the empty snapshot.
    pub tree_oid: String,
    /// Fingerprint of policy and chunker settings.
    pub settings: String,
    /// Number of live docs that have rows.
    pub n_docs: u64,
    pub n_rows: u64,
    /// Number of terms per field, summed over live rows.
    pub field_len: [u64; N_FIELDS],
    /// Component-wise sum of the live vectors.
    pub vector_sum: Vec<i64>,
    /// Number of indexed paths.
    pub n_paths: u64,
    /// Number of skipped paths by reason number.
    pub skipped: BTreeMap<u8, u64>,
    /// Whether every path of the tree has its entry.
    pub complete: bool,
}

/// A snapshot in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    pub totals: Totals,
    /// Live entry ids.
    pub entries: RoaringBitmap,
}

impl Snapshot {
    /// The bytes of the snapshot file.
    pub fn encode(&self) -> Vec<u8> {
        let header = serde_json::to_vec(&self.totals).unwrap_or_default();
        let mut out = Vec::with_capacity(64 + header.len() + self.entries.serialized_size());

        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(header.len() as u32).to_le_bytes());
        out.extend_from_slice(&header);
        self.entries.serialize_into(&mut out).expect("writing to memory does not fail");

        let checksum = blake3::hash(&out);
        out.extend_from_slice(checksum.as_bytes());
        out
    }

    /// Reads the snapshot file that has `name`, the hexadecimal BLAKE3 of its bytes.
    pub fn read_named(path: &Path, name: &str) -> Result<Snapshot, StoreError> {
        let bytes = regular_file::read(path).map_err(StoreError::io("read", path))?;
        content::verify(path, &bytes, name)?;
        Snapshot::decode(path, &bytes)
    }

    /// Reads and checks a snapshot file.
    pub fn read(path: &Path) -> Result<Snapshot, StoreError> {
        let bytes = regular_file::read(path).map_err(StoreError::io("read", path))?;
        Snapshot::decode(path, &bytes)
    }

    /// Decodes a snapshot file after checking its checksum.
    fn decode(path: &Path, bytes: &[u8]) -> Result<Snapshot, StoreError> {
        let damaged = |what: &str| StoreError::damaged(path, what);

        if bytes.len() < 48 || bytes[..8] != MAGIC {
            return Err(damaged("it is no snapshot"));
        }

        // Checked before any number in the body is trusted.
        let (body, checksum) = bytes.split_at(bytes.len() - 32);
        if blake3::hash(body).as_bytes() != checksum {
            return Err(damaged("its checksum does not match its content"));
        }

        let found = super::container::read_u32(body, 8);
        if found != VERSION {
            return Err(StoreError::Version { path: path.to_path_buf(), found, expected: VERSION });
        }

        let header_len = super::container::read_u32(body, 12) as usize;
        let header = body.get(16..16 + header_len).ok_or_else(|| damaged("its header is cut"))?;

        let totals = serde_json::from_slice(header)
            .map_err(|e| damaged(&format!("its header cannot be read ({e})")))?;
        let entries = RoaringBitmap::deserialize_from(&body[16 + header_len..])
            .map_err(|e| damaged(&format!("its entry set cannot be read ({e})")))?;
        Ok(Snapshot { totals, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_survives_a_round_trip_and_damage_is_refused() {
        let mut snapshot = Snapshot::default();
        snapshot.entries.extend([1, 2, 3, 70_000, 1_000_000]);
        snapshot.totals.vector_sum = vec![-5, 9];
        snapshot.totals.skipped.insert(3, 7);
        let file = tempfile::NamedTempFile::new().unwrap();
        let good = snapshot.encode();
        std::fs::write(file.path(), &good).unwrap();
        assert_eq!(Snapshot::read(file.path()).unwrap(), snapshot);
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 4;
            std::fs::write(file.path(), &bad).unwrap();
            assert!(Snapshot::read(file.path()).is_err(), "byte {i}");
            std::fs::write(file.path(), &good[..i]).unwrap();
            assert!(Snapshot::read(file.path()).is_err(), "cut at {i}");
        }
    }
}
