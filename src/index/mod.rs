//! The update pipeline: from a wanted tree to a published snapshot.
//!
//! * [`codebase`]: one worktree with its settings and store.
//! * [`plan`]: the tree diff and the policy; which entries leave and arrive, which blobs are new.
//! * [`build`]: new blobs to sealed segments, on all cores, in deterministic order.
//! * [`journal`]: the blobs being parsed, in case a grammar ends the process.
//! * [`publish`]: segments and entries to a new state. Nothing else replaces the state file.
//! * [`overlay`]: changes that no snapshot contains, in memory over a snapshot.
//! * [`update`]: plan, build and publish in sequence, with checkpoints.
//! * [`updater`]: the work lease and update requests; [`background`]: updater processes, started by readers.
//! * [`gate`]: whether a codebase may answer, and the reason if it may not.
//! * [`status`]: what is indexed. Reads only.
//! * [`clear`]: removal of an index.
//! * [`compact`], [`gc`], [`repair`]: keeping the store small and whole. [`recompute`]: deriving a sample
//!   again. [`hnsw`]: HNSW for large segments.

pub mod background;
pub mod build;
pub mod clear;
pub mod codebase;
pub mod compact;
pub mod error;
pub mod gate;
pub mod gc;
pub mod hnsw;
pub mod journal;
pub mod overlay;
pub mod plan;
pub mod progress;
pub mod publish;
pub mod recompute;
pub mod repair;
pub mod status;
pub mod update;
pub mod updater;

pub use codebase::{Codebase, Lifecycle};
pub use error::IndexError;
pub use progress::{Counters, Meter, Progress};
pub use update::{Target, UpdateOptions, UpdateReport};
