//! An issue with the tree that is searched for it.

use serde::Serialize;

use codeweaver_git::{self as git, BStr, Oid, Repo};

use super::checkout::Checkout;
use super::issue::Issue;
use crate::error::EvalError;

/// An issue, its repository and the tree of its revision.
pub struct Subject<'a> {
    pub issue: &'a Issue,
    pub repo: &'a Repo,
    pub tree: Oid,
}

/// The part of an issue that external commands get, without labels, revision and commit.
#[derive(Serialize)]
pub struct Told<'a> {
    pub id: &'a str,
    pub summary: String,
    pub text: &'a str,
    pub repository: &'a str,
}

impl<'a> Subject<'a> {
    pub fn new(issue: &'a Issue, repo: &'a Repo, tree: Oid) -> Subject<'a> {
        Subject { issue, repo, tree }
    }

    pub fn told(&self) -> Told<'a> {
        Told {
            id: &self.issue.id,
            summary: self.issue.summary(),
            text: &self.issue.text,
            repository: &self.issue.repository,
        }
    }

    /// Writes the files of the tree to a directory. Each command gets one of its own, so that no command sees
    /// the files that another one left there.
    ///
    /// # Errors
    /// Those of [`Checkout::new`].
    pub fn checkout(&self) -> Result<Checkout, EvalError> {
        Checkout::new(self.repo, &self.tree)
    }

    /// Returns the line ranges of the file at `path` that the fixing commit changed, 1-based and inclusive;
    /// `None` if the commit is not known, or did not change the file.
    ///
    /// # Errors
    /// [`EvalError::Git`].
    pub fn changed_lines(&self, path: &str) -> Result<Option<Vec<(u32, u32)>>, EvalError> {
        let Some(commit) = &self.issue.commit else { return Ok(None) };
        let fixed = self.repo.resolve(commit)?.tree;
        let path = git::quoting::bytes(path);
        let path: &BStr = path.as_ref();

        let (Some(old), Some(new)) = (self.file(&self.tree, path)?, self.file(&fixed, path)?) else {
            return Ok(None);
        };
        let Some(diff) = git::diff_lines(&old, &new) else { return Ok(None) };

        let mut lines = Vec::new();
        for hunk in &diff.hunks {
            // An insertion has no old lines, and counts as a change of the line after it.
            let first = hunk.old.start + 1;
            lines.push((first, hunk.old.end.max(first)));
        }

        Ok((!lines.is_empty()).then_some(lines))
    }

    /// Reads the file at `path` of `tree`; `None` if there is none.
    fn file(&self, tree: &Oid, path: &BStr) -> Result<Option<Vec<u8>>, EvalError> {
        let Some(file) = git::entry_at(self.repo, tree, path)? else { return Ok(None) };
        Ok(self.repo.blobs().read(&file.oid)?.map(<[u8]>::to_vec))
    }
}
