//! Cache of open codebases by path.
//!
//! A request names any directory of a repository; the codebase of its worktree answers. The settings of an
//! open codebase are fixed, so it is reopened when a file from which they were read has changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use codeweaver_base::{real_path, sync};
use codeweaver_index::{Codebase, IndexError};

use super::checkout::checkout_of;
use super::trust::{Naming, Purpose, Trust};
use crate::query::{Engine, Searcher};

/// Maximum number of open codebases. The least recently used one is closed first.
const MAX_OPEN: usize = 8;

/// All codebases of a server.
pub struct Codebases {
    default_dir: PathBuf,
    /// Whether only the codebase in `default_dir` is served.
    is_confined: bool,
    /// The engine that answers searches of the codebase in `default_dir`, if its index does not.
    engine: Option<Arc<dyn Engine>>,
    /// The repositories that the session may use.
    pub trust: Trust,
    /// Least recently used first.
    open: Arc<Mutex<Vec<Open>>>,
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
    /// The codebases of a server that was started in `default_dir`.
    pub fn new(default_dir: PathBuf) -> Codebases {
        // The current directory may be deleted while the server runs.
        let default_dir = std::path::absolute(&default_dir).unwrap_or(default_dir);
        Codebases {
            trust: Trust::new(&default_dir),
            default_dir,
            is_confined: false,
            engine: None,
            open: Arc::default(),
        }
    }

    /// The codebases of another session in `default_dir`, with a trust of its own. It shares what is open.
    pub fn of_session(&self, default_dir: PathBuf) -> Codebases {
        Codebases { open: self.open.clone(), ..Codebases::new(default_dir) }
    }

    /// Answers searches of the codebase of the server from `engine`, if there is one.
    pub fn of_engine(self, engine: Option<Arc<dyn Engine>>) -> Codebases {
        Codebases { engine, ..self }
    }

    /// Serves only the codebase in `root`, for other users over a network: a request that names another one
    /// is refused, whatever `mcp.allow` says.
    pub fn confined(root: PathBuf) -> Codebases {
        Codebases { is_confined: true, ..Codebases::new(root) }
    }

    /// The codebase of the server, opened again if its settings have changed.
    ///
    /// # Errors
    /// The repository no longer exists, or its settings are invalid.
    pub fn default_codebase(&self) -> Result<Arc<Searcher>, IndexError> {
        self.open(&self.default_dir)
    }

    /// Returns whether other users are served, see [`Self::confined`].
    pub fn is_confined(&self) -> bool {
        self.is_confined
    }

    /// Returns whether requests may name `dir`, a directory without symbolic links.
    pub fn serves(&self, dir: &Path) -> bool {
        !self.is_confined || checkout_of(dir).unwrap_or(dir) == self.default_dir
    }

    /// The directory of requests that name none: the directory of the server, or, if that is in no
    /// repository, the first workspace folder of the client that is in one.
    pub fn usual_dir(&self) -> PathBuf {
        let is_in_repository = |dir: &Path| checkout_of(dir).is_some() || dir.join("HEAD").is_file();

        if !is_in_repository(&self.default_dir)
            && let Some(folder) = self.trust.folders().into_iter().flatten().find(|it| is_in_repository(it))
        {
            return folder;
        }

        self.default_dir.clone()
    }

    /// Prepares the open codebases for their next requests (see [`Searcher::prepare`]). One that cannot
    /// answer is left to the request that finds it so.
    pub fn prepare(&self, age: Duration) {
        let open: Vec<Arc<Searcher>> = self.lock().iter().map(|open| open.searcher.clone()).collect();
        for searcher in open {
            if let Err(error) = searcher.prepare(age) {
                tracing::debug!(component = "service", operation = "prepare", %error, "not prepared");
            }
        }
    }

    /// Roots of the open codebases that the session may read.
    pub fn roots(&self) -> Vec<PathBuf> {
        let open: Vec<Arc<Searcher>> = self.lock().iter().map(|open| open.searcher.clone()).collect();
        let codebases = open.iter().map(|searcher| &searcher.codebase);
        let trusted =
            codebases.filter(|codebase| self.trust.check(codebase, Purpose::Read, Naming::Plain).is_ok());
        trusted.map(Codebase::root).collect()
    }

    /// Opens the codebase that contains `dir`, a directory without symbolic links. The caller asks
    /// [`Self::trust`] before it uses it.
    ///
    /// # Errors
    /// There is no repository, or its settings are invalid.
    pub fn open(&self, dir: &Path) -> Result<Arc<Searcher>, IndexError> {
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
        let searcher = match &self.engine {
            Some(engine) if self.is_default(dir) || self.is_confined => {
                Searcher::new(codebase).of_engine(engine.clone())
            }
            _ => Searcher::new(codebase),
        };
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
        real_path::canonicalize(&self.default_dir).is_ok_and(|default| default == dir)
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
