//! Removal of the index of one codebase.
//!
//! A store that no other worktree uses is deleted at once. Otherwise only the head of this worktree is
//! removed, and garbage collection removes the content that only this head reached. The directory and its
//! binding to the repository stay, so the index is not rebuilt before the next hook or `create`.

use codeweaver_store::lock::{self, Lock};
use codeweaver_store::{StoreError, StoreLayout};

use super::codebase::Codebase;
use super::error::IndexError;
use super::publish::{read_state, write_state};
use super::updater;

/// Removes the index of this worktree, of any model. Returns false if there was none.
///
/// # Errors
/// [`StoreError::Locked`] while another process indexes this worktree.
pub fn clear(codebase: &Codebase) -> Result<bool, IndexError> {
    codebase.check_trust()?;
    if !codebase.layout.root().exists() {
        return Ok(false);
    }

    let _lease = updater::lease(codebase)?;
    let _publishing = Lock::acquire(&codebase.layout.publish_lock())?;

    let mut was_there = false;
    for store in codebase.layout.stores() {
        was_there |= forget(codebase, &store)?;
    }

    updater::clear_request(codebase);
    Ok(was_there)
}

/// Removes this worktree from a store, and the store if it is not used by another one. Returns whether there
/// was an index.
fn forget(codebase: &Codebase, store: &StoreLayout) -> Result<bool, IndexError> {
    let failed = StoreError::io("remove", store.root());
    let Ok(mut state) = read_state(store) else {
        // An unreadable store answers no requests.
        remove(store).map_err(failed)?;
        return Ok(true);
    };

    let was_there =
        state.heads.remove(&codebase.worktree_key).is_some() | state.lost.remove(&codebase.worktree_key);
    state.rebuilding.remove(&codebase.worktree_key);

    if state.heads.is_empty() && !others_index(codebase) {
        remove(store).map_err(failed)?;
    } else if was_there {
        let _ = std::fs::remove_file(store.checkpoint(&codebase.worktree_key));
        write_state(store, &mut state)?;
    }

    Ok(was_there)
}

/// Removes a store, its previous state first: alone, that file would be taken for the rest of a damaged
/// store.
fn remove(store: &StoreLayout) -> std::io::Result<()> {
    for state in [store.previous_state(), store.state()] {
        let _ = std::fs::remove_file(state);
    }
    std::fs::remove_dir_all(store.root())
}

/// Returns whether a run of another worktree is going on, which may have files in the store that no state
/// names yet.
fn others_index(codebase: &Codebase) -> bool {
    let own = codebase.layout.work_lock(&codebase.worktree_key);
    let locks = std::fs::read_dir(codebase.layout.locks()).into_iter().flatten().flatten();
    let mut others = locks.map(|file| file.path()).filter(|path| {
        *path != own && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("work-"))
    });

    others.any(|path| lock::holder(&path).is_some())
}
