//! Files of a tree, and differences of two trees.

use std::cmp::Ordering;

use gix::objs::{Kind, TreeRefIter, tree::EntryKind};
use rustc_hash::FxHashMap;

use super::members::VisiblePaths;
use super::walk_bounds::WalkBounds;
use super::{BStr, BString, ByteVec as _, GitError, MEMBERS_FILE, Objects, Oid, Repo};

/// Kind of a file in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Mode {
    File = 0,
    Executable = 1,
    Symlink = 2,
    /// The commit of a submodule.
    Gitlink = 3,
}

impl Mode {
    fn from_kind(kind: EntryKind) -> Option<Mode> {
        match kind {
            EntryKind::Blob => Some(Mode::File),
            EntryKind::BlobExecutable => Some(Mode::Executable),
            EntryKind::Link => Some(Mode::Symlink),
            EntryKind::Commit => Some(Mode::Gitlink),
            EntryKind::Tree => None,
        }
    }
}

/// A file of a tree; `path` is relative to the root, with `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    pub path: BString,
    pub oid: Oid,
    pub mode: Mode,
}

/// A path whose file differs between two trees. At least one side is present. A mode change keeps the oid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeChange {
    pub path: BString,
    pub old: Option<(Oid, Mode)>,
    pub new: Option<(Oid, Mode)>,
}

/// All files of a tree, sorted by the bytes of their paths. Cost: one read per directory.
///
/// Leaves out entries that cannot be checked out (`..`, `.git`, a slash in a name).
pub fn walk_tree(repo: &Repo, tree: &Oid) -> Result<Vec<TreeFile>, GitError> {
    files_below(Reader::open(repo, &[tree])?, tree, BString::default())
}

/// All files below the directory `tree`, whose path is `prefix`, sorted by the bytes of their paths.
fn files_below(mut reader: Reader, tree: &Oid, mut prefix: BString) -> Result<Vec<TreeFile>, GitError> {
    let mut files = Vec::new();
    reader.files(tree, &mut prefix, 0, &mut files)?;

    if !files.is_sorted_by(|a, b| a.path < b.path) {
        // Only malformed trees are unsorted.
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|later, first| later.path == first.path);
    }
    Ok(files)
}

/// As [`walk_tree`], for the directory `path` alone. Empty if there is no such directory.
pub fn walk_directory(repo: &Repo, tree: &Oid, path: &BStr) -> Result<Vec<TreeFile>, GitError> {
    let Some((directory, None)) = find_entry(repo, tree, path)? else { return Ok(Vec::new()) };
    files_below(Reader::open(repo, &[tree])?, &directory, path.to_owned())
}

/// Returns the file at `path`; `None` for a directory and if nothing is there.
pub fn entry_at(repo: &Repo, tree: &Oid, path: &BStr) -> Result<Option<TreeFile>, GitError> {
    let found = find_entry(repo, tree, path)?;
    Ok(found.and_then(|(oid, mode)| Some(TreeFile { path: path.to_owned(), oid, mode: mode? })))
}

/// Returns whether there is a file or a directory at `path`.
pub fn is_in_tree(repo: &Repo, tree: &Oid, path: &BStr) -> Result<bool, GitError> {
    Ok(find_entry(repo, tree, path)?.is_some())
}

/// Finds the object at `path`; a directory has no mode.
fn find_entry(repo: &Repo, tree: &Oid, path: &BStr) -> Result<Option<(Oid, Option<Mode>)>, GitError> {
    let mut reader = Reader::open(repo, &[tree])?;
    if reader.is_hidden(path) {
        return Ok(None);
    }

    let mut buffer = Vec::new();
    let mut current = *tree;
    let mut components = path.split(|byte| *byte == b'/').peekable();

    while let Some(name) = components.next() {
        let found = reader.entries(&current, &mut buffer)?.find(|entry| match entry {
            Ok(entry) => entry.name == name,
            Err(_) => true,
        });

        let Some(entry) = found.transpose()? else { return Ok(None) };
        match (entry.mode, components.peek().is_some()) {
            (None, true) => current = entry.oid,
            (mode, false) => return Ok(Some((entry.oid, mode))),
            (Some(_), true) => return Ok(None),
        }
    }

    Ok(None)
}

/// Finds files of one tree by their paths. Each directory is read once if the paths are sorted.
pub struct TreeLookup {
    reader: Reader,
    root: Oid,
    /// The directories on the way to the last path, from the root on.
    open: Vec<OpenDirectory>,
}

