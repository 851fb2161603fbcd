//! Where the repository is and what its names mean.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::objs::{CommitRefIter, Find as _, Kind, TagRefIter};

use super::{BlobReader, GitError, Oid};

/// A tag may point to a tag; more levels than this is a loop made on purpose.
const MAX_PEEL: usize = 64;

/// What git sets for its hooks and aliases that says which repository is meant.
const LOCAL_VARIABLES: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"];

/// One worktree of a repository. Cheap to clone, shared between threads; every operation opens its own object handle.
///
/// References and HEAD are read when asked for, so a value held for days never answers from an old HEAD.
#[derive(Clone)]
pub struct Repo {
    inner: Arc<Inner>,
}

struct Inner {
    sync: gix::ThreadSafeRepository,
    git_dir: PathBuf,
    common_dir: PathBuf,
    work_dir: Option<PathBuf>,
    is_named: bool,
}

/// What HEAD is. On an unborn branch (no commit yet) `reference` is set and the rest is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub commit: Option<Oid>,
    pub tree: Option<Oid>,
    /// `refs/heads/x`; `None` if HEAD is detached.
    pub reference: Option<String>,
}

/// A revision as typed and the tree it means. `commit` is absent if a tree was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    pub spec: String,
    pub commit: Option<Oid>,
    pub tree: Oid,
}

/// A sequence of git that is under way in this worktree and will move HEAD again (G3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Rebase,
    Am,
    CherryPick,
    Revert,
    Merge,
    Bisect,
}

/// What git leaves in the git directory while an operation runs; the first that exists decides.
const OPERATIONS: &[(&str, Operation)] = &[
    ("rebase-apply/applying", Operation::Am),
    ("rebase-apply", Operation::Rebase),
    ("rebase-merge", Operation::Rebase),
    ("CHERRY_PICK_HEAD", Operation::CherryPick),
    ("REVERT_HEAD", Operation::Revert),
    ("MERGE_HEAD", Operation::Merge),
    ("BISECT_LOG", Operation::Bisect),
];

impl Repo {
    /// Finds the repository of `dir` or of its closest parent.
    ///
    /// Honours what git sets for hooks (`GIT_DIR`, `GIT_WORK_TREE`, `GIT_INDEX_FILE`, `GIT_COMMON_DIR`,
    /// `GIT_CEILING_DIRECTORIES`…). A submodule is a repository of its own. Errors: [`GitError::NotARepository`],
    /// [`GitError::Unsupported`] (SHA-256 objects, reftable), [`GitError::Unreadable`].
    pub fn discover(dir: &Path) -> Result<Repo, GitError> {
        Self::discover_with(dir, false, |options| options)
    }

    /// As [`Self::discover`], for a directory that somebody has named (`--project`, a path of an agent): what a surrounding
    /// git command has left in the environment speaks of another repository and is not looked at.
    pub fn discover_named(dir: &Path) -> Result<Repo, GitError> {
        Self::discover_with(dir, true, |options| options)
    }

    pub(crate) fn discover_with(
        dir: &Path,
        is_named: bool,
        adjust: impl Fn(gix::open::Options) -> gix::open::Options,
    ) -> Result<Repo, GitError> {
        let mut trust = gix::sec::trust::Mapping::<gix::open::Options>::default();
        let is_misled = is_named && LOCAL_VARIABLES.iter().any(|name| std::env::var_os(name).is_some());
        for options in [&mut trust.full, &mut trust.reduced] {
            if is_misled {
                // All that begins with GIT_, since gix knows no finer distinction: configuration named by GIT_CONFIG_GLOBAL is
                // not read either.
                options.permissions.env.git_prefix = gix::sec::Permission::Deny;
            }
            // Replace refs make an oid name other bytes than its own: answers could not be proved by oid.
            options.modify(|options| adjust(options).config_overrides(["core.useReplaceRefs=false"]));
        }
        // As git does: ceiling directories that do not contain `dir` have no effect.
        let upwards =
            gix::discover::upwards::Options { match_ceiling_dir_or_error: false, ..Default::default() };
        let found = if is_named {
            gix::ThreadSafeRepository::discover_opts(dir, upwards.apply_environment(), trust)
        } else {
            gix::ThreadSafeRepository::discover_with_environment_overrides_opts(dir, upwards, trust)
        };
        match found {
            Ok(sync) => Self::from_gix(sync, is_named),
            Err(error) => Err(why_not_open(dir, is_named, &error)),
        }
    }

