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
//!      query ─► view ─► form ─► retrieve (dense, lexical, symbol, path) ─► rank ─► later stages ─► answer
//! ```
//!
//! The crates below this one, in the order in which data flows: `base`, `http`, `text`, `config`, `git` (with
//! the status of the working tree, and hooks), `chunk`, `embed`, `store` and [`index`](codeweaver_index).
//! Above it are `xref` (definitions, references, callers), `eval` (figures of ranking quality), the
//! front-ends `mcp` and `serve`, and the program. In here:
//!
//! * [`query`]: a request to ranked matches, with the freshness of what was searched.
//! * [`duplicates`]: the copies of definitions, as groups.
//! * [`ask`]: a question to what the documents say about it, with its sources.
//! * [`service`]: requests to open codebases, with the errors that every front-end renders.
//!
//! Files of the index are mapped into memory: a program that must survive their truncation by another one
//! calls [`install_handler`](codeweaver_base::sys::bus_error::install_handler) when it starts.
//!
//! The types at the root of the crate are its interface. Everything else is public only for the program, the
//! trainer and the benchmarks, and changes without notice.

#![warn(missing_docs)]

#[allow(missing_docs, reason = "the fields of its errors and answers say what they are by name")]
pub mod ask;
pub mod duplicates;
mod error;
pub mod query;
pub mod service;

use std::time::Duration;

pub use codeweaver_index::{Codebase, IndexError, Lifecycle, Target, UpdateOptions, UpdateReport};
pub use error::Error;
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
    Ok(codeweaver_index::updater::run(codebase, &target, options, &codeweaver_index::progress::Silent)?)
}

/// For [`Searcher::search`]: never updates the index while a request waits, so that it is answered from what
/// is indexed.
pub fn never_update(_: &Target, _: Duration) -> bool {
    false
}
