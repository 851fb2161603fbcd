//! The update pipeline: from a wanted tree to a published snapshot.
//!
//! * [`codebase`]: one worktree with its settings and store. `target`: the tree to index.
//! * [`arrivals`]: blobs that have arrived in the clone since their paths were indexed.
//! * [`plan`]: the tree diff and the policy; the entries that are removed and added, and the new blobs.
//! * `order`: the order of the jobs of a first index.
//! * [`build`]: new blobs to sealed segments, on all cores, in deterministic order; `run_ahead` bounds the
//!   number of finished units in memory.
//! * [`vector_cache`]: vectors of an unfinished run.
//! * [`journal`]: the blobs being parsed, in case a grammar ends the process.
//! * [`publish`]: segments and entries to a new state. No other module replaces the state file.
//! * [`overlay`]: changes that no snapshot contains, in memory over a snapshot.
//! * [`update`]: plan, build and publish in sequence, with checkpoints.
//! * [`uncommitted`]: changed files that are too many for an overlay, as docs that no snapshot names.
//! * [`updater`]: the work lease and update requests; [`background`]: updater processes, started by readers,
//!   from the file of [`program`].
//! * [`checkpoint`]: the record of an unfinished run. `lifecycle`: whether there is an index.
//! * [`status`]: what is indexed. Reads only.
//! * [`clear`]: removal of an index.
//! * [`compact`], [`gc`], [`repair`]: keeping the store small and whole. [`recompute`]: deriving a sample
//!   again. [`hnsw`]: an HNSW graph for large stores.

pub mod arrivals;
pub mod asked_revisions;
pub mod background;
pub mod build;
pub mod catalogue;
pub mod checkpoint;
pub mod clear;
mod codebase;
mod compact;
mod error;
pub mod gc;
pub mod hnsw;
pub mod journal;
mod lifecycle;
mod order;
pub mod overlay;
pub mod plan;
pub mod policy;
pub mod program;
pub mod progress;
pub mod publish;
pub mod recompute;
pub mod repair;
mod run_ahead;
pub mod status;
mod target;
mod uncommitted;
pub mod update;
pub mod updater;
mod vector_cache;
mod words;

pub use codebase::Codebase;
pub use error::IndexError;
pub use lifecycle::Lifecycle;
pub use progress::{Counters, Meter, Progress};
pub use target::Target;
pub use update::{UpdateOptions, UpdateReport};
