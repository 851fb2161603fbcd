//! The members of a repository that is a catalogue.

use std::sync::Arc;

use super::{Limit, MaySee, Members, VisiblePaths};
use crate::{GitError, Oid, Repo, hash_blob};

impl Repo {
    /// Returns whether this is a catalogue, whose tree is made of those of its members.
    pub fn is_catalogue(&self) -> bool {
        self.member_stores().is_some()
    }

    /// Reads the members of a catalogue at HEAD. An ordinary repository has none, like a catalogue without
    /// any.
    ///
    /// # Errors
    /// [`GitError::Unreadable`] if the list is damaged.
    pub fn members(&self) -> Result<Arc<Members>, GitError> {
        if !self.is_catalogue() {
            return Ok(Arc::default());
        }
        match self.head()?.tree {
            Some(tree) => self.members_of(&tree),
            None => Ok(Arc::default()),
        }
    }

    /// Reads the members of a catalogue in `tree`, which may be that of an older commit. Those that a limited
    /// repository does not show are left out.
    ///
    /// # Errors
    /// As [`Self::members`].
    pub fn members_of(&self, tree: &Oid) -> Result<Arc<Members>, GitError> {
        let Some(stores) = self.member_stores() else { return Ok(Arc::default()) };
        let all = stores.members_of(&self.local(), tree).map_err(|reason| self.unreadable(&reason))?;

        Ok(self.limit().map_or_else(|| all.clone(), |limit| limit.apply(tree, &all)))
    }
    /// Returns this catalogue as if it had only the members that `may_see` allows. HEAD is the only revision
    /// that can be resolved in it: others would tell of members that were removed. Ordinary repositories have
    /// no members and stay as they are.
    pub fn limited_to(&self, may_see: Box<MaySee>) -> Repo {
        self.with_limit(Some(Arc::new(Limit::new(may_see))))
    }

    /// Returns this repository with all its members, as those who write to it need it.
    pub fn unlimited(&self) -> Repo {
        self.with_limit(None)
    }

    /// Returns whether it is a catalogue some of whose members may not be seen.
    pub fn is_limited(&self) -> bool {
        self.is_catalogue() && self.limit().is_some()
    }

    /// Returns whether the path of a file in the root tree `tree` may be seen.
    ///
    /// # Errors
    /// As [`Self::members`].
    pub fn shows(&self, tree: &Oid) -> Result<impl Fn(&[u8]) -> bool + use<>, GitError> {
        let members = if self.is_limited() { Some(self.members_of(tree)?) } else { None };
        Ok(move |path: &[u8]| members.as_ref().is_none_or(|members| members.position(path).is_some()))
    }

    /// Returns the name under which answers show the root tree `tree`: its oid or, in a limited catalogue, a
    /// hash of the trees that may be seen.
    ///
    /// # Errors
    /// As [`Self::members`].
    pub fn shown_tree(&self, tree: &Oid) -> Result<Oid, GitError> {
        if !self.is_limited() {
            return Ok(*tree);
        }

        let mut text = String::new();
        for member in self.members_of(tree)?.all() {
            let tree = member.tree_oid().map(|oid| oid.to_string());
            text.push_str(&format!("{} {}\n", member.name, tree.unwrap_or_default()));
        }
        Ok(hash_blob(text.as_bytes(), tree.kind()))
    }

    /// The paths in the root trees `trees` that may be seen; `None` if all may be.
    ///
    /// # Errors
    /// As [`Self::members`].
    pub(crate) fn visible_paths(&self, trees: &[&Oid]) -> Result<Option<VisiblePaths>, GitError> {
        if !self.is_limited() {
            return Ok(None);
        }

        let lists = trees.iter().map(|tree| self.members_of(tree)).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(VisiblePaths::new(lists.iter().map(|list| &**list))))
    }
}
