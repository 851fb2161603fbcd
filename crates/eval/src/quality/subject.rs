//! An issue with the tree in which it is looked for.

use super::checkout::Checkout;
use super::issue::Issue;
use crate::error::EvalError;
use codeweaver_git::{self as git, BStr, Oid, Repo};
use serde::Serialize;

/// An issue, its repository and the tree of its revision.
pub struct Subject<'a> {
    pub issue: &'a Issue,
    pub repo: &'a Repo,
    pub tree: Oid,
}

/// What external commands are told of an issue: no labels, no revision, no commit.
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

    /// The files of the tree in a directory. Each command has one of its own: what one leaves there, no other
    /// sees.
    ///
    /// # Errors
    /// Those of [`Checkout::new`].
    pub fn checkout(&self) -> Result<Checkout, EvalError> {
        Checkout::new(self.repo, &self.tree)
    }

    /// Lines of the file at `path` that the fixing commit changed, 1-based and inclusive; `None` if the
    /// commit is not known, or did not change the file.
    ///
    /// # Errors
    /// [`EvalError::Git`].
    pub fn changed_lines(&self, path: &str) -> Result<Option<Vec<(u32, u32)>>, EvalError> {
        let Some(commit) = &self.issue.commit else { return Ok(None) };
        let fixed = self.repo.resolve(commit)?.tree;
        let path = git::quoting::bytes(path);
        let path: &BStr = path.as_ref();
        let mut blobs = self.repo.blobs();
        let mut text = |tree: &Oid| -> Result<Option<Vec<u8>>, EvalError> {
            let Some(file) = git::entry_at(self.repo, tree, path)? else { return Ok(None) };
            Ok(blobs.read(&file.oid)?.map(<[u8]>::to_vec))
        };
        let (Some(old), Some(new)) = (text(&self.tree)?, text(&fixed)?) else { return Ok(None) };
        let Some(diff) = git::diff_lines(&old, &new) else { return Ok(None) };
        // An insertion changes the line before it.
        let lines = diff.hunks.iter().map(|hunk| (hunk.old.start + 1, hunk.old.end.max(hunk.old.start + 1)));
        let lines: Vec<(u32, u32)> = lines.collect();
        Ok((!lines.is_empty()).then_some(lines))
    }
}
