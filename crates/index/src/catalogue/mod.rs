//! The catalogue: many repositories indexed as one.
//!
//! A catalogue is a bare repository whose tree has the tree of every member under its name
//! ([`codeweaver_git::Members`]), with an index like any other. In this module, `add` finds and adds members,
//! `sync` brings them up to date, `follow` does so for a query, and `list` returns their states.

mod add;
mod follow;
mod list;
mod sync;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeweaver_base::real_path;
use codeweaver_git::{CATALOGUE_KEY, GitError, Member, Members, NameError, PrivateRepo, Repo};
use codeweaver_store::StoreError;
use codeweaver_store::lock::Lock;

use crate::{Codebase, IndexError};

pub use add::{AddOptions, AddReport, Refused};
pub use follow::{Asked, Behind, behind, follow};
pub use list::{Listed, ListedState};
pub use sync::{Problem, SyncReport, Which};

/// The file in the git directory by whose lock writers keep each other out.
const LOCK_FILE: &str = "codeweaver-catalogue.lock";

/// The reason why a catalogue cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// A repository that is to be a member is a catalogue.
    #[error("{} is a catalogue itself", path.display())]
    IsACatalogue {
        /// The repository.
        path: PathBuf,
    },
    /// The directory has another repository, or other files.
    #[error("{} is not empty", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// There are no repositories below a directory.
    #[error("there is no git repository below {}", path.display())]
    NothingFound {
        /// The directory.
        path: PathBuf,
    },
    /// The directory is not the top of a repository.
    #[error("{} is not a git repository", path.display())]
    NotARepository {
        /// The directory.
        path: PathBuf,
        /// The repository that it is in.
        within: Option<PathBuf>,
    },
    /// A member cannot have its name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// No member has this name or path.
    #[error("there is no member {name:?}")]
    NoMember {
        /// The name or path as typed.
        name: String,
        /// A member with a similar name.
        similar: Option<String>,
    },
    /// A repository has no such branch or tag.
    #[error("{} has no branch or tag {reference:?}", path.display())]
    NoReference {
        /// The repository.
        path: PathBuf,
        /// The branch or tag as typed.
        reference: String,
    },
    /// A directory cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// Git cannot be read or written.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The index cannot be updated.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl From<StoreError> for CatalogueError {
    fn from(error: StoreError) -> CatalogueError {
        CatalogueError::Index(error.into())
    }
}

/// A catalogue. Cheap to clone; every operation reads the current list of members.
#[derive(Debug, Clone)]
pub struct Catalogue {
    repo: Repo,
}

impl Catalogue {
    /// Creates an empty catalogue in `dir`, completes one whose creation was interrupted, or opens the one
    /// that is there.
    ///
    /// # Errors
    /// [`CatalogueError::NotEmpty`] if the directory has other content.
    pub fn create(dir: &Path) -> Result<Catalogue, CatalogueError> {
        let lock_file = dir.join(LOCK_FILE);
        // The first file that is created, so whatever is beside it is ours.
        if !lock_file.exists() {
            if dir.join("HEAD").is_file() {
                return Catalogue::open_there(dir);
            }
            if std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(CatalogueError::NotEmpty { path: dir.to_owned() });
            }
        }

        let io = |source| CatalogueError::Io { path: dir.to_owned(), source };
        std::fs::create_dir_all(dir).map_err(io)?;
        let lock = Lock::acquire(&lock_file)?;
        let private = PrivateRepo::open(dir, lock.file())?;
        if let Ok(catalogue) = Catalogue::open_there(dir) {
            return Ok(catalogue);
        }

        private.create()?;
        let settings = [
            // Git must not look for the members' objects in this repository.
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            // Only `catalogue sync` writes its history.
            ("receive.hideRefs", "refs/"),
            ("core.logAllRefUpdates", "always"),
        ];
        for (key, value) in settings {
            private.set_config(key, value)?;
        }

