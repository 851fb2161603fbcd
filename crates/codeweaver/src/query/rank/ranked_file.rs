//! Result of ranking.

use super::features::Features;
use crate::query::response::{Evidence, Explanation};
use crate::query::retrieve::Candidate;
use crate::query::view::RowId;

/// A file with its chunks.
#[derive(Debug, Clone)]
pub struct RankedFile {
    /// The entry that is shown.
    pub entry: u32,
    pub doc: u32,
    /// Further entries with the same blob.
    pub also_at: Vec<u32>,
    /// Files that rank below it and are almost the same.
    pub near_duplicates: Vec<NearDuplicate>,
    /// Best first, at least one.
    pub chunks: Vec<Candidate>,
    /// Features of the file and its best chunk.
    pub features: Features,
    /// The weighted features, and the score by which files are ordered.
    pub explanation: Explanation,
    /// Parts of a long query that the file has (frames, paths, modules, messages and names), or a note that
    /// it has the query verbatim.
    pub reasons: Vec<String>,
    /// Values from which the relevance is computed.
    pub evidence: Evidence,
    /// Probability that the file answers the query, 0–1. Comparable between queries.
    pub relevance: f32,
}

/// A near-duplicate: its entry and its best chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearDuplicate {
    pub entry: u32,
    pub id: RowId,
}
