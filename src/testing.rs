//! Real repositories in temporary directories, made with the git program.
//!
//! Hermetic: own home, no system or user configuration, fixed author and dates.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::git::{GitError, Oid, Repo};

pub(crate) struct TestRepo {
    _temp: tempfile::TempDir,
    root: PathBuf,
}

impl TestRepo {
    /// A directory that is not a repository yet.
    pub fn empty_dir() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(temp.path()).unwrap().join("repo");
        std::fs::create_dir_all(&root).unwrap();
        TestRepo { _temp: temp, root }
    }

    /// An empty repository on the unborn branch `main`.
    pub fn init() -> Self {
        let repo = Self::empty_dir();
        repo.git(["init", "-q", "-b", "main"]);
        repo
    }

    /// A repository with one commit of these files.
    pub fn with_files(files: &[(&str, &str)]) -> Self {
        let repo = Self::init();
        for (path, text) in files {
            repo.write(path, text);
        }
        repo.commit_all("first");
        repo
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn open(&self) -> Repo {
        self.try_open().unwrap()
    }

    pub fn open_at(&self, dir: &str) -> Repo {
        open(&self.root.join(dir)).unwrap()
    }

    pub fn try_open(&self) -> Result<Repo, GitError> {
        open(&self.root)
    }

    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> &Self {
        self.run(args, None);
        self
    }

    /// Runs git and says whether it succeeded.
    pub fn git_may_fail<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> bool {
        self.command(args).output().unwrap().status.success()
    }

    pub fn git_bytes<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Vec<u8> {
        self.run(args, None).stdout
    }

    pub fn git_text<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        String::from_utf8(self.git_bytes(args)).unwrap()
    }

    /// Runs three commands on an index of their own; the output of the last.
    pub fn git_text_with_index(
        &self,
        index: &Path,
        first: &[&str],
        second: &[&str],
        third: &[&str],
    ) -> String {
        let mut text = String::new();
        for args in [first, second, third] {
            let out = self.command(args).env("GIT_INDEX_FILE", index).output().unwrap();
            assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
            text = String::from_utf8(out.stdout).unwrap();
        }
        text
    }

    pub fn oid(&self, rev: &str) -> Oid {
        let text = self.git_text(["rev-parse", "--verify", rev]);
        Oid::from_hex(text.trim().as_bytes()).unwrap()
    }

    pub fn commit_all(&self, message: &str) -> &Self {
        self.git(["add", "-A"]).git(["commit", "-q", "-m", message])
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.root.join(path)).unwrap()
    }

    /// Removes a file, link or directory, if there is one.
    pub fn remove(&self, path: &str) {
        let path = self.root.join(path);
        match std::fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path).unwrap(),
            Ok(_) => std::fs::remove_file(path).unwrap(),
            Err(_) => {}
        }
    }

    pub fn executable(&self, path: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(self.root.join(path), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn symlink(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
    }

    /// Sets the time of last change of a file, in seconds since 1970.
    pub fn set_mtime(&self, path: &str, seconds: u64) {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        let file = std::fs::File::options().append(true).open(self.root.join(path)).unwrap();
        file.set_modified(time).unwrap();
    }

    /// Stores raw bytes as an object, without any check.
    pub fn write_object(&self, kind: &str, bytes: &[u8]) -> Oid {
        let out = self.run(["hash-object", "-w", "--literally", "--stdin", "-t", kind], Some(bytes));
        Oid::from_hex(out.stdout.trim_ascii()).unwrap()
    }

    fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_"))
        {
            command.env_remove(name);
        }
        command
            .args(args)
            .current_dir(&self.root)
            .env("HOME", self.root.parent().unwrap())
            .env_remove("XDG_CONFIG_HOME")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", "true")
            .env("LC_ALL", "C");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "A U Thor")
                .env(format!("GIT_{role}_EMAIL"), "author@example.com")
                .env(format!("GIT_{role}_DATE"), "2026-01-02T03:04:05Z");
        }
        command
    }

    fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, input: Option<&[u8]>) -> Output {
        use std::io::Write as _;
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.unwrap_or_default()).unwrap();
        drop(stdin);
        let out = child.wait_with_output().unwrap();
        assert!(
            out.status.success(),
            "{command:?}\nin {}\nstdout: {}\nstderr: {}\nstatus: {}",
            self.root.display(),
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr),
            String::from_utf8_lossy(&self.command(["status", "--short"]).output().unwrap().stdout),
        );
        out
    }
}

/// Opens without the environment and the user's configuration.
fn open(dir: &Path) -> Result<Repo, GitError> {
    Repo::discover_with(dir, false, |options| options.permissions(gix::open::Permissions::isolated()))
}
