//! Check that the store directory is not tracked by git.

use std::fs::File;

use gix::bstr::ByteSlice as _;
use gix::objs::{Find as _, TreeRefIter};

use codeweaver_base::sys::Mapped;

use super::{BString, GitError, Oid, Repo};

/// Name of the store directory, at the root of the main worktree.
pub const STORE_DIR: &str = ".codeweaver";

/// Finds a tracked path in the store directory, in `tree` or in git's index. The name matches in any case.
///
/// A repository that tracks its store could deliver a forged index to everyone who clones it, so it must be
/// refused. Cost: reading one tree object and the index.
pub fn tracked_store(repo: &Repo, tree: Option<&Oid>) -> Result<Option<BString>, GitError> {
    if let Some(path) = committed_store(repo, tree)? {
        return Ok(Some(path));
    }
    if repo.is_bare() {
        return Ok(None);
    }

    let local = repo.local();
    let index_file = local.index_path();
    match File::open(&index_file).and_then(|file| Mapped::from_replaceable(&file)) {
        Ok(bytes) if !may_name_store(&bytes) && !bytes.has_failed() => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(GitError::Io { action: "read", path: index_file, source }),
        Ok(_) => {}
    }

    let index = repo.read_index()?;
    let tracked = index
        .entries()
        .iter()
        .map(|entry| entry.path(&index))
        .find(|path| path.split(|byte| *byte == b'/').next().is_some_and(is_store));
    Ok(tracked.map(ToOwned::to_owned))
}

/// As [`tracked_store`], in `tree` only, which costs the reading of one object.
pub fn committed_store(repo: &Repo, tree: Option<&Oid>) -> Result<Option<BString>, GitError> {
    let tree = tree.filter(|tree| !tree.is_empty_tree());
    tree.map_or(Ok(None), |tree| store_in_tree(&repo.local(), tree))
}

/// Returns the name of the store directory in a root tree, if the tree has it.
fn store_in_tree(repo: &gix::Repository, tree: &Oid) -> Result<Option<BString>, GitError> {
    let bad = |reason: String| GitError::BadObject { oid: *tree, expected: "tree", reason };
    let mut buffer = Vec::new();
    let found = repo.objects.try_find(tree, &mut buffer).map_err(|error| bad(error.to_string()))?;
    let found = found.ok_or(GitError::ObjectMissing { oid: *tree })?;

    for entry in TreeRefIter::from_bytes(found.data, tree.kind()) {
        let entry = entry.map_err(|error| bad(error.to_string()))?;
        if is_store(entry.filename) {
            return Ok(Some(entry.filename.to_owned()));
        }
    }
    Ok(None)
}

/// Returns whether this is the name of the store directory, in any case.
pub(super) fn is_store(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(STORE_DIR.as_bytes())
}

/// Returns whether a path in these bytes of git's index could be in the store directory. False is certain.
/// Avoids parsing megabytes.
fn may_name_store(index: &[u8]) -> bool {
    /// Position of `w` in the name, its rarest letter in paths.
    const W: usize = 5;

    // Version 4 stores paths without the prefix that they share with the path before. With the extension
    // "link", entries are in another file. Both need the parser.
    let has_plain_paths = matches!(index.get(4..8), Some([0, 0, 0, 2 | 3]));
    if !has_plain_paths || index.find_iter("link").any(|at| is_extension(&index[at..])) {
        return true;
    }

    memchr::memchr2_iter(b'w', b'W', index).any(|w| {
        let name = w.checked_sub(W).and_then(|at| index.get(at..at + STORE_DIR.len()));
        name.is_some_and(is_store)
    })
}

/// Returns whether these last bytes of an index can begin with an extension: a name of four bytes, the length
/// of the content as big-endian `u32`, and the content.
fn is_extension(bytes: &[u8]) -> bool {
    let length = bytes.get(4..8).and_then(|length| length.try_into().ok()).map(u32::from_be_bytes);
    length.is_some_and(|length| length > 0 && (length as usize) < bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    #[test]
    fn a_tracked_store_is_found_in_every_kind_of_index() {
        for kind in [["--index-version", "2"], ["--index-version", "4"], ["--split-index", "--refresh"]] {
            let repo = TestRepo::with_files(&[(".codeowners", "* @a\n"), ("linkage", "link\n")]);
            repo.write(".codeweaver/state", "staged\n").git(["add", "-A"]);
            repo.git(["update-index", kind[0], kind[1]]);
            repo.write("later", "another entry\n").git(["add", "later"]);
            assert_eq!(tracked_store(&repo.open(), None).unwrap().unwrap(), ".codeweaver/state", "{kind:?}");
        }
    }

    #[test]
    fn a_tracked_store_is_found_in_tree_and_index_in_any_case() {
        let clean = TestRepo::with_files(&[("a", "1\n"), ("sub/.codeweaver/x", "not at the root\n")]);
        let tree = clean.oid("HEAD^{tree}");
        assert_eq!(tracked_store(&clean.open(), Some(&tree)).unwrap(), None);
        clean.write(".CodeWeaver/state", "staged only\n");
        clean.git(["add", "-A"]);
        assert_eq!(tracked_store(&clean.open(), Some(&tree)).unwrap().unwrap(), ".CodeWeaver/state");
        clean.git(["commit", "-qm", "tracked"]).git(["rm", "-rqf", "--cached", ".CodeWeaver"]);
        let tree = clean.oid("HEAD^{tree}");
        assert_eq!(tracked_store(&clean.open(), Some(&tree)).unwrap().unwrap(), ".CodeWeaver");
        assert_eq!(tracked_store(&clean.open(), None).unwrap(), None);
    }
}
