//! Builds sealed segments from blobs: reads, chunks, embeds and tokenises on all cores, merges in order,
//! writes.
//!
//! Jobs are cut into units of a few files. Workers take units in turn and build each into a small segment in
//! memory. The calling thread merges them in job order and seals a segment when it is large enough, so the
//! order of docs does not depend on the number or speed of threads. Checkpoints seal segments early, by time:
//! runs may differ in where their segments end, but not in what the segments hold together. Workers are
//! threads of this module and not of a pool, since parsing needs a large stack.
//!
//! `worker` runs the jobs of a unit, by `embedding` and with `known_vectors`; `segments` merges units and
//! seals segments, `tuning` has their sizes, and `checkpoints` says when to publish them. `in_memory` builds
//! overlays, and `estimate` only counts.
//!
//! With a model that costs more than microseconds, a unit is chunked twice. The first pass collects the
//! inputs of all its files, embeds them at once, so that the requests to an API are full, and stores the
//! vectors in the vector cache. The second pass is the same as for any model.

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

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::Scope;
use std::time::Instant;

use rustc_hash::FxHashMap;

use codeweaver_embed::{self as embed, EmbedCost, Embedder};
use codeweaver_store::segment::SegmentBuilder;
use codeweaver_store::state::SegmentRef;
use codeweaver_store::{StoreError, StoreReader};

use super::codebase::Codebase;
use super::error::IndexError;
use super::journal::{Journal, PARSER_STACK};
use super::plan::Job;
use super::progress::Progress;
use super::run_ahead::RunAhead;
use super::vector_cache::VectorCache;
use crate::policy::Policy;
use checkpoints::Checkpoints;
use known_vectors::KnownVectors;
use segments::Merger;
use worker::{ThreadState, Unit, Worker};

pub(crate) use embedding::{ChunkedBlob, Terms, embed_chunks};
pub use estimate::Estimate;
pub(crate) use estimate::estimate;
pub(crate) use in_memory::{build_bytes, build_in_memory};
pub use segments::SEAL_ROWS;
pub use segments::write_segment;
pub(crate) use tuning::Tuning;

/// Files of a unit, for a model that costs microseconds per chunk, for one that costs milliseconds, and for
/// an API.
const UNIT_TABLE: usize = 48;
const UNIT_MODEL: usize = 4;
const UNIT_API: usize = 16;
/// Finished units that may wait for the merging thread.
const QUEUE: usize = 16;

/// The output of a run so far: sealed segments, and the place of each finished job.
#[derive(Default)]
pub(crate) struct Built {
    /// Segments that were sealed since the last checkpoint, without doc ids yet.
    pub segments: Vec<SegmentRef>,
    /// The place of each finished job, in job order: (index into all sealed segments of this run, ordinal);
    /// `None` for a blob that is not in this clone.
    pub docs: Vec<Option<(usize, u32)>>,
    /// Number of segments that were sealed since the run began.
    pub n_sealed: usize,
}

/// The docs of a unit, or of a part of it, on their way to the merging thread.
struct Part {
    /// The number of its unit.
    unit: usize,
    result: Result<Unit, IndexError>,
    /// Whether the unit ends with this part.
    is_last: bool,
}

/// The parameters of every build.
#[derive(Clone, Copy)]
pub(crate) struct BuildContext<'a> {
    pub codebase: &'a Codebase,
    pub policy: &'a Policy,
    /// The store whose vectors are reused.
    pub reader: &'a StoreReader,
    pub embedder: &'a dyn Embedder,
    pub progress: &'a dyn Progress,
}

/// Runs all `jobs`. Calls `checkpoint` at intervals with everything built so far; the return value has the
/// rest.
///
/// Returns early, with what is sealed, when `progress` asks to stop; `built.docs` is then shorter than
/// `jobs`.
pub(crate) fn build(
    context: &BuildContext<'_>,
    jobs: &[Job],
    tuning: Tuning,
    mut checkpoint: impl FnMut(&mut Built) -> Result<(), IndexError>,
) -> Result<Built, IndexError> {
    if jobs.is_empty() {
        return Ok(Built::default());
    }

    let BuildContext { codebase, embedder, .. } = *context;
    let store = codebase.create_store()?;
    let (unit_len, max_threads) = match embedder.cost() {
        EmbedCost::Table => (UNIT_TABLE, available_threads()),
        EmbedCost::Model => (UNIT_MODEL, available_threads()),
        // These threads mostly wait for the server, so their number does not depend on the cores.
        EmbedCost::Api => (UNIT_API, embed::api::MAX_REQUESTS),
    };
    let units: Vec<&[Job]> = jobs.chunks(unit_len).collect();
    let n_threads = codebase.settings.index.threads.unwrap_or(max_threads).clamp(1, units.len());

    let vectors = KnownVectors::new(context.reader, embedder);
    let cache = (embedder.cost() != EmbedCost::Table).then(|| VectorCache::open(codebase, embedder));
    let journal = Journal::open(codebase, n_threads)?;
    let queue = UnitQueue { units: &units, next: AtomicUsize::new(0), ahead: RunAhead::default() };

    let mut built = Built::default();
    std::thread::scope(|scope| {
        let _release = queue.ahead.release_at_end();
        let (sender, parts) = mpsc::sync_channel::<Part>(QUEUE);
        for thread in 0..n_threads {
            let journal = Some((&journal, thread));
            let worker = Worker { context: *context, vectors: &vectors, cache: cache.as_ref(), journal };
            spawn_worker(scope, worker, &queue, tuning.part_names, sender.clone())?;
        }
        // The channel then ends with the last worker.
        drop(sender);

        let mut merger = Merger {
            store: &store,
            open: SegmentBuilder::new(embedder.dim()),
            built: &mut built,
            seal_names: tuning.seal_names,
        };
        let mut schedule = Checkpoints::new(tuning.first_checkpoint);
        merge_in_order(parts, &queue, &mut merger, |merger| {
            checkpoint_if_due(&mut schedule, merger, &mut checkpoint)
        })?;
        merger.seal()
    })?;

    Ok(built)
}

