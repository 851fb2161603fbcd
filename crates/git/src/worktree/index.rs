//! Git's index, and its difference to a committed tree.

use std::sync::{Arc, OnceLock};

use gix::index::entry::{Flags, Mode as EntryMode, Stage};
use gix::index::extension::Tree as CachedTree;
use gix::objs::{Find as _, TreeRefIter, tree::EntryKind};
use rustc_hash::FxHashMap;

use crate::walk_bounds::WalkBounds;
use crate::{BStr, BString, ByteSlice as _, ByteVec as _, GitError, Oid, Repo};

/// Git's index of a worktree, read on first use.
#[derive(Default)]
pub(super) struct LazyIndex {
    state: OnceLock<Arc<gix::index::State>>,
}

impl LazyIndex {
    /// An index that is parsed already.
    pub fn new(state: Arc<gix::index::State>) -> LazyIndex {
        LazyIndex { state: state.into() }
    }

    /// Returns the parsed index, which the first call reads.
    pub fn get(&self, repo: &Repo) -> Result<Arc<gix::index::State>, GitError> {
        if let Some(state) = self.state.get() {
            return Ok(state.clone());
        }

        let state = Arc::new(repo.read_index()?);
        Ok(self.state.get_or_init(|| state).clone())
    }
}

/// All parent directories of tracked files with their slash, each once; the root is the empty path.
pub(super) fn directories(index: &gix::index::State) -> impl Iterator<Item = &BStr> {
    let mut last: &BStr = "".into();
    let below_root = index.entries().iter().flat_map(move |entry| {
        let path = entry.path(index);
        // The index is sorted, so paths with a common prefix are contiguous.
        let common = path.iter().zip(last.iter()).take_while(|(a, b)| a == b).count();
        last = path;
        path.find_iter("/")
            .map(|slash| slash + 1)
            .filter(move |&end| end > common)
            .map(|end| path[..end].as_bstr())
    });

    std::iter::once("".into()).chain(below_root)
}

/// A file of the committed tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommittedFile {
    pub oid: Oid,
    pub is_symlink: bool,
}

/// Difference between the committed tree and the index, without submodules.
#[derive(Default)]
pub(super) struct HeadDiff {
    /// Index positions (stage 0) whose entry differs from the commit, with the committed file; `None` if
    /// there is none.
    pub changed: FxHashMap<usize, Option<CommittedFile>>,
    /// Files of the commit whose path has no entry of stage 0.
    pub missing: FxHashMap<BString, CommittedFile>,
}

impl HeadDiff {
    /// Returns whether every committed path is in the index. Other committed files are read in each run,
    /// since their directories may not be scanned.
    pub fn all_in_index(&self) -> bool {
        self.missing.is_empty()
    }
}

/// Compares the index with `head_tree`. Skips directories whose tree oid is in the cache-tree extension of
/// the index.
pub(super) fn diff_head(
    repo: &Repo,
    index: &gix::index::State,
    head_tree: Option<&Oid>,
) -> Result<HeadDiff, GitError> {
    let Some(tree) = head_tree else { return Ok(merge(index, Vec::new())) };
    let repo = repo.local();
    let mut committed =
        CommittedItems { repo: &repo, root: *tree, bounds: WalkBounds::default(), items: Vec::new() };

    committed.add(tree, index.tree(), &mut BString::default(), 0)?;
    Ok(merge(index, committed.items))
}

/// A part of the committed tree.
enum TreeItem {
    File(BString, CommittedFile),
    /// A directory, with its slash, whose content is the same in the index.
    UnchangedDirectory(BString),
}

/// The parts of a committed tree, in path order.
struct CommittedItems<'a> {
    repo: &'a gix::Repository,
    root: Oid,
    bounds: WalkBounds,
    items: Vec<TreeItem>,
}

