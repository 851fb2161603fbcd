//! What the file system says about a file without reading it, and the cache that spares reading it again.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashMap;

use super::cache_file::{self, take};
use crate::git::{BStr, BString, Oid};

/// Kinds of things that can lie at a path.
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

/// Seconds and nanoseconds since 1970; before it, zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Time {
    pub seconds: u64,
    pub nanos: u32,
}

impl Time {
    pub fn of(time: std::io::Result<SystemTime>) -> Time {
        let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        Time { seconds: since.as_secs(), nanos: since.subsec_nanos() }
    }

    pub fn now() -> Time {
        Time::of(Ok(SystemTime::now()))
    }

    /// Whether a change after the observation at `observed` could leave this as time of last change.
    ///
    /// File systems stamp with the time of the last kernel tick, some with whole (even) seconds.
    pub fn is_racy(self, observed: Time) -> bool {
        const TICK: Duration = Duration::from_millis(20);
        const COARSE: Duration = Duration::from_secs(2);
        let margin = if self.nanos == 0 { COARSE } else { TICK };
        let at = |time: Time| Duration::new(time.seconds, time.nanos);
        at(self) + margin >= at(observed)
    }
}

/// The part of `lstat` that changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStat {
    pub size: u64,
    pub mtime: Time,
    pub ctime: Time,
    pub inode: u64,
}

