//! Response: everything that is returned for a search, as it is printed and sent.
//!
//! Variants of enums are documented at the type where their own doc comments would change the JSON schema of
//! the MCP tools.

mod explanation;
mod related;
mod state;
mod strategy;

use std::collections::BTreeMap;
use std::time::Duration;

use codeweaver_chunk::SemanticClass;

use super::intent::QueryIntent;

pub use explanation::{Evidence, Explanation, PartScores, ReportEvidence};
pub use related::{RelatedSymbol, Relation};
pub use state::{Freshness, MatchState, Warning};
pub use strategy::Strategy;

/// The response to a search.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct Response {
    /// Words of the query that occur nowhere in what was searched, as written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent_words: Vec<String>,
    /// Path filters that match no indexed file, each in a sentence.
    #[serde(skip)]
    pub absent_paths: Vec<String>,
    /// Whether anything was missing.
    pub status: Status,
    /// Best first.
    pub matches: Vec<Match>,
    /// The best matches in one sentence, at most 1,000 bytes.
    pub summary: String,
    /// The kind of answer that the query asks for.
    pub query_intent: QueryIntent,
    /// Number of chunks that were ranked. Not all of their files are matches.
    pub candidates: usize,
    /// Number of matches without `offset`, `limit` and the token limit.
    pub total_matches: usize,
    /// Number of matches in this response.
    pub total_results: usize,
    /// Matches that the limits left out or shortened; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omitted>,
    /// Tokens of all matches.
    pub token_count: u32,
    /// Time to answer the request, in milliseconds.
    pub execution_time_ms: u64,
    /// The part of that time in which candidates were found in the index.
    #[serde(skip)]
    pub retrieval: Duration,
    /// Kinds of evidence that found a candidate, and stages that acted.
    pub search_strategy: Vec<Strategy>,
    /// Languages of the matches, sorted.
    pub languages_found: Vec<String>,
    /// Sentences for the user about what was missing.
    pub warnings: Vec<String>,
    /// The state that limits the answer, for programs; absent if there is none. `warnings` says it to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<Warning>,
    /// The state of the index that was searched.
    pub index: IndexInfo,
}

impl Response {
    /// Returns whether there is no match, not even one that a limit left out.
    pub fn is_nothing_found(&self) -> bool {
        self.matches.is_empty() && self.omitted.is_none()
    }
}

/// Matches that the limits of a request left out of its response, or shortened.
#[derive(Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct Omitted {
    /// Number of worse matches beyond the maximum number of matches.
    pub by_limit: usize,
    /// Number of matches that the token limit leaves no room for.
    pub by_token_limit: usize,
    /// Number of matches in this response without all of their text, because of the token limit.
    pub shortened: usize,
    /// Token limit with which nothing would be left out or shortened by it; if this response has no match,
    /// with which it would have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_needed: Option<u32>,
    /// Maximum number of matches of the request.
    #[serde(skip)]
    pub limit: usize,
    /// Maximum number of tokens of the request.
    #[serde(skip)]
    pub token_limit: u32,
}

impl Omitted {
    /// Number of matches that were found and are not in the response.
    pub fn n_matches(&self) -> usize {
        self.by_limit + self.by_token_limit
    }

    /// Returns a note for the user on what each limit left out; empty if nothing was left out.
    pub fn note(&self) -> String {
        let mut parts = Vec::new();
        if self.by_limit > 0 {
            let noun = if self.by_limit == 1 { "match" } else { "matches" };
            parts.push(format!("{} more {noun} beyond the limit of {}", self.by_limit, self.limit));
        }

        let (n_left_out, n_shortened) = (self.by_token_limit, self.shortened);
        let what = match (n_left_out, n_shortened) {
            (0, 0) => return parts.concat(),
            (0, n) => format!("{} shortened", n_of(n, n)),
            (n, 0) => format!("{} left out", n_of(n, n)),
            (n, m) => format!("{} left out and {m} shortened", n_of(n, n)),
        };

        let needed = self.tokens_needed.map_or_else(String::new, |n| format!(", {n} needed"));
        parts.push(format!("{what} by the token limit ({}{needed})", self.token_limit));
        parts.join("; ")
    }
}

/// `1 match`, `4 matches`, `4 of 10 matches`.
pub fn n_of(n: usize, total: usize) -> String {
    let noun = if total == 1 { "match" } else { "matches" };
    if n < total { format!("{n} of {total} {noun}") } else { format!("{n} {noun}") }
}

