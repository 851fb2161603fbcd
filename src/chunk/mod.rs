//! Bytes of a blob → chunks with their symbols.
//!
//! Chain (requirement C3): semantic (tree-sitter) → delimiter (language family) → generic delimiters → text split.
//! `chunks(blob) = f(bytes, language, settings)`: no path, no clock, no machine load enters, so an unchanged blob gives
//! the same chunks in every rebuild and on every machine (C5, C9).

use std::ops::Range;

/// 1-based, inclusive on both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct LineSpan {
    pub start: u32,
    pub end: u32,
}

/// Which step of the chain produced a chunk (C4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ChunkSource {
    Semantic = 0,
    Delimiter = 1,
    Generic = 2,
    Text = 3,
    Markdown = 4,
}

/// What a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum SymbolKind {
    Function = 0,
    Method = 1,
    Constructor = 2,
    Class = 3,
    Struct = 4,
    Enum = 5,
    EnumMember = 6,
    Interface = 7,
    Trait = 8,
    Impl = 9,
    TypeAlias = 10,
    Module = 11,
    Namespace = 12,
    Constant = 13,
    Variable = 14,
    Field = 15,
    Property = 16,
    Macro = 17,
    Test = 18,
    Object = 19,
    Heading = 20,
    Key = 21,
    Selector = 22,
    Table = 23,
    Resource = 24,
    Other = 25,
}

/// A named definition inside a chunk (C4).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Symbol {
    pub name: String,
    /// Enclosing names and the name itself, joined by the separator usual in the language (`.`, `::`, `#`).
    pub qualified_name: String,
    pub kind: SymbolKind,
    pub class: SemanticClass,
    /// The declaration without its body, white space collapsed, at most 200 characters. A span, so that it can be left
    /// out of storage.
    pub signature: String,
    /// First sentence of the documentation, at most 200 characters; empty if there is none.
    pub doc: String,
    /// Half-open byte range of the whole definition in the blob.
    pub byte_range: Range<u32>,
    pub line_span: LineSpan,
    /// Number of enclosing definitions.
    pub nesting: u8,
}

/// What the delimiter chunker says of its chunk (C4).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DelimiterMatch {
    pub kind: &'static str,
    pub start: String,
    pub end: String,
    pub priority: u8,
    pub nesting: u8,
    pub inclusive: bool,
}

/// One indexed unit: a byte range of a blob with its metadata (C4).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Chunk {
    /// Half-open, in the blob.
    pub byte_range: Range<u32>,
    pub line_span: LineSpan,
    /// The language of this text; differs from the blob's for fenced code in Markdown.
    pub language: LanguageId,
    pub source: ChunkSource,
    /// The most important class among what the chunk holds (appendix A).
    pub class: SemanticClass,
    /// By [`tokens::count`], the one tokeniser of C10.
    pub token_count: u32,
    /// Readable, for example `fn parse_header` or `Installation > From source`.
    pub title: String,
    pub symbols: Vec<Symbol>,
    /// Names of what encloses the chunk, outermost first (class, module, heading path).
    pub enclosing: Vec<String>,
    /// True if the chunk is the shell of a definition whose members are chunks of their own.
    pub is_container: bool,
    /// Grammar kind of the definition this chunk is a piece of, when a definition exceeded the limit (C3).
    pub parent_semantic_node: Option<&'static str>,
    pub delimiter: Option<DelimiterMatch>,
}

/// Why a blob or a part of it went one step down the chain (C6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DegradationReason {
    NoGrammar,
    ErrorShare,
    ParseBudget,
    TooDeep,
    NotUtf8,
    Forced,
    NoDelimiters,
    OversizedNode,
}

/// One counted step down the chain.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Degradation {
    pub reason: DegradationReason,
    pub byte_range: Range<u32>,
}

/// All chunks of one blob, in order of their position.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ChunkedBlob {
    pub chunks: Vec<Chunk>,
    pub degradations: Vec<Degradation>,
    /// Chunk boundaries between two non-blank pieces: those on whole nodes, and all of them (C3).
    pub boundaries_on_nodes: u32,
    pub boundaries: u32,
    /// Definitions-level nodes whose class is unknown, and all that were classified (C11).
    pub nodes_unknown: u32,
    pub nodes_classified: u32,
}

pub(crate) use chain::readable;
pub use chain::{chunk_blob, fingerprint, fingerprint_of_all};
pub use classes::SemanticClass;
pub use language::LanguageId;

mod chain;
pub mod classes;
mod delimiter;
mod doc;
pub(crate) mod grammar;
pub mod language;
pub(crate) mod lines;
mod markdown;
mod pack;
mod pieces;
mod rules;
pub(crate) mod semantic;
mod symbols;
mod text_split;
mod title;
pub mod tokens;

#[cfg(test)]
mod tests;

impl SymbolKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [SymbolKind; 26] = [
        SymbolKind::Function,
        SymbolKind::Method,
        SymbolKind::Constructor,
        SymbolKind::Class,
        SymbolKind::Struct,
        SymbolKind::Enum,
        SymbolKind::EnumMember,
        SymbolKind::Interface,
        SymbolKind::Trait,
        SymbolKind::Impl,
        SymbolKind::TypeAlias,
        SymbolKind::Module,
        SymbolKind::Namespace,
        SymbolKind::Constant,
        SymbolKind::Variable,
        SymbolKind::Field,
        SymbolKind::Property,
        SymbolKind::Macro,
        SymbolKind::Test,
        SymbolKind::Object,
        SymbolKind::Heading,
        SymbolKind::Key,
        SymbolKind::Selector,
        SymbolKind::Table,
        SymbolKind::Resource,
        SymbolKind::Other,
    ];

    /// The kind of a stored number.
    pub fn from_u8(number: u8) -> Option<SymbolKind> {
        SymbolKind::ALL.get(usize::from(number)).copied()
    }
}
