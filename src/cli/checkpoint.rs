//! The record of an unfinished run (requirement L4): who runs since when, and how far it is.
//!
//! It is for people and for `status`; resuming does not depend on it, because what is sealed is found by content. So it
//! is written best effort, and a record that cannot be read is none.

use crate::index::Codebase;
use crate::store::layout::write_atomically;
use crate::store::time;
use std::path::PathBuf;

/// A record older than this is not worth resuming from.
pub const STALE_SECONDS: u64 = 24 * 3600;

pub use crate::index::status::Checkpoint;

/// What an earlier run left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    Nothing,
    /// This many chunks are stored and can be gone on from.
    Resumable {
        n_chunks: u64,
    },
    Stale,
    OtherSettings,
}

/// Writes the record of one run.
pub struct Recorder {
    path: PathBuf,
    record: Checkpoint,
}

impl Recorder {
    /// `None` if there is no store yet to keep it in.
    pub fn new(codebase: &Codebase) -> Recorder {
        let now = time::now();
        Recorder {
            path: codebase.store().checkpoint(&codebase.worktree_key),
            record: Checkpoint {
                session_id: format!("{}-{now}", std::process::id()),
                project_path: codebase.root().to_string_lossy().into_owned(),
                start_time: now,
                last_checkpoint: now,
                files_processed: 0,
                files_total: 0,
                chunks_created: 0,
                errors: 0,
                settings_hash: codebase.settings_fingerprint.clone(),
            },
        }
    }

    pub fn write(&mut self, files_processed: u64, files_total: u64, chunks_created: u64) {
        let record = Checkpoint {
            last_checkpoint: time::now(),
            files_processed,
            files_total,
            chunks_created,
            ..self.record.clone()
        };
        self.record = record;
        if let Ok(bytes) = serde_json::to_vec(&self.record) {
            let _ = write_atomically(&self.path, &bytes);
        }
    }

    /// After success there is nothing to resume.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Looks at what an interrupted first index left. An update of a complete index has nothing to ask about.
pub fn left(codebase: &Codebase) -> Left {
    let status = crate::index::status::unfinished(codebase);
    let Some(n_chunks) = status else { return Left::Nothing };
    match Checkpoint::read(codebase) {
        Some(record) if record.settings_hash != codebase.settings_fingerprint => Left::OtherSettings,
        Some(record) if time::now().saturating_sub(record.last_checkpoint) > STALE_SECONDS => Left::Stale,
        _ => Left::Resumable { n_chunks },
    }
}
