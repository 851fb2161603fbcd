//! Bytes of files in the working tree, in the form a commit would hold.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::filter::plumbing::{Pipeline, pipeline::CrlfRoundTripCheck, pipeline::convert::ToGitOutcome};
use gix::objs::Find as _;
use gix::worktree::stack::state::attributes::Source;

use super::WorktreeBlob;
use super::stat::{FileStat, Kind};
use crate::git::{BStr, ByteSlice as _, ByteVec as _, GitError, Mode, Oid, Repo, hash_blob};

/// Larger files are not read: they get the null oid. No index setting lets them in.
pub(super) const MAX_READ_BYTES: u64 = 64 << 20;

/// Reads files of one working tree; keeps the index and the attributes between files.
///
/// Line endings, `ident` and `working-tree-encoding` are converted in this process. Filter drivers are never run: their
/// list is empty, and files that have one are not even opened (X5). Links are not followed, neither the last component
/// nor a directory on the way (X4).
pub struct WorktreeReader {
    repo: gix::Repository,
    root: PathBuf,
    git_dir: PathBuf,
    index: Arc<gix::index::State>,
    attributes: gix::worktree::Stack,
    filter: gix::attrs::search::Outcome,
    pipeline: Pipeline,
}

/// What was found at a path.
pub(super) enum Found {
    Blob {
        bytes: Vec<u8>,
        mode: Mode,
    },
    /// A file too large to read.
    Huge {
        size: u64,
        mode: Mode,
    },
    /// It has a filter driver.
    Filtered,
    /// Nothing, a directory, a device.
    Nothing,
}

impl WorktreeReader {
    /// Cost: reading the git index.
    pub fn open(repo: &Repo) -> Result<Self, GitError> {
        let index = repo.read_index()?;
        Self::with_index(repo, Arc::new(index))
    }

    pub(super) fn with_index(repo: &Repo, index: Arc<gix::index::State>) -> Result<Self, GitError> {
        let local = repo.local();
        let root =
            repo.work_dir().ok_or_else(|| GitError::Bare { path: repo.git_dir().to_owned() })?.to_owned();
        let attributes = local
            .attributes_only(&index, Source::WorktreeThenIdMapping)
            .map_err(|error| repo.unreadable(&error))?
            .detach();
        let filter = attributes.selected_attribute_matches(["filter"]);
        let mut options = gix::filter::Pipeline::options(&local).map_err(|error| repo.unreadable(&error))?;
        options.drivers.clear();
        // Whether a checkout would give these bytes back is a question for who commits.
        options.crlf_roundtrip_check = CrlfRoundTripCheck::Skip;
        options.encodings_with_roundtrip_check.clear();
        let pipeline = Pipeline::new(Default::default(), local.object_hash(), options);
        let git_dir = repo.git_dir().to_owned();
        Ok(WorktreeReader { repo: local, root, git_dir, index, attributes, filter, pipeline })
    }

    /// Cleaned bytes of a file, or the target of a link. `None` if there is neither, if the path has a filter driver, or
    /// if the file exceeds 64 MiB. Paths that leave the working tree are [`GitError::PathEscapes`].
    pub fn read(&mut self, path: &BStr) -> Result<Option<Vec<u8>>, GitError> {
        Ok(match self.find(path)? {
            Found::Blob { bytes, .. } => Some(bytes),
            Found::Huge { .. } | Found::Filtered | Found::Nothing => None,
        })
    }

    /// Oid, mode and size of what [`read`](Self::read) returns.
    pub fn blob(&mut self, path: &BStr) -> Result<Option<WorktreeBlob>, GitError> {
        Ok(match self.find(path)? {
            Found::Blob { bytes, mode } => {
                let oid = hash_blob(&bytes, self.repo.object_hash());
                Some(WorktreeBlob { oid, mode, size: bytes.len() as u64 })
            }
            Found::Huge { size, mode } => {
                Some(WorktreeBlob { oid: Oid::null(self.repo.object_hash()), mode, size })
            }
            Found::Filtered | Found::Nothing => None,
        })
    }

    /// The blob that git's index holds at `path`; that of "ours" during a merge.
    pub fn indexed(&self, path: &BStr) -> Option<Oid> {
        self.index.entry_by_path(path).map(|entry| entry.id)
    }

    fn find(&mut self, path: &BStr) -> Result<Found, GitError> {
        if !is_inside(path) || has_link_on_the_way(&self.root, path) {
            return Err(GitError::PathEscapes { path: path.to_str_lossy().into_owned() });
        }
        Ok(self.convert_checked(path)?.1)
    }

