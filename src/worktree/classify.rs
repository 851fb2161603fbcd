//! From what the disk shows to what has changed: content decides, and is read only where nobody vouches for it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use gix::index::entry::{Flags, Mode as EntryMode};
use rustc_hash::FxHashSet;

use super::index::{Committed, HeadDiff};
use super::stat::{FileStat, Kind, Known, StatCache, Time};
use super::to_git::{Found, is_absent};
use super::tracked::{SymlinkCheck, Tracked};
use super::{
    FileState, SYSTEM_ATTRIBUTES, WorktreeBlob, WorktreeChange, WorktreeChanges, WorktreeReader,
    WorktreeScan, user_config_file,
};
use crate::git::{BStr, BString, ByteSlice as _, GitError, Mode, Oid, Repo, hash_blob};

/// What has changed, given what the disk shows and how the index differs from the commit.
pub(super) fn judge(
    repo: &Repo,
    index: &Arc<gix::index::State>,
    head: HeadDiff,
    scan: &WorktreeScan,
    cache_file: &Path,
    deadline: Instant,
) -> Result<WorktreeChanges, GitError> {
    let root = repo.work_dir().ok_or_else(|| GitError::Bare { path: repo.git_dir().to_owned() })?;
    let rules = conversion_key(repo, root, index, &scan.untracked.rules);
    let unchecked = scan.unchecked();
    let known = StatCache::load(cache_file);
    // A walk that was broken off may not have seen all that the rules are made of: what was hashed under others stays.
    let may_store = scan.untracked.unchecked == 0 || known.is_under(rules);
    let mut judge = Classifier {
        repo,
        root,
        index,
        head,
        reader: None,
        is_complete: unchecked == 0,
        known: known.if_under(rules),
        fresh: StatCache::under(rules),
        has_new_entries: false,
        may_store,
        deadline,
        result: WorktreeChanges { checked: scan.tracked.checked, unchecked, ..Default::default() },
    };
    judge.tracked(&scan.tracked)?;
    judge.missing_from_index()?;
    judge.untracked(&scan.untracked.paths)?;
    Ok(judge.finish(cache_file))
}

/// Identity of everything but the file itself that decides its cleaned bytes: attributes, line-end settings, and the index,
/// since git leaves the line ends of a file alone that was committed with carriage returns.
fn conversion_key(repo: &Repo, root: &Path, index: &gix::index::State, rules: &[BString]) -> [u8; 16] {
    const NAME: &[u8] = b".gitattributes";
    let is_attributes =
        |path: &[u8]| path.strip_suffix(NAME).is_some_and(|dir| dir.is_empty() || dir.ends_with(b"/"));
    let mut hasher = blake3::Hasher::new();
    let mut apply = false;
    let local = repo.local();
    let config = local.config_snapshot();
    for key in ["core.autocrlf", "core.eol", "core.attributesFile"] {
        if let Some(value) = config.string(key) {
            apply = true;
            hasher.update(key.as_bytes()).update(&value).update(b"\0");
        }
    }
    let mut file = |path: &Path, may_be_link: bool| {
        let meta = if may_be_link { std::fs::metadata(path) } else { std::fs::symlink_metadata(path) };
        let is_file = meta.is_ok_and(|meta| meta.is_file());
        if let Some(bytes) = is_file.then(|| std::fs::read(path).ok()).flatten() {
            apply = true;
            hasher.update(path.as_os_str().as_encoded_bytes()).update(blake3::hash(&bytes).as_bytes());
        }
    };
    file(Path::new(SYSTEM_ATTRIBUTES), true);
    file(&repo.common_dir().join("info").join("attributes"), true);
    if let Some(path) = user_config_file(repo, "core.attributesFile", "attributes") {
        file(&path, true);
    }
    let tracked = index.entries().iter().map(|entry| entry.path(index));
    for path in tracked.chain(rules.iter().map(|path| path.as_ref())).filter(|path| is_attributes(path)) {
        if let Ok(path) = gix::path::from_bstr(path) {
            file(&root.join(path), false);
        }
    }
    for entry in index.entries().iter().filter(|entry| is_attributes(entry.path(index))) {
        // In force also where the file itself is gone.
        apply = true;
        hasher.update(entry.id.as_slice());
    }
    if apply {
        // Per file would do; but entries of the git index vouch for nearly all files, and these are few.
        for entry in index.entries() {
            hasher.update(entry.id.as_slice());
        }
    }
    let mut rules = [0; 16];
    rules.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    rules
}

