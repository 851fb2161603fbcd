//! The indices of an organisation, their fields, and the names of documents.
//!
//! Each index is behind an alias, so that `reindex` fills another one and switches.

use serde_json::{Value, json};

use codeweaver_index::policy::PathFlags;
use codeweaver_store::postings::N_FIELDS;
use codeweaver_store::rows::DocKey;
use codeweaver_text as text;

/// Version of the fields, which counts up when there are others. Version 2 has added the words of files,
/// and places in a form that searches return.
pub const VERSION: u32 = 2;
/// The oldest version that is searched. It takes no pushes until it is copied into the present fields.
pub const OLDEST: u32 = 1;
/// The fields of a row with the terms of the chunk, in the order of [`codeweaver_store::postings::FIELDS`].
pub const TERM_FIELDS: [&str; N_FIELDS] = ["body", "symbol", "doc", "enclosing"];
/// The fields of a file with the numbers of its terms, in the same order.
pub const LENGTH_FIELDS: [&str; N_FIELDS] = ["body_terms", "symbol_terms", "doc_terms", "enclosing_terms"];

/// The flag of a path of a test.
pub const TEST_FLAG: u16 = PathFlags::TEST.0 as u16;

/// Maximum length of a path that is a term; longer ones are found by their words only.
const MAX_PATH_CHARS: u32 = 8191;
/// Links of a row in the graph of vectors, and width of the search when it is inserted.
const GRAPH_LINKS: u32 = 16;
const GRAPH_WIDTH: u32 = 64;

/// Version of [`PLACE`].
pub const SCRIPT_VERSION: u32 = 2;

/// One of the three indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Chunks, for candidates.
    Rows,
    /// Blobs with everything that is kept about their chunks.
    Files,
    /// Repositories with the state of their pushes.
    Repos,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Rows, Kind::Files, Kind::Repos];

    /// The alias under which it is read and written.
    pub fn alias(self, prefix: &str) -> String {
        let name = match self {
            Kind::Rows => "rows",
            Kind::Files => "files",
            Kind::Repos => "repos",
        };
        format!("{prefix}-{name}")
    }

    /// The name of an index behind the alias.
    pub fn index(self, prefix: &str, generation: u64) -> String {
        format!("{}-{generation:06}", self.alias(prefix))
    }
}

/// What all rows of an index have in common; stored with its fields.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Meta {
    /// From [`OLDEST`] to [`VERSION`].
    pub version: u32,
    /// Version of the terms.
    pub terms: u32,
    /// Fingerprint of the model.
    pub space: String,
    /// Number of components of a vector.
    pub dim: usize,
    /// Whether the texts of files are kept.
    pub texts: bool,
}

impl Meta {
    /// That of an index made by this version.
    pub fn new(space: &str, dim: usize, texts: bool) -> Meta {
        Meta { version: VERSION, terms: text::TERMS_VERSION, space: space.to_owned(), dim, texts }
    }
}

/// The number of shards and of copies of each.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Parts of an index that are searched in parallel.
    pub shards: u32,
    /// Copies of each part on other nodes.
    pub replicas: u32,
}

/// The request that creates an index.
pub fn definition(kind: Kind, meta: &Meta, layout: Layout) -> Value {
    let Layout { shards, replicas } = layout;
    // Repositories are few, and all of them are read together.
    let shards = if kind == Kind::Repos { 1 } else { shards };

    let mut settings = json!({
        "number_of_shards": shards,
        "number_of_replicas": replicas,
        // A push refreshes when it ends. In between, segments would only be small and be merged again.
        "refresh_interval": "-1",
        "max_result_window": 10_000,
    });
    if kind == Kind::Rows {
        settings["knn"] = json!(true);
    }

    json!({
        "settings": { "index": settings },
        "mappings": { "dynamic": "strict", "_meta": meta, "properties": properties(kind, meta) },
    })
}