        Repo::discover_named(dir)?.commit_members(&Members::default(), "catalogue: create", now())?;
        // Last, since it says that the catalogue is complete.
        private.set_config(CATALOGUE_KEY, "true")?;
        Catalogue::open_there(dir)
    }

    /// Opens the catalogue whose git directory is `dir`, and no directory above it.
    ///
    /// # Errors
    /// [`CatalogueError::NotEmpty`] if there is another repository, or only a part of one.
    fn open_there(dir: &Path) -> Result<Catalogue, CatalogueError> {
        let not_empty = || CatalogueError::NotEmpty { path: dir.to_owned() };
        let catalogue = match Catalogue::open(dir) {
            Err(CatalogueError::Git(GitError::NotACatalogue { .. })) => return Err(not_empty()),
            opened => opened?,
        };

        let is_there = real_path::canonicalize(dir).is_ok_and(|dir| dir == catalogue.git_dir());
        if is_there { Ok(catalogue) } else { Err(not_empty()) }
    }

    /// Opens the catalogue in `dir`.
    ///
    /// # Errors
    /// [`CatalogueError::Git`] if there is another repository, or none.
    pub fn open(dir: &Path) -> Result<Catalogue, CatalogueError> {
        Catalogue::from_repo(Repo::discover_named(dir)?)
    }

    /// Returns `repo` as a catalogue.
    ///
    /// # Errors
    /// [`GitError::NotACatalogue`].
    pub fn from_repo(repo: Repo) -> Result<Catalogue, CatalogueError> {
        if repo.is_catalogue() {
            // The list of members is written as a whole.
            Ok(Catalogue { repo: repo.unlimited() })
        } else {
            Err(GitError::NotACatalogue { path: repo.git_dir().to_owned() }.into())
        }
    }

    /// The git directory.
    pub fn git_dir(&self) -> &Path {
        self.repo.git_dir()
    }

    /// The repository with the tree of all members.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// The members as they were when they were last brought up to date.
    pub fn members(&self) -> Result<Arc<Members>, CatalogueError> {
        Ok(self.repo.members()?)
    }

    /// Opens the index.
    pub fn codebase(&self) -> Result<Codebase, CatalogueError> {
        Ok(Codebase::open_named(self.git_dir(), &[])?)
    }

    /// Removes members. Their entries leave the index with the next update. Their vectors are kept until they
    /// are garbage-collected.
    ///
    /// # Errors
    /// [`CatalogueError::NoMember`]; nothing is removed then.
    pub fn remove(&self, names: &[String]) -> Result<Vec<Member>, CatalogueError> {
        let _lock = self.lock()?;
        let members = self.members()?;

        let mut removed: Vec<Member> = Vec::new();
        for name in names {
            removed.push(find(&members, name)?.clone());
        }

        let mut others = members.all().to_vec();
        others.retain(|member| removed.iter().all(|gone| gone.name != member.name));

        let message = format!("catalogue: remove {}", named(removed.iter().map(|member| &*member.name)));
        self.repo.commit_members(&Members::new(others)?, &message, now())?;
        Ok(removed)
    }

    /// Takes the lock that is held while the list of members is changed.
    fn lock(&self) -> Result<Lock, CatalogueError> {
        self.locked(Lock::acquire(&self.lock_file())?)
    }

    /// As [`Self::lock`], but without waiting.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process holds it.
    fn try_lock(&self) -> Result<Lock, CatalogueError> {
        self.locked(Lock::try_acquire(&self.lock_file())?)
    }

    /// Removes what dead writers have left in the repository, whose lock has just been taken.
    fn locked(&self, lock: Lock) -> Result<Lock, CatalogueError> {
        PrivateRepo::open(self.git_dir(), lock.file())?;
        Ok(lock)
    }

    fn lock_file(&self) -> PathBuf {
        self.git_dir().join(LOCK_FILE)
    }
}

/// The member with this name or at this path.
fn find<'m>(members: &'m Members, typed: &str) -> Result<&'m Member, CatalogueError> {
    if let Some(member) = members.get(typed.trim_end_matches('/')) {
        return Ok(member);
    }

    let at_path = real_path::canonicalize(typed).ok().and_then(|path| {
        let mut all = members.all().iter();
        all.find(|member| member.path == path || member.path == path.join(".git"))
    });

    at_path
        .ok_or_else(|| CatalogueError::NoMember { name: typed.to_owned(), similar: similar(members, typed) })
}

/// The name of the member that was probably meant: the nearest one by edit distance, or one that ends in
/// `typed`.
fn similar(members: &Members, typed: &str) -> Option<String> {
    let names = members.all().iter().map(|member| &member.name);
    let near = names.filter_map(|name| {
        let distance = strsim::levenshtein(typed, name);
        let is_end = name.rsplit('/').next() == Some(typed);
        (is_end || distance <= 1 + typed.len() / 4).then_some((!is_end, distance, name))
    });
    near.min().map(|(.., name)| name.clone())
}

/// A list of a few names, and the number of the others.
fn named<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const SHOWN: usize = 5;
    let names: Vec<&str> = names.collect();
    match names.len() {
        n if n > SHOWN => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
        _ => names.join(", "),
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
