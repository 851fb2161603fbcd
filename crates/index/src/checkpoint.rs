//! Checkpoints: the record of an unfinished run, and the chunks that it has stored.

use codeweaver_store::snapshot::Snapshot;
use codeweaver_store::state::{Phase, State};

use super::codebase::Codebase;

/// The record of an unfinished run, written by the process that shows the progress and removed on success.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Checkpoint {
    pub session_id: String,
    pub project_path: String,
    /// Seconds since 1970.
    pub start_time: u64,
    pub last_checkpoint: u64,
    pub files_processed: u64,
    pub files_total: u64,
    pub chunks_created: u64,
    /// Files that were left out because of an error, and the error that ended the run.
    pub errors: u64,
    pub settings_hash: String,
}

impl Checkpoint {
    /// The record of this worktree; `None` if it is missing or damaged.
    pub fn read(codebase: &Codebase) -> Option<Checkpoint> {
        let bytes = std::fs::read(codebase.store().checkpoint(&codebase.worktree_key)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// The record of the run in progress in the current vector space, once it has been written.
pub fn running(codebase: &Codebase) -> Option<Checkpoint> {
    let record = Checkpoint::read(codebase)?;
    let (id, _) = record.session_id.split_once('-')?;
    let holder = codebase.lease_holder()?;
    holder.starts_with(&format!("PID {id},")).then_some(record)
}

/// Number of chunks stored by an interrupted first index or reindex; `None` if there is none.
pub fn unfinished(codebase: &Codebase) -> Option<u64> {
    let store = codebase.store();
    let state = State::read(&store.state()).ok()??;

    let rebuild = state.rebuilding.get(&codebase.worktree_key);
    if let Some(rebuild) = rebuild.filter(|rebuild| rebuild.is_usable(&codebase.settings_fingerprint)) {
        return Some(rebuild.n_rows());
    }

    let head = codebase.head_in(&state)?;
    if head.marker.is_some() || head.phase != Phase::Indexing {
        return None;
    }

    let Some(snapshot) = state.snapshots.get(&head.snapshot) else { return Some(0) };
    Some(Snapshot::read(&store.snapshot(&snapshot.file)).ok()?.totals.n_rows)
}
