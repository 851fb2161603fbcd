//! Blobs to sealed segments: read, chunk, embed and tokenise on all cores, merge in order, write.
//!
//! Jobs are cut into units of a few files. Workers take units in turn and build each into a small segment in
//! memory. The calling thread merges them in job order and seals a segment when it is large enough, so the
//! order of docs does not depend on the number or speed of threads. Checkpoints seal segments early, by time:
//! where segments end may differ between runs, and what they hold together does not. Workers are threads of
//! this module and not of a pool, since parsing needs a large stack.
//!
//! `worker` runs the jobs of a unit, by `embedding` and with `known_vectors`; `segments` merges units and
//! seals segments, `tuning` has their sizes, and `checkpoints` says when to publish them. `in_memory` builds
//! overlays, and `estimate` only counts.
//!
//! For a model that costs more than microseconds a unit is chunked twice: first for the inputs of all its
//! files, which are embedded at once, so that the requests to an API are full, and kept in the vector cache;
//! then as for any model.

mod checkpoints;
mod embedding;
mod estimate;
mod in_memory;
mod known_vectors;
mod segments;
#[cfg(test)]
mod tests;
mod tuning;
mod worker;

use super::codebase::Codebase;
use super::error::IndexError;
use super::journal::{Journal, PARSER_STACK};
use super::plan::Job;
use super::progress::Progress;
use super::run_ahead::RunAhead;
use super::vector_cache::VectorCache;
use crate::policy::Policy;
use checkpoints::Checkpoints;
use codeweaver_embed::{self as embed, EmbedCost, Embedder};
use codeweaver_store::StoreReader;
use codeweaver_store::segment::SegmentBuilder;
use codeweaver_store::state::SegmentRef;
pub use embedding::{ChunkedBlob, EmbeddedChunks, Terms, embed_chunks};
pub use estimate::{Estimate, estimate};
pub use in_memory::{build_bytes, build_in_memory};
use known_vectors::KnownVectors;
use rustc_hash::FxHashMap;
use segments::Merger;
pub use segments::{SEAL_ROWS, write_segment};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;
pub use tuning::Tuning;
use worker::{OfThread, Unit, Worker};

/// Files of a unit for a model that costs microseconds per chunk, for one that costs milliseconds, and for an
/// API.
const UNIT_TABLE: usize = 48;
const UNIT_MODEL: usize = 4;
const UNIT_API: usize = 16;
/// Finished units that may wait for the merging thread.
const QUEUE: usize = 16;

/// The output of a run so far: sealed segments, and the place of each finished job.
#[derive(Default)]
pub struct Built {
    /// Sealed since the last checkpoint, without doc ids yet.
    pub segments: Vec<SegmentRef>,
    /// For each finished job, in job order: (index into all sealed segments of this run, ordinal); `None` for
    /// a blob that is not in this clone.
    pub docs: Vec<Option<(usize, u32)>>,
    pub n_sealed: usize,
}

/// What a worker passes on.
struct Part {
    /// The number of its unit.
    unit: usize,
    result: Result<Unit, IndexError>,
    is_last: bool,
}

/// What every build works with.
#[derive(Clone, Copy)]
pub struct BuildContext<'a> {
    pub codebase: &'a Codebase,
    pub policy: &'a Policy,
    /// The store, whose vectors are reused.
    pub reader: &'a StoreReader,
    pub embedder: &'a dyn Embedder,
    pub progress: &'a dyn Progress,
}

