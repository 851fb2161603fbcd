//! What lies in `.codeweaver/`, how it is written whole, and how it is read.
//!
//! The truth is in shards ([`shard`], Parquet, named by content) and in git; segments ([`segment`]), entry files
//! ([`entries`]), snapshots ([`snapshot`]) and graphs can be derived from them. One pointer ([`state`]) says what is current
//! and is replaced atomically, so readers never block and never see half a write. Every stored structure has one life:
//! builder in memory → immutable file → reader.
//!
//! Identities: a *doc* is a blob in one language under one chunker ([`rows::DocKey`]); an *entry* is a path with its doc or
//! the reason it is left out; a *snapshot* is a set of entries. Compaction concatenates adjacent segments, so doc ids stay and no
//! snapshot changes.

pub mod binary_quantisation;
pub mod container;
pub mod entries;
pub mod error;
pub mod exclude;
pub mod fault;
pub mod hnsw;
pub mod layout;
pub mod live;
pub mod lock;
pub mod postings;
pub mod reader;
pub mod rows;
pub mod segment;
pub mod shard;
pub mod snapshot;
pub mod state;
pub mod symbols;
pub mod time;
pub(crate) mod varint;

pub use error::StoreError;
pub use layout::{Layout, StoreLayout};
pub use reader::StoreReader;
