//! Cache of open codebases by path.
//!
//! A call names any directory of a repository; the codebase of its worktree answers. The settings of an open
//! codebase are fixed, so it is reopened when a file from which they were read has changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use codeweaver::query::{Filters, Searcher};
use codeweaver_base::sync;
use codeweaver_git::Prefix;
use codeweaver_index::{Codebase, IndexError};

use super::answer::CallError;
use super::trust::{Purpose, Trust, checkout_of};

/// Maximum number of open codebases. The least recently used one is closed first.
const MAX_OPEN: usize = 8;

/// The codebase that a call refers to.
#[derive(Clone)]
pub struct CallTarget {
    pub searcher: Arc<Searcher>,
    /// The path given by the client, or the directory of the server.
    pub requested: PathBuf,
}

impl CallTarget {
    pub fn codebase(&self) -> &Codebase {
        &self.searcher.codebase
    }

    /// Converts a file argument into a path relative to the root. An absolute path must be inside the root.
    pub fn file(&self, file: &str) -> Result<String, CallError> {
        if !Path::new(file).is_absolute() {
            return Ok(file.to_owned());
        }
        let root = Prefix::root(&self.codebase().repo);
        root.file(file).map_err(|_| CallError::parameter("file", "inside the repository", file))
    }

    /// As [`Self::file`], but a symbolic link within the repository stands for its target, unless `rev`
    /// selects another state than the working tree. The second value is a note about the link.
    pub fn linked_file(&self, file: &str, rev: Option<&str>) -> Result<(String, Option<String>), CallError> {
        let path = self.file(file)?;
        let real = rev.is_none().then(|| self.behind_links(&path)).flatten();
        Ok(match real {
            Some(real) => (real.clone(), Some(format!("{path} is a symbolic link to {real}"))),
            None => (path, None),
        })
    }

    /// The path of the file or directory at `path` without symbolic links; `None` if `path` has none, or
    /// leads out of the repository.
    fn behind_links(&self, path: &str) -> Option<String> {
        let root = self.codebase().root();
        // Names that are not UTF-8 are quoted, and not followed.
        let real = root.join(path).canonicalize().ok()?;
        let real = real.strip_prefix(root.canonicalize().ok()?).ok()?.to_str()?;

        let is_same = Path::new(path).components().eq(Path::new(real).components());
        let has_parent = Path::new(path).components().any(|part| part == std::path::Component::ParentDir);
        (!real.is_empty() && !has_parent && !is_same).then(|| real.to_owned())
    }

    /// Adds path filters. They are relative to the root, also with a slash before them (`/src`), or absolute
    /// and inside the root; alternatives in braces are expanded.
    pub fn add_paths(&self, filters: &mut Filters, paths: &[String]) -> Result<(), CallError> {
        let root = Prefix::root(&self.codebase().repo);

        for path in paths {
            let linked = self.behind_links(path.trim_end_matches('/'));
            let path = linked.as_ref().unwrap_or(path);

            // `/src` means `src` if it exists in the repository, or if no such path exists on this machine.
            let from_root =
                path.strip_prefix('/').filter(|rest| exists_in(&root, rest) || !Path::new(path).exists());
            let pathspecs = root.pathspecs(path).or_else(|error| match from_root {
                Some(rest) if !rest.is_empty() => root.pathspecs(rest),
                _ => Err(error),
            });

            let pathspecs = pathspecs.map_err(|error| {
                let must = format!("paths or globs inside the repository ({})", error.why());
                CallError::parameter("paths", &must, path)
            })?;
            pathspecs.into_iter().for_each(|pathspec| filters.add_path(pathspec));
        }
        Ok(())
    }
}

/// Returns whether `path`, relative to the root, exists in the working tree. A broken link exists.
fn exists_in(root: &Prefix, path: &str) -> bool {
    let on_disk = root.file(path).ok().and_then(|path| root.on_disk(&path));
    on_disk.is_some_and(|path| path.symlink_metadata().is_ok())
}

/// All codebases of a server.
pub struct Codebases {
    default_dir: PathBuf,
    /// Whether only the codebase in `default_dir` is served.
    is_confined: bool,
    /// The repositories that the session may use.
    pub trust: Trust,
    /// Least recently used first.
    open: Mutex<Vec<Open>>,
}

struct Open {
    /// The directory that contains `.git`, or the directory of a bare repository.
    checkout: PathBuf,
    stamps: Vec<Stamp>,
    searcher: Arc<Searcher>,
}

/// A file that determines an open codebase, with its modification time and size when the codebase was opened.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    version: Option<(SystemTime, u64)>,
}

impl Codebases {
    pub fn new(default_dir: PathBuf) -> Codebases {
        // The current directory may be deleted while the server runs.
        let default_dir = std::path::absolute(&default_dir).unwrap_or(default_dir);
        Codebases { trust: Trust::new(&default_dir), default_dir, is_confined: false, open: Mutex::default() }
    }

    /// Serves only the codebase in `root`, for other users over a network: a call that names another one is
    /// refused, whatever `mcp.allow` says.
    pub fn confined(root: PathBuf) -> Codebases {
        Codebases { is_confined: true, ..Codebases::new(root) }
    }

    /// The codebase of the server, opened again if its settings have changed.
    ///
    /// # Errors
    /// The repository no longer exists, or its settings are invalid.
    pub fn default_target(&self) -> Result<CallTarget, IndexError> {
        let requested = self.default_dir.clone();
        Ok(CallTarget { searcher: self.open(&requested)?, requested })
    }

