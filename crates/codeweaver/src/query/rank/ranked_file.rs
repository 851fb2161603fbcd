//! Result of ranking.

use codeweaver_store::symbols::SymbolRecord;

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
    /// Why the file is here, as nouns that follow *because of*: parts of a long query that it has (frames,
    /// paths, modules, messages and names), its text or its type.
    pub reasons: Vec<String>,
    /// The type at which a reader of the file begins, if the file comes first for its sake.
    pub entry_point: Option<SymbolRecord>,
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