/// A directory of a tree, with its entries by name.
struct OpenDirectory {
    /// Name in the directory above.
    name: BString,
    entries: FxHashMap<BString, (Oid, Option<Mode>)>,
}

impl TreeLookup {
    /// Creates a look-up in the tree `root` of `repo`, of which it finds what the repository shows.
    ///
    /// # Errors
    /// The list of members of a limited catalogue cannot be read.
    pub fn open(repo: &Repo, root: Oid) -> Result<TreeLookup, GitError> {
        Ok(TreeLookup { reader: Reader::open(repo, &[&root])?, root, open: Vec::new() })
    }

    /// As [`entry_at`].
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn find(&mut self, path: &BStr) -> Result<Option<TreeFile>, GitError> {
        if self.reader.is_hidden(path) {
            return Ok(None);
        }

        let mut parents: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        // A split has one part at least.
        let name = parents.pop().unwrap_or_default();

        self.close_others(&parents);
        if self.open.is_empty() {
            self.enter(b"", self.root)?;
        }
        while self.open.len() <= parents.len() {
            let next = parents[self.open.len() - 1];
            match self.entry(next) {
                Some((tree, None)) => self.enter(next, tree)?,
                Some((_, Some(_))) | None => return Ok(None),
            }
        }

        let found = self.entry(name);
        Ok(found.and_then(|(oid, mode)| Some(TreeFile { path: path.to_owned(), oid, mode: mode? })))
    }

    /// Leaves the directories that are not on the way to one with these names.
    fn close_others(&mut self, parents: &[&[u8]]) {
        let below_root = self.open.iter().skip(1);
        let n_common = below_root.zip(parents).take_while(|(open, name)| open.name == **name).count();
        self.open.truncate(n_common + 1);
    }

    /// Enters the directory `name` of the last one.
    fn enter(&mut self, name: &[u8], tree: Oid) -> Result<(), GitError> {
        let mut buffer = Vec::new();
        let mut entries = FxHashMap::default();
        for entry in self.reader.entries(&tree, &mut buffer)? {
            let entry = entry?;
            entries.entry(BString::from(entry.name)).or_insert((entry.oid, entry.mode));
        }

        self.open.push(OpenDirectory { name: name.into(), entries });
        Ok(())
    }

    /// The entry `name` of the last directory.
    fn entry(&self, name: &[u8]) -> Option<(Oid, Option<Mode>)> {
        self.open.last()?.entries.get(BStr::new(name)).copied()
    }
}

/// Compares two trees: the files in which `new` differs from `old` (all of them, if there is no old tree),
/// sorted by path.
///
/// Cost: proportional to the changed directories, since equal subtrees are not read. A rename is a deletion
/// and an addition with equal oids, which suffices for a content-addressed index. A file that became a
/// directory is a deletion plus additions.
pub fn diff_trees(repo: &Repo, old: Option<&Oid>, new: &Oid) -> Result<Vec<TreeChange>, GitError> {
    let trees: Vec<&Oid> = old.into_iter().chain([new]).collect();
    Reader::open(repo, &trees)?.diff(old, new, &|_| true)
}

/// Compares many trees of one repository.
pub struct TreeComparer {
    repo: Repo,
    reader: Reader,
}

impl TreeComparer {
    /// Cache for the directories that neighbouring commits share.
    const CACHE_BYTES: usize = 32 << 20;

    /// Creates a comparer for the trees of `repo`.
    pub fn new(repo: &Repo) -> TreeComparer {
        let mut reader = Reader::new(repo, Oid::null(repo.object_hash()));
        reader.objects.own.object_cache_size_if_unset(Self::CACHE_BYTES);
        TreeComparer { repo: repo.clone(), reader }
    }

    /// As [`diff_trees`], but does not enter the directories that `enters` refuses. It gets their paths
    /// without a slash at the end.
    pub fn diff(
        &mut self,
        old: Option<&Oid>,
        new: &Oid,
        enters: &dyn Fn(&BStr) -> bool,
    ) -> Result<Vec<TreeChange>, GitError> {
        self.reader.root = *new;
        let trees: Vec<&Oid> = old.into_iter().chain([new]).collect();
        self.reader.visible = self.repo.visible_paths(&trees)?;
        self.reader.diff(old, new, enters)
    }
}

