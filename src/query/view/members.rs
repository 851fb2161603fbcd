//! Which rows and paths a view has, and which of them filters let through; kept for the questions that see the same view.

use super::scope::Scope;
use crate::query::request::Filters;
use crate::store::StoreReader;
use crate::store::entries::Entries;
use crate::store::live::LiveRows;
use crate::store::segment::Segment;
use crate::store::state::State;
use crate::sync;
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Scopes that are kept: an agent asks with few different filters.
const KEEP_SCOPES: usize = 4;

/// Worked out by whoever asks first; others who ask for the same wait for it, and nobody else does.
type Shared<T> = Arc<OnceLock<Arc<T>>>;

/// What is live in one view.
#[derive(Default)]
pub struct Members {
    /// Live rows per segment.
    pub rows: Vec<LiveRows>,
    /// First live entry of each doc, `u32::MAX` if there is none.
    first_entry: Vec<u32>,
    /// Further live entries of docs that have several.
    more_entries: FxHashMap<u32, Vec<u32>>,
    /// The last asked for is at the end.
    scopes: Mutex<Vec<(Filters, Shared<Scope>)>>,
}

impl Members {
    pub fn of(reader: &StoreReader, live: &RoaringBitmap) -> Members {
        let mut members = Members {
            rows: reader.live_rows(live),
            first_entry: vec![u32::MAX; reader.state.next_doc() as usize],
            ..Members::default()
        };
        for (id, record, _) in reader.live_entries(live) {
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

    /// The scope of `filters`, which `make` works out if it is not known.
    pub fn scope(&self, filters: &Filters, make: impl FnOnce() -> Scope) -> Arc<Scope> {
        let cell = {
            let mut scopes = sync::lock(&self.scopes);
            let known = scopes.iter().position(|(known, _)| known == filters);
            let used = match known {
                Some(at) => scopes.remove(at),
                None => (filters.clone(), Arc::default()),
            };
            if scopes.len() == KEEP_SCOPES {
                scopes.remove(0);
            }
            let cell = used.1.clone();
            scopes.push(used);
            cell
        };
        cell.get_or_init(|| Arc::new(make())).clone()
    }
}

/// The members of the view that was asked about last.
#[derive(Default)]
pub struct MembersMemory(Mutex<Option<(Seen, Shared<Members>)>>);

impl MembersMemory {
    /// The members of what `reader` and `live` show.
    pub fn of(&self, reader: &StoreReader, live: &RoaringBitmap) -> Arc<Members> {
        let cell = {
            let mut last = sync::lock(&self.0);
            match last.as_ref().filter(|(seen, _)| seen.is_of(reader, live)) {
                Some((_, cell)) => cell.clone(),
                None => last.insert((Seen::of(reader, live), Arc::default())).1.clone(),
            }
        };
        cell.get_or_init(|| Arc::new(Members::of(reader, live))).clone()
    }
}

/// All that members depend on. Segments, which are large, are held weakly: what was merged away is unmapped once no view uses it.
struct Seen {
    state: Arc<State>,
    segments: Vec<Weak<Segment>>,
    entries: Vec<Arc<Entries>>,
    live: RoaringBitmap,
}

impl Seen {
    fn of(reader: &StoreReader, live: &RoaringBitmap) -> Seen {
        Seen {
            state: reader.state.clone(),
            segments: reader.segments.iter().map(Arc::downgrade).collect(),
            entries: reader.entries.clone(),
            live: live.clone(),
        }
    }

    fn is_of(&self, reader: &StoreReader, live: &RoaringBitmap) -> bool {
        // A segment in memory is kept as long as it is laid over views, entries in memory are made for each.
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
