//! A semantic code index that lives in a git repository.
//!
//! Everything derived from a blob is keyed by that blob, and everything derived from a tree is a cheap view
//! over blobs. Going to a tree whose blobs are known embeds nothing, so branch switches, rebases, worktrees
//! and searches of old revisions are set operations. `docs/architecture.md` describes the design,
//! `docs/glossary.md` the terms.
//!
//! # Example
//!
//! A [`Codebase`] is a worktree with its index, [`update`] brings the index to HEAD, and a [`Searcher`]
//! answers a [`Request`]. Uncommitted files are found too, without an update.
//!
//! ```
//! use codeweaver::{Codebase, Request, Searcher, UpdateOptions};
//!
//! # let directory = tempfile::tempdir()?;
//! # let root = directory.path();
//! # for args in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "--message=x"]] {
//! #     let text = "/// Signs the session cookie.\npub fn sign(cookie: &str) {}\n";
//! #     std::fs::write(root.join("session.rs"), text)?;
//! #     let identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
//! #     let mut git = std::process::Command::new("git");
//! #     git.current_dir(root).args(identity).args(["-c", "core.hooksPath=/dev/null"]).args(args);
//! #     assert!(git.status()?.success());
//! # }
//! let codebase = Codebase::open(root, &[])?;
//! let report = codeweaver::update(&codebase, UpdateOptions::default())?;
//! assert_eq!(report.files, 1);
//!
//! let request = Request::new("where is the session cookie signed", &codebase.settings);
//! let searcher = Searcher::new(codebase);
//! let response = searcher.search(&request, &codeweaver::never_update)?;
//! assert_eq!(response.matches[0].file.path, "session.rs");
//! assert_eq!(response.matches[0].span, (1, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Data flow
//!
//! ```text
//! git objects ─► policy ─► chunk ─► embed ─► shard (Parquet) ─► segment (postings, symbols, records)
//!                                                                  │
//!                     snapshot(tree, settings) = live entries (path → doc)
//!                                                                  │
//!        query ─► parse ─► view ─► retrieve (dense, lexical, symbol, path) ─► rank ─► answer
//! ```
//!
//! The modules in the order in which data flows; each imports only from those above it, which a test checks:
//!
//! * `sync`, `random`, `durable`, `sys`, `process`: locks, random ids, atomic file replacement, memory maps
//!   and SIMD, processes.
//! * `text`: terms of code and prose, shared by the lexical index, the query and the built-in model.
//! * `config`: settings with their origin, defaults and validation.
//! * `http`: what the clients of APIs and of model hubs share.
//! * `git`: repository, trees, blobs and revisions.
//! * `worktree`: the status of the working tree.
//! * `hooks`: installation of hooks, beside those of the user and of hook managers.
//! * `chunk`: languages; bytes of a blob to chunks with their symbols.
//! * `policy`: which paths and blobs are indexed, and why others are skipped.
//! * `embed`: chunks and queries to int8 vectors.
//! * `store`: the files in `.codeweaver/`.
//! * [`index`]: the update, from a wanted tree to a published snapshot.
//! * [`catalogue`]: many repositories indexed as one.
//! * [`query`]: a request to ranked matches, with the freshness of what was searched.
//! * `ask`: a question to what the documents say about it, with its sources.
//! * `xref`: definitions, references, callers and callees of a symbol.
//! * `eval`: labelled queries to figures of ranking quality.
//! * `mcp`: the stdio server for coding agents.
//! * `serve`: the same over HTTP, with a search page, an API, health and metrics.
//! * `cli`: one small file per command.
//!
//! The types at the root of the crate are its interface. Everything else is public only for the program, the
//! trainer and the benchmarks, and changes without notice.

#![warn(missing_docs)]

#[doc(hidden)]
pub mod ask;
pub mod catalogue;
#[doc(hidden)]
pub mod chunk;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod durable;
#[doc(hidden)]
pub mod embed;
mod error;
#[doc(hidden)]
pub mod eval;
#[doc(hidden)]
pub mod git;
#[doc(hidden)]
pub mod hooks;
#[doc(hidden)]
pub mod http;
pub mod index;
#[doc(hidden)]
pub mod mcp;
#[doc(hidden)]
pub mod policy;
#[doc(hidden)]
pub mod process;
pub mod query;
#[doc(hidden)]
pub mod random;
#[doc(hidden)]
pub mod serve;
#[doc(hidden)]
pub mod store;
#[doc(hidden)]
pub mod sync;
#[doc(hidden)]
pub mod sys;
#[cfg(test)]
mod testing;
#[doc(hidden)]
pub mod text;
#[cfg(test)]
mod tidy;
#[doc(hidden)]
pub mod worktree;
#[doc(hidden)]
pub mod xref;

use std::time::Duration;

pub use error::Error;
pub use index::{Codebase, IndexError, Lifecycle, Target, UpdateOptions, UpdateReport};
pub use query::{
    Ann, Cancel, FileText, Filters, Intent, Match, Mode, Outline, QueryError, Request, Response, Searcher,
    SimilarRequest, ViewRequest, WorktreeMode,
};

/// Brings the index of `codebase` to HEAD, and creates it if there is none.
///
/// Takes the work lease of the worktree for as long as it runs. An interrupted update resumes from its last
/// checkpoint; the old index answers until the new one is published.
///
/// # Errors
/// [`IndexError`] if the repository or the store cannot be read or written, if another process holds the
/// lease, or if the store is not trusted.
pub fn update(codebase: &Codebase, options: UpdateOptions) -> Result<UpdateReport, Error> {
    let target = Target::head(codebase)?;
    Ok(index::updater::run(codebase, &target, options, &index::progress::Silent)?)
}

/// For [`Searcher::search`]: never updates the index while a request waits, so that it is answered from what
/// is indexed.
pub fn never_update(_: &Target, _: Duration) -> bool {
    false
}
