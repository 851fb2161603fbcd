//! Blobs to sealed segments: read, chunk, embed and tokenise on all cores, merge in order, write.
//!
//! Jobs are cut into units of a few files. Workers take units in turn and build each into a small segment in
//! memory. The calling thread merges them in job order and seals a segment when it is large enough, so the
//! order of docs, and with it every byte written, does not depend on the number or speed of threads. Workers
//! are threads of this module and not of a pool, since parsing needs a large stack.
//!
//! For a model that costs more than microseconds a unit is chunked twice: first for the inputs of all its
//! files, which are embedded at once, so that the requests to an API are full, and kept in the vector cache;
//! then as for any model.

use super::codebase::Codebase;
use super::error::IndexError;
use super::journal::{Journal, PARSER_STACK};
use super::plan::Job;
use super::progress::{Counters, Progress};
use super::run_ahead::RunAhead;
use super::vector_cache::VectorCache;
use super::words;
use crate::chunk::{self, tokens};
use crate::embed::{self, EmbedCost, Embedder, TableModel, TermEntries};
use crate::git::BlobReader;
use crate::policy::{Policy, SkipReason};
use crate::store::layout::{StoreLayout, write_content_addressed};
use crate::store::rows::{DocKey, DocMeta, RowMeta};
use crate::store::segment::{DocTerms, SegmentBuilder};
use crate::store::state::SegmentRef;
use crate::store::{StoreReader, fault, shard};
use crate::text::{self, TermCounts, TermTable};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Rows at which a segment is sealed: a million chunks are some twenty segments, and two in memory stay far
/// below the memory limit.
pub const SEAL_ROWS: usize = 48 * 1024;
/// Files of a unit for a model that costs microseconds per chunk, for one that costs milliseconds, and for an
/// API.
const UNIT_TABLE: usize = 48;
const UNIT_MODEL: usize = 4;
const UNIT_API: usize = 16;
/// Files of a unit when there are few jobs in all.
const SMALL_UNIT: usize = 4;
/// Finished units that may wait for the merging thread.
const QUEUE: usize = 16;
/// Different words that a thread keeps the terms of, so that the memory of these is bounded.
const KEPT_WORDS: usize = 64 * 1024;
/// Interval between later checkpoints. They wait for the open segment to be full, at most as long again.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(15);

/// Where the segments of a build end. What the index holds does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// Symbols and different words at which a segment is sealed, since they take more memory than rows where
    /// there are many, as in headers of registers. Most segments have half as many when they are full.
    pub seal_names: usize,
    /// As `seal_names`, at which a unit is passed on in parts.
    pub part_names: usize,
    /// Time to the first checkpoint. Each of the next takes twice as long, up to [`CHECKPOINT_EVERY`]: a
    /// large first index answers after seconds, and has few small segments.
    pub first_checkpoint: Duration,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning { seal_names: 1_536 * 1024, part_names: 256 * 1024, first_checkpoint: Duration::from_secs(2) }
    }
}

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

