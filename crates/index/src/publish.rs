//! Publication: turns sealed segments and a plan into a new state. No other module replaces the state file.
//!
//! All large files are on disk before the publish lock is taken. Under the lock the state is read again, so a
//! publication by another worktree is built upon and not overwritten. Doc and entry ids are assigned here.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use codeweaver_base::regular_file;
use codeweaver_store::entries::{self, NO_DOC, NewEntry};
use codeweaver_store::fault;
use codeweaver_store::layout::{write_atomically, write_content_addressed};
use codeweaver_store::lock::Lock;
use codeweaver_store::postings::N_FIELDS;
use codeweaver_store::reader::OpenFiles;
use codeweaver_store::snapshot::{Snapshot, Totals};
use codeweaver_store::state::{EntriesRef, Head, Marker, Phase, Rebuild, SegmentRef, SnapshotRef, State};
use codeweaver_store::{StoreLayout, StoreReader, time};

use super::codebase::Codebase;
use super::error::IndexError;
use super::plan::{PlannedDoc, PlannedEntry};
use crate::policy::{SkipReason, skipped_number};

/// Maximum number of complete snapshots, and the time for which unused ones are kept.
const KEEP_SNAPSHOTS: usize = 64;
const KEEP_SECONDS: u64 = 30 * 24 * 3600;

/// The input of one publication.
pub struct Publication<'a> {
    pub base: &'a Snapshot,
    pub removed: &'a [u32],
    pub added: &'a [PlannedEntry],
    /// New segments, appended in this order to those of the state.
    pub segments: &'a [SegmentRef],
    /// The place of the doc of each job, as (index into all segments of this run, ordinal).
    pub docs: &'a [Option<(usize, u32)>],
    /// Names of all segments of this run, published earlier or now.
    pub run_segments: &'a [String],
    pub tree_oid: String,
    /// Whether the snapshot answers for the whole tree.
    pub complete: bool,
    /// Whether the old state is replaced as a whole: the last step of a reindex.
    pub replaces: bool,
}

/// The result of [`publish`].
pub struct Published {
    pub key: String,
    pub snapshot: Snapshot,
    pub reader: StoreReader,
}

/// Publishes a snapshot that was planned on the state of `epoch`. `set_head` updates the head of this
/// codebase accordingly.
pub fn publish(
    codebase: &Codebase,
    epoch: u64,
    files: &OpenFiles,
    publication: &Publication<'_>,
    set_head: impl FnOnce(&str, &Totals, Option<Head>) -> Option<Head>,
) -> Result<Published, IndexError> {
    let store = codebase.create_store()?;
    let _lock = Lock::acquire(&codebase.layout.publish_lock())?;

    let mut state = read_state(&store)?;
    check_epoch(&state, epoch)?;
    let mut replaced = BTreeMap::new();
    if publication.replaces {
        replaced = std::mem::take(&mut state.heads);
        state = State { generation: state.generation, epoch: state.epoch + 1, ..State::default() };
    }

    let n_known = state.segments.len();
    append_segments(&mut state, publication.segments);
    let mut reader = StoreReader::from_state(&store, state, files)?;

    let new_entries = resolve(&reader, n_known, publication)?;
    let mut snapshot =
        apply(&mut reader, publication.base, publication.removed, new_entries, &mut |reader, fresh| {
            append_entries(codebase, reader, files, fresh)
        })?;

    snapshot.totals.tree_oid = publication.tree_oid.clone();
    snapshot.totals.settings = codebase.settings_fingerprint.clone();
    snapshot.totals.complete = publication.complete;

    let key = if publication.complete {
        codebase.snapshot_key(&snapshot.totals.tree_oid)
    } else {
        format!("partial.{}", codebase.worktree_key)
    };

    // The file must exist before a state names it.
    let reference = write_snapshot(&store, &snapshot)?;

    let mut state = (*reader.state).clone();
    state.snapshots.insert(key.clone(), reference);
    if publication.complete {
        state.snapshots.remove(&format!("partial.{}", codebase.worktree_key));
    }

    let previous = codebase.head_in(&state).cloned();
    let mut place = (None, None);
    if let Some(head) = set_head(&key, &snapshot.totals, previous) {
        place = (head.commit.clone(), head.reference.clone());
        if head.marker.is_some() {
            state.lost.remove(&codebase.worktree_key);
        }
        state.heads.insert(codebase.worktree_key.clone(), head);
    }

    for (worktree, head) in replaced {
        if let Some(head) = moved(head, &key, &snapshot.totals, &place) {
            state.heads.entry(worktree).or_insert(head);
        }
    }

    // The new head is set, so its snapshot counts as one in use.
    forget_old_snapshots(&mut state);
    write_state(&store, &mut state)?;

    reader.state = Arc::new(state);
    Ok(Published { key, snapshot, reader })
}