    fn from_gix(sync: gix::ThreadSafeRepository, is_named: bool) -> Result<Repo, GitError> {
        let repo = sync.to_thread_local();
        let canonical = |path: &Path| {
            std::fs::canonicalize(path).map_err(|source| GitError::Io {
                action: "resolve",
                path: path.to_owned(),
                source,
            })
        };
        let git_dir = canonical(repo.git_dir())?;
        // In a linked worktree gix reports `…/worktrees/x/../..`.
        let common_dir = canonical(repo.common_dir())?;
        let work_dir = repo.workdir().map(canonical).transpose()?;
        if let Some(format) = repo.config_snapshot().string("extensions.refStorage")
            && !format.eq_ignore_ascii_case(b"files")
        {
            return Err(GitError::Unsupported { path: git_dir, feature: "the reftable reference format" });
        }
        Ok(Repo { inner: Arc::new(Inner { sync, git_dir, common_dir, work_dir, is_named }) })
    }

    /// A handle of gix for this thread, without object cache and deaf to replace refs.
    pub(crate) fn local(&self) -> gix::Repository {
        self.inner.sync.to_thread_local()
    }

    /// Whether it was found by [`Self::discover_named`]; processes that work on it must be told of it in the same way.
    pub fn is_named(&self) -> bool {
        self.inner.is_named
    }

    /// Whether there is no working tree.
    pub fn is_bare(&self) -> bool {
        self.inner.work_dir.is_none()
    }

    /// Canonical root of this worktree; `None` if bare.
    pub fn work_dir(&self) -> Option<&Path> {
        self.inner.work_dir.as_deref()
    }

    /// Canonical git directory of this worktree (`.git`, or `.git/worktrees/x` in a linked one).
    pub fn git_dir(&self) -> &Path {
        &self.inner.git_dir
    }

    /// The files that git's configuration was read from, included ones too, and the user's and the worktree's where more may appear.
    pub fn config_files(&self) -> Vec<PathBuf> {
        let local = self.local();
        let config = local.config_snapshot();
        let mut files: Vec<PathBuf> =
            config.plumbing().sections().filter_map(|section| section.meta().path.clone()).collect();
        files.extend([self.common_dir().join("config"), self.git_dir().join("config.worktree")]);
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        files.extend(home.map(|home| home.join(".gitconfig")));
        files.sort();
        files.dedup();
        files
    }

    /// Canonical git directory shared by all worktrees.
    pub fn common_dir(&self) -> &Path {
        &self.inner.common_dir
    }

    /// Root of the main worktree; `None` for a bare repository.
    pub fn main_root(&self) -> Option<PathBuf> {
        if self.git_dir() == self.common_dir() {
            return self.work_dir().map(Path::to_owned);
        }
        let main = self.local().main_repo().ok()?;
        std::fs::canonicalize(main.workdir()?).ok()
    }

    /// A stable name of this worktree that is safe as a file name: `main`, or the name of the linked worktree's
    /// administrative directory with bytes other than `A-Za-z0-9._-` written as `%XX`.
    pub fn worktree_key(&self) -> String {
        const MAIN: &str = "main";
        if self.git_dir() == self.common_dir() {
            return MAIN.into();
        }
        let name = self.git_dir().file_name().unwrap_or_default().as_encoded_bytes();
        let mut key = String::with_capacity(name.len());
        for (at, &byte) in name.iter().enumerate() {
            let leading_dot = at == 0 && byte == b'.';
            if (byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) && !leading_dot {
                key.push(byte.into());
            } else {
                key.push_str(&format!("%{byte:02X}"));
            }
        }
        // A linked worktree may itself be called `main` (or `MAIN`, on file systems that fold case).
        if key.eq_ignore_ascii_case(MAIN) { format!("%{:02X}{}", key.as_bytes()[0], &key[1..]) } else { key }
    }

