//! Contents of the files that are compared, from git and from the working tree.

use codeweaver_chunk::language::{self, LanguageId};
use codeweaver_git::worktree::WorktreeReader;
use codeweaver_git::{BStr, BlobReader, Mode, Oid};
use codeweaver_index::Codebase;
use codeweaver_index::policy::{PathDecision, Policy};
use codeweaver_text as text;

use super::files::FileChange;
use crate::query::error::QueryError;

/// Maximum size of a file in bytes. A larger one is only said to differ.
const MAX_BYTES: u64 = 8 << 20;

/// Reads both sides of changes.
pub(super) struct Contents<'a> {
    codebase: &'a Codebase,
    blobs: BlobReader,
    /// Opened with the first file that is not committed.
    worktree: Option<WorktreeReader>,
    pub policy: Policy,
    /// The policy of HEAD, opened with the first file that is shown.
    policy_of_head: Option<Policy>,
}

impl<'a> Contents<'a> {
    /// A reader that judges paths by the policy files of `tree`.
    pub fn new(codebase: &'a Codebase, tree: Option<Oid>) -> Result<Contents<'a>, QueryError> {
        let settings = &codebase.settings.policy;
        let policy = Policy::for_tree(&codebase.repo, tree.as_ref(), settings)
            // A tree that is not in the clone has no policy files; the tables apply all the same.
            .or_else(|_| Policy::for_tree(&codebase.repo, None, settings))
            .map_err(codeweaver_index::IndexError::from)?;
        let blobs = codebase.repo.blobs();
        Ok(Contents { codebase, blobs, worktree: None, policy, policy_of_head: None })
    }

    /// The bytes of a blob as UTF-8; `None` if it is not in this clone or too large.
    pub fn blob(&mut self, oid: &Oid) -> Result<Option<Vec<u8>>, QueryError> {
        if self.blobs.size_if_good(oid).is_none_or(|size| size > MAX_BYTES) {
            return Ok(None);
        }
        Ok(self.blobs.read_if_good(oid).map(|bytes| text::into_utf8(bytes.to_vec())))
    }

    /// The older text of a change, empty if there was no file; `None` if it cannot be read.
    pub fn old(&mut self, change: &FileChange) -> Result<Option<Vec<u8>>, QueryError> {
        match change.old {
            None => Ok(Some(Vec::new())),
            Some((_, Mode::Gitlink)) => Ok(None),
            Some((oid, _)) => self.blob(&oid),
        }
    }

    /// The newer text of a change, empty if there is no file; `None` if it cannot be read.
    pub fn new_text(&mut self, change: &FileChange) -> Result<Option<Vec<u8>>, QueryError> {
        match change.new {
            None => Ok(Some(Vec::new())),
            Some((_, Mode::Gitlink)) => Ok(None),
            Some(_) if change.state.is_some() => self.on_disk(change),
            Some((oid, _)) => self.blob(&oid),
        }
    }

    /// The newer text of an uncommitted change, from the working tree.
    fn on_disk(&mut self, change: &FileChange) -> Result<Option<Vec<u8>>, QueryError> {
        if self.worktree.is_none() {
            self.worktree = Some(WorktreeReader::open(&self.codebase.repo)?);
        }

        let Some(reader) = self.worktree.as_mut() else { return Ok(None) };
        // The text of a file that cannot be read is not known, which is no failure of the whole answer.
        let bytes = reader.read(change.path.as_ref()).unwrap_or_default();
        Ok(bytes.filter(|bytes| bytes.len() as u64 <= MAX_BYTES).map(text::into_utf8))
    }

    /// Returns whether a file is a credential, by its name or by `bytes`, its text. The policy of HEAD
    /// decides, as for whole files: an older commit cannot exempt a file.
    pub fn is_secret(&mut self, path: &BStr, bytes: &[u8]) -> Result<bool, QueryError> {
        if self.policy_of_head.is_none() {
            let repo = &self.codebase.repo;
            let tree = repo.head()?.tree;
            let policy = Policy::for_tree(repo, tree.as_ref(), &self.codebase.settings.policy);
            self.policy_of_head = Some(policy.map_err(codeweaver_index::IndexError::from)?);
        }

        Ok(self.policy_of_head.as_ref().is_none_or(|policy| policy.has_credentials(path, bytes)))
    }

    /// The language of a file with these contents.
    pub fn language(&self, path: &BStr, bytes: &[u8]) -> LanguageId {
        let decided = match self.policy.decide_path(path, Mode::File) {
            PathDecision::Index { language, .. } => language,
            PathDecision::Skip(_) => None,
        };
        decided
            .or_else(|| language::by_path(path))
            .or_else(|| language::by_first_line(bytes))
            .unwrap_or(language::TEXT)
    }
}
