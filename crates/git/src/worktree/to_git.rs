//! To-git conversion: the content of a working-tree file in the form that git would store.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::filter::plumbing::{Pipeline, pipeline::CrlfRoundTripCheck, pipeline::convert::ToGitOutcome};
use gix::index::entry::{Flags, Mode as EntryMode};
use gix::objs::Find as _;
use gix::worktree::stack::state::attributes::Source;

use super::changes::WorktreeBlob;
use super::index::LazyIndex;
use super::inputs::{PATTERN_FILES, Pipes};
use super::stat::{FileStat, Kind, is_absent};
use super::untracked::Excludes;
use crate::{BStr, BString, ByteSlice as _, ByteVec as _, GitError, Mode, Oid, Repo, hash_blob};

/// Maximum size of files that are read. Larger ones get the null oid; no setting of the index admits them.
pub(super) const MAX_READ_BYTES: u64 = crate::limits::MAX_OBJECT_BYTES;

/// Reads files of one working tree; keeps the index and the attributes between files. Git's index is read
/// when the first file needs it.
///
/// Line endings, `ident` and `working-tree-encoding` are converted in this process. Filter drivers are never
/// run, since a repository could make them execute any program: the list of drivers is empty, and files that
/// have one are not opened. As for git, a `filter` attribute without a driver in the configuration is none.
/// Symlinks are not followed, whether they are the last component of a path or a parent directory, so that no
/// file outside of the working tree is read.
pub struct WorktreeReader {
    repo: Repo,
    root: PathBuf,
    index: Arc<LazyIndex>,
    converter: Option<Converter>,
}

/// Everything besides the bytes of a file that its conversion depends on.
struct Converter {
    repo: gix::Repository,
    index: Arc<gix::index::State>,
    attributes: gix::worktree::Stack,
    pipes: Pipes,
    filter: gix::attrs::search::Outcome,
    /// Names of the filter drivers in git's configuration.
    drivers: BTreeSet<BString>,
    pipeline: Pipeline,
}

/// The content of a path of the working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeFile {
    /// The converted bytes of a file, or the target of a link.
    Blob { bytes: Vec<u8>, mode: Mode },
    /// There is no file and no link.
    Absent,
    /// A file that is not read: the path has a filter driver, the file exceeds 32 MiB, or it does not exist
    /// and git is configured to take it as committed (sparse checkout, `skip-worktree`, `assume-unchanged`).
    Unknown,
}

/// Result of the conversion of the file at a path.
pub(super) enum Conversion {
    Blob {
        bytes: Vec<u8>,
        mode: Mode,
    },
    /// A file above [`MAX_READ_BYTES`].
    TooLarge {
        size: u64,
        mode: Mode,
    },
    /// The path has a filter driver.
    Filtered,
    /// No file, a directory, a device.
    Absent,
}

impl WorktreeReader {
    /// Returns whether git's ignore rules exclude the file at `path`.
    ///
    /// # Errors
    /// The rules cannot be read.
    pub fn is_ignored(&mut self, path: &BStr) -> Result<bool, GitError> {
        let repo = self.repo.clone();
        let Converter { repo: local, index, .. } = self.converter()?;
        let mut excludes = Excludes::new(&repo, local, index)?;
        Ok(excludes.is_excluded(path, EntryMode::FILE))
    }

    /// Opens the working tree of `repo`.
    ///
    /// # Errors
    /// [`GitError::Bare`].
    pub fn open(repo: &Repo) -> Result<Self, GitError> {
        Self::with_index(repo, Arc::default())
    }

    /// Opens the working tree of `repo` with an index that may be parsed already.
    pub(super) fn with_index(repo: &Repo, index: Arc<LazyIndex>) -> Result<Self, GitError> {
        let root =
            repo.work_dir().ok_or_else(|| GitError::Bare { path: repo.git_dir().to_owned() })?.to_owned();
        Ok(WorktreeReader { repo: repo.clone(), root, index, converter: None })
    }

