//! An opened state with all of its files, from which queries and updates read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use roaring::RoaringBitmap;

use codeweaver_base::sync;
use codeweaver_base::sys::{self, Mapped};
use codeweaver_git::Oid;

use super::content::{self, HashedFiles};
use super::entries::{Entries, EntryRecord};
use super::error::StoreError;
use super::hnsw::HnswIndex;
use super::layout::StoreLayout;
use super::live::LiveRows;
use super::records::DocRecord;
use super::rows::DocKey;
use super::segment::Segment;
use super::snapshot::Snapshot;
use super::state::{EntriesRef, SegmentRef, SnapshotRef, State};

/// Number of times the state is read again if a file that it names was collected in the meantime.
const RETRIES: usize = 3;

/// Name of segments and entries that are not on disk.
const IN_MEMORY: &str = "(in memory)";

/// An immutable view of a store. Its files stay readable while it exists, whatever is published or collected.
#[derive(Clone)]
pub struct StoreReader {
    pub layout: StoreLayout,
    pub state: Arc<State>,
    pub segments: Vec<Arc<Segment>>,
    pub entries: Vec<Arc<Entries>>,
    /// The reason why this is not the current state: this user may not read it.
    pub denied: Option<Arc<StoreError>>,
    hashed: Arc<HashedFiles>,
    graph: OpenGraph,
}

/// The HNSW graph that was opened last, which stays mapped between queries.
type OpenGraph = Arc<Mutex<Option<(PathBuf, Arc<HnswIndex>)>>>;

/// Segments and entry files by name, which a long-lived process shares between views.
#[derive(Default)]
pub struct OpenFiles {
    segments: Mutex<HashMap<String, Arc<Segment>>>,
    entries: Mutex<HashMap<String, Arc<Entries>>>,
    hashed: Arc<HashedFiles>,
    graph: OpenGraph,
    /// Number of times that a file was dropped because it had changed.
    n_dropped: AtomicUsize,
    /// Overlays, the newest last.
    overlays: Mutex<Vec<Arc<OverlaySegment>>>,
}

/// Numbers of failed reads and of changed files at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    n_failed_reads: usize,
    n_dropped: usize,
}

/// Maximum number of overlays: of the working tree, and of commits that are not indexed yet.
const KEEP_OVERLAYS: usize = 3;

/// An in-memory segment that was built for an earlier view, since uncommitted files are queried more often
/// than they change.
pub struct OverlaySegment {
    /// The docs it was built from, in order.
    pub keys: Vec<DocKey>,
    pub segment: Arc<Segment>,
    /// The ordinal of the doc of each key.
    pub docs: Vec<Option<u32>>,
}

impl StoreReader {
    /// Opens the files that the current state names; `Ok(None)` if there is no index.
    pub fn open(layout: &StoreLayout) -> Result<Option<StoreReader>, StoreError> {
        StoreReader::open_with(layout, &OpenFiles::default())
    }

    /// As [`Self::open`], reusing the files of `files`.
    pub fn open_with(layout: &StoreLayout, files: &OpenFiles) -> Result<Option<StoreReader>, StoreError> {
        let mut attempt = 0;

        loop {
            let Some(state) = State::read(&layout.state())? else { return Ok(None) };

            match StoreReader::from_state(layout, state, files) {
                // The state has been replaced since it was read.
                Err(e) if e.is_not_found() && attempt < RETRIES => attempt += 1,
                Ok(reader) => {
                    // Merged or collected files are unmapped once no view uses them.
                    files.retain(&reader.state);
                    return Ok(Some(reader));
                }
                Err(e) => return Err(e.or_damage()),
            }
        }
    }

    /// As [`Self::open_with`], for queries: opens the previous state if this user may not read the current
    /// one.
    pub fn open_permitted(
        layout: &StoreLayout,
        files: &OpenFiles,
    ) -> Result<Option<StoreReader>, StoreError> {
        let denied = match StoreReader::open_with(layout, files) {
            Err(e) if e.is_denied() => e,
            opened => return opened,
        };

        let previous = State::read(&layout.previous_state()).ok().flatten();
        match previous.map(|state| StoreReader::from_state(layout, state, files)) {
            Some(Ok(reader)) => Ok(Some(StoreReader { denied: Some(Arc::new(denied)), ..reader })),
            _ => Err(denied),
        }
    }

