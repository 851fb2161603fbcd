//! The index of an organisation: many repositories on a search engine that is there already.
//!
//! Sharding, replication, upgrades and backups are the engine's. It keeps the rows of files under their
//! content addresses and finds candidates; ranking and display are those of
//! [`codeweaver::query`](codeweaver::query::engine). The modules in the order in which each imports only
//! those before it:
//!
//! * [`error`]: what does not work, why, and the remedy.
//! * [`address`]: the URL of an index, and the key to it.
//! * `http`: requests to the engine, with retries.
//! * [`schema`]: the indices, their fields, and the names of documents.
//! * `words`: the words of files, and the conditions that a pattern makes of them.
//! * `record`: a file with its rows as the engine keeps it.
//! * `beat`: signs of life during work.
//! * [`org`]: an opened index.
//! * `members`: the repositories and the state of their pushes.
//! * `bulk`: many changes in one request.
//! * `scan`: documents of a search, one page after the other.
//! * [`local`]: the files of a repository as they are indexed here.
//! * [`push`]: from the local index to the engine.
//! * [`manage`]: everything else that changes documents.
//! * [`reindex`]: copying an index into one with other fields or shards.
//! * `cache`: files of an index in memory.
//! * `requests`: searches for candidates and counts, as the engine takes them.
//! * [`search`]: candidates and counts for a query.
//!
//! A file is one document in the index of files and one for each of its rows in the index of rows. Both say
//! in which repositories the file is, and under which paths. Documents are never changed otherwise, so any
//! number of writers may send the same one, and a push that was interrupted is resumed by the next.

#![warn(missing_docs)]

pub mod address;
mod beat;
mod bulk;
mod cache;
mod document;
pub mod error;
mod http;
mod lease;
pub mod local;
pub mod manage;
mod members;
pub mod org;
pub mod push;
mod record;
pub mod reindex;
mod requests;
mod scan;
pub mod schema;
pub mod search;
mod words;

pub use address::Address;
pub use error::OrgError;
pub use org::Org;