/// The result of one unit, or of a part of it.
struct Unit {
    builder: SegmentBuilder,
    /// Per job: ordinal in the unit's builder, `None` if the blob is not local.
    docs: Vec<Option<u32>>,
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
                .map_err(|source| crate::store::StoreError::Io {
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

/// When checkpoints are due.
struct Checkpoints {
    last: Instant,
    interval: Duration,
}

impl Checkpoints {
    fn new(first: Duration) -> Checkpoints {
        Checkpoints { last: Instant::now(), interval: first }
    }

    /// Whether a checkpoint is due `now`; `is_sealed` tells whether it would cut no segment short.
    fn is_due(&self, now: Instant, is_sealed: bool) -> bool {
        let since = now.saturating_duration_since(self.last);
        let patience = if is_sealed || self.interval < CHECKPOINT_EVERY { 1 } else { 2 };
        since >= self.interval * patience
    }

    fn done(&mut self, now: Instant) {
        *self = Checkpoints { last: now, interval: (self.interval * 2).min(CHECKPOINT_EVERY) };
    }
}

fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// What a worker thread keeps from job to job.
struct OfThread<'a> {
    blobs: BlobReader,
    terms: Terms<'a>,
}

impl<'a> OfThread<'a> {
    fn new(context: &BuildContext<'a>) -> OfThread<'a> {
        OfThread { blobs: context.codebase.repo.blobs(), terms: Terms::new(context.embedder) }
    }
}

#[derive(Clone, Copy)]
struct Worker<'a> {
    context: BuildContext<'a>,
    vectors: &'a KnownVectors<'a>,
    /// Vectors that are computed before the docs are made; `None` for models that cost microseconds, and
    /// overlays.
    kept: Option<&'a VectorCache>,
    /// The journal slot of this thread.
    journal: Option<(&'a Journal, usize)>,
}

impl Worker<'_> {
    /// Runs the first of `jobs`: all, unless these have `max_names` names, so that the rest should be another
    /// part.
    fn run(&self, jobs: &[Job], max_names: usize, thread: &mut OfThread<'_>) -> Result<Unit, IndexError> {
        let mut unit = Unit {
            builder: SegmentBuilder::new(self.context.embedder.dim()),
            docs: Vec::with_capacity(jobs.len()),
        };
        if let Some(kept) = self.kept {
            self.embed_into(kept, jobs, &mut thread.blobs)?;
        }
        thread.terms.table.trim(KEPT_WORDS);
        for job in jobs {
            // What is embedded before it is chunked is not cut, since the rest would be chunked three times.
            let is_full = self.kept.is_none() && unit.builder.n_names() >= max_names;
            if is_full || self.context.progress.stopped() {
                break;
            }
            unit.docs.push(self.job(job, thread, &mut unit.builder)?);
        }
        Ok(unit)
    }

    fn job(
        &self,
        job: &Job,
        thread: &mut OfThread<'_>,
        builder: &mut SegmentBuilder,
    ) -> Result<Option<u32>, IndexError> {
        let Some((size, bytes)) = self.read(job, &mut thread.blobs)? else {
            self.context.progress.add(&Counters { errors: 1, ..Counters::default() });
            return Ok(None);
        };
        self.doc(job, &Content { size, bytes }, &mut thread.terms, builder).map(Some)
    }

    /// The size of the blob of `job` and its bytes, none if it is too large; `None` if it is not in this
    /// clone.
    fn read<'b>(&self, job: &Job, blobs: &'b mut BlobReader) -> Result<Option<(u64, &'b [u8])>, IndexError> {
        let oid = &job.key.blob_oid;
        let Some(size) = blobs.size(oid)? else { return Ok(None) };
        // Larger ones than those that are chunked are read for their words.
        let max = self.context.policy.max_blob_bytes().max(words::MAX_BYTES);
        let bytes = if size > max { None } else { blobs.read(oid)? };
        Ok(Some((size, bytes.unwrap_or(&[]))))
    }

    /// Embeds the chunks of `jobs` whose vectors are nowhere yet. What was embedded before an error is kept.
    fn embed_into(&self, kept: &VectorCache, jobs: &[Job], blobs: &mut BlobReader) -> Result<(), IndexError> {
        let BuildContext { embedder, progress, .. } = self.context;
        let mut missing = Missing::default();
        for job in jobs {
            if progress.stopped() {
                return Ok(());
            }
            self.add_missing(job, blobs, &mut missing)?;
        }
        let inputs: Vec<&str> = missing.inputs.iter().map(String::as_str).collect();
        let mut rows = Vec::with_capacity(inputs.len() * embedder.dim());
        let result = embedder.embed_documents(&inputs, &mut rows);
        let done = rows.len() / embedder.dim().max(1);
        kept.put(&missing.hashes[..done], &rows);
        let n_tokens = match embedder.cost() {
            EmbedCost::Api => inputs[..done].iter().map(|input| u64::from(tokens::count(input))).sum(),
            EmbedCost::Table | EmbedCost::Model => 0,
        };
        progress.add(&Counters { embedded: done as u64, tokens: n_tokens, ..Counters::default() });
        Ok(result?)
    }

    /// Adds the chunks of `job` whose vectors are neither in the store nor kept, each input once.
    fn add_missing(
        &self,
        job: &Job,
        blobs: &mut BlobReader,
        missing: &mut Missing,
    ) -> Result<(), IndexError> {
        let Some((size, bytes)) = self.read(job, blobs)? else { return Ok(()) };
        let bytes = &*text::to_utf8(bytes);
        let Ok(chunked) = self.chunk(job, size, bytes) else { return Ok(()) };
        let known = self.vectors.of(job.previous);
        for chunk in &chunked.chunks {
            let input = input_of(chunk, bytes);
            let hash = embed::input_hash(self.context.embedder.fingerprint(), &input);
            let is_known = known(&hash).is_some() || self.kept.is_some_and(|kept| kept.get(&hash).is_some());
            missing.n_chunks += 1;
            if !is_known && missing.seen.insert(hash) {
                missing.hashes.push(hash);
                missing.inputs.push(input);
            }
        }
        Ok(())
    }

    /// Chunks `bytes`, or tells why they are left out. A grammar that has crashed on them is not tried again.
    fn chunk(&self, job: &Job, size: u64, bytes: &[u8]) -> Result<chunk::ChunkedBlob, SkipReason> {
        let BuildContext { codebase, policy, embedder, .. } = self.context;
        // What the user counts among the secrets leaves the machine under no circumstances.
        let is_sent = embedder.cost() == EmbedCost::Api;
        let skipped = match () {
            () if size > policy.max_blob_bytes() => Some(SkipReason::TooLarge),
            () if is_sent && job.exempt.secret => Some(SkipReason::Secret),
            () => policy.decide_blob(bytes, job.exempt),
        };
        let crashes =
            |(journal, _): &(&Journal, usize)| journal.crashes(&job.key.blob_oid, job.language, bytes);
        let skipped = skipped.or_else(|| self.journal.filter(crashes).map(|_| SkipReason::Crashed));
        if let Some(reason) = skipped {
            return Err(reason);
        }
        let entered = self.journal.map(|(journal, thread)| journal.enter(thread, &job.key.blob_oid));
        fault::parsing(bytes);
        let chunked = chunk::chunk_blob(bytes, job.language, &codebase.settings.chunker);
        drop(entered);
        Ok(chunked)
    }

    /// Chunks and embeds a blob, decoded by its byte order mark, adds it as one doc, and returns its ordinal.
    fn doc(
        &self,
        job: &Job,
        content: &Content<'_>,
        terms: &mut Terms<'_>,
        builder: &mut SegmentBuilder,
    ) -> Result<u32, IndexError> {
        let ordinal = builder.n_docs() as u32;
        let Content { size, bytes: raw } = *content;
        let bytes = &*text::to_utf8(raw);
        let chunked = self.chunk(job, size, bytes);
        let skipped = chunked.as_ref().err().copied();
        let doc = DocMeta {
            key: job.key,
            language: job.language.name().to_owned(),
            skipped: super::plan::skipped_number(skipped),
            blob_bytes: u32::try_from(size).unwrap_or(u32::MAX),
            degradations: chunked.iter().flat_map(|blob| &blob.degradations).map(Into::into).collect(),
        };
        let Ok(chunked) = chunked else {
            builder.push_doc(doc, Vec::new(), &[], &[]);
            if words::are_stored(skipped, raw) {
                builder.set_words(raw);
            }
            let errors = u64::from(skipped == Some(SkipReason::Crashed));
            self.context.progress.add(&Counters { files: 1, errors, ..Counters::default() });
            return Ok(ordinal);
        };
        let settings = &self.context.codebase.settings;
        let stored = self.vectors.of(job.previous);
        let known = |hash: &[u8; 16]| stored(hash).or_else(|| self.kept?.get(hash));
        let is_degraded = !doc.degradations.is_empty();
        let blob = ChunkedBlob { key: &job.key, bytes, chunks: chunked.chunks };
        let embedded = embed_chunks(self.context.embedder, blob, &known, settings.index.excerpts, terms)?;
        self.context.progress.add(&Counters {
            files: 1,
            bytes: size,
            chunks: embedded.rows.len() as u64,
            embedded: embedded.n_embedded,
            degraded: u64::from(is_degraded),
            ..Counters::default()
        });
        builder.push_counted(doc, embedded.rows, &embedded.vectors, terms.of_doc());
        builder.set_words(raw);
        Ok(ordinal)
    }
}

/// A blob.
struct Content<'a> {
    size: u64,
    /// Empty if the size exceeds the limit.
    bytes: &'a [u8],
}

