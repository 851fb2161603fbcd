//! A semantic code index that lives in git.
//!
//! Everything derived from a blob is keyed by that blob, and everything derived from a tree is a cheap view
//! over blobs. Branch switches, rebases, worktrees and searches of old revisions therefore embed nothing if
//! their blobs are indexed. `docs/architecture.md` describes the design, `docs/glossary.md` the terms.
//!
//! ```text
//! git objects ─► policy ─► chunk ─► embed ─► shard (Parquet) ─► segment (postings, symbols, records)
//!                                                                  │
//!                        snapshot(tree, settings) = live entries (path → doc)
//!                                                                  │
//!        query ─► parse ─► view ─► retrieve (dense, lexical, symbol, path) ─► rank ─► answer ─► response
//! ```
//!
//! The modules, in the order in which data flows; each imports only from those before it:
//!
//! * [`sync`], [`random`], [`durable`]: locks, random bits, atomic replacement of files.
//! * [`text`]: terms of code and prose, shared by the lexical index, the query and the built-in model.
//! * [`config`]: settings with their origin, defaults and validation.
//! * [`sys`]: memory maps and SIMD kernels, the only unsafe code.
//! * [`git`]: repository, revisions, trees, tree diff, blobs.
//! * [`worktree`]: the status engine: which files differ from git's index and from a tree.
//! * [`hooks`]: installation and removal of git hooks.
//! * [`process`]: detached child processes.
//! * [`chunk`]: languages, and the bytes of a blob → chunks with their symbols.
//! * [`policy`]: which paths and blobs are indexed, and the skip reason of the others.
//! * [`embed`]: chunks and queries → int8 vectors.
//! * [`store`]: the files in `.codeweaver/`, their publication and verification.
//! * [`index`]: updates from a wanted tree to a published snapshot; overlays; garbage collection.
//! * [`query`]: queries → ranked matches, with their freshness.
//! * [`xref`]: a symbol → its definitions, callers, callees and references.
//! * [`eval`]: labelled queries → figures of the ranking.
//! * [`mcp`]: the stdio server for coding agents.
//! * [`cli`]: one file for each command: parse, call the library, render.

pub mod chunk;
pub mod cli;
pub mod config;
pub mod durable;
pub mod embed;
pub mod eval;
pub mod git;
pub mod hooks;
pub mod index;
pub mod mcp;
pub mod policy;
pub mod process;
pub mod query;
pub mod random;
pub mod store;
pub mod sync;
pub mod sys;
#[cfg(test)]
mod testing;
pub mod text;
#[cfg(test)]
mod tidy;
pub mod worktree;
pub mod xref;