    /// Reads HEAD now. An unborn branch is not an error.
    pub fn head(&self) -> Result<Head, GitError> {
        let repo = self.local();
        let mut head = repo.head().map_err(|error| self.unreadable(&error))?;
        let reference = head.referent_name().map(|name| name.as_bstr().to_string());
        let id = head.try_peel_to_id().map_err(|error| self.unreadable(&error))?.map(|id| id.detach());
        let Some(id) = id else { return Ok(Head { commit: None, tree: None, reference }) };
        let (commit, tree) = peel(&repo, id)?;
        Ok(Head { commit, tree: Some(tree), reference })
    }

    /// Resolves whatever git accepts as a revision: branch, tag, (short) oid, `HEAD~3`, `stash@{0}`, `A:sub/dir`, the oid
    /// of a tree. A name that is unknown, ambiguous or has no tree is [`GitError::UnknownRevision`].
    pub fn resolve(&self, rev: &str) -> Result<Revision, GitError> {
        let repo = self.local();
        let unknown = |hint: Option<String>| GitError::UnknownRevision { spec: rev.to_owned(), hint };
        if rev.trim().is_empty() {
            return Err(unknown(Some("the name is empty".into())));
        }
        let id = match repo.rev_parse_single(rev) {
            Ok(id) => id.detach(),
            Err(error) => return Err(unknown(Some(hint_for(&repo, rev, &error)))),
        };
        match peel(&repo, id) {
            Ok((commit, tree)) => Ok(Revision { spec: rev.to_owned(), commit, tree }),
            Err(GitError::BadObject { .. }) => {
                Err(unknown(Some("it names a file, not a commit or directory".into())))
            }
            Err(other) => Err(other),
        }
    }

    /// The rebase, merge, bisect… that is under way in this worktree.
    pub fn operation(&self) -> Option<Operation> {
        OPERATIONS
            .iter()
            .find(|(mark, _)| self.git_dir().join(mark).exists())
            .map(|(_, operation)| *operation)
    }

    /// A reader of blobs for the calling thread.
    pub fn blobs(&self) -> BlobReader {
        BlobReader::new(self)
    }

    /// The hash function of this repository's objects.
    pub fn object_hash(&self) -> gix::hash::Kind {
        self.local().object_hash()
    }

    /// Reads the git index of this worktree, which is empty before the first `git add`. The checksum is not verified.
    ///
    /// # Errors
    /// [`GitError::Unreadable`] if the file is not a git index.
    pub(crate) fn read_index(&self) -> Result<gix::index::State, GitError> {
        const SKIP_CHECKSUM: bool = true;
        let local = self.local();
        let path = local.index_path();
        if !path.exists() {
            return Ok(gix::index::State::new(local.object_hash()));
        }
        let file = gix::index::File::at(&path, local.object_hash(), SKIP_CHECKSUM, Default::default());
        file.map(|file| file.into_parts().0).map_err(|error| self.unreadable(&error))
    }

    pub(crate) fn unreadable(&self, error: &dyn std::fmt::Display) -> GitError {
        GitError::Unreadable { path: self.git_dir().to_owned(), reason: one_line(error) }
    }
}

impl std::fmt::Debug for Repo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repo").field("git_dir", &self.git_dir()).field("work_dir", &self.work_dir()).finish()
    }
}

