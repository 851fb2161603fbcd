//! Bounds of a walk through trees, which anyone may have made: a few objects can have any number of paths.

use rustc_hash::FxHashSet;

use super::{GitError, Oid};

/// Maximum number of files. A larger tree is made to exhaust memory, for example by nested copies of one
/// subtree.
const MAX_FILES: usize = 8_000_000;
/// Number of files and directories that any tree may have.
const FREE_PATHS: usize = 100_000;
/// Maximum number of further ones for each byte of the different directories, which take some 40 bytes for an
/// entry. Copies of vendored directories stay far below; a tree that has one subtree in many places, which
/// have it in many places again, has more paths than can be visited.
const PATHS_PER_BYTE: usize = 2;
/// Maximum depth of directories. A deeper tree cannot be checked out on any platform.
const MAX_DEPTH: usize = 1_000;

/// The directories of a walk.
#[derive(Default)]
pub(super) struct WalkBounds {
    seen: FxHashSet<Oid>,
    /// Number of bytes of `seen`.
    n_bytes: usize,
    /// Number of directories that were entered, the same ones counted again.
    n_entered: usize,
}

impl WalkBounds {
    /// Adds the directory `tree`, which has `n_bytes`.
    pub fn add(&mut self, tree: Oid, n_bytes: usize) {
        if self.seen.insert(tree) {
            self.n_bytes += n_bytes;
        }
    }

    /// Counts a directory that is entered at `depth` below `root`, after `n_files` files.
    ///
    /// # Errors
    /// The tree is made to exhaust memory, time or the stack.
    pub fn enter(&mut self, root: Oid, depth: usize, n_files: usize) -> Result<(), GitError> {
        self.n_entered += 1;
        if depth > MAX_DEPTH || n_files > MAX_FILES {
            return Err(GitError::TooManyFiles { tree: root, limit: MAX_FILES });
        }
        if self.n_entered + n_files > FREE_PATHS + PATHS_PER_BYTE * self.n_bytes {
            return Err(GitError::RepeatedDirectories { tree: root });
        }
        Ok(())
    }
}
