//! Library types of the repositories that `codeweaver_testkit` makes, for unit tests.

use crate::{GitError, Oid, Repo};

pub use codeweaver_testkit::{Run, TestRepo};

/// What unit tests read from a [`TestRepo`] through the library.
pub trait OpenRepo {
    fn open(&self) -> Repo;

    /// Opens the repository of a directory, relative to the root.
    fn open_at(&self, dir: &str) -> Repo;

    fn try_open(&self) -> Result<Repo, GitError>;

    /// The object id of a revision.
    fn oid(&self, rev: &str) -> Oid;

    /// Stores raw bytes as an object of this kind without any check.
    fn write_object(&self, kind: &str, bytes: &[u8]) -> Oid;
}

impl OpenRepo for TestRepo {
    fn open(&self) -> Repo {
        self.try_open().unwrap()
    }

    fn open_at(&self, dir: &str) -> Repo {
        Repo::open_isolated(&self.root().join(dir)).unwrap()
    }

    fn try_open(&self) -> Result<Repo, GitError> {
        Repo::open_isolated(self.root())
    }

    fn oid(&self, rev: &str) -> Oid {
        let text = self.git_text(["rev-parse", "--verify", rev]);
        Oid::from_hex(text.trim().as_bytes()).unwrap()
    }

    fn write_object(&self, kind: &str, bytes: &[u8]) -> Oid {
        let mut command = self.command("git");
        command.args(["hash-object", "-w", "--literally", "--stdin", "-t", kind]);
        let run = Run::with_input(&mut command, bytes);
        Oid::from_hex(run.success().bytes().trim_ascii()).unwrap()
    }
}
