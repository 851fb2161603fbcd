//! Private repositories: bare repositories that only this program writes, always under a lock of its own.
//!
//! A writer that is killed leaves the lock files of git behind (`HEAD.lock`, `config.lock`). Git never
//! removes them, so every later command would be refused. In a private repository they can be told apart: a
//! writer holds our lock, which the system releases when its holder dies, and git commands inherit it, so
//! that they hold it for as long as they outlive the process that has started them. A writer that gets the
//! lock therefore knows that the owners of git's locks in there are dead.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use codeweaver_base::left_over;

use super::error::{GitError, one_line};

/// Start of the names of reports that `git fast-import` writes when the process that feeds it dies.
const CRASH_REPORT: &str = "fast_import_crash_";
/// Start of the names of our own files, which are no locks of git.
const OURS: &str = "codeweaver-";

/// A private repository whose lock the caller holds.
#[derive(Debug, Clone, Copy)]
pub struct PrivateRepo<'a> {
    pub(crate) git_dir: &'a Path,
    lock: &'a File,
}

impl<'a> PrivateRepo<'a> {
    /// Opens the repository in `git_dir`, which need not exist, to write it. Removes what dead writers have
    /// left behind. `lock` is the file by whose lock the caller keeps all other writers out.
    ///
    /// # Errors
    /// A lock file of a dead writer cannot be removed.
    pub fn open(git_dir: &'a Path, lock: &'a File) -> Result<PrivateRepo<'a>, GitError> {
        remove_left_over(git_dir)?;
        Ok(PrivateRepo { git_dir, lock })
    }

    /// Creates the repository, or completes one whose creation was interrupted.
    ///
    /// # Errors
    /// git cannot be run, or the directory cannot be written.
    pub fn create(&self) -> Result<(), GitError> {
        let mut command = self.command()?;
        command.args(["init", "--quiet", "--bare", "--initial-branch=main", "--template="]).arg(self.git_dir);
        self.run(command, "create")
    }

    /// Sets a key of the configuration.
    ///
    /// # Errors
    /// git cannot be run, or the file cannot be written.
    pub fn set_config(&self, key: &str, value: &str) -> Result<(), GitError> {
        let mut command = self.command()?;
        command.arg("--git-dir").arg(self.git_dir).args(["config", key, value]);
        self.run(command, "configure")
    }

    /// A git command that holds the lock until it ends. Its standard output is the file of the lock, since
    /// only standard streams are inherited; it must be told to print nothing.
    pub(crate) fn command(&self) -> Result<Command, GitError> {
        let lock = self.lock.try_clone().map_err(io_error("lock", self.git_dir))?;
        let mut command = git();
        command.stdout(Stdio::from(lock));
        Ok(command)
    }

    fn run(&self, mut command: Command, action: &'static str) -> Result<(), GitError> {
        let child = command.stderr(Stdio::piped()).spawn().map_err(io_error(action, self.git_dir))?;
        let output = child.wait_with_output().map_err(io_error(action, self.git_dir))?;
        if output.status.success() {
            return Ok(());
        }

        let reason = one_line(&String::from_utf8_lossy(&output.stderr));
        Err(GitError::Unreadable { path: self.git_dir.to_owned(), reason })
    }
}

/// Removes the lock files of git below `git_dir` and crash reports, but not those of a git command that a
/// user is running in there by hand.
fn remove_left_over(git_dir: &Path) -> Result<(), GitError> {
    let removed =
        left_over::remove(&|| left_over(git_dir)).map_err(io_error("remove lock files of", git_dir))?;
    for path in removed {
        tracing::warn!(component = "git", operation = "unlock", path = %path.display(), "its owner is dead");
    }
    Ok(())
}

/// Git's lock files of the repository in `git_dir` and of its refs, and crash reports.
fn left_over(git_dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![git_dir.to_owned(), git_dir.join("objects/info")];
    let refs = git_dir.join("refs");

    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();

            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if path.starts_with(&refs) {
                    directories.push(path);
                }
            } else if name.ends_with(".lock") && !name.starts_with(OURS) || name.starts_with(CRASH_REPORT) {
                found.push(path);
            }
        }
    }

    found
}

/// The git command, without the environment variables by which a surrounding git command would redirect it.
pub(crate) fn git() -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }

    command.stdin(Stdio::null());
    command
}

pub(crate) fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> GitError {
    let path = path.to_owned();
    move |source| GitError::Io { action, path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(dir: &Path) -> File {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(dir).unwrap();
        file.lock().unwrap();
        file
    }

    #[test]
    fn locks_of_dead_owners_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let git_dir = dir.path().join("private.git");
        let lock = locked(&dir.path().join("lock"));
        PrivateRepo::open(&git_dir, &lock).unwrap().create().unwrap();

        let dead = ["HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/main.lock"];
        for name in dead.iter().chain(&["codeweaver-own.lock", "fast_import_crash_77"]) {
            std::fs::write(git_dir.join(name), "").unwrap();
        }

        let repo = PrivateRepo::open(&git_dir, &lock).unwrap();
        repo.set_config("codeweaver.test", "1").unwrap();
        assert!(dead.iter().all(|name| !git_dir.join(name).exists()));
        assert!(!git_dir.join("fast_import_crash_77").exists());
        assert!(git_dir.join("codeweaver-own.lock").exists());
    }

    #[test]
    fn a_git_command_holds_the_lock_of_its_dead_parent() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = locked(&path);
        let mut command = PrivateRepo::open(dir.path(), &lock).unwrap().command().unwrap();
        // Waits for its input, as `fast-import` does.
        let mut child = command.args(["hash-object", "--stdin"]).stdin(Stdio::piped()).spawn().unwrap();
        drop(command);
        // As by the death of the process: closed and not unlocked.
        drop(lock);

        let other = File::open(&path).unwrap();
        assert!(other.try_lock().is_err(), "the child holds it");
        drop(child.stdin.take());
        child.wait().unwrap();
        other.try_lock().unwrap();
    }

    #[test]
    fn a_creation_that_was_interrupted_is_completed() {
        let dir = tempfile::tempdir().unwrap();
        let lock = locked(&dir.path().join("codeweaver-own.lock"));
        let whole = dir.path().join("whole.git");
        PrivateRepo::open(&whole, &lock).unwrap().create().unwrap();

        for gone in ["HEAD", "config", "objects", "refs"] {
            let part = dir.path().join(format!("without-{gone}.git"));
            let repo = PrivateRepo::open(&part, &lock).unwrap();
            repo.create().unwrap();
            let path = part.join(gone);
            if path.is_dir() {
                std::fs::remove_dir_all(&path).unwrap()
            } else {
                std::fs::remove_file(&path).unwrap()
            }
            std::fs::write(part.join("HEAD.lock"), "").unwrap();

            let repo = PrivateRepo::open(&part, &lock).unwrap();
            repo.create().unwrap();
            repo.set_config("codeweaver.test", "1").unwrap();
            assert_eq!(std::fs::read(part.join("HEAD")).unwrap(), std::fs::read(whole.join("HEAD")).unwrap());
        }
    }
}
