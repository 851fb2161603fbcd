//! Input shared by the steps of a status run: repository, target, limits.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::{BStr, ByteSlice as _, GitError, Oid, Repo};

/// Input and limits of one status run.
#[derive(Clone, Copy)]
pub(super) struct StatusContext<'a> {
    pub repo: &'a Repo,
    /// Root of the working tree.
    pub root: &'a Path,
    /// The tree that the working tree is compared with; `None` if nothing is committed.
    pub head_tree: Option<&'a Oid>,
    /// Path of the stat cache. The status cache and the untracked cache are stored beside it.
    pub cache_file: &'a Path,
    /// Paths that are not reached before this time count as unchecked.
    pub deadline: Instant,
    pub tuning: Tuning,
}

impl<'a> StatusContext<'a> {
    /// Creates the context of a run that may last until `deadline`.
    ///
    /// # Errors
    /// [`GitError::Bare`] if the repository has no working tree.
    pub fn new(
        repo: &'a Repo,
        head_tree: Option<&'a Oid>,
        cache_file: &'a Path,
        deadline: Instant,
        tuning: Tuning,
    ) -> Result<Self, GitError> {
        let root = repo.work_dir().ok_or_else(|| GitError::Bare { path: repo.git_dir().to_owned() })?;
        Ok(StatusContext { repo, root, head_tree, cache_file, deadline, tuning })
    }

    /// The file-system path of a path of the working tree.
    pub fn full_path(&self, path: &BStr) -> PathBuf {
        self.root.join(path.to_path_lossy())
    }

    /// Returns whether the time budget is used up.
    pub fn is_late(&self) -> bool {
        Instant::now() > self.deadline
    }
}

/// Thresholds of the status engine. They decide how work is divided and which caches are written, never the
/// result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    /// Tracked files per thread: starting another thread pays from this number on, at 1 µs or more per
    /// `lstat`.
    pub entries_per_thread: usize,
    /// Paths per block of the status cache. A thread revalidates one block at a time.
    pub paths_per_block: usize,
    /// Minimum number of directories for which the untracked cache is written. Reading fewer directories is
    /// as fast as reading the cache.
    pub min_cached_directories: usize,
    /// Minimum number of changed directories for which the untracked cache is written again. An editor that
    /// saves by renaming changes one directory per save, which does not justify a rewrite.
    pub min_changed_directories: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            entries_per_thread: 1000,
            paths_per_block: 512,
            min_cached_directories: 256,
            min_changed_directories: 32,
        }
    }
}

#[cfg(test)]
impl Tuning {
    /// Values at which repositories of a few files use several threads, several blocks and all caches.
    pub const SMALL: Tuning = Tuning {
        entries_per_thread: 2,
        paths_per_block: 2,
        min_cached_directories: 1,
        min_changed_directories: 1,
    };
}