/// The head of a worktree whose index is replaced by that of another one: the new snapshot answers for it
/// until it is updated, as for any worktree that is behind its HEAD. `place` is the commit of the snapshot
/// and its reference. `None` if no index was completed there.
fn moved(head: Head, key: &str, totals: &Totals, place: &(Option<String>, Option<String>)) -> Option<Head> {
    let marker = head.marker?;

    Some(Head {
        phase: Phase::Indexed,
        snapshot: key.to_owned(),
        commit: place.0.clone(),
        reference: place.1.clone(),
        marker: Some(Marker { indexed_files: totals.n_paths, total_chunks: totals.n_rows, ..marker }),
        progress: None,
        last_run: head.last_run,
        failure: None,
    })
}

/// Writes a snapshot file. Returns the reference under which a state names it.
fn write_snapshot(store: &StoreLayout, snapshot: &Snapshot) -> Result<SnapshotRef, IndexError> {
    let bytes = snapshot.encode();
    let file = blake3::hash(&bytes).to_hex().to_string();
    write_content_addressed(&store.snapshot(&file), &bytes)?;
    Ok(SnapshotRef { file, bytes: bytes.len() as u64, used_at: time::now() })
}

/// Adds segments whose docs no snapshot names. Overlays find the docs there.
pub(crate) fn add_segments(codebase: &Codebase, epoch: u64, sealed: &[SegmentRef]) -> Result<(), IndexError> {
    let store = codebase.create_store()?;
    let _lock = Lock::acquire(&codebase.layout.publish_lock())?;
    let mut state = read_state(&store)?;
    check_epoch(&state, epoch)?;
    append_segments(&mut state, sealed);
    write_state(&store, &mut state)
}

/// Records the segments that an unfinished reindex has sealed, so that the next run resumes from them.
/// Queries do not use them.
pub(crate) fn note_rebuild(codebase: &Codebase, epoch: u64, sealed: &[SegmentRef]) -> Result<(), IndexError> {
    let store = codebase.create_store()?;
    let _lock = Lock::acquire(&codebase.layout.publish_lock())?;
    let mut state = read_state(&store)?;
    check_epoch(&state, epoch)?;

    let mut own = State::default();
    append_segments(&mut own, sealed);
    let rebuild = Rebuild {
        segments: own.segments,
        settings: codebase.settings_fingerprint.clone(),
        updated_at: time::now(),
    };

    state.rebuilding.insert(codebase.worktree_key.clone(), rebuild);
    write_state(&store, &mut state)
}

/// Applies `change` to the state without new content, for example to the head of this worktree.
pub fn change_state(codebase: &Codebase, change: impl FnOnce(&mut State)) -> Result<(), IndexError> {
    let store = codebase.create_store()?;
    let _lock = Lock::acquire(&codebase.layout.publish_lock())?;
    let mut state = read_state(&store)?;
    change(&mut state);
    write_state(&store, &mut state)
}

/// Reads the current state, or begins that of a new store. The caller holds the publish lock.
pub(crate) fn read_state(store: &StoreLayout) -> Result<State, IndexError> {
    Ok(State::read(&store.state())?.unwrap_or_else(State::begin))
}

