//! Status engine: the differences between the working tree and a committed tree.
//!
//! In: a repository, a tree, a time budget. Out: the changed paths with the oid that git would give to their
//! content. Stat data decides where git's index has it. The content of other files (touched by a build, racy,
//! untracked) is hashed once and remembered in a stat cache of our own, since a reader must not write git's
//! index.
//!
//! # Why not gix's status
//!
//! Attributes, ignore rules, the index and the to-git conversion are gix's. The engine around them is our
//! own, for these reasons:
//!
//! * `gix::Repository::status` converts files with the filter drivers of the configuration, that is, it may
//!   run programs that the repository names. There is no option to leave them out. The plumbing,
//!   `gix_status::index_as_worktree`, accepts a conversion pipeline without drivers, but then compares a file
//!   that has a driver unconverted and reports it as modified. Here such files are reported as filtered and
//!   are never opened ([`WorktreeReader`]).
//! * The plumbing checks all entries of the index. It returns neither the stat data of unmodified files,
//!   which the status cache consists of, nor can it check only the files that a file monitor reported.
//! * The plumbing remembers hashed content by writing the index, and does not remember the contents of
//!   directories.
//! * A run of gix ends early by an interrupt and then has no result for the rest. A search needs the changes
//!   found within its time budget and the number of paths that were not checked.
//! * gix compares the index with a tree by building a second index from the tree. Here directories whose tree
//!   oid is in the cache-tree extension of the index are skipped.
//!
//! # Modules, in the order of their dependencies
//!
//! * [`changes`]: the result. [`context`]: the shared input of the steps of a run, with the thresholds.
//! * [`cache_file`], [`fs_kind`], [`stat`]: cache files, file systems, stat data and the stat cache.
//! * [`inputs`], [`index`], [`to_git`]: files that affect others, git's index, conversion.
//! * [`git_fsmonitor`]: the reports of git's own monitor.
//! * [`tracked`], [`fsmonitor`], [`untracked_cache`], [`untracked`], [`scan`]: everything that is
//!   found without reading content.
//! * [`classify`]: from a scan to changes.
//! * [`run`], [`expected_stat`], [`stored_run`], [`status_delta`], [`status_cache`], [`status`]: reuse of an
//!   earlier run, by another process or by this one.

pub mod cache_file;
mod changes;
mod classify;
mod context;
mod expected_stat;
mod fs_kind;
mod fsmonitor;
mod git_fsmonitor;
mod index;
mod inputs;
mod run;
mod scan;
pub mod stat;
mod status;
mod status_cache;
mod status_delta;
mod stored_run;
#[cfg(test)]
mod tests;
mod to_git;
mod tracked;
mod untracked;
mod untracked_cache;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::{BStr, GitError, Oid, Repo, entry_at};

pub use changes::{FileState, WorktreeBlob, WorktreeChange, WorktreeChanges};
pub use status::{StatusEngine, WorktreeStatus};
pub use to_git::{WorktreeFile, WorktreeReader};

/// Finds the differences between `head_tree` and the working tree.
///
/// Content decides: a touched file, a changed mode or an edit that was undone is no change. Paths marked
/// skip-worktree or assume-unchanged count as committed where they do not exist, and so do submodules.
/// `cache_file` and two caches beside it are read and, best effort, replaced. When `budget` is used up,
/// remaining paths are counted in [`unchecked`](WorktreeChanges::unchecked); tracked files come before
/// untracked ones. Writes nothing else and starts no program.
pub fn worktree_changes(
    repo: &Repo,
    head_tree: Option<&Oid>,
    cache_file: &Path,
    budget: Duration,
) -> Result<WorktreeChanges, GitError> {
    let status = StatusEngine::default().status(repo, head_tree, cache_file, budget)?;
    Ok(Arc::unwrap_or_clone(status.changes))
}

/// Reads the converted bytes of a file of the working tree, or the target of a link. Where git takes the file
/// as committed or is to filter it, as [`WorktreeFile::Unknown`] says, these are the bytes that HEAD has.
/// `None` if there is no such file.
///
/// Cost: parsing git's index. For several files use one [`WorktreeReader`].
///
/// # Errors
/// [`GitError::PathEscapes`] for paths that are absolute, contain `..` or `.git`, or lead through a link.
pub fn read_worktree_file(repo: &Repo, path: &BStr) -> Result<Option<Vec<u8>>, GitError> {
    match WorktreeReader::open(repo)?.file(path)? {
        WorktreeFile::Blob { bytes, .. } => Ok(Some(bytes)),
        WorktreeFile::Absent => Ok(None),
        WorktreeFile::Unknown => Ok(read_committed_file(repo, path)?.map(|(bytes, _)| bytes)),
    }
}

/// Reads the bytes that HEAD has at `path`, with their oid; `None` if it has no such file, or not in this
/// clone.
///
/// # Errors
/// HEAD or its tree cannot be read.
pub fn read_committed_file(repo: &Repo, path: &BStr) -> Result<Option<(Vec<u8>, Oid)>, GitError> {
    let Some(tree) = repo.head()?.tree else { return Ok(None) };
    let Some(file) = entry_at(repo, &tree, path)? else { return Ok(None) };
    Ok(repo.blobs().read_whole(&file.oid)?.map(|bytes| (bytes, file.oid)))
}
