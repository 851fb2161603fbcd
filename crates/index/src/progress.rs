//! Progress of a run, and the request to stop it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use codeweaver_base::sync;
use codeweaver_git::{BStr, Oid};
use codeweaver_store::chunking::Chunking;

/// Counts of finished work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    pub files: u64,
    pub bytes: u64,
    pub chunks: u64,
    /// Vectors computed, without reused ones.
    pub embedded: u64,
    /// Files that fell back in the chunker chain.
    pub degraded: u64,
    /// Files that were left out because of an error: the blob is not in this clone, or parsing it crashed.
    pub errors: u64,
    /// Tokens sent to an API.
    pub tokens: u64,
}

impl Counters {
    /// The share of the work that is done, 0–1, of `n_files` files with about `n_bytes`. Bytes say more than
    /// files: those that are read first are mostly longer than the others.
    pub fn share(&self, n_files: u64, n_bytes: u64) -> f64 {
        let of = |done: u64, all: u64| if all == 0 { 0.0 } else { (done as f64 / all as f64).min(1.0) };
        let of_files = of(self.files, n_files);

        match (of_files < 1.0, n_bytes) {
            // The number of bytes is an estimate, which must not end before the files do.
            (true, 1..) => of(self.bytes, n_bytes).max(of_files).min(0.99),
            _ => of_files,
        }
    }
}

/// Receives progress from several threads.
pub trait Progress: Sync {
    /// Announces the number of files that must be read, and about how many bytes they have.
    fn begin(&self, _n_files: u64, _n_bytes: u64) {}
    fn add(&self, _done: &Counters) {}
    /// Receives the figures of a file that was chunked.
    fn chunked(&self, _figures: &Chunking) {}
    /// Announces that the work on a blob begins.
    fn reads(&self, _blob: &Oid) {}
    /// Announces a file whose blob is being read. Not every file is announced.
    fn is_at(&self, _path: &BStr) {}
    /// Returns whether the run should end at the next file and keep what it has.
    fn stopped(&self) -> bool {
        false
    }
    /// Reports something that the user should know.
    fn warn(&self, _message: &str) {}
}

/// Discards all progress.
pub struct Silent;

impl Progress for Silent {}

/// Counts progress in memory, for the terminal, the log and tests.
#[derive(Default)]
pub struct Meter {
    pub n_files: AtomicU64,
    /// About how many bytes the files have; 0 if that is not known.
    pub n_bytes: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
    chunks: AtomicU64,
    embedded: AtomicU64,
    degraded: AtomicU64,
    errors: AtomicU64,
    tokens: AtomicU64,
    chunking: Mutex<Chunking>,
    /// The file that was announced last.
    file: Mutex<Option<String>>,
    pub stop: AtomicBool,
    pub started: std::sync::OnceLock<Instant>,
}

impl Meter {
    /// The path of a file that is being read, or was read last; `None` before the first one.
    pub fn file(&self) -> Option<String> {
        sync::lock(&self.file).clone()
    }

    /// The figures of all files that were chunked.
    pub fn chunking(&self) -> Chunking {
        sync::lock(&self.chunking).clone()
    }

    pub fn counters(&self) -> Counters {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);

        Counters {
            files: get(&self.files),
            bytes: get(&self.bytes),
            chunks: get(&self.chunks),
            embedded: get(&self.embedded),
            degraded: get(&self.degraded),
            errors: get(&self.errors),
            tokens: get(&self.tokens),
        }
    }
}

impl Progress for Meter {
    fn begin(&self, n_files: u64, n_bytes: u64) {
        self.started.get_or_init(Instant::now);
        self.n_files.store(n_files, Ordering::Relaxed);
        self.n_bytes.store(n_bytes, Ordering::Relaxed);
    }

    fn add(&self, done: &Counters) {
        self.files.fetch_add(done.files, Ordering::Relaxed);
        self.bytes.fetch_add(done.bytes, Ordering::Relaxed);
        self.chunks.fetch_add(done.chunks, Ordering::Relaxed);
        self.embedded.fetch_add(done.embedded, Ordering::Relaxed);
        self.degraded.fetch_add(done.degraded, Ordering::Relaxed);
        self.errors.fetch_add(done.errors, Ordering::Relaxed);
        self.tokens.fetch_add(done.tokens, Ordering::Relaxed);
    }

    fn chunked(&self, figures: &Chunking) {
        sync::lock(&self.chunking).add(figures);
    }

    fn is_at(&self, path: &BStr) {
        *sync::lock(&self.file) = Some(path.to_string());
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use codeweaver_chunk::{LanguageId, chunk_blob};
    use codeweaver_config::ChunkerSettings;
    use codeweaver_store::chunking::Step;

    use super::*;

    #[test]
    fn figures_of_chunking_are_sums_over_files() {
        let meter = Meter::default();
        assert!(meter.chunking().is_empty());

        let words = "some words of a long text\n".repeat(100);
        for (text, language, micros) in
            [("fn a() {}\n", "rust", 7), ("fn b() {}\n", "rust", 5), (&words, "markdown", 3)]
        {
            let language = LanguageId::by_name(language).unwrap();
            let blob = chunk_blob(text.as_bytes(), language, &ChunkerSettings::default());
            meter.chunked(&Chunking::of_blob(&blob, micros));
        }

        let all = meter.chunking();
        assert_eq!(all.steps["semantic"], Step { chunks: 2, micros: 12 });
        assert_eq!(all.steps["markdown"].micros, 3);
        assert_eq!(all.sizes[0].chunks, 2, "{all:?}");
        let n_chunks: u64 = all.sizes.iter().map(|size| size.chunks).sum();
        assert_eq!(n_chunks, all.steps.values().map(|step| step.chunks).sum::<u64>());
    }
}
