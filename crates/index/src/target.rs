//! The tree to index.

use codeweaver_git::Oid;

use super::codebase::Codebase;
use super::error::IndexError;

/// The tree to index, with its place in the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// `None` is the empty tree of an unborn branch.
    pub tree: Option<Oid>,
    /// The commit of the tree, if it has one.
    pub commit: Option<Oid>,
    /// The branch of HEAD, for example `refs/heads/main`.
    pub reference: Option<String>,
    /// Whether the snapshot becomes the one that answers for this worktree.
    pub is_head: bool,
}

impl Target {
    /// The current HEAD of the worktree.
    pub fn head(codebase: &Codebase) -> Result<Target, IndexError> {
        let head = codebase.repo.head()?;
        Ok(Target { tree: head.tree, commit: head.commit, reference: head.reference, is_head: true })
    }

    /// The hexadecimal oid of the tree, empty for a repository without a commit.
    pub fn tree_oid(&self) -> String {
        self.tree.map(|oid| oid.to_string()).unwrap_or_default()
    }
}