/// Inputs to embed, with what they were found among.
#[derive(Default)]
struct Missing {
    hashes: Vec<[u8; 16]>,
    /// The input of each hash.
    inputs: Vec<String>,
    seen: FxHashSet<[u8; 16]>,
    /// Chunks with and without a vector.
    n_chunks: u64,
}

/// What [`build`] would do.
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

/// Chunks `jobs` on all cores and embeds nothing. `context.embedder` may be an [`embed::Absent`] one.
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

/// Runs a few jobs at once, into a segment that is not written.
pub fn build_in_memory(
    context: &BuildContext<'_>,
    jobs: &[Job],
) -> Result<(SegmentBuilder, Vec<Option<u32>>), IndexError> {
    let vectors = KnownVectors::new(context.reader, context.embedder);
    let worker = Worker { context: *context, vectors: &vectors, kept: None, journal: None };
    worker.small(jobs, &|worker, job, thread, builder| worker.job(job, thread, builder))
}

/// As [`build_in_memory`], for bytes that are in no object database.
pub fn build_bytes(
    context: &BuildContext<'_>,
    jobs: &[(&Job, &[u8])],
) -> Result<(SegmentBuilder, Vec<Option<u32>>), IndexError> {
    let vectors = KnownVectors::new(context.reader, context.embedder);
    let worker = Worker { context: *context, vectors: &vectors, kept: None, journal: None };
    worker.small(jobs, &|worker, (job, bytes), thread, builder| {
        let content = Content { size: bytes.len() as u64, bytes };
        worker.doc(job, &content, &mut thread.terms, builder).map(Some)
    })
}