/// Follows tags and commits to a tree; also the commit passed on the way.
fn peel(repo: &gix::Repository, id: Oid) -> Result<(Option<Oid>, Oid), GitError> {
    let mut buffer = Vec::new();
    let (mut commit, mut id) = (None, id);
    for _ in 0..MAX_PEEL {
        if id.is_empty_tree() {
            return Ok((commit, id));
        }
        let bad = |reason: String| GitError::BadObject { oid: id, expected: "commit or tree", reason };
        let object = repo.objects.try_find(&id, &mut buffer).map_err(|error| bad(one_line(&error)))?;
        let object = object.ok_or(GitError::ObjectMissing { oid: id })?;
        id = match object.kind {
            Kind::Tree => return Ok((commit, id)),
            Kind::Commit => {
                commit = Some(id);
                CommitRefIter::from_bytes(object.data, id.kind())
                    .tree_id()
                    .map_err(|error| bad(one_line(&error)))?
            }
            Kind::Tag => TagRefIter::from_bytes(object.data, id.kind())
                .target_id()
                .map_err(|error| bad(one_line(&error)))?,
            Kind::Blob => return Err(bad("it is a blob".into())),
        };
    }
    Err(GitError::BadObject { oid: id, expected: "commit or tree", reason: "too many tags in a row".into() })
}

/// A name close to what was typed, or the reason git would give.
fn hint_for(repo: &gix::Repository, rev: &str, error: &dyn std::fmt::Display) -> String {
    const MAX_REFERENCES: usize = 10_000;
    let wanted: String = rev.split(['~', '^', ':', '@']).next().unwrap_or(rev).into();
    let mut best: Option<(usize, String)> = None;
    if let Ok(platform) = repo.references()
        && let Ok(all) = platform.all()
    {
        for reference in all.flatten().take(MAX_REFERENCES) {
            let short = reference.name().shorten().to_string();
            let distance = edit_distance(&wanted, &short);
            if distance > 0
                && distance <= 1 + wanted.len() / 4
                && best.as_ref().is_none_or(|(d, _)| distance < *d)
            {
                best = Some((distance, short));
            }
        }
    }
    best.map(|(_, name)| format!("did you mean '{name}'?")).unwrap_or_else(|| one_line(error))
}

fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

