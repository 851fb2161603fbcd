//! Repairs a store that cannot be read.
//!
//! Shards and git are the truth. A missing or damaged segment is rebuilt from its shard and the blobs. A
//! missing or damaged shard is given up, and its blobs are indexed again. A damaged state, entry file or
//! snapshot is rebuilt from the shards that exist, at the cost of one walk of the tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use codeweaver_base::regular_file;
use codeweaver_git::Oid;
use codeweaver_store::entries::Entries;
use codeweaver_store::hnsw::HnswIndex;
use codeweaver_store::layout::StoreLayout;
use codeweaver_store::lock::Lock;
use codeweaver_store::reader::OpenFiles;
use codeweaver_store::segment::{Segment, SegmentBuilder};
use codeweaver_store::snapshot::Totals;
use codeweaver_store::state::{SegmentRef, SnapshotRef, State};
use codeweaver_store::{StoreError, StoreReader, fault, shard};
use codeweaver_text as text;

use super::build::write_segment;
use super::codebase::Codebase;
use super::error::IndexError;
use super::publish::{change_state, write_state};
use super::words;

/// Number of times that [`verify`] begins again because the state was replaced.
const MAX_REPLACED: usize = 20;

/// A defect of the store.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    pub path: PathBuf,
    pub what: String,
}

/// Checks that every file which the state names opens, and repairs those that do not. Every update calls this
/// first and continues with the files that are then open. The caller holds the work lease.
pub(crate) fn make_readable(codebase: &Codebase) -> Result<OpenFiles, IndexError> {
    let files = OpenFiles::default();
    match StoreReader::open_with(&codebase.store(), &files) {
        Ok(None) => return Ok(files),
        Ok(Some(reader)) if snapshots_open(&reader) => {
            forget_damaged_snapshots(codebase, &reader)?;
            return Ok(files);
        }
        Ok(Some(_)) => {}
        // A file that another user wrote is not damaged, and must not be removed.
        Err(e) if e.is_denied() => return Err(e.into()),
        Err(e) => {
            tracing::warn!(component = "vectorstore", operation = "open", error = %e, "the index is damaged and is being repaired");
        }
    }

    // Rebuilt files have the names of the damaged ones, so files that are already open must not be used.
    salvage(codebase, &[]).map(|()| OpenFiles::default())
}

/// Hashes everything that the state names.
pub fn verify(codebase: &Codebase) -> Result<Vec<Finding>, IndexError> {
    let store = codebase.store();
    let mut attempt = 0;
    loop {
        let state = match State::read(&store.state()) {
            Ok(Some(state)) => state,
            Ok(None) => return Ok(Vec::new()),
            Err(e) => return Ok(vec![Finding { path: store.state(), what: e.to_string() }]),
        };

        let findings = verify_state(&store, &state);
        let is_good = matches!(&findings, Ok(findings) if findings.is_empty());
        // Files of a state that has been replaced may have been collected, which is no damage.
        if is_good || attempt == MAX_REPLACED || is_current(&store, &state) {
            return findings;
        }
        attempt += 1;
    }
}

/// Returns whether no other state has been published since `state` was read.
fn is_current(store: &StoreLayout, state: &State) -> bool {
    let now = State::read(&store.state()).ok().flatten();
    now.is_some_and(|now| (now.generation, now.epoch) == (state.generation, state.epoch))
}

/// Hashes everything that `state` names.
fn verify_state(store: &StoreLayout, state: &State) -> Result<Vec<Finding>, IndexError> {
    let mut findings = Vec::new();
    for segment in &state.segments {
        let (path, shard) = (store.segment(&segment.name), store.shard(&segment.name));
        if let Err(e) = verify_segment(segment, &path, &shard) {
            let path = if is_about(&e, &shard) { shard } else { path };
            findings.push(Finding { path, what: e.to_string() });
        }
    }

    for entries in &state.entries {
        let path = store.entries(&entries.name);
        if let Err(e) = Entries::open(&path).and_then(|opened| opened.verify(&entries.name)) {
            findings.push(Finding { path, what: e.to_string() });
        }
    }

    // Totals can be recounted only if segments and entries are whole.
    if findings.is_empty() {
        findings.extend(verify_snapshots(store, state.clone())?);
    }

    findings.extend(verify_graphs(store, state));
    Ok(findings)
}

