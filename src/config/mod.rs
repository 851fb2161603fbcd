//! config

pub mod chunker;
pub use chunker::{ChunkerSettings, CustomDelimiter, Granularity, MarkdownSettings};