/// Checks that a plan made on the state of `epoch` fits this one. A plan on an empty store (epoch 0) contains
/// no ids and fits any.
fn check_epoch(state: &State, epoch: u64) -> Result<(), IndexError> {
    if epoch == 0 || epoch == state.epoch { Ok(()) } else { Err(IndexError::EpochChanged) }
}

/// Replaces the state file. The caller holds the publish lock.
pub(crate) fn write_state(store: &StoreLayout, state: &mut State) -> Result<(), IndexError> {
    store.sync_names()?;
    state.generation += 1;

    let (current, previous) = (store.state(), store.previous_state());
    // A second name for the old state, for manual repair. Its loss is harmless.
    let _ = fault::step().and_then(|()| regular_file::remove(&previous));
    let linked = fault::step().and_then(|()| std::fs::hard_link(&current, &previous));

    write_atomically(&current, &state.encode())?;
    if linked.is_err() {
        // A first state has a predecessor too: without one, its loss would be that of no index.
        let _ = fault::step().and_then(|()| std::fs::hard_link(&current, &previous));
    }
    Ok(())
}

/// Appends the segments that `state` does not have, with the next doc ids.
fn append_segments(state: &mut State, segments: &[SegmentRef]) {
    for segment in segments {
        // A run that was interrupted after its publication may have published the same content already.
        if state.segments.iter().all(|known| known.name != segment.name) {
            let doc_base = state.next_doc();
            state.segments.push(SegmentRef { doc_base, ..segment.clone() });
        }
    }
}

/// Turns planned entries into new ones with the doc ids of `reader`. Segments from `n_known` on are those of
/// this publication.
fn resolve(
    reader: &StoreReader,
    n_known: usize,
    publication: &Publication<'_>,
) -> Result<Vec<NewEntry>, IndexError> {
    let run_segments: Vec<Option<usize>> = publication
        .run_segments
        .iter()
        .map(|name| reader.state.segments.iter().position(|segment| segment.name == *name))
        .collect();

    Ok(new_entries(reader, publication.added, &|job| {
        let (run_segment, ordinal) = match publication.docs.get(job)? {
            Some(place) => *place,
            None => return Some(None),
        };
        let segment = run_segments.get(run_segment).copied().flatten();
        Some(segment.and_then(|segment| doc_in(reader, n_known, segment, ordinal)))
    }))
}

/// The id of a doc of this run. If one of the first `n_known` segments has a doc of the same blob, it is used
/// instead: another worktree may have published the blob since this run began.
fn doc_in(reader: &StoreReader, n_known: usize, segment: usize, ordinal: u32) -> Option<u32> {
    let own = reader.state.segments[segment].doc_base + ordinal;
    let record = reader.segments[segment].docs().get(ordinal as usize)?;
    let key = reader.segments[segment].key(record);

    let known = reader.state.segments.iter().zip(&reader.segments).take(n_known);
    for (reference, segment) in known.filter(|(reference, _)| reference.doc_base < own) {
        if let Some(ordinal) = segment.find(&key) {
            return Some(reference.doc_base + ordinal);
        }
    }
    Some(own)
}

/// Turns planned entries into new ones with doc ids and skip reasons. `doc_of` returns the doc of a job:
/// `None` if the job has not run, `Some(None)` if its blob is not in this clone.
pub(crate) fn new_entries(
    reader: &StoreReader,
    planned: &[PlannedEntry],
    doc_of: &dyn Fn(usize) -> Option<Option<u32>>,
) -> Vec<NewEntry> {
    let mut entries = Vec::with_capacity(planned.len());

    for entry in planned {
        let (doc, skipped) = match entry.doc {
            PlannedDoc::None => (NO_DOC, entry.skipped),
            PlannedDoc::Known(doc) => (doc, entry.skipped),
            PlannedDoc::Job(job) => match doc_of(job) {
                Some(Some(doc)) => (doc, entry.skipped),
                Some(None) => (NO_DOC, Some(SkipReason::NotLocal)),
                None => continue,
            },
        };

        // A file that is skipped because of its content has a doc with the reason.
        let reason = doc_record(reader, doc).map_or(0, |record| record.skipped);
        let skipped = if reason > 0 { reason } else { skipped_number(skipped) };
        entries.push(NewEntry { path: entry.path.to_vec(), doc, skipped, flags: entry.flags });
    }

    entries
}