/// Runs one job of [`Worker::small`] and returns the ordinal of its doc.
type RunSmall<'r, J> = &'r (
        dyn Fn(&Worker<'_>, &J, &mut OfThread<'_>, &mut SegmentBuilder) -> Result<Option<u32>, IndexError>
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
        let n_units =
            if jobs.len() < SMALL_UNIT * 2 || threads < 2 { 1 } else { jobs.len().div_ceil(SMALL_UNIT) };
        let units: Vec<&[J]> = jobs.chunks(jobs.len().div_ceil(n_units).max(1)).collect();
        let next = AtomicUsize::new(0);
        let n_threads = threads.clamp(1, units.len().max(1));
        let journal = Journal::of_query(self.context.codebase, n_threads);
        let take = |thread: usize| -> Result<Vec<(usize, Unit)>, IndexError> {
            let worker = Worker { journal: Some((&journal, thread)), ..*self };
            let (mut thread, mut done) = (OfThread::new(&self.context), Vec::new());
            while let Some((number, jobs)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, units.get(n)?)))
            {
                let mut unit = Unit {
                    builder: SegmentBuilder::new(self.context.embedder.dim()),
                    docs: Vec::with_capacity(jobs.len()),
                };
                for job in *jobs {
                    if self.context.progress.stopped() {
                        return Err(IndexError::Interrupted { n_chunks: 0 });
                    }
                    unit.docs.push(run(&worker, job, &mut thread, &mut unit.builder)?);
                }
                done.push((number, unit));
            }
            Ok(done)
        };
        let mut done = std::thread::scope(|scope| {
            let take = &take;
            let spawn = |thread| {
                std::thread::Builder::new().stack_size(PARSER_STACK).spawn_scoped(scope, move || take(thread))
            };
            let helpers = (0..n_threads).map(spawn).collect::<Result<Vec<_>, _>>().map_err(|source| {
                crate::store::StoreError::Io {
                    action: "start a thread for",
                    path: self.context.codebase.root(),
                    source,
                }
            })?;
            let mut done = Vec::new();
            for helper in helpers {
                done.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok::<_, IndexError>(done)
        })?;
        done.sort_unstable_by_key(|(number, _)| *number);
        let (mut builder, mut docs) =
            (SegmentBuilder::new(self.context.embedder.dim()), Vec::with_capacity(jobs.len()));
        for (_, unit) in done {
            let base = builder.n_docs() as u32;
            docs.extend(unit.docs.into_iter().map(|doc| doc.map(|ordinal| base + ordinal)));
            builder.append(unit.builder);
        }
        Ok((builder, docs))
    }
}