    /// Returns the converter, which the first call creates.
    fn converter(&mut self) -> Result<&mut Converter, GitError> {
        match &mut self.converter {
            Some(converter) => Ok(converter),
            none => Ok(none.insert(Converter::new(&self.repo, self.index.get(&self.repo)?)?)),
        }
    }

    /// Reads the converted bytes of a file, or the target of a link. `None` if there is neither, if the path
    /// has a filter driver, or if the file exceeds 32 MiB.
    ///
    /// # Errors
    /// [`GitError::PathEscapes`] for paths that leave the working tree.
    pub fn read(&mut self, path: &BStr) -> Result<Option<Vec<u8>>, GitError> {
        Ok(match self.convert(path)? {
            Conversion::Blob { bytes, .. } => Some(bytes),
            Conversion::TooLarge { .. } | Conversion::Filtered | Conversion::Absent => None,
        })
    }

    /// As [`read`](Self::read), for a file that was found to be the blob `oid`. If its bytes still are that
    /// blob without conversion, git's index is not needed.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_blob(&mut self, path: &BStr, oid: &Oid) -> Result<Option<Vec<u8>>, GitError> {
        self.check_inside(path)?;
        match read_no_follow(&self.root.join(path.to_path_lossy())) {
            Ok(bytes) if hash_blob(&bytes, oid.kind()) == *oid => Ok(Some(bytes)),
            _ => self.read(path),
        }
    }

    /// As [`read`](Self::read), but distinguishes a file that is not read from one that does not exist.
    pub fn file(&mut self, path: &BStr) -> Result<WorktreeFile, GitError> {
        Ok(match self.convert(path)? {
            Conversion::Blob { bytes, mode } => WorktreeFile::Blob { bytes, mode },
            Conversion::TooLarge { .. } | Conversion::Filtered => WorktreeFile::Unknown,
            Conversion::Absent if self.converter()?.counts_as_committed(path) => WorktreeFile::Unknown,
            Conversion::Absent => WorktreeFile::Absent,
        })
    }

    /// Returns oid, mode and size of the bytes that [`read`](Self::read) returns; the null oid for files
    /// above 32 MiB.
    pub fn blob(&mut self, path: &BStr) -> Result<Option<WorktreeBlob>, GitError> {
        Ok(match self.convert(path)? {
            Conversion::Blob { bytes, mode } => {
                let oid = hash_blob(&bytes, self.repo.object_hash());
                Some(WorktreeBlob { oid, mode, size: bytes.len() as u64 })
            }
            Conversion::TooLarge { size, mode } => {
                Some(WorktreeBlob { oid: Oid::null(self.repo.object_hash()), mode, size })
            }
            Conversion::Filtered | Conversion::Absent => None,
        })
    }

    /// Returns the oid that git's index has at `path`; that of "ours" during a merge.
    ///
    /// # Errors
    /// Git's index cannot be read.
    pub fn indexed(&mut self, path: &BStr) -> Result<Option<Oid>, GitError> {
        Ok(self.converter()?.index.entry_by_path(path).map(|entry| entry.id))
    }

    fn check_inside(&self, path: &BStr) -> Result<(), GitError> {
        if !is_inside(path) || has_linked_parent(&self.root, path) {
            return Err(GitError::PathEscapes { path: path.to_str_lossy().into_owned() });
        }
        Ok(())
    }

    fn convert(&mut self, path: &BStr) -> Result<Conversion, GitError> {
        self.check_inside(path)?;
        Ok(self.convert_checked(path)?.1)
    }

    /// Converts the file at `path`, which is known to stay inside of the working tree. Also returns the stat
    /// data taken before reading.
    pub(super) fn convert_checked(
        &mut self,
        path: &BStr,
    ) -> Result<(Option<FileStat>, Conversion), GitError> {
        let full = self.root.join(path.to_path_lossy());
        let meta = match std::fs::symlink_metadata(&full) {
            Ok(meta) => meta,
            Err(error) if is_absent(&error) => return Ok((None, Conversion::Absent)),
            Err(source) => return Err(GitError::Io { action: "stat", path: full, source }),
        };

        let stat = FileStat::from_metadata(&meta);
        let conversion = match Kind::from_metadata(&meta) {
            Kind::Directory | Kind::Other => Conversion::Absent,
            Kind::Symlink => {
                let target = std::fs::read_link(&full).map_err(|source| GitError::Io {
                    action: "read the link",
                    path: full,
                    source,
                })?;
                Conversion::Blob { bytes: Vec::from_path_lossy(&target).into_owned(), mode: Mode::Symlink }
            }
            Kind::File { executable } => {
                let mode = if executable { Mode::Executable } else { Mode::File };
                let converter = self.converter()?;
                if converter.is_filtered(path) {
                    Conversion::Filtered
                } else if meta.len() > MAX_READ_BYTES {
                    Conversion::TooLarge { size: meta.len(), mode }
                } else {
                    match read_no_follow(&full) {
                        Ok(raw) => converter.apply_filters(path, raw, mode),
                        Err(error) if is_absent(&error) => Conversion::Absent,
                        Err(source) => return Err(GitError::Io { action: "read", path: full, source }),
                    }
                }
            }
        };

        Ok((Some(stat), conversion))
    }
}

