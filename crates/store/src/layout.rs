//! The directories and files of a store.
//!
//! ```text
//! .codeweaver/                  at the root of the main worktree, shared by all linked worktrees; 0700
//!                               unless `core.sharedRepository` says otherwise
//!   nonce                       must equal `codeweaver-nonce` in the common git directory
//!   .gitignore                  keeps the directory out of commits if `info/exclude` is overwritten
//!   locks/  wanted/  cache/     leases, update requests, status caches and logs
//!   v1/<vector space>/          one store for each vector space, so that vectors of two models never mix
//!     state                     the names of everything current
//!     hashed                    stat data of the files below that have been hashed
//!     shards/<blake3>.parquet   chunks and vectors: the source of truth
//!     segments/<blake3>.seg     derived from a shard and git
//!     entries/<blake3>.ent      paths
//!     snapshots/<blake3>.snap   membership
//!     graphs/<blake3>.hnsw      derived from the leading shards
//! ```

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeweaver_base::durable::{self, Replacement};
use codeweaver_base::{random, regular_file};
use codeweaver_git::{self as git, Repo, STORE_DIR};

use super::error::StoreError;
use super::exclude::{ExcludeError, add_exclude, exclude_file};
use super::fault;
use super::references::SegmentRef;
use super::trust::{Inputs, TrustMemo};

/// Prefix of the names of files that are being written.
pub const TEMPORARY_PREFIX: &str = ".tmp-";
/// Name of the file with which git ignores the directory and everything in it, and its text.
const IGNORE_FILE: &str = ".gitignore";
const IGNORE_ALL: &str = "*\n";
/// Name of the file that binds the directory to the repository, and of its copy in the git directory.
const NONCE: &str = "nonce";
const NONCE_IN_GIT: &str = "codeweaver-nonce";
const FORMAT_DIR: &str = "v1";

/// The location of `.codeweaver/` of one repository.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
    common_dir: PathBuf,
    /// The git directory of a linked worktree.
    linked_dir: Option<PathBuf>,
    /// Permission bits of new files, from which those of the directory are derived when it is created.
    file_mode: u32,
    trusted: Arc<TrustMemo>,
    ignored: Arc<TrustMemo>,
}

impl Layout {
    /// Locates `.codeweaver/`: at the root of the main worktree, or inside the git directory of a bare
    /// repository. Creates nothing.
    pub fn new(repo: &Repo) -> Layout {
        let parent = repo.main_root().unwrap_or_else(|| repo.common_dir().to_path_buf());
        Layout {
            root: parent.join(STORE_DIR),
            common_dir: repo.common_dir().to_path_buf(),
            linked_dir: repo.is_linked().then(|| repo.git_dir().to_path_buf()),
            file_mode: repo.file_mode(),
            trusted: Arc::default(),
            ignored: Arc::default(),
        }
    }

    /// The directory `.codeweaver/`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The git directory shared by all worktrees.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The nonce in the git directory.
    pub fn nonce_in_git(&self) -> PathBuf {
        self.common_dir.join(NONCE_IN_GIT)
    }

    /// Directory of lock files.
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// Directory of update requests, one file for each worktree.
    pub fn update_requests(&self) -> PathBuf {
        self.root.join("wanted")
    }

    /// Directory of status caches, crash journals and logs.
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Lock file of the work lease of one worktree.
    pub fn work_lock(&self, worktree_key: &str) -> PathBuf {
        self.locks().join(format!("work-{worktree_key}.lock"))
    }

    /// Lock file held while HNSW graphs are built.
    pub fn graph_lock(&self) -> PathBuf {
        self.locks().join("graphs.lock")
    }

    /// Lock file of the publish lock.
    pub fn publish_lock(&self) -> PathBuf {
        self.locks().join("publish.lock")
    }

    /// The store of one vector space.
    pub fn store(&self, vector_space: &str) -> StoreLayout {
        let hash = blake3::hash(vector_space.as_bytes()).to_hex();
        StoreLayout { root: self.root.join(FORMAT_DIR).join(&hash[..16]) }
    }

    /// Existing stores, of any vector space.
    pub fn stores(&self) -> Vec<StoreLayout> {
        let Ok(children) = std::fs::read_dir(self.root.join(FORMAT_DIR)) else { return Vec::new() };
        let mut stores: Vec<StoreLayout> = children
            .flatten()
            .map(|child| StoreLayout { root: child.path() })
            .filter(|s| s.state().is_file())
            .collect();

        stores.sort_by(|a, b| a.root.cmp(&b.root));
        stores
    }

