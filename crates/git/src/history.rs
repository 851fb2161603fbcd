//! Commits: their contents, their order, and the common ancestor of two.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use gix::bstr::ByteSlice as _;
use gix::objs::{CommitRef, Find as _, Kind};
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use rustc_hash::{FxHashMap, FxHashSet};

use super::error::one_line;
use super::{GitError, Oid, Repo};

/// Size of the object cache of a walk, for the objects that it reads twice.
const CACHE_BYTES: usize = 8 << 20;

/// Maximum number of bytes of a message that are kept; a walk holds many commits.
const MAX_MESSAGE_BYTES: usize = 64 << 10;
/// Maximum number of bytes of the name of an author that are kept.
const MAX_NAME_BYTES: usize = 1000;

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub id: Oid,
    pub parents: Vec<Oid>,
    pub tree: Oid,
    /// When it was committed, in seconds since 1970.
    pub time: i64,
    /// Name of the author.
    pub author: String,
    /// At most its first 64 KiB.
    pub message: String,
    /// Its parents are not in this clone, or one of them cannot be read.
    pub is_shallow: bool,
}

impl Commit {
    /// The first line of the message.
    pub fn subject(&self) -> &str {
        self.message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(no message)")
    }

    /// The message below the subject.
    pub fn body(&self) -> &str {
        let text = self.message.trim();
        text.split_once('\n').map_or("", |(_, body)| body.trim())
    }
}

/// Reads commits and other objects of one repository; each thread needs its own.
pub struct History {
    repo: gix::Repository,
    owner: Repo,
    shallow: Vec<Oid>,
    buffer: Vec<u8>,
}

impl History {
    /// Opens the history of a repository.
    ///
    /// # Errors
    /// [`GitError::Unreadable`] if the list of shallow commits cannot be read.
    pub fn open(repo: &Repo) -> Result<History, GitError> {
        let mut local = repo.local();
        local.object_cache_size_if_unset(CACHE_BYTES);
        let shallow = local.shallow_commits().map_err(|error| repo.unreadable(&error))?;
        let shallow = shallow.map(|commits| commits.iter().copied().collect()).unwrap_or_default();

        Ok(History { repo: local, owner: repo.clone(), shallow, buffer: Vec::new() })
    }

    /// Returns whether the clone lacks the history before some commits.
    pub fn is_shallow(&self) -> bool {
        !self.shallow.is_empty()
    }

    /// Reads a commit. Text that is not UTF-8 is replaced.
    ///
    /// # Errors
    /// [`GitError::ObjectMissing`], [`GitError::BadObject`].
    pub fn commit(&mut self, id: &Oid) -> Result<Commit, GitError> {
        let bad = |reason: String| GitError::BadObject { oid: *id, expected: "commit", reason };
        let found =
            self.repo.objects.try_find(id, &mut self.buffer).map_err(|error| bad(one_line(&error)))?;

        let object = found.ok_or(GitError::ObjectMissing { oid: *id })?;
        if object.kind != Kind::Commit {
            return Err(bad(format!("it is a {}", object.kind)));
        }

        let is_shallow = self.shallow.contains(id);
        let commit = match CommitRef::from_bytes(object.data, id.kind()) {
            Ok(commit) => commit,
            Err(error) => {
                let without_author = parse_leniently(id, object.data, is_shallow);
                return without_author.ok_or_else(|| bad(one_line(&error)));
            }
        };

        Ok(Commit {
            id: *id,
            parents: if is_shallow { Vec::new() } else { commit.parents().collect() },
            tree: commit.tree(),
            time: commit.committer().ok().and_then(|who| Some(who.time().ok()?.seconds)).unwrap_or(0),
            author: commit.author().map(|who| lossy(start(who.name, MAX_NAME_BYTES))).unwrap_or_default(),
            message: lossy(start(commit.message, MAX_MESSAGE_BYTES)),
            is_shallow,
        })
    }

