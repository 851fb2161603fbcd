//! The result of a status run: paths whose working-tree content differs from the committed tree.

use crate::{BStr, BString, ByteSlice as _, Mode, Oid};

/// Relation of a changed file to git's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(
    description = "Where the content of a changed file differs: in git's index, in the working tree only, or untracked."
)]
pub enum FileState {
    /// The index differs from the commit, the file equals the index.
    Staged,
    /// The file differs from the index.
    Dirty,
    /// The file is not in the index and not ignored.
    Untracked,
}

/// A working-tree file in the form that git would commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeBlob {
    /// Oid of the converted bytes (line endings and encoding as in a commit). No object database holds the
    /// blob unless it is staged. The null oid for files above 32 MiB, which are not read.
    pub oid: Oid,
    pub mode: Mode,
    /// Length of the converted bytes.
    pub size: u64,
}

/// A path whose content in the working tree differs from the committed tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeChange {
    pub path: BString,
    pub state: FileState,
    /// The index holds the stages of an unresolved merge.
    pub conflicted: bool,
    /// `None` if the file was deleted.
    pub bytes: Option<WorktreeBlob>,
}

/// The result of [`worktree_changes`](super::worktree_changes).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeChanges {
    /// Sorted by path.
    pub changes: Vec<WorktreeChange>,
    /// Number of paths compared with the disk.
    pub checked: usize,
    /// Number of paths and untracked directories left out because the time budget was used up.
    pub unchecked: usize,
    /// Paths with a filter driver (LFS, git-crypt) whose file seems changed. Their content is never read.
    pub filtered: Vec<BString>,
    /// Files that this process may not read, and directories, with their slash, that it may not search.
    /// Whether they differ is unknown, so they are neither changed nor deleted. Sorted; nothing below a
    /// listed directory is listed.
    pub unreadable: Vec<BString>,
    /// Directories, with their slash, whose files can be read and not listed: untracked ones are unknown.
    /// Sorted.
    pub unlisted: Vec<BString>,
}

impl WorktreeChanges {
    /// Returns whether every path that was compared is as committed.
    pub fn is_clean(&self) -> bool {
        self.changes.is_empty() && self.filtered.is_empty() && !self.has_unreadable()
    }

    /// Returns whether `other` is the same difference, regardless of the number of compared paths.
    pub fn agrees_with(&self, other: &WorktreeChanges) -> bool {
        self.changes == other.changes
            && self.filtered == other.filtered
            && self.unreadable == other.unreadable
            && self.unlisted == other.unlisted
    }

    /// Returns whether anything was left out because this process may not read it.
    pub fn has_unreadable(&self) -> bool {
        !self.unreadable.is_empty() || !self.unlisted.is_empty()
    }

    /// Returns whether the file at `path`, or a directory that it is in, cannot be read.
    pub fn is_unreadable(&self, path: &BStr) -> bool {
        !self.unreadable.is_empty() && is_below_any(path, &self.unreadable)
    }
}

/// Returns whether the sorted `places` have `path`, or a directory (which ends in a slash) that contains it.
pub(super) fn is_below_any(path: &[u8], places: &[BString]) -> bool {
    // The root is the empty path.
    has(places, b"") || has(places, path) || path.find_iter("/").any(|slash| has(places, &path[..=slash]))
}

fn has(places: &[BString], place: &[u8]) -> bool {
    places.binary_search_by(|known| known.as_slice().cmp(place)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_covers_what_is_below_it_and_no_longer_name() {
        let places: Vec<BString> = ["a/", "b.rs", "c/d/"].map(BString::from).to_vec();
        for (path, expected) in [
            ("a/x", true),
            ("a/b/x", true),
            ("a", false),
            ("ab/x", false),
            ("b.rs", true),
            ("b.rs2", false),
            ("c/x", false),
            ("c/d/x", true),
        ] {
            assert_eq!(is_below_any(path.as_bytes(), &places), expected, "{path}");
        }
        assert!(is_below_any(b"any/path", &[BString::default()]), "the root");
    }
}
