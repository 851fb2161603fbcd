//! Classification: which scanned paths differ from the commit, and whether they are staged, modified, deleted
//! or untracked.
//!
//! Content decides. It is read only where neither git's index nor the stat cache proves the content of a
//! file.

use std::path::Path;
use std::sync::Arc;

use gix::index::entry::{Flags, Mode as EntryMode};
use rustc_hash::FxHashSet;

use super::changes::{FileState, WorktreeBlob, WorktreeChange, WorktreeChanges, is_below_any};
use super::context::StatusContext;
use super::index::{CommittedFile, HeadDiff, LazyIndex};
use super::inputs::{SYSTEM_ATTRIBUTES, user_config_file};
use super::scan::WorktreeScan;
use super::stat::{CachedBlob, FileStat, Kind, StatCache, Time, is_absent};
use super::to_git::{Conversion, WorktreeReader, configured_drivers};
use super::tracked::{SymlinkCheck, TrackedScan};
use crate::{BStr, BString, ByteSlice as _, GitError, Mode, Oid, Repo, hash_blob};

/// Finds the changes of the working tree, given its scan and the difference between index and commit. Updates
/// the stat cache.
pub(super) fn classify(
    context: &StatusContext,
    index: &Arc<gix::index::State>,
    head: HeadDiff,
    scan: &WorktreeScan,
) -> Result<WorktreeChanges, GitError> {
    let key = conversion_key(context.repo, context.root, index, &scan.untracked.pattern_files);
    let unchecked = scan.unchecked();
    let old_cache = StatCache::load(context.cache_file);
    // An incomplete walk may have missed attribute files, so its key may be wrong. Entries under another key
    // are kept then.
    let may_store = scan.untracked.unchecked == 0 || old_cache.has_key(key);

    let mut classifier = Classifier {
        context,
        index,
        head,
        reader: None,
        is_complete: unchecked == 0,
        old_cache: old_cache.for_key(key),
        new_cache: StatCache::new(key),
        has_new_entries: false,
        may_store,
        result: WorktreeChanges { checked: scan.tracked.checked, unchecked, ..Default::default() },
    };

    classifier.tracked(&scan.tracked)?;
    classifier.missing_from_index()?;
    classifier.untracked(&scan.untracked.paths)?;
    classifier.result.unreadable.extend_from_slice(&scan.untracked.unreadable);
    classifier.result.unlisted.clone_from(&scan.untracked.unlisted);

    Ok(classifier.finish())
}

/// Hash of everything but the file itself that determines its converted bytes: attributes, line-ending
/// settings, and the index, since git does not convert the line endings of a file that was committed with
/// carriage returns.
fn conversion_key(
    repo: &Repo,
    root: &Path,
    index: &gix::index::State,
    pattern_files: &[BString],
) -> [u8; 16] {
    let mut inputs = ConversionInputs { hasher: blake3::Hasher::new(), converts: false };
    inputs.add_settings(repo);
    inputs.add_file(Path::new(SYSTEM_ATTRIBUTES), true);
    inputs.add_file(&repo.common_dir().join("info").join("attributes"), true);
    if let Some(path) = user_config_file(repo, "core.attributesFile", "attributes") {
        inputs.add_file(&path, true);
    }

    let tracked = index.entries().iter().map(|entry| entry.path(index));
    for path in tracked.chain(pattern_files.iter().map(|path| path.as_ref())) {
        if is_attributes_file(path)
            && let Ok(path) = gix::path::from_bstr(path)
        {
            inputs.add_file(&root.join(path), false);
        }
    }
    // Attributes in the index apply where the file itself does not exist.
    for entry in index.entries().iter().filter(|entry| is_attributes_file(entry.path(index))) {
        inputs.converts = true;
        inputs.hasher.update(entry.id.as_slice());
    }

    // A key for each file would be invalidated less often, but the stat cache has few entries: stat data in
    // the index covers nearly all files.
    if inputs.converts {
        for entry in index.entries() {
            inputs.hasher.update(entry.id.as_slice());
        }
    }
    let mut key = [0; 16];
    key.copy_from_slice(&inputs.hasher.finalize().as_bytes()[..16]);
    key
}

