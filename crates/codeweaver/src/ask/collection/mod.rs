//! Collections: named sets of directories whose documents can be asked about, outside of any repository.
//!
//! Each collection is a folder in the cache of the user. It holds a private bare repository with the
//! documents, and the index of that repository. Blobs are addressed by their contents, so only changed files
//! cost work, and a copy of a file costs none. A file in the repository has the absolute path of the document
//! without the leading slash.
//!
//! * `scan`: the documents in the directories, with their times.
//! * [`manifest`]: the versions of the files that were indexed, with the identifiers of their `chunks`.
//!
//! An update is atomic: the branch, the index and the manifest are replaced one after the other, and each is
//! valid without the next. The next update completes an interrupted one. The repository is created beside its
//! place and renamed, and renamed before it is removed, so that there is a whole one or none.

mod chunks;
pub mod manifest;
mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use codeweaver_base::io_advice;
use codeweaver_git::import::Import;
use codeweaver_git::{GitError, PrivateRepo};
use codeweaver_index::progress::Progress;
use codeweaver_index::{Codebase, IndexError, Target, UpdateOptions, updater};
use codeweaver_store::StoreError;
use codeweaver_store::lock::Lock;

use manifest::{FileRecord, Manifest};

pub use scan::Skipped;

/// Maximum number of documents in one directory with all below it.
pub const MAX_FILES: usize = 50_000;
/// Maximum wait for another update of the same collection.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
/// The directory of the repository; while it is created; while it is removed.
const REPOSITORY: &str = "documents.git";
const NEW_REPOSITORY: &str = "documents.new";
const OLD_REPOSITORY: &str = "documents.old";
/// Maximum length of a name.
const MAX_NAME: usize = 64;

/// An error that makes a collection unusable.
#[derive(Debug, thiserror::Error)]
pub enum CollectionError {
    /// Neither `XDG_CACHE_HOME` nor `HOME` is set.
    #[error("the cache folder is not known: HOME is not set")]
    NoCache,
    /// The name is not a plain word.
    #[error("'{name}' cannot be the name of a collection: letters, digits, '.', '_' and '-', at most 64")]
    Name { name: String },
    /// There is no collection of this name.
    #[error("there is no collection '{name}'")]
    Unknown { name: String },
    /// Its folder cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl CollectionError {
    /// Advice on how to correct the error.
    pub fn fix(&self) -> String {
        match self {
            CollectionError::NoCache => "set HOME or XDG_CACHE_HOME".to_owned(),
            CollectionError::Name { .. } => "choose another name".to_owned(),
            CollectionError::Unknown { name } => format!("git codeweaver docs add {name} DIR"),
            CollectionError::Io { path, source, .. } => io_advice(source, path),
            CollectionError::Git(error) => error.fix().to_owned(),
            CollectionError::Store(error) => error.fix().to_owned(),
            CollectionError::Index(_) => "git codeweaver docs remove NAME, and add it again".to_owned(),
        }
    }
}

/// The folder of all collections.
#[derive(Debug, Clone)]
pub struct Collections {
    root: PathBuf,
}

/// A set of directories with its store.
#[derive(Debug, Clone)]
pub struct Collection {
    pub name: String,
    folder: PathBuf,
}

/// The result of an update.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct CollectionReport {
    /// Documents in the collection.
    pub files: usize,
    pub added: usize,
    pub modified: usize,
    pub deleted: usize,
    /// Chunks that were embedded.
    pub embedded_chunks: u64,
    /// Whether everything was read again, because the last update left no usable record.
    pub rebuilt: bool,
    /// Directories and files that are left out, each with the reason in a sentence.
    pub skipped: Vec<String>,
}

impl Collections {
    /// The folder in the cache of the user, from `XDG_CACHE_HOME` and `HOME`.
    pub fn from_user() -> Result<Collections, CollectionError> {
        let cache = absolute_path("XDG_CACHE_HOME").or_else(|| Some(absolute_home()?.join(".cache")));
        let root = cache.ok_or(CollectionError::NoCache)?.join("codeweaver").join("collections");
        Ok(Collections { root })
    }