/// Whether a response is complete (`ok`) or `degraded`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "documentation of `Ok` would change the JSON schema; see the type")]
pub enum Status {
    Ok,
    /// Part of the index, time, or dense retrieval was missing; `warnings` has details.
    Degraded,
}

/// A result: the best chunk of a file.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct Match {
    /// The file of the chunk.
    pub file: FileInfo,
    /// Text and description of the chunk.
    pub content: Content,
    /// First and last line, 1-based, inclusive.
    pub span: (u32, u32),
    /// The part of the chunk that answers the query.
    pub focus: Focus,
    /// 0–1, comparable between queries.
    pub relevance_score: f32,
    /// Evidence that contributed most to the score.
    pub match_type: MatchType,
    /// Qualified names of symbols that have to do with the definition that answers the query.
    pub related_symbols: Vec<String>,
    /// The same symbols, with their places and their relation to that definition.
    pub relations: Vec<RelatedSymbol>,
    /// Hex oid of the contents from which the text is cut. That of a modified file may be in no object
    /// database.
    pub blob: String,
    /// The revision as typed, or `HEAD`.
    pub rev: String,
    /// Whether the file is committed.
    pub state: MatchState,
    /// Further definitions of the same file that answer, best first.
    pub more_in_file: Vec<Span>,
    /// Other paths with the same blob.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_at: Vec<String>,
    /// Near-duplicates in other files, which are not matches of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near_copies: Vec<Place>,
    /// Composition of the score, if the request asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Values from which the relevance was computed, if the request asks for an explanation. Those of a long
    /// query are in `explanation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Parts of a long query that the file has, or a note that it has the query verbatim, if the request asks
    /// for an explanation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

impl Match {
    /// Paths of all files that the match shows.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let copies = self.near_copies.iter().map(|copy| copy.path.as_str());
        std::iter::once(self.file.path.as_str()).chain(self.also_at.iter().map(String::as_str)).chain(copies)
    }

    /// Returns the line that names the answer: its signature, the path of a heading or key, or the title of
    /// the chunk.
    pub fn header(&self) -> &str {
        let Focus { signature, symbol, kind, .. } = &self.focus;
        let names = if ["heading", "key"].contains(kind) { [symbol, signature] } else { [signature, symbol] };
        names.into_iter().find(|text| !text.is_empty()).unwrap_or(&self.content.title)
    }

    /// Returns the signature of the answer, else of the main definition in the chunk; may be empty.
    pub fn signature(&self) -> &str {
        let signature = self.focus.signature.as_str();
        if signature.is_empty() { &self.content.signature } else { signature }
    }

    /// Returns a short name of the answer: its kind and qualified name, or the title of the chunk.
    pub fn name(&self) -> String {
        let Focus { kind, symbol, .. } = &self.focus;
        if symbol.is_empty() { self.content.title.clone() } else { format!("{kind} {symbol}") }
    }

    /// Reduces the match to its location, name and title.
    pub fn to_location(&mut self) {
        let Content { text, signature, doc, chunk_id, .. } = &mut self.content;
        for text in [text, signature, doc, chunk_id, &mut self.focus.signature] {
            text.clear();
        }

        self.content.elided = true;
        self.related_symbols.clear();
        self.relations.clear();
        self.more_in_file.clear();
        self.also_at.clear();
        self.near_copies.clear();
    }
}

/// The definition, section or key in a chunk that answers the query; the chunk itself, without a symbol, if
/// none stands out.
#[derive(Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct Focus {
    /// First line, 1-based, inclusive. A long definition begins before the chunk.
    pub start_line: u32,
    /// Last line, 1-based, inclusive. A long definition ends after the chunk.
    pub end_line: u32,
    /// Qualified name of the definition.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub symbol: String,
    /// `function`, `class`, `heading`, `key`, …
    #[serde(skip_serializing_if = "str::is_empty")]
    pub kind: &'static str,
    /// Its declaration without its body.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub signature: String,
}

/// The file of a match.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct FileInfo {
    /// Relative to the root of the repository.
    pub path: String,
    /// Name in the language table.
    pub language: String,
    /// In a catalogue, where the file is.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub in_repo: Option<RepoPath>,
}

/// A file of a member of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct RepoPath {
    /// Name of the member.
    #[serde(rename = "repo")]
    pub name: String,
    /// Hex oid of its own commit.
    pub commit: String,
    /// Relative to its root.
    #[serde(rename = "path_in_repo")]
    pub path: String,
}

