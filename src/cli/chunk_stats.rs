//! Chunking statistics of a tree: sizes, boundaries on syntax nodes, unclassified nodes, degradations.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use codeweaver_chunk::{self as chunk, Chunk, LanguageId};
use codeweaver_git::{self as git, ByteSlice, Oid};
use codeweaver_index::policy::{PathDecision, Policy};
use codeweaver_index::{Codebase, IndexError};
use codeweaver_text as text;

/// Desired size of a chunk, in tokens.
const GOOD_TOKENS: std::ops::RangeInclusive<u32> = 200..=800;
/// Maximum number of degraded files listed.
const MAX_DEGRADED_FILES: usize = 200;

/// Statistics of the whole tree and of each language.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Report {
    pub tree: String,
    pub total: LanguageStats,
    pub languages: BTreeMap<&'static str, LanguageStats>,
    /// Files that were chunked by a fallback method; at most 200.
    pub degraded: Vec<Degraded>,
    /// Sampled chunks of each language. They are selected by the hash of language, path and offset, so every
    /// run selects the same.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub samples: BTreeMap<&'static str, Vec<Sample>>,
}

#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct LanguageStats {
    pub files: u64,
    pub bytes: u64,
    pub chunks: u64,
    pub tokens: u64,
    pub mean_tokens: f64,
    /// Share of chunks with 200 to 800 tokens, among the chunks of files with more than 800 tokens.
    pub share_200_to_800: f64,
    /// Mean number of tokens of the chunks of files with more than 800 tokens.
    pub mean_tokens_of_larger_files: f64,
    /// Share of chunk boundaries that coincide with boundaries of syntax nodes.
    pub share_on_nodes: f64,
    /// Share of nodes for which no class is known.
    pub share_unknown: f64,
    pub degradations: BTreeMap<String, u64>,
    #[serde(skip)]
    sums: Sums,
}

#[derive(Debug, Clone, Default)]
struct Sums {
    larger: u64,
    larger_tokens: u64,
    larger_good: u64,
    boundaries: u64,
    on_nodes: u64,
    nodes: u64,
    unknown: u64,
}

#[derive(Debug, Clone, serde::Serialize)]
pub struct Degraded {
    pub path: String,
    pub language: &'static str,
    pub reason: String,
}

#[derive(Debug, Clone, serde::Serialize)]
pub struct Sample {
    pub path: String,
    pub span: (u32, u32),
    pub tokens: u32,
    pub class: &'static str,
    pub title: String,
    #[serde(skip)]
    rank: u64,
}

/// Files that were parsed.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct Parsed {
    pub files: u64,
    pub bytes: u64,
    /// Files in languages without a grammar, which are read but not parsed.
    pub without_grammar: u64,
    pub milliseconds: u64,
}

/// Parses every file of `tree` that the policy indexes, on as many threads as an index uses.
pub fn parse(codebase: &Codebase, tree: &Oid) -> Result<Parsed, IndexError> {
    let policy = Policy::for_tree(&codebase.repo, Some(tree), &codebase.settings.policy)?;
    let started = Instant::now();

    let per_thread = for_each_file(codebase, tree, Parsed::default, |file, blobs, parsed| {
        with_text(&policy, file, blobs, &mut |text, language| {
            parsed.files += 1;
            parsed.bytes += text.len() as u64;
            parsed.without_grammar += u64::from(!chunk::parse_only(text, language));
        })
    })?;

    let mut sum = Parsed { milliseconds: started.elapsed().as_millis() as u64, ..Parsed::default() };
    for parsed in per_thread {
        sum.files += parsed.files;
        sum.bytes += parsed.bytes;
        sum.without_grammar += parsed.without_grammar;
    }
    Ok(sum)
}

/// Chunks every file of `tree` that the policy indexes, on all cores. Lists a sample of `n_samples` chunks of
/// each language.
pub fn measure(codebase: &Codebase, tree: &Oid, n_samples: usize) -> Result<Report, IndexError> {
    let policy = Policy::for_tree(&codebase.repo, Some(tree), &codebase.settings.policy)?;
    let chunking = Chunking { codebase, policy: &policy, n_samples };

    let reports = for_each_file(codebase, tree, Report::default, |file, blobs, report| {
        chunking.measure_file(file, blobs, report)
    })?;

    let mut merged = Report { tree: tree.to_string(), ..Report::default() };
    for report in reports {
        merged.merge(report, n_samples);
    }
    merged.finish();
    Ok(merged)
}

