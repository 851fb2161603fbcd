//! Changed files, with their renames and line counts.

use std::collections::BTreeMap;

use codeweaver_git::worktree::FileState;
use codeweaver_git::{
    BStr, BString, Mode, Oid, RenameSide, TreeComparer, TreeLookup, diff_lines, find_renames,
};
use codeweaver_index::Target;
use codeweaver_index::policy::{PathDecision, PathFlags, SkipReason};

use super::Changes;
use crate::query::error::QueryError;
use crate::query::request::ViewRequest;

/// The kind of a change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChangeKind {
    Added,
    Deleted,
    Modified,
    /// Possibly modified too.
    Renamed,
    /// Only its mode, or a link became a file.
    Mode,
}

impl FileChangeKind {
    /// The letter that git uses.
    pub fn letter(self) -> char {
        match self {
            FileChangeKind::Added => 'A',
            FileChangeKind::Deleted => 'D',
            FileChangeKind::Modified => 'M',
            FileChangeKind::Renamed => 'R',
            FileChangeKind::Mode => 'T',
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            FileChangeKind::Added => "added",
            FileChangeKind::Deleted => "deleted",
            FileChangeKind::Modified => "modified",
            FileChangeKind::Renamed => "renamed",
            FileChangeKind::Mode => "mode",
        }
    }
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The newer path, or the only one.
    pub path: BString,
    /// The older path of a rename.
    pub old_path: Option<BString>,
    pub kind: FileChangeKind,
    pub(super) old: Option<(Oid, Mode)>,
    pub(super) new: Option<(Oid, Mode)>,
    /// The state of an uncommitted file; `None` if the newer side is committed.
    pub state: Option<FileState>,
    pub is_conflicted: bool,
    /// Added and removed lines; `None` if they were not counted, as for binary files.
    pub lines: Option<(u32, u32)>,
    /// The reason for which the index leaves such a file out: generated, a lock file, binary.
    pub skipped: Option<SkipReason>,
    /// Order of importance: code, tests, documentation and data, files that are not indexed.
    rank: u8,
}

impl FileChange {
    /// Returns whether it is neither a test nor documentation nor data.
    pub fn is_code(&self) -> bool {
        self.rank == 0
    }

    /// The path of the older side.
    pub fn older_path(&self) -> &BStr {
        self.old_path.as_ref().unwrap_or(&self.path).as_ref()
    }

    fn new(path: BString, old: Option<(Oid, Mode)>, new: Option<(Oid, Mode)>) -> FileChange {
        let kind = match (old, new) {
            (None, _) => FileChangeKind::Added,
            (_, None) => FileChangeKind::Deleted,
            (Some((a, _)), Some((b, _))) if a == b => FileChangeKind::Mode,
            _ => FileChangeKind::Modified,
        };

        FileChange {
            path,
            old_path: None,
            kind,
            old,
            new,
            state: None,
            is_conflicted: false,
            lines: None,
            skipped: None,
            rank: 0,
        }
    }
}

