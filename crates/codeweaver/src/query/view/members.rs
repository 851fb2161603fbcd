//! Members of a view: its live rows and entries, and the scopes of recent filters. Cached for requests on the
//! same view.

use std::sync::{Arc, Mutex, OnceLock, Weak};

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use codeweaver_base::sync;
use codeweaver_store::StoreReader;
use codeweaver_store::entries::Entries;
use codeweaver_store::live::LiveRows;
use codeweaver_store::segment::Segment;
use codeweaver_store::state::State;

use super::parts::Parts;
use super::scope::Scope;
use crate::query::request::Filters;

/// Maximum number of scopes in the cache. An agent uses few different filters.
const MAX_SCOPES: usize = 4;

/// Maximum number of views in the cache: one for each kind of token of a server, since each sees other
/// members of a catalogue.
const MAX_VIEWS: usize = 4;

/// A value that the first thread computes. Threads that need the same value wait for it; others are not
/// blocked.
type Shared<T> = Arc<OnceLock<Arc<T>>>;

/// The live rows and entries of one view.
#[derive(Default)]
pub struct Members {
    /// Live rows, by segment.
    pub rows: Vec<LiveRows>,
    /// First live entry of each doc; `u32::MAX` if there is none.
    first_entry: Vec<u32>,
    /// Further live entries of docs that have several.
    more_entries: FxHashMap<u32, Vec<u32>>,
    parts: OnceLock<Parts>,
    /// In order of use, the most recent last.
    scopes: Mutex<Vec<(Filters, Shared<Scope>)>>,
}

impl Members {
    /// The members of a view with the entries `live`.
    pub fn new(reader: &StoreReader, live: &RoaringBitmap) -> Members {
        let mut members = Members {
            rows: reader.live_rows(live),
            first_entry: vec![u32::MAX; reader.state.next_doc() as usize],
            ..Members::default()
        };

        for (id, record, _) in reader.live_entries(live) {
            // Most docs have one entry, so further ones are kept apart.
            match members.first_entry.get_mut(record.doc as usize) {
                Some(slot) if *slot == u32::MAX => *slot = id,
                Some(_) => members.more_entries.entry(record.doc).or_default().push(id),
                None => {}
            }
        }

        members
    }

    /// Live entries of a doc.
    pub fn entries_of(&self, doc: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.first_entry.get(doc as usize).copied().filter(|&id| id != u32::MAX);
        first.into_iter().chain(self.more_entries.get(&doc).into_iter().flatten().copied())
    }

    /// The parts of the repository, counted on first use. `reader` and `live` are those that the members were
    /// made from.
    pub fn parts(&self, reader: &StoreReader, live: &RoaringBitmap) -> &Parts {
        self.parts
            .get_or_init(|| Parts::count(reader.live_entries(live).map(|(_, record, path)| (record, path))))
    }

    /// The scope of `filters`, from the cache or from `compute`.
    pub fn scope(&self, filters: &Filters, compute: impl FnOnce() -> Scope) -> Arc<Scope> {
        // The lock is released before the scope is computed, so that requests with other filters go on.
        let cell = {
            let mut scopes = sync::lock(&self.scopes);
            let known = scopes.iter().position(|(known, _)| known == filters);
            let used = match known {
                Some(at) => scopes.remove(at),
                None => (filters.clone(), Arc::default()),
            };

            if scopes.len() == MAX_SCOPES {
                scopes.remove(0);
            }
            let cell = used.1.clone();
            scopes.push(used);
            cell
        };

        cell.get_or_init(|| Arc::new(compute())).clone()
    }
}

/// Cache of the members of recent views, the most recently used last.
#[derive(Default)]
pub struct MembersCache(Mutex<Vec<(Key, Shared<Members>)>>);

impl MembersCache {
    /// The members of the view with the entries `live`.
    pub fn get(&self, reader: &StoreReader, live: &RoaringBitmap) -> Arc<Members> {
        let cell = {
            let mut recent = sync::lock(&self.0);
            let used = match recent.iter().position(|(key, _)| key.matches(reader, live)) {
                Some(at) => recent.remove(at),
                None => (Key::new(reader, live), Arc::default()),
            };

            // Views of an older state are not asked for again.
            recent.retain(|(key, _)| key.state.generation == reader.state.generation);
            if recent.len() >= MAX_VIEWS {
                recent.remove(0);
            }
            let cell = used.1.clone();
            recent.push(used);
            cell
        };
        cell.get_or_init(|| Arc::new(Members::new(reader, live))).clone()
    }
}

/// Everything that members depend on. References to segments are weak, so that a segment that was merged away
/// is unmapped when no view uses it.
struct Key {
    state: Arc<State>,
    segments: Vec<Weak<Segment>>,
    entries: Vec<Arc<Entries>>,
    live: RoaringBitmap,
}

impl Key {
    fn new(reader: &StoreReader, live: &RoaringBitmap) -> Key {
        Key {
            state: reader.state.clone(),
            segments: reader.segments.iter().map(Arc::downgrade).collect(),
            entries: reader.entries.clone(),
            live: live.clone(),
        }
    }

    /// Returns whether the members of this key are those of the view with the entries `live`.
    fn matches(&self, reader: &StoreReader, live: &RoaringBitmap) -> bool {
        // Overlay segments are shared between views, so identity is enough; overlay entries are made anew for
        // each view.
        let same_segments = self.segments.len() == reader.segments.len()
            && self
                .segments
                .iter()
                .zip(&reader.segments)
                .all(|(a, b)| std::ptr::eq(a.as_ptr(), Arc::as_ptr(b)));
        let same_entries = self.entries.len() == reader.entries.len()
            && self.entries.iter().zip(&reader.entries).all(|(a, b)| Arc::ptr_eq(a, b) || a.same_bytes(b));

        same_segments
            && same_entries
            && self.live == *live
            && self.state.segments == reader.state.segments
            && self.state.entries == reader.state.entries
    }
}
