//! Estimates the work of a build without embedding anything.

use std::sync::atomic::{AtomicUsize, Ordering};

use codeweaver_chunk::tokens;
use codeweaver_store::StoreError;

use super::known_vectors::KnownVectors;
use super::worker::{Missing, Worker};
use super::{BuildContext, available_threads};
use crate::error::IndexError;
use crate::journal::{Journal, PARSER_STACK};
use crate::plan::Job;
use crate::vector_cache::VectorCache;

/// The work that [`build`](super::build()) would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Estimate {
    pub files: u64,
    pub chunks: u64,
    /// Chunks whose vectors are not stored yet.
    pub embedded: u64,
    /// Tokens of these, as counted by this program; a server counts a little differently.
    pub tokens: u64,
    /// Bytes of the vectors of all chunks.
    pub vector_bytes: u64,
}

/// Chunks `jobs` on all cores and embeds nothing. `context.embedder` may be an
/// [`Absent`](codeweaver_embed::Absent) one.
pub(crate) fn estimate(context: &BuildContext<'_>, jobs: &[Job]) -> Result<Estimate, IndexError> {
    estimate_with(context, jobs, PARSER_STACK)
}

/// As [`estimate`], in threads with a stack of `stack_size` bytes.
///
/// # Errors
/// No thread can be started. The calling thread takes no jobs, since its stack may be too small for parsing.
pub(super) fn estimate_with(
    context: &BuildContext<'_>,
    jobs: &[Job],
    stack_size: usize,
) -> Result<Estimate, IndexError> {
    let codebase = context.codebase;
    let cache = VectorCache::existing(codebase, context.embedder);
    let vectors = KnownVectors::new(context.reader, context.embedder);
    let n_threads = codebase.settings.index.threads.unwrap_or_else(available_threads).min(jobs.len());
    let journal = Journal::from_query(codebase, n_threads);
    let next = AtomicUsize::new(0);

    let counts = std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(n_threads);
        for thread in 0..n_threads {
            let journal = Some((&journal, thread));
            let worker = Worker { context: *context, vectors: &vectors, cache: cache.as_ref(), journal };
            let (builder, next) = (std::thread::Builder::new().stack_size(stack_size), &next);
            match builder.spawn_scoped(scope, move || count_jobs(&worker, jobs, next)) {
                Ok(started) => threads.push(started),
                // The threads that did start take the jobs of one that did not.
                Err(_) if !threads.is_empty() => break,
                Err(error) => return Err(StoreError::io("start a thread for", &codebase.root())(error)),
            }
        }

        let counts =
            threads.into_iter().map(|it| it.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok(counts.collect::<Vec<_>>())
    })?;

    let mut total = Estimate { files: jobs.len() as u64, ..Estimate::default() };
    for count in counts {
        let (chunks, embedded, tokens) = count?;
        total.chunks += chunks;
        total.embedded += embedded;
        total.tokens += tokens;
    }
    total.vector_bytes = total.chunks * context.embedder.dim() as u64;

    Ok(total)
}

/// Takes jobs until `next` has passed the last. Returns the number of their chunks, of the inputs that have
/// no vector yet, and of the tokens of these inputs.
fn count_jobs(worker: &Worker<'_>, jobs: &[Job], next: &AtomicUsize) -> Result<(u64, u64, u64), IndexError> {
    let mut blobs = worker.context.codebase.repo.blobs();
    let (mut missing, mut n_inputs, mut n_tokens) = (Missing::default(), 0, 0);

    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
        worker.add_missing(job, &mut blobs, &mut missing)?;
        n_inputs += missing.inputs.len() as u64;
        n_tokens += missing.inputs.drain(..).map(|input| u64::from(tokens::count(&input))).sum::<u64>();
    }

    Ok((missing.n_chunks, n_inputs, n_tokens))
}