impl Converter {
    /// Prepares the conversion of files, without filter drivers.
    fn new(repo: &Repo, index: Arc<gix::index::State>) -> Result<Converter, GitError> {
        let local = repo.local();
        let attributes = local
            .attributes_only(&index, Source::WorktreeThenIdMapping)
            .map_err(|error| repo.unreadable(&error))?
            .detach();
        let filter = attributes.selected_attribute_matches(["filter"]);

        let pipes = Pipes::new(local.workdir().unwrap_or(local.git_dir()), PATTERN_FILES[1]);
        let drivers = configured_drivers(&local);
        let mut options = gix::filter::Pipeline::options(&local).map_err(|error| repo.unreadable(&error))?;
        options.drivers.clear();
        // Round-trip checks warn about commits; nothing is committed here.
        options.crlf_roundtrip_check = CrlfRoundTripCheck::Skip;
        options.encodings_with_roundtrip_check.clear();
        let pipeline = Pipeline::new(Default::default(), local.object_hash(), options);

        Ok(Converter { repo: local, index, attributes, pipes, filter, drivers, pipeline })
    }

    /// Returns whether git takes the file at `path` as committed where it does not exist, or the directory
    /// that stands for it in a sparse index.
    fn counts_as_committed(&self, path: &BStr) -> bool {
        self.is_unseen(path)
            || self.index.is_sparse()
                && path.find_iter("/").any(|slash| self.is_unseen(path[..=slash].as_bstr()))
    }

    fn is_unseen(&self, path: &BStr) -> bool {
        let unseen = Flags::SKIP_WORKTREE | Flags::ASSUME_VALID;
        self.index.entry_by_path(path).is_some_and(|entry| entry.flags.intersects(unseen))
    }

    /// Returns whether `path` has a filter driver that is configured.
    fn is_filtered(&mut self, path: &BStr) -> bool {
        if self.pipes.are_above(path) {
            return false;
        }
        self.filter.reset();
        let Ok(platform) = self.attributes.at_entry(path, None, &self.repo.objects) else { return false };
        platform.matching_attributes(&mut self.filter);
        let is_configured = |name: &BStr| self.drivers.contains(name);
        self.filter.iter_selected().any(|found| found.assignment.state.as_bstr().is_some_and(is_configured))
    }

