//! The entry in git's `info/exclude` that keeps the store out of `git status` and commits.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::durable::Replacement;
use crate::git::{ByteSlice as _, GitError};

/// The line in `info/exclude`.
const PATTERN: &str = "/.codeweaver/";

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
/// Other lines are kept, even if the process is killed during the write, which only appends.
pub fn add_exclude(common_dir: &Path) -> Result<bool, ExcludeError> {
    let path = exclude_file(common_dir);
    let old = read(&path)?;
    if old.lines().any(is_pattern) {
        return Ok(false);
    }
    let newline = if old.is_empty() || old.ends_with(b"\n") { "" } else { "\n" };
    let add = || -> std::io::Result<()> {
        std::fs::create_dir_all(common_dir.join("info"))?;
        let mut file = std::fs::File::options().create(true).append(true).open(&path)?;
        file.write_all(format!("{newline}{PATTERN}\n").as_bytes())
    };
    add().map_err(|source| ExcludeError { action: "write", path, source })?;
    Ok(true)
}

/// Removes the line of [`add_exclude`]. Returns whether the file changed.
///
/// Removes the file if it contained nothing else, and then its directory if that is empty.
pub fn remove_exclude(common_dir: &Path) -> Result<bool, ExcludeError> {
    let path = exclude_file(common_dir);
    let old = read(&path)?;
    let kept: Vec<&[u8]> = old.lines_with_terminator().filter(|line| !is_pattern(line)).collect();
    let kept = kept.concat();
    if kept.len() == old.len() {
        return Ok(false);
    }
    let replaced = replace(&path, &kept);
    replaced.map_err(|source| ExcludeError { action: "write", path, source })?;
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
    if text.is_empty() {
        // An empty file has the same effect as none.
        return std::fs::remove_file(path);
    }
    let staged = Replacement::of(path).stage(text)?;
    staged.set_permissions(metadata.permissions())?;
    staged.commit()
}

fn exclude_file(common_dir: &Path) -> PathBuf {
    common_dir.join("info/exclude")
}

fn is_pattern(line: &[u8]) -> bool {
    line.trim_ascii_end() == PATTERN.as_bytes()
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
    fn the_pattern_is_added_once_and_removed_completely() {
        for before in [None, Some(""), Some("# mine\n*.log"), Some("# mine\r\n*.log\r\n"), Some("*.log\n\n")]
        {
            let repo = TestRepo::init();
            let file = repo.root().join(".git/info/exclude");
            match before {
                Some(text) => std::fs::write(&file, text).unwrap(),
                None => std::fs::remove_dir_all(file.parent().unwrap()).unwrap(),
            }
            let open = repo.open();
            assert!(add_exclude(open.common_dir()).unwrap());
            assert!(!add_exclude(open.common_dir()).unwrap());
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
        add_exclude(repo.open_at("../side").common_dir()).unwrap();
        assert!(std::fs::read_to_string(repo.root().join(".git/info/exclude")).unwrap().contains(PATTERN));
    }
}
