//! Operations of git that take several steps, such as a rebase.

use super::Repo;

/// An operation in progress in this worktree that will move HEAD again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Rebase,
    Am,
    CherryPick,
    Revert,
    Merge,
    Bisect,
}

/// Files and directories that exist in the git directory while an operation is in progress. The first match
/// decides.
const OPERATIONS: &[(&str, Operation)] = &[
    ("rebase-apply/applying", Operation::Am),
    ("rebase-apply", Operation::Rebase),
    ("rebase-merge", Operation::Rebase),
    ("CHERRY_PICK_HEAD", Operation::CherryPick),
    ("REVERT_HEAD", Operation::Revert),
    ("MERGE_HEAD", Operation::Merge),
    ("BISECT_LOG", Operation::Bisect),
];

impl Repo {
    /// Returns the operation in progress in this worktree.
    pub fn operation(&self) -> Option<Operation> {
        OPERATIONS
            .iter()
            .find(|(mark, _)| self.git_dir().join(mark).exists())
            .map(|(_, operation)| *operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    fn one_commit() -> TestRepo {
        TestRepo::with_files(&[("a.txt", "one\n"), ("dir/b.txt", "two\n")])
    }

    #[test]
    fn operations_in_progress_are_detected() {
        let repo = one_commit();
        let open = repo.open();
        assert_eq!(open.operation(), None);
        for (mark, operation) in OPERATIONS {
            let path = repo.root().join(".git").join(mark);
            std::fs::create_dir_all(&path).unwrap();
            assert_eq!(open.operation(), Some(*operation), "{mark}");
            std::fs::remove_dir_all(repo.root().join(".git").join(mark.split('/').next().unwrap())).unwrap();
        }
    }

    #[test]
    fn a_conflicting_rebase_and_merge_are_detected() {
        let repo = one_commit();
        repo.git(["checkout", "-qb", "side"]);
        repo.write("a.txt", "side\n");
        repo.commit("side");
        repo.git(["checkout", "-q", "main"]);
        repo.write("a.txt", "main\n");
        repo.commit("main");
        repo.try_git(["rebase", "side"]);
        assert_eq!(repo.open().operation(), Some(Operation::Rebase));
        repo.git(["rebase", "--abort"]);
        repo.try_git(["merge", "side"]);
        assert_eq!(repo.open().operation(), Some(Operation::Merge));
    }
}
