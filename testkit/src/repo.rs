//! Git repositories in temporary directories.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::place::real_path;
use crate::{Run, command, program, wait_for};

/// A git repository in a temporary directory with a home directory beside it, removed when dropped.
///
/// All processes run in the environment of [`command`]. A process that fails unexpectedly panics with the
/// message of [`Run::explain`].
pub struct TestRepo {
    temp: Arc<tempfile::TempDir>,
    root: PathBuf,
    envs: Vec<(OsString, OsString)>,
}

/// Constructors.
impl TestRepo {
    /// Makes a directory that is not a repository.
    pub fn empty_dir() -> TestRepo {
        TestRepo::in_directory(tempfile::tempdir().unwrap())
    }

    /// Makes a directory that is not a repository, in memory if the system has a memory file system. For
    /// tests with thousands of `fsync` calls.
    pub fn empty_dir_in_memory() -> TestRepo {
        TestRepo::in_directory(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn in_directory(temp: tempfile::TempDir) -> TestRepo {
        let root = real_path(temp.path()).join("repo");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(root.with_file_name("home")).unwrap();
        TestRepo { temp: Arc::new(temp), root, envs: Vec::new() }
    }

    /// Makes an empty repository on the unborn branch `main`.
    pub fn init() -> TestRepo {
        let repo = TestRepo::empty_dir();
        repo.git(["init", "-q", "-b", "main"]);
        repo
    }

    /// Makes a repository with one commit of these files.
    pub fn with_files(files: &[(&str, &str)]) -> TestRepo {
        let repo = TestRepo::init();
        for (path, text) in files {
            repo.write(path, text);
        }
        repo.commit("first");
        repo
    }

    /// Returns another directory with the same home and variables, such as a linked worktree or a clone.
    pub fn at(&self, dir: &str) -> TestRepo {
        let root = real_path(&self.root.join(dir));
        TestRepo { temp: self.temp.clone(), root, envs: self.envs.clone() }
    }

    /// Sets a variable for all later commands.
    pub fn env(mut self, name: &str, value: &str) -> TestRepo {
        self.envs.push((name.into(), value.into()));
        self
    }

    /// Leaves the repository on disk for inspection and returns its path.
    pub fn keep(self) -> PathBuf {
        std::mem::forget(self.temp);
        self.root
    }
}

/// Paths and files.
impl TestRepo {
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a path in the repository.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Returns a path beside the repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.root.with_file_name(name)
    }

    /// Writes a file and makes its directories.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Reads the text of a file; empty if it cannot be read.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }

    pub fn read_bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.root.join(path)).unwrap()
    }

    /// Removes a file, link or directory, if it exists.
    pub fn remove(&self, path: &str) -> &Self {
        let path = self.root.join(path);
        match std::fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(path).unwrap(),
            Ok(_) => std::fs::remove_file(path).unwrap(),
            Err(_) => {}
        }
        self
    }

    /// Sets the permissions 0755.
    #[cfg(unix)]
    pub fn executable(&self, path: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(self.root.join(path), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[cfg(unix)]
    pub fn symlink(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
    }

    /// Sets the time of last change of a file, in seconds since 1970.
    pub fn set_mtime(&self, path: &str, seconds: u64) {
        let time = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        let file = std::fs::File::options().append(true).open(self.root.join(path)).unwrap();
        file.set_modified(time).unwrap();
    }
}

/// Git.
impl TestRepo {
    /// Runs git, which must succeed.
    #[track_caller]
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> &Self {
        self.run_git(args).success();
        self
    }

    /// Runs git and returns whether it succeeded.
    pub fn try_git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> bool {
        self.run_git(args).code() == 0
    }

    /// Runs git, which must succeed, and returns its stdout.
    #[track_caller]
    pub fn git_text<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        self.run_git(args).success().stdout()
    }

    /// Runs git, which must succeed, and returns its stdout as bytes.
    #[track_caller]
    pub fn git_bytes<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Vec<u8> {
        self.run_git(args).success().bytes().to_vec()
    }

    #[track_caller]
    pub fn run_git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        Run::new(self.command("git").args(args))
    }

    /// Commits all files of the working tree.
    #[track_caller]
    pub fn commit(&self, message: &str) -> &Self {
        self.git(["add", "-A"]).git(["commit", "-q", "-m", message])
    }
}

/// The program.
impl TestRepo {
    /// Runs `git-codeweaver ARGS`.
    #[track_caller]
    pub fn codeweaver<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        Run::new(self.command(program()).args(args))
    }

    /// Returns a command in this repository and its environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = command(program, &self.root, &self.temp.path().join("home"));
        command.envs(self.envs.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns the output of `status --json`.
    #[track_caller]
    pub fn status(&self) -> serde_json::Value {
        self.codeweaver(["status", "--json"]).success().json()
    }

    /// Waits until the index shows HEAD and returns `status --json`.
    #[track_caller]
    pub fn wait_until_current(&self) -> serde_json::Value {
        wait_for("the index shows HEAD", || {
            let status = self.status();
            let is_current = status["current"] == true && status["update_wanted"] == false;
            if is_current { Ok(status) } else { Err(format!("{status:#}\n{}", listing(&self.root))) }
        })
    }

    /// Returns the paths of the matches of `search ARGS`, best first.
    #[track_caller]
    pub fn found(&self, args: &[&str]) -> Vec<String> {
        let run = self.codeweaver(["search", "-o", "json"].iter().chain(args));
        assert!(matches!(run.code(), 0 | 1), "{}", run.explain());
        let matches = run.json()["matches"].as_array().cloned().unwrap_or_default();
        matches.iter().map(|found| found["file"]["path"].as_str().unwrap().to_owned()).collect()
    }
}

/// Lists all files below `dir` with their lengths, one a line, sorted; git's object directory is one line.
pub fn listing(dir: &Path) -> String {
    let mut lines = Vec::new();
    list(dir, dir, &mut lines);
    lines.sort();
    lines.join("\n")
}

fn list(root: &Path, dir: &Path, lines: &mut Vec<String>) {
    for child in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = child.path();
        let shown = path.strip_prefix(root).unwrap().display().to_string();
        match child.metadata() {
            Ok(metadata) if metadata.is_dir() && !shown.ends_with(".git/objects") => list(root, &path, lines),
            Ok(metadata) => lines.push(format!("{shown} ({} bytes)", metadata.len())),
            Err(_) => lines.push(shown),
        }
    }
}

/// Sample files: a program in two languages, with a test and a README.
pub const FILES: &[(&str, &str)] = &[
    (
        "src/parse.rs",
        "/// Splits a header line into its name and value.\npub fn parse_header(line: &str) -> Option<(&str, &str)> {\n    \
         let (name, value) = line.split_once(':')?;\n    Some((name.trim(), value.trim()))\n}\n",
    ),
    (
        "src/retry.py",
        "import time\n\n\ndef retry_with_backoff(call, attempts=5):\n    \"\"\"Calls again after growing pauses until it succeeds.\"\"\"\n    \
         for attempt in range(attempts):\n        try:\n            return call()\n        except ConnectionError:\n            \
         time.sleep(2 ** attempt)\n    raise TimeoutError('gave up')\n",
    ),
    (
        "tests/parse_test.rs",
        "#[test]\nfn header_is_split() {\n    assert_eq!(parse_header(\"a: b\"), Some((\"a\", \"b\")));\n}\n",
    ),
    ("README.md", "# Sample\n\nA library that parses headers and calls again when the network fails.\n"),
];
