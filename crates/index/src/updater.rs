//! The updater: the work lease, update requests, and a catch-up that loses none of them.
//!
//! A hook writes an update request and tries to take the lease. The process that holds the lease clears the
//! request, indexes the current HEAD, releases the lease *and then* looks for requests again: one that was
//! written between its last look and the release would otherwise be lost. Hooks only save time: every query
//! compares HEAD with the snapshot itself.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codeweaver_base::{durable, regular_file};
use codeweaver_embed::{self as embed, Embedder};
use codeweaver_git::worktree;
use codeweaver_store::lock::{self, Lock};
use codeweaver_store::reader::OpenFiles;
use codeweaver_store::{StoreError, fault};

use super::codebase::Codebase;
use super::error::IndexError;
use super::progress::Progress;
use super::target::Target;
use super::uncommitted;
use super::update::{UpdateContext, UpdateOptions, UpdateReport, update};

/// Time limit of the status run after an update.
const COMPARE_BUDGET: Duration = Duration::from_secs(5);

/// Time that a run waits for the lease before it is refused, and its poll interval.
const HOOK_PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(20);

/// Writes the update request of this worktree. Takes no lock; idempotent.
pub fn request_update(codebase: &Codebase) -> Result<(), IndexError> {
    codebase.layout.create()?;
    let path = request_file(codebase);
    // A request of another user serves as well as one of our own, and may not be writable.
    let written = fault::step()
        .and_then(|()| if path.exists() { Ok(()) } else { durable::open_or_create(&path).map(drop) });
    Ok(written.map_err(StoreError::io("write", &path))?)
}

/// The treatment of changed files of the working tree by [`serve`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncommitted {
    /// Adds them to the store if they are too many for an overlay.
    Index,
    /// Leaves them to overlays.
    Leave,
}

/// As [`serve`], for hooks, which are about commits only.
pub fn serve_requests(
    codebase: &Codebase,
    progress: &dyn Progress,
) -> Result<Option<UpdateReport>, IndexError> {
    serve(codebase, Uncommitted::Leave, progress)
}

/// Serves update requests until there are none. Returns `None` if another process holds the lease, since that
/// process serves them.
pub fn serve(
    codebase: &Codebase,
    uncommitted: Uncommitted,
    progress: &dyn Progress,
) -> Result<Option<UpdateReport>, IndexError> {
    /// Number of runs after which a request that cannot be removed is left alone.
    const MAX_UNREMOVED: usize = 2;

    let mut last = None;
    let mut n_unremoved = 0;

    loop {
        let lease = match lease(codebase) {
            Ok(lease) => lease,
            Err(IndexError::Store(StoreError::Locked { .. })) => return Ok(last),
            Err(e) => return Err(e),
        };

        n_unremoved += usize::from(!clear_request(codebase));
        let target = Target::head(codebase)?;
        last = Some(run_leased(codebase, &target, UpdateOptions::default(), progress)?);
        if uncommitted == Uncommitted::Index {
            uncommitted::index(codebase, &target, progress)?;
        }

        // Released before the last look: a later request finds the lease free, an earlier one is seen here.
        drop(lease);
        if n_unremoved >= MAX_UNREMOVED || !request_file(codebase).exists() {
            return Ok(last);
        }
    }
}

/// Indexes `target` now.
///
/// # Errors
/// [`StoreError::Locked`] with the holder of the lease if another process indexes this worktree.
pub fn run(
    codebase: &Codebase,
    target: &Target,
    options: UpdateOptions,
    progress: &dyn Progress,
) -> Result<UpdateReport, IndexError> {
    let lease = lease_after_hooks(codebase)?;
    if target.is_head {
        clear_request(codebase);
    }

    let report = run_leased(codebase, target, options, progress)?;

    drop(lease);
    if target.is_head {
        catch_up(codebase, target, progress);
    }
    Ok(report)
}

/// Serves a request that arrived while `target` was indexed, and whose process ended because the lease was
/// held.
fn catch_up(codebase: &Codebase, target: &Target, progress: &dyn Progress) {
    let must_serve =
        request_file(codebase).exists() || Target::head(codebase).is_ok_and(|head| head.tree != target.tree);
    if must_serve && let Err(e) = serve_requests(codebase, progress) {
        tracing::warn!(component = "indexer", operation = "catch up", error = %e, "a later commit is not indexed yet");
    }
}

