//! Arrivals: blobs that were not in this clone when their paths were indexed, and are in it now.
//!
//! A partial clone fetches blobs when git needs them, a missing alternate may be mounted, a damaged object
//! store may be restored. None of this changes HEAD's tree, so the key of the snapshot stays the same
//! although more of it could be indexed. Queries and updates therefore ask here whether anything has arrived.
//! Nothing is ever fetched.
//!
//! Cost: none for a snapshot without missing blobs. Otherwise the names in the object store are listed and
//! compared with those of the last look that found nothing. Only if they differ, the tree is walked and each
//! missing blob is looked up.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rustc_hash::FxHashMap;

use codeweaver_base::durable::Replacement;
use codeweaver_base::regular_file;
use codeweaver_git::{self as git, BString, Oid, TreeFile};
use codeweaver_store::StoreReader;
use codeweaver_store::snapshot::Snapshot;

use super::codebase::Codebase;
use super::error::IndexError;
use crate::policy::{SkipReason, skipped_number};

/// Number of paths up to which each is looked up in the tree on its own.
const FEW_PATHS: usize = 50;

/// Number of paths of `snapshot` whose blobs were not local.
pub fn n_missing(snapshot: &Snapshot) -> u64 {
    let not_local = skipped_number(Some(SkipReason::NotLocal));
    snapshot.totals.skipped.get(&not_local).copied().unwrap_or(0)
}

/// Number of paths of `snapshot` whose blobs have arrived. `snapshot` is a complete one of the store that
/// `reader` shows. Zero if that cannot be found out because trees are missing as well.
pub fn count(codebase: &Codebase, reader: &StoreReader, snapshot: &Snapshot) -> usize {
    if n_missing(snapshot) == 0 {
        return 0;
    }

    let Ok(tree) = Oid::from_hex(snapshot.totals.tree_oid.as_bytes()) else { return 0 };
    let key = codebase.snapshot_key(&snapshot.totals.tree_oid);

    // Listed before the look-ups: a blob that arrives during them changes the names, and is found next time.
    let names = git::object_names(&codebase.repo);
    let mut looks = Looks::read(codebase);
    if looks.by_snapshot.get(&key) == Some(&names) {
        return 0;
    }

    let n_arrived = match arrived(codebase, reader, snapshot, &tree) {
        Ok(arrived) => arrived.len(),
        Err(error) => {
            tracing::debug!(component = "indexer", operation = "look for arrivals", %error, "the tree cannot be read");
            return 0;
        }
    };

    if n_arrived == 0 {
        looks.by_snapshot.retain(|key, _| reader.state.snapshots.contains_key(key));
        looks.by_snapshot.insert(key, names);
        looks.write(codebase);
    }

    n_arrived
}

/// The files of `tree` that `base` skips because their blobs were not local, and whose blobs are local now,
/// each with its entry.
pub(super) fn arrived(
    codebase: &Codebase,
    reader: &StoreReader,
    base: &Snapshot,
    tree: &Oid,
) -> Result<Vec<(u32, TreeFile)>, IndexError> {
    if n_missing(base) == 0 {
        return Ok(Vec::new());
    }

    let not_local = skipped_number(Some(SkipReason::NotLocal));
    let mut missing: FxHashMap<BString, u32> = reader
        .live_entries(&base.entries)
        .filter(|(_, record, _)| record.skipped == not_local)
        .map(|(id, _, path)| (BString::from(path), id))
        .collect();

    // One walk of the tree is cheaper than a look-up from its root for each of many paths.
    let files = if missing.len() > FEW_PATHS {
        git::walk_tree(&codebase.repo, tree)?
    } else {
        let found = missing.keys().map(|path| git::entry_at(&codebase.repo, tree, path.as_ref()));
        let mut files: Vec<TreeFile> = found.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    };

    let mut blobs = codebase.repo.present_blobs();
    let mut arrived = Vec::new();

    for file in files {
        if let Some(id) = missing.remove(&file.path)
            && blobs.is_local(&file.oid)
        {
            arrived.push((id, file));
        }
    }

    Ok(arrived)
}

/// The names in the object store at the last look that found no arrivals, by snapshot key.
///
/// A JSON file beside the status caches. Losing it costs one more look.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Looks {
    by_snapshot: BTreeMap<String, String>,
}

impl Looks {
    fn path(codebase: &Codebase) -> PathBuf {
        codebase.layout.cache().join("objects")
    }

    fn read(codebase: &Codebase) -> Looks {
        let bytes = regular_file::read(&Looks::path(codebase)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Best effort: a reader may not be allowed to write.
    fn write(&self, codebase: &Codebase) {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        let written = Replacement::new(&Looks::path(codebase))
            .inheriting()
            .stage(&bytes)
            .and_then(|staged| regular_file::make_way(&Looks::path(codebase)).and_then(|()| staged.commit()));

        if let Err(error) = written {
            tracing::debug!(component = "indexer", operation = "note objects", %error, "it could not be written");
        }
    }
}
