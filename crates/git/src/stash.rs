//! Stashes that have taken the store along: `git stash --all` moves ignored files too.

use std::path::Path;

use gix::objs::{CommitRefIter, Find as _, TreeRefIter};

use super::store_dir::is_store;
use super::{ByteSlice as _, Oid};

/// Number of entries that are looked at, the newest first.
const MAX_ENTRIES: usize = 64;
/// The parent of a stash commit that has the untracked files, counted from 0.
const UNTRACKED_PARENT: usize = 2;

/// Returns whether an entry of the stash has a directory with the name of the store. Entries that cannot be
/// read have none.
///
/// `common_dir` is the git directory that all worktrees share. Cost: one look at a file where there is no
/// stash, else three objects for each entry.
pub fn is_store_stashed(common_dir: &Path) -> bool {
    let Ok(log) = std::fs::read(common_dir.join("logs/refs/stash")) else { return false };
    let Ok(objects) = gix::odb::at(common_dir.join("objects"), gix::hash::Kind::Sha1) else { return false };

    let entries = log.lines().rev().take(MAX_ENTRIES).filter_map(stashed_commit);
    entries.into_iter().any(|commit| has_store(&objects, &commit).unwrap_or(false))
}

/// The commit that a line of the log of the stash records: `OLD NEW WHO WHEN\tMESSAGE`.
fn stashed_commit(line: &[u8]) -> Option<Oid> {
    Oid::from_hex(line.fields().nth(1)?).ok()
}

/// Returns whether the untracked files of a stash commit include the store; `None` if an object is missing.
fn has_store(objects: &gix::odb::Handle, commit: &Oid) -> Option<bool> {
    let mut buffer = Vec::new();
    let stash = objects.try_find(commit, &mut buffer).ok()??;
    let untracked = CommitRefIter::from_bytes(stash.data, commit.kind()).parent_ids().nth(UNTRACKED_PARENT);
    let Some(untracked) = untracked else { return Some(false) };

    let found = objects.try_find(&untracked, &mut buffer).ok()??;
    let tree = CommitRefIter::from_bytes(found.data, commit.kind()).tree_id().ok()?;
    let found = objects.try_find(&tree, &mut buffer).ok()??;
    let mut entries = TreeRefIter::from_bytes(found.data, commit.kind()).filter_map(Result::ok);
    Some(entries.any(|entry| is_store(entry.filename)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestRepo;

    #[test]
    fn a_store_in_any_entry_is_found() {
        let repo = TestRepo::with_files(&[("a", "1\n")]);
        let git_dir = repo.root().join(".git");
        assert!(!is_store_stashed(&git_dir), "there is no stash");
        repo.write(".git/info/exclude", "/.codeweaver/\n").write(".codeweaver/nonce", "1\n");
        repo.write("a", "2\n").write("b", "untracked\n").git(["stash", "-q", "-u"]);
        assert!(!is_store_stashed(&git_dir), "the store is ignored");
        repo.write("a", "3\n").git(["stash", "-q", "--all"]);
        repo.write("a", "4\n").git(["stash", "-q"]);
        assert!(is_store_stashed(&git_dir));
        repo.git(["stash", "pop", "-q"]).git(["checkout", "-q", "a"]).git(["stash", "pop", "-q"]);
        assert!(!is_store_stashed(&git_dir), "only the entry without it is left");
    }
}
