//! Rows (chunks) and docs (blobs in one language) as they enter the store.

use std::ops::Range;

use codeweaver_chunk::{Chunk, Degradation, Symbol};
use codeweaver_git::Oid;

/// Identity of a doc: a blob, and everything else that its chunks depend on (language and chunker
/// fingerprint).
///
/// Path, policy and tree are not part of it, so a rename is free and two paths with one blob share a doc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocKey {
    pub blob_oid: Oid,
    /// The first eight bytes of BLAKE3 over language name and chunker fingerprint.
    pub variant: u64,
}

/// The variant of a doc key.
pub fn variant(language: &str, chunker_fingerprint: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(language.as_bytes()).update(b"\0").update(chunker_fingerprint.as_bytes());

    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}

/// Stable identity of a chunk: a function of blob, variant and position.
pub fn chunk_id(key: &DocKey, byte_range: &Range<u32>) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.blob_oid.as_slice()).update(&key.variant.to_le_bytes());
    hasher.update(&byte_range.start.to_le_bytes()).update(&byte_range.end.to_le_bytes());

    let mut id = [0; 16];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    id
}

/// Returns the same identity as 32 hexadecimal digits, for output.
pub fn chunk_id_digits(key: &DocKey, byte_range: &Range<u32>) -> String {
    chunk_id(key, byte_range).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A definition as stored. Strings are at most 200 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolMeta {
    pub name: String,
    pub qualified_name: String,
    pub kind: u8,
    pub class: u8,
    pub nesting: u8,
    pub signature: String,
    pub doc: String,
    pub byte_range: Range<u32>,
    /// 1-based, inclusive.
    pub lines: (u32, u32),
}

/// A chunk as stored: positions and names, never its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowMeta {
    pub chunk_id: [u8; 16],
    /// BLAKE3 of vector-space fingerprint and model input: the key under which a vector can be reused.
    pub input_hash: [u8; 16],
    pub byte_range: Range<u32>,
    /// 1-based, inclusive.
    pub lines: (u32, u32),
    pub language: String,
    pub source: u8,
    pub class: u8,
    pub is_container: bool,
    pub token_count: u32,
    pub title: String,
    pub enclosing: Vec<String>,
    pub symbols: Vec<SymbolMeta>,
    /// JSON of rarely used details: delimiter match, parent node and its context. Empty if there are none.
    pub detail: String,
}

impl RowMeta {
    /// The stored form of `chunk`; without signatures and documentation if `excerpts` is false.
    pub fn new(key: &DocKey, chunk: &Chunk, input_hash: [u8; 16], excerpts: bool) -> RowMeta {
        RowMeta::from_chunk(key, chunk.clone(), input_hash, excerpts)
    }

    /// As [`Self::new`], without copies of the texts.
    pub fn from_chunk(key: &DocKey, chunk: Chunk, input_hash: [u8; 16], excerpts: bool) -> RowMeta {
        let detail = detail(&chunk);

        RowMeta {
            chunk_id: chunk_id(key, &chunk.byte_range),
            input_hash,
            byte_range: chunk.byte_range,
            lines: (chunk.line_span.start, chunk.line_span.end),
            language: chunk.language.name().to_owned(),
            source: chunk.source as u8,
            class: chunk.class as u8,
            is_container: chunk.is_container,
            token_count: chunk.token_count,
            title: chunk.title,
            enclosing: chunk.enclosing,
            symbols: chunk.symbols.into_iter().map(|symbol| SymbolMeta::new(symbol, excerpts)).collect(),
            detail,
        }
    }
}

impl SymbolMeta {
    fn new(symbol: Symbol, excerpts: bool) -> SymbolMeta {
        let excerpt = |text: String| if excerpts { text } else { String::new() };

        SymbolMeta {
            name: symbol.name,
            qualified_name: symbol.qualified_name,
            kind: symbol.kind as u8,
            class: symbol.class as u8,
            nesting: symbol.nesting,
            signature: excerpt(symbol.signature),
            doc: excerpt(symbol.doc),
            byte_range: symbol.byte_range,
            lines: (symbol.line_span.start, symbol.line_span.end),
        }
    }
}

fn detail(chunk: &Chunk) -> String {
    if chunk.delimiter.is_none() && chunk.parent_semantic_node.is_none() {
        return String::new();
    }
    serde_json::json!({
        "delimiter": chunk.delimiter,
        "parent_semantic_node": chunk.parent_semantic_node,
        "semantic_context": chunk.semantic_context,
    })
    .to_string()
}

/// A doc with everything that the store keeps about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocMeta {
    pub key: DocKey,
    pub language: String,
    /// The skip reason (`policy::SkipReason` as a number) of a blob without rows; 0 for a chunked doc.
    pub skipped: u8,
    pub blob_bytes: u32,
    /// The steps that the blob went down the chain of chunkers, in the order in which they happened.
    pub degradations: Vec<DegradationMeta>,
}

/// A step down the chain of chunkers as stored.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(from = "(String, u32, u32)", into = "(String, u32, u32)")]
pub struct DegradationMeta {
    /// `DegradationReason` in snake case.
    pub reason: String,
    pub byte_range: Range<u32>,
}

impl From<&Degradation> for DegradationMeta {
    fn from(degradation: &Degradation) -> Self {
        let reason = degradation.reason.name().to_owned();
        DegradationMeta { reason, byte_range: degradation.byte_range.clone() }
    }
}

impl From<(String, u32, u32)> for DegradationMeta {
    fn from((reason, start, end): (String, u32, u32)) -> Self {
        DegradationMeta { reason, byte_range: start..end }
    }
}

impl From<DegradationMeta> for (String, u32, u32) {
    fn from(DegradationMeta { reason, byte_range }: DegradationMeta) -> Self {
        (reason, byte_range.start, byte_range.end)
    }
}