    /// The collection `name`, which need not exist.
    pub fn named(&self, name: &str) -> Result<Collection, CollectionError> {
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        if name.is_empty() || name.len() > MAX_NAME || name.starts_with('.') || !is_plain {
            return Err(CollectionError::Name { name: name.to_owned() });
        }

        Ok(Collection { name: name.to_owned(), folder: self.root.join(name) })
    }

    /// The collection of `directories` without a name of its own.
    pub fn of_directories(&self, directories: &[PathBuf]) -> Result<Collection, CollectionError> {
        let mut hasher = blake3::Hasher::new();
        for directory in directories {
            hasher.update(directory.as_os_str().as_encoded_bytes());
            hasher.update(&[0]);
        }

        self.named(&format!("dir-{}", &hasher.finalize().to_hex()[..16]))
    }

    /// All collections with their manifests, by name.
    pub fn list(&self) -> Vec<(Collection, Manifest)> {
        let folders = std::fs::read_dir(&self.root).into_iter().flatten().flatten();
        let names = folders.filter_map(|folder| folder.file_name().into_string().ok());

        let mut found: Vec<(Collection, Manifest)> = names
            .filter_map(|name| self.named(&name).ok())
            .filter_map(|collection| collection.manifest().map(|manifest| (collection, manifest)))
            .collect();

        found.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        found
    }
}

impl Collection {
    /// Returns whether the collection has been created.
    pub fn exists(&self) -> bool {
        self.git_dir().join("HEAD").is_file()
    }

    /// The record of the last update; `None` if there is none that can be read.
    pub fn manifest(&self) -> Option<Manifest> {
        Manifest::read(&self.manifest_path())
    }

    /// The codebase of its documents.
    ///
    /// # Errors
    /// [`CollectionError::Unknown`] if it has not been created.
    pub fn codebase(&self) -> Result<Codebase, CollectionError> {
        if !self.exists() {
            return Err(CollectionError::Unknown { name: self.name.clone() });
        }

        Ok(Codebase::open_named(&self.git_dir(), &[])?)
    }

    /// Removes it with its store.
    pub fn remove(&self) -> Result<(), CollectionError> {
        if !self.folder.is_dir() {
            return Err(CollectionError::Unknown { name: self.name.clone() });
        }

        let _lock = self.lock()?;
        self.clear()?;
        std::fs::remove_dir_all(&self.folder).map_err(self.io("remove"))
    }

    /// Removes the store and builds it from the present documents in `directories`; as [`Self::update`].
    pub fn rebuild(
        &self,
        directories: Option<&[PathBuf]>,
        progress: &dyn Progress,
    ) -> Result<CollectionReport, CollectionError> {
        let lock = self.lock_for_update(directories)?;

        let known = self.manifest().map(|manifest| manifest.directories);
        let directories = directories.map(<[PathBuf]>::to_vec).or(known);
        let directories = directories.ok_or_else(|| CollectionError::Unknown { name: self.name.clone() })?;

        self.clear()?;
        self.update_locked(Some(&directories), &lock, progress)
    }

    /// Updates the store to the present documents in `directories`; those of the last update if `None`.
    ///
    /// Only documents whose time or size has changed are read, and only new contents are embedded. Unusable
    /// directories and files are left out and reported; if none is left, the collection is empty.
    ///
    /// # Errors
    /// [`CollectionError::Unknown`] if `directories` is `None` and the collection has not been created.
    pub fn update(
        &self,
        directories: Option<&[PathBuf]>,
        progress: &dyn Progress,
    ) -> Result<CollectionReport, CollectionError> {
        let lock = self.lock_for_update(directories)?;
        self.update_locked(directories, &lock, progress)
    }

