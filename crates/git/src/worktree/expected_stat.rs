//! The stat data that a path must still have for a cached run to hold.

use std::path::Path;

use super::cache_file::take;
use super::stat::{FileStat, Time, is_absent};

/// The `lstat` result that a path must still have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedStat {
    /// No such file.
    Absent,
    /// A directory with any content.
    Directory,
    Exactly(FileStat),
}

impl ExpectedStat {
    /// Observes the current state of `path`; `None` if it cannot be determined.
    pub fn observe(path: &Path) -> Option<ExpectedStat> {
        match std::fs::symlink_metadata(path) {
            Ok(meta) => Some(ExpectedStat::Exactly(FileStat::from_metadata(&meta))),
            Err(error) if is_absent(&error) => Some(ExpectedStat::Absent),
            Err(_) => None,
        }
    }

    /// Returns whether a change after `observed` could leave the same stat data.
    pub fn is_racy(&self, observed: Time) -> bool {
        matches!(self, ExpectedStat::Exactly(stat) if stat.mtime.max(stat.ctime).is_racy(observed))
    }

    /// Returns whether `path` has this state now.
    pub fn holds_at(&self, path: &Path) -> bool {
        match (self, std::fs::symlink_metadata(path)) {
            (ExpectedStat::Absent, Err(error)) => is_absent(&error),
            (ExpectedStat::Directory, Ok(meta)) => meta.is_dir(),
            (ExpectedStat::Exactly(stat), Ok(meta)) => *stat == FileStat::from_metadata(&meta),
            _ => false,
        }
    }

    pub fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            ExpectedStat::Absent => bytes.push(0),
            ExpectedStat::Directory => bytes.push(1),
            ExpectedStat::Exactly(stat) => {
                bytes.push(2);
                stat.put(bytes);
            }
        }
    }

    pub fn take(rest: &mut &[u8]) -> Option<ExpectedStat> {
        match take(rest)? {
            [0] => Some(ExpectedStat::Absent),
            [1] => Some(ExpectedStat::Directory),
            [2] => Some(ExpectedStat::Exactly(FileStat::take(rest)?)),
            _ => None,
        }
    }
}
