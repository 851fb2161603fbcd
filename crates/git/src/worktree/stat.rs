//! Stat data of files, and the stat cache: oids of files whose content had to be read, under their stat data.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashMap;

use super::cache_file::{self, take};
use crate::{BStr, BString, Oid};

/// Kind of the file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File {
        executable: bool,
    },
    Symlink,
    Directory,
    /// Sockets, pipes, devices.
    Other,
}

/// A time in seconds and nanoseconds since 1970. Earlier times are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time {
    pub seconds: u64,
    pub nanos: u32,
}

impl Time {
    /// The time of a file; that of 1970 if the system does not know it.
    pub fn from_system_time(time: std::io::Result<SystemTime>) -> Time {
        let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        Time { seconds: since.as_secs(), nanos: since.subsec_nanos() }
    }

    /// The present time.
    pub fn now() -> Time {
        Time::from_system_time(Ok(SystemTime::now()))
    }

    /// Returns whether this change time is racy: a change after the observation at `observed` could leave the
    /// same time.
    ///
    /// File systems record the time of the last kernel tick, and some of them whole or even seconds.
    pub fn is_racy(self, observed: Time) -> bool {
        const TICK: Duration = Duration::from_millis(20);
        const COARSE: Duration = Duration::from_secs(2);
        let margin = if self.nanos == 0 { COARSE } else { TICK };
        self.since_epoch() + margin >= observed.since_epoch()
    }

    fn since_epoch(self) -> Duration {
        Duration::new(self.seconds, self.nanos)
    }

    /// Returns whether a time of git's index is this one. Git stores the low 32 bits of the seconds, and may
    /// leave the nanoseconds zero.
    fn matches_index(self, indexed: gix::index::entry::stat::Time) -> bool {
        self.seconds as u32 == indexed.secs && (indexed.nsecs == 0 || self.nanos == indexed.nsecs)
    }

    /// Removes seconds u64 and nanoseconds u32, little endian, from the front of `rest`.
    fn take(rest: &mut &[u8]) -> Option<Time> {
        let seconds = u64::from_le_bytes(take(rest)?);
        Some(Time { seconds, nanos: u32::from_le_bytes(take(rest)?) })
    }

    /// A time as `lstat` gives it.
    #[cfg(unix)]
    fn of_parts(seconds: i64, nanos: i64) -> Time {
        Time { seconds: u64::try_from(seconds).unwrap_or(0), nanos: u32::try_from(nanos).unwrap_or(0) }
    }
}

/// The fields of `lstat` that change when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    pub size: u64,
    pub mtime: Time,
    pub ctime: Time,
    pub inode: u64,
}

impl FileStat {
    #[cfg(unix)]
    pub fn from_metadata(meta: &Metadata) -> FileStat {
        use std::os::unix::fs::MetadataExt as _;
        FileStat {
            size: meta.len(),
            mtime: Time::of_parts(meta.mtime(), meta.mtime_nsec()),
            ctime: Time::of_parts(meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        }
    }

    #[cfg(not(unix))]
    pub fn from_metadata(meta: &Metadata) -> FileStat {
        FileStat {
            size: meta.len(),
            mtime: Time::from_system_time(meta.modified()),
            ctime: Time::from_system_time(meta.created()),
            inode: 0,
        }
    }

    /// Appends size, mtime and ctime (each seconds u64, nanoseconds u32) and inode, little endian.
    pub fn put(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.size.to_le_bytes());
        for time in [self.mtime, self.ctime] {
            bytes.extend_from_slice(&time.seconds.to_le_bytes());
            bytes.extend_from_slice(&time.nanos.to_le_bytes());
        }
        bytes.extend_from_slice(&self.inode.to_le_bytes());
    }

    /// Removes the output of [`Self::put`] from the front of `rest`.
    pub fn take(rest: &mut &[u8]) -> Option<FileStat> {
        let size = u64::from_le_bytes(take(rest)?);
        let (mtime, ctime) = (Time::take(rest)?, Time::take(rest)?);
        Some(FileStat { size, mtime, ctime, inode: u64::from_le_bytes(take(rest)?) })
    }

    /// Returns whether the stat data in an index entry is that of this file. Fields that git left zero are
    /// not compared.
    pub fn matches_index(&self, indexed: &gix::index::entry::Stat, trust_ctime: bool) -> bool {
        self.size as u32 == indexed.size
            && self.mtime.matches_index(indexed.mtime)
            && (!trust_ctime || self.ctime.matches_index(indexed.ctime))
            && (indexed.ino == 0 || self.inode as u32 == indexed.ino)
    }
}

impl Kind {
    pub fn from_metadata(meta: &Metadata) -> Kind {
        let kind = meta.file_type();
        if kind.is_symlink() {
            Kind::Symlink
        } else if kind.is_dir() {
            Kind::Directory
        } else if kind.is_file() {
            Kind::File { executable: is_executable(meta) }
        } else {
            Kind::Other
        }
    }
}

#[cfg(unix)]
fn is_executable(meta: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    meta.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}

/// Oid and size of the converted content of a file, with the stat data for which they are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CachedBlob {
    pub stat: FileStat,
    pub oid: Oid,
    pub converted_size: u64,
}

