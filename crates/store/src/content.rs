//! Whether the files of a store still have the content that they were written with.
//!
//! Store files are immutable and named by their content. Searching them in place reads little of them, so
//! their bytes are hashed once and the stat data under which they were right is remembered: in memory beside
//! the open file, and for the next process in the file `hashed` of the store. A file with other stat data is
//! hashed again before it is used. An unchanged file costs one `stat` for each view.
//!
//! ```text
//! hashed: magic "CWHASHD1", then per file: path below the store (length u16, bytes), stat data, checksum
//! ```
//!
//! Losing the record costs time only. An attacker who can forge it can also forge the store.

use std::path::Path;
use std::sync::Mutex;

use rustc_hash::FxHashMap;

use codeweaver_base::sync;
use codeweaver_base::sys::Mapped;
use codeweaver_git::worktree::cache_file::{self, put_path, take_path};
use codeweaver_git::worktree::stat::{FileStat, Time};
use codeweaver_git::{BStr, ByteSlice as _};

use super::error::StoreError;
use super::layout::StoreLayout;

const MAGIC: &[u8; 8] = b"CWHASHD1";

/// Checks that `bytes` of the file at `path` hash to `name`, hexadecimal BLAKE3.
pub fn verify(path: &Path, bytes: &[u8], name: &str) -> Result<(), StoreError> {
    if blake3::hash(bytes).to_hex().as_str() == name {
        Ok(())
    } else {
        Err(StoreError::damaged(path, "its bytes do not hash to its name"))
    }
}

/// Returns whether the file at `path` is the one that was mapped, unchanged.
///
/// # Errors
/// If there is no such file, or it cannot be inspected.
pub fn is_unchanged(path: &Path, map: &Mapped) -> std::io::Result<bool> {
    let now = FileStat::from_metadata(&std::fs::metadata(path)?);
    Ok(!map.has_failed() && map.metadata().is_some_and(|then| FileStat::from_metadata(then) == now))
}

/// Returns whether the bytes of `map` may have been changed since it was opened from `path`. A file that is
/// gone or was replaced by another keeps its bytes while it is mapped.
pub fn may_be_overwritten(path: &Path, map: &Mapped) -> bool {
    let (Some(then), Ok(now)) = (map.metadata().map(FileStat::from_metadata), std::fs::metadata(path)) else {
        return map.has_failed();
    };

    let now = FileStat::from_metadata(&now);
    map.has_failed() || now.inode == then.inode && now != then
}

/// The stat data under which files of one store had the right content.
#[derive(Default)]
pub struct HashedFiles(Mutex<Option<Known>>);

/// The content of the record, and what has been added to it.
struct Known {
    /// Stat data by path below the store.
    files: FxHashMap<Vec<u8>, FileStat>,
    /// Whether there is stat data that the record on disk does not have.
    is_new: bool,
}

impl HashedFiles {
    /// Checks the content of `files` by `verify`, unless that was done for exactly these files before. Each
    /// file comes with the path that it was opened from.
    pub fn check(
        &self,
        layout: &StoreLayout,
        files: &[(&Path, &Mapped)],
        verify: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let stats: Vec<_> = files
            .iter()
            .filter_map(|(path, map)| {
                Some((path_below(layout, path)?, FileStat::from_metadata(map.metadata()?)))
            })
            .collect();
        let has_all = sync::lock(&self.0).get_or_insert_with(|| Known::load(layout)).has_all(&stats);
        // A file without stat data is always hashed.
        if has_all && stats.len() == files.len() {
            return Ok(());
        }

        // Taken before the content is read: what is written meanwhile does not count as read.
        let now = Time::now();
        verify()?;

        let mut known = sync::lock(&self.0);
        let known = known.get_or_insert_with(|| Known::load(layout));
        for (path, stat) in stats {
            // A file that was written just now could change again within the same tick of the clock. The next
            // process hashes it again.
            if !changed_at(&stat).is_racy(now) {
                known.is_new |= known.files.insert(path, stat) != Some(stat);
            }
        }

        Ok(())
    }

    /// Adds new stat data to the record, best effort. `is_named` says whether a file is still part of the
    /// store.
    pub fn save(&self, layout: &StoreLayout, is_named: impl Fn(&BStr) -> bool) {
        let mut known = sync::lock(&self.0);
        let Some(known) = known.as_mut().filter(|known| known.is_new) else { return };
        known.is_new = false;

        // Another process may have written meanwhile. Entries that both have are equal.
        for (path, stat) in Known::load(layout).files {
            known.files.entry(path).or_insert(stat);
        }
        known.files.retain(|path, _| is_named(path.as_bstr()));

        let mut bytes = MAGIC.to_vec();
        let mut sorted: Vec<_> = known.files.iter().collect();
        sorted.sort_by_key(|(path, _)| *path);
        for (path, stat) in sorted {
            put_path(&mut bytes, path.as_bstr());
            stat.put(&mut bytes);
        }

        cache_file::write(&layout.hashed(), bytes);
    }

    /// Forgets everything, in the record too: stat data does not prove that a file can be read.
    pub fn forget(&self, layout: &StoreLayout) {
        *sync::lock(&self.0) = None;
        // If the record cannot be removed, `verify` still finds the damage.
        let _ = std::fs::remove_file(layout.hashed());
    }
}

impl Known {
    /// Reads the record of the store; a missing or damaged one is empty.
    fn load(layout: &StoreLayout) -> Known {
        Known { files: read_record(layout).unwrap_or_default(), is_new: false }
    }

    fn has_all(&self, stats: &[(Vec<u8>, FileStat)]) -> bool {
        stats.iter().all(|(path, stat)| self.files.get(path) == Some(stat))
    }
}

fn read_record(layout: &StoreLayout) -> Option<FxHashMap<Vec<u8>, FileStat>> {
    let bytes = cache_file::read(&layout.hashed(), MAGIC)?;
    let mut files = FxHashMap::default();
    let rest = &mut bytes.get(MAGIC.len()..)?;
    while !rest.is_empty() {
        files.insert(take_path(rest)?.into(), FileStat::take(rest)?);
    }

    (!bytes.has_failed()).then_some(files)
}

/// The bytes of `path` below the store.
fn path_below(layout: &StoreLayout, path: &Path) -> Option<Vec<u8>> {
    let below = path.strip_prefix(layout.root()).ok()?;
    Some(below.as_os_str().to_owned().into_encoded_bytes())
}

/// The time of the last change that a program cannot set.
fn changed_at(stat: &FileStat) -> Time {
    if cfg!(unix) { stat.ctime } else { stat.mtime }
}