    /// Converts the bytes of a file.
    fn apply_filters(&mut self, path: &BStr, raw: Vec<u8>, mode: Mode) -> Conversion {
        // With `core.symlinks=false` a link is checked out as a file with its target, which is not converted.
        let entry = self.index.entry_by_path(path);
        if entry.is_some_and(|entry| entry.mode == gix::index::entry::Mode::SYMLINK) && !self.has_symlinks() {
            return Conversion::Blob { bytes: raw, mode: Mode::Symlink };
        }

        let committed = entry.map(|entry| entry.id);
        let has_attributes = !self.pipes.are_above(path);
        let (objects, attributes) = (&self.repo.objects, &mut self.attributes);
        let converted = self.pipeline.convert_to_git(
            raw.as_slice(),
            &path.to_path_lossy(),
            &mut |_, outcome| {
                if has_attributes && let Ok(platform) = attributes.at_entry(path, None, objects) {
                    platform.matching_attributes(outcome);
                }
            },
            // Automatic conversion skips files that are committed with carriage returns.
            &mut |buffer| {
                let Some(oid) = committed else { return Ok(None) };
                let found = objects.try_find(&oid, buffer)?;
                Ok(found.filter(|object| object.kind == gix::objs::Kind::Blob).map(|_| ()))
            },
        );

        let changed = match converted {
            Ok(ToGitOutcome::Buffer(bytes)) => Some(bytes.to_vec()),
            // Without drivers there is no process. Bytes that are invalid in the declared encoding stay as
            // they are.
            Ok(ToGitOutcome::Unchanged(_) | ToGitOutcome::Process(_)) | Err(_) => None,
        };

        Conversion::Blob { bytes: changed.unwrap_or(raw), mode }
    }

    fn has_symlinks(&self) -> bool {
        self.repo.config_snapshot().boolean("core.symlinks").unwrap_or(true)
    }
}

/// The names of the filter drivers that git would run when a file is added, or without which it would refuse
/// to add it.
pub(super) fn configured_drivers(repo: &gix::Repository) -> BTreeSet<BString> {
    let config = repo.config_snapshot();
    let sections = config.plumbing().sections_by_name("filter").into_iter().flatten();
    let drivers = sections.filter(|section| {
        let has = |key: &str| section.value(key).is_some();
        has("clean") || has("process") || has("required")
    });
    drivers.filter_map(|section| section.header().subsection_name().map(ToOwned::to_owned)).collect()
}

impl std::fmt::Debug for WorktreeReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorktreeReader").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Returns whether `path` is relative and leads to a place below the root and outside of `.git`.
pub(super) fn is_inside(path: &BStr) -> bool {
    !path.is_empty()
        && !path.contains(&0)
        && !path.split(|byte| *byte == b'/').any(|name| {
            matches!(name, b"" | b"." | b"..")
                || name.eq_ignore_ascii_case(b".git")
                || cfg!(windows) && (name.iter().any(|byte| b"\\:".contains(byte)) || is_git_on_windows(name))
        })
}

/// Returns whether Windows takes this name for `.git`: without the dots and blanks at its end, or as the
/// short name of it.
fn is_git_on_windows(name: &[u8]) -> bool {
    let end = name.iter().rposition(|byte| !b". ".contains(byte)).map_or(0, |at| at + 1);
    name[..end].eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1")
}

/// Returns whether a parent directory of `path` is a symlink.
fn has_linked_parent(root: &Path, path: &BStr) -> bool {
    path.find_iter("/").any(|slash| {
        let parent = root.join(path[..slash].to_path_lossy());
        std::fs::symlink_metadata(parent).is_ok_and(|meta| meta.file_type().is_symlink())
    })
}

/// Reads at most [`MAX_READ_BYTES`] of the file at `path`, which must not be a symlink.
fn read_no_follow(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        // The file may have been replaced since `lstat`: by a link, or by a pipe that would block.
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32);
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt as _;
        /// A link itself is opened, which has no bytes.
        const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
        options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    }

    let file = options.open(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
