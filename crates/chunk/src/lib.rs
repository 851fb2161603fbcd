//! From the bytes of a blob to its chunks with their symbols.
//!
//! A blob goes down a [`chain`] of chunkers until one applies: semantic (tree-sitter), delimiters of the
//! language family, generic delimiters, text split. Markup is chunked by its headings. Chunks are a function
//! of bytes, language and settings alone. Path, time and machine load have no influence, so an unchanged blob
//! has the same chunks in every rebuild and on every machine.

use std::ops::Range;

/// A range of lines: 1-based, inclusive on both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct LineSpan {
    pub start: u32,
    pub end: u32,
}

/// The chunker that produced a chunk. Discriminants are stored in segments: append only.
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

impl ChunkSource {
    /// The name in output and in figures, for example `semantic`.
    pub fn name(self) -> &'static str {
        match self {
            ChunkSource::Semantic => "semantic",
            ChunkSource::Delimiter => "delimiter",
            ChunkSource::Generic => "generic",
            ChunkSource::Text => "text",
            ChunkSource::Markdown => "markdown",
        }
    }
}

/// The kind of a symbol. Discriminants are stored in segments: append only.
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

/// A named definition inside a chunk.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Symbol {
    pub name: String,
    /// Enclosing names and the name itself, joined by the separator usual in the language (`.`, `::`, `#`).
    pub qualified_name: String,
    pub kind: SymbolKind,
    pub class: SemanticClass,
    /// The declaration without its body, white space collapsed, at most 200 characters.
    pub signature: String,
    /// First sentence of the documentation, at most 200 characters; empty if there is none.
    pub doc: String,
    /// Half-open byte range of the whole definition in the blob.
    pub byte_range: Range<u32>,
    pub line_span: LineSpan,
    /// Number of enclosing definitions.
    pub nesting: u8,
}

/// The delimiter pair of a chunk of the delimiter step.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DelimiterMatch {
    pub kind: &'static str,
    pub start: String,
    pub end: String,
    pub priority: u8,
    pub nesting: u8,
    pub inclusive: bool,
}

/// The definition that a chunk is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct SemanticContext {
    pub classification: SemanticClass,
    /// Grammar kind of its node, for example `function_definition`.
    pub kind: &'static str,
}

/// The indexed unit: a byte range of a blob with its metadata.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Chunk {
    /// Half-open, in the blob.
    pub byte_range: Range<u32>,
    pub line_span: LineSpan,
    /// The language of this text; differs from the blob's for fenced code in Markdown.
    pub language: LanguageId,
    pub source: ChunkSource,
    /// The most important class in the chunk; written with its category and importance.
    #[serde(flatten, serialize_with = "class_facts")]
    pub class: SemanticClass,
    /// Number of tokens by [`tokens::count`].
    pub token_count: u32,
    /// A title for readers, for example `fn parse_header` or `Installation > From source`.
    pub title: String,
    pub symbols: Vec<Symbol>,
    /// Names of the definitions or headings around the chunk, outermost first.
    pub enclosing: Vec<String>,
    /// True if the chunk begins a definition whose later members are in other chunks.
    pub is_container: bool,
    /// Title of the definition that the chunk is a part of, if that definition exceeded the limit.
    pub parent_semantic_node: Option<String>,
    /// Class and grammar kind of that definition.
    pub semantic_context: Option<SemanticContext>,
    pub delimiter: Option<DelimiterMatch>,
}

fn class_facts<S: serde::Serializer>(class: &SemanticClass, serializer: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&class.facts(), serializer)
}

/// The reason why a blob, or a part of it, went one step down the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DegradationReason {
    NoGrammar,
    /// More of the tree than `max_error_share` is errors.
    ErrorShare,
    /// Larger than a parser is given, or more work than one parse may cost.
    ParseBudget,
    /// Nested more deeply than a parser is allowed to go.
    TooDeep,
    NotUtf8,
    /// The settings ask for delimiters.
    Forced,
    NoDelimiters,
    /// A node that has no parts small enough for a chunk.
    OversizedNode,
}

impl DegradationReason {
    /// The name in output and in shards, for example `oversized_node`.
    pub fn name(self) -> &'static str {
        match self {
            DegradationReason::NoGrammar => "no_grammar",
            DegradationReason::ErrorShare => "error_share",
            DegradationReason::ParseBudget => "parse_budget",
            DegradationReason::TooDeep => "too_deep",
            DegradationReason::NotUtf8 => "not_utf8",
            DegradationReason::Forced => "forced",
            DegradationReason::NoDelimiters => "no_delimiters",
            DegradationReason::OversizedNode => "oversized_node",
        }
    }
}

/// A step down the chain, with the part of the blob that it applies to.
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
    /// Chunk boundaries between whole nodes, out of [`boundaries`](Self::boundaries).
    pub boundaries_on_nodes: u32,
    /// Chunk boundaries between two non-blank pieces.
    pub boundaries: u32,
    /// Nodes of unknown class, out of [`nodes_classified`](Self::nodes_classified).
    pub nodes_unknown: u32,
    /// Named nodes at the levels that were taken apart.
    pub nodes_classified: u32,
}

pub use chain::readable;
pub use chain::{chunk_blob, parse_only};
pub use classes::SemanticClass;
pub use delimiter::{Lexeme, LexemeKind, lexemes};
pub use doc::MAX_CHARS as MAX_EXCERPT_CHARS;
pub use fingerprint::{fingerprint, fingerprint_of_all};
pub use language::LanguageId;
pub use tree_place::{TreePlace, tree_places};

mod chain;
pub mod classes;
mod delimiter;
mod doc;
pub mod document;
pub mod embedded;
mod fingerprint;
pub mod grammar;
pub mod language;
pub mod lines;
mod markdown;
mod pack;
mod pieces;
mod rules;
pub mod semantic;
mod symbols;
pub mod syntax;
mod text_split;
mod title;
pub mod tokens;
mod tree_place;

#[cfg(test)]
mod tests;

impl SymbolKind {
    /// All kinds, in the order of their discriminants.
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

    /// Returns the kind of a stored discriminant.
    pub fn from_u8(number: u8) -> Option<SymbolKind> {
        SymbolKind::ALL.get(usize::from(number)).copied()
    }
}