    /// Opens the codebase that contains `path`, else `file` if that is absolute, else the directory of the
    /// server. The caller asks [`Self::trust`] before it uses it.
    pub fn find_unchecked(&self, path: Option<&str>, file: Option<&str>) -> Result<CallTarget, CallError> {
        let requested = match path {
            Some(path) if !Path::new(path).is_absolute() || path.contains('\0') => {
                return Err(CallError::parameter("path", "an absolute path inside a git repository", path));
            }
            Some(path) => PathBuf::from(path),
            None => match file.map(Path::new).filter(|file| file.is_absolute()).and_then(Path::parent) {
                Some(dir) => dir.to_path_buf(),
                None => self.usual_dir(),
            },
        };

        let not_there = |why: &str| {
            let hint = if path.is_none() { "; name a repository in `path`" } else { "" };
            CallError::not_found(format!("{} {why}{hint}", requested.display()), None)
        };

        let mut dir = requested.canonicalize().map_err(|_| not_there("does not exist"))?;
        // A path may name a file, for example the one that an agent works on.
        if dir.is_file() {
            dir.pop();
        }

        if self.is_confined && checkout_of(&dir).unwrap_or(&dir) != self.default_dir {
            return Err(CallError::not_found(
                format!("{} is not served here; leave `path` out", requested.display()),
                None,
            ));
        }

        let searcher = self.open(&dir).map_err(|error| match error {
            IndexError::Git(codeweaver_git::GitError::NotARepository { .. }) => {
                not_there("is not in a git repository")
            }
            IndexError::Git(error) => CallError::of_git(&error, None),
            other => CallError::failed(other, None),
        })?;

        Ok(CallTarget { searcher, requested })
    }

    /// The directory of calls that name none: the directory of the server, or, if that is in no repository,
    /// the first workspace folder of the client that is in one.
    fn usual_dir(&self) -> PathBuf {
        let is_in_repository = |dir: &Path| checkout_of(dir).is_some() || dir.join("HEAD").is_file();

        if !is_in_repository(&self.default_dir)
            && let Some(folder) = self.trust.folders().into_iter().flatten().find(|it| is_in_repository(it))
        {
            return folder;
        }

        self.default_dir.clone()
    }

    /// Roots of the open codebases that the session may read.
    pub fn roots(&self) -> Vec<PathBuf> {
        let open: Vec<Arc<Searcher>> = self.lock().iter().map(|open| open.searcher.clone()).collect();
        let codebases = open.iter().map(|searcher| &searcher.codebase);
        let trusted = codebases.filter(|codebase| self.trust.check(codebase, Purpose::Read).is_ok());
        trusted.map(Codebase::root).collect()
    }

    fn open(&self, dir: &Path) -> Result<Arc<Searcher>, IndexError> {
        let checkout = checkout_of(dir).unwrap_or(dir).to_path_buf();
        if let Some(searcher) = self.cached(&checkout) {
            return Ok(searcher);
        }

        leave_deleted_directory();
        // Opens outside the lock, so that other calls need not wait for a model to be loaded.
        let codebase = if self.is_default(dir) {
            Codebase::open(&checkout, &[])?
        } else {
            Codebase::open_named(&checkout, &[])?
        };

        let stamps = stamps(&codebase);
        let searcher = Searcher::new(codebase);
        let searcher = Arc::new(if self.is_confined { searcher.shared() } else { searcher });

        // A concurrent call may have opened the same codebase meanwhile.
        let mut open = self.lock();
        open.retain(|other| other.checkout != checkout);
        if open.len() >= MAX_OPEN {
            open.remove(0);
        }
        open.push(Open { checkout, stamps, searcher: searcher.clone() });

        Ok(searcher)
    }

    /// Returns whether `dir` is the directory of the server, for which git's environment variables apply. All
    /// others were named by a client.
    fn is_default(&self, dir: &Path) -> bool {
        self.default_dir.canonicalize().is_ok_and(|default| default == dir)
    }

    /// Returns the open codebase at `checkout`, unless a file that determines it has changed.
    fn cached(&self, checkout: &Path) -> Option<Arc<Searcher>> {
        let mut open = self.lock();

        let at = open.iter().position(|open| open.checkout == checkout)?;
        // Removed and pushed again, since the list is in order of use.
        let found = open.remove(at);

        if found.stamps.iter().any(|stamp| *stamp != Stamp::new(stamp.path.clone())) {
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

/// Goes to the root if the current directory is deleted, since no repository opens from there.
fn leave_deleted_directory() {
    if std::env::current_dir().is_err() {
        let _ = std::env::set_current_dir(std::path::MAIN_SEPARATOR_STR);
    }
}

/// The files that determine an open codebase.
fn stamps(codebase: &Codebase) -> Vec<Stamp> {
    let sources = codeweaver_config::Sources::discover(codebase.repo.work_dir());
    let mut paths = sources.paths();
    paths.extend(codebase.repo.config_files());
    paths.into_iter().map(Stamp::new).collect()
}

impl Stamp {
    fn new(path: PathBuf) -> Stamp {
        let version =
            std::fs::metadata(&path).ok().and_then(|meta| Some((meta.modified().ok()?, meta.len())));
        Stamp { path, version }
    }
}
