//! Workers: each turns jobs into docs of a segment of its own, with the vectors of their chunks.

use std::time::Instant;

use rustc_hash::FxHashSet;

use codeweaver_chunk::{self as chunk, tokens};
use codeweaver_embed::{self as embed, EmbedCost};
use codeweaver_git::BlobReader;
use codeweaver_store::chunking::Chunking;
use codeweaver_store::fault;
use codeweaver_store::rows::DocMeta;
use codeweaver_store::segment::SegmentBuilder;
use codeweaver_text as text;

use super::BuildContext;
use super::embedding::{ChunkedBlob, Terms, embed_chunks, input_of};
use super::known_vectors::KnownVectors;
use crate::error::IndexError;
use crate::journal::Journal;
use crate::plan::Job;
use crate::policy::{SkipReason, skipped_number};
use crate::progress::Counters;
use crate::vector_cache::VectorCache;
use crate::words;

/// Number of different words whose terms a thread remembers, which bounds the memory they take.
const KEPT_WORDS: usize = 64 * 1024;

/// The result of one unit, or of a part of it.
pub(super) struct Unit {
    pub(super) builder: SegmentBuilder,
    /// Per job: ordinal in the unit's builder, `None` if the blob is not local.
    pub(super) docs: Vec<Option<u32>>,
}

/// State that a worker thread keeps from job to job.
pub(super) struct ThreadState<'a> {
    blobs: BlobReader,
    pub(super) terms: Terms<'a>,
}

