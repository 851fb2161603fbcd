//! Whether a working tree is the repository's own place.
//!
//! `core.worktree` in the configuration of a repository can name any directory, and that configuration may
//! come with an archive that someone else has made. So a working tree is used only if it is around the git
//! directory or has a `.git` that leads back there, as those of submodules and linked worktrees have, or if
//! the user has said so.

use std::path::{Path, PathBuf};

use codeweaver_base::real_path;

use super::ByteSlice as _;

/// Variables with which the user, or git in a hook, names the repository.
const VARIABLES: [&str; 2] = ["GIT_DIR", "GIT_WORK_TREE"];

/// Returns whether `work_dir` is the own place of the repository with the git directory `git_dir`. Both are
/// canonical.
pub fn is_own_place(work_dir: &Path, git_dir: &Path) -> bool {
    let is_around = git_dir.parent().is_some_and(|parent| {
        git_dir.file_name().is_some_and(|name| name == ".git") && work_dir.starts_with(parent)
    });
    is_around || leads_to(&work_dir.join(".git"), git_dir)
}

/// Returns whether `dot_git` is the git directory, or the file or link that stands for it.
fn leads_to(dot_git: &Path, git_dir: &Path) -> bool {
    let Ok(meta) = std::fs::metadata(dot_git) else { return false };
    let target = match meta.is_file() {
        false => real_path::canonicalize(dot_git),
        true => target_of(dot_git).and_then(real_path::canonicalize),
    };
    target.is_ok_and(|target| target == git_dir)
}

/// The directory that a `.git` file names.
fn target_of(file: &Path) -> std::io::Result<PathBuf> {
    use std::io::Read as _;
    /// Longer paths cannot be opened.
    const MAX_BYTES: u64 = 8192;

    let mut bytes = Vec::new();
    std::fs::File::open(file)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    let name = bytes.strip_prefix(b"gitdir:").unwrap_or_default().trim_ascii();
    let name =
        gix::path::from_bstr(name.as_bstr()).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(file.parent().unwrap_or(file).join(name))
}

/// Returns whether the user allows the repository to have its working tree at `work_dir`: by a variable of
/// git's, unless `is_named`, or by `safe.directory` in a configuration that is not the repository's.
pub fn is_allowed(repo: &gix::Repository, work_dir: &Path, git_dir: &Path, is_named: bool) -> bool {
    if !is_named && VARIABLES.iter().any(|name| std::env::var_os(name).is_some()) {
        return true;
    }

    let config = repo.config_snapshot();
    let is_users =
        |meta: &gix::config::file::Metadata| meta.source.kind() != gix::config::source::Kind::Repository;
    let values = config.plumbing().strings_filter("safe.directory", is_users).unwrap_or_default();

    let around = git_dir.parent().filter(|_| git_dir.file_name().is_some_and(|name| name == ".git"));
    // As in git, an empty value forgets those before it.
    let from = values.iter().rposition(|value| value.is_empty()).map_or(0, |at| at + 1);
    values[from..].iter().any(|value| {
        let named = gix::path::from_bstr(value.as_bstr()).ok();
        let named = named.and_then(|path| real_path::canonicalize(path).ok());
        let is_it = |path: &Path| path == work_dir || path == git_dir || Some(path) == around;
        value.as_bstr() == "*" || named.is_some_and(|path: PathBuf| is_it(&path))
    })
}