/// Rows with their vectors.
pub struct EmbeddedChunks {
    pub rows: Vec<RowMeta>,
    /// Row-major.
    pub vectors: Vec<i8>,
    /// Number of vectors that were computed.
    pub n_embedded: u64,
}

/// A blob with its chunks.
pub struct ChunkedBlob<'a> {
    pub key: &'a DocKey,
    pub bytes: &'a [u8],
    pub chunks: Vec<chunk::Chunk>,
}

/// The text of a chunk of `bytes`.
fn text_of<'b>(chunk: &chunk::Chunk, bytes: &'b [u8]) -> Cow<'b, str> {
    let text = bytes.get(chunk.byte_range.start as usize..chunk.byte_range.end as usize).unwrap_or(&[]);
    String::from_utf8_lossy(text)
}

/// The model input of a chunk of `bytes`.
fn input_of(chunk: &chunk::Chunk, bytes: &[u8]) -> String {
    let mut input = String::new();
    embed::document_input(chunk, &text_of(chunk, bytes), &mut input);
    input
}

/// The terms of docs, which are counted once for the postings and for the vectors of a table.
pub struct Terms<'m> {
    table: TermTable,
    /// The texts of the chunks of the present doc.
    bodies: TermCounts,
    model: Option<(&'m TableModel<'m>, TermEntries<'m>)>,
    /// What the model input of a chunk has besides its text.
    head: TermCounts,
    bag: Vec<(u32, u32)>,
}

impl<'m> Terms<'m> {
    pub fn new(embedder: &'m dyn Embedder) -> Terms<'m> {
        let model = embedder.table().map(|model| (model, TermEntries::new(model.vocabulary())));
        Terms {
            table: TermTable::default(),
            bodies: TermCounts::default(),
            model,
            head: TermCounts::default(),
            bag: Vec::new(),
        }
    }

    fn of_doc(&mut self) -> DocTerms<'_> {
        DocTerms { bodies: &self.bodies, table: &mut self.table }
    }

    /// Appends to `out` the vector of the chunk whose text was counted last. Returns false if the model is no
    /// table.
    fn embed(&mut self, input: &Input<'_>, out: &mut Vec<i8>) -> bool {
        let Some((model, entries)) = &mut self.model else { return false };
        let (head, body) = input.text.split_at(input.body_at);
        self.head.clear();
        self.head.push(&mut self.table, head);
        // Of a long text only a part is embedded.
        let is_cut = body.len() < input.body_len;
        if is_cut {
            self.head.push(&mut self.table, body);
        }
        let cut = if is_cut { self.head.get(1) } else { self.bodies.last() };
        entries.bag_of(&self.table, self.head.get(0).iter().chain(cut), &mut self.bag);
        model.embed_bag(&self.bag, out);
        true
    }
}

/// A model input.
struct Input<'a> {
    text: &'a str,
    /// Where the text of the chunk begins in it, and the length of that text.
    body_at: usize,
    body_len: usize,
}

