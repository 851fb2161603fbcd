//! Keeps the store out of git: the entry in `info/exclude`, and the check that nobody tracks it (G1, S1).

use std::path::PathBuf;

use gix::bstr::ByteSlice as _;
use gix::objs::{Find as _, TreeRefIter};

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
    if repo.is_bare() || !local.index_path().exists() {
        return Ok(None);
    }
    let index = local.open_index().map_err(|error| repo.unreadable(&error))?;
    let tracked = index
        .entries()
        .iter()
        .map(|entry| entry.path(&index))
        .find(|path| path.split(|byte| *byte == b'/').next().is_some_and(is_store));
    Ok(tracked.map(ToOwned::to_owned))
}

/// Adds `/.codeweaver/` to `<common dir>/info/exclude` unless it is there; everything else in the file is kept.
///
/// Returns whether the file changed.
pub fn exclude_from_info(repo: &Repo) -> Result<bool, GitError> {
    edit(repo, |text| {
        if text.lines().any(is_rule) {
            return None;
        }
        let mut text = text.to_vec();
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(RULE.as_bytes());
        text.push(b'\n');
        Some(text)
    })
}

/// Takes the line of [`exclude_from_info`] out again. Returns whether the file changed.
pub fn remove_exclude(repo: &Repo) -> Result<bool, GitError> {
    edit(repo, |text| {
        let kept: Vec<&[u8]> = text.lines_with_terminator().filter(|line| !is_rule(line)).collect();
        let kept = kept.concat();
        (kept.len() != text.len()).then_some(kept)
    })
}

fn is_rule(line: &[u8]) -> bool {
    line.trim_ascii_end() == RULE.as_bytes()
}

fn edit(repo: &Repo, change: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Result<bool, GitError> {
    let path: PathBuf = repo.common_dir().join("info/exclude");
    let failed = |action| {
        let path = path.clone();
        move |source| GitError::Io { action, path, source }
    };
    let old = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed("read")(error)),
    };
    let Some(new) = change(&old) else { return Ok(false) };
    let dir = repo.common_dir().join("info");
    std::fs::create_dir_all(&dir).map_err(failed("create the directory of"))?;
    // The user's file may be a link to one kept elsewhere: written in place, not replaced by a rename.
    std::fs::write(&path, new).map_err(failed("write"))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::testing::TestRepo;
    use super::*;

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
            assert!(exclude_from_info(&open).unwrap());
            assert!(!exclude_from_info(&open).unwrap());
            repo.write(".codeweaver/state", "x");
            assert_eq!(repo.git_text(["status", "--porcelain", "--", ".codeweaver"]), "");
            assert!(remove_exclude(&open).unwrap());
            assert!(!remove_exclude(&open).unwrap());
            let after = std::fs::read_to_string(&file).unwrap();
            assert_eq!(after.trim_end_matches('\n'), before.unwrap_or_default().trim_end_matches('\n'));
        }
    }

    #[test]
    fn a_linked_worktree_edits_the_shared_file() {
        let repo = TestRepo::with_files(&[("a", "1\n")]);
        repo.git(["worktree", "add", "-q", "--detach", "../side"]);
        exclude_from_info(&repo.open_at("../side")).unwrap();
        assert!(std::fs::read_to_string(repo.root().join(".git/info/exclude")).unwrap().contains(RULE));
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
