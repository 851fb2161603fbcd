//! How blobs become chunks (C8).

use std::collections::BTreeMap;

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChunkerSettings {
    pub semantic_importance_threshold: f32,
    pub prefer_semantic: bool,
    pub force_delimiter_for_languages: Vec<String>,
    pub enable_hybrid_chunking: bool,
    /// By language name.
    pub custom_delimiters: BTreeMap<String, Vec<CustomDelimiter>>,
    pub granularity: Granularity,
    pub target_tokens: u32,
    pub token_limit: u32,
    pub max_error_share: f32,
    /// In tokens.
    pub simple_overlap: u32,
    pub markdown: MarkdownSettings,
}

impl Default for ChunkerSettings {
    fn default() -> Self {
        Self {
            semantic_importance_threshold: 0.3,
            prefer_semantic: true,
            force_delimiter_for_languages: Vec::new(),
            enable_hybrid_chunking: true,
            custom_delimiters: BTreeMap::new(),
            granularity: Granularity::Packed,
            target_tokens: 500,
            token_limit: 4000,
            max_error_share: 0.3,
            simple_overlap: 0,
            markdown: MarkdownSettings::default(),
        }
    }
}

/// Whether small siblings share a chunk (C3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    #[default]
    Packed,
    Definition,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MarkdownSettings {
    /// In characters.
    pub chunk_size: u32,
    /// In characters, smaller than `chunk_size`.
    pub overlap: u32,
}

impl Default for MarkdownSettings {
    fn default() -> Self {
        Self { chunk_size: 1000, overlap: 200 }
    }
}

/// Delimiters added to a language; every start goes with every end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CustomDelimiter {
    pub starts: Vec<String>,
    pub ends: Vec<String>,
    pub kind: String,
    pub priority: u8,
    pub inclusive: bool,
    pub take_whole_lines: bool,
    pub nestable: bool,
}