fn doc_record(reader: &StoreReader, doc: u32) -> Option<&codeweaver_store::records::DocRecord> {
    let (segment, ordinal) = reader.locate_doc(doc)?;
    reader.segments[segment].docs().get(ordinal as usize)
}

/// Adds entries to the store that a reader shows, on disk or in memory, and returns the id of the first.
pub(crate) type Append<'a> = &'a mut dyn FnMut(&mut StoreReader, &[NewEntry]) -> Result<u32, IndexError>;

/// Derives a snapshot from `base` without the entries `removed` and with those of `added`. New entries go
/// through `append`, which returns the id of the first.
pub fn apply(
    reader: &mut StoreReader,
    base: &Snapshot,
    removed: &[u32],
    added: Vec<NewEntry>,
    append: Append<'_>,
) -> Result<Snapshot, IndexError> {
    let mut snapshot = base.clone();
    let mut tally = Tally::new(reader, &snapshot);

    for &id in removed {
        if snapshot.entries.remove(id) {
            tally.remove(reader, id, &mut snapshot.totals);
        }
    }

    let mut fresh = Vec::new();
    for entry in added {
        // An entry of an earlier snapshot is used again, for example after a switch back to an old branch.
        let existing = reader.entries_at(&entry.path).find(|&id| is_entry(reader, id, &entry));
        match existing {
            Some(id) if snapshot.entries.insert(id) => tally.add(reader, id, &mut snapshot.totals),
            Some(_) => {}
            None => fresh.push(entry),
        }
    }

    if !fresh.is_empty() {
        let first = append(reader, &fresh)?;
        for id in first..first + fresh.len() as u32 {
            snapshot.entries.insert(id);
            tally.add(reader, id, &mut snapshot.totals);
        }
    }

    tally.apply(reader, &mut snapshot.totals);
    Ok(snapshot)
}

fn is_entry(reader: &StoreReader, id: u32, entry: &NewEntry) -> bool {
    reader.entry(id).is_some_and(|(record, _)| {
        record.doc == entry.doc && record.skipped == entry.skipped && record.flags == entry.flags
    })
}

/// Writes an entry file and adds it to the state that `reader` shows. Returns the id of its first entry.
fn append_entries(
    codebase: &Codebase,
    reader: &mut StoreReader,
    files: &OpenFiles,
    fresh: &[NewEntry],
) -> Result<u32, IndexError> {
    let store = codebase.store();
    let bytes = entries::encode(fresh);
    let name = blake3::hash(&bytes).to_hex().to_string();
    write_content_addressed(&store.entries(&name), &bytes)?;

    let mut state = (*reader.state).clone();
    let entry_base = state.next_entry();
    state.entries.push(EntriesRef {
        name,
        entry_base,
        n_entries: fresh.len() as u32,
        bytes: bytes.len() as u64,
    });

    *reader = StoreReader::from_state(&store, state, files)?;
    Ok(entry_base)
}

/// Keeps totals exact while entries come and go: a doc counts from its first live entry to its last.
#[derive(Default)]
struct Tally {
    /// Number of live entries by doc id.
    n_entries: Vec<u32>,
    /// For each changed doc, the number of its live entries before the first change.
    before: FxHashMap<u32, u32>,
}

impl Tally {
    fn new(reader: &StoreReader, base: &Snapshot) -> Tally {
        let mut tally = Tally::default();
        for (_, record, _) in reader.live_entries(&base.entries) {
            if record.doc < reader.state.next_doc() {
                *tally.n_entries_of(record.doc) += 1;
            }
        }
        tally
    }

    fn n_entries_of(&mut self, doc: u32) -> &mut u32 {
        let doc = doc as usize;
        if doc >= self.n_entries.len() {
            self.n_entries.resize(doc + 1, 0);
        }
        &mut self.n_entries[doc]
    }