/// Embeds the chunks of one blob, and counts their terms. Vectors whose input `known` has are reused.
pub fn embed_chunks(
    embedder: &dyn Embedder,
    blob: ChunkedBlob<'_>,
    known: &dyn Fn(&[u8; 16]) -> Option<Vec<i8>>,
    excerpts: bool,
    terms: &mut Terms<'_>,
) -> Result<EmbeddedChunks, IndexError> {
    let ChunkedBlob { key, bytes, chunks } = blob;
    let dim = embedder.dim();
    let mut rows = Vec::with_capacity(chunks.len());
    let mut vectors = vec![0i8; chunks.len() * dim];
    let mut missing: Vec<(usize, String)> = Vec::new();
    let (mut input, mut vector, mut n_of_table) = (String::new(), Vec::with_capacity(dim), 0);
    terms.bodies.clear();
    for (i, chunk) in chunks.into_iter().enumerate() {
        let text = text_of(&chunk, bytes);
        terms.bodies.push(&mut terms.table, &text);
        let body_at = embed::document_input(&chunk, &text, &mut input);
        let hash = embed::input_hash(embedder.fingerprint(), &input);
        rows.push(RowMeta::of(key, chunk, hash, excerpts));
        let target = &mut vectors[i * dim..(i + 1) * dim];
        if let Some(vector) = known(&hash).filter(|vector| vector.len() == dim) {
            target.copy_from_slice(&vector);
            continue;
        }
        vector.clear();
        if terms.embed(&Input { text: &input, body_at, body_len: text.len() }, &mut vector) {
            target.copy_from_slice(&vector);
            n_of_table += 1;
        } else {
            missing.push((i, std::mem::take(&mut input)));
        }
    }
    let inputs: Vec<&str> = missing.iter().map(|(_, input)| input.as_str()).collect();
    let mut fresh = Vec::with_capacity(inputs.len() * dim);
    embedder.embed_documents(&inputs, &mut fresh)?;
    for ((i, _), vector) in missing.iter().zip(fresh.chunks_exact(dim)) {
        vectors[i * dim..(i + 1) * dim].copy_from_slice(vector);
    }
    Ok(EmbeddedChunks { rows, vectors, n_embedded: missing.len() as u64 + n_of_table })
}

/// Vectors in the store, by the hash of their model input.
pub struct KnownVectors<'a> {
    reader: &'a StoreReader,
    /// All of them; built only for a model whose vectors cost more than a look-up.
    all: Option<FxHashMap<[u8; 16], (u32, u32)>>,
}

impl<'a> KnownVectors<'a> {
    pub fn new(reader: &'a StoreReader, embedder: &dyn Embedder) -> KnownVectors<'a> {
        let all = (embedder.cost() != EmbedCost::Table).then(|| {
            let mut all = FxHashMap::default();
            for (s, segment) in reader.segments.iter().enumerate() {
                let hashes = segment.input_hashes().iter().enumerate();
                all.extend(hashes.map(|(row, hash)| (*hash, (s as u32, row as u32))));
            }
            all
        });
        KnownVectors { reader, all }
    }

    /// A look-up in the rows of `previous` (nearly everything of an edited file) and, for slow models, in the
    /// whole store.
    pub fn of(&self, previous: Option<u32>) -> impl Fn(&[u8; 16]) -> Option<Vec<i8>> + '_ {
        let near = previous.and_then(|doc| self.reader.locate_doc(doc)).map(|(s, ordinal)| {
            let segment = &self.reader.segments[s];
            (segment, segment.doc_rows(ordinal))
        });
        move |hash| {
            if let Some((segment, rows)) = &near {
                let hashes = segment.input_hashes().get(rows.start as usize..rows.end as usize)?;
                if let Some(i) = hashes.iter().position(|known| known == hash) {
                    return Some(segment.vector(rows.start + i as u32).to_vec());
                }
            }
            let (s, row) = self.all.as_ref()?.get(hash)?;
            Some(self.reader.segments[*s as usize].vector(*row).to_vec())
        }
    }
}

struct Merger<'a> {
    store: &'a StoreLayout,
    open: SegmentBuilder,
    built: &'a mut Built,
    seal_names: usize,
}