impl<'a> ThreadState<'a> {
    pub(super) fn new(context: &BuildContext<'a>) -> ThreadState<'a> {
        ThreadState { blobs: context.codebase.repo.blobs(), terms: Terms::new(context.embedder) }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Worker<'a> {
    pub(super) context: BuildContext<'a>,
    pub(super) vectors: &'a KnownVectors<'a>,
    /// The cache of vectors that are computed before the docs are made; `None` for models that cost
    /// microseconds, and for overlays.
    pub(super) cache: Option<&'a VectorCache>,
    /// The journal slot of this thread.
    pub(super) journal: Option<(&'a Journal, usize)>,
}

impl Worker<'_> {
    /// Runs the first of `jobs`: all of them, unless their docs reach `max_names` names. The rest is then run
    /// as another part.
    pub(super) fn run(
        &self,
        jobs: &[Job],
        max_names: usize,
        thread: &mut ThreadState<'_>,
    ) -> Result<Unit, IndexError> {
        let mut unit = Unit {
            builder: SegmentBuilder::new(self.context.embedder.dim()),
            docs: Vec::with_capacity(jobs.len()),
        };

        if let Some(cache) = self.cache {
            self.embed_into(cache, jobs, &mut thread.blobs)?;
        }
        thread.terms.table.trim(KEPT_WORDS);

        for job in jobs {
            // A unit that is embedded first is not cut, since its rest would be chunked three times.
            let is_full = self.cache.is_none() && unit.builder.n_names() >= max_names;
            if is_full || self.context.progress.stopped() {
                break;
            }
            unit.docs.push(self.job(job, thread, &mut unit.builder)?);
        }

        Ok(unit)
    }

    /// Reads the blob of `job` and adds it as one doc. Returns its ordinal, or `None` if it is not in this
    /// clone.
    pub(super) fn job(
        &self,
        job: &Job,
        thread: &mut ThreadState<'_>,
        builder: &mut SegmentBuilder,
    ) -> Result<Option<u32>, IndexError> {
        let Some((size, bytes)) = self.read(job, &mut thread.blobs) else {
            self.context.progress.add(&Counters { errors: 1, ..Counters::default() });
            return Ok(None);
        };
        self.doc(job, &Content { size, bytes }, &mut thread.terms, builder).map(Some)
    }

    /// The size of the blob of `job` and its bytes, which are empty if it is too large; `None` if it is not
    /// in this clone, or damaged.
    fn read<'b>(&self, job: &Job, blobs: &'b mut BlobReader) -> Option<(u64, &'b [u8])> {
        let oid = &job.key.blob_oid;
        self.context.progress.reads(oid);
        let size = blobs.size_if_good(oid)?;

        // Blobs that are too large to be chunked may still be read for their words.
        let max = self.context.policy.max_blob_bytes().max(words::MAX_BYTES);
        let bytes = if size > max { &[] } else { blobs.read_if_good(oid)? };
        Some((size, bytes))
    }

    /// Embeds the chunks of `jobs` that have no vector yet and puts the vectors into `cache`, those before an
    /// error included.
    fn embed_into(
        &self,
        cache: &VectorCache,
        jobs: &[Job],
        blobs: &mut BlobReader,
    ) -> Result<(), IndexError> {
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
        cache.put(&missing.hashes[..done], &rows);

        // Tokens cost money only at an API, and counting them takes time.
        let n_tokens = match embedder.cost() {
            EmbedCost::Api => inputs[..done].iter().map(|input| u64::from(tokens::count(input))).sum(),
            EmbedCost::Table | EmbedCost::Model => 0,
        };
        progress.add(&Counters { embedded: done as u64, tokens: n_tokens, ..Counters::default() });
        Ok(result?)
    }

    /// Adds the chunks of `job` whose vectors are neither in the store nor in the cache, each input once.
    pub(super) fn add_missing(
        &self,
        job: &Job,
        blobs: &mut BlobReader,
        missing: &mut Missing,
    ) -> Result<(), IndexError> {
        let Some((size, bytes)) = self.read(job, blobs) else { return Ok(()) };
        let bytes = &*text::to_utf8(bytes);
        let Ok(chunked) = self.chunk(job, size, bytes) else { return Ok(()) };

        let known = self.vectors.lookup(job.previous);
        for chunk in &chunked.chunks {
            let input = input_of(chunk, bytes);
            let hash = embed::input_hash(self.context.embedder.fingerprint(), &input);
            let is_known =
                known(&hash).is_some() || self.cache.is_some_and(|cache| cache.get(&hash).is_some());
            missing.n_chunks += 1;
            if !is_known && missing.seen.insert(hash) {
                missing.hashes.push(hash);
                missing.inputs.push(input);
            }
        }

        Ok(())
    }

    /// Chunks `bytes`, or returns the reason why they are left out. A grammar that has crashed on them is not
    /// tried again.
    fn chunk(&self, job: &Job, size: u64, bytes: &[u8]) -> Result<chunk::ChunkedBlob, SkipReason> {
        let BuildContext { codebase, policy, embedder, .. } = self.context;

        // A file that the user counts among the secrets is never sent to an API.
        let is_sent = embedder.cost() == EmbedCost::Api;
        let skipped = match () {
            () if size > policy.max_blob_bytes() => Some(SkipReason::TooLarge),
            () if is_sent && job.exempt.secret => Some(SkipReason::Secret),
            () => policy.decide_blob(bytes, job.exempt),
        };
        if let Some(reason) = skipped {
            return Err(reason);
        }
        if self.journal.is_some_and(|(journal, _)| journal.crashes(&job.key.blob_oid, job.language, bytes)) {
            return Err(SkipReason::Crashed);
        }

        // Dropped after chunking: a blob that is still entered when the process dies is a suspect.
        let entered = self.journal.map(|(journal, thread)| journal.enter(thread, &job.key.blob_oid));
        fault::parsing(bytes);
        let chunked = chunk::chunk_blob(bytes, job.language, &codebase.settings.chunker);
        drop(entered);
        Ok(chunked)
    }

    /// Chunks and embeds a blob in UTF-8, adds it as one doc, and returns its ordinal.
    pub(super) fn doc(
        &self,
        job: &Job,
        content: &Content<'_>,
        terms: &mut Terms<'_>,
        builder: &mut SegmentBuilder,
    ) -> Result<u32, IndexError> {
        let ordinal = builder.n_docs() as u32;
        let Content { size, bytes } = *content;
        let bytes = &*text::to_utf8(bytes);
        let started = Instant::now();
        let chunked = self.chunk(job, size, bytes);
        if let Ok(chunked) = &chunked {
            let micros = started.elapsed().as_micros() as u64;
            self.context.progress.chunked(&Chunking::of_blob(chunked, micros));
        }

        let skipped = chunked.as_ref().err().copied();
        let doc = DocMeta {
            key: job.key,
            language: job.language.name().to_owned(),
            skipped: skipped_number(skipped),
            blob_bytes: u32::try_from(size).unwrap_or(u32::MAX),
            degradations: chunked.iter().flat_map(|blob| &blob.degradations).map(Into::into).collect(),
        };

        let Ok(chunked) = chunked else {
            builder.push_doc(doc, Vec::new(), &[], &[]);
            if words::are_stored(skipped, bytes) {
                builder.set_words(bytes);
            }
            let errors = u64::from(skipped == Some(SkipReason::Crashed));
            self.context.progress.add(&Counters { files: 1, errors, ..Counters::default() });
            return Ok(ordinal);
        };

        let settings = &self.context.codebase.settings;
        let stored = self.vectors.lookup(job.previous);
        let is_degraded = !doc.degradations.is_empty();

        let blob = ChunkedBlob { key: &job.key, bytes, chunks: chunked.chunks };
        let embedded = embed_chunks(
            self.context.embedder,
            blob,
            &|hash| stored(hash).or_else(|| self.cache?.get(hash)),
            settings.index.excerpts,
            terms,
        )?;

        self.context.progress.add(&Counters {
            files: 1,
            bytes: size,
            chunks: embedded.rows.len() as u64,
            embedded: embedded.n_embedded,
            degraded: u64::from(is_degraded),
            ..Counters::default()
        });

        builder.push_counted(doc, embedded.rows, &embedded.vectors, terms.of_doc());
        builder.set_words(bytes);

        Ok(ordinal)
    }
}

/// The content of a blob.
pub(super) struct Content<'a> {
    /// The size in bytes, also of a blob that is not read.
    pub(super) size: u64,
    /// Empty if the size exceeds the limit.
    pub(super) bytes: &'a [u8],
}

/// Inputs to embed, and the number of chunks that they were found among.
#[derive(Default)]
pub(super) struct Missing {
    hashes: Vec<[u8; 16]>,
    /// The input of each hash.
    pub(super) inputs: Vec<String>,
    seen: FxHashSet<[u8; 16]>,
    /// Chunks with and without a vector.
    pub(super) n_chunks: u64,
}