/// Text and description of a chunk.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct Content {
    /// The text of the chunk, or as much of it as the token limit allows.
    pub text: String,
    /// The names of what the chunk defines, or its position in the file.
    pub title: String,
    /// Semantic class of the definition that answers the query, else of the chunk.
    pub class: &'static str,
    /// Signature of the definition that answers the query, else of the main definition in the chunk.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// Documentation comment of the same definition.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub doc: String,
    /// Whether `text` is only the signature, or empty, to keep within the limits.
    pub elided: bool,
    /// Identity of the chunk, the same in every index of these contents with these settings, if the request
    /// asks for it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chunk_id: String,
}

impl Content {
    /// Returns the class in plain words, for people: `function`, `documentation`, …
    pub fn class_title(&self) -> &'static str {
        SemanticClass::by_name(self.class).map_or(self.class, SemanticClass::title)
    }
}

/// Lines of another file.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct Place {
    /// Relative to the root of the repository.
    pub path: String,
    /// First and last line, 1-based, inclusive.
    pub span: (u32, u32),
}

/// A further definition in the file of a match, or a chunk of a file without definitions.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct Span {
    /// First and last line, 1-based, inclusive.
    pub span: (u32, u32),
    /// Kind and name of the definition; of a chunk as [`Content::title`].
    pub title: String,
    /// Qualified name of the definition.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub symbol: String,
    /// The first line.
    pub line: u32,
    /// 0–1, at most that of the match.
    pub relevance_score: f32,
}

/// Evidence that contributed most to the score of a match: vectors, definitions, terms, or the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
#[expect(missing_docs, reason = "documentation of variants would change the JSON schema; see the type")]
pub enum MatchType {
    Semantic,
    /// The chunk defines what the query names.
    Syntactic,
    Keyword,
    FilePattern,
}

/// The state of the index that was searched, by which a response can be checked.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct IndexInfo {
    /// Hex oid of the commit of the revision, if it has one.
    pub commit: Option<String>,
    /// Hex oid of the tree.
    pub tree: String,
    /// The revision as typed, or `HEAD`.
    pub rev: String,
    /// Hex oid of the commit that HEAD points to.
    pub head: Option<String>,
    /// Relation of the answer to HEAD and the working tree.
    pub freshness: Freshness,
    /// Number of changed files in the working tree.
    pub dirty_files: usize,
    /// Number of files and directories that were not compared with the disk, because the time budget was used
    /// up or because they cannot be read.
    pub unchecked_files: usize,
    /// Files of the working tree, and directories (which end in a slash), that cannot be read; at most 20.
    /// They are shown as committed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// Number of those for which the time budget was too short.
    #[serde(skip)]
    pub late_files: usize,
    /// Number of changed files that are searched as committed, or not at all, until they are indexed in the
    /// background. The files of matches are never among them.
    pub pending_files: usize,
    /// Whether the updater has something to do.
    #[serde(skip)]
    pub needs_update: bool,
    /// Whether the difference to the tree of a revision other than HEAD was laid over a snapshot.
    #[serde(skip)]
    pub is_revision_overlaid: bool,
    /// Number of indexed paths.
    pub files: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Number of skipped paths, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Files indexed and files wanted, while a first index is being built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<(u64, u64)>,
    /// Name of the model, or `none`.
    pub model: String,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schemars::generate::SchemaSettings;

    use super::*;

    /// Set `CODEWEAVER_UPDATE_DOCS` to rewrite the file.
    #[test]
    fn the_schema_in_the_documentation_is_that_of_a_response() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/response.schema.json");

        // Of values as they are written: fields that may be absent are not required.
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let schema = generator.into_root_schema_for::<Response>();
        let expected = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());

        if std::env::var_os("CODEWEAVER_UPDATE_DOCS").is_some() {
            std::fs::write(&path, expected).unwrap();
        } else {
            let written = std::fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(written, expected, "run the tests with CODEWEAVER_UPDATE_DOCS=1");
        }
    }

    #[test]
    fn every_strategy_is_documented() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/output.md");
        let page = std::fs::read_to_string(path).unwrap();

        let schema = schemars::schema_for!(Strategy);
        let names = schema.get("enum").and_then(serde_json::Value::as_array).unwrap();
        for name in names {
            let row = format!("| `{}` |", name.as_str().unwrap());
            assert!(page.contains(&row), "no row {row}");
        }
    }
}