/// An entry of a directory.
struct Entry<'a> {
    name: &'a [u8],
    oid: Oid,
    /// `None` for a directory.
    mode: Option<Mode>,
}

impl Entry<'_> {
    /// Compares in git's order: a directory sorts as if its name ended in a slash. So a depth-first walk
    /// returns paths in byte order, and a file and a directory with the same name are different keys.
    fn cmp(&self, other: &Entry<'_>) -> Ordering {
        let common = self.name.len().min(other.name.len());
        self.name[..common]
            .cmp(&other.name[..common])
            .then_with(|| self.byte_at(common).cmp(&other.byte_at(common)))
            .then_with(|| self.name.len().cmp(&other.name.len()))
    }

    /// The byte of the name at `position`, with the end that git's order adds to it.
    fn byte_at(&self, position: usize) -> u8 {
        let end = if self.mode.is_none() { b'/' } else { 0 };
        self.name.get(position).copied().unwrap_or(end)
    }

    /// Its oid and mode; `None` for a directory.
    fn file(&self) -> Option<(Oid, Mode)> {
        Some((self.oid, self.mode?))
    }
}

/// Reads trees with one handle; keeps buffers of finished directories for the next ones.
struct Reader {
    objects: Objects,
    root: Oid,
    /// The paths that a limited repository shows; `None` for all.
    visible: Option<VisiblePaths>,
    spare: Vec<Vec<u8>>,
    bounds: WalkBounds,
}

impl Reader {
    fn new(repo: &Repo, root: Oid) -> Self {
        Reader {
            objects: repo.objects(),
            root,
            visible: None,
            spare: Vec::new(),
            bounds: WalkBounds::default(),
        }
    }

    /// Opens a reader of the root trees `trees`, of which the last is named in errors.
    fn open(repo: &Repo, trees: &[&Oid]) -> Result<Self, GitError> {
        let root = trees.last().map_or_else(|| Oid::null(repo.object_hash()), |tree| **tree);
        Ok(Reader { visible: repo.visible_paths(trees)?, ..Reader::new(repo, root) })
    }

    /// Returns whether the repository does not show what is at `path`.
    fn is_hidden(&self, path: &[u8]) -> bool {
        self.visible.as_ref().is_some_and(|visible| !visible.contains(path))
    }

