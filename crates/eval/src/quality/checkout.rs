//! The tree of an issue in a directory of its own, for external commands.
//!
//! It has no `.git` and no index, so that an explorer cannot look up the fixing commit or use our search.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeweaver_git::{self as git, BString, ByteSlice, Mode, Oid, Repo};

use crate::error::EvalError;

/// Most bytes of a file that is written; a larger one is left empty.
const MAX_BYTES: u64 = 8 << 20;
/// The prefix of the names of the directories.
const PREFIX: &str = "codeweaver-tree-";
/// A file of the directory, locked as long as the process lives.
const LOCK: &str = "lock";
/// The files of the tree, below the directory.
const TREE: &str = "tree";
/// A directory younger than this may belong to a process that has not locked it yet.
const STALE_AFTER: Duration = Duration::from_secs(60);

/// The files of a tree in a temporary directory, which is removed on drop.
pub struct Checkout {
    // Declared first, so that it is closed before the directory is removed: some systems keep open files.
    _lock: File,
    _directory: tempfile::TempDir,
    tree: PathBuf,
    files: BTreeSet<BString>,
}

impl Checkout {
    /// Writes the files of `tree`. Symbolic links and submodules are left out, so that nothing refers to a
    /// place outside.
    ///
    /// # Errors
    /// [`EvalError::Git`], [`EvalError::Write`].
    pub fn new(repo: &Repo, tree: &Oid) -> Result<Checkout, EvalError> {
        let place = std::env::temp_dir();
        let directory =
            tempfile::Builder::new().prefix(PREFIX).tempdir_in(&place).map_err(EvalError::write(&place))?;

        // `sweep` of another process removes older directories that have no lock.
        let path = directory.path().join(LOCK);
        let lock = File::create_new(&path).map_err(EvalError::write(&path))?;
        lock.lock().map_err(EvalError::write(&path))?;

        let root = directory.path().join(TREE);
        std::fs::create_dir(&root).map_err(EvalError::write(&root))?;

        let mut blobs = repo.blobs();
        let mut files = BTreeSet::new();
        for file in git::walk_tree(repo, tree)? {
            if !matches!(file.mode, Mode::File | Mode::Executable) {
                continue;
            }

            // Skips names that this system cannot have.
            let Ok(relative) = file.path.to_path() else { continue };

            let is_large = blobs.size(&file.oid)?.is_none_or(|size| size > MAX_BYTES);
            let bytes = if is_large { None } else { blobs.read(&file.oid)? };
            let path = root.join(relative);
            write(&path, bytes.unwrap_or_default()).map_err(|source| EvalError::Write { path, source })?;
            files.insert(file.path);
        }

        Ok(Checkout { _lock: lock, _directory: directory, tree: root, files })
    }

    /// Removes the checkouts that killed processes have left in the temporary directory.
    pub fn sweep() {
        sweep(&std::env::temp_dir(), STALE_AFTER);
    }

    pub fn path(&self) -> &Path {
        &self.tree
    }

    /// Returns the path in the tree of a file that a command named, either relative to the tree or as a path
    /// below its directory. `None` if there is no such file.
    pub fn file(&self, named: &str) -> Option<String> {
        let below = self.path().to_str().and_then(|root| named.strip_prefix(root));
        let path = below.unwrap_or(named).trim_start_matches('/').trim_start_matches("./");
        self.files.contains(path.as_bytes().as_bstr()).then(|| path.to_owned())
    }
}

/// Removes the checkouts below `place` that no process has locked and that are older than `stale_after`.
/// Those that cannot be read or removed, such as another user's, stay.
fn sweep(place: &Path, stale_after: Duration) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }

        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        let age = lock.metadata().and_then(|it| it.modified()).ok().and_then(|time| time.elapsed().ok());
        let is_stale = age.is_some_and(|age| age >= stale_after) && lock.try_lock().is_ok();

        // Closed before the directory is removed, as in `Checkout`.
        drop(lock);
        if is_stale && let Err(error) = std::fs::remove_dir_all(entry.path()) {
            tracing::debug!(path = %entry.path().display(), %error, "a stale checkout stays");
        }
    }
}

/// Writes a file and creates the directories above it.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeweaver_git::Repo;
    use codeweaver_testkit::TestRepo;

    #[test]
    fn a_tree_is_written_without_git() {
        let repo = TestRepo::with_files(&[("a/b.rs", "fn b() {}"), ("c.md", "# c")]);
        let repo = Repo::open_isolated(repo.root()).unwrap();
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

    #[test]
    fn what_a_killed_process_left_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let [stale, held, other] = [format!("{PREFIX}stale"), format!("{PREFIX}held"), "other".to_owned()]
            .map(|name| {
                let path = place.path().join(name);
                std::fs::create_dir_all(path.join(TREE)).unwrap();
                std::fs::write(path.join(LOCK), "").unwrap();
                path
            });
        let lock = File::open(held.join(LOCK)).unwrap();
        lock.lock().unwrap();
        sweep(place.path(), STALE_AFTER);
        assert!(stale.exists(), "it may not be locked yet");
        sweep(place.path(), Duration::ZERO);
        assert!(!stale.exists());
        assert!(held.exists() && other.exists());
    }
}
