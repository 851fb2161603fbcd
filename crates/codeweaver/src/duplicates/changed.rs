//! The lines that were added or changed since a revision.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use codeweaver_git::{BString, BlobReader, History, Oid, Repo, diff_lines, walk_tree};
use codeweaver_index::Codebase;
use codeweaver_text as text;

use super::definitions::Doc;
use super::groups::Member;
use crate::query::QueryError;
use crate::query::view::View;

/// The files of the older state, and the lines that differ from them.
pub struct Changed<'a> {
    view: &'a View,
    blobs: BlobReader,
    old: FxHashMap<BString, Oid>,
    /// The contents of the older state: a file that has one of them under another name was moved.
    old_contents: FxHashSet<Oid>,
    /// Ranges of changed lines by path, counted from 0; `None` for a file that was added.
    lines: FxHashMap<BString, Option<Vec<Range<u32>>>>,
}

impl<'a> Changed<'a> {
    /// The changes of `view` since `revision`: since the branch has left it, if both are commits.
    ///
    /// # Errors
    /// [`codeweaver_git::GitError::UnknownRevision`], and those of reading trees.
    pub fn since(codebase: &Codebase, view: &'a View, revision: &str) -> Result<Changed<'a>, QueryError> {
        let repo = &codebase.repo;
        let files = walk_tree(repo, &base_tree(repo, view, revision)?)?;

        Ok(Changed {
            view,
            blobs: repo.blobs(),
            old_contents: files.iter().map(|file| file.oid).collect(),
            old: files.into_iter().map(|file| (file.path, file.oid)).collect(),
            lines: FxHashMap::default(),
        })
    }

    /// Returns whether `member` of the file `doc` has lines that were added or changed, or lacks some.
    ///
    /// # Errors
    /// Those of reading blobs.
    pub fn has(&mut self, member: &Member, doc: &Doc) -> Result<bool, QueryError> {
        if !self.lines.contains_key(&member.path) {
            let lines = self.changed_lines(&member.path, &doc.oid)?;
            self.lines.insert(member.path.clone(), lines);
        }

        let Some(Some(lines)) = self.lines.get(&member.path) else { return Ok(true) };
        let own = member.lines.0.saturating_sub(1)..member.lines.1;
        Ok(lines.iter().any(|lines| touches(lines, &own)))
    }

    fn changed_lines(&mut self, path: &BString, oid: &Oid) -> Result<Option<Vec<Range<u32>>>, QueryError> {
        let Some(old_oid) = self.old.get(path).copied() else {
            let is_moved = self.old_contents.contains(oid);
            return Ok(is_moved.then(Vec::new));
        };
        if old_oid == *oid {
            return Ok(Some(Vec::new()));
        }

        let new = self.view.blob_from(&mut self.blobs, oid)?;
        let old = self.blobs.read(&old_oid)?.map(|bytes| text::to_utf8(bytes).into_owned());
        let (Some(old), Some(new)) = (old, new) else { return Ok(None) };

        let diff = diff_lines(&old, &new);
        Ok(diff.map(|diff| diff.hunks.into_iter().map(|hunk| hunk.new).collect()))
    }
}

/// Returns whether changed lines are among the lines `own`. Lines that were removed leave an empty range,
/// which is among them if lines of both sides are.
fn touches(changed: &Range<u32>, own: &Range<u32>) -> bool {
    own.start < changed.end && changed.start < own.end
}

/// The tree of the last commit that `view` and `revision` have in common, or of `revision` itself if they
/// have none.
fn base_tree(repo: &Repo, view: &View, revision: &str) -> Result<Oid, QueryError> {
    let revision = repo.resolve(revision)?;
    let head = view.commit.as_deref().and_then(|commit| Oid::from_hex(commit.as_bytes()).ok());
    let (Some(commit), Some(head)) = (revision.commit, head) else { return Ok(revision.tree) };

    match History::open(repo)?.merge_base(commit, head)? {
        Some(base) => Ok(repo.resolve(&base.to_string())?.tree),
        None => Ok(revision.tree),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beside_a_definition_do_not_change_it() {
        let own = 10..20;
        for (changed, expected) in [
            (8..10, false),
            (9..11, true),
            (19..25, true),
            (20..21, false),
            (10..10, false),
            (11..11, true),
            (20..20, false),
        ] {
            assert_eq!(touches(&changed, &own), expected, "{changed:?}");
        }
    }
}
