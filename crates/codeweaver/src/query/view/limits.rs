//! Limits: the snapshot of a limited catalogue, in which only the files live that its reader may see.
//!
//! Everything that ranks, spells, counts and suggests works on the live entries and the totals of a snapshot.
//! Those of a limited one are what an index would have that never had the other members.

use std::sync::{Arc, Mutex};

use roaring::RoaringBitmap;

use codeweaver_base::sync;
use codeweaver_git::{Oid, Repo};
use codeweaver_index::publish;
use codeweaver_store::StoreReader;
use codeweaver_store::snapshot::{Snapshot, Totals};

use crate::query::error::QueryError;

/// Maximum number of snapshots in the cache: one for each kind of token that is in use.
const MAX_SNAPSHOTS: usize = 8;

/// Cache of limited snapshots, the most recently used last.
#[derive(Default)]
pub struct LimitedSnapshots(Mutex<Vec<(Key, Arc<Snapshot>)>>);

/// Everything that a limited snapshot depends on.
#[derive(PartialEq)]
struct Key {
    /// The names of the members that may be seen.
    names: Vec<String>,
    epoch: u64,
    /// The whole snapshot.
    totals: Totals,
    entries: RoaringBitmap,
}

impl LimitedSnapshots {
    /// Returns the part of `whole` that `repo` shows.
    ///
    /// # Errors
    /// The list of members cannot be read.
    pub fn limit(&self, whole: Snapshot, reader: &StoreReader, repo: &Repo) -> Result<Snapshot, QueryError> {
        if !repo.is_limited() {
            return Ok(whole);
        }
        let Ok(tree) = Oid::from_hex(whole.totals.tree_oid.as_bytes()) else {
            // A snapshot of no tree. Its files, if it has any, are of unknown members, so none is shown.
            return Ok(recounted(reader, RoaringBitmap::new(), &whole.totals));
        };

        let names = repo.members_of(&tree)?.all().iter().map(|member| member.name.clone()).collect();
        let epoch = reader.state.epoch;
        let key = Key { names, epoch, totals: whole.totals, entries: whole.entries };
        if let Some(known) = self.get(&key) {
            return Ok((*known).clone());
        }

        let shows = repo.shows(&tree)?;
        let live = reader.live_entries(&key.entries).filter(|(.., path)| shows(path));
        let limited = recounted(reader, live.map(|(id, ..)| id).collect(), &key.totals);
        self.keep(key, limited.clone());
        Ok(limited)
    }

    fn get(&self, key: &Key) -> Option<Arc<Snapshot>> {
        let mut known = sync::lock(&self.0);
        let at = known.iter().position(|(other, _)| other == key)?;
        let found = known.remove(at);
        let snapshot = found.1.clone();
        known.push(found);
        Some(snapshot)
    }

    fn keep(&self, key: Key, snapshot: Snapshot) {
        let mut known = sync::lock(&self.0);
        if known.len() >= MAX_SNAPSHOTS {
            known.remove(0);
        }
        known.push((key, Arc::new(snapshot)));
    }
}

/// The snapshot of `entries`, which are some of those that `totals` count.
fn recounted(reader: &StoreReader, entries: RoaringBitmap, totals: &Totals) -> Snapshot {
    let mut snapshot = Snapshot { entries, totals: totals.clone() };
    snapshot.totals = publish::recount(reader, &snapshot);
    snapshot
}
