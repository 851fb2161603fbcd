//! The files that a state names.

/// A shard with its segment.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SegmentRef {
    /// Hexadecimal BLAKE3 of the shard; the segment has the same name.
    pub name: String,
    pub doc_base: u32,
    pub n_docs: u32,
    pub n_rows: u32,
    pub shard_bytes: u64,
    pub segment_bytes: u64,
}

/// An entry file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EntriesRef {
    pub name: String,
    pub entry_base: u32,
    pub n_entries: u32,
    pub bytes: u64,
}

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SnapshotRef {
    pub file: String,
    pub bytes: u64,
    /// Seconds since 1970; for least-recently-used collection only.
    pub used_at: u64,
}