/// The units of a build, which workers take in turn.
struct UnitQueue<'a> {
    units: &'a [&'a [Job]],
    /// Number of the next unit to take.
    next: AtomicUsize,
    ahead: RunAhead,
}

/// Starts a thread that builds units with `worker` and sends them to the merging thread.
fn spawn_worker<'scope>(
    scope: &'scope Scope<'scope, '_>,
    worker: Worker<'scope>,
    queue: &'scope UnitQueue<'_>,
    part_names: usize,
    sender: mpsc::SyncSender<Part>,
) -> Result<(), StoreError> {
    let path = worker.context.codebase.root();
    let spawned = std::thread::Builder::new()
        .name("index".to_owned())
        .stack_size(PARSER_STACK)
        .spawn_scoped(scope, move || run_units(&worker, queue, part_names, &sender));

    spawned.map(drop).map_err(|source| StoreError::Io { action: "start a thread for", path, source })
}

/// Takes units of the queue until there are none, the run is stopped, or the merging thread has ended. A unit
/// with many names is sent in parts, each of about `part_names`.
fn run_units(worker: &Worker<'_>, queue: &UnitQueue<'_>, part_names: usize, sender: &mpsc::SyncSender<Part>) {
    let progress = worker.context.progress;
    let mut thread = ThreadState::new(&worker.context);

    while !progress.stopped() {
        let unit = queue.next.fetch_add(1, Ordering::Relaxed);
        let Some(mut rest) = queue.units.get(unit).copied() else { return };
        queue.ahead.wait(unit, &|| progress.stopped());

        let mut is_last = false;
        while !is_last {
            let result = worker.run(rest, part_names, &mut thread);
            // An error ends the unit, and the whole build once it is merged.
            let n_done = result.as_ref().map_or(rest.len(), |part| part.docs.len());
            rest = &rest[n_done..];
            is_last = rest.is_empty() || progress.stopped();
            if sender.send(Part { unit, result, is_last }).is_err() {
                return;
            }
        }
    }
}

/// Merges parts in the order of their jobs, whatever the order in which they arrive. Calls `after_arrival`
/// each time that a part has arrived and everything that can be merged is merged.
fn merge_in_order(
    parts: mpsc::Receiver<Part>,
    queue: &UnitQueue<'_>,
    merger: &mut Merger<'_>,
    mut after_arrival: impl FnMut(&mut Merger<'_>) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let mut waiting: FxHashMap<usize, VecDeque<Part>> = FxHashMap::default();
    // The number of the unit that is merged next, and of its docs that are merged already.
    let (mut unit, mut n_docs) = (0, 0);

    for part in parts {
        waiting.entry(part.unit).or_default().push_back(part);

        while let Some(Part { result, is_last, .. }) = waiting.get_mut(&unit).and_then(VecDeque::pop_front) {
            let part = result?;
            n_docs += part.docs.len();
            merger.merge(part)?;
            if !is_last {
                continue;
            }
            if n_docs < queue.units[unit].len() {
                // Stopped within this unit: later units must not be taken for the rest of it.
                return Ok(());
            }

            waiting.remove(&unit);
            (unit, n_docs) = (unit + 1, 0);
            queue.ahead.merged(unit);
        }

        after_arrival(merger)?;
    }

    Ok(())
}

/// Seals the open segment and passes on everything built so far, if `schedule` says so.
fn checkpoint_if_due(
    schedule: &mut Checkpoints,
    merger: &mut Merger<'_>,
    checkpoint: &mut impl FnMut(&mut Built) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    if schedule.is_due(Instant::now(), merger.open.n_docs() == 0) {
        merger.seal()?;
        checkpoint(merger.built)?;
        // Publishing takes time too, so the next interval begins after it.
        schedule.done(Instant::now());
    }

    Ok(())
}

fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
