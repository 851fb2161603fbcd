//! A status run that can be brought up to date: the inputs it read, its scan and its outcome.

use std::sync::Arc;

use gix::index::entry::{Mode as EntryMode, Stage};
use rustc_hash::FxHashSet;

use super::changes::WorktreeChanges;
use super::context::StatusContext;
use super::fsmonitor::MAX_TOUCHED_FILES;
use super::index::LazyIndex;
use super::inputs::InputFile;
use super::scan::WorktreeScan;
use super::stat::Kind;
use super::untracked::Excludes;
use super::{classify, index, tracked};
use crate::{BStr, BString, GitError, Oid};

/// A status run with everything that a later run needs to reuse it.
pub(super) struct StatusRun {
    pub index: Arc<LazyIndex>,
    pub inputs: Vec<InputFile>,
    pub scan: WorktreeScan,
    pub outcome: Outcome,
}

/// The result of a status run.
pub(super) struct Outcome {
    /// The tree that the working tree was compared with.
    pub head_tree: Option<Oid>,
    /// Whether every committed path is in the index. Otherwise files were read that the scan does not cover.
    pub all_in_index: bool,
    pub changes: Arc<WorktreeChanges>,
}

impl StatusRun {
    /// Returns whether no path was left out for lack of time.
    pub fn is_complete(&self) -> bool {
        self.scan.unchecked() == 0 && self.outcome.changes.unchecked == 0
    }

    /// Returns whether later runs can rely on a file monitor: this run is complete, and at most
    /// [`MAX_TOUCHED_FILES`] files have several hard links. A monitor misses writes under another name, so
    /// each run checks these files.
    pub fn is_watchable(&self) -> bool {
        self.is_complete() && self.scan.tracked.hard_linked.len() <= MAX_TOUCHED_FILES
    }

    /// Returns whether the outcome holds while no file is touched. Files in conflict, and committed files
    /// that are not in the index, are read in each run.
    pub fn is_reusable(&self) -> bool {
        self.outcome.all_in_index && self.scan.tracked.conflicted.is_empty()
    }

    /// Returns this run with the files of `touched` checked again; `None` if a full scan is needed.
    ///
    /// `is_walked` returns whether an untracked file at a path belongs to the result: its directory is
    /// neither ignored nor part of another repository.
    pub fn update(
        mut self,
        context: &StatusContext,
        touched: FxHashSet<BString>,
        is_walked: impl Fn(&BStr) -> bool,
    ) -> Result<Option<StatusRun>, GitError> {
        let StatusContext { repo, head_tree, .. } = *context;
        if touched.is_empty() && self.is_reusable() && self.outcome.head_tree.as_ref() == head_tree {
            return Ok(Some(self));
        }

        let index = self.index.get(repo)?;
        // The scan refers to entries by position, which is valid only for the index that was scanned.
        let is_same_index =
            self.inputs.iter().all(InputFile::is_unchanged) && self.scan.tracked.fits(index.entries().len());
        if !is_same_index || !self.rescan(context, &index, &touched, is_walked)? {
            return Ok(None);
        }

        let head = index::diff_head(repo, &index, head_tree)?;
        let all_in_index = head.all_in_index();
        let changes = Arc::new(classify::classify(context, &index, head, &self.scan)?);
        self.outcome = Outcome { head_tree: head_tree.copied(), all_in_index, changes };
        Ok(Some(self))
    }

    /// Checks the files of `touched` again. Returns false if a full scan is needed.
    fn rescan(
        &mut self,
        context: &StatusContext,
        index: &gix::index::State,
        touched: &FxHashSet<BString>,
        is_walked: impl Fn(&BStr) -> bool,
    ) -> Result<bool, GitError> {
        /// Number of path comparisons that take as long as a full scan.
        const MAX_COMPARISONS: usize = 4_000_000;

        let tracked = &self.scan.tracked;
        let n_listed = tracked.deleted.len() + tracked.maybe_modified.len() + tracked.hard_linked.len();
        if touched.len() * (n_listed + self.scan.untracked.paths.len()) > MAX_COMPARISONS {
            return Ok(false);
        }

        let local = context.repo.local();
        let mut excludes = None;
        for path in touched {
            let path: &BStr = path.as_ref();
            if let Some(range) = index.entry_range(path) {
                let position = range.start;
                // Files in conflict are read in each run.
                if index.entries()[position].stage() == Stage::Unconflicted {
                    let tracked = &mut self.scan.tracked;
                    let was_hard_linked = tracked.hard_linked.contains(&position);
                    tracked.rescan(context, index, position);
                    // The other name of a new hard link can be any file of the working tree.
                    if !was_hard_linked && tracked.hard_linked.contains(&position) {
                        return Ok(false);
                    }
                }
                continue;
            }

            let untracked = &mut self.scan.untracked.paths;
            untracked.retain(|known| known != path);
            let Ok(meta) = std::fs::symlink_metadata(context.full_path(path)) else { continue };
            match Kind::from_metadata(&meta) {
                Kind::File { .. } if tracked::has_several_links(&meta) => return Ok(false),
                Kind::File { .. } | Kind::Symlink => {}
                Kind::Directory => return Ok(false),
                Kind::Other => continue,
            }
            // Opening the ignore rules costs more than checking a few tracked files.
            let excludes = match &mut excludes {
                Some(excludes) => excludes,
                None => excludes.insert(Excludes::new(context.repo, &local, index)?),
            };
            if is_walked(path) && !excludes.is_excluded(path, EntryMode::FILE) {
                untracked.push(path.to_owned());
            }
        }

        Ok(self.scan.unchecked() == 0)
    }
}
