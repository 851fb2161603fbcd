//! Part: a text that is searched for by itself.

use super::parse::ParsedQuery;
use super::view::RowId;

/// A query, or a part of one, that is retrieved and ranked by itself.
pub struct QueryPart {
    pub query: ParsedQuery,
    /// The text that is compared with vectors.
    pub embedded: String,
    /// Further rows that are candidates.
    pub rows: Vec<RowId>,
    /// Name of the strategy under which `rows` were found, if it is reported.
    pub rows_strategy: Option<&'static str>,
    /// Whether the files that the query names are evidence of their own.
    pub has_mentions: bool,
    /// Whether near-duplicates are folded.
    pub is_folded: bool,
}