/// Runs all `jobs`. `checkpoint` is called with everything built so far at intervals; the return value has
/// the rest.
///
/// Returns early, with what is sealed, when `progress` asks to stop; `built.docs` is then shorter than
/// `jobs`.
pub fn build(
    context: &BuildContext<'_>,
    jobs: &[Job],
    tuning: Tuning,
    mut checkpoint: impl FnMut(&mut Built) -> Result<(), IndexError>,
) -> Result<Built, IndexError> {
    let BuildContext { codebase, embedder, .. } = *context;
    let mut built = Built::default();
    if jobs.is_empty() {
        return Ok(built);
    }
    let store = codebase.create_store()?;
    let (unit_len, most_threads) = match embedder.cost() {
        EmbedCost::Table => (UNIT_TABLE, available_threads()),
        EmbedCost::Model => (UNIT_MODEL, available_threads()),
        // They wait for the server.
        EmbedCost::Api => (UNIT_API, embed::api::MAX_REQUESTS),
    };
    let units: Vec<&[Job]> = jobs.chunks(unit_len).collect();
    let vectors = KnownVectors::new(context.reader, embedder);
    let kept = (embedder.cost() != EmbedCost::Table).then(|| VectorCache::open(codebase, embedder));
    let n_threads = codebase.settings.index.threads.unwrap_or(most_threads).clamp(1, units.len());
    let journal = Journal::open(codebase, n_threads)?;
    let next = AtomicUsize::new(0);
    let ahead = RunAhead::default();
    std::thread::scope(|scope| {
        let _release = ahead.release_at_end();
        let (sender, receiver) = mpsc::sync_channel::<Part>(QUEUE);
        for thread in 0..n_threads {
            let journal = Some((&journal, thread));
            let worker = Worker { context: *context, vectors: &vectors, kept: kept.as_ref(), journal };
            let (sender, units, next, ahead) = (sender.clone(), &units, &next, &ahead);
            std::thread::Builder::new()
                .name("index".to_owned())
                .stack_size(PARSER_STACK)
                .spawn_scoped(scope, move || {
                    let mut thread = OfThread::new(&worker.context);
                    while !worker.context.progress.stopped() {
                        let unit = next.fetch_add(1, Ordering::Relaxed);
                        let Some(jobs) = units.get(unit) else { return };
                        ahead.wait(unit, &|| worker.context.progress.stopped());
                        let (mut rest, mut is_last) = (*jobs, false);
                        while !is_last {
                            let result = worker.run(rest, tuning.part_names, &mut thread);
                            let n_done = result.as_ref().map_or(rest.len(), |part| part.docs.len());
                            rest = &rest[n_done..];
                            is_last = rest.is_empty() || worker.context.progress.stopped();
                            if sender.send(Part { unit, result, is_last }).is_err() {
                                return;
                            }
                        }
                    }
                })
                .map_err(|source| codeweaver_store::StoreError::Io {
                    action: "start a thread for",
                    path: codebase.root(),
                    source,
                })?;
        }
        drop(sender);
        let mut merger = Merger {
            store: &store,
            open: SegmentBuilder::new(embedder.dim()),
            built: &mut built,
            seal_names: tuning.seal_names,
        };
        let mut waiting: FxHashMap<usize, VecDeque<Part>> = FxHashMap::default();
        let (mut wanted, mut n_wanted) = (0, 0);
        let mut schedule = Checkpoints::new(tuning.first_checkpoint);
        'units: for part in receiver {
            waiting.entry(part.unit).or_default().push_back(part);
            while let Some(Part { result, is_last, .. }) =
                waiting.get_mut(&wanted).and_then(VecDeque::pop_front)
            {
                let part = result?;
                n_wanted += part.docs.len();
                merger.merge(part)?;
                if !is_last {
                    continue;
                }
                if n_wanted < units[wanted].len() {
                    // Stopped within this unit: later units of other threads must not be taken for the rest
                    // of it.
                    break 'units;
                }
                waiting.remove(&wanted);
                (wanted, n_wanted) = (wanted + 1, 0);
                ahead.merged(wanted);
            }
            if schedule.is_due(Instant::now(), merger.open.n_docs() == 0) {
                merger.seal()?;
                checkpoint(merger.built)?;
                schedule.done(Instant::now());
            }
        }
        merger.seal()
    })?;
    Ok(built)
}

fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
