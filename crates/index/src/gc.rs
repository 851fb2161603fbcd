//! Garbage collection of files that no state names, and of docs that no snapshot of the state reaches.
//!
//! Age and use decide what is removed, never HEAD: after a return to an old branch, nothing is embedded as
//! long as its snapshot exists. Files are unlinked only after a grace period, since a reader of an older
//! state may still open them. A mapped file survives its unlinking.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use roaring::RoaringBitmap;

use codeweaver_config::HnswMode;
use codeweaver_store::entries::{self, NO_DOC, NewEntry};
use codeweaver_store::layout::write_content_addressed;
use codeweaver_store::lock::Lock;
use codeweaver_store::segment::SegmentBuilder;
use codeweaver_store::snapshot::Snapshot;
use codeweaver_store::state::{EntriesRef, SegmentRef, SnapshotRef, State};
use codeweaver_store::{StoreError, StoreLayout, StoreReader, fault, layout, shard};

use super::build::write_segment;
use super::codebase::Codebase;
use super::error::IndexError;
use super::publish::{read_state, write_state};

/// Age at which files that no state names are removed. Readers of older states may open them until then.
pub const GRACE: Duration = Duration::from_secs(2 * 3600);
/// Age of the last change at which stores of other vector spaces are removed.
const OTHER_SPACES: Duration = Duration::from_secs(30 * 24 * 3600);
/// Share of dead rows above which the store is renumbered.
const DEAD_SHARE: f64 = 0.2;

/// The limits below which a collection keeps content that no snapshot needs.
#[derive(Debug, Clone, Copy)]
pub struct Keep {
    /// Age of files that readers of older states may still open.
    pub grace: Duration,
    /// Age of the last change of stores of other vector spaces.
    pub other_spaces: Duration,
    /// Share of dead rows below which the store is not rewritten.
    pub dead_share: f64,
    /// Whether snapshots are kept that answer for no worktree: those of branches that were left, and of
    /// revisions.
    pub other_snapshots: bool,
}

impl Keep {
    /// Keeps content that costs little and may be needed again.
    pub const USUAL: Keep =
        Keep { grace: GRACE, other_spaces: OTHER_SPACES, dead_share: DEAD_SHARE, other_snapshots: true };
    /// Keeps nothing.
    pub const NOTHING: Keep =
        Keep { grace: Duration::ZERO, other_spaces: Duration::ZERO, dead_share: 0.0, other_snapshots: false };
}

/// The result of a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct GcReport {
    pub files_removed: u64,
    pub bytes_removed: u64,
    pub rows_before: u64,
    pub rows_after: u64,
    pub docs_dropped: u64,
    pub heads_dropped: u64,
    pub snapshots_dropped: u64,
}

/// Collects garbage. The caller holds the work lease.
pub fn collect(codebase: &Codebase, keep: Keep) -> Result<GcReport, IndexError> {
    let mut report = GcReport::default();
    if !codebase.store().root().exists() {
        return Ok(report);
    }

    drop_gone_worktrees(codebase, &mut report)?;
    if !keep.other_snapshots {
        drop_other_snapshots(codebase, &mut report)?;
    }

    if let Some(reader) = StoreReader::open(&codebase.store())? {
        rewrite(codebase, &reader, keep.dead_share, &mut report)?;
    }

    remove_unnamed(codebase, keep.grace, &mut report)?;
    remove_other_spaces(codebase, keep.other_spaces, &mut report);
    sweep_temporaries(codebase);

    Ok(report)
}

/// Removes merged files after the grace period. Every update that merges calls this, so an index does not
/// grow without an explicit collection. The caller holds the work lease.
pub(crate) fn sweep(codebase: &Codebase) -> Result<(), IndexError> {
    remove_unnamed(codebase, GRACE, &mut GcReport::default())
}

/// Removes stores of other vector spaces that have not been written to for long. Younger ones stay: two
/// versions of the program, for example on a host and in a container, must not delete each other's index in
/// turns.
fn remove_other_spaces(codebase: &Codebase, age: Duration, report: &mut GcReport) {
    let ours = codebase.store();

    for store in codebase.layout.stores().into_iter().filter(|store| *store != ours) {
        // The state file is replaced by every change of a store.
        let modified = std::fs::metadata(store.state()).and_then(|m| m.modified()).ok();
        let is_old =
            age.is_zero() || modified.and_then(|m| m.elapsed().ok()).is_some_and(|found| found > age);

        let (n_files, n_bytes) = content_below(store.root());
        if is_old && std::fs::remove_dir_all(store.root()).is_ok() {
            report.files_removed += n_files;
            report.bytes_removed += n_bytes;
        }
    }
}

/// The number of files below `dir`, and their bytes. Links are not followed.
fn content_below(dir: &Path) -> (u64, u64) {
    let children = std::fs::read_dir(dir).into_iter().flatten().flatten();
    children.fold((0, 0), |(files, bytes), child| match child.metadata() {
        Ok(metadata) if metadata.is_dir() => {
            let (more_files, more_bytes) = content_below(&child.path());
            (files + more_files, bytes + more_bytes)
        }
        Ok(metadata) if metadata.is_file() => (files + 1, bytes + metadata.len()),
        _ => (files, bytes),
    })
}