    /// Creates the directory and binds it to this repository. Returns whether it is new.
    ///
    /// A directory without a nonce, or with that of another repository, is refused: it may have been unpacked
    /// from an archive or be tracked by a hostile repository.
    pub fn create(&self) -> Result<bool, StoreError> {
        match self.trust()? {
            Trust::Ours => {
                match self.ignore() {
                    // The owner of the directory mends it.
                    Err(error) if !error.is_denied() => return Err(error),
                    Err(_) | Ok(_) => {}
                }
                self.create_subdirs()?;
                return Ok(false);
            }
            Trust::Absent => {}
        }

        // Before the directory exists: the next `git add -A` would add a directory that git does not ignore,
        // even if this process is killed in between.
        self.add_exclude()?;

        self.create_root()?;
        let nonce = match regular_file::read_to_string(&self.common_dir.join(NONCE_IN_GIT)) {
            Ok(nonce) if !nonce.trim().is_empty() => nonce,
            _ => self.new_nonce(&self.common_dir)?,
        };

        // The first file in the directory, which is trusted from now on.
        write_atomically(&self.root.join(NONCE), nonce.as_bytes())?;
        self.ignore()?;
        self.create_subdirs()?;
        Ok(true)
    }

    /// Makes git ignore the directory, which is ours, where it no longer does: another program may have
    /// written `info/exclude` anew. Returns whether something was missing.
    ///
    /// Git ignores the directory twice. The line in `info/exclude` is there before the first file, and the
    /// file in the directory goes where the directory goes. Cost: two looks at files if nothing has changed.
    pub fn ignore(&self) -> Result<bool, StoreError> {
        if self.ignored.holds() {
            return Ok(false);
        }

        let file = self.root.join(IGNORE_FILE);
        let inputs = Inputs::observe(vec![exclude_file(&self.common_dir), file.clone()]);
        let was_excluded = !self.add_exclude()?;
        let has_file = regular_file::read(&file).is_ok_and(|text| text == IGNORE_ALL.as_bytes());
        if !has_file {
            write_atomically(&file, IGNORE_ALL.as_bytes())?;
        }

        let was_ignored = was_excluded && has_file;
        if was_ignored {
            self.ignored.keep(inputs);
        }
        Ok(!was_ignored)
    }

    fn add_exclude(&self) -> Result<bool, StoreError> {
        add_exclude(&self.common_dir).map_err(|ExcludeError { action, path, source }| StoreError::Io {
            action,
            path,
            source,
        })
    }

    /// Returns whether the directory exists and belongs to this repository. Fails if it belongs to another
    /// one, or if `git stash --all` has moved it: until the stash is applied, the directory must not exist,
    /// or git restores only a part of the stash.
    pub fn trust(&self) -> Result<Trust, StoreError> {
        if self.trusted.holds() {
            return Ok(Trust::Ours);
        }

        // Observed before the check, so that a later change is noticed.
        let inputs = Inputs::observe(self.trust_inputs());
        let trust = self.check_trust()?;
        if trust == Trust::Ours {
            self.trusted.keep(inputs);
        }
        Ok(trust)
    }

    /// The paths of everything that [`Self::check_trust`] reads.
    fn trust_inputs(&self) -> Vec<PathBuf> {
        let stores = self.root.join(FORMAT_DIR);
        let vector_spaces = std::fs::read_dir(&stores).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = vector_spaces.map(|store| store.path()).collect();
        paths.extend([self.root.clone(), self.root.join(NONCE), self.nonce_in_git(), stores]);
        paths.extend([self.locks(), self.update_requests(), self.cache()]);
        paths
    }

    /// As [`Self::trust`], without its memory.
    fn check_trust(&self) -> Result<Trust, StoreError> {
        let metadata = match std::fs::symlink_metadata(&self.root) {
            Ok(metadata) => metadata,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return match self.was_initialised() && git::is_store_stashed(&self.common_dir) {
                    true => Err(StoreError::Stashed { path: self.root.clone() }),
                    false => Ok(Trust::Absent),
                };
            }
            Err(e) => return Err(StoreError::io("inspect", &self.root)(e)),
        };

