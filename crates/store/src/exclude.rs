//! The entry in git's `info/exclude` that keeps the store out of `git status` and commits.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use codeweaver_base::durable::{self, Replacement};
use codeweaver_git::{ByteSlice as _, GitError};

/// The line in `info/exclude`.
const PATTERN: &str = "/.codeweaver/";

/// The line if the file existed without a newline at its end: one was added, and is removed with the line.
/// Git ignores the space.
const PATTERN_AFTER_NEWLINE: &str = "/.codeweaver/ ";

/// `info/exclude` cannot be read or written.
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

/// Adds `/.codeweaver/` to `<common dir>/info/exclude` unless it is there. Returns whether the file changed.
///
/// Other lines are kept, even if the process is killed during the write, since the write only appends.
pub fn add_exclude(common_dir: &Path) -> Result<bool, ExcludeError> {
    let path = exclude_file(common_dir);
    let old = read(&path)?;
    if old.lines().any(is_pattern) {
        return Ok(false);
    }

    let line = match (old.last(), path.exists()) {
        (Some(b'\n'), _) | (None, false) => format!("{PATTERN}\n"),
        (None, true) => format!("{PATTERN_AFTER_NEWLINE}\n"),
        (Some(_), _) => format!("\n{PATTERN_AFTER_NEWLINE}\n"),
    };

    append(common_dir, &path, &line).map_err(|source| ExcludeError { action: "write", path, source })?;
    Ok(true)
}

/// Appends `line` to the file, which is created if it does not exist.
fn append(common_dir: &Path, path: &Path, line: &str) -> std::io::Result<()> {
    durable::create_directory(&common_dir.join("info"))?;
    if !path.exists() {
        durable::open_or_create(path)?;
    }

    let mut file = std::fs::File::options().append(true).open(path)?;
    file.write_all(line.as_bytes())
}

/// Removes the line of [`add_exclude`]. Returns whether the file changed.
///
/// The other bytes become those from before `add_exclude`. Removes the file if `add_exclude` made it and it
/// contains nothing else, and then its directory if that is empty.
pub fn remove_exclude(common_dir: &Path) -> Result<bool, ExcludeError> {
    let path = exclude_file(common_dir);
    let old = read(&path)?;
    let others: Vec<&[u8]> = old.lines_with_terminator().filter(|line| !is_pattern(line)).collect();
    let mut others = others.concat();

    if others.len() == old.len() {
        return Ok(false);
    }

    let existed = old.lines().any(is_marker);
    // The newline before the line was added with it.
    if old.lines().next_back().is_some_and(is_marker) && others.ends_with(b"\n") {
        others.pop();
    }

    let removed = if others.is_empty() && !existed { remove(&path) } else { replace(&path, &others) };
    removed.map_err(|source| ExcludeError { action: "write", path, source })?;

    // Fails if the directory is not empty.
    let _ = std::fs::remove_dir(common_dir.join("info"));
    Ok(true)
}

/// Replaces the file atomically. A link to a file elsewhere is written through, not replaced.
fn replace(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let metadata = std::fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return std::fs::write(path, text);
    }

    let staged = Replacement::new(path).stage(text)?;
    staged.set_permissions(metadata.permissions())?;
    staged.commit()
}

/// Removes the file. A link stays, and the file that it leads to is emptied.
fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::symlink_metadata(path)?.is_file() {
        true => std::fs::remove_file(path),
        false => std::fs::write(path, ""),
    }
}

/// The file in which git looks for patterns of ignored files besides `.gitignore`.
pub(super) fn exclude_file(common_dir: &Path) -> PathBuf {
    common_dir.join("info/exclude")
}

fn is_pattern(line: &[u8]) -> bool {
    line.trim_ascii_end() == PATTERN.as_bytes()
}

/// Returns whether `line` shows that the file existed before [`add_exclude`] changed it.
fn is_marker(line: &[u8]) -> bool {
    line == PATTERN_AFTER_NEWLINE.as_bytes()
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
    use codeweaver_git::Repo;
    use codeweaver_testkit::TestRepo;
    use proptest::prelude::*;

    #[test]
    fn the_pattern_is_added_once_and_removed_completely() {
        for before in [None, Some(""), Some("# mine\n*.log"), Some("# mine\r\n*.log\r\n"), Some("*.log\n\n")]
        {
            let repo = TestRepo::init();
            let file = repo.root().join(".git/info/exclude");
            match before {
                Some(text) => std::fs::write(&file, text).unwrap(),
                None => std::fs::remove_dir_all(file.parent().unwrap()).unwrap(),
            }
            let open = Repo::open_isolated(repo.root()).unwrap();
            assert!(add_exclude(open.common_dir()).unwrap());
            assert!(!add_exclude(open.common_dir()).unwrap());
            repo.write(".codeweaver/state", "x");
            assert_eq!(repo.git_text(["status", "--porcelain", "--", ".codeweaver"]), "");
            assert!(remove_exclude(open.common_dir()).unwrap());
            assert!(!remove_exclude(open.common_dir()).unwrap());
            assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), before);
            assert!(before.is_some() || !repo.root().join(".git/info").exists());
        }
    }

    proptest! {
        #[test]
        fn the_file_is_byte_for_byte_as_before(before in "(\u{feff})?(([a-z*!#/. é]{0,6}|\\.codeweaver/)(\n|\r\n|\r)?){0,6}") {
            prop_assume!(!before.as_bytes().lines().any(is_pattern));
            let dir = tempfile::tempdir().unwrap();
            let file = exclude_file(dir.path());
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, &before).unwrap();
            prop_assert!(add_exclude(dir.path()).unwrap());
            prop_assert!(std::fs::read_to_string(&file).unwrap().lines().any(|line| is_pattern(line.as_bytes())));
            prop_assert!(remove_exclude(dir.path()).unwrap());
            prop_assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
        }
    }

    #[test]
    fn a_line_added_after_ours_stays_a_line_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let file = exclude_file(dir.path());
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "*.log").unwrap();
        add_exclude(dir.path()).unwrap();
        let text = std::fs::read_to_string(&file).unwrap() + "*.tmp\n";
        std::fs::write(&file, text).unwrap();
        remove_exclude(dir.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "*.log\n*.tmp\n");
    }

    #[test]
    fn a_linked_worktree_edits_the_shared_file() {
        let repo = TestRepo::with_files(&[("a", "1\n")]);
        repo.git(["worktree", "add", "-q", "--detach", "../side"]);
        add_exclude(Repo::open_isolated(&repo.root().join("../side")).unwrap().common_dir()).unwrap();
        assert!(std::fs::read_to_string(repo.root().join(".git/info/exclude")).unwrap().contains(PATTERN));
    }
}