impl FileStat {
    #[cfg(unix)]
    pub fn of(meta: &Metadata) -> FileStat {
        use std::os::unix::fs::MetadataExt as _;
        let time = |seconds: i64, nanos: i64| Time {
            seconds: u64::try_from(seconds).unwrap_or(0),
            nanos: u32::try_from(nanos).unwrap_or(0),
        };
        FileStat {
            size: meta.len(),
            mtime: time(meta.mtime(), meta.mtime_nsec()),
            ctime: time(meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        }
    }

    #[cfg(not(unix))]
    pub fn of(meta: &Metadata) -> FileStat {
        FileStat {
            size: meta.len(),
            mtime: Time::of(meta.modified()),
            ctime: Time::of(meta.created()),
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

    pub fn take(rest: &mut &[u8]) -> Option<FileStat> {
        let size = u64::from_le_bytes(take(rest)?);
        let mut time = || {
            let seconds = u64::from_le_bytes(take(rest)?);
            Some(Time { seconds, nanos: u32::from_le_bytes(take(rest)?) })
        };
        let (mtime, ctime) = (time()?, time()?);
        Some(FileStat { size, mtime, ctime, inode: u64::from_le_bytes(take(rest)?) })
    }

    /// Whether git saw this file in this state when it wrote the index entry. Fields that git left out are not compared.
    pub fn matches_index(&self, indexed: &gix::index::entry::Stat, trust_ctime: bool) -> bool {
        let same = |ours: Time, theirs: gix::index::entry::stat::Time| {
            ours.seconds as u32 == theirs.secs && (theirs.nsecs == 0 || ours.nanos == theirs.nsecs)
        };
        self.size as u32 == indexed.size
            && same(self.mtime, indexed.mtime)
            && (!trust_ctime || same(self.ctime, indexed.ctime))
            && (indexed.ino == 0 || self.inode as u32 == indexed.ino)
    }
}

impl Kind {
    pub fn of(meta: &Metadata) -> Kind {
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

/// What a file with this stat was found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub stat: FileStat,
    /// Of the cleaned bytes.
    pub oid: Oid,
    pub clean_size: u64,
}

/// Files whose content was hashed because the git index does not vouch for them. One cache file per worktree.
///
/// Layout, little endian: magic `CWSTAT03`; rules 16 bytes; bytes per oid u8; entries u32; entries. Entry: path length u16, path,
/// stat ([`FileStat::put`]), clean size u64, oid. In the envelope of [`sealed`]. A file that is anything else counts as empty;
/// losing it costs time only.
#[derive(Default)]
pub(super) struct StatCache {
    entries: FxHashMap<BString, Known>,
    /// Identity of what the cleaned bytes depend on besides the file (see [`super::cleaning_rules`]).
    rules: [u8; 16],
}

const MAGIC: &[u8; 8] = b"CWSTAT03";

impl StatCache {
    /// Nothing is known yet under these rules.
    pub fn under(rules: [u8; 16]) -> StatCache {
        StatCache { entries: FxHashMap::default(), rules }
    }

    pub fn is_under(&self, rules: [u8; 16]) -> bool {
        self.rules == rules
    }

    /// This cache if it was made under `rules`, otherwise an empty one: other attributes clean the same file to other bytes.
    pub fn if_under(self, rules: [u8; 16]) -> StatCache {
        if self.is_under(rules) { self } else { StatCache::under(rules) }
    }

    /// Entries that a change could hide behind are left out: the time of last change must be older than the cache file,
    /// by the clock that wrote both.
    pub fn load(path: &Path) -> StatCache {
        Self::try_load(path).unwrap_or_default()
    }

    fn try_load(path: &Path) -> Option<StatCache> {
        let bytes = cache_file::read(path, MAGIC)?;
        let written = FileStat::of(&std::fs::symlink_metadata(path).ok()?).mtime;
        let rest = &mut bytes.get(MAGIC.len()..)?;
        let rules = take(rest)?;
        let oid_bytes = usize::from(take::<1>(rest)?[0]);
        let count = u32::from_le_bytes(take(rest)?);
        let mut entries = FxHashMap::default();
        for _ in 0..count {
            let path = cache_file::take_path(rest)?;
            let stat = FileStat::take(rest)?;
            let clean_size = u64::from_le_bytes(take(rest)?);
            let oid = Oid::try_from(cache_file::take_slice(rest, oid_bytes)?).ok()?;
            if !stat.mtime.is_racy(written) {
                entries.insert(path, Known { stat, oid, clean_size });
            }
        }
        Some(StatCache { entries, rules })
    }

    pub fn get(&self, path: &BStr, stat: &FileStat) -> Option<Known> {
        self.entries.get(path).filter(|known| known.stat == *stat).copied()
    }

    pub fn insert(&mut self, path: BString, known: Known) {
        self.entries.insert(path, known);
    }

    /// Moves the entries of `other` that this one lacks.
    pub fn keep_from(&mut self, other: StatCache) {
        for (path, known) in other.entries {
            self.entries.entry(path).or_insert(known);
        }
    }

    /// Best effort.
    pub fn store(&self, path: &Path) {
        let mut bytes = [MAGIC.as_slice(), &self.rules].concat();
        let mut entries: Vec<_> =
            self.entries.iter().filter(|(path, _)| path.len() <= usize::from(u16::MAX)).collect();
        entries.sort_by(|a, b| a.0.cmp(b.0));
        let oid_bytes = entries.first().map_or(0, |(_, known)| known.oid.as_slice().len());
        bytes.push(oid_bytes as u8);
        bytes.extend_from_slice(&(entries.len() as u32).to_le_bytes());
        for (path, Known { stat, oid, clean_size }) in entries {
            cache_file::put_path(&mut bytes, path.as_ref());
            stat.put(&mut bytes);
            bytes.extend_from_slice(&clean_size.to_le_bytes());
            bytes.extend_from_slice(oid.as_slice());
        }
        cache_file::write(path, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::hash_blob;

    fn known(mtime: u64) -> Known {
        let time = Time { seconds: mtime, nanos: 5 };
        let stat = FileStat { size: 3, mtime: time, ctime: time, inode: 9 };
        Known { stat, oid: hash_blob(b"abc", gix::hash::Kind::Sha1), clean_size: 3 }
    }

    #[test]
    fn what_is_stored_is_loaded_unless_racy() {
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
    fn damage_reads_as_empty() {
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
