//! Record: the entry in the log for an answered search.

use codeweaver_index::Codebase;

use super::response::Response;

/// Number of hexadecimal digits of the hash of a query, enough to find equal queries in a log.
const HASH_DIGITS: usize = 16;

/// Logs that `query` about `codebase` was answered by `response`. A query can tell what its author is working
/// on, so the record has its hash. The text is added at the level `debug` only, which a user has to ask for.
pub fn answered(codebase: &Codebase, query: &str, response: &Response) {
    if !tracing::enabled!(target: "codeweaver::searcher", tracing::Level::INFO) {
        return;
    }

    let hash = blake3::hash(query.as_bytes()).to_hex();
    let shows_text = tracing::enabled!(target: "codeweaver::searcher", tracing::Level::DEBUG);

    tracing::info!(
        target: "codeweaver::searcher",
        component = "searcher",
        operation = "search",
        duration_ms = response.execution_time_ms,
        codebase_root = %codebase.root().display(),
        query_hash = &hash[..HASH_DIGITS],
        query = shows_text.then_some(query),
        intent = response.query_intent.intent.map(|intent| intent.name()),
        candidates = response.candidates,
        results = response.total_results,
        "answered"
    );
}