/// What a path of the working tree holds.
enum Content {
    Blob(WorktreeBlob),
    Nothing,
    /// Has a filter driver, or cannot be read.
    Unknown,
}

/// Turns suspicions into changes.
struct Classifier<'a> {
    repo: &'a Repo,
    root: &'a Path,
    index: &'a Arc<gix::index::State>,
    head: HeadDiff,
    /// Made when the first file has to be read.
    reader: Option<WorktreeReader>,
    is_complete: bool,
    known: StatCache,
    fresh: StatCache,
    /// Whether `fresh` holds something that `known` did not.
    has_new_entries: bool,
    may_store: bool,
    deadline: Instant,
    result: WorktreeChanges,
}

impl Classifier<'_> {
    fn tracked(&mut self, tracked: &Tracked) -> Result<(), GitError> {
        let index = self.index;
        let mut examined: FxHashSet<usize> = FxHashSet::default();
        for &position in &tracked.conflicted {
            let path = index.entries()[position].path(index);
            let committed = self.head.missing.remove(path);
            let real = SymlinkCheck::new(self.root).full_path(path).is_some();
            let content = if real { self.content(path)? } else { Content::Nothing };
            self.change(path, content, committed, FileState::Dirty, true);
        }
        for &position in &tracked.deleted {
            examined.insert(position);
            let committed = self.committed(position);
            self.change(
                index.entries()[position].path(index),
                Content::Nothing,
                committed,
                FileState::Dirty,
                false,
            );
        }
        for &position in &tracked.maybe_modified {
            examined.insert(position);
            if self.is_late() {
                continue;
            }
            let entry = &index.entries()[position];
            let path = entry.path(index);
            let content = self.content(path)?;
            let intended = entry.flags.contains(Flags::INTENT_TO_ADD);
            let state = match &content {
                Content::Blob(blob)
                    if blob.oid == entry.id
                        && (blob.mode == Mode::Symlink) == (entry.mode == EntryMode::SYMLINK)
                        && !intended =>
                {
                    FileState::Staged
                }
                _ => FileState::Dirty,
            };
            let committed = self.committed(position);
            self.change(path, content, committed, state, false);
        }
        // What differs from the commit and is, on disk, as in the index.
        let mut staged: Vec<_> =
            self.head.changed.keys().copied().filter(|at| !examined.contains(at)).collect();
        staged.sort_unstable();
        for position in staged {
            let entry = &index.entries()[position];
            if entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID)
                || entry.mode == EntryMode::DIR
            {
                continue;
            }
            let path = entry.path(index);
            let size = self.repo.blobs().size(&entry.id)?.unwrap_or(0);
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

    /// Committed, but not in the index: removed, or only taken out of the index and still there.
    fn missing_from_index(&mut self) -> Result<(), GitError> {
        let mut missing: Vec<_> = std::mem::take(&mut self.head.missing).into_iter().collect();
        missing.sort_by(|a, b| a.0.cmp(&b.0));
        for (path, committed) in missing {
            let real = SymlinkCheck::new(self.root).full_path(path.as_ref()).is_some();
            let content = if real { self.content(path.as_ref())? } else { Content::Nothing };
            let state =
                if matches!(content, Content::Nothing) { FileState::Staged } else { FileState::Untracked };
            self.head.missing.insert(path.clone(), committed);
            self.change(path.as_ref(), content, Some(committed), state, false);
        }
        Ok(())
    }

    fn untracked(&mut self, paths: &[BString]) -> Result<(), GitError> {
        let mut paths: Vec<&BString> = paths.iter().collect();
        paths.sort();
        for path in paths {
            if self.head.missing.contains_key(path) {
                continue; // dealt with as committed
            }
            if Instant::now() > self.deadline {
                self.result.unchecked += 1;
                self.is_complete = false;
                continue;
            }
            self.result.checked += 1;
            let content = self.content(path.as_ref())?;
            if !matches!(content, Content::Nothing) {
                self.change(path.as_ref(), content, None, FileState::Untracked, false);
            }
        }
        Ok(())
    }

    fn finish(mut self, cache_file: &Path) -> WorktreeChanges {
        if self.has_new_entries && self.may_store {
            if !self.is_complete {
                self.fresh.keep_from(self.known);
            }
            self.fresh.store(cache_file);
        }
        self.result.changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.result.filtered.sort();
        self.result.filtered.dedup();
        self.result
    }

    /// Whether a path already counted as checked has to be given up.
    fn is_late(&mut self) -> bool {
        let late = Instant::now() > self.deadline;
        if late {
            self.result.checked = self.result.checked.saturating_sub(1);
            self.result.unchecked += 1;
            self.is_complete = false;
        }
        late
    }

    /// What is committed at the path of an index entry.
    fn committed(&self, position: usize) -> Option<Committed> {
        let entry = &self.index.entries()[position];
        let unchanged = Committed { oid: entry.id, is_symlink: entry.mode == EntryMode::SYMLINK };
        self.head.changed.get(&position).copied().unwrap_or(Some(unchanged))
    }

    fn change(
        &mut self,
        path: &BStr,
        content: Content,
        committed: Option<Committed>,
        state: FileState,
        conflicted: bool,
    ) {
        let bytes = match content {
            Content::Unknown => return,
            Content::Nothing if committed.is_none() => return,
            Content::Nothing => None,
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

    /// From the cache, or by reading the file.
    fn content(&mut self, path: &BStr) -> Result<Content, GitError> {
        let meta = match std::fs::symlink_metadata(self.root.join(path.to_path_lossy())) {
            Ok(meta) => meta,
            Err(error) if is_absent(&error) => return Ok(Content::Nothing),
            Err(_) => return Ok(Content::Unknown),
        };
        let mode = match Kind::of(&meta) {
            Kind::Directory | Kind::Other => return Ok(Content::Nothing),
            Kind::Symlink => Mode::Symlink,
            Kind::File { executable: true } => Mode::Executable,
            Kind::File { executable: false } => Mode::File,
        };
        if let Some(known) = self.known.get(path, &FileStat::of(&meta)) {
            self.fresh.insert(path.to_owned(), known);
            return Ok(Content::Blob(WorktreeBlob { oid: known.oid, mode, size: known.clean_size }));
        }
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => self.reader.insert(WorktreeReader::with_index(self.repo, self.index.clone())?),
        };
        let observed = Time::now();
        match reader.convert_checked(path) {
            Ok((stat, Found::Blob { bytes, mode })) => {
                let oid = hash_blob(&bytes, self.index.object_hash());
                let size = bytes.len() as u64;
                if let Some(stat) = stat.filter(|stat| !stat.mtime.is_racy(observed)) {
                    self.has_new_entries = true;
                    self.fresh.insert(path.to_owned(), Known { stat, oid, clean_size: size });
                }
                Ok(Content::Blob(WorktreeBlob { oid, mode, size }))
            }
            Ok((_, Found::Huge { size, mode })) => {
                Ok(Content::Blob(WorktreeBlob { oid: Oid::null(self.index.object_hash()), mode, size }))
            }
            Ok((_, Found::Filtered)) => {
                self.result.filtered.push(path.to_owned());
                Ok(Content::Unknown)
            }
            Ok((_, Found::Nothing)) => Ok(Content::Nothing),
            // One unreadable file must not take the whole overlay down.
            Err(error) => {
                tracing::debug!(%error, "a file of the working tree is passed over");
                self.result.unchecked += 1;
                Ok(Content::Unknown)
            }
        }
    }
}
