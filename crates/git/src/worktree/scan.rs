//! The scan of the working tree: stat data of tracked files and directories, before any content is read.

use super::context::StatusContext;
use super::fsmonitor::FsMonitor;
use super::index::{self, HeadDiff};
use super::stat::FileStat;
use super::tracked::{self, TrackedScan};
use super::untracked::{self, UntrackedScan};
use crate::{BString, GitError};

/// Stat data of tracked files and contents of directories, from before any file is read.
pub(super) struct WorktreeScan {
    pub tracked: TrackedScan,
    pub untracked: UntrackedScan,
}

impl WorktreeScan {
    /// Number of paths and directories that were not reached before the deadline.
    pub fn unchecked(&self) -> usize {
        self.tracked.unchecked + self.untracked.unchecked
    }

    /// Takes the `lstat` results of the scan; `None` if they are incomplete.
    pub fn take_observations(&mut self) -> Option<StatObservations> {
        let files = std::mem::take(&mut self.tracked.observations);
        let directories = self.untracked.directories.take();
        Some(StatObservations { files: files?, directories: directories? })
    }
}

/// The `lstat` result of every path that a scan depends on.
pub(super) struct StatObservations {
    /// Tracked files by position in the index; `None` for files that do not exist.
    pub files: Vec<(usize, Option<FileStat>)>,
    /// Walked directories with their slash; the root is empty.
    pub directories: Vec<(BString, FileStat)>,
}

/// Stats every tracked file and walks every directory, in parallel with the comparison of the index to the
/// head tree.
pub(super) fn scan(
    context: &StatusContext,
    index: &gix::index::State,
    monitor: Option<&mut FsMonitor>,
) -> Result<(WorktreeScan, HeadDiff), GitError> {
    std::thread::scope(|scope| {
        let untracked = scope.spawn(move || untracked::scan(context, index, monitor));
        let tracked = tracked::scan(context, index);
        let head = index::diff_head(context.repo, index, context.head_tree);

        let untracked = untracked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((WorktreeScan { tracked, untracked: untracked? }, head?))
    })
}
