//! Following: the earlier paths of a file.

use codeweaver_git::{BString, RenameSide, TreeChange, TreeComparer, find_renames};

use super::Changes;
use super::commits::Step;
use crate::query::error::QueryError;

/// Maximum number of deleted files of a commit that are compared with an added one.
const MAX_DELETED: usize = 1_000;

impl Changes<'_> {
    /// If the commit adds the one file that the request is about, the file that it was renamed from. That one
    /// is followed from now on, as `git log --follow` does.
    ///
    /// # Errors
    /// A tree or a blob cannot be read.
    pub(super) fn follow_rename(
        &mut self,
        step: &Step<'_>,
        trees: &mut TreeComparer,
    ) -> Result<Option<BString>, QueryError> {
        let is_followed = self.request.follows_renames && step.parent.is_some();
        let added = step.touched.iter().find(|change| change.old.is_none());
        let Some(added) = added.filter(|change| is_followed && self.paths.is_only(&change.path)) else {
            return Ok(None);
        };

        let all = trees.diff(step.parent, &step.commit.tree, &|_| true)?;
        let deleted: Vec<&TreeChange> =
            all.iter().filter(|change| change.new.is_none()).take(MAX_DELETED).collect();
        let from = self.renamed_from(added, &deleted);

        if let Some(from) = &from {
            self.paths.include.clear();
            self.paths.of_symbol = vec![from.clone()];
        }
        Ok(from)
    }

    /// The one of `deleted` whose contents are those of `added`, or similar.
    fn renamed_from(&mut self, added: &TreeChange, deleted: &[&TreeChange]) -> Option<BString> {
        let sides: Vec<RenameSide<'_>> =
            deleted.iter().filter_map(|change| side(change, change.old)).collect();
        let new = [side(added, added.new)?];

        let contents = &mut self.contents;
        let pairs = find_renames(&sides, &new, |which, at| {
            let oid = if which == 0 { sides[at].oid } else { new[0].oid };
            contents.blob(&oid).ok().flatten()
        });
        let (old, _) = pairs.first()?;
        Some(sides[*old].path.to_owned())
    }
}

/// One side of a change as one of a rename; `None` if there is no file.
fn side(
    change: &TreeChange,
    file: Option<(codeweaver_git::Oid, codeweaver_git::Mode)>,
) -> Option<RenameSide<'_>> {
    let (oid, _) = file?;
    Some(RenameSide { path: change.path.as_ref(), oid })
}
