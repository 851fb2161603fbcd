//! The update pipeline: from a wanted tree to a published snapshot.
//!
//! * [`codebase`]: one worktree with its settings and store.
//! * [`arrivals`]: blobs that have arrived in the clone since their paths were indexed.
//! * [`plan`]: the tree diff and the policy; which entries leave and arrive, which blobs are new.
//! * `order`: which files a first index takes first.
//! * [`build`]: new blobs to sealed segments, on all cores, in deterministic order; `run_ahead` bounds what
//!   waits.
//! * [`vector_cache`]: vectors of an unfinished run.
//! * [`journal`]: the blobs being parsed, in case a grammar ends the process.
//! * [`publish`]: segments and entries to a new state. Nothing else replaces the state file.
//! * [`overlay`]: changes that no snapshot contains, in memory over a snapshot.
//! * [`update`]: plan, build and publish in sequence, with checkpoints.
//! * [`uncommitted`]: changed files that are too many for an overlay, as docs that no snapshot names.
//! * [`updater`]: the work lease and update requests; [`background`]: updater processes, started by readers.
//! * [`gate`]: whether a codebase may answer, and the reason if it may not.
//! * [`status`]: what is indexed. Reads only.
//! * [`clear`]: removal of an index.
//! * [`compact`], [`gc`], [`repair`]: keeping the store small and whole. [`recompute`]: deriving a sample
//!   again. [`hnsw`]: an HNSW graph for large stores.

#[doc(hidden)]
pub mod arrivals;
#[doc(hidden)]
pub mod asked_revisions;
pub mod background;
#[doc(hidden)]
pub mod build;
#[doc(hidden)]
pub mod clear;
pub mod codebase;
#[doc(hidden)]
pub mod compact;
pub mod error;
#[doc(hidden)]
pub mod gate;
#[doc(hidden)]
pub mod gc;
#[doc(hidden)]
pub mod hnsw;
#[doc(hidden)]
pub mod journal;
mod order;
#[doc(hidden)]
pub mod overlay;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod progress;
#[doc(hidden)]
pub mod publish;
#[doc(hidden)]
pub mod recompute;
#[doc(hidden)]
pub mod repair;
mod run_ahead;
#[doc(hidden)]
pub mod status;
#[doc(hidden)]
pub mod uncommitted;
pub mod update;
#[doc(hidden)]
pub mod updater;
#[doc(hidden)]
pub mod vector_cache;
#[doc(hidden)]
pub mod words;

pub use codebase::{Codebase, Lifecycle};
pub use error::IndexError;
pub use progress::{Counters, Meter, Progress};
pub use update::{Target, UpdateOptions, UpdateReport};
