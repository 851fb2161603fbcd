//! The members of a repository that is a catalogue.

use std::sync::Arc;

use super::Members;
use crate::{GitError, Oid, Repo};

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

    /// Reads the members of a catalogue in `tree`, which may be that of an older commit.
    ///
    /// # Errors
    /// As [`Self::members`].
    pub fn members_of(&self, tree: &Oid) -> Result<Arc<Members>, GitError> {
        let Some(stores) = self.member_stores() else { return Ok(Arc::default()) };
        stores.members_of(&self.local(), tree).map_err(|reason| self.unreadable(&reason))
    }
}