/// Removes the heads of linked worktrees that git has pruned.
fn drop_gone_worktrees(codebase: &Codebase, report: &mut GcReport) -> Result<(), IndexError> {
    let store = codebase.create_store()?;
    let _lock = Lock::acquire(&codebase.layout.publish_lock())?;
    let mut state = read_state(&store)?;

    let before = state.heads.len();
    // Not by path: the directory of a worktree may be mounted elsewhere, or be absent for a while.
    if let Ok(keys) = codebase.repo.worktree_keys() {
        state.heads.retain(|key, _| keys.contains(key));
        state.lost.retain(|key| keys.contains(key));
    }

    report.heads_dropped = (before - state.heads.len()) as u64;
    if report.heads_dropped > 0 { write_state(&store, &mut state) } else { Ok(()) }
}

/// Removes the snapshots that answer for no worktree.
fn drop_other_snapshots(codebase: &Codebase, report: &mut GcReport) -> Result<(), IndexError> {
    let store = codebase.create_store()?;
    let _lock = Lock::acquire(&codebase.layout.publish_lock())?;
    let mut state = read_state(&store)?;
    let before = state.snapshots.len();
    let used: BTreeSet<&String> = state.heads.values().map(|head| &head.snapshot).collect();
    state.snapshots.retain(|key, _| used.contains(key));

    report.snapshots_dropped = (before - state.snapshots.len()) as u64;
    if report.snapshots_dropped > 0 { write_state(&store, &mut state) } else { Ok(()) }
}

/// Rewrites the store without dead docs and entries if enough of it is dead. Ids change, and the epoch with
/// them.
fn rewrite(
    codebase: &Codebase,
    reader: &StoreReader,
    dead_share: f64,
    report: &mut GcReport,
) -> Result<(), IndexError> {
    let mut entries = reader.state.entries.iter().zip(&reader.entries);
    entries.try_for_each(|(reference, file)| file.verify(&reference.name))?;

    let mut snapshots: BTreeMap<String, Snapshot> = BTreeMap::new();
    for key in reader.state.snapshots.keys() {
        if let Some(snapshot) = reader.snapshot(key)? {
            snapshots.insert(key.clone(), snapshot);
        }
    }

    let live: RoaringBitmap = snapshots.values().fold(RoaringBitmap::new(), |all, s| all | &s.entries);
    let rows = reader.live_rows(&live);

    report.rows_before = reader.segments.iter().map(|s| u64::from(s.n_rows())).sum();
    let n_live: u64 = rows.iter().map(|r| u64::from(r.n_live())).sum();
    report.rows_after = report.rows_before;
    let n_dead = report.rows_before - n_live;
    if n_dead == 0 || (n_dead as f64) < dead_share * report.rows_before as f64 {
        return Ok(());
    }

    // Written before the lock is taken, since it takes long.
    let (segments, doc_ids) = live_segments(codebase, reader, &live)?;
    let (entries, entry_ids) = live_entries(codebase, reader, &live, &doc_ids)?;

    let _lock = Lock::acquire(&codebase.layout.publish_lock())?;
    let store = codebase.store();
    let mut state = read_state(&store)?;
    if (state.generation, state.epoch) != (reader.state.generation, reader.state.epoch) {
        // Another process published in the meantime; the next collection tries again.
        return Ok(());
    }

    report.docs_dropped = u64::from(state.next_doc()) - doc_ids.len() as u64;
    report.rows_after = segments.iter().map(|s| u64::from(s.n_rows)).sum();

    let mut references = BTreeMap::new();
    for (key, mut snapshot) in snapshots {
        snapshot.entries = snapshot.entries.iter().filter_map(|id| entry_ids.get(&id).copied()).collect();
        let bytes = snapshot.encode();
        let file = blake3::hash(&bytes).to_hex().to_string();
        write_content_addressed(&store.snapshot(&file), &bytes)?;
        let used_at = state.snapshots.get(&key).map_or(0, |s| s.used_at);
        references.insert(key, SnapshotRef { file, bytes: bytes.len() as u64, used_at });
    }

    state = State { epoch: state.epoch + 1, segments, entries, snapshots: references, ..state };
    write_state(&store, &mut state)
}

/// Writes segments with the docs that live entries name. Returns them with the new id of each old doc.
fn live_segments(
    codebase: &Codebase,
    reader: &StoreReader,
    live: &RoaringBitmap,
) -> Result<(Vec<SegmentRef>, BTreeMap<u32, u32>), IndexError> {
    let docs: BTreeSet<u32> =
        reader.live_entries(live).map(|(_, record, _)| record.doc).filter(|&d| d != NO_DOC).collect();
    let doc_ids: BTreeMap<u32, u32> = docs.iter().enumerate().map(|(new, &old)| (old, new as u32)).collect();

    let mut segments: Vec<SegmentRef> = Vec::new();
    let mut builder = SegmentBuilder::default();

    for (reference, segment) in reader.state.segments.iter().zip(&reader.segments) {
        if builder.n_rows() + segment.n_rows() as usize > shard::MAX_ROWS {
            flush(codebase, &mut segments, &mut builder)?;
        }

        // A damaged segment must not be written again under a name that proves it whole.
        let shard = reader.layout.shard(&reference.name);
        segment.verify(&reference.name, &shard)?;
        let data = shard::read(&shard)?;
        builder.append_segment(segment, data, |ordinal| docs.contains(&(reference.doc_base + ordinal)));
    }

    flush(codebase, &mut segments, &mut builder)?;

    Ok((segments, doc_ids))
}

