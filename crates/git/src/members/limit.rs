//! Limits: a catalogue for a reader who may not see all of its members.
//!
//! A limited repository has no members but those that the reader may see. Lists of members, trees and
//! revisions that are read through it are those of a catalogue that never had the others, so that no caller
//! has to filter what it reads.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use codeweaver_base::sync;

use super::Members;
use crate::{ByteSlice as _, Oid};

/// Returns whether a reader may see the member of a name.
pub type MaySee = dyn Fn(&str) -> bool + Send + Sync;

/// The members of a catalogue that a reader may see.
pub struct Limit {
    may_see: Box<MaySee>,
    /// The members of the root tree that was read last.
    last: Mutex<Option<(Oid, Arc<Members>)>>,
}

impl Limit {
    pub fn new(may_see: Box<MaySee>) -> Limit {
        Limit { may_see, last: Mutex::default() }
    }

    /// Returns those of `all`, the members in the root tree `tree`, that the reader may see.
    pub fn apply(&self, tree: &Oid, all: &Members) -> Arc<Members> {
        let mut last = sync::lock(&self.last);
        if let Some((_, known)) = last.as_ref().filter(|(known, _)| known == tree) {
            return known.clone();
        }

        let visible = all.all.iter().filter(|member| (self.may_see)(&member.name)).cloned();
        let visible = Arc::new(Members { all: visible.collect() });
        *last = Some((*tree, visible.clone()));
        visible
    }
}

/// The members that may be seen, by name, with what is in and above them.
pub struct VisiblePaths(BTreeSet<Vec<u8>>);

impl VisiblePaths {
    /// The paths of a catalogue in which the members of `lists` are visible.
    pub fn new<'m>(lists: impl IntoIterator<Item = &'m Members>) -> VisiblePaths {
        let members = lists.into_iter().flat_map(Members::all);
        VisiblePaths(members.map(|member| member.name.clone().into_bytes()).collect())
    }

    /// Returns whether `path` is in a visible member, is one, or is a directory above one.
    pub fn contains(&self, path: &[u8]) -> bool {
        let mut ends = path.find_iter("/").chain([path.len()]);
        if ends.any(|end| self.0.contains(&path[..end])) {
            return true;
        }

        let below = [path, b"/"].concat();
        self.0.range(below.clone()..).next().is_some_and(|name| name.starts_with(&below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_and_above_visible_members_are_visible() {
        let names = ["docs", "payments/api", "payments/web"].map(|name| name.as_bytes().to_vec());
        let visible = VisiblePaths(names.into());
        for path in ["docs", "docs/a", "payments", "payments/api", "payments/api/src/a.rs"] {
            assert!(visible.contains(path.as_bytes()), "{path}");
        }
        for path in ["", "doc", "docs2", "docs2/a", "payments/apix", "payments/secret/a", "pay", "secret"] {
            assert!(!visible.contains(path.as_bytes()), "{path}");
        }
    }
}