fn properties(kind: Kind, meta: &Meta) -> Value {
    let words = json!({ "type": "text", "analyzer": "whitespace", "index_options": "freqs" });
    let word = json!({ "type": "keyword" });
    let path = json!({ "type": "keyword", "ignore_above": MAX_PATH_CHARS });
    let unread = json!({ "type": "object", "enabled": false });
    let number = json!({ "type": "long" });
    let shown = json!({ "type": "keyword", "index": false });
    let looked_up = json!({ "type": "keyword", "doc_values": false, "index_options": "docs" });

    match kind {
        Kind::Rows => json!({
            "file": word, "repo": word, "path": path, "at": unread, "place": shown, "language": word,
            "test": { "type": "boolean" },
            "body": words, "symbol": words, "doc": words, "enclosing": words,
            "vector": {
                "type": "knn_vector", "dimension": meta.dim, "data_type": "byte",
                "method": {
                    "name": "hnsw", "engine": "lucene", "space_type": "innerproduct",
                    "parameters": { "m": GRAPH_LINKS, "ef_construction": GRAPH_WIDTH },
                },
            },
        }),
        Kind::Files => json!({
            "file": word, "repo": word, "path": path, "at": unread, "place": shown, "language": word,
            "test": { "type": "boolean" },
            "path_terms": words, "terms": words, "words": looked_up,
            "rows": number, "body_terms": number, "symbol_terms": number, "doc_terms": number,
            "enclosing_terms": number,
            "data": { "type": "binary" }, "text": { "type": "binary" },
        }),
        Kind::Repos => json!({
            "name": word, "commit": word, "tree": word, "root": word, "reference": word, "settings": word,
            "state": word, "writer": word, "beat": number, "pushed": number, "files": number, "numbers": unread,
        }),
    }
}

/// The name of the document of a file.
pub fn file_id(key: &DocKey) -> String {
    format!("{}-{:016x}", key.blob_oid, key.variant)
}

/// The name of the document of a row.
pub fn row_id(chunk_id: &[u8; 16]) -> String {
    chunk_id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Puts the places of a document in one repository, `params.at`, in place of those that it has there. Fields
/// that are searched follow from all places. A document without any stays until it is collected, for a push
/// that has it again.
pub const PLACE: &str = "\
def source = ctx._source; \
def old = new ArrayList(); def rest = new ArrayList(); \
for (e in source.at) { if (e.r == params.repo) { old.add(e) } else { rest.add(e) } } \
if (old.equals(params.at)) { ctx.op = 'none' } else { \
rest.addAll(params.at); source.at = rest; \
def repos = new TreeSet(); def paths = new ArrayList(); def terms = new ArrayList(); def places = new ArrayList(); \
boolean test = !rest.isEmpty(); \
for (e in rest) { repos.add(e.r); paths.add(e.p); places.add(e.f + '\\\\' + e.r + '\\\\' + e.p); if (e.t != null) { terms.add(e.t) } if ((e.f & params.test) == 0) { test = false } } \
source.repo = new ArrayList(repos); source.path = paths; source.place = places; source.test = test; \
if (params.words) { source.path_terms = String.join(' ', terms) } }";

/// Adds to a document of version 1 what follows from its places.
pub const UPGRADE: &str = "\
if (ctx._source.at != null) { \
def places = new ArrayList(); \
for (e in ctx._source.at) { places.add(e.f + '\\\\' + e.r + '\\\\' + e.p) } \
ctx._source.place = places }";

/// The separator of the parts of a place: its flags, its repository, and its path, which alone may have one.
pub const SEPARATOR: char = '\\';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_documents_depend_on_the_content_alone() {
        let blob_oid = codeweaver_git::Oid::from_hex(b"1234567890123456789012345678901234567890").unwrap();
        let key = DocKey { blob_oid, variant: 10 };
        assert_eq!(file_id(&key), "1234567890123456789012345678901234567890-000000000000000a");
        assert_eq!(row_id(&[0xab; 16]), "ab".repeat(16));
    }

    #[test]
    fn every_field_with_terms_is_a_field_of_rows() {
        let rows = properties(Kind::Rows, &Meta::new("space", 256, false));
        let files = properties(Kind::Files, &Meta::new("space", 256, false));
        assert!(TERM_FIELDS.iter().all(|field| rows.get(field).is_some()));
        assert!(LENGTH_FIELDS.iter().all(|field| files.get(field).is_some()));
    }
}
