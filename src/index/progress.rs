//! What a run tells while it works, and how it is asked to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Work done; added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    pub files: u64,
    pub bytes: u64,
    pub chunks: u64,
    /// Vectors computed (not reused).
    pub embedded: u64,
    /// Files that went down the chunker chain.
    pub degraded: u64,
}

/// Receives progress from several threads.
pub trait Progress: Sync {
    /// The number of files that must be read, once it is known.
    fn begin(&self, _n_files: u64) {}
    fn add(&self, _done: &Counters) {}
    /// True once the run should end at the next file and keep what it has.
    fn stopped(&self) -> bool {
        false
    }
    /// Something the user should know.
    fn warn(&self, _message: &str) {}
}

/// Tells nobody.
pub struct Silent;

impl Progress for Silent {}

/// Counts in memory; shared by the terminal, the log and tests.
#[derive(Default)]
pub struct Meter {
    pub n_files: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
    chunks: AtomicU64,
    embedded: AtomicU64,
    degraded: AtomicU64,
    pub stop: AtomicBool,
    pub started: std::sync::OnceLock<Instant>,
}

impl Meter {
    pub fn counters(&self) -> Counters {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            files: get(&self.files),
            bytes: get(&self.bytes),
            chunks: get(&self.chunks),
            embedded: get(&self.embedded),
            degraded: get(&self.degraded),
        }
    }
}

impl Progress for Meter {
    fn begin(&self, n_files: u64) {
        self.started.get_or_init(Instant::now);
        self.n_files.store(n_files, Ordering::Relaxed);
    }

    fn add(&self, done: &Counters) {
        self.files.fetch_add(done.files, Ordering::Relaxed);
        self.bytes.fetch_add(done.bytes, Ordering::Relaxed);
        self.chunks.fetch_add(done.chunks, Ordering::Relaxed);
        self.embedded.fetch_add(done.embedded, Ordering::Relaxed);
        self.degraded.fetch_add(done.degraded, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
