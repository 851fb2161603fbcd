//! The store in `.codeweaver/`: its files, and how to write and read them.
//!
//! Shards ([`shard`], Parquet, named by content) and git are the truth. Segments ([`segment`]), entry files
//! ([`entries`]), snapshots ([`snapshot`]) and HNSW files ([`hnsw`]) are derived from them. One file, the
//! state ([`state`]), names everything current and is replaced atomically, so readers never block and never
//! see a partial write. Every stored structure has the same life: builder in memory, immutable file, reader.
//!
//! A *doc* is a blob in one language under one chunker ([`rows::DocKey`]). An *entry* is a path with its doc
//! or a skip reason. A *snapshot* is a set of entries. Compaction concatenates adjacent segments, so doc ids
//! stay and no snapshot changes.

pub mod binary_quantisation;
pub mod chunking;
mod container;
pub mod content;
pub mod entries;
pub mod error;
pub mod exclude;
pub mod fault;
pub mod hnsw;
pub mod layout;
pub mod live;
pub mod lock;
mod mend;
pub mod permission;
pub mod postings;
pub mod reader;
pub mod records;
mod references;
pub mod rows;
pub mod segment;
pub mod shard;
mod signature;
pub mod snapshot;
pub mod state;
mod strings;
pub mod symbols;
pub mod time;
mod trust;
pub(crate) mod varint;
pub mod words;

pub use error::StoreError;
pub use layout::{Layout, StoreLayout};
pub use mend::mend_command;
pub use reader::StoreReader;