    /// Updates the store as [`Self::update`] does, under the lock that the caller holds. The manifest is read
    /// here, since an update that held the lock before may have replaced it.
    fn update_locked(
        &self,
        directories: Option<&[PathBuf]>,
        lock: &Lock,
        progress: &dyn Progress,
    ) -> Result<CollectionReport, CollectionError> {
        let manifest = self.manifest();
        let directories: Vec<PathBuf> = match (directories, &manifest) {
            (Some(directories), _) => directories.to_vec(),
            (None, Some(manifest)) => manifest.directories.clone(),
            (None, None) => return Err(CollectionError::Unknown { name: self.name.clone() }),
        };

        let codebase = self.open_or_create(lock)?;
        // Without a commit, the manifest is that of a repository that is gone.
        let has_commit = codebase.repo.head().is_ok_and(|head| head.commit.is_some());
        let known = manifest.filter(|_| has_commit);

        let scan = scan::scan(&directories, codebase.settings.policy.max_blob_bytes, MAX_FILES);
        let old = known.as_ref().map(|manifest| &manifest.files);
        let mut report = CollectionReport {
            files: scan.files.len(),
            rebuilt: known.is_none(),
            skipped: scan.skipped.iter().map(Skipped::to_string).collect(),
            ..CollectionReport::default()
        };

        let git_dir = self.git_dir();
        let private = PrivateRepo::open(&git_dir, lock.file())?;
        let mut files = import(private, &scan.files, old, &mut report)?;

        // The snapshot is checked too, since an unchanged manifest does not show that the index is still
        // there.
        let has_changed = report.added + report.modified + report.deleted > 0;
        let target = Target::head(&codebase)?;
        if has_changed || report.rebuilt || !codebase.has_snapshot(&target) {
            let updated = updater::run(&codebase, &target, UpdateOptions::default(), progress)?;
            report.embedded_chunks = updated.embedded_chunks;
            name_chunks(&mut files, chunks::identifiers(&codebase, &target)?);
        }

        let manifest = Manifest { directories, files };
        if known.as_ref() != Some(&manifest) {
            manifest.write(&self.manifest_path()).map_err(self.io("write"))?;
        }

        Ok(report)
    }

    /// The codebase of the documents. A repository that git cannot open is made again, since it has nothing
    /// that the documents do not have.
    fn open_or_create(&self, lock: &Lock) -> Result<Codebase, CollectionError> {
        if self.exists() {
            match self.codebase() {
                Err(CollectionError::Index(IndexError::Git(error))) => {
                    tracing::warn!(component = "ask", operation = "open", %error, "the collection is built again");
                }
                opened => return opened,
            }
        }

        self.remove_repository()?;
        let new = self.folder.join(NEW_REPOSITORY);
        PrivateRepo::open(&new, lock.file())?.create()?;
        std::fs::rename(&new, self.git_dir()).map_err(self.io("rename"))?;
        self.codebase()
    }

    /// Removes the manifest and the repository with its store, but not the lock, which the caller holds.
    fn clear(&self) -> Result<(), CollectionError> {
        // The manifest first: without it, the next update reads everything again.
        let manifest = std::fs::remove_file(self.manifest_path());
        manifest.or_else(unless_missing).map_err(self.io("remove"))?;

        self.remove_repository()
    }

    /// Removes the repository with its store, and the rest of those whose creation or removal was
    /// interrupted.
    fn remove_repository(&self) -> Result<(), CollectionError> {
        for name in [NEW_REPOSITORY, OLD_REPOSITORY] {
            let rest = std::fs::remove_dir_all(self.folder.join(name));
            rest.or_else(unless_missing).map_err(self.io("remove"))?;
        }

        let old = self.folder.join(OLD_REPOSITORY);
        match std::fs::rename(self.git_dir(), &old) {
            Ok(()) => std::fs::remove_dir_all(&old).map_err(self.io("remove")),
            Err(error) => unless_missing(error).map_err(self.io("rename")),
        }
    }

    /// Takes the lock for an update to `directories`. Without any, a collection that does not exist is an
    /// error, and gets no folder.
    fn lock_for_update(&self, directories: Option<&[PathBuf]>) -> Result<Lock, CollectionError> {
        if directories.is_none() && !self.folder.is_dir() {
            return Err(CollectionError::Unknown { name: self.name.clone() });
        }

        self.lock()
    }

