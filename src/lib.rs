//! The semantic code index that lives in git.
//!
//! Everything derived from a blob is keyed by that blob; everything derived from a tree is a cheap view over blobs. That
//! makes branch switches, rebases, worktrees and time travel free: going to a tree whose blobs are known embeds nothing.
//!
//! ```text
//! git objects ─► policy ─► chunk ─► embed ─► shard (Parquet) ─► segment (postings, symbols, records)
//!                                                                  │
//!                     snapshot(tree, settings) = which entries (path → doc) are live
//!                                                                  │
//!            query ─► retrieve (dense, lexical, symbol, path) ─► fuse ─► rank ─► budget ─► response
//! ```
//!
//! The modules, in the order data flows; each imports only from those above it:
//!
//! * [`config`]: settings with their origin, defaults and validation.
//! * [`text`]: terms of code and prose, shared by the lexical index, the query and the built-in model.
//! * [`git`]: repository, tree diff, revisions, working-tree state, hooks.
//! * [`chunk`]: languages, and bytes of a blob → chunks with their symbols.
//! * [`policy`]: which paths and blobs are indexed, and why the others are not.
//! * [`embed`]: chunks and queries → int8 vectors.
//! * [`store`]: what lies in `.codeweaver/` and how it is published, verified and collected.
//! * [`index`]: the update pipeline from a wanted tree to a published snapshot.
//! * [`query`]: a question → ranked matches, with the proof of their freshness.
//! * [`graph`]: a symbol → its definitions, callers, callees and mentions.
//! * [`eval`]: labelled questions → how good the ranking is.
//! * [`mcp`]: the stdio server for coding agents.
//! * [`cli`]: one small file per verb: parse, call the library, render.

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