fn is_attributes_file(path: &[u8]) -> bool {
    let directory = path.strip_suffix(b".gitattributes");
    directory.is_some_and(|directory| directory.is_empty() || directory.ends_with(b"/"))
}

/// Hash of the settings and files that configure conversions.
struct ConversionInputs {
    hasher: blake3::Hasher,
    /// Whether any conversion is configured.
    converts: bool,
}

impl ConversionInputs {
    /// Adds the keys of git's configuration.
    fn add_settings(&mut self, repo: &Repo) {
        let local = repo.local();
        let config = local.config_snapshot();
        for key in ["core.autocrlf", "core.eol", "core.attributesFile"] {
            if let Some(value) = config.string(key) {
                self.converts = true;
                self.hasher.update(key.as_bytes()).update(&value).update(b"\0");
            }
        }

        for driver in configured_drivers(&local) {
            self.hasher.update(b"filter ").update(&driver).update(b"\0");
        }
    }

    /// Adds an attribute file, if it exists. Git follows links to those outside of the working tree only.
    fn add_file(&mut self, path: &Path, may_be_link: bool) {
        let meta = if may_be_link { std::fs::metadata(path) } else { std::fs::symlink_metadata(path) };
        if !meta.is_ok_and(|meta| meta.is_file()) {
            return;
        }
        if let Ok(bytes) = std::fs::read(path) {
            self.converts = true;
            self.hasher.update(path.as_os_str().as_encoded_bytes()).update(blake3::hash(&bytes).as_bytes());
        }
    }
}

/// The content of a path of the working tree.
enum Content {
    Blob(WorktreeBlob),
    /// There is no file or link.
    Absent,
    /// The path has a filter driver, or cannot be read.
    Unknown,
}

/// Turns possibly changed paths into changes.
struct Classifier<'a> {
    context: &'a StatusContext<'a>,
    index: &'a Arc<gix::index::State>,
    head: HeadDiff,
    /// Opened when the first file has to be read.
    reader: Option<WorktreeReader>,
    /// Whether no path was left out for lack of time.
    is_complete: bool,
    /// The stat cache as loaded.
    old_cache: StatCache,
    /// The entries of this run.
    new_cache: StatCache,
    /// Whether `new_cache` has entries that `old_cache` does not have.
    has_new_entries: bool,
    may_store: bool,
    result: WorktreeChanges,
}

