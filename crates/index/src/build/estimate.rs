//! Estimates: what a build would embed, without embedding it.

use super::known_vectors::KnownVectors;
use super::worker::{Missing, Worker};
use super::{BuildContext, available_threads};
use crate::error::IndexError;
use crate::journal::{Journal, PARSER_STACK};
use crate::plan::Job;
use crate::vector_cache::VectorCache;
use codeweaver_chunk::tokens;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What [`build`](super::build()) would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Estimate {
    pub files: u64,
    pub chunks: u64,
    /// Chunks whose vectors are not stored yet.
    pub embedded: u64,
    /// Tokens of these, counted as everywhere here; a server counts a little differently.
    pub tokens: u64,
    /// Bytes of the vectors of all chunks.
    pub vector_bytes: u64,
}

/// Chunks `jobs` on all cores and embeds nothing. `context.embedder` may be an
/// [`Absent`](codeweaver_embed::Absent) one.
pub fn estimate(context: &BuildContext<'_>, jobs: &[Job]) -> Result<Estimate, IndexError> {
    let codebase = context.codebase;
    let kept = VectorCache::existing(codebase, context.embedder);
    let vectors = KnownVectors::new(context.reader, context.embedder);
    let n_threads = codebase.settings.index.threads.unwrap_or_else(available_threads);
    let journal = Journal::of_query(codebase, n_threads);
    let next = AtomicUsize::new(0);
    let count = |thread: usize| -> Result<(u64, u64, u64), IndexError> {
        let journal = Some((&journal, thread));
        let worker = Worker { context: *context, vectors: &vectors, kept: kept.as_ref(), journal };
        let (mut blobs, mut missing, mut sums) = (codebase.repo.blobs(), Missing::default(), (0, 0, 0));
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            worker.add_missing(job, &mut blobs, &mut missing)?;
            sums.1 += missing.inputs.len() as u64;
            sums.2 += missing.inputs.drain(..).map(|input| u64::from(tokens::count(&input))).sum::<u64>();
            sums.0 = missing.n_chunks;
        }
        Ok(sums)
    };
    let sums: Vec<Result<(u64, u64, u64), IndexError>> = std::thread::scope(|scope| {
        let count = &count;
        let spawn = |thread| {
            std::thread::Builder::new().stack_size(PARSER_STACK).spawn_scoped(scope, move || count(thread))
        };
        let threads: Vec<_> = (0..n_threads).map_while(|thread| spawn(thread).ok()).collect();
        threads
            .into_iter()
            .map(|it| it.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut total = Estimate { files: jobs.len() as u64, ..Estimate::default() };
    for sum in sums {
        let (chunks, embedded, tokens) = sum?;
        total.chunks += chunks;
        total.embedded += embedded;
        total.tokens += tokens;
    }
    total.vector_bytes = total.chunks * context.embedder.dim() as u64;
    Ok(total)
}