/// Calls `visit` with every file of `tree` on all cores. Returns the value of each thread, which `new`
/// creates and `visit` changes.
fn for_each_file<T: Send>(
    codebase: &Codebase,
    tree: &Oid,
    new: impl Fn() -> T + Sync,
    visit: impl Fn(&git::TreeFile, &mut git::BlobReader, &mut T) -> Result<(), IndexError> + Sync,
) -> Result<Vec<T>, IndexError> {
    let files = git::walk_tree(&codebase.repo, tree)?;
    let next = AtomicUsize::new(0);
    let n_threads = codebase
        .settings
        .index
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));

    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 0..n_threads {
            // Parsers recurse in C code on hostile input.
            let worker = std::thread::Builder::new().stack_size(16 << 20);
            match worker.spawn_scoped(scope, || visit_files(codebase, &files, &next, &new, &visit)) {
                Ok(worker) => workers.push(worker),
                Err(_) => {
                    tracing::warn!(component = "cli", operation = "chunks", "a thread could not be started");
                }
            }
        }

        let mut values = Vec::new();
        for worker in workers {
            values.push(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(values)
    })
}

/// Calls `visit` with files until no thread has any left. `next` is the number of files that are taken.
fn visit_files<T>(
    codebase: &Codebase,
    files: &[git::TreeFile],
    next: &AtomicUsize,
    new: impl Fn() -> T,
    visit: impl Fn(&git::TreeFile, &mut git::BlobReader, &mut T) -> Result<(), IndexError>,
) -> Result<T, IndexError> {
    let (mut value, mut blobs) = (new(), codebase.repo.blobs());

    while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
        visit(file, &mut blobs, &mut value)?;
    }
    Ok(value)
}

/// Calls `visit` with the text and language of a file, unless the policy skips it.
fn with_text(
    policy: &Policy,
    file: &git::TreeFile,
    blobs: &mut git::BlobReader,
    visit: &mut dyn FnMut(&[u8], LanguageId),
) -> Result<(), IndexError> {
    let path = file.path.as_bstr();
    let PathDecision::Index { language, exempt, .. } = policy.decide_path(path, file.mode) else {
        return Ok(());
    };

    // The size is known without reading the blob.
    if blobs.size(&file.oid)?.is_none_or(|size| size > policy.max_blob_bytes()) {
        return Ok(());
    }
    let Some(bytes) = blobs.read(&file.oid)? else { return Ok(()) };

    let bytes = &*text::to_utf8(bytes);
    if policy.decide_blob(bytes, exempt).is_none() {
        visit(bytes, policy.language(language, path, bytes));
    }
    Ok(())
}

/// Parameters of a measurement that are the same for every file.
struct Chunking<'a> {
    codebase: &'a Codebase,
    policy: &'a Policy,
    n_samples: usize,
}

impl Chunking<'_> {
    /// Chunks a file and adds it to `report`, unless the policy skips it.
    fn measure_file(
        &self,
        file: &git::TreeFile,
        blobs: &mut git::BlobReader,
        report: &mut Report,
    ) -> Result<(), IndexError> {
        let path = file.path.as_bstr();
        with_text(self.policy, file, blobs, &mut |bytes, language| {
            let chunked = chunk::chunk_blob(bytes, language, &self.codebase.settings.chunker);
            report.languages.entry(language.name()).or_default().add(bytes.len() as u64, &chunked);

            let mut reasons: Vec<String> =
                chunked.degradations.iter().map(|d| d.reason.name().to_owned()).collect();
            // A file is listed once for each reason.
            reasons.sort();
            reasons.dedup();

            for reason in reasons {
                report.degraded.push(Degraded {
                    path: git::quoting::text(path),
                    language: language.name(),
                    reason,
                });
            }

            if self.n_samples > 0 {
                let samples = report.samples.entry(language.name()).or_default();
                samples.extend(chunked.chunks.iter().map(|chunk| sample(path, language, chunk)));
                keep_lowest(samples, self.n_samples);
            }
        })
    }
}

