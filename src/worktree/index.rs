//! The git index, and how it differs from a committed tree.

use std::sync::{Arc, OnceLock};

use gix::index::entry::{Flags, Mode as EntryMode, Stage};
use gix::index::extension::Tree as CachedTree;
use gix::objs::{Find as _, TreeRefIter, tree::EntryKind};
use rustc_hash::FxHashMap;

use crate::git::{BStr, BString, ByteSlice as _, ByteVec as _, GitError, Oid, Repo};

/// The index of a worktree, read when somebody needs it.
#[derive(Default)]
pub(super) struct LazyIndex {
    state: OnceLock<Arc<gix::index::State>>,
}

impl LazyIndex {
    pub fn of(state: Arc<gix::index::State>) -> LazyIndex {
        LazyIndex { state: state.into() }
    }

    pub fn get(&self, repo: &Repo) -> Result<Arc<gix::index::State>, GitError> {
        if let Some(state) = self.state.get() {
            return Ok(state.clone());
        }
        let state = Arc::new(repo.read_index()?);
        Ok(self.state.get_or_init(|| state).clone())
    }
}

/// All directories on the way to tracked files with their slash, each once; the root is empty.
pub(super) fn directories(index: &gix::index::State) -> impl Iterator<Item = &BStr> {
    let mut last: &BStr = "".into();
    let below_root = index.entries().iter().flat_map(move |entry| {
        let path = entry.path(index);
        // What begins alike lies together in the index.
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
pub(super) struct Committed {
    pub oid: Oid,
    pub is_symlink: bool,
}

/// Where the committed tree and the index differ. Submodules are not in it.
#[derive(Default)]
pub(super) struct HeadDiff {
    /// Index positions (stage 0) whose entry is not what is committed; `None` if nothing is committed there.
    pub changed: FxHashMap<usize, Option<Committed>>,
    /// Committed paths without entry of stage 0, by path.
    pub missing: FxHashMap<BString, Committed>,
}

impl HeadDiff {
    /// Whether every committed path is in the index: others may lie where nobody watches.
    pub fn all_in_index(&self) -> bool {
        self.missing.is_empty()
    }
}

/// Compares entry by entry, but skips directories for which the index remembers the oid of their tree.
pub(super) fn diff_head(
    repo: &Repo,
    index: &gix::index::State,
    head_tree: Option<&Oid>,
) -> Result<HeadDiff, GitError> {
    let mut listing = Vec::new();
    if let Some(tree) = head_tree {
        let local = repo.local();
        list(&local, tree, index.tree(), &mut BString::default(), &mut listing)?;
    }
    Ok(merge(index, listing))
}

enum TreeItem {
    File(BString, Committed),
    /// A directory, with its slash, that the index holds unchanged.
    Same(BString),
}

/// Files of the tree in path order.
fn list(
    repo: &gix::Repository,
    tree: &Oid,
    cached: Option<&CachedTree>,
    prefix: &mut BString,
    listing: &mut Vec<TreeItem>,
) -> Result<(), GitError> {
    if cached.is_some_and(|cached| cached.num_entries.is_some() && cached.id == *tree) {
        listing.push(TreeItem::Same(prefix.clone()));
        return Ok(());
    }
    let bad = |reason: String| GitError::BadObject { oid: *tree, expected: "tree", reason };
    let mut buffer = Vec::new();
    let data = if tree.is_empty_tree() {
        &[][..]
    } else {
        let found = repo.objects.try_find(tree, &mut buffer).map_err(|error| bad(error.to_string()))?;
        found.ok_or(GitError::ObjectMissing { oid: *tree })?.data
    };
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
                list(repo, &entry.oid.to_owned(), child, prefix, listing)?;
            }
            EntryKind::Commit => {}
            kind => {
                let committed = Committed { oid: entry.oid.to_owned(), is_symlink: kind == EntryKind::Link };
                listing.push(TreeItem::File(prefix.clone(), committed));
            }
        }
        prefix.truncate(base);
    }
    Ok(())
}

fn merge(index: &gix::index::State, listing: Vec<TreeItem>) -> HeadDiff {
    let mut side = HeadDiff::default();
    let mut listing = listing.into_iter().peekable();
    for (position, entry) in index.entries().iter().enumerate() {
        let path = entry.path(index);
        if entry.stage() != Stage::Unconflicted || entry.mode == EntryMode::COMMIT {
            continue;
        }
        let is_sparse = entry.mode == EntryMode::DIR;
        let mut state = None;
        while let Some(next) = listing.peek() {
            match next {
                TreeItem::Same(prefix) if path.starts_with(prefix) => {
                    // Intent to add is not part of the tree that git remembers.
                    let intended = entry.flags.contains(Flags::INTENT_TO_ADD);
                    state = Some(if intended { Err(None) } else { Ok(()) });
                    break;
                }
                TreeItem::File(listed, committed) if listed == path => {
                    let is_symlink = entry.mode == EntryMode::SYMLINK;
                    let same = committed.oid == entry.id
                        && committed.is_symlink == is_symlink
                        && !entry.flags.contains(Flags::INTENT_TO_ADD);
                    state = Some(if same { Ok(()) } else { Err(Some(*committed)) });
                    listing.next();
                    break;
                }
                // All files of a directory that a sparse index keeps as one entry.
                TreeItem::File(listed, _) if is_sparse && listed.starts_with(path) => {
                    listing.next();
                    state = Some(Ok(()));
                }
                TreeItem::File(listed, _) | TreeItem::Same(listed) if listed.as_bstr() < path => {
                    if let Some(TreeItem::File(listed, committed)) = listing.next() {
                        side.missing.insert(listed, committed);
                    }
                }
                _ => break,
            }
        }
        match state {
            Some(Ok(())) => {}
            Some(Err(committed)) => drop(side.changed.insert(position, committed)),
            None => drop(side.changed.insert(position, None)),
        }
    }
    for rest in listing {
        if let TreeItem::File(path, committed) = rest {
            side.missing.insert(path, committed);
        }
    }
    side
}