impl CommittedItems<'_> {
    /// Appends the files of `tree`, which is at `prefix`.
    fn add(
        &mut self,
        tree: &Oid,
        cached: Option<&CachedTree>,
        prefix: &mut BString,
        depth: usize,
    ) -> Result<(), GitError> {
        if cached.is_some_and(|cached| cached.num_entries.is_some() && cached.id == *tree) {
            self.items.push(TreeItem::UnchangedDirectory(prefix.clone()));
            return Ok(());
        }

        self.bounds.enter(self.root, depth, self.items.len())?;
        let bad = |reason: String| GitError::BadObject { oid: *tree, expected: "tree", reason };
        let mut buffer = Vec::new();
        let data = if tree.is_empty_tree() {
            &[][..]
        } else {
            let found =
                self.repo.objects.try_find(tree, &mut buffer).map_err(|error| bad(error.to_string()))?;
            found.ok_or(GitError::ObjectMissing { oid: *tree })?.data
        };
        self.bounds.add(*tree, data.len());

        let base = prefix.len();
        for entry in TreeRefIter::from_bytes(data, tree.kind()) {
            let entry = entry.map_err(|error| bad(error.to_string()))?;
            prefix.push_str(entry.filename);
            match entry.mode.kind() {
                EntryKind::Tree => {
                    prefix.push_byte(b'/');
                    let child = cached.and_then(|cached| {
                        cached.children.iter().find(|child| entry.filename == child.name.as_slice())
                    });
                    self.add(&entry.oid.to_owned(), child, prefix, depth + 1)?;
                }
                EntryKind::Commit => {}
                kind => {
                    let committed =
                        CommittedFile { oid: entry.oid.to_owned(), is_symlink: kind == EntryKind::Link };
                    self.items.push(TreeItem::File(prefix.clone(), committed));
                }
            }
            prefix.truncate(base);
        }

        Ok(())
    }
}

/// Relation of an index entry to the committed tree.
enum EntryState {
    Same,
    /// Another file is committed at the path, or none.
    Differs(Option<CommittedFile>),
}

/// Walks the index and the committed tree in path order, side by side.
fn merge(index: &gix::index::State, items: Vec<TreeItem>) -> HeadDiff {
    let mut diff = HeadDiff::default();
    let mut items = items.into_iter().peekable();

    for (position, entry) in index.entries().iter().enumerate() {
        let path = entry.path(index);
        if entry.stage() != Stage::Unconflicted || entry.mode == EntryMode::COMMIT {
            continue;
        }

        let is_sparse = entry.mode == EntryMode::DIR;
        let is_intent_to_add = entry.flags.contains(Flags::INTENT_TO_ADD);
        let mut state = EntryState::Differs(None);

        while let Some(next) = items.peek() {
            match next {
                TreeItem::UnchangedDirectory(prefix) if path.starts_with(prefix) => {
                    // The cache-tree extension does not cover intent-to-add entries.
                    state = if is_intent_to_add { EntryState::Differs(None) } else { EntryState::Same };
                    break;
                }
                TreeItem::File(committed_path, committed) if committed_path == path => {
                    let is_symlink = entry.mode == EntryMode::SYMLINK;
                    let is_same =
                        committed.oid == entry.id && committed.is_symlink == is_symlink && !is_intent_to_add;
                    state = if is_same { EntryState::Same } else { EntryState::Differs(Some(*committed)) };
                    items.next();
                    break;
                }
                // A sparse index has one entry for all files of a directory.
                TreeItem::File(committed_path, _) if is_sparse && committed_path.starts_with(path) => {
                    items.next();
                    state = EntryState::Same;
                }
                TreeItem::File(committed_path, _) | TreeItem::UnchangedDirectory(committed_path)
                    if committed_path.as_bstr() < path =>
                {
                    if let Some(TreeItem::File(committed_path, committed)) = items.next() {
                        diff.missing.insert(committed_path, committed);
                    }
                }
                _ => break,
            }
        }

        if let EntryState::Differs(committed) = state {
            diff.changed.insert(position, committed);
        }
    }

    for rest in items {
        if let TreeItem::File(path, committed) = rest {
            diff.missing.insert(path, committed);
        }
    }

    diff
}