fn one_line(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// Turns a failure to open into the variant a user can act on, by looking at what lies on the way up from `dir`.
fn why_not_open(dir: &Path, is_named: bool, error: &dyn std::fmt::Display) -> GitError {
    let start = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let looks_like_git_dir = |path: &Path| path.join("HEAD").is_file() && path.join("objects").is_dir();
    let from_environment = std::env::var_os("GIT_DIR").filter(|_| !is_named);
    let found = from_environment.map(PathBuf::from).or_else(|| {
        start.ancestors().find_map(|parent| {
            let git = parent.join(".git");
            if git.exists() { Some(git) } else { looks_like_git_dir(parent).then(|| parent.to_owned()) }
        })
    });
    let Some(git_dir) = found else { return GitError::NotARepository { path: start } };
    if !git_dir.exists() {
        return GitError::NotARepository { path: git_dir };
    }
    let config = std::fs::read_to_string(git_dir.join("config")).unwrap_or_default().to_ascii_lowercase();
    let sets = |key: &str, value: &str| {
        config.lines().any(|line| {
            line.split_once('=').is_some_and(|(k, v)| k.trim() == key && v.trim().trim_matches('"') == value)
        })
    };
    if sets("objectformat", "sha256") {
        return GitError::Unsupported { path: git_dir, feature: "the SHA-256 object format" };
    }
    if sets("refstorage", "reftable") {
        return GitError::Unsupported { path: git_dir, feature: "the reftable reference format" };
    }
    GitError::Unreadable { path: git_dir, reason: one_line(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    fn one_commit() -> TestRepo {
        TestRepo::with_files(&[("a.txt", "one\n"), ("dir/b.txt", "two\n")])
    }

    #[test]
    fn a_repository_is_found_from_anywhere_inside() {
        let repo = one_commit();
        let open = repo.open_at("dir");
        assert_eq!(open.work_dir(), Some(repo.root()));
        assert_eq!(open.git_dir(), repo.root().join(".git"));
        assert_eq!(open.common_dir(), open.git_dir());
        assert_eq!(open.main_root().as_deref(), Some(repo.root()));
        assert_eq!(open.worktree_key(), "main");
        assert!(!open.is_bare());
    }

    #[test]
    fn outside_of_a_repository_the_error_names_the_place() {
        let dir = TestRepo::empty_dir();
        let error = dir.try_open().unwrap_err();
        assert!(matches!(&error, GitError::NotARepository { path } if path == dir.root()), "{error}");
    }

    #[test]
    fn linked_worktrees_share_the_common_directory() {
        let repo = one_commit();
        for (name, key) in [("side", "side"), ("sp ace", "sp%20ace"), ("main", "%6Dain")] {
            let path = repo.root().parent().unwrap().join("linked").join(name);
            repo.git(["worktree", "add", "-q", "--detach", path.to_str().unwrap()]);
            let linked = repo.open_at(path.to_str().unwrap());
            assert_eq!(linked.common_dir(), repo.root().join(".git"));
            assert_eq!(linked.work_dir(), Some(path.as_path()));
            assert_eq!(linked.main_root().as_deref(), Some(repo.root()));
            assert_ne!(linked.git_dir(), linked.common_dir());
            let admin = linked.git_dir().file_name().unwrap().to_str().unwrap();
            if admin == name {
                assert_eq!(linked.worktree_key(), key);
            }
            assert_ne!(linked.worktree_key(), "main");
            assert_eq!(linked.head().unwrap().reference, None);
        }
    }

    #[test]
    fn bare_repositories_have_no_working_tree() {
        let repo = one_commit();
        repo.git(["clone", "-q", "--bare", ".", "../bare.git"]);
        let bare = repo.open_at("../bare.git");
        assert!(bare.is_bare());
        assert_eq!((bare.work_dir(), bare.main_root()), (None, None));
        assert_eq!(bare.head().unwrap().tree, Some(repo.oid("HEAD^{tree}")));
        repo.git(["--git-dir=../bare.git", "worktree", "add", "-q", "--detach", "../of-bare"]);
        assert_eq!(repo.open_at("../of-bare").main_root(), None);
    }

    #[test]
    fn a_submodule_is_a_repository_of_its_own() {
        let inner = one_commit();
        let outer = one_commit();
        let url = inner.root().to_str().unwrap();
        outer.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
        let sub = outer.open_at("lib");
        assert_eq!(sub.work_dir(), Some(outer.root().join("lib").as_path()));
        assert_eq!(sub.main_root(), Some(outer.root().join("lib")));
        assert_eq!(sub.common_dir(), outer.root().join(".git/modules/lib"));
        assert_eq!(sub.worktree_key(), "main");
    }

    #[test]
    fn head_is_a_branch_detached_or_unborn() {
        let repo = one_commit();
        let (commit, tree) = (repo.oid("HEAD"), repo.oid("HEAD^{tree}"));
        let open = repo.open();
        let expected = |reference: Option<&str>| Head {
            commit: Some(commit),
            tree: Some(tree),
            reference: reference.map(str::to_owned),
        };
        assert_eq!(open.head().unwrap(), expected(Some("refs/heads/main")));
        repo.git(["pack-refs", "--all"]);
        assert_eq!(open.head().unwrap(), expected(Some("refs/heads/main")));
        repo.git(["checkout", "-q", "--detach"]);
        assert_eq!(open.head().unwrap(), expected(None));
        repo.git(["checkout", "-q", "--orphan", "fresh"]);
        let unborn = Head { commit: None, tree: None, reference: Some("refs/heads/fresh".into()) };
        assert_eq!(open.head().unwrap(), unborn);
    }

    #[test]
    fn revisions_resolve_as_in_git() {
        let repo = one_commit();
        repo.write("a.txt", "three\n");
        repo.commit("second");
        repo.git(["tag", "-am", "annotated", "v1"]);
        repo.git(["tag", "-am", "of a tag", "v2", "v1"]);
        repo.git(["update-ref", "refs/pull/12/head", "HEAD~1"]);
        repo.write("a.txt", "stashed\n");
        repo.git(["stash", "-q"]);
        let open = repo.open();
        let short = repo.oid("HEAD").to_string()[..9].to_owned();
        for rev in
            ["main", "HEAD~1", "v1", "v2", "stash@{0}", "refs/pull/12/head", short.as_str(), "HEAD^{/one}"]
        {
            if rev == "HEAD^{/one}" {
                continue; // searching messages is optional in gix
            }
            let found = open.resolve(rev).unwrap_or_else(|error| panic!("{rev}: {error}"));
            assert_eq!(found.tree, repo.oid(&format!("{rev}^{{tree}}")), "{rev}");
            assert_eq!(found.commit, Some(repo.oid(&format!("{rev}^{{commit}}"))), "{rev}");
            assert_eq!(found.spec, rev);
        }
        let tree = repo.oid("HEAD^{tree}").to_string();
        assert_eq!(open.resolve(&tree).unwrap().commit, None);
        assert_eq!(open.resolve("HEAD:dir").unwrap().tree, repo.oid("HEAD:dir"));
    }

    #[test]
    fn unknown_revisions_come_with_a_hint() {
        let repo = one_commit();
        repo.git(["branch", "feature"]);
        let open = repo.open();
        let hint = |rev: &str| match open.resolve(rev) {
            Err(GitError::UnknownRevision { spec, hint }) if spec == rev => hint.unwrap_or_default(),
            other => panic!("{rev}: {other:?}"),
        };
        assert_eq!(hint("featrue"), "did you mean 'feature'?");
        assert!(hint("HEAD:a.txt").contains("file"));
        for rev in ["", "nope", "HEAD~99", "--all", "refs/heads/x\u{1b}[31m"] {
            hint(rev);
        }
    }

    #[test]
    fn operations_under_way_are_seen() {
        let repo = one_commit();
        let open = repo.open();
        assert_eq!(open.operation(), None);
        for (mark, operation) in OPERATIONS {
            let path = repo.root().join(".git").join(mark);
            std::fs::create_dir_all(&path).unwrap();
            assert_eq!(open.operation(), Some(*operation), "{mark}");
            std::fs::remove_dir_all(repo.root().join(".git").join(mark.split('/').next().unwrap())).unwrap();
        }
    }

    #[test]
    fn a_real_conflicting_rebase_is_seen() {
        let repo = one_commit();
        repo.git(["checkout", "-qb", "side"]);
        repo.write("a.txt", "side\n");
        repo.commit("side");
        repo.git(["checkout", "-q", "main"]);
        repo.write("a.txt", "main\n");
        repo.commit("main");
        repo.try_git(["rebase", "side"]);
        assert_eq!(repo.open().operation(), Some(Operation::Rebase));
        repo.git(["rebase", "--abort"]);
        repo.try_git(["merge", "side"]);
        assert_eq!(repo.open().operation(), Some(Operation::Merge));
    }

    #[test]
    fn formats_we_cannot_read_are_named() {
        let sha256 = TestRepo::empty_dir();
        sha256.git(["init", "-q", "--object-format=sha256"]);
        assert!(matches!(sha256.try_open(), Err(GitError::Unsupported { .. })), "{:?}", sha256.try_open());
        let reftable = TestRepo::empty_dir();
        if reftable.try_git(["init", "-q", "--ref-format=reftable"]) {
            assert!(
                matches!(reftable.try_open(), Err(GitError::Unsupported { .. })),
                "{:?}",
                reftable.try_open()
            );
        }
    }
}