/// Hashes a segment and its shard, and compares the shard with the numbers in the state.
fn verify_segment(segment: &SegmentRef, path: &Path, shard: &Path) -> Result<(), StoreError> {
    Segment::open(path, shard)?.verify(&segment.name, shard)?;

    let data = shard::read(shard)?;
    if data.docs.len() != segment.n_docs as usize || data.rows.len() != segment.n_rows as usize {
        return Err(StoreError::damaged(shard, "it does not have the rows that the state says"));
    }
    Ok(())
}

/// Removes the files that `findings` name and rebuilds them. The caller holds the work lease and updates
/// afterwards.
pub fn repair(codebase: &Codebase, findings: &[Finding]) -> Result<(), IndexError> {
    let graphs = codebase.store().graphs();
    let (graphs, others): (Vec<_>, Vec<_>) =
        findings.iter().cloned().partition(|finding| finding.path.parent() == Some(graphs.as_path()));

    for graph in graphs {
        // A graph is optional: without it, queries scan all vectors.
        fault::step()
            .and_then(|()| regular_file::remove(&graph.path))
            .map_err(StoreError::io("remove", &graph.path))?;
    }

    if others.is_empty() { Ok(()) } else { salvage(codebase, &others) }
}

/// Checks that every HNSW graph over leading segments of the state opens and has its hash.
fn verify_graphs(store: &StoreLayout, state: &State) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut n_rows = 0;

    for (before, segment) in state.segments.iter().enumerate() {
        n_rows += segment.n_rows;
        let path = store.graph(&state.segments[..=before]);
        if path.exists()
            && let Err(e) = HnswIndex::open(&path, n_rows).and_then(|graph| graph.verify())
        {
            findings.push(Finding { path, what: e.to_string() });
        }
    }

    findings
}

/// Checks that every snapshot reads and that its totals equal a recount.
fn verify_snapshots(store: &StoreLayout, state: State) -> Result<Vec<Finding>, IndexError> {
    let reader = StoreReader::from_state(store, state, &OpenFiles::default())?;
    let mut findings = Vec::new();

    for (key, reference) in &reader.state.snapshots {
        let path = store.snapshot(&reference.file);
        match reader.snapshot(key) {
            Ok(Some(snapshot)) => {
                let recounted = super::publish::recount(&reader, &snapshot);
                if !is_same_count(&recounted, &snapshot.totals) {
                    findings.push(Finding {
                        path,
                        what: "its totals differ from a recount of its entries".to_owned(),
                    });
                }
            }
            Ok(None) => {}
            Err(e) => findings.push(Finding { path, what: e.to_string() }),
        }
    }

    Ok(findings)
}

/// Compares the totals of two snapshots. A sum of vectors that is all zero equals a missing one.
fn is_same_count(a: &Totals, b: &Totals) -> bool {
    (a.n_docs, a.n_rows, a.field_len, a.n_paths, &a.skipped)
        == (b.n_docs, b.n_rows, b.field_len, b.n_paths, &b.skipped)
        && (a.vector_sum == b.vector_sum || (is_zero(&a.vector_sum) && is_zero(&b.vector_sum)))
}

fn is_zero(sum: &[i64]) -> bool {
    sum.iter().all(|&x| x == 0)
}

fn snapshots_open(reader: &StoreReader) -> bool {
    reader.state.heads.values().all(|head| reader.snapshot(&head.snapshot).is_ok())
}

/// Takes snapshots that cannot be read out of the state. No head has one of them, so they only saved work for
/// a switch to their trees.
fn forget_damaged_snapshots(codebase: &Codebase, reader: &StoreReader) -> Result<(), IndexError> {
    let snapshots = reader.state.snapshots.iter();
    let damaged: Vec<_> =
        snapshots.filter(|(key, _)| matches!(reader.snapshot(key), Err(e) if !e.is_denied())).collect();
    if damaged.is_empty() {
        return Ok(());
    }

    change_state(codebase, |state| {
        state.snapshots.retain(|key, reference| {
            let is_damaged =
                |(bad_key, bad): &(&String, &SnapshotRef)| *bad_key == key && bad.file == reference.file;
            !damaged.iter().any(is_damaged)
        });
    })
}

fn is_about(error: &StoreError, path: &Path) -> bool {
    match error {
        StoreError::Io { path: p, .. }
        | StoreError::Damaged { path: p, .. }
        | StoreError::Version { path: p, .. }
        | StoreError::Parquet { path: p, .. } => p == path,
        _ => false,
    }
}

