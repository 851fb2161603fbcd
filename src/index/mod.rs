//! The update pipeline: from a wanted tree to a published snapshot.
//!
//! * [`codebase`]: one worktree with its settings and store.
//! * [`plan`]: tree diff and policy → which entries leave and come, which blobs are new.
//! * [`build`]: new blobs → sealed segments, on all cores, in deterministic order.
//! * [`journal`]: which blobs are being parsed, in case that ends the process.
//! * [`publish`]: segments and entries → a new state; the only code that replaces the pointer.
//! * [`overlay`]: changes that no snapshot contains, in memory over a snapshot.
//! * [`update`]: the three together, with checkpoints.
//! * [`updater`]: who does it when: lease, wishes, catch-up; [`background`]: the same as a process of its own, for readers.
//! * [`gate`]: whether a codebase may answer, and the envelope that says why not.
//! * [`status`]: what there is, for people and servers. Reads only.
//! * [`clear`]: forgetting it.
//! * [`compact`], [`gc`], [`repair`]: keeping the store small and whole; [`recompute`]: deriving a sample again; [`graph`]: HNSW for large segments.

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