    fn add(&mut self, reader: &StoreReader, id: u32, totals: &mut Totals) {
        self.change(reader, id, totals, true);
    }

    fn remove(&mut self, reader: &StoreReader, id: u32, totals: &mut Totals) {
        self.change(reader, id, totals, false);
    }

    fn change(&mut self, reader: &StoreReader, id: u32, totals: &mut Totals, is_added: bool) {
        let Some((record, _)) = reader.entry(id) else { return };
        match record.skipped {
            0 => step(&mut totals.n_paths, is_added),
            reason => step(totals.skipped.entry(reason).or_default(), is_added),
        }

        // A number beyond all docs can only come from a damaged file, and would allocate memory in
        // proportion.
        if record.doc < reader.state.next_doc() {
            let n = self.n_entries_of(record.doc);
            let before = *n;
            *n = if is_added { before + 1 } else { before.saturating_sub(1) };
            self.before.entry(record.doc).or_insert(before);
        }
    }

    /// Adds the docs that became live and subtracts those that are no longer live.
    fn apply(&self, reader: &StoreReader, totals: &mut Totals) {
        totals.skipped.retain(|_, n| *n > 0);
        for (&doc, &before) in &self.before {
            match (before > 0, self.n_entries[doc as usize] > 0) {
                (false, true) => count_doc(reader, doc, totals, 1),
                (true, false) => count_doc(reader, doc, totals, -1),
                _ => {}
            }
        }
    }
}

fn step(n: &mut u64, is_up: bool) {
    *n = if is_up { *n + 1 } else { n.saturating_sub(1) };
}

/// Adds a doc to the totals (`sign` 1) or subtracts it (`sign` -1). Docs without rows do not count.
fn count_doc(reader: &StoreReader, doc: u32, totals: &mut Totals, sign: i64) {
    let Some((s, ordinal)) = reader.locate_doc(doc) else { return };
    let segment = &reader.segments[s];
    let rows = segment.doc_rows(ordinal);
    if rows.is_empty() {
        return;
    }

    let shift = |n: &mut u64, by: u64| *n = n.saturating_add_signed(sign * by as i64);
    shift(&mut totals.n_docs, 1);
    shift(&mut totals.n_rows, u64::from(rows.end - rows.start));
    totals.vector_sum.resize(segment.dim(), 0);

    for row in rows {
        let record = &segment.rows()[row as usize];
        for field in 0..N_FIELDS {
            shift(&mut totals.field_len[field], u64::from(record.field_len[field]));
        }
        for (sum, &component) in totals.vector_sum.iter_mut().zip(segment.vector(row)) {
            *sum += sign * i64::from(component);
        }
    }
}

/// Computes the totals of a snapshot anew from its entries, to check the incremental ones.
pub fn recount(reader: &StoreReader, snapshot: &Snapshot) -> Totals {
    let mut totals = Totals {
        tree_oid: snapshot.totals.tree_oid.clone(),
        settings: snapshot.totals.settings.clone(),
        complete: snapshot.totals.complete,
        ..Totals::default()
    };

    let mut tally = Tally::default();
    for id in &snapshot.entries {
        tally.add(reader, id, &mut totals);
    }

    tally.apply(reader, &mut totals);
    totals
}

/// Removes snapshots that are old or too many, except those of heads, and the segments of stale reindexes.
fn forget_old_snapshots(state: &mut State) {
    state.rebuilding.retain(|_, rebuild| !rebuild.is_stale());
    let now = time::now();

    let mut by_age: Vec<(u64, String)> =
        state.snapshots.iter().map(|(key, s)| (s.used_at, key.clone())).collect();
    by_age.sort_by(|a, b| b.cmp(a));

    for (i, (used_at, key)) in by_age.into_iter().enumerate() {
        let is_old = used_at.saturating_add(KEEP_SECONDS) < now;
        let is_used = state.heads.values().any(|head| head.snapshot == key);
        if (i >= KEEP_SNAPSHOTS || is_old) && !is_used {
            state.snapshots.remove(&key);
        }
    }
}
