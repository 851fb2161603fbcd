//! Who updates when: the work lease, the wishes of hooks, and a catch-up that loses none (requirements G5, L3).
//!
//! A hook leaves a wish and tries the lease. Whoever holds the lease takes all wishes, indexes HEAD as it is then,
//! releases the lease *and then* looks for wishes again: a wish noted between its last look and its release would otherwise
//! be lost. Hooks are only prefetch; a query compares HEAD itself.

use super::codebase::Codebase;
use super::error::IndexError;
use super::progress::Progress;
use super::update::{Target, UpdateOptions, UpdateReport, update};
use crate::embed::{self, Embedder};
use crate::store::lock::Lock;
use crate::store::reader::OpenFiles;
use crate::store::{StoreError, fault, layout};
use crate::worktree;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for comparing the working tree after an update; nobody waits for it but the updater.
const COMPARE_BUDGET: Duration = Duration::from_secs(5);

/// How long a run waits for the lease before it is refused, and how often it looks.
const HOOK_PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(20);

/// Notes that this worktree wants to be indexed. Cheap, lock-free, idempotent.
pub fn note_wish(codebase: &Codebase) -> Result<(), IndexError> {
    codebase.layout.create()?;
    let path = wish(codebase);
    Ok(fault::step().and_then(|()| std::fs::write(&path, b"")).map_err(StoreError::io("write", &path))?)
}

/// Serves wishes until there are none. Returns `None` if somebody else holds the lease and will.
pub fn serve_wishes(
    codebase: &Codebase,
    progress: &dyn Progress,
) -> Result<Option<UpdateReport>, IndexError> {
    let mut last = None;
    loop {
        let lease = match lease(codebase) {
            Ok(lease) => lease,
            Err(IndexError::Store(StoreError::Locked { .. })) => return Ok(last),
            Err(e) => return Err(e),
        };
        take_wish(codebase);
        let report = run_leased(codebase, &Target::head(codebase)?, UpdateOptions::default(), progress)?;
        last = Some(report);
        drop(lease);
        if !wish(codebase).exists() {
            return Ok(last);
        }
    }
}

/// Indexes `target` now, or fails with who is at it (requirement L3).
pub fn run(
    codebase: &Codebase,
    target: &Target,
    options: UpdateOptions,
    progress: &dyn Progress,
) -> Result<UpdateReport, IndexError> {
    let lease = lease_after_hooks(codebase)?;
    if target.is_head {
        take_wish(codebase);
    }
    let report = run_leased(codebase, target, options, progress)?;
    drop(lease);
    if target.is_head {
        catch_up(codebase, target, progress);
    }
    Ok(report)
}

/// Serves who wished for something newer than `target` while it was worked on and went away because the lease was held.
fn catch_up(codebase: &Codebase, target: &Target, progress: &dyn Progress) {
    let has_moved = || Target::head(codebase).is_ok_and(|head| head.tree != target.tree);
    if (wish(codebase).exists() || has_moved())
        && let Err(e) = serve_wishes(codebase, progress)
    {
        tracing::warn!(component = "index", operation = "catch up", error = %e, "a later commit is not indexed yet");
    }
}

fn run_leased(
    codebase: &Codebase,
    target: &Target,
    options: UpdateOptions,
    progress: &dyn Progress,
) -> Result<UpdateReport, IndexError> {
    // There is nothing to wait for, nor to be kept from: the working tree is compared beside it.
    if target.is_head && codebase.knows(target) {
        return std::thread::scope(|scope| {
            let comparing = scope.spawn(|| compare_files(codebase, target));
            let result = update_readable(codebase, target, options, progress);
            comparing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result
        });
    }
    let result = update_readable(codebase, target, options, progress);
    if result.is_ok() && target.is_head {
        compare_files(codebase, target);
    }
    result
}

fn update_readable(
    codebase: &Codebase,
    target: &Target,
    options: UpdateOptions,
    progress: &dyn Progress,
) -> Result<UpdateReport, IndexError> {
    let files = super::repair::make_readable(codebase)?;
    let embedder: Arc<dyn Embedder> = embed::open(&codebase.settings.model)?;
    match update(codebase, embedder.as_ref(), &files, target, options, progress) {
        // Collected and renumbered under our feet, perhaps repaired: what was built is still found by its key.
        Err(IndexError::EpochChanged) => {
            update(codebase, embedder.as_ref(), &OpenFiles::default(), target, options, progress)
        }
        result => result,
    }
}

/// Compares the working tree now, so that the next query need not hash files that a clone or checkout has just written.
fn compare_files(codebase: &Codebase, target: &Target) {
    if codebase.repo.work_dir().is_some() {
        let compared = worktree::worktree_changes(
            &codebase.repo,
            target.tree.as_ref(),
            &codebase.stat_cache(),
            COMPARE_BUDGET,
        );
        if let Err(e) = compared {
            tracing::debug!(component = "index", operation = "compare", error = %e, "the working tree was not compared");
        }
    }
}

/// The lease, once a hook's short update is through: `git commit` followed by `index` is no reason to refuse.
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

/// The work lease of this codebase. Creates `.codeweaver/` if it is not there, refuses it if it is not ours.
pub fn lease(codebase: &Codebase) -> Result<Lock, IndexError> {
    codebase.layout.create()?;
    Ok(Lock::try_acquire(&codebase.layout.work_lock(&codebase.worktree_key))?)
}

fn wish(codebase: &Codebase) -> PathBuf {
    codebase.layout.wanted().join(&codebase.worktree_key)
}

pub(super) fn take_wish(codebase: &Codebase) {
    // A wish that cannot be removed costs one more look at HEAD, nothing else.
    let _ = fault::step().and_then(|()| std::fs::remove_file(wish(codebase)));
}

/// Removes temporary files that a killed writer left, once they are older than a day.
pub fn sweep_temporaries(codebase: &Codebase) {
    let day = std::time::Duration::from_secs(24 * 3600);
    let mut dirs: Vec<PathBuf> = codebase.store().content_dirs().to_vec();
    dirs.push(codebase.store().root().to_path_buf());
    dirs.push(codebase.layout.root().to_path_buf());
    for child in dirs.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten() {
        let is_temporary = child.file_name().to_string_lossy().starts_with(layout::TEMPORARY_PREFIX);
        let age =
            child.metadata().and_then(|m| m.modified()).ok().and_then(|modified| modified.elapsed().ok());
        if is_temporary && age.is_some_and(|age| age > day) {
            let _ = std::fs::remove_file(child.path());
        }
    }
}