impl Changes<'_> {
    /// The files that differ, the most important first; those of one importance by path. Without an older
    /// state, the uncommitted ones. Their lines are not counted, see [`Self::count_lines`].
    ///
    /// # Errors
    /// [`codeweaver_git::GitError`] if a tree cannot be read, as in a partial clone without trees.
    pub fn files(&mut self) -> Result<Vec<FileChange>, QueryError> {
        let mut files = match (&self.ends.from, self.ends.to.tree) {
            (Some(from), Some(to)) => {
                let from = from.tree;
                self.between_trees(from.as_ref(), &to)?
            }
            (Some(_), None) | (None, _) => Vec::new(),
        };
        if self.ends.with_worktree {
            files = self.with_uncommitted(files)?;
        }

        // The other side of a rename may be outside of the paths that were asked for.
        let has_half = files.iter().any(|file| is_half(file) && self.paths.matches(file.path.as_ref()));
        files.retain(|file| has_half && is_half(file) || self.paths.matches(file.path.as_ref()));
        self.pair_renames(&mut files)?;
        let paths = &self.paths;
        files.retain(|file| paths.matches(file.path.as_ref()) || paths.matches(file.older_path()));

        for file in &mut files {
            self.request.cancel.check()?;
            self.judge(file);
        }
        files.sort_by(|a, b| (a.rank, &a.path).cmp(&(b.rank, &b.path)));
        Ok(files)
    }

    /// Counts the lines of `files` until the time is up. Reads both versions of each.
    ///
    /// # Errors
    /// The working tree cannot be read; [`QueryError::Cancelled`].
    pub fn count_lines(&mut self, files: &mut [FileChange]) -> Result<(), QueryError> {
        let (mut n_late, mut n_missing) = (0, 0);
        for file in files.iter_mut() {
            if self.is_late()? {
                n_late += 1;
                continue;
            }

            let is_same = matches!((file.old, file.new), (Some((a, _)), Some((b, _))) if a == b);
            if is_same && file.state.is_none() {
                file.lines = Some((0, 0));
                continue;
            }

            let (Some(old), Some(new)) = (self.contents.old(file)?, self.contents.new_text(file)?) else {
                // A submodule has no lines to count, so nothing is missing.
                let is_link = [file.old, file.new].iter().flatten().any(|(_, mode)| *mode == Mode::Gitlink);
                n_missing += usize::from(!is_link);
                continue;
            };
            file.lines = diff_lines(&old, &new).map(|diff| (diff.added, diff.removed));
        }

        if n_late > 0 {
            self.warnings.push(format!("lines of {n_late} files not counted: the time was up; narrow paths"));
        }
        if n_missing > 0 {
            self.warnings.push(format!(
                "{n_missing} files cannot be compared: their contents are too large or not in this clone"
            ));
        }
        Ok(())
    }

    /// The files that differ between two trees.
    fn between_trees(&self, from: Option<&Oid>, to: &Oid) -> Result<Vec<FileChange>, QueryError> {
        let mut trees = TreeComparer::new(&self.source.codebase.repo);
        let changes = trees.diff(from, to, &|_| true)?;
        Ok(changes.into_iter().map(|change| FileChange::new(change.path, change.old, change.new)).collect())
    }

    /// Returns `files`, which differ from HEAD's tree, with the uncommitted changes on top.
    fn with_uncommitted(&mut self, files: Vec<FileChange>) -> Result<Vec<FileChange>, QueryError> {
        let codebase = self.source.codebase;
        let head = Target::head(codebase)?;
        let status = self.source.status(&head, ViewRequest::UNLIMITED)?;

        let mut by_path: BTreeMap<BString, FileChange> =
            files.into_iter().map(|file| (file.path.clone(), file)).collect();
        let mut committed_files = head.tree.map(|tree| TreeLookup::open(&codebase.repo, tree)).transpose()?;

        for change in &status.changes.changes {
            self.request.cancel.check()?;
            let committed = match (by_path.remove(&change.path), &mut committed_files) {
                (Some(file), _) => file.old,
                (None, Some(files)) => files.find(change.path.as_ref())?.map(|file| (file.oid, file.mode)),
                (None, None) => None,
            };
            let new = change.bytes.as_ref().map(|blob| (blob.oid, blob.mode));

            // The working tree undoes the difference.
            if committed == new {
                continue;
            }
            let mut file = FileChange::new(change.path.clone(), committed, new);
            file.state = Some(change.state);
            file.is_conflicted = change.conflicted;
            by_path.insert(change.path.clone(), file);
        }

        let changes = &status.changes;
        for (n, what) in [
            (changes.unreadable.len(), "cannot be read"),
            (changes.filtered.len(), "has a filter driver (LFS, git-crypt), which is never run"),
            (changes.unlisted.len(), "is below a directory that cannot be listed"),
            (changes.unchecked, "could not be compared with the disk in time"),
        ] {
            if n > 0 {
                self.warnings.push(format!("{n} changed or unknown files left out: each {what}"));
            }
        }
        Ok(by_path.into_values().collect())
    }

    /// Makes one change of a deleted and an added file with the same or similar contents.
    fn pair_renames(&mut self, files: &mut Vec<FileChange>) -> Result<(), QueryError> {
        let deleted = positions_of(files, FileChangeKind::Deleted);
        let added = positions_of(files, FileChangeKind::Added);
        if deleted.is_empty() || added.is_empty() {
            return Ok(());
        }

        let old_sides: Vec<_> = deleted.iter().map(|&at| rename_side(&files[at])).collect();
        let new_sides: Vec<_> = added.iter().map(|&at| rename_side(&files[at])).collect();
        let (contents, deadline, cancel) = (&mut self.contents, self.deadline, &self.request.cancel);
        // After the deadline no contents are compared, so only files with the same contents are paired.
        let pairs = find_renames(&old_sides, &new_sides, |side, at| {
            if std::time::Instant::now() > deadline || cancel.is_cancelled() {
                return None;
            }
            let text = match side {
                0 => contents.old(&files[deleted[at]]),
                _ => contents.new_text(&files[added[at]]),
            };
            text.ok().flatten()
        });

        let mut is_gone = vec![false; files.len()];
        for (old_at, new_at) in pairs {
            let (old_path, old) = (files[deleted[old_at]].path.clone(), files[deleted[old_at]].old);
            let file = &mut files[added[new_at]];
            file.kind = FileChangeKind::Renamed;
            file.old_path = Some(old_path);
            file.old = old;
            is_gone[deleted[old_at]] = true;
        }

        let mut gone = is_gone.into_iter();
        files.retain(|_| !gone.next().unwrap_or_default());
        Ok(())
    }

    /// Sets the skip reason and the rank of a file.
    fn judge(&self, file: &mut FileChange) {
        let mode = file.new.or(file.old).map_or(Mode::File, |(_, mode)| mode);

        file.rank = match self.contents.policy.decide_path(file.path.as_ref(), mode) {
            PathDecision::Skip(reason) => {
                file.skipped = Some(reason);
                3
            }
            PathDecision::Index { language, flags, .. } => {
                let is_prose = language.is_none_or(|language| language.is_prose() || language.is_data());
                let beside = [PathFlags::TEST, PathFlags::EXAMPLE, PathFlags::BENCH];
                match () {
                    () if is_prose || flags.contains(PathFlags::DOCS) => 2,
                    () if beside.into_iter().any(|role| flags.contains(role)) => 1,
                    () => 0,
                }
            }
        };
    }
}

/// Returns whether a change may be one side of a rename.
fn is_half(file: &FileChange) -> bool {
    matches!(file.kind, FileChangeKind::Added | FileChangeKind::Deleted)
}

/// Positions in `files` of the added or deleted ones, submodules excepted.
fn positions_of(files: &[FileChange], kind: FileChangeKind) -> Vec<usize> {
    let mut positions = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let side = if kind == FileChangeKind::Added { file.new } else { file.old };
        if file.kind == kind && side.is_some_and(|(_, mode)| mode != Mode::Gitlink) {
            positions.push(at);
        }
    }
    positions
}

/// The only side of an added or deleted file.
fn rename_side(file: &FileChange) -> RenameSide<'_> {
    let oid = file.new.or(file.old).map_or_else(|| Oid::null(gix::hash::Kind::Sha1), |(oid, _)| oid);
    RenameSide { path: file.path.as_ref(), oid }
}
