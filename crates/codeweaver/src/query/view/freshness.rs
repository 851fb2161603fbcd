//! Freshness: how current the index is, and the update of an index that is behind.
//!
//! Whether the index is behind follows from git and the state file alone. Nothing is written here: an update
//! is requested from the updater, and not while a first index or a reindex is being built.

use std::time::Duration;

use codeweaver_index::{Codebase, Lifecycle, Target, background};
use codeweaver_store::state::State;

use crate::query::error::QueryError;
use crate::query::response::Freshness;

/// Requests an update to a target and waits for it, at most for the duration. Returns whether the target is
/// indexed.
///
/// Queries never write to the store; the caller decides which process does.
pub type RequestUpdate<'a> = &'a dyn Fn(&Target, Duration) -> bool;

/// Decides whether the index of this worktree is of HEAD: `fresh`, `stale` or `skipped_indexing`.
pub fn decide(codebase: &Codebase) -> Result<Freshness, QueryError> {
    let (state, _) = State::read_permitted(&codebase.store())?;
    if codebase.lifecycle_in(state.as_ref()) == Lifecycle::Indexing {
        return Ok(Freshness::SkippedIndexing);
    }

    let tree = codebase.repo.head()?.tree.map(|oid| oid.to_string());
    let is_current = is_current(codebase, state.as_ref(), tree.as_deref());
    Ok(if is_current { Freshness::Fresh } else { Freshness::Stale })
}

/// Returns whether `state` has a complete snapshot of `tree` for this worktree. `tree` is `None` in a
/// repository without commits.
pub fn is_current(codebase: &Codebase, state: Option<&State>, tree: Option<&str>) -> bool {
    let head = state.and_then(|state| codebase.head_in(state));
    let key = codebase.snapshot_key(tree.unwrap_or_default());
    head.is_some_and(|head| head.marker.is_some() && head.snapshot == key)
}

/// Returns whether the next update is to compare the working tree: `n_unchecked` of its paths could not be
/// compared in time, and the last update began long enough ago.
pub fn is_comparison_due(codebase: &Codebase, n_unchecked: usize) -> bool {
    n_unchecked > 0 && background::is_rested(codebase)
}

/// Requests an update to `target` and waits for it at most `timeout`. Returns `synced`, `stale` if the time
/// was not enough, or `skipped_indexing` if a first index or a reindex is being built.
pub fn sync(
    codebase: &Codebase,
    target: &Target,
    timeout: Duration,
    update: RequestUpdate<'_>,
) -> Result<Freshness, QueryError> {
    let (state, _) = State::read_permitted(&codebase.store())?;
    if codebase.lifecycle_in(state.as_ref()) == Lifecycle::Indexing {
        return Ok(Freshness::SkippedIndexing);
    }
    Ok(if update(target, timeout) { Freshness::Synced } else { Freshness::Stale })
}

/// Calls [`decide`], and then [`sync`] to HEAD if the index is behind.
pub fn ensure(
    codebase: &Codebase,
    timeout: Duration,
    update: RequestUpdate<'_>,
) -> Result<Freshness, QueryError> {
    let decision = decide(codebase)?;

    match decision {
        Freshness::Stale => {
            let head = Target::head(codebase).map_err(QueryError::from)?;
            sync(codebase, &head, timeout, update)
        }
        decision => Ok(decision),
    }
}