/// Writes the collected docs, if there are any, as the next segment.
fn flush(
    codebase: &Codebase,
    segments: &mut Vec<SegmentRef>,
    builder: &mut SegmentBuilder,
) -> Result<(), IndexError> {
    if builder.n_docs() > 0 {
        let doc_base = segments.last().map_or(0, |last| last.doc_base + last.n_docs);
        let written = write_segment(&codebase.store(), std::mem::take(builder))?;
        segments.push(SegmentRef { doc_base, ..written });
    }
    Ok(())
}

/// Writes an entry file with the live entries. Returns it with the new id of each old entry.
fn live_entries(
    codebase: &Codebase,
    reader: &StoreReader,
    live: &RoaringBitmap,
    doc_ids: &BTreeMap<u32, u32>,
) -> Result<(Vec<EntriesRef>, BTreeMap<u32, u32>), IndexError> {
    let mut entry_ids = BTreeMap::new();
    let mut all = Vec::new();

    for (id, record, path) in reader.live_entries(live) {
        entry_ids.insert(id, all.len() as u32);
        let doc = doc_ids.get(&record.doc).copied().unwrap_or(NO_DOC);
        all.push(NewEntry { path: path.to_vec(), doc, skipped: record.skipped, flags: record.flags });
    }

    let bytes = entries::encode(&all);
    let name = blake3::hash(&bytes).to_hex().to_string();
    write_content_addressed(&codebase.store().entries(&name), &bytes)?;

    let n_entries = all.len() as u32;
    Ok((vec![EntriesRef { name, entry_base: 0, n_entries, bytes: bytes.len() as u64 }], entry_ids))
}

fn remove(path: &Path) -> bool {
    fault::step().and_then(|()| std::fs::remove_file(path)).is_ok()
}

/// Unlinks files in the content directories that the state does not name and that are older than `grace`.
fn remove_unnamed(codebase: &Codebase, grace: Duration, report: &mut GcReport) -> Result<(), IndexError> {
    let store = codebase.store();
    let _lock = Lock::acquire(&codebase.layout.publish_lock())?;
    let state = read_state(&store)?;

    let mut named: BTreeSet<&str> = state.segments.iter().map(|s| s.name.as_str()).collect();
    named.extend(state.entries.iter().map(|e| e.name.as_str()));
    named.extend(state.snapshots.values().map(|s| s.file.as_str()));
    let rebuilding = state.rebuilding.values().filter(|rebuild| !rebuild.is_stale());
    named.extend(rebuilding.flat_map(|rebuild| &rebuild.segments).map(|s| s.name.as_str()));

    // Readers open only the largest graph, and any that is there, so `never` removes it.
    let is_wanted = codebase.settings.index.hnsw != HnswMode::Never;
    let largest = is_wanted.then(|| store.largest_graph(&state.segments)).flatten();
    let graph = largest.map(|n| StoreLayout::graph_name(&state.segments[..n]));
    named.extend(graph.as_deref());

    for dir in store.content_dirs() {
        let children = std::fs::read_dir(&dir).map_err(StoreError::io("read", &dir))?;
        for child in children.flatten() {
            let name = child.file_name().to_string_lossy().into_owned();
            let stem = name.split_once('.').map_or(name.as_str(), |(stem, _)| stem);

            let Ok(metadata) = child.metadata() else { continue };
            let age =
                metadata.modified().ok().and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
            // A file whose time lies in the future counts as new.
            if !stem.is_empty() && !named.contains(stem) && age >= grace && remove(&child.path()) {
                report.files_removed += 1;
                report.bytes_removed += metadata.len();
            }
        }
    }

    Ok(())
}

/// Removes temporary files of killed writers once they are older than a day.
fn sweep_temporaries(codebase: &Codebase) {
    let day = Duration::from_secs(24 * 3600);
    let mut dirs: Vec<PathBuf> = codebase.store().content_dirs().to_vec();
    dirs.push(codebase.store().root().to_path_buf());
    dirs.push(codebase.layout.root().to_path_buf());

    for child in dirs.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten() {
        let is_temporary = child.file_name().to_string_lossy().starts_with(layout::TEMPORARY_PREFIX);
        let age =
            child.metadata().and_then(|m| m.modified()).ok().and_then(|modified| modified.elapsed().ok());
        if is_temporary && age.is_some_and(|age| age > day) {
            let _ = std::fs::remove_file(child.path());
        }
    }
}