    /// Takes the lock of the collection. Waits for another update, since two questions at once are no error.
    fn lock(&self) -> Result<Lock, CollectionError> {
        let until = Instant::now() + LOCK_TIMEOUT;

        loop {
            // A removal that held the lock has removed the folder too.
            std::fs::create_dir_all(&self.folder).map_err(self.io("create"))?;
            match Lock::try_acquire(&self.folder.join("lock")) {
                Err(StoreError::Locked { .. }) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                result => return Ok(result?),
            }
        }
    }

    fn git_dir(&self) -> PathBuf {
        self.folder.join(REPOSITORY)
    }

    fn manifest_path(&self) -> PathBuf {
        self.folder.join("manifest.json")
    }

    fn io(&self, action: &'static str) -> impl Fn(io::Error) -> CollectionError {
        let path = self.folder.clone();
        move |source| CollectionError::Io { action, path: path.clone(), source }
    }
}

/// Commits the differences from `old`, and returns the records of all files.
fn import(
    repo: PrivateRepo<'_>,
    found: &BTreeMap<PathBuf, FileRecord>,
    old: Option<&BTreeMap<PathBuf, FileRecord>>,
    report: &mut CollectionReport,
) -> Result<BTreeMap<PathBuf, FileRecord>, CollectionError> {
    let empty = BTreeMap::new();
    let old = old.unwrap_or(&empty);
    let (mut files, mut import) = (BTreeMap::new(), None);
    let anew = report.rebuilt;
    let mut gone: BTreeSet<&PathBuf> = old.keys().collect();

    for (path, record) in found {
        gone.remove(path);
        let known = old.get(path);
        if let Some(known) = known.filter(|known| known.is_same_version(record)) {
            files.insert(path.clone(), known.clone());
            continue;
        }

        let Ok(bytes) = std::fs::read(path) else {
            report.skipped.push(format!("{} cannot be read", path.display()));
            // A document that cannot be read any more is no part of the collection.
            if known.is_some() {
                gone.insert(path);
            }
            continue;
        };

        let blake3 = blake3::hash(&bytes).to_hex().to_string();
        let same = known.filter(|known| known.blake3 == blake3);
        let chunks = same.map(|known| known.chunks.clone()).unwrap_or_default();
        files.insert(path.clone(), FileRecord { blake3, chunks, ..record.clone() });
        // Only the time has changed, so the blob is in the repository already.
        if same.is_some() {
            continue;
        }

        match known {
            Some(_) => report.modified += 1,
            None => report.added += 1,
        }
        begun(&mut import, repo, anew)?.add(&repository_path(path), &bytes)?;
    }

    for path in gone {
        report.deleted += 1;
        begun(&mut import, repo, anew)?.remove(&repository_path(path))?;
    }

    report.files = files.len();
    // The branch must exist, even for a collection without documents.
    if report.rebuilt {
        begun(&mut import, repo, anew)?;
    }

    if let Some(import) = import {
        import.finish()?;
    }

    Ok(files)
}

/// Records the identifiers of the chunks of each file, which `by_path` has by the path in the repository. A
/// file without chunks, such as an empty one, may be missing there.
fn name_chunks(files: &mut BTreeMap<PathBuf, FileRecord>, mut by_path: BTreeMap<Vec<u8>, Vec<String>>) {
    for (path, record) in files {
        record.chunks = by_path.remove(&repository_path(path)).unwrap_or_default();
    }
}

/// The absolute path in an environment variable; `None` if it has no such path.
fn absolute_path(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn absolute_home() -> Option<PathBuf> {
    codeweaver_base::home().filter(|path| path.is_absolute())
}

/// Takes the removal of a missing file for done.
fn unless_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Returns the import, which is begun with the first change.
fn begun<'i, 'a>(
    import: &'i mut Option<Import<'a>>,
    repo: PrivateRepo<'a>,
    anew: bool,
) -> Result<&'i mut Import<'a>, GitError> {
    match import {
        Some(import) => Ok(import),
        none => Ok(none.insert(Import::begin(repo, anew)?)),
    }
}

/// The path in the repository of a document at an absolute path.
fn repository_path(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.strip_prefix(b"/").unwrap_or(bytes).to_vec()
}

/// The path on disk of a document of a collection.
pub fn disk_path(path: &str) -> String {
    format!("/{path}")
}
