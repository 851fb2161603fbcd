//! Record of an unfinished run: its process, start time and progress.
//!
//! The record informs the user and `status`. Resuming does not depend on it, because stored chunks are found
//! by content. It is therefore written on a best-effort basis, and an unreadable record is treated as absent.

use std::path::PathBuf;

use codeweaver_index::checkpoint::{self, Checkpoint};
use codeweaver_index::{Codebase, Counters};
use codeweaver_store::layout::write_atomically;
use codeweaver_store::time;

/// Age in seconds above which a record is stale.
pub const STALE_SECONDS: u64 = 24 * 3600;

/// State of an interrupted first index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfinished {
    /// There is none, or the index is complete.
    None,
    /// The run can be resumed from the stored chunks.
    Resumable { n_chunks: u64 },
    /// The record is older than [`STALE_SECONDS`].
    Stale,
    /// The settings have changed since.
    OtherSettings,
}

/// Writes the record of one run.
pub struct Recorder {
    path: PathBuf,
    record: Checkpoint,
}

impl Recorder {
    /// A recorder for a run that starts now.
    pub fn new(codebase: &Codebase) -> Recorder {
        let now = time::now();
        let record = Checkpoint {
            session_id: format!("{}-{now}", std::process::id()),
            project_path: codebase.root().to_string_lossy().into_owned(),
            start_time: now,
            last_checkpoint: now,
            files_processed: 0,
            files_total: 0,
            bytes_processed: 0,
            bytes_total: 0,
            chunks_created: 0,
            current_file: None,
            errors: 0,
            settings_hash: codebase.settings_fingerprint.clone(),
        };

        Recorder { path: codebase.store().checkpoint(&codebase.worktree_key), record }
    }

    /// Writes the progress of the run: `done`, of `files_total` files with about `bytes_total`, of which
    /// `current_file` is being read.
    pub fn write(
        &mut self,
        done: &Counters,
        files_total: u64,
        bytes_total: u64,
        current_file: Option<String>,
    ) {
        self.record.last_checkpoint = time::now();

        self.record.files_processed = done.files;
        self.record.files_total = files_total;
        (self.record.bytes_processed, self.record.bytes_total) = (done.bytes, bytes_total);
        self.record.chunks_created = done.chunks;
        self.record.current_file = current_file;
        self.record.errors = done.errors;
        self.save();
    }

    /// Records the error that ended the run.
    pub fn fail(&mut self) {
        self.record.errors += 1;
        self.save();
    }

    fn save(&self) {
        if let Ok(bytes) = serde_json::to_vec(&self.record) {
            let _ = write_atomically(&self.path, &bytes);
        }
    }

    /// Removes the record after a successful run.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Returns the state of an interrupted first index. A complete index always gives [`Unfinished::None`].
pub fn unfinished(codebase: &Codebase) -> Unfinished {
    let Some(n_chunks) = checkpoint::unfinished(codebase) else { return Unfinished::None };
    match Checkpoint::read(codebase) {
        Some(record) if record.settings_hash != codebase.settings_fingerprint => Unfinished::OtherSettings,
        Some(record) if time::now().saturating_sub(record.last_checkpoint) > STALE_SECONDS => {
            Unfinished::Stale
        }
        _ => Unfinished::Resumable { n_chunks },
    }
}
