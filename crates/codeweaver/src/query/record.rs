//! Record: the entry in the log for an answered search, search for lines, or question.

use codeweaver_index::Codebase;

use super::grep::Found;
use super::response::Response;

/// Number of hexadecimal digits of the hash of a query, enough to find equal queries in a log.
const HASH_DIGITS: usize = 16;

/// An answered query, as its record tells it.
#[derive(Default)]
pub(crate) struct Answered<'a> {
    pub operation: &'static str,
    pub query: &'a str,
    pub duration_ms: u64,
    /// The way in which lines are searched for.
    pub mode: Option<&'static str>,
    pub intent: Option<&'static str>,
    pub candidates: Option<usize>,
    pub results: usize,
}

impl<'a> Answered<'a> {
    /// The search for `query` by meaning.
    pub fn search(query: &'a str, response: &Response) -> Answered<'a> {
        Answered {
            operation: "search",
            query,
            duration_ms: response.execution_time_ms,
            intent: response.query_intent.intent.map(|intent| intent.name()),
            candidates: Some(response.candidates),
            results: response.total_results,
            ..Answered::default()
        }
    }

    /// The search for lines that has `found` files.
    pub fn lines(found: &'a Found<'_>) -> Answered<'a> {
        let pattern = found.pattern();
        Answered {
            operation: "search",
            query: &pattern.text,
            duration_ms: found.execution_time_ms,
            mode: Some(if pattern.is_regex { "regex" } else { "exact" }),
            results: found.n_files(),
            ..Answered::default()
        }
    }

    /// Logs that the query about `codebase` was answered. A query can tell what its author is working on, so
    /// the record has its hash. The text is added at the level `debug` only, which a user has to ask for.
    pub fn log(&self, codebase: &Codebase) {
        if !tracing::enabled!(target: "codeweaver::searcher", tracing::Level::INFO) {
            return;
        }

        let hash = blake3::hash(self.query.as_bytes()).to_hex();
        let shows_text = tracing::enabled!(target: "codeweaver::searcher", tracing::Level::DEBUG);

        tracing::info!(
            target: "codeweaver::searcher",
            component = "searcher",
            operation = self.operation,
            duration_ms = self.duration_ms,
            codebase_root = %codebase.root().display(),
            query_hash = &hash[..HASH_DIGITS],
            query = shows_text.then_some(self.query),
            mode = self.mode,
            intent = self.intent,
            candidates = self.candidates,
            results = self.results,
            "answered"
        );
    }
}