    /// Opens a view of `state`.
    pub fn from_state(
        layout: &StoreLayout,
        state: State,
        files: &OpenFiles,
    ) -> Result<StoreReader, StoreError> {
        let segments = state.segments.iter().map(|s| files.segment(layout, s)).collect::<Result<_, _>>()?;
        let entries = state.entries.iter().map(|e| files.entries(layout, e)).collect::<Result<_, _>>()?;

        let reader = StoreReader {
            layout: layout.clone(),
            state: Arc::new(state),
            segments,
            entries,
            denied: None,
            hashed: files.hashed.clone(),
            graph: files.graph.clone(),
        };
        reader.save_hashed();
        Ok(reader)
    }

    /// A view of an empty store.
    pub fn empty(layout: &StoreLayout) -> StoreReader {
        StoreReader {
            layout: layout.clone(),
            state: Arc::default(),
            segments: Vec::new(),
            entries: Vec::new(),
            denied: None,
            hashed: Arc::default(),
            graph: Arc::default(),
        }
    }

    /// Adds an in-memory segment to this view.
    pub fn push_segment(&mut self, segment: Arc<Segment>) {
        let mut state = (*self.state).clone();
        let reference = SegmentRef {
            name: IN_MEMORY.to_owned(),
            doc_base: state.next_doc(),
            n_docs: segment.n_docs(),
            n_rows: segment.n_rows(),
            shard_bytes: 0,
            segment_bytes: 0,
        };

        state.segments.push(reference);
        self.state = Arc::new(state);
        self.segments.push(segment);
    }

    /// Adds in-memory entries to this view and returns the first new id.
    pub fn push_entries(&mut self, entries: Entries) -> u32 {
        let mut state = (*self.state).clone();
        let entry_base = state.next_entry();
        let n_entries = entries.records().len() as u32;
        state.entries.push(EntriesRef { name: IN_MEMORY.to_owned(), entry_base, n_entries, bytes: 0 });
        self.state = Arc::new(state);
        self.entries.push(Arc::new(entries));

        entry_base
    }

    /// The snapshot with `key`, if the state names it.
    pub fn snapshot(&self, key: &str) -> Result<Option<Snapshot>, StoreError> {
        let Some(SnapshotRef { file, .. }) = self.state.snapshots.get(key) else { return Ok(None) };
        Snapshot::read_named(&self.layout.snapshot(file), file).map(Some)
    }

    /// The largest HNSW graph, with the number of leading segments that it covers; `None` if there is none,
    /// or if it is damaged.
    pub fn graph(&self) -> Option<(usize, Arc<HnswIndex>)> {
        let n = self.layout.largest_graph(&self.state.segments)?;
        let segments = &self.state.segments[..n];
        let path = self.layout.graph(segments);

        // Locked until the graph is open, so that it is hashed once.
        let mut open = sync::lock(&self.graph);
        if let Some((name, graph)) = &*open
            && *name == path
            && is_unchanged(&path, graph.map()).ok()?
        {
            return Some((n, graph.clone()));
        }

        let n_rows = segments.iter().map(|segment| segment.n_rows).sum();
        let graph = Arc::new(HnswIndex::open(&path, n_rows).ok()?);
        self.hashed.check(&self.layout, &[(&path, graph.map())], || graph.verify()).ok()?;
        self.save_hashed();

        *open = Some((path, graph.clone()));
        Some((n, graph))
    }

