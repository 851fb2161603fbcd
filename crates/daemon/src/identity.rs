//! The identity of a process: all that a client and its daemon must have in common, so that the answer is
//! that of the client itself.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Beginnings of the names of variables that settings, models and git are configured by.
const PREFIXES: [&str; 6] = ["CODEWEAVER_", "MARKDOWN_QA_", "GIT_", "HF_", "PIP_", "ORT_"];
/// Further names.
const NAMES: [&str; 5] = ["HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "RAYON_NUM_THREADS", "LD_LIBRARY_PATH"];
/// Beginnings of the names of those that no answer depends on, or that travel with the request because they
/// are about its terminal. `git codeweaver` itself sets `GIT_EXEC_PATH`.
const IRRELEVANT: [&str; 14] = [
    "CODEWEAVER_DAEMON",
    "GIT_EXEC_PATH",
    "GIT_PAGER",
    "GIT_PREFIX",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_MERGE_AUTOEDIT",
    "GIT_ASKPASS",
    "GIT_TERMINAL_PROMPT",
    "GIT_REFLOG_ACTION",
    "GIT_SSH",
    "GIT_TRACE",
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
];

/// The identity of both sides of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub program: Program,
    /// Hash of the relevant variables of the environment.
    environment: String,
}

/// A program file: two processes that run the same one are of the same build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    pub version: String,
    file: FileId,
}

/// A file as it is now. Any replacement of it has another id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds of the last change of content.
    modified: (i64, i64),
}

impl Identity {
    /// The identity of this process, whose program has `version`.
    ///
    /// # Errors
    /// The path of the program is not known, or it is gone.
    pub fn of_process(version: &str) -> io::Result<Identity> {
        let program =
            Program { version: version.to_owned(), file: FileId::from_path(&std::env::current_exe()?)? };
        Ok(Identity { program, environment: environment_hash() })
    }
}

impl FileId {
    /// The id of the file at `path`.
    ///
    /// # Errors
    /// There is no such file.
    pub fn from_path(path: &Path) -> io::Result<FileId> {
        let meta = std::fs::metadata(path)?;
        Ok(FileId {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        })
    }
}

/// A directory as both sides see it. In a container, its path may lead elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    path: std::ffi::OsString,
    device: u64,
    inode: u64,
}

impl Directory {
    /// The directory at `path`, which is absolute.
    ///
    /// # Errors
    /// There is no such directory.
    pub fn from_path(path: &Path) -> io::Result<Directory> {
        let meta = std::fs::metadata(path)?;
        Ok(Directory { path: path.as_os_str().to_owned(), device: meta.dev(), inode: meta.ino() })
    }

    /// Its path, if it leads to the same directory here.
    pub fn here(&self) -> Option<PathBuf> {
        let path = PathBuf::from(&self.path);
        let is_same = Directory::from_path(&path).is_ok_and(|here| here == *self);
        (is_same && path.is_absolute()).then_some(path)
    }
}

/// Hash of the names and values of the relevant variables, so that no value leaves the process.
fn environment_hash() -> String {
    let mut variables: Vec<_> = std::env::vars_os().filter(|(name, _)| is_relevant(name)).collect();
    variables.sort();

    let mut hasher = blake3::Hasher::new();
    for (name, value) in variables {
        hasher.update(name.as_bytes()).update(b"=").update(value.as_bytes()).update(b"\0");
    }
    hasher.finalize().to_hex().to_string()
}

fn is_relevant(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    // The other variables of XDG are about a session.
    let is_xdg = name.starts_with("XDG_") && (name.ends_with("_HOME") || name.ends_with("_DIRS"));
    let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
    let is_known = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let is_irrelevant = IRRELEVANT.iter().any(|prefix| name.starts_with(prefix));
    (is_known || is_xdg || is_proxy) && !is_irrelevant
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_configure_answers_are_relevant() {
        for name in
            ["HOME", "CODEWEAVER_SEARCH_LIMIT", "GIT_DIR", "XDG_CONFIG_HOME", "https_proxy", "NO_PROXY"]
        {
            assert!(is_relevant(OsStr::new(name)), "{name}");
        }
        for name in ["TERM", "GIT_PAGER", "GIT_EXEC_PATH", "XDG_SESSION_ID", "PATH", "é_proxy_"] {
            assert!(!is_relevant(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_replaced_file_has_another_id() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        std::fs::write(&path, "one").unwrap();
        let id = FileId::from_path(&path).unwrap();
        assert_eq!(FileId::from_path(&path).unwrap(), id);

        std::fs::write(dir.path().join("new"), "two").unwrap();
        std::fs::rename(dir.path().join("new"), &path).unwrap();
        assert_ne!(FileId::from_path(&path).unwrap(), id);
    }
}
