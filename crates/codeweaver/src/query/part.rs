//! Part: a text that is searched for by itself.

use super::parse::ParsedQuery;
use super::request::Request;
use super::response::Strategy;
use super::view::RowId;

/// A query, or a part of one, that is retrieved and ranked by itself.
pub struct QueryPart {
    pub query: ParsedQuery,
    /// The text that is compared with vectors.
    pub embedded: String,
    /// Additional candidate rows.
    pub rows: Vec<RowId>,
    /// The strategy by which `rows` were found, if it is reported.
    pub rows_strategy: Option<Strategy>,
    /// Whether the files that the query names are evidence of their own.
    pub has_mentions: bool,
    /// Whether near-duplicates are folded.
    pub is_folded: bool,
}

impl QueryPart {
    /// The whole query of `request`, worded as `text`.
    pub fn new(text: &str, request: &Request) -> QueryPart {
        QueryPart {
            query: ParsedQuery::parse(text, request.mode, request.intent),
            embedded: text.to_owned(),
            rows: Vec::new(),
            rows_strategy: None,
            has_mentions: true,
            is_folded: true,
        }
    }
}