    /// `path` is known to stay inside. Also the stat taken before reading.
    pub(super) fn convert_checked(&mut self, path: &BStr) -> Result<(Option<FileStat>, Found), GitError> {
        let full = self.root.join(path.to_path_lossy());
        let meta = match std::fs::symlink_metadata(&full) {
            Ok(meta) => meta,
            Err(error) if is_absent(&error) => return Ok((None, Found::Nothing)),
            Err(source) => return Err(GitError::Io { action: "look at", path: full, source }),
        };
        let stat = FileStat::of(&meta);
        let found = match Kind::of(&meta) {
            Kind::Directory | Kind::Other => Found::Nothing,
            Kind::Symlink => {
                let target = std::fs::read_link(&full).map_err(|source| GitError::Io {
                    action: "read the link",
                    path: full,
                    source,
                })?;
                Found::Blob { bytes: Vec::from_path_lossy(&target).into_owned(), mode: Mode::Symlink }
            }
            Kind::File { executable } => {
                let mode = if executable { Mode::Executable } else { Mode::File };
                if self.is_filtered(path) {
                    Found::Filtered
                } else if meta.len() > MAX_READ_BYTES {
                    Found::Huge { size: meta.len(), mode }
                } else {
                    match read_without_following(&full) {
                        Ok(raw) => self.cleaned(path, raw, mode),
                        Err(error) if is_absent(&error) => Found::Nothing,
                        Err(source) => return Err(GitError::Io { action: "read", path: full, source }),
                    }
                }
            }
        };
        Ok((Some(stat), found))
    }

    /// Whether a filter driver is named for `path`, configured or not.
    pub(super) fn is_filtered(&mut self, path: &BStr) -> bool {
        self.filter.reset();
        let Ok(platform) = self.attributes.at_entry(path, None, &self.repo.objects) else { return false };
        platform.matching_attributes(&mut self.filter);
        self.filter.iter_selected().any(|found| found.assignment.state.as_bstr().is_some())
    }

    fn cleaned(&mut self, path: &BStr, raw: Vec<u8>, mode: Mode) -> Found {
        // With `core.symlinks=false` a link is a file holding its target, which is not text to convert.
        let entry = self.index.entry_by_path(path);
        if entry.is_some_and(|entry| entry.mode == gix::index::entry::Mode::SYMLINK) && !self.has_symlinks() {
            return Found::Blob { bytes: raw, mode: Mode::Symlink };
        }
        let committed = entry.map(|entry| entry.id);
        let (objects, attributes) = (&self.repo.objects, &mut self.attributes);
        let converted = self.pipeline.convert_to_git(
            raw.as_slice(),
            &path.to_path_lossy(),
            &mut |_, outcome| {
                if let Ok(platform) = attributes.at_entry(path, None, objects) {
                    platform.matching_attributes(outcome);
                }
            },
            // Automatic conversion spares files that are committed with carriage returns.
            &mut |buffer| {
                let Some(oid) = committed else { return Ok(None) };
                let found = objects.try_find(&oid, buffer)?;
                Ok(found.filter(|object| object.kind == gix::objs::Kind::Blob).map(|_| ()))
            },
        );
        let changed = match converted {
            Ok(ToGitOutcome::Buffer(bytes)) => Some(bytes.to_vec()),
            // Without drivers there is no process; an encoding that does not fit leaves the bytes as they are.
            Ok(ToGitOutcome::Unchanged(_) | ToGitOutcome::Process(_)) | Err(_) => None,
        };
        Found::Blob { bytes: changed.unwrap_or(raw), mode }
    }

    fn has_symlinks(&self) -> bool {
        self.repo.config_snapshot().boolean("core.symlinks").unwrap_or(true)
    }
}

impl std::fmt::Debug for WorktreeReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorktreeReader").field("root", &self.root).field("git_dir", &self.git_dir).finish()
    }
}

/// Whether a relative path names something below the root and outside of `.git`.
pub(super) fn is_inside(path: &BStr) -> bool {
    !path.is_empty()
        && !path.contains(&0)
        && !path.split(|byte| *byte == b'/').any(|name| {
            matches!(name, b"" | b"." | b"..")
                || name.eq_ignore_ascii_case(b".git")
                || cfg!(windows) && name.iter().any(|byte| b"\\:".contains(byte))
        })
}

/// Whether a directory on the way to `path` is a link.
fn has_link_on_the_way(root: &Path, path: &BStr) -> bool {
    path.find_iter("/").any(|slash| {
        let parent = root.join(path[..slash].to_path_lossy());
        std::fs::symlink_metadata(parent).is_ok_and(|meta| meta.file_type().is_symlink())
    })
}

/// Whether the error says that there is no such file.
pub(super) fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

fn read_without_following(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        // The file may have been exchanged since it was looked at: for a link, or for a pipe that would block.
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32);
    }
    let file = options.open(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