    /// Records for the next process which files of this view were hashed.
    fn save_hashed(&self) {
        self.hashed.save(&self.layout, |path| {
            let name = path.rsplit(|&byte| byte == b'/' || byte == b'\\').next().unwrap_or_default();
            let stem = name.split(|&byte| byte == b'.').next().unwrap_or_default();

            let segments = self.state.segments.iter().map(|segment| &segment.name);
            // The state does not name graphs. The record of one that is gone is never asked for and costs
            // only its bytes.
            let is_graph = name.ends_with(b".hnsw");
            segments
                .chain(self.state.entries.iter().map(|entries| &entries.name))
                .any(|it| it.as_bytes() == stem)
                || is_graph
        });
    }

    /// The doc with `key`, if any segment has it.
    pub fn find_doc(&self, key: &DocKey) -> Option<u32> {
        self.state
            .segments
            .iter()
            .zip(&self.segments)
            .find_map(|(r, s)| s.find(key).map(|ordinal| r.doc_base + ordinal))
    }

    /// Segment index and ordinal of a doc id.
    pub fn locate_doc(&self, doc: u32) -> Option<(usize, u32)> {
        let i = self.state.segments.partition_point(|s| s.doc_base <= doc).checked_sub(1)?;
        let ordinal = doc - self.state.segments[i].doc_base;
        (ordinal < self.segments[i].n_docs()).then_some((i, ordinal))
    }

    /// The entry with store-wide id `entry`, and its path.
    pub fn entry(&self, entry: u32) -> Option<(&EntryRecord, &[u8])> {
        let i = self.state.entries.partition_point(|e| e.entry_base <= entry).checked_sub(1)?;
        let record = self.entries[i].records().get((entry - self.state.entries[i].entry_base) as usize)?;
        Some((record, self.entries[i].path(record)))
    }

    /// The blob of an entry; `None` if it has no doc.
    pub fn blob_of(&self, entry: u32) -> Option<Oid> {
        let (segment, ordinal) = self.locate_doc(self.entry(entry)?.0.doc)?;
        let segment = &self.segments[segment];
        Some(segment.blob_oid(segment.docs().get(ordinal as usize)?))
    }

    /// The entry of `path` among `live`.
    pub fn find_entry(&self, live: &RoaringBitmap, path: &[u8]) -> Option<u32> {
        self.entries_at(path).find(|&id| live.contains(id))
    }

    /// All entries ever recorded for `path`.
    pub fn entries_at<'a>(&'a self, path: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        let files = self.state.entries.iter().zip(&self.entries);
        files.flat_map(move |(r, e)| e.find(path).iter().map(|&local| r.entry_base + local))
    }

    /// The paths of live entries that begin with `prefix`, which is not empty; ascending within each entry
    /// file.
    pub fn paths_below<'a>(
        &'a self,
        live: &'a RoaringBitmap,
        prefix: &'a [u8],
    ) -> impl Iterator<Item = &'a [u8]> + 'a {
        let files = self.state.entries.iter().zip(&self.entries);

        files.flat_map(move |(r, e)| {
            let (records, paths) = (e.records(), e.paths());
            e.below(prefix)
                .filter(move |local| live.contains(r.entry_base + local))
                .filter_map(move |local| Some(paths.get(records.get(local as usize)?)))
        })
    }

    /// Live entries with their records, in id order.
    pub fn live_entries<'a>(
        &'a self,
        live: &'a RoaringBitmap,
    ) -> impl Iterator<Item = (u32, &'a EntryRecord, &'a [u8])> + 'a {
        let files = self.state.entries.iter().zip(&self.entries);

        files.flat_map(move |(r, e)| {
            let (records, paths) = (e.records(), e.paths());
            live.range(r.entry_base..r.entry_base + r.n_entries).filter_map(move |id| {
                let record = records.get((id - r.entry_base) as usize)?;
                Some((id, record, paths.get(record)))
            })
        })
    }

    /// The live rows of each segment: those of every doc that a live entry names.
    pub fn live_rows(&self, live: &RoaringBitmap) -> Vec<LiveRows> {
        self.rows_of(self.live_entries(live).map(|(_, record, _)| record))
    }

    /// The rows of every doc that an entry names, by segment.
    pub fn rows_of<'a>(&self, entries: impl Iterator<Item = &'a EntryRecord>) -> Vec<LiveRows> {
        let mut rows: Vec<LiveRows> = self.segments.iter().map(|s| LiveRows::empty(s.n_rows())).collect();

        // Entries that were written together mostly name docs of one segment, which is therefore tried first.
        let mut here: (usize, u32, &[DocRecord]) = (0, 0, &[]);
        for record in entries {
            let (mut segment, doc_base, docs) = here;
            let mut doc = record.doc.checked_sub(doc_base).and_then(|ordinal| docs.get(ordinal as usize));
            if doc.is_none()
                && let Some((s, ordinal)) = self.locate_doc(record.doc)
            {
                here = (s, self.state.segments[s].doc_base, self.segments[s].docs());
                (segment, doc) = (s, here.2.get(ordinal as usize));
            }
            if let Some(doc) = doc {
                let range = doc.rows();
                rows[segment].insert(range.start, range.end);
            }
        }

        rows.iter_mut().for_each(LiveRows::seal);
        rows
    }
}