        let untrusted = |why: &str| StoreError::Untrusted { path: self.root.clone(), why: why.to_owned() };
        if !metadata.is_dir() {
            return Err(untrusted("it is a symbolic link or a file, not a directory"));
        }

        let nonce = self.root.join(NONCE);
        let mut inside = read_nonce(&nonce)?;
        if inside.is_none() {
            if is_empty(&self.root) {
                return Ok(Trust::Absent);
            }
            // The nonce is the first file that a creator writes, so a directory that is not empty has it by
            // now or will never have it.
            inside = read_nonce(&nonce)?;
        }
        let in_git = read_nonce(&self.common_dir.join(NONCE_IN_GIT))?;
        match (inside, in_git) {
            (Some(inside), Some(in_git)) if inside == in_git => {}
            _ => {
                return Err(untrusted(
                    "it was not made for this repository (its nonce differs from the one in the git directory)",
                ));
            }
        }

        match self.first_link() {
            Some(link) => {
                let why = "it is a symbolic link, which this program makes nowhere in its folder";
                Err(StoreError::Untrusted { path: link, why: why.to_owned() })
            }
            None => Ok(Trust::Ours),
        }
    }

    /// Finds a symbolic link among the directories and the files that are written in place. An archive can
    /// contain a git directory and a store that fit together; through a link in it we would overwrite or
    /// collect a file elsewhere.
    fn first_link(&self) -> Option<PathBuf> {
        let stores = self.root.join(FORMAT_DIR);
        let mut directories =
            vec![self.root.clone(), self.locks(), self.update_requests(), self.cache(), stores.clone()];
        let vector_spaces = std::fs::read_dir(&stores).into_iter().flatten().flatten();
        directories.extend(vector_spaces.map(|store| store.path()));

        directories.iter().find_map(|dir| links_in(dir).next())
    }

    /// Removes the directory, if it is ours, and the nonces.
    pub fn remove(&self) -> Result<(), StoreError> {
        match self.trust() {
            Ok(Trust::Ours) => self.remove_all().map_err(StoreError::io("remove", &self.root))?,
            // The stash keeps it, unbound.
            Ok(Trust::Absent) | Err(StoreError::Stashed { .. }) => {}
            Err(error) => return Err(error),
        }
        self.forget()
    }

    /// Removes the directory, its nonce last: an interrupted removal leaves a directory that is still ours
    /// and can be removed or reused.
    fn remove_all(&self) -> std::io::Result<()> {
        let nonce = self.root.join(NONCE);
        for child in std::fs::read_dir(&self.root)? {
            let child = child?;
            if child.path() == nonce {
                continue;
            }

            fault::step()?;
            if child.file_type()?.is_dir() {
                std::fs::remove_dir_all(child.path())?;
            } else {
                std::fs::remove_file(child.path())?;
            }
        }

        fault::step()?;
        std::fs::remove_file(nonce)?;
        fault::step()?;
        std::fs::remove_dir(&self.root)
    }

    /// Removes only the nonces in git directories, after which the directory is bound to no repository.
    pub fn forget(&self) -> Result<(), StoreError> {
        let linked = std::fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten().flatten();

        for dir in linked.map(|child| child.path()).chain([self.common_dir.clone()]) {
            let path = dir.join(NONCE_IN_GIT);
            match std::fs::remove_file(&path) {
                // A stray file beside the directories of worktrees has no nonce either.
                Err(e)
                    if !matches!(
                        e.kind(),
                        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                    ) =>
                {
                    return Err(StoreError::io("remove", &path)(e));
                }
                _ => {}
            }
        }

        Ok(())
    }

    /// The identity of a linked worktree: a nonce in its git directory, which moves with it and goes with it.
    /// `None` for the main worktree, and for a linked one that has not been indexed.
    pub fn worktree_id(&self) -> Option<String> {
        let id = regular_file::read_to_string(&self.linked_dir.as_ref()?.join(NONCE_IN_GIT)).ok()?;
        Some(id.trim().to_owned()).filter(|id| !id.is_empty())
    }

    /// As [`Self::worktree_id`], but makes an identity if there is none.
    pub fn create_worktree_id(&self) -> Result<Option<String>, StoreError> {
        match (&self.linked_dir, self.worktree_id()) {
            (None, _) => Ok(None),
            (Some(_), Some(id)) => Ok(Some(id)),
            (Some(dir), None) => self.new_nonce(dir).map(|id| Some(id.trim().to_owned())),
        }
    }

    /// Returns whether `init` was run in this repository, even if the directory has been deleted since.
    pub fn was_initialised(&self) -> bool {
        self.common_dir.join(NONCE_IN_GIT).is_file()
    }

    /// Makes `.codeweaver/` for all users of the repository. Everything below inherits from it.
    fn create_root(&self) -> Result<(), StoreError> {
        let mode = Some(git::directory_mode(self.file_mode));
        fault::step()
            .and_then(|()| durable::create_directory_like(&self.root, &self.common_dir, mode))
            .map_err(StoreError::io("create", &self.root))
    }

    fn create_subdirs(&self) -> Result<(), StoreError> {
        [self.locks(), self.update_requests(), self.cache()].iter().try_for_each(|dir| create_directory(dir))
    }

    /// Makes a nonce in a git directory, or returns the one that another process has made.
    fn new_nonce(&self, git_dir: &Path) -> Result<String, StoreError> {
        let nonce = format!("{}\n", random::hex128());
        let path = git_dir.join(NONCE_IN_GIT);
        self.try_new_nonce(&path, &nonce).map_err(StoreError::io("write", &path))
    }

    fn try_new_nonce(&self, path: &Path, nonce: &str) -> std::io::Result<String> {
        fault::step()?;
        let new = Replacement::new(path).named(TEMPORARY_PREFIX, "").inheriting();
        let staged = new.stage(nonce.as_bytes())?;
        // The git directory itself may admit more users.
        #[cfg(unix)]
        staged.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(self.file_mode))?;
        staged.sync()?;

        fault::step()?;
        regular_file::make_way(path)?;
        match staged.commit_new() {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(e),
            _ => fault::step()?,
        }

        // If two processes begin at once, both use the nonce of the first.
        let winner = regular_file::read_to_string(path)?;
        if !winner.trim().is_empty() {
            return Ok(winner);
        }
        std::fs::write(path, nonce)?;
        Ok(nonce.to_owned())
    }
}