/// Makes a new state from every intact shard. Entries and snapshots are dropped: the next update decides
/// every path of its tree again and finds nearly all docs by key.
fn salvage(codebase: &Codebase, bad: &[Finding]) -> Result<(), IndexError> {
    let store = codebase.create_store()?;
    for finding in bad {
        let _ = fault::step().and_then(|()| regular_file::remove(&finding.path));
    }

    // Nothing else publishes while the old state is read and replaced.
    let _lock = Lock::acquire(&codebase.layout.publish_lock())?;
    let old = State::read(&store.state()).ok().flatten();
    let (generation, epoch) =
        old.as_ref().map_or_else(|| (1 << 32, State::begin().epoch), |state| (state.generation, state.epoch));

    let mut state =
        State { generation, epoch: epoch + 1, lost: lost(codebase, old.as_ref()), ..State::default() };

    for name in shard_names(&store, old.as_ref()) {
        match usable_segment(codebase, &store, &name) {
            Ok(segment) => {
                let doc_base = state.next_doc();
                state.segments.push(SegmentRef { doc_base, ..segment });
            }
            Err(e) => {
                tracing::warn!(component = "vectorstore", operation = "repair", error = %e, "a shard is given up");
                let _ = fault::step().and_then(|()| regular_file::remove(&store.shard(&name)));
                let _ = fault::step().and_then(|()| regular_file::remove(&store.segment(&name)));
            }
        }
    }

    // A damaged state must not be kept as the previous one.
    if old.is_none() {
        let _ = regular_file::remove(&store.state());
    }

    write_state(&store, &mut state)
}

/// Keys of the worktrees whose heads are given up: those of the old state, or at least this one.
fn lost(codebase: &Codebase, old: Option<&State>) -> BTreeSet<String> {
    match old {
        Some(state) => state.heads.keys().chain(&state.lost).cloned().collect(),
        None => BTreeSet::from([codebase.worktree_key.clone()]),
    }
}

/// Shards that the old state names, or all that exist if there is no old state.
fn shard_names(store: &StoreLayout, old: Option<&State>) -> Vec<String> {
    if let Some(state) = old {
        return state.segments.iter().map(|segment| segment.name.clone()).collect();
    }

    let children = std::fs::read_dir(&store.content_dirs()[0]).into_iter().flatten().flatten();
    let mut names: Vec<String> = children
        .filter_map(|child| child.file_name().to_str()?.strip_suffix(".parquet").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Returns the segment of a shard whose bytes have its hash, rebuilt if it does not open.
fn usable_segment(codebase: &Codebase, store: &StoreLayout, name: &str) -> Result<SegmentRef, IndexError> {
    let (path, shard) = (store.segment(name), store.shard(name));
    let opened =
        Segment::open(&path, &shard).and_then(|segment| segment.verify(name, &shard).map(|()| segment));

    if let Ok(segment) = opened {
        return Ok(SegmentRef {
            name: name.to_owned(),
            doc_base: 0,
            n_docs: segment.n_docs(),
            n_rows: segment.n_rows(),
            shard_bytes: file_len(&shard),
            segment_bytes: file_len(&path),
        });
    }

    let bytes = regular_file::read(&shard).map_err(StoreError::io("read", &shard))?;
    if blake3::hash(&bytes).to_hex().as_str() != name {
        return Err(StoreError::damaged(&shard, "its bytes do not hash to its name").into());
    }

    codebase.find_member_blobs()?;
    rebuild_segment(codebase, store, name)
}

/// The size of a file in bytes; 0 if it cannot be inspected.
fn file_len(path: &Path) -> u64 {
    std::fs::metadata(path).map(|m| m.len()).unwrap_or(0)
}

/// Derives a segment from its shard and the blobs. A doc whose blob is gone is left out of the new shard.
fn rebuild_segment(codebase: &Codebase, store: &StoreLayout, name: &str) -> Result<SegmentRef, IndexError> {
    let data = shard::read(&store.shard(name))?;
    let mut blobs = codebase.repo.blobs();
    let mut builder = SegmentBuilder::new(data.dim);
    let mut first = 0;

    for (doc, &n_rows) in data.docs.iter().zip(&data.n_rows) {
        let rows = first..first + n_rows as usize;
        first = rows.end;

        let oid: &Oid = &doc.key.blob_oid;
        // A doc without rows has no text to read.
        let bytes = if n_rows == 0 { Some(&[][..]) } else { blobs.read(oid)? };
        if let Some(bytes) = bytes {
            let vectors = &data.vectors[rows.start * data.dim..rows.end * data.dim];
            builder.push_doc(doc.clone(), data.rows[rows].to_vec(), vectors, &text::to_utf8(bytes));
            words::set_last(&mut blobs, doc, |blob| builder.set_words(blob));
        }
    }

    write_segment(store, builder)
}