/// As [`content::is_unchanged`], with the error of a store.
fn is_unchanged(path: &Path, map: &Mapped) -> Result<bool, StoreError> {
    content::is_unchanged(path, map).map_err(StoreError::io("open", path))
}

impl OpenFiles {
    /// Opens a segment, or returns the open one if its files are unchanged.
    fn segment(&self, layout: &StoreLayout, wanted: &SegmentRef) -> Result<Arc<Segment>, StoreError> {
        let (path, shard) = (layout.segment(&wanted.name), layout.shard(&wanted.name));
        let mut open = sync::lock(&self.segments);

        if let Some(segment) = open.get(&wanted.name) {
            let [map, shard_map] = segment.maps();
            if is_unchanged(&path, map)? && is_unchanged(&shard, shard_map)? {
                return Ok(segment.clone());
            }
            let suspect =
                content::may_be_overwritten(&path, map) || content::may_be_overwritten(&shard, shard_map);
            open.remove(&wanted.name);
            self.drop_read(suspect);
        }

        let segment = Arc::new(Segment::open(&path, &shard)?);
        let [map, shard_map] = segment.maps();

        let maps = [(&*path, map), (&*shard, shard_map)];
        let mut is_hashed = false;
        self.hashed.check(layout, &maps, || {
            is_hashed = true;
            segment.verify(&wanted.name, &shard)
        })?;

        if is_hashed {
            // A search reads only a small part of the hashed bytes.
            segment.maps().into_iter().for_each(Mapped::release);
        }

        if segment.n_docs() != wanted.n_docs || segment.n_rows() != wanted.n_rows {
            return Err(StoreError::damaged(&path, "it does not have the docs that the state says"));
        }

        open.insert(wanted.name.clone(), segment.clone());
        Ok(segment)
    }

    /// Opens an entry file, or returns the open one if it is unchanged.
    fn entries(&self, layout: &StoreLayout, wanted: &EntriesRef) -> Result<Arc<Entries>, StoreError> {
        let path = layout.entries(&wanted.name);
        let mut open = sync::lock(&self.entries);

        if let Some(entries) = open.get(&wanted.name) {
            if is_unchanged(&path, entries.map())? {
                return Ok(entries.clone());
            }
            let suspect = content::may_be_overwritten(&path, entries.map());
            open.remove(&wanted.name);
            self.drop_read(suspect);
        }

        let entries = Arc::new(Entries::open(&path)?);
        self.hashed.check(layout, &[(&*path, entries.map())], || entries.verify(&wanted.name))?;

        if entries.records().len() != wanted.n_entries as usize {
            return Err(StoreError::damaged(&path, "it does not have the entries that the state says"));
        }

        open.insert(wanted.name.clone(), entries.clone());
        Ok(entries)
    }

    /// Notes that a file is opened again. If it was replaced by another, earlier reads were right; if it was
    /// overwritten, they are `suspect`.
    fn drop_read(&self, suspect: bool) {
        if suspect {
            self.n_dropped.fetch_add(1, SeqCst);
        }
    }