    /// Returns the shortest prefix of an oid that names no other object, of at least eight characters; the
    /// whole oid if there is none.
    pub fn short_id(&self, id: &Oid) -> String {
        const LENGTH: usize = 8;

        let unique = gix::odb::store::prefix::disambiguate::Candidate::new(*id, LENGTH)
            .ok()
            .and_then(|prefix| self.repo.objects.disambiguate_prefix(prefix).ok().flatten());

        unique.map_or_else(|| id.to_string(), |prefix| prefix.to_string())
    }

    /// Visits the commits that can be reached from `tip` and from none of `hidden`, the newest first, until
    /// `visit` breaks. Each comes with the tree of its first parent. With nothing hidden, the history ends at
    /// parents that cannot be read.
    ///
    /// # Errors
    /// [`GitError::Unreadable`] if the history cannot be followed, and those of [`Self::commit`] and `visit`.
    pub fn walk<E: From<GitError>>(
        &mut self,
        tip: &Oid,
        hidden: &[Oid],
        mut visit: impl FnMut(Commit, Option<Oid>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        if hidden.is_empty() {
            return self.walk_all(tip, visit);
        }

        let mut walker = self.repo.clone();
        walker.object_cache_size_if_unset(CACHE_BYTES);
        let owner = self.owner.clone();
        let walk = walker
            .rev_walk([*tip])
            .with_hidden(hidden.iter().copied())
            .sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst))
            .all()
            .map_err(|error| owner.unreadable(&error))?;

        for info in walk {
            let id = info.map_err(|error| owner.unreadable(&error))?.id;
            let commit = self.commit(&id)?;
            let parent = match commit.parents.first() {
                Some(parent) => Some(self.commit(parent)?.tree),
                None => None,
            };

            if visit(commit, parent)?.is_break() {
                break;
            }
        }

        Ok(())
    }

    /// As [`Self::walk`] with nothing hidden. Reads each commit once, which `gix` does not.
    fn walk_all<E: From<GitError>>(
        &mut self,
        tip: &Oid,
        mut visit: impl FnMut(Commit, Option<Oid>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let first = self.commit(tip)?;

        // Commits of the same second are visited in the order in which they were found: a parent after its
        // child.
        let mut queue = BinaryHeap::from([(first.time, Reverse(0), *tip)]);
        let mut waiting: FxHashMap<Oid, Commit> = FxHashMap::from_iter([(*tip, first)]);
        let mut seen: FxHashSet<Oid> = FxHashSet::from_iter([*tip]);

        while let Some((.., id)) = queue.pop() {
            let Some(mut commit) = waiting.remove(&id) else { continue };
            let mut tree = None;

            for (at, parent) in commit.parents.iter().enumerate() {
                let is_new = seen.insert(*parent);
                // A parent that was visited before its child has a later time; it is read again only for its
                // tree.
                if !is_new && (at > 0 || waiting.contains_key(parent)) {
                    tree = tree.or(waiting.get(parent).filter(|_| at == 0).map(|parent| parent.tree));
                    continue;
                }

                let read = match self.commit(parent) {
                    Err(GitError::ObjectMissing { .. } | GitError::BadObject { .. }) => {
                        commit.is_shallow = true;
                        continue;
                    }
                    read => read?,
                };
                tree = tree.or((at == 0).then_some(read.tree));

                if is_new {
                    queue.push((read.time, Reverse(seen.len()), *parent));
                    waiting.insert(*parent, read);
                }
            }

            if visit(commit, tree)?.is_break() {
                break;
            }
        }

        Ok(())
    }

    /// The best common ancestor of two commits; `None` if they have none in this clone.
    ///
    /// # Errors
    /// [`GitError::Unreadable`] if the history cannot be followed.
    pub fn merge_base(&self, one: Oid, two: Oid) -> Result<Option<Oid>, GitError> {
        let base = self.repo.merge_base(one, two).map_err(|error| self.owner.unreadable(&error))?;
        Ok(base.map(|id| id.detach()))
    }
}