    /// Reads the entries of a directory, without those that cannot be checked out.
    fn entries<'a>(
        &mut self,
        tree: &Oid,
        buffer: &'a mut Vec<u8>,
    ) -> Result<impl Iterator<Item = Result<Entry<'a>, GitError>> + use<'a>, GitError> {
        let tree = *tree;
        let bad = move |reason: String| GitError::BadObject { oid: tree, expected: "tree", reason };

        let data: &'a [u8] = if tree.is_empty_tree() {
            &[]
        } else {
            let object = self.objects.try_find(&tree, buffer).map_err(bad)?;
            let object = object.ok_or(GitError::ObjectMissing { oid: tree })?;
            if object.kind != Kind::Tree {
                return Err(bad(format!("it is a {}", object.kind)));
            }
            object.data
        };
        self.bounds.add(tree, data.len());

        // The list of the members of a catalogue is not one of its files.
        let hidden = self.objects.is_catalogue().then_some(MEMBERS_FILE.as_bytes());

        Ok(TreeRefIter::from_bytes(data, tree.kind())
            .map(move |entry| match entry {
                Ok(entry) => Ok(Entry {
                    name: entry.filename,
                    oid: entry.oid.to_owned(),
                    mode: Mode::from_kind(entry.mode.kind()),
                }),
                Err(error) => Err(bad(error.to_string())),
            })
            .filter(move |entry| match entry {
                Ok(entry) => is_checkable_name(entry.name) && hidden != Some(entry.name),
                Err(_) => true,
            }))
    }

    /// Reads the entries of a directory that may be absent on one side of a comparison.
    fn entries_if_any<'a>(
        &mut self,
        tree: Option<&Oid>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Vec<Entry<'a>>, GitError> {
        match tree {
            Some(tree) => self.entries(tree, buffer)?.collect(),
            None => Ok(Vec::new()),
        }
    }

    /// Adds all files below the directory `tree`, whose path is `prefix`.
    fn files(
        &mut self,
        tree: &Oid,
        prefix: &mut BString,
        depth: usize,
        files: &mut Vec<TreeFile>,
    ) -> Result<(), GitError> {
        self.bounds.enter(self.root, depth, files.len())?;
        let mut buffer = self.spare.pop().unwrap_or_default();
        let base = prefix.len();

        for entry in self.entries(tree, &mut buffer)? {
            let entry = entry?;
            push_component(prefix, entry.name);
            match entry.mode {
                _ if self.is_hidden(prefix) => {}
                Some(mode) => files.push(TreeFile { path: prefix.clone(), oid: entry.oid, mode }),
                None => self.files(&entry.oid, prefix, depth + 1, files)?,
            }
            prefix.truncate(base);
        }

        self.spare.push(buffer);
        Ok(())
    }

    /// Compares two root trees.
    fn diff(
        &mut self,
        old: Option<&Oid>,
        new: &Oid,
        enters: &dyn Fn(&BStr) -> bool,
    ) -> Result<Vec<TreeChange>, GitError> {
        let mut changes = Vec::new();
        if old == Some(new) {
            return Ok(changes);
        }
        self.bounds = WalkBounds::default();

        self.changes((old, Some(new)), &mut BString::default(), 0, enters, &mut changes)?;

        if !changes.is_sorted_by(|a, b| a.path < b.path) {
            // Only malformed trees are unsorted, as in `walk_tree`.
            changes.sort_by(|a, b| a.path.cmp(&b.path));
            changes.dedup_by(|later, first| {
                let same = later.path == first.path;
                if same {
                    first.old = first.old.or(later.old);
                    first.new = first.new.or(later.new);
                }
                same
            });
        }

        Ok(changes)
    }

    /// Adds the differences of two directories, whose path is `prefix`.
    fn changes(
        &mut self,
        (old, new): (Option<&Oid>, Option<&Oid>),
        prefix: &mut BString,
        depth: usize,
        enters: &dyn Fn(&BStr) -> bool,
        changes: &mut Vec<TreeChange>,
    ) -> Result<(), GitError> {
        self.bounds.enter(self.root, depth, changes.len())?;
        let (mut old_buffer, mut new_buffer) =
            (self.spare.pop().unwrap_or_default(), self.spare.pop().unwrap_or_default());
        let old_entries = self.entries_if_any(old, &mut old_buffer)?;
        let new_entries = self.entries_if_any(new, &mut new_buffer)?;

        let base = prefix.len();
        let (mut o, mut n) = (old_entries.iter().peekable(), new_entries.iter().peekable());

        loop {
            let (left, right) = match (o.peek(), n.peek()) {
                (None, None) => break,
                (Some(left), Some(right)) => match left.cmp(right) {
                    Ordering::Less => (o.next(), None),
                    Ordering::Greater => (None, n.next()),
                    Ordering::Equal => (o.next(), n.next()),
                },
                (Some(_), None) => (o.next(), None),
                (None, Some(_)) => (None, n.next()),
            };

            let Some(any) = left.or(right) else { break };
            // Directories too: equal subtrees are never read.
            if matches!((left, right), (Some(l), Some(r)) if l.oid == r.oid && l.mode == r.mode) {
                continue;
            }

            push_component(prefix, any.name);
            if self.is_hidden(prefix) {
                prefix.truncate(base);
                continue;
            }

            if any.mode.is_none() {
                let (left, right) = (left.map(|e| e.oid), right.map(|e| e.oid));
                if enters(prefix.as_ref()) {
                    self.changes((left.as_ref(), right.as_ref()), prefix, depth + 1, enters, changes)?;
                }
            } else {
                let (old, new) = (left.and_then(Entry::file), right.and_then(Entry::file));
                changes.push(TreeChange { path: prefix.clone(), old, new });
            }
            prefix.truncate(base);
        }

        drop((old_entries, new_entries));
        self.spare.push(old_buffer);
        self.spare.push(new_buffer);
        Ok(())
    }
}

fn push_component(path: &mut BString, name: &[u8]) {
    if !path.is_empty() {
        path.push_byte(b'/');
    }
    path.push_str(name);
}