/// A chunk as a sample, with a rank from the hash of its place.
fn sample(path: &git::BStr, language: LanguageId, chunk: &Chunk) -> Sample {
    let place = format!("{} {path} {}", language.name(), chunk.byte_range.start);
    let hash = blake3::hash(place.as_bytes());
    let rank = hash.as_bytes().first_chunk().map_or(0, |head| u64::from_le_bytes(*head));

    Sample {
        path: git::quoting::text(path),
        span: (chunk.line_span.start, chunk.line_span.end),
        tokens: chunk.token_count,
        class: chunk.class.name(),
        title: chunk.title.clone(),
        rank,
    }
}

fn keep_lowest(samples: &mut Vec<Sample>, n: usize) {
    // Sorts only occasionally; `Report::merge` truncates exactly.
    if samples.len() > 4 * n + 64 {
        samples.sort_by_key(|sample| sample.rank);
        samples.truncate(n);
    }
}

impl LanguageStats {
    fn add(&mut self, bytes: u64, chunked: &chunk::ChunkedBlob) {
        let tokens: u64 = chunked.chunks.iter().map(|chunk| u64::from(chunk.token_count)).sum();
        self.files += 1;
        self.bytes += bytes;
        self.chunks += chunked.chunks.len() as u64;
        self.tokens += tokens;

        let sums = &mut self.sums;
        // Only a file above the desired size has to be split, so only its chunks are judged.
        if tokens > u64::from(*GOOD_TOKENS.end()) {
            sums.larger += chunked.chunks.len() as u64;
            sums.larger_tokens += tokens;
            sums.larger_good +=
                chunked.chunks.iter().filter(|chunk| GOOD_TOKENS.contains(&chunk.token_count)).count() as u64;
        }

        sums.boundaries += u64::from(chunked.boundaries);
        sums.on_nodes += u64::from(chunked.boundaries_on_nodes);
        sums.nodes += u64::from(chunked.nodes_classified);
        sums.unknown += u64::from(chunked.nodes_unknown);

        for degradation in &chunked.degradations {
            *self.degradations.entry(degradation.reason.name().to_owned()).or_default() += 1;
        }
    }

    fn merge(&mut self, other: &LanguageStats) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.chunks += other.chunks;
        self.tokens += other.tokens;

        let (sums, others) = (&mut self.sums, &other.sums);
        sums.larger += others.larger;
        sums.larger_tokens += others.larger_tokens;
        sums.larger_good += others.larger_good;
        sums.boundaries += others.boundaries;
        sums.on_nodes += others.on_nodes;
        sums.nodes += others.nodes;
        sums.unknown += others.unknown;

        for (reason, n) in &other.degradations {
            *self.degradations.entry(reason.clone()).or_default() += n;
        }
    }

    fn finish(&mut self) {
        let share =
            |part: u64, all: u64, if_empty: f64| if all == 0 { if_empty } else { part as f64 / all as f64 };
        let sums = &self.sums;
        self.mean_tokens = share(self.tokens, self.chunks, 0.0);
        self.share_200_to_800 = share(sums.larger_good, sums.larger, 1.0);
        self.mean_tokens_of_larger_files = share(sums.larger_tokens, sums.larger, 0.0);
        self.share_on_nodes = share(sums.on_nodes, sums.boundaries, 1.0);
        self.share_unknown = share(sums.unknown, sums.nodes, 0.0);
    }
}

impl Report {
    fn merge(&mut self, other: Report, n_samples: usize) {
        for (language, stats) in &other.languages {
            self.languages.entry(language).or_default().merge(stats);
        }
        self.degraded.extend(other.degraded);
        for (language, samples) in other.samples {
            let all = self.samples.entry(language).or_default();
            all.extend(samples);
            all.sort_by(|a, b| a.rank.cmp(&b.rank).then_with(|| a.path.cmp(&b.path)));
            all.truncate(n_samples);
        }
    }

    fn finish(&mut self) {
        for stats in self.languages.values_mut() {
            stats.finish();
            self.total.merge(stats);
        }
        self.total.finish();
        self.degraded.sort_by(|a, b| (&a.reason, &a.path).cmp(&(&b.reason, &b.path)));
        self.degraded.truncate(MAX_DEGRADED_FILES);
        for samples in self.samples.values_mut() {
            samples.sort_by(|a, b| (&a.path, a.span).cmp(&(&b.path, b.span)));
        }
    }
}
