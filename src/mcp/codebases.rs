//! Repositories by path: which one a call is about, opened once and kept.
//!
//! A call names any directory of a repository; the root of its worktree, the effective root, is what answers. Settings are
//! fixed while a codebase is open, so it is opened anew when a file that they come from has changed.

use super::answer::CallError;
use crate::index::{Codebase, IndexError};
use crate::query::Searcher;
use crate::sync;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Codebases that are kept open; the one that was asked about longest ago goes first.
const KEEP: usize = 8;

/// What a call is about.
#[derive(Clone)]
pub struct Asked {
    pub searcher: Arc<Searcher>,
    /// As the client gave it, or where the server was started.
    pub requested: PathBuf,
}

impl Asked {
    pub fn codebase(&self) -> &Codebase {
        &self.searcher.codebase
    }

    /// A path of a file as clients give it → relative to the effective root. An absolute one must lie below it.
    pub fn file(&self, file: &str) -> Result<String, CallError> {
        let path = Path::new(file);
        if !path.is_absolute() {
            return Ok(file.to_owned());
        }
        let root = self.codebase().root();
        let below = path.strip_prefix(&root).ok().map(Path::to_path_buf).or_else(|| {
            // The way there may lead through links, as to a temporary directory on macOS.
            let canonical = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
            Some(canonical.strip_prefix(&root).ok()?.to_path_buf())
        });
        match below.as_deref().and_then(Path::to_str) {
            Some(below) => Ok(below.to_owned()),
            None => Err(CallError::parameter("file", "inside the repository", file)),
        }
    }
}

/// All codebases of a server.
pub struct Codebases {
    default_dir: PathBuf,
    /// The one asked about last is at the end.
    open: Mutex<Vec<Open>>,
}

struct Open {
    /// Where `.git` is, or the directory of a bare repository.
    place: PathBuf,
    stamps: Vec<Stamp>,
    searcher: Arc<Searcher>,
}

/// A file that a codebase was opened from, as it was then.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    seen: Option<(SystemTime, u64)>,
}

impl Codebases {
    pub fn new(default_dir: PathBuf) -> Codebases {
        Codebases { default_dir, open: Mutex::default() }
    }

    /// The codebase around `path`, else around `file` if that is absolute, else around the server's own directory.
    pub fn find(&self, path: Option<&str>, file: Option<&str>) -> Result<Asked, CallError> {
        let requested = match path {
            Some(path) if !Path::new(path).is_absolute() || path.contains('\0') => {
                return Err(CallError::parameter("path", "an absolute path inside a git repository", path));
            }
            Some(path) => PathBuf::from(path),
            None => match file.map(Path::new).filter(|file| file.is_absolute()).and_then(Path::parent) {
                Some(dir) => dir.to_path_buf(),
                None => std::path::absolute(&self.default_dir).unwrap_or_else(|_| self.default_dir.clone()),
            },
        };
        let not_there = |why: &str| {
            let hint = if path.is_none() { "; name a repository in `path`" } else { "" };
            CallError::not_found(format!("{} {why}{hint}", requested.display()), None)
        };
        let mut dir = requested.canonicalize().map_err(|_| not_there("does not exist"))?;
        if dir.is_file() {
            dir.pop();
        }
        let searcher = self.open(&dir).map_err(|error| match error {
            IndexError::Git(crate::git::GitError::NotARepository { .. }) => {
                not_there("is not in a git repository")
            }
            IndexError::Git(error) => CallError::of_git(&error, None),
            other => CallError::failed(other, None),
        })?;
        Ok(Asked { searcher, requested })
    }

    /// Roots of the codebases that are open.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.lock().iter().map(|open| open.searcher.codebase.root()).collect()
    }

    fn open(&self, dir: &Path) -> Result<Arc<Searcher>, IndexError> {
        let place = dir.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(dir).to_path_buf();
        if let Some(known) = self.known(&place) {
            return Ok(known);
        }
        // Outside the lock: others need not wait for a model to be opened.
        let codebase = if self.is_default(dir) {
            Codebase::open(&place, &[])?
        } else {
            Codebase::open_named(&place, &[])?
        };
        let stamps = stamps(&codebase);
        let searcher = Arc::new(Searcher::new(codebase));
        let mut open = self.lock();
        open.retain(|other| other.place != place);
        if open.len() >= KEEP {
            open.remove(0);
        }
        open.push(Open { place, stamps, searcher: searcher.clone() });
        Ok(searcher)
    }

    /// True for where the server was started, which may be within a git command; any other directory was named by a client.
    fn is_default(&self, dir: &Path) -> bool {
        self.default_dir.canonicalize().is_ok_and(|default| default == dir)
    }

    /// The open codebase at `place`, if what it was opened from is as it was.
    fn known(&self, place: &Path) -> Option<Arc<Searcher>> {
        let mut open = self.lock();
        let at = open.iter().position(|open| open.place == place)?;
        let found = open.remove(at);
        if found.stamps.iter().any(|stamp| *stamp != Stamp::of(stamp.path.clone())) {
            return None;
        }
        let searcher = found.searcher.clone();
        open.push(found);
        Some(searcher)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Open>> {
        sync::lock(&self.open)
    }
}

/// The files that decide what an opened codebase is.
fn stamps(codebase: &Codebase) -> Vec<Stamp> {
    let sources = crate::config::Sources::discover(codebase.repo.work_dir());
    let mut paths: Vec<PathBuf> =
        [sources.repository_file, sources.user_file].into_iter().flatten().collect();
    paths.extend(codebase.repo.config_files());
    paths.into_iter().map(Stamp::of).collect()
}

impl Stamp {
    fn of(path: PathBuf) -> Stamp {
        let seen = std::fs::metadata(&path).ok().and_then(|meta| Some((meta.modified().ok()?, meta.len())));
        Stamp { path, seen }
    }
}