/// A range of revisions as git writes it: `A..B`, `A...B`, or `A^!` for one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeSpec<'a> {
    /// `A..B`: from the first revision to the second.
    Between(&'a str, &'a str),
    /// `A...B`: from the common ancestor of the two revisions to the second.
    SinceMergeBase(&'a str, &'a str),
    /// `A^!`: one commit alone.
    Only(&'a str),
}

impl<'a> RangeSpec<'a> {
    /// Parses a range; `None` if `text` is a single revision. A side that is left out is `HEAD`.
    pub fn parse(text: &'a str) -> Option<RangeSpec<'a>> {
        let or_head = |side: &'a str| if side.is_empty() { "HEAD" } else { side };
        let text = text.trim();

        if let Some(commit) = text.strip_suffix("^!") {
            return Some(RangeSpec::Only(or_head(commit)));
        }

        if let Some((from, to)) = text.split_once("...").filter(begins_with_revision) {
            return Some(RangeSpec::SinceMergeBase(or_head(from), or_head(to)));
        }

        let (from, to) = text.split_once("..").filter(begins_with_revision)?;
        Some(RangeSpec::Between(or_head(from), or_head(to)))
    }
}

/// Returns whether the first side is a revision: `HEAD:../x` is a path in a tree.
fn begins_with_revision((from, _): &(&str, &str)) -> bool {
    !from.contains(':')
}

/// At most the first `max` bytes of a text, which a character may be cut by.
fn start(text: &[u8], max: usize) -> &[u8] {
    &text[..text.len().min(max)]
}

/// The commit in `data`, which git would not write, for example because it has no author: as far as it has a
/// tree and parents. `None` without a tree.
fn parse_leniently(id: &Oid, data: &[u8], is_shallow: bool) -> Option<Commit> {
    let (head, message) = data.split_once_str(b"\n\n").unwrap_or((data, b""));
    let author = values(head, b"author").next().unwrap_or_default();
    let author = author.split(|&byte| byte == b'<').next().unwrap_or_default();
    let committer = values(head, b"committer").next().unwrap_or_default();
    let time = committer.rsplit(|&byte| byte == b'>').next().and_then(|time| time.fields().next());

    Some(Commit {
        id: *id,
        parents: if is_shallow { Vec::new() } else { oids(head, b"parent").collect() },
        tree: oids(head, b"tree").next()?,
        time: time.and_then(|time| time.to_str().ok()?.parse().ok()).unwrap_or(0),
        author: lossy(author).trim().to_owned(),
        message: lossy(start(message, MAX_MESSAGE_BYTES)),
        is_shallow,
    })
}

/// The values of a field in the head of a commit.
fn values<'a>(head: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    head.lines().filter_map(move |line| line.strip_prefix(name)?.strip_prefix(b" "))
}

fn oids<'a>(head: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = Oid> + 'a {
    values(head, name).filter_map(|hex| Oid::from_hex(hex).ok())
}

