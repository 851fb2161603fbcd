//! Builds a few files into a segment in memory, for overlays.

use std::sync::atomic::{AtomicUsize, Ordering};

use codeweaver_store::StoreError;
use codeweaver_store::segment::SegmentBuilder;

use super::known_vectors::KnownVectors;
use super::worker::{Content, ThreadState, Unit, Worker};
use super::{BuildContext, available_threads};
use crate::error::IndexError;
use crate::journal::{Journal, PARSER_STACK};
use crate::plan::Job;

/// Files of a unit when there are few jobs in all.
const SMALL_UNIT: usize = 4;

/// Builds the docs of a few jobs in a segment that is not written. Returns it with the ordinal of each doc,
/// `None` for a blob that is not local.
pub(crate) fn build_in_memory(
    context: &BuildContext<'_>,
    jobs: &[Job],
) -> Result<(SegmentBuilder, Vec<Option<u32>>), IndexError> {
    let vectors = KnownVectors::new(context.reader, context.embedder);
    let worker = Worker { context: *context, vectors: &vectors, cache: None, journal: None };
    worker.small(jobs, &|worker, job, thread, builder| worker.job(job, thread, builder))
}

/// As [`build_in_memory`], for bytes that are in no object database.
pub(crate) fn build_bytes(
    context: &BuildContext<'_>,
    jobs: &[(&Job, &[u8])],
) -> Result<(SegmentBuilder, Vec<Option<u32>>), IndexError> {
    let vectors = KnownVectors::new(context.reader, context.embedder);
    let worker = Worker { context: *context, vectors: &vectors, cache: None, journal: None };
    worker.small(jobs, &|worker, (job, bytes), thread, builder| {
        let content = Content { size: bytes.len() as u64, bytes };
        worker.doc(job, &content, &mut thread.terms, builder).map(Some)
    })
}

/// Runs one job of [`Worker::small`] and returns the ordinal of its doc.
type RunSmall<'r, J> = &'r (
        dyn Fn(&Worker<'_>, &J, &mut ThreadState<'_>, &mut SegmentBuilder) -> Result<Option<u32>, IndexError>
            + Sync
    );

impl Worker<'_> {
    /// Runs `jobs` on all cores without a merging thread: the shares of the cores are concatenated in job
    /// order. Never runs on the calling thread, whose stack may be too small for parsing.
    fn small<J: Sync>(
        &self,
        jobs: &[J],
        run: RunSmall<'_, J>,
    ) -> Result<(SegmentBuilder, Vec<Option<u32>>), IndexError> {
        let threads = self.context.codebase.settings.index.threads.unwrap_or_else(available_threads);
        // A few jobs are done before more threads have started.
        let n_units =
            if jobs.len() < SMALL_UNIT * 2 || threads < 2 { 1 } else { jobs.len().div_ceil(SMALL_UNIT) };
        let units: Vec<&[J]> = jobs.chunks(jobs.len().div_ceil(n_units).max(1)).collect();

        let next = AtomicUsize::new(0);
        let n_threads = threads.clamp(1, units.len().max(1));
        let journal = Journal::from_query(self.context.codebase, n_threads);
        let mut done = std::thread::scope(|scope| {
            let mut helpers = Vec::with_capacity(n_threads);
            for thread in 0..n_threads {
                let worker = Worker { journal: Some((&journal, thread)), ..*self };
                let (units, next) = (&units, &next);
                let helper = std::thread::Builder::new()
                    .stack_size(PARSER_STACK)
                    .spawn_scoped(scope, move || worker.take_units(units, next, run))
                    .map_err(StoreError::io("start a thread for", &self.context.codebase.root()))?;
                helpers.push(helper);
            }

            let mut done = Vec::new();
            for helper in helpers {
                done.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok::<_, IndexError>(done)
        })?;
        done.sort_unstable_by_key(|(number, _)| *number);

        let mut builder = SegmentBuilder::new(self.context.embedder.dim());
        let mut docs = Vec::with_capacity(jobs.len());
        for (_, unit) in done {
            let base = builder.n_docs() as u32;
            docs.extend(unit.docs.into_iter().map(|doc| doc.map(|ordinal| base + ordinal)));
            builder.append(unit.builder);
        }

        Ok((builder, docs))
    }

    /// Builds units until `next` has passed the last. Returns them with their numbers.
    fn take_units<J>(
        &self,
        units: &[&[J]],
        next: &AtomicUsize,
        run: RunSmall<'_, J>,
    ) -> Result<Vec<(usize, Unit)>, IndexError> {
        let (mut thread, mut done) = (ThreadState::new(&self.context), Vec::new());

        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(jobs) = units.get(number) else { return Ok(done) };

            let mut unit = Unit {
                builder: SegmentBuilder::new(self.context.embedder.dim()),
                docs: Vec::with_capacity(jobs.len()),
            };
            for job in *jobs {
                // Unlike `build`, this has no use for a part of the docs.
                if self.context.progress.stopped() {
                    return Err(IndexError::Interrupted { n_chunks: 0 });
                }
                unit.docs.push(run(self, job, &mut thread, &mut unit.builder)?);
            }
            done.push((number, unit));
        }
    }
}