impl Merger<'_> {
    fn merge(&mut self, unit: Unit) -> Result<(), IndexError> {
        if self.open.n_rows() + unit.builder.n_rows() > shard::MAX_ROWS {
            self.seal()?;
        }
        let base = self.open.n_docs() as u32;
        let sealed = self.built.n_sealed;
        self.built.docs.extend(unit.docs.into_iter().map(|doc| doc.map(|ordinal| (sealed, base + ordinal))));
        self.open.append(unit.builder);
        if self.open.n_rows() >= SEAL_ROWS || self.open.n_names() >= self.seal_names {
            self.seal()
        } else {
            Ok(())
        }
    }

    fn seal(&mut self) -> Result<(), IndexError> {
        if self.open.n_docs() == 0 {
            return Ok(());
        }
        let builder = std::mem::replace(&mut self.open, SegmentBuilder::new(0));
        self.open.data.dim = builder.data.dim;
        self.built.segments.push(write_segment(self.store, builder)?);
        self.built.n_sealed += 1;
        Ok(())
    }
}

/// Writes a shard and its segment. The returned reference has no doc ids yet.
pub fn write_segment(store: &StoreLayout, builder: SegmentBuilder) -> Result<SegmentRef, IndexError> {
    let encoded = shard::encode(&builder.data, store.root())?;
    let name = blake3::hash(&encoded.bytes).to_hex().to_string();
    write_content_addressed(&store.shard(&name), &encoded.bytes)?;
    let shard_bytes = encoded.bytes.len() as u64;
    drop(encoded.bytes);
    let (n_docs, n_rows) = (builder.n_docs() as u32, builder.n_rows() as u32);
    let segment = builder.finish(encoded.vectors_at);
    write_content_addressed(&store.segment(&name), &segment)?;
    Ok(SegmentRef { name, doc_base: 0, n_docs, n_rows, shard_bytes, segment_bytes: segment.len() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Target, plan, progress::Silent};
    use crate::store::segment::Segment;
    use crate::store::shard::ShardData;
    use crate::store::snapshot::Snapshot;
    use crate::testing::TestRepo;
    use std::sync::Arc;

    /// A repository whose files have many names, with the jobs of its first index.
    struct ManyNames {
        codebase: Codebase,
        policy: Policy,
        embedder: Arc<dyn Embedder>,
        jobs: Vec<Job>,
        _repo: TestRepo,
    }

    /// What a build leaves.
    #[derive(PartialEq)]
    struct Contents {
        segments: Vec<SegmentRef>,
        /// The segments merged into one: its shard, and the bytes of its segment file.
        data: ShardData,
        merged: Vec<u8>,
    }

    /// Segments end by number of names alone, however long the build takes.
    const ENDLESS: Tuning = Tuning {
        seal_names: usize::MAX,
        part_names: usize::MAX,
        first_checkpoint: Duration::from_secs(24 * 60 * 60),
    };

    impl ManyNames {
        fn new() -> ManyNames {
            let repo = TestRepo::init();
            for file in 0..100 {
                // One file takes much longer than the others, which then wait for it.
                let n_functions = if file == 0 { 400 } else { 10 };
                let text: String = (0..n_functions)
                    .map(|n| format!("pub fn name_{file}_{n}(of_{n}: u32) -> u32 {{\n    of_{n}\n}}\n\n"))
                    .collect();
                repo.write(&format!("src/file_{file:03}.rs"), text);
            }
            repo.commit("many names");
            let codebase = Codebase::open(repo.root(), &[]).unwrap();
            let tree = Target::head(&codebase).unwrap().tree;
            let policy = Policy::for_tree(&codebase.repo, tree.as_ref(), &codebase.settings.policy).unwrap();
            let reader = StoreReader::empty(&codebase.store());
            let plan = plan::plan(&codebase, &policy, &reader, &Snapshot::default(), tree.as_ref()).unwrap();
            let embedder = embed::open(&codebase.settings.model).unwrap();
            assert_eq!(plan.jobs.len(), 100);
            ManyNames { codebase, policy, embedder, jobs: plan.jobs, _repo: repo }
        }

        /// Runs all jobs in an empty store.
        fn build(&self, n_threads: usize, tuning: Tuning) -> Contents {
            let mut codebase = self.codebase.clone();
            codebase.settings.index.threads = Some(n_threads);
            let store = codebase.store();
            let reader = StoreReader::empty(&store);
            let (policy, embedder) = (&self.policy, &*self.embedder);
            let context =
                BuildContext { codebase: &codebase, policy, reader: &reader, embedder, progress: &Silent };
            let mut segments = Vec::new();
            let mut built = build(&context, &self.jobs, tuning, |built| {
                segments.append(&mut built.segments);
                Ok(())
            })
            .unwrap();
            segments.append(&mut built.segments);
            self.check_places(&built, &segments);
            let mut merged = SegmentBuilder::new(0);
            for SegmentRef { name, .. } in &segments {
                let (path, shard) = (store.segment(name), store.shard(name));
                let segment = Segment::open(&path, &shard).unwrap();
                merged.append_segment(&segment, shard::read(&shard).unwrap(), |_| true);
            }
            std::fs::remove_dir_all(store.root()).unwrap();
            Contents { segments, data: merged.data.clone(), merged: merged.finish(0) }
        }

        /// Asserts that the docs of the segments are those of the jobs, in job order.
        fn check_places(&self, built: &Built, segments: &[SegmentRef]) {
            assert_eq!(built.n_sealed, segments.len());
            let mut n_docs = 0;
            let mut places = Vec::new();
            for (s, segment) in segments.iter().enumerate() {
                places.extend((0..segment.n_docs).map(|ordinal| Some((s, ordinal))));
                n_docs += segment.n_docs as usize;
            }
            assert_eq!(n_docs, self.jobs.len());
            assert_eq!(built.docs, places);
        }
    }

    #[test]
    fn an_index_depends_neither_on_threads_nor_on_where_segments_end() {
        let files = ManyNames::new();
        let whole = files.build(1, ENDLESS);
        let keys = files.jobs.iter().map(|job| job.key);
        assert!(whole.data.docs.iter().map(|doc| doc.key).eq(keys), "docs are not in job order");
        for (seal_names, part_names, n_segments) in [
            (usize::MAX, usize::MAX, 1..=1),
            // After each unit, or all but the last one.
            (500, usize::MAX, 2..=3),
            // After some parts.
            (500, 100, 4..=60),
            // After each file.
            (1, 1, 100..=100),
        ] {
            let tuning = Tuning { seal_names, part_names, ..ENDLESS };
            let one = files.build(1, tuning);
            assert!(n_segments.contains(&one.segments.len()), "{} segments", one.segments.len());
            assert!(one.data == whole.data, "another shard for {tuning:?}");
            assert!(one.merged == whole.merged, "another segment for {tuning:?}");
            assert!(files.build(4, tuning) == one, "four threads write something else for {tuning:?}");
        }
    }

    #[test]
    fn an_index_does_not_depend_on_checkpoints() {
        let files = ManyNames::new();
        let whole = files.build(2, ENDLESS);
        let tuning = Tuning { first_checkpoint: Duration::ZERO, part_names: 1, ..ENDLESS };
        let cut = files.build(2, tuning);
        assert!(cut.segments.len() > 1, "no checkpoint came");
        assert!(cut.data == whole.data && cut.merged == whole.merged);
    }

    #[test]
    fn checkpoints_come_soon_at_first_and_then_wait_for_full_segments() {
        let mut schedule = Checkpoints::new(Tuning::default().first_checkpoint);
        let start = schedule.last;
        let mut due = Vec::new();
        for second in 0..=120u64 {
            let now = start + Duration::from_secs(second);
            // A segment is full every nine seconds.
            if schedule.is_due(now, second % 9 == 0) {
                due.push(second);
                schedule.done(now);
            }
        }
        assert_eq!(due, [2, 6, 14, 36, 54, 72, 90, 108]);
        let mut slow = Checkpoints { last: start, interval: CHECKPOINT_EVERY };
        assert!(!slow.is_due(start + CHECKPOINT_EVERY, false));
        assert!(slow.is_due(start + CHECKPOINT_EVERY * 2, false));
        slow.done(start);
        assert_eq!(slow.interval, CHECKPOINT_EVERY);
    }
}