/// Updates to `target` under the lease, and compares the working tree if `target` is HEAD.
fn run_leased(
    codebase: &Codebase,
    target: &Target,
    options: UpdateOptions,
    progress: &dyn Progress,
) -> Result<UpdateReport, IndexError> {
    // If the tree is indexed already, the update only moves the head, and the status run can overlap with it.
    if target.is_head && codebase.has_snapshot(target) {
        return std::thread::scope(|scope| {
            let comparison = scope.spawn(|| compare_files(codebase, target));

            let result = update_readable(codebase, target, options, progress);
            comparison.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result
        });
    }

    let result = update_readable(codebase, target, options, progress);
    if result.is_ok() && target.is_head {
        compare_files(codebase, target);
    }
    result
}

/// Updates to `target`, after repairs if the store cannot be read, and again if it has changed meanwhile.
fn update_readable(
    codebase: &Codebase,
    target: &Target,
    options: UpdateOptions,
    progress: &dyn Progress,
) -> Result<UpdateReport, IndexError> {
    /// Number of times that others may renumber the store before the update is given up. Each time one of
    /// them has completed its work.
    const MAX_RENUMBERED: usize = 10;

    let files = super::repair::make_readable(codebase)?;
    let embedder: Arc<dyn Embedder> = embed::open(&codebase.settings.model)?;
    let context = UpdateContext { codebase, embedder: embedder.as_ref(), files: &files, progress };
    let mut result = update(&context, target, options);

    // Garbage collection, a repair or a reindex of another worktree renumbered the store. The docs that were
    // built are found again by their keys.
    for _ in 0..MAX_RENUMBERED {
        if !matches!(result, Err(IndexError::EpochChanged)) {
            break;
        }
        result = update(&UpdateContext { files: &OpenFiles::default(), ..context }, target, options);
    }

    match result {
        // Another program has damaged files while this one works.
        Err(IndexError::Store(error)) if error.is_repairable() => {
            // Damage under unchanged stat data goes unnoticed until the record of that data is gone.
            OpenFiles::default().distrust(&codebase.store());
            let files = super::repair::make_readable(codebase)?;
            update(&UpdateContext { files: &files, ..context }, target, options)
        }
        result => result,
    }
}

/// Compares the working tree now, so that the next query does not hash files that a clone or checkout has
/// just written.
fn compare_files(codebase: &Codebase, target: &Target) {
    if codebase.repo.work_dir().is_some() {
        let compared = worktree::worktree_changes(
            &codebase.repo,
            target.tree.as_ref(),
            &codebase.stat_cache(),
            COMPARE_BUDGET,
        );

        if let Err(e) = compared {
            tracing::debug!(component = "indexer", operation = "compare", error = %e, "the working tree was not compared");
        }
    }
}

/// Takes the lease, after a short wait for a hook, so that `index` directly after `git commit` is not
/// refused.
fn lease_after_hooks(codebase: &Codebase) -> Result<Lock, IndexError> {
    let deadline = Instant::now() + HOOK_PATIENCE;

    loop {
        match lease(codebase) {
            Err(IndexError::Store(StoreError::Locked { .. })) if Instant::now() < deadline => {
                std::thread::sleep(POLL)
            }
            lease => return lease,
        }
    }
}

/// Takes the work lease of this codebase. Creates `.codeweaver/` if it is missing.
///
/// # Errors
/// [`StoreError::Locked`] if the lease is held, and an error if the directory is not trusted.
pub fn lease(codebase: &Codebase) -> Result<Lock, IndexError> {
    codebase.layout.create()?;
    Ok(Lock::try_acquire(&codebase.layout.work_lock(&codebase.worktree_key))?)
}

fn request_file(codebase: &Codebase) -> PathBuf {
    codebase.layout.update_requests().join(&codebase.worktree_key)
}

/// Removes the update request. Returns false if it cannot be removed, which costs another comparison of HEAD.
pub(super) fn clear_request(codebase: &Codebase) -> bool {
    let removed = fault::step().and_then(|()| regular_file::remove(&request_file(codebase)));
    removed.is_ok() || !request_file(codebase).exists()
}

/// Fails while a run of any worktree writes to the store.
///
/// # Errors
/// [`StoreError::Locked`] with the process that writes.
pub fn refuse_while_indexing(codebase: &Codebase) -> Result<(), StoreError> {
    let locks = std::fs::read_dir(codebase.layout.locks()).into_iter().flatten().flatten();

    for file in locks.filter(|file| file.file_name().to_string_lossy().starts_with("work-")) {
        if let Some(holder) = lock::holder(&file.path()) {
            return Err(StoreError::Locked { holder });
        }
    }
    Ok(())
}
