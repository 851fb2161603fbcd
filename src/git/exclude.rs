//! Keeps the store out of git: the entry in `info/exclude`, and the check that nobody tracks it (G1, S1).

use std::io::Write as _;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;
use gix::objs::{Find as _, TreeRefIter};

use crate::durable::Replacement;
use crate::sys::Mapped;

use super::{BString, GitError, Oid, Repo};

/// The directory of the store, at the root of the main worktree.
pub const STORE_DIR: &str = ".codeweaver";
const RULE: &str = "/.codeweaver/";

/// The tracked path, if `.codeweaver` in any mix of upper and lower case is in `tree` or in the index of this worktree.
///
/// Such a repository brings a store of somebody else's making; it must be refused (S1). Cost: one tree object and the
/// index.
pub fn tracked_codeweaver_dir(repo: &Repo, tree: Option<&Oid>) -> Result<Option<BString>, GitError> {
    let is_store = |name: &[u8]| name.eq_ignore_ascii_case(STORE_DIR.as_bytes());
    let local = repo.local();
    if let Some(tree) = tree.filter(|tree| !tree.is_empty_tree()) {
        let mut buffer = Vec::new();
        let bad = |reason: String| GitError::BadObject { oid: *tree, expected: "tree", reason };
        let found = local.objects.try_find(tree, &mut buffer).map_err(|error| bad(error.to_string()))?;
        let found = found.ok_or(GitError::ObjectMissing { oid: *tree })?;
        for entry in TreeRefIter::from_bytes(found.data, tree.kind()) {
            let entry = entry.map_err(|error| bad(error.to_string()))?;
            if is_store(entry.filename) {
                return Ok(Some(entry.filename.to_owned()));
            }
        }
    }
    if repo.is_bare() {
        return Ok(None);
    }
    let index_file = local.index_path();
    match Mapped::open(&index_file) {
        Ok(bytes) if !may_name_store(&bytes) => return Ok(None),
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

/// False if no path in these bytes of a git index can be that of a store: told without parsing megabytes.
fn may_name_store(index: &[u8]) -> bool {
    // From version 4 on paths are cut where they begin like the one before, and the extension "link" (length u32 big endian,
    // content) says that there are entries elsewhere.
    let is_extension = |at: usize| {
        let length = index[at..].get(4..8).and_then(|length| length.try_into().ok()).map(u32::from_be_bytes);
        length.is_some_and(|length| length > 0 && (length as usize) < index.len() - at)
    };
    if !matches!(index.get(4..8), Some([0, 0, 0, 2 | 3])) || index.find_iter("link").any(is_extension) {
        return true;
    }
    // By its letter that is rarest in paths.
    const W: usize = 5;
    let is_store = |w: usize| {
        let name = w.checked_sub(W).and_then(|at| index.get(at..at + STORE_DIR.len()));
        name.is_some_and(|name| name.eq_ignore_ascii_case(STORE_DIR.as_bytes()))
    };
    memchr::memchr2_iter(b'w', b'W', index).any(is_store)
}

/// The file of excludes could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{action} {path}: {source}", path = path.display())]
pub struct ExcludeError {
    pub action: &'static str,
    pub path: PathBuf,
    pub source: std::io::Error,
}

impl From<ExcludeError> for GitError {
    fn from(ExcludeError { action, path, source }: ExcludeError) -> GitError {
        GitError::Io { action, path, source }
    }
}

/// Adds `/.codeweaver/` to `<common dir>/info/exclude` unless it is there; everything else in the file is kept, also if this
/// process is killed while it writes.
///
/// Returns whether the file changed.
pub fn exclude_from_info(common_dir: &Path) -> Result<bool, ExcludeError> {
    let path = exclude_file(common_dir);
    let old = read(&path)?;
    if old.lines().any(is_rule) {
        return Ok(false);
    }
    let newline = if old.is_empty() || old.ends_with(b"\n") { "" } else { "\n" };
    let add = || -> std::io::Result<()> {
        std::fs::create_dir_all(common_dir.join("info"))?;
        let mut file = std::fs::File::options().create(true).append(true).open(&path)?;
        file.write_all(format!("{newline}{RULE}\n").as_bytes())
    };
    add().map_err(|source| ExcludeError { action: "write", path, source })?;
    Ok(true)
}

/// Takes the line of [`exclude_from_info`] out again; a file that held nothing else goes, with its directory if that is
/// empty then. Returns whether something changed.
pub fn remove_exclude(common_dir: &Path) -> Result<bool, ExcludeError> {
    let path = exclude_file(common_dir);
    let old = read(&path)?;
    let kept: Vec<&[u8]> = old.lines_with_terminator().filter(|line| !is_rule(line)).collect();
    let kept = kept.concat();
    if kept.len() == old.len() {
        return Ok(false);
    }
    let replaced = replace(&path, &kept);
    replaced.map_err(|source| ExcludeError { action: "write", path, source })?;
    // A directory that is not empty stays.
    let _ = std::fs::remove_dir(common_dir.join("info"));
    Ok(true)
}

/// In one step, unless the user's file is a link to one kept elsewhere: that is written in place.
fn replace(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let metadata = std::fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return std::fs::write(path, text);
    }
    if text.is_empty() {
        // An empty file says nothing, and neither does one that is missing.
        return std::fs::remove_file(path);
    }
    let staged = Replacement::of(path).stage(text)?;
    staged.set_permissions(metadata.permissions())?;
    staged.commit()
}

fn exclude_file(common_dir: &Path) -> PathBuf {
    common_dir.join("info/exclude")
}

fn is_rule(line: &[u8]) -> bool {
    line.trim_ascii_end() == RULE.as_bytes()
}

fn read(path: &Path) -> Result<Vec<u8>, ExcludeError> {
    match std::fs::read(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(ExcludeError { action: "read", path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    #[test]
    fn the_rule_is_added_once_and_removed_without_a_trace() {
        for before in [None, Some(""), Some("# mine\n*.log"), Some("# mine\r\n*.log\r\n"), Some("*.log\n\n")]
        {
            let repo = TestRepo::init();
            let file = repo.root().join(".git/info/exclude");
            match before {
                Some(text) => std::fs::write(&file, text).unwrap(),
                None => std::fs::remove_dir_all(file.parent().unwrap()).unwrap(),
            }
            let open = repo.open();
            assert!(exclude_from_info(open.common_dir()).unwrap());
            assert!(!exclude_from_info(open.common_dir()).unwrap());
            repo.write(".codeweaver/state", "x");
            assert_eq!(repo.git_text(["status", "--porcelain", "--", ".codeweaver"]), "");
            assert!(remove_exclude(open.common_dir()).unwrap());
            assert!(!remove_exclude(open.common_dir()).unwrap());
            assert_eq!(file.exists(), before.is_some_and(|text| !text.is_empty()));
            assert!(before.is_some() || !repo.root().join(".git/info").exists());
            let after = std::fs::read_to_string(&file).unwrap_or_default();
            assert_eq!(after.trim_end_matches('\n'), before.unwrap_or_default().trim_end_matches('\n'));
        }
    }

    #[test]
    fn a_linked_worktree_edits_the_shared_file() {
        let repo = TestRepo::with_files(&[("a", "1\n")]);
        repo.git(["worktree", "add", "-q", "--detach", "../side"]);
        exclude_from_info(repo.open_at("../side").common_dir()).unwrap();
        assert!(std::fs::read_to_string(repo.root().join(".git/info/exclude")).unwrap().contains(RULE));
    }

    #[test]
    fn a_tracked_store_is_found_in_every_kind_of_index() {
        for kind in [["--index-version", "2"], ["--index-version", "4"], ["--split-index", "--refresh"]] {
            let repo = TestRepo::with_files(&[(".codeowners", "* @a\n"), ("linkage", "link\n")]);
            repo.write(".codeweaver/state", "staged\n").git(["add", "-A"]);
            repo.git(["update-index", kind[0], kind[1]]);
            repo.write("later", "another entry\n").git(["add", "later"]);
            assert_eq!(
                tracked_codeweaver_dir(&repo.open(), None).unwrap().unwrap(),
                ".codeweaver/state",
                "{kind:?}"
            );
        }
    }

    #[test]
    fn a_tracked_store_is_found_in_tree_and_index_in_any_case() {
        let clean = TestRepo::with_files(&[("a", "1\n"), ("sub/.codeweaver/x", "not at the root\n")]);
        let tree = clean.oid("HEAD^{tree}");
        assert_eq!(tracked_codeweaver_dir(&clean.open(), Some(&tree)).unwrap(), None);
        clean.write(".CodeWeaver/state", "staged only\n");
        clean.git(["add", "-A"]);
        assert_eq!(tracked_codeweaver_dir(&clean.open(), Some(&tree)).unwrap().unwrap(), ".CodeWeaver/state");
        clean.git(["commit", "-qm", "tracked"]).git(["rm", "-rqf", "--cached", ".CodeWeaver"]);
        let tree = clean.oid("HEAD^{tree}");
        assert_eq!(tracked_codeweaver_dir(&clean.open(), Some(&tree)).unwrap().unwrap(), ".CodeWeaver");
        assert_eq!(tracked_codeweaver_dir(&clean.open(), None).unwrap(), None);
    }
}
