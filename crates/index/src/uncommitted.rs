//! Uncommitted files in the store: docs that no snapshot names.
//!
//! An overlay chunks and embeds changed files itself as long as they are few. When they are many, a reader
//! starts the updater, which does it once: it adds their docs to the store, and the overlay of the next query
//! only has to name them. Committing the files later embeds nothing. Garbage collection removes docs that
//! were never committed, like those of any tree that is no longer kept.

use std::sync::Arc;
use std::time::Duration;

use codeweaver_embed::{self as embed, Embedder};
use codeweaver_git as git;
use codeweaver_git::worktree::{StatusEngine, WorktreeBlob, WorktreeChange, WorktreeReader};
use codeweaver_store::StoreReader;

use super::build::{self, BuildContext};
use super::codebase::Codebase;
use super::compact;
use super::error::IndexError;
use super::overlay::MIN_FILE_BYTES;
use super::plan::{KnownDoc, KnownFile, Plan, PlannedDoc, PlannedFile};
use super::progress::Progress;
use super::publish;
use super::target::Target;
use crate::policy::Policy;

/// Time limit of the status run. Files that it does not reach are left to the next update.
const STATUS_BUDGET: Duration = Duration::from_secs(60);

/// Bytes of files that are built and published at once, so that a query that comes meanwhile finds a part of
/// them.
const BATCH_BYTES: u64 = 8 << 20;

/// Adds the docs of all changed files to the store, unless the files fit into an overlay, and returns the
/// number of docs. The working tree is compared with a generous time limit, so that the next query has its
/// stat data. The caller holds the work lease and has indexed `target`.
pub fn index(codebase: &Codebase, target: &Target, progress: &dyn Progress) -> Result<u64, IndexError> {
    if codebase.repo.is_bare() || !codebase.settings.overlay.enabled {
        return Ok(0);
    }

    let tree = target.tree.as_ref();
    let status =
        StatusEngine::default().status(&codebase.repo, tree, &codebase.stat_cache(), STATUS_BUDGET)?;
    let changed: Vec<(&WorktreeChange, &WorktreeBlob)> =
        status.changes.changes.iter().filter_map(|change| Some((change, change.bytes.as_ref()?))).collect();

    let n_bytes: u64 = changed.iter().map(|(_, blob)| blob.size.max(MIN_FILE_BYTES)).sum();
    if n_bytes <= codebase.settings.overlay.max_bytes {
        return Ok(0);
    }

    let policy = Policy::for_tree(&codebase.repo, tree, &codebase.settings.policy)?;
    let embedder = embed::open(&codebase.settings.model)?;
    let mut files = status.reader(&codebase.repo)?;

    let (mut rest, mut n_docs) = (changed.as_slice(), 0);
    while !rest.is_empty() && !progress.stopped() {
        let batch = Batch { codebase, policy: &policy, embedder: &embedder, progress };
        let (n_taken, n_added) = batch.add(rest, &mut files)?;
        (rest, n_docs) = (&rest[n_taken..], n_docs + n_added);
    }

    // Each batch has made a segment of its own.
    if n_docs > 0
        && let Some(reader) = StoreReader::open(&codebase.store())?
        && let Err(e) = compact::compact(codebase, &reader)
    {
        tracing::warn!(component = "indexer", operation = "compact", error = %e, "small segments could not be merged");
    }

    Ok(n_docs)
}

/// The parameters of a batch of files that are built and published at once.
struct Batch<'a> {
    codebase: &'a Codebase,
    policy: &'a Policy,
    embedder: &'a Arc<dyn Embedder>,
    progress: &'a dyn Progress,
}

impl Batch<'_> {
    /// Adds docs of the first of `changed`. Returns the number of files that were taken and of docs that were
    /// added.
    fn add(
        &self,
        changed: &[(&WorktreeChange, &WorktreeBlob)],
        files: &mut WorktreeReader,
    ) -> Result<(usize, u64), IndexError> {
        let Batch { codebase, policy, embedder, progress } = *self;
        let Some(reader) = StoreReader::open(&codebase.store())? else { return Ok((changed.len(), 0)) };

        let (mut plan, mut blobs) = (Plan::default(), Vec::new());
        let (mut n_taken, mut n_bytes) = (0, 0);

        for (change, blob) in changed {
            if n_bytes >= BATCH_BYTES {
                break;
            }
            n_taken += 1;
            let path = change.path.as_ref();
            let known = KnownFile { path, mode: blob.mode, blob_oid: blob.oid, bytes: None };
            if blob.size > policy.max_blob_bytes()
                || plan.add_known(codebase, policy, &reader, &known) == KnownDoc::Planned
            {
                continue;
            }

            // A file that has become unreadable since the comparison is left out.
            let Ok(Some(bytes)) = files.read(path) else { continue };
            let oid = git::hash_blob(&bytes, codebase.repo.object_hash());

            let file = PlannedFile { path, mode: blob.mode, blob_oid: oid, bytes: &bytes, previous: None };
            let doc = plan.add_file(codebase, policy, &reader, &file);

            // A file that is a copy of another one here needs no second job.
            if matches!(doc, PlannedDoc::Job(job) if job == blobs.len()) {
                n_bytes += blob.size.max(MIN_FILE_BYTES);
                blobs.push(bytes);
            }
        }

        if blobs.is_empty() {
            return Ok((n_taken, 0));
        }

        let jobs: Vec<_> = plan.jobs.iter().zip(&blobs).map(|(job, bytes)| (job, bytes.as_slice())).collect();
        let embedder = embedder.as_ref();
        let context = BuildContext { codebase, policy, reader: &reader, embedder, progress };
        let (builder, _) = build::build_bytes(&context, &jobs)?;
        let sealed = build::write_segment(&codebase.create_store()?, builder)?;
        publish::add_segments(codebase, reader.state.epoch, &[sealed])?;

        Ok((n_taken, jobs.len() as u64))
    }
}