/// Text whose bytes that are not UTF-8 are replaced.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    fn subjects(repo: &TestRepo, tip: &str, hidden: &[&str]) -> Vec<String> {
        let hidden: Vec<Oid> = hidden.iter().map(|rev| repo.oid(rev)).collect();
        let mut found = Vec::new();
        let mut history = History::open(&repo.open()).unwrap();
        let visit = |commit: Commit, parent: Option<Oid>| {
            let expected = commit.parents.first().map(|id| repo.oid(&format!("{id}^{{tree}}")));
            assert_eq!(parent, expected);
            found.push(commit.subject().to_owned());
            Ok::<_, GitError>(ControlFlow::Continue(()))
        };
        history.walk(&repo.oid(tip), &hidden, visit).unwrap();
        found
    }

    fn forked() -> TestRepo {
        let repo = TestRepo::with_files(&[("a.txt", "one\n")]);
        repo.git(["checkout", "-q", "-b", "side"]);
        repo.write("b.txt", "b\n").commit("on the side\n\nWith a body.");
        repo.git(["checkout", "-q", "-"]);
        repo.write("c.txt", "c\n").commit("on the main line");
        repo
    }

    #[test]
    fn a_walk_leaves_out_what_is_hidden() {
        let repo = forked();
        assert_eq!(subjects(&repo, "HEAD", &["side"]), ["on the main line"]);
        assert_eq!(subjects(&repo, "side", &["HEAD"]), ["on the side"]);
        assert_eq!(subjects(&repo, "side", &[]).len(), 2);
        let mut history = History::open(&repo.open()).unwrap();
        let commit = history.commit(&repo.oid("side")).unwrap();
        assert_eq!((commit.subject(), commit.body()), ("on the side", "With a body."));
        assert_eq!(commit.parents, [repo.oid("side^")]);
    }

    #[test]
    fn the_merge_base_is_that_of_git() {
        let repo = forked();
        let history = History::open(&repo.open()).unwrap();
        let base = history.merge_base(repo.oid("HEAD"), repo.oid("side")).unwrap();
        assert_eq!(base, Some(repo.oid("HEAD^")));
        repo.git(["checkout", "-q", "--orphan", "other"]).commit("without ancestors");
        let history = History::open(&repo.open()).unwrap();
        assert_eq!(history.merge_base(repo.oid("HEAD"), repo.oid("side")).unwrap(), None);
    }

    #[test]
    fn a_shallow_clone_ends_where_its_history_does() {
        let origin = forked();
        let url = format!("file://{}", origin.root().display());
        let clone = TestRepo::empty_dir();
        clone.git(["clone", "-q", "--depth=1", &url, "."]);
        assert_eq!(subjects(&clone, "HEAD", &[]), ["on the main line"]);
        let mut history = History::open(&clone.open()).unwrap();
        let commit = history.commit(&clone.oid("HEAD")).unwrap();
        assert!(history.is_shallow() && commit.is_shallow && commit.parents.is_empty());
    }

    #[test]
    fn a_history_ends_at_what_cannot_be_read() {
        let repo = forked();
        let (tree, absent) = (repo.oid("HEAD^{tree}"), "1234567890123456789012345678901234567890");
        let write = |text: String| repo.write_object("commit", text.as_bytes());

        let who = "A U Thor <a@example.com> 1700000000 +0000";
        let orphan =
            write(format!("tree {tree}\nparent {absent}\nauthor {who}\ncommitter {who}\n\nno parent\n"));
        let nobody = write(format!("tree {tree}\nparent {orphan}\ncommitter {who}\n\nno author\n"));

        let mut found = Vec::new();
        let mut history = History::open(&repo.open()).unwrap();
        let visit = |commit: Commit, parent: Option<Oid>| {
            found.push((commit.subject().to_owned(), commit.time, commit.is_shallow, parent));
            Ok::<_, GitError>(ControlFlow::Continue(()))
        };
        history.walk(&nobody, &[], visit).unwrap();
        let expected = [("no author", false, Some(tree)), ("no parent", true, None)];
        assert_eq!(found, expected.map(|(name, cut, tree)| (name.to_owned(), 1_700_000_000, cut, tree)));
    }

    #[test]
    fn ranges_are_written_as_in_git() {
        use RangeSpec::{Between, Only, SinceMergeBase};
        for (text, expected) in [
            ("v1..v2", Some(Between("v1", "v2"))),
            ("v1..", Some(Between("v1", "HEAD"))),
            ("..v2", Some(Between("HEAD", "v2"))),
            ("main...topic", Some(SinceMergeBase("main", "topic"))),
            ("abc^!", Some(Only("abc"))),
            ("v1.2", None),
            ("HEAD:../x", None),
        ] {
            assert_eq!(RangeSpec::parse(text), expected, "{text}");
        }
    }
}