impl Classifier<'_> {
    /// Classifies the paths of the index.
    fn tracked(&mut self, tracked: &TrackedScan) -> Result<(), GitError> {
        self.conflicted(&tracked.conflicted)?;
        self.deleted(&tracked.deleted);
        self.maybe_modified(&tracked.maybe_modified)?;
        let examined = tracked.deleted.iter().chain(&tracked.maybe_modified).copied().collect();
        self.staged(&examined)
    }

    /// Classifies paths with the stages of an unresolved merge.
    fn conflicted(&mut self, positions: &[usize]) -> Result<(), GitError> {
        let index = self.index;
        for &position in positions {
            let path = index.entries()[position].path(index);
            let committed = self.head.missing.remove(path);
            let is_real = SymlinkCheck::new(self.context.root).full_path(path).is_some();
            let content = if is_real { self.content(path)? } else { Content::Absent };
            self.change(path, content, committed, FileState::Dirty, true);
        }
        Ok(())
    }

    /// Adds paths of the index whose file does not exist.
    fn deleted(&mut self, positions: &[usize]) {
        let index = self.index;
        for &position in positions {
            let path = index.entries()[position].path(index);
            let committed = self.committed(position);
            self.change(path, Content::Absent, committed, FileState::Dirty, false);
        }
    }

    /// Classifies files that stat data does not prove to be as staged, by their content.
    fn maybe_modified(&mut self, positions: &[usize]) -> Result<(), GitError> {
        let index = self.index;
        for &position in positions {
            if self.skip_if_late() {
                continue;
            }

            let entry = &index.entries()[position];
            let path = entry.path(index);
            let content = self.content(path)?;
            let is_intended = entry.flags.contains(Flags::INTENT_TO_ADD);

            let state = match &content {
                Content::Blob(blob)
                    if blob.oid == entry.id
                        && (blob.mode == Mode::Symlink) == (entry.mode == EntryMode::SYMLINK)
                        && !is_intended =>
                {
                    FileState::Staged
                }
                _ => FileState::Dirty,
            };
            let committed = self.committed(position);
            self.change(path, content, committed, state, false);
        }
        Ok(())
    }

    /// Adds files that differ from the commit and that stat data proves to be as staged. The content of those
    /// at the positions `examined` is known already.
    fn staged(&mut self, examined: &FxHashSet<usize>) -> Result<(), GitError> {
        let index = self.index;
        let mut staged: Vec<_> =
            self.head.changed.keys().copied().filter(|at| !examined.contains(at)).collect();
        staged.sort_unstable();

        for position in staged {
            let entry = &index.entries()[position];
            if entry.flags.contains(Flags::SKIP_WORKTREE) || entry.mode == EntryMode::DIR {
                continue;
            }

            let path = entry.path(index);
            let size = self.context.repo.blobs().size(&entry.id)?.unwrap_or(0);
            let mode = match entry.mode {
                EntryMode::SYMLINK => Mode::Symlink,
                EntryMode::FILE_EXECUTABLE => Mode::Executable,
                _ => Mode::File,
            };

            let content = Content::Blob(WorktreeBlob { oid: entry.id, mode, size });
            let committed = self.committed(position);
            self.change(path, content, committed, FileState::Staged, false);
        }
        Ok(())
    }

    /// Classifies committed paths that are not in the index: deleted, or untracked but still on disk.
    fn missing_from_index(&mut self) -> Result<(), GitError> {
        let mut missing: Vec<_> = std::mem::take(&mut self.head.missing).into_iter().collect();
        missing.sort_by(|a, b| a.0.cmp(&b.0));

        for (path, committed) in missing {
            let is_real = SymlinkCheck::new(self.context.root).full_path(path.as_ref()).is_some();
            let content = if is_real { self.content(path.as_ref())? } else { Content::Absent };

            let state =
                if matches!(content, Content::Absent) { FileState::Staged } else { FileState::Untracked };
            // Kept for `untracked`, which skips these paths.
            self.head.missing.insert(path.clone(), committed);
            self.change(path.as_ref(), content, Some(committed), state, false);
        }
        Ok(())
    }

    /// Classifies files that are not in the index.
    fn untracked(&mut self, paths: &[BString]) -> Result<(), GitError> {
        let mut paths: Vec<&BString> = paths.iter().collect();
        paths.sort();

        for path in paths {
            if self.head.missing.contains_key(path) {
                continue; // classified by `missing_from_index`
            }
            if self.context.is_late() {
                self.result.unchecked += 1;
                self.is_complete = false;
                continue;
            }

            self.result.checked += 1;
            let content = self.content(path.as_ref())?;
            if !matches!(content, Content::Absent) {
                self.change(path.as_ref(), content, None, FileState::Untracked, false);
            }
        }
        Ok(())
    }

    /// Writes the stat cache and sorts the result.
    fn finish(mut self) -> WorktreeChanges {
        if self.has_new_entries && self.may_store {
            if !self.is_complete {
                self.new_cache.fill_from(self.old_cache);
            }
            self.new_cache.store(self.context.cache_file);
        }

        self.result.changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.result.filtered.sort();
        self.result.filtered.dedup();

        let unreadable = &mut self.result.unreadable;
        unreadable.sort();
        unreadable.dedup();
        let mut outermost: Vec<BString> = Vec::new();
        for place in unreadable.drain(..) {
            // A directory sorts before everything in it.
            if !is_below_any(&place, &outermost) {
                outermost.push(place);
            }
        }
        *unreadable = outermost;
        self.result
    }

    /// Returns whether the deadline has passed. If so, moves one path from checked to unchecked.
    fn skip_if_late(&mut self) -> bool {
        let is_late = self.context.is_late();
        if is_late {
            self.result.checked = self.result.checked.saturating_sub(1);
            self.result.unchecked += 1;
            self.is_complete = false;
        }
        is_late
    }

    /// The committed file at the path of an index entry.
    fn committed(&self, position: usize) -> Option<CommittedFile> {
        let entry = &self.index.entries()[position];
        let unchanged = CommittedFile { oid: entry.id, is_symlink: entry.mode == EntryMode::SYMLINK };
        self.head.changed.get(&position).copied().unwrap_or(Some(unchanged))
    }

    /// Adds a change unless the content is unknown or as committed.
    fn change(
        &mut self,
        path: &BStr,
        content: Content,
        committed: Option<CommittedFile>,
        state: FileState,
        conflicted: bool,
    ) {
        let bytes = match content {
            Content::Unknown => return,
            Content::Absent if committed.is_none() => return,
            Content::Absent => None,
            Content::Blob(blob) => {
                let is_symlink = blob.mode == Mode::Symlink;
                if committed.is_some_and(|c| c.oid == blob.oid && c.is_symlink == is_symlink) {
                    return;
                }
                Some(blob)
            }
        };

        self.result.changes.push(WorktreeChange { path: path.to_owned(), state, conflicted, bytes });
    }

    /// The content of a file, from the stat cache or by reading it.
    fn content(&mut self, path: &BStr) -> Result<Content, GitError> {
        let meta = match std::fs::symlink_metadata(self.context.root.join(path.to_path_lossy())) {
            Ok(meta) => meta,
            Err(error) if is_absent(&error) => return Ok(Content::Absent),
            // The directory cannot be searched.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return Ok(self.unreadable(&path[..path.rfind_byte(b'/').map_or(0, |slash| slash + 1)]));
            }
            // This says nothing about other files: the name may be too long for the file system, or the disk
            // damaged.
            Err(_) => return Ok(self.unreadable(path)),
        };

        let mode = match Kind::from_metadata(&meta) {
            Kind::Directory | Kind::Other => return Ok(Content::Absent),
            Kind::Symlink => Mode::Symlink,
            Kind::File { executable: true } => Mode::Executable,
            Kind::File { executable: false } => Mode::File,
        };

        if let Some(known) = self.old_cache.get(path, &FileStat::from_metadata(&meta)) {
            self.new_cache.insert(path.to_owned(), known);
            return Ok(Content::Blob(WorktreeBlob { oid: known.oid, mode, size: known.converted_size }));
        }

        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => {
                let index = Arc::new(LazyIndex::new(self.index.clone()));
                self.reader.insert(WorktreeReader::with_index(self.context.repo, index)?)
            }
        };

        let observed = Time::now();
        match reader.convert_checked(path) {
            Ok((stat, Conversion::Blob { bytes, mode })) => {
                let oid = hash_blob(&bytes, self.index.object_hash());
                let size = bytes.len() as u64;
                // Racy stat data could be the same after another write, so it is not cached.
                if let Some(stat) = stat.filter(|stat| !stat.mtime.is_racy(observed)) {
                    self.has_new_entries = true;
                    self.new_cache.insert(path.to_owned(), CachedBlob { stat, oid, converted_size: size });
                }
                Ok(Content::Blob(WorktreeBlob { oid, mode, size }))
            }
            Ok((_, Conversion::TooLarge { size, mode })) => {
                Ok(Content::Blob(WorktreeBlob { oid: Oid::null(self.index.object_hash()), mode, size }))
            }
            Ok((_, Conversion::Filtered)) => {
                self.result.filtered.push(path.to_owned());
                Ok(Content::Unknown)
            }
            Ok((_, Conversion::Absent)) => Ok(Content::Absent),
            // An unreadable file must not make the whole run fail.
            Err(error) => {
                tracing::debug!(%error, "cannot read a file of the working tree");
                Ok(self.unreadable(path))
            }
        }
    }

    /// Records that `place`, a file or a directory with its slash, cannot be read.
    fn unreadable(&mut self, place: &[u8]) -> Content {
        self.result.unreadable.push(place.into());
        Content::Unknown
    }
}
