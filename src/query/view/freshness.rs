//! How current the index is, and what is done about it before a question is answered (requirement L7).
//!
//! The decision is made from git and the pointer of the index alone. Nothing is written here: who may write is asked, and
//! not while a first index or a reindex is being built.

use super::Freshness;
use crate::index::{Codebase, Lifecycle, Target};
use crate::query::error::QueryError;
use crate::query::search::AskUpdater;
use crate::store::state::State;
use std::time::Duration;

/// Whether the index is of HEAD as it is now.
pub fn decide(codebase: &Codebase) -> Result<Freshness, QueryError> {
    let state = State::read(&codebase.store().state())?;
    if codebase.lifecycle_in(state.as_ref()) == Lifecycle::Indexing {
        return Ok(Freshness::SkippedIndexing);
    }
    let tree = codebase.repo.head()?.tree.map(|oid| oid.to_string());
    let is_current = is_current(codebase, state.as_ref(), tree.as_deref());
    Ok(if is_current { Freshness::Fresh } else { Freshness::Stale })
}

/// Whether `state` has a complete snapshot of `tree` for this worktree; of a repository without a commit, `tree` is `None`.
pub fn is_current(codebase: &Codebase, state: Option<&State>, tree: Option<&str>) -> bool {
    let head = state.and_then(|state| state.heads.get(&codebase.worktree_key));
    let key = codebase.snapshot_key(tree.unwrap_or_default());
    head.is_some_and(|head| head.marker.is_some() && head.snapshot == key)
}

/// Has `target` indexed if that is allowed now, waiting at most `patience`: `synced`, `stale` if it took longer, or
/// `skipped_indexing`.
pub fn sync(
    codebase: &Codebase,
    target: &Target,
    patience: Duration,
    updater: AskUpdater<'_>,
) -> Result<Freshness, QueryError> {
    let state = State::read(&codebase.store().state())?;
    if codebase.lifecycle_in(state.as_ref()) == Lifecycle::Indexing {
        return Ok(Freshness::SkippedIndexing);
    }
    Ok(if updater(target, patience) { Freshness::Synced } else { Freshness::Stale })
}

/// [`decide`], and [`sync`] to HEAD if the index is behind.
pub fn ensure(
    codebase: &Codebase,
    patience: Duration,
    updater: AskUpdater<'_>,
) -> Result<Freshness, QueryError> {
    match decide(codebase)? {
        Freshness::Stale => {
            let head = Target::head(codebase).map_err(QueryError::from)?;
            sync(codebase, &head, patience, updater)
        }
        decision => Ok(decision),
    }
}