/// Stat cache: files whose content was hashed because git's index does not prove that they are unmodified. A
/// reader must not write git's index, so the result is stored here. One cache file per worktree.
///
/// Layout, little endian, in the envelope of [`cache_file`]: magic `CWSTAT01`; conversion key 16 bytes; bytes
/// per oid u8; number of entries u32; entries. Entry: path length u16, path, stat data ([`FileStat::put`]),
/// converted size u64, oid. A file with any other content is treated as empty; losing it costs time only.
#[derive(Default)]
pub(super) struct StatCache {
    entries: FxHashMap<BString, CachedBlob>,
    /// Hash of everything besides the file that its converted bytes depend on.
    conversion_key: [u8; 16],
}

const MAGIC: &[u8; 8] = b"CWSTAT01";

impl StatCache {
    /// An empty cache.
    pub fn new(conversion_key: [u8; 16]) -> StatCache {
        StatCache { entries: FxHashMap::default(), conversion_key }
    }

    /// Returns whether the cache is valid for this conversion key.
    pub fn has_key(&self, conversion_key: [u8; 16]) -> bool {
        self.conversion_key == conversion_key
    }

    /// Returns this cache if it has this key, else an empty one: other attributes convert the same file to
    /// other bytes.
    pub fn for_key(self, conversion_key: [u8; 16]) -> StatCache {
        if self.has_key(conversion_key) { self } else { StatCache::new(conversion_key) }
    }

    /// Loads the cache file; empty if there is none. Racy entries are left out: the time of the last change
    /// must be older than the cache file, by the clock that wrote both.
    pub fn load(path: &Path) -> StatCache {
        Self::try_load(path).unwrap_or_default()
    }

    fn try_load(path: &Path) -> Option<StatCache> {
        let bytes = cache_file::read(path, MAGIC)?;
        let written = FileStat::from_metadata(&std::fs::symlink_metadata(path).ok()?).mtime;

        let rest = &mut bytes.get(MAGIC.len()..)?;
        let conversion_key = take(rest)?;
        let oid_bytes = usize::from(take::<1>(rest)?[0]);
        let count = u32::from_le_bytes(take(rest)?);

        let mut entries = FxHashMap::default();
        for _ in 0..count {
            let path = cache_file::take_path(rest)?;
            let stat = FileStat::take(rest)?;
            let converted_size = u64::from_le_bytes(take(rest)?);
            let oid = Oid::try_from(cache_file::take_slice(rest, oid_bytes)?).ok()?;
            if !stat.mtime.is_racy(written) {
                entries.insert(path, CachedBlob { stat, oid, converted_size });
            }
        }

        (!bytes.has_failed()).then_some(StatCache { entries, conversion_key })
    }

    /// Returns the entry of `path`, if it is valid for `stat`.
    pub fn get(&self, path: &BStr, stat: &FileStat) -> Option<CachedBlob> {
        self.entries.get(path).filter(|known| known.stat == *stat).copied()
    }

    pub fn insert(&mut self, path: BString, known: CachedBlob) {
        self.entries.insert(path, known);
    }

    /// Adds the entries of `other` for paths that this cache does not have.
    pub fn fill_from(&mut self, other: StatCache) {
        for (path, known) in other.entries {
            self.entries.entry(path).or_insert(known);
        }
    }

    /// Replaces the cache file. Best effort.
    pub fn store(&self, path: &Path) {
        let mut bytes = [MAGIC.as_slice(), &self.conversion_key].concat();

        let mut entries: Vec<_> =
            self.entries.iter().filter(|(path, _)| path.len() <= usize::from(u16::MAX)).collect();
        entries.sort_by(|a, b| a.0.cmp(b.0));

        let oid_bytes = entries.first().map_or(0, |(_, known)| known.oid.as_slice().len());
        bytes.push(oid_bytes as u8);
        bytes.extend_from_slice(&(entries.len() as u32).to_le_bytes());

        for (path, CachedBlob { stat, oid, converted_size }) in entries {
            cache_file::put_path(&mut bytes, path.as_ref());
            stat.put(&mut bytes);
            bytes.extend_from_slice(&converted_size.to_le_bytes());
            bytes.extend_from_slice(oid.as_slice());
        }

        cache_file::write(path, bytes);
    }
}

/// Returns whether the error means that there is no such file.
pub(super) fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    // No file system has a file whose name is too long for it.
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_blob;

    fn known(mtime: u64) -> CachedBlob {
        let time = Time { seconds: mtime, nanos: 5 };
        let stat = FileStat { size: 3, mtime: time, ctime: time, inode: 9 };
        CachedBlob { stat, oid: hash_blob(b"abc", gix::hash::Kind::Sha1), converted_size: 3 }
    }

    #[test]
    fn racy_entries_are_not_loaded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stat");
        let mut cache = StatCache::default();
        cache.insert("a/old".into(), known(1_000));
        cache.insert("b/new".into(), known(Time::now().seconds + 60));
        cache.store(&path);
        let loaded = StatCache::load(&path);
        assert_eq!(loaded.get("a/old".into(), &known(1_000).stat), Some(known(1_000)));
        assert_eq!(loaded.get("a/old".into(), &known(1_001).stat), None);
        assert_eq!(loaded.entries.len(), 1);
    }

    #[test]
    fn a_damaged_cache_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stat");
        let mut cache = StatCache::default();
        cache.insert("a".into(), known(1_000));
        cache.store(&path);
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            assert!(StatCache::load(&path).entries.is_empty(), "{at}");
            std::fs::write(&path, &good[..at]).unwrap();
            assert!(StatCache::load(&path).entries.is_empty(), "{at}");
        }
        assert!(StatCache::load(&dir.path().join("none")).entries.is_empty());
    }
}