/// Returns whether git accepts a name at checkout: not empty, `.`, `..` or `.git`, and without separator.
fn is_checkable_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.eq_ignore_ascii_case(b".git") && !name.contains(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    fn listed(repo: &TestRepo, rev: &str) -> Vec<String> {
        let out = repo.git_text(["ls-tree", "-r", "--format=%(objectmode) %(objectname) %(path)", rev]);
        out.lines().map(str::to_owned).collect()
    }

    fn walked(repo: &TestRepo, rev: &str) -> Vec<String> {
        let files = walk_tree(&repo.open(), &repo.oid(&format!("{rev}^{{tree}}"))).unwrap();
        files.iter().map(|f| format!("{} {} {}", octal(f.mode), f.oid, f.path)).collect()
    }

    fn octal(mode: Mode) -> &'static str {
        ["100644", "100755", "120000", "160000"][mode as usize]
    }

    fn diff(repo: &TestRepo, old: &str, new: &str) -> Vec<String> {
        let (old, new) = (repo.oid(&format!("{old}^{{tree}}")), repo.oid(&format!("{new}^{{tree}}")));
        let changes = diff_trees(&repo.open(), Some(&old), &new).unwrap();
        changes
            .iter()
            .map(|c| {
                let side =
                    |s: &Option<(Oid, Mode)>| s.map_or("-".into(), |(o, m)| format!("{}:{o}", octal(m)));
                format!("{} {} {}", side(&c.old), side(&c.new), c.path)
            })
            .collect()
    }

    /// `git diff-tree` in our notation.
    fn git_diff(repo: &TestRepo, old: &str, new: &str) -> Vec<String> {
        let out = repo.git_text(["diff-tree", "-r", "--no-renames", old, new]);
        let mut lines: Vec<String> = out
            .lines()
            .map(|line| {
                let (meta, path) = line.split_once('\t').unwrap();
                let meta: Vec<&str> = meta.trim_start_matches(':').split(' ').collect();
                let side = |mode: &str, oid: &str| {
                    if mode == "000000" { "-".to_owned() } else { format!("{mode}:{oid}") }
                };
                format!("{} {} {path}", side(meta[0], meta[2]), side(meta[1], meta[3]))
            })
            .collect();
        lines.sort_by(|a, b| a.rsplit(' ').next().cmp(&b.rsplit(' ').next()));
        lines
    }

    fn mixed() -> TestRepo {
        let repo = TestRepo::with_files(&[
            ("a", "file\n"),
            ("a.b/x.rs", "fn x() {}\n"),
            ("a-b", "sorts between\n"),
            ("run.sh", "#!/bin/sh\n"),
            ("dir/sub/deep.txt", "deep\n"),
            (".hidden/f", "hidden\n"),
        ]);
        #[cfg(unix)]
        {
            repo.executable("run.sh");
            repo.symlink("dir/link", "../a");
            repo.commit("modes");
        }
        repo
    }

    #[test]
    fn a_walk_lists_what_git_lists() {
        let repo = mixed();
        repo.git([
            "update-index",
            "--add",
            "--cacheinfo",
            "160000,1234567890123456789012345678901234567890,lib/sub",
        ]);
        repo.git(["commit", "-qm", "gitlink"]);
        assert_eq!(walked(&repo, "HEAD"), listed(&repo, "HEAD"));
        assert!(walked(&repo, "HEAD").iter().any(|line| line.starts_with("160000")));
        let paths: Vec<_> = walk_tree(&repo.open(), &repo.oid("HEAD^{tree}")).unwrap();
        assert!(paths.is_sorted_by(|a, b| a.path < b.path));
    }

    #[cfg(unix)]
    #[test]
    fn renames_modes_types_and_directories_diff_as_in_git() {
        let repo = mixed();
        repo.git(["mv", "dir/sub/deep.txt", "dir/renamed.txt"]);
        repo.executable("a-b");
        repo.remove("a");
        repo.write("a/now-a-directory", "1\n");
        repo.remove("dir/link");
        repo.write("dir/link", "a file now\n");
        repo.write("a.b/x.rs", "fn x() { changed() }\n");
        repo.commit("changes");
        let ours = diff(&repo, "HEAD~1", "HEAD");
        assert_eq!(ours, git_diff(&repo, "HEAD~1", "HEAD"));
        assert_eq!(ours.len(), 7, "{ours:#?}");
        assert_eq!(diff(&repo, "HEAD", "HEAD~1"), git_diff(&repo, "HEAD", "HEAD~1"));
        assert_eq!(diff(&repo, "HEAD", "HEAD"), Vec::<String>::new());
    }

    #[test]
    fn without_an_old_tree_everything_is_new() {
        let repo = mixed();
        let tree = repo.oid("HEAD^{tree}");
        let changes = diff_trees(&repo.open(), None, &tree).unwrap();
        let files = walk_tree(&repo.open(), &tree).unwrap();
        assert_eq!(changes.len(), files.len());
        assert!(changes.iter().zip(&files).all(|(c, f)| c.path == f.path && c.new == Some((f.oid, f.mode))));
    }

    #[cfg(unix)]
    #[test]
    fn entries_are_found_by_path() {
        let repo = mixed();
        let (open, tree) = (repo.open(), repo.oid("HEAD^{tree}"));
        let at = |path: &str| entry_at(&open, &tree, path.into()).unwrap();
        assert_eq!(at("dir/sub/deep.txt").unwrap().oid, repo.oid("HEAD:dir/sub/deep.txt"));
        assert_eq!(at("run.sh").unwrap().mode, Mode::Executable);
        for absent in ["dir", "dir/sub", "nope", "run.sh/x", "", "dir/", "../a", "/a"] {
            assert_eq!(at(absent), None, "{absent}");
        }

        let mut lookup = TreeLookup::open(&open, tree).unwrap();
        let files = walk_tree(&open, &tree).unwrap();
        for file in files.iter().chain(files.iter().rev()) {
            assert_eq!(lookup.find(file.path.as_ref()).unwrap().as_ref(), Some(file));
        }
        for absent in ["dir", "dir/sub", "nope", "dir/nope/x", "run.sh/x", "", "dir/", "../a", "/a"] {
            assert_eq!(lookup.find(absent.into()).unwrap(), None, "{absent}");
        }
    }

    #[test]
    fn random_histories_diff_as_in_git() {
        let mut random = fastrand::Rng::with_seed(7);
        let repo = mixed();
        for step in 0..12 {
            for _ in 0..random.usize(1..6) {
                let path = format!("d{}/e{}/f{}", random.u8(0..3), random.u8(0..3), random.u8(0..5));
                if random.bool() {
                    repo.write(&path, format!("{}\n", random.u8(0..4)));
                } else {
                    repo.remove(&path);
                }
            }
            repo.git(["add", "-A"]);
            repo.git(["commit", "-qm", &step.to_string(), "--allow-empty"]);
        }
        for (old, new) in [("HEAD~1", "HEAD"), ("HEAD~5", "HEAD"), ("HEAD", "HEAD~11"), ("HEAD~3", "HEAD~7")]
        {
            assert_eq!(diff(&repo, old, new), git_diff(&repo, old, new), "{old} {new}");
            assert_eq!(walked(&repo, new), listed(&repo, new));
        }
    }

    #[test]
    fn a_tree_that_repeats_itself_is_refused() {
        let repo = mixed();
        let (file, empty) = (repo.oid("HEAD:a"), repo.write_object("tree", b""));
        for (mode, leaf) in [("100644", file), ("40000", empty)] {
            let mut tree = leaf;
            for level in 0..30 {
                let mode = if level == 0 { mode } else { "40000" };
                let entries = (0..4).map(|n| [format!("{mode} {n}\0").as_bytes(), tree.as_slice()].concat());
                tree = repo.write_object("tree", &entries.collect::<Vec<_>>().concat());
            }
            let is_refused = |error: GitError| matches!(error, GitError::RepeatedDirectories { .. });
            assert!(walk_tree(&repo.open(), &tree).is_err_and(is_refused));
            assert!(diff_trees(&repo.open(), None, &tree).is_err_and(is_refused));
        }
    }

    #[cfg(unix)]
    #[test]
    fn names_that_cannot_be_checked_out_are_left_out() {
        let repo = TestRepo::with_files(&[("ok", "1\n")]);
        let blob = repo.oid("HEAD:ok");
        for name in [&b".."[..], b".", b".git", b".GIT"] {
            let mut raw = b"100644 ".to_vec();
            raw.extend_from_slice(name);
            raw.push(0);
            raw.extend_from_slice(blob.as_slice());
            raw.extend_from_slice(b"100644 zz\0");
            raw.extend_from_slice(blob.as_slice());
            let tree = repo.write_object("tree", &raw);
            let files = walk_tree(&repo.open(), &tree).unwrap();
            assert_eq!(files.iter().map(|f| f.path.to_string()).collect::<Vec<_>>(), ["zz"]);
        }
    }
}