    /// The moment to pass to [`Self::may_have_changed_since`], to be taken before files are used.
    pub fn now(&self) -> Moment {
        Moment { n_failed_reads: sys::n_failed_reads(), n_dropped: self.n_dropped.load(SeqCst) }
    }

    /// Returns whether a file may have been changed by another program since `then`, so that earlier reads
    /// may be wrong. Costs one `stat` per file.
    pub fn may_have_changed_since(&self, then: &Moment, layout: &StoreLayout) -> bool {
        self.now() != *then || self.may_be_overwritten(layout)
    }

    /// Closes all files. They are hashed again before they are used.
    pub fn distrust(&self, layout: &StoreLayout) {
        self.n_dropped.fetch_add(1, SeqCst);
        sync::lock(&self.segments).clear();
        sync::lock(&self.entries).clear();
        *sync::lock(&self.graph) = None;
        self.hashed.forget(layout);
    }

    fn may_be_overwritten(&self, layout: &StoreLayout) -> bool {
        for (name, segment) in sync::lock(&self.segments).iter() {
            let [map, shard_map] = segment.maps();
            if content::may_be_overwritten(&layout.segment(name), map)
                || content::may_be_overwritten(&layout.shard(name), shard_map)
            {
                return true;
            }
        }

        let entries = sync::lock(&self.entries);
        entries.iter().any(|(name, file)| content::may_be_overwritten(&layout.entries(name), file.map()))
    }

    /// The overlay of exactly these docs, if it is stored.
    pub fn overlay(&self, keys: &[DocKey]) -> Option<Arc<OverlaySegment>> {
        let overlays = sync::lock(&self.overlays);
        overlays.iter().find(|overlay| overlay.keys == keys).cloned()
    }

    /// Stores an overlay for the next view, in place of the oldest. Its docs must depend on their keys alone.
    pub fn keep_overlay(&self, overlay: Arc<OverlaySegment>) {
        let mut overlays = sync::lock(&self.overlays);
        if overlays.len() == KEEP_OVERLAYS {
            overlays.remove(0);
        }
        overlays.push(overlay);
    }

    /// Drops files that `state` does not name.
    pub fn retain(&self, state: &State) {
        let mut segments = sync::lock(&self.segments);
        segments.retain(|name, _| state.segments.iter().any(|s| &s.name == name));
        let mut entries = sync::lock(&self.entries);
        entries.retain(|name, _| state.entries.iter().any(|e| &e.name == name));
    }
}

#[cfg(test)]
mod tests {
    use super::super::entries::{self, NewEntry};
    use super::super::layout::Layout;
    use super::*;
    use codeweaver_git::Repo;
    use codeweaver_testkit::TestRepo;

    #[test]
    fn live_paths_are_found_by_their_beginning_in_all_files() {
        let repo = TestRepo::init();
        let mut reader =
            StoreReader::empty(&Layout::new(&Repo::open_isolated(repo.root()).unwrap()).store("test"));
        let new = |path: &str| NewEntry { path: path.into(), doc: entries::NO_DOC, skipped: 0, flags: 0 };
        for paths in [["src/a.h", "src/a.c", "src/ab.c"], ["src/a.cc", "src/a.d/x.c", "b.c"]] {
            reader.push_entries(Entries::in_memory(&paths.map(new)).unwrap());
        }
        let below = |live: &[u32], prefix: &[u8]| -> Vec<String> {
            let live: RoaringBitmap = live.iter().copied().collect();
            reader.paths_below(&live, prefix).map(|path| String::from_utf8_lossy(path).into_owned()).collect()
        };
        assert_eq!(below(&[0, 1, 2, 3, 4, 5], b"src/a."), ["src/a.c", "src/a.h", "src/a.cc", "src/a.d/x.c"]);
        assert_eq!(below(&[0, 3, 5], b"src/a."), ["src/a.h", "src/a.cc"]);
        assert!(below(&[0, 1, 2], b"src/c.").is_empty());
    }
}
