//! Checkpoints: the record of an unfinished run, and the chunks that it has stored.

use codeweaver_base::regular_file;
use codeweaver_store::snapshot::Snapshot;
use codeweaver_store::state::{Phase, State};

use super::codebase::Codebase;
use super::progress::Counters;

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
    /// Bytes of the files that are done, and about how many all have; 0 in older records.
    #[serde(default)]
    pub bytes_processed: u64,
    #[serde(default)]
    pub bytes_total: u64,
    pub chunks_created: u64,
    /// A file that was being read at `last_checkpoint`; none in older records.
    #[serde(default)]
    pub current_file: Option<String>,
    /// Files that were left out because of an error, and the error that ended the run.
    pub errors: u64,
    pub settings_hash: String,
}

impl Checkpoint {
    /// The record of this worktree; `None` if it is missing or damaged.
    pub fn read(codebase: &Codebase) -> Option<Checkpoint> {
        let bytes = regular_file::read(&codebase.store().checkpoint(&codebase.worktree_key)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

impl Checkpoint {
    /// The share of the work that is done, 0–1.
    pub fn share(&self) -> f64 {
        let done =
            Counters { files: self.files_processed, bytes: self.bytes_processed, ..Counters::default() };
        done.share(self.files_total, self.bytes_total)
    }

    /// The estimated seconds until the run ends; `None` if nothing is done yet.
    pub fn seconds_left(&self) -> Option<u64> {
        let elapsed = self.last_checkpoint.saturating_sub(self.start_time) as f64;
        let share = self.share();
        (share > 0.0).then(|| (elapsed / share * (1.0 - share)).round() as u64)
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