/// The result of [`Layout::trust`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    Ours,
    Absent,
}

/// The files of one vector space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLayout {
    root: PathBuf,
}

impl StoreLayout {
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    pub fn previous_state(&self) -> PathBuf {
        self.root.join("state.prev")
    }

    pub fn checkpoint(&self, worktree_key: &str) -> PathBuf {
        self.root.join(format!("checkpoint-{worktree_key}.json"))
    }

    /// Record of the files whose content was found to be right.
    pub fn hashed(&self) -> PathBuf {
        self.root.join("hashed")
    }

    pub fn shard(&self, name: &str) -> PathBuf {
        self.root.join("shards").join(format!("{name}.parquet"))
    }

    pub fn segment(&self, name: &str) -> PathBuf {
        self.root.join("segments").join(format!("{name}.seg"))
    }

    pub fn entries(&self, name: &str) -> PathBuf {
        self.root.join("entries").join(format!("{name}.ent"))
    }

    pub fn snapshot(&self, name: &str) -> PathBuf {
        self.root.join("snapshots").join(format!("{name}.snap"))
    }

    /// Directory of the HNSW graphs.
    pub fn graphs(&self) -> PathBuf {
        self.root.join("graphs")
    }

    /// The HNSW graph over `segments`.
    pub fn graph(&self, segments: &[SegmentRef]) -> PathBuf {
        self.graphs().join(format!("{}.hnsw", StoreLayout::graph_name(segments)))
    }

    /// Name of the HNSW graph over `segments`, a hash of their names.
    pub fn graph_name(segments: &[SegmentRef]) -> String {
        let mut hasher = blake3::Hasher::new();
        segments.iter().for_each(|segment| add_to_graph_name(&mut hasher, segment));
        hasher.finalize().to_hex().to_string()
    }

    /// Number of leading segments that the largest graph on disk covers.
    pub fn largest_graph(&self, segments: &[SegmentRef]) -> Option<usize> {
        let files = std::fs::read_dir(self.graphs()).ok()?.flatten();
        let files = files.filter_map(|file| file.file_name().into_string().ok());
        let names: HashSet<String> =
            files.filter_map(|file| file.strip_suffix(".hnsw").map(str::to_owned)).collect();
        if names.is_empty() {
            return None;
        }

        let mut hasher = blake3::Hasher::new();
        let mut largest = None;
        for (at, segment) in segments.iter().enumerate() {
            add_to_graph_name(&mut hasher, segment);
            if names.contains(hasher.finalize().to_hex().as_str()) {
                largest = Some(at + 1);
            }
        }

        largest
    }

