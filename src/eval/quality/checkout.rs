//! The tree of an issue in a directory of its own, for external commands.
//!
//! It has no `.git` and no index: an explorer must find its own way, and not the fixing commit.

use crate::eval::error::EvalError;
use crate::git::{self, BString, ByteSlice, Mode, Oid, Repo};
use std::collections::BTreeSet;
use std::path::Path;

/// A larger file is left empty.
const MAX_BYTES: u64 = 8 << 20;

/// The files of a tree in a temporary directory, which is removed at the end.
pub struct Checkout {
    directory: tempfile::TempDir,
    files: BTreeSet<BString>,
}

impl Checkout {
    /// Writes the files of `tree`. Symbolic links and submodules are left out, so that nothing refers to a
    /// place outside.
    ///
    /// # Errors
    /// [`EvalError::Git`], [`EvalError::Write`].
    pub fn new(repo: &Repo, tree: &Oid) -> Result<Checkout, EvalError> {
        let directory = tempfile::Builder::new()
            .prefix("codeweaver-tree-")
            .tempdir()
            .map_err(|source| EvalError::Write { path: std::env::temp_dir(), source })?;
        let mut blobs = repo.blobs();
        let mut files = BTreeSet::new();
        for file in git::walk_tree(repo, tree)? {
            if !matches!(file.mode, Mode::File | Mode::Executable) {
                continue;
            }
            // A name that this system cannot have.
            let Ok(relative) = file.path.to_path() else { continue };
            let is_large = blobs.size(&file.oid)?.is_none_or(|size| size > MAX_BYTES);
            let bytes = if is_large { None } else { blobs.read(&file.oid)? };
            let path = directory.path().join(relative);
            write(&path, bytes.unwrap_or_default()).map_err(|source| EvalError::Write { path, source })?;
            files.insert(file.path);
        }
        Ok(Checkout { directory, files })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The path in the tree of a file that a command named: relative to the tree, or below its directory.
    /// `None` if there is no such file.
    pub fn file(&self, named: &str) -> Option<String> {
        let below = self.path().to_str().and_then(|root| named.strip_prefix(root));
        let path = below.unwrap_or(named).trim_start_matches('/').trim_start_matches("./");
        self.files.contains(path.as_bytes().as_bstr()).then(|| path.to_owned())
    }
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    #[test]
    fn a_tree_is_written_without_git() {
        let repo = TestRepo::with_files(&[("a/b.rs", "fn b() {}"), ("c.md", "# c")]);
        let repo = repo.open();
        let tree = repo.resolve("HEAD").unwrap().tree;
        let checkout = Checkout::new(&repo, &tree).unwrap();
        assert_eq!(std::fs::read_to_string(checkout.path().join("a/b.rs")).unwrap(), "fn b() {}");
        assert!(!checkout.path().join(".git").exists());
        let absolute = checkout.path().join("c.md");
        assert_eq!(checkout.file(absolute.to_str().unwrap()).as_deref(), Some("c.md"));
        assert_eq!(checkout.file("./a/b.rs").as_deref(), Some("a/b.rs"));
        assert_eq!(checkout.file("a"), None, "a directory");
        assert_eq!(checkout.file("../c.md"), None);
    }
}