    /// Directories whose files a state names.
    pub fn content_dirs(&self) -> [PathBuf; 5] {
        ["shards", "segments", "entries", "snapshots", "graphs"].map(|name| self.root.join(name))
    }

    /// Creates the directories that are missing.
    pub fn create(&self) -> Result<(), StoreError> {
        self.content_dirs().iter().try_for_each(|dir| create_directory(dir))
    }

    /// Flushes the names of all content written so far. Costs next to nothing for unchanged directories.
    pub fn sync_names(&self) -> Result<(), StoreError> {
        self.content_dirs().iter().try_for_each(|dir| sync_dir(dir))
    }
}

fn add_to_graph_name(hasher: &mut blake3::Hasher, segment: &SegmentRef) {
    hasher.update(segment.name.as_bytes()).update(b"\n");
}

/// Replaces a file durably: after a crash it has the old bytes or the new ones. See
/// [`codeweaver_base::durable`].
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    replace(path, bytes)?;
    sync_dir(path.parent().unwrap_or(Path::new(".")))
}

/// As [`write_atomically`] without the last step: the bytes are on disk, but the new name may not be.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    try_replace(path, bytes).map_err(StoreError::io("write", path))
}

fn try_replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    fault::step()?;
    let staged = Replacement::new(path).named(TEMPORARY_PREFIX, "").inheriting().stage(bytes)?;

    fault::step()?;
    staged.sync()?;

    fault::step()?;
    regular_file::make_way(path)?;
    staged.commit()?;
    fault::renamed()
}

fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    let synced = fault::step().and_then(|()| durable::sync_directory(dir));
    match synced {
        // Nothing was written there yet. An injected fault is never of this kind.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        synced => synced.map_err(StoreError::io("write", dir)),
    }
}

/// Writes a file named by the hash of its content. An intact existing file is kept.
pub fn write_content_addressed(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    match regular_file::read(path) {
        // The name alone proves nothing: the disk may have damaged the file since.
        Ok(there) if there == bytes => {
            fault::step().map_err(StoreError::io("touch", path))?;

            // Its age decides when garbage collection may remove it, so it must count as new.
            let touched = std::fs::File::options()
                .write(true)
                .open(path)
                .and_then(|f| f.set_modified(std::time::SystemTime::now()));

            match touched {
                // It belongs to another user, but this one may replace it.
                Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => replace(path, bytes),
                touched => touched.map_err(StoreError::io("touch", path)),
            }
        }
        _ => replace(path, bytes),
    }
}

/// Makes a directory of the store and its missing parents, each like the one that contains it.
fn create_directory(dir: &Path) -> Result<(), StoreError> {
    match std::fs::symlink_metadata(dir) {
        Ok(there) if there.is_dir() || dir.is_dir() => return Ok(()),
        // Something else in its place.
        Ok(_) => std::fs::remove_file(dir).map_err(StoreError::io("remove", dir))?,
        Err(_) => {}
    }
    if let Some(parent) = dir.parent() {
        create_directory(parent)?;
    }

    let created = fault::step().and_then(|()| durable::create_directory(dir));
    created.map_err(StoreError::io("create", dir))
}

/// The symbolic links in `dir`.
fn links_in(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let children = std::fs::read_dir(dir).into_iter().flatten().flatten();
    children.filter(|child| child.file_type().is_ok_and(|kind| kind.is_symlink())).map(|child| child.path())
}

/// Returns whether `dir` is empty except for temporary files of interrupted writers.
fn is_empty(dir: &Path) -> bool {
    let Ok(mut children) = std::fs::read_dir(dir) else { return false };
    children.all(|child| {
        child.is_ok_and(|child| child.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX))
    })
}

/// Reads a nonce; `None` if there is none, or something else in its place. An unreadable nonce is an error,
/// so that a disk fault does not lead to the advice to remove the directory.
fn read_nonce(path: &Path) -> Result<Option<String>, StoreError> {
    match regular_file::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound || regular_file::not_a_file(&e).is_some() => {
            Ok(None)
        }
        Err(e) => Err(StoreError::io("read", path)(e)),
    }
}
