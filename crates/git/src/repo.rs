//! Discovery of a repository, and its paths.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use codeweaver_base::{home, real_path, sync};

use super::error::one_line;
use super::limits::MEMORY_SETTINGS;
use super::members::{self, Limit, MemberStores};
use super::own_place::{self, is_own_place};
use super::{GitError, Oid};

/// Variables that git sets for hooks and aliases, which name the repository.
const LOCAL_VARIABLES: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"];

/// Key of the main worktree.
const MAIN: &str = "main";

/// One worktree of a repository. Cheap to clone and shared between threads; every operation opens its own
/// object handle.
///
/// References and HEAD are read by each call, so a long-lived value never returns an old HEAD.
#[derive(Clone)]
pub struct Repo {
    inner: Arc<Inner>,
    /// The members of a catalogue that may be seen; `None` for all.
    limit: Option<Arc<Limit>>,
}

struct Inner {
    sync: gix::ThreadSafeRepository,
    git_dir: PathBuf,
    common_dir: PathBuf,
    work_dir: Option<PathBuf>,
    is_named: bool,
    /// The stores of the members; `None` unless it is a catalogue.
    members: Option<Arc<MemberStores>>,
    /// The last object that HEAD named, peeled.
    peeled: Mutex<Option<Peeled>>,
}

/// An object that HEAD named, with the commit and the tree that it leads to. These never change.
#[derive(Clone, Copy)]
pub(super) struct Peeled {
    pub id: Oid,
    pub commit: Option<Oid>,
    pub tree: Oid,
}

impl Repo {
    /// Finds the repository of `dir` or of its closest parent.
    ///
    /// Honours the variables that git sets for hooks (`GIT_DIR`, `GIT_WORK_TREE`, `GIT_INDEX_FILE`,
    /// `GIT_COMMON_DIR`, `GIT_CEILING_DIRECTORIES`…). A submodule is a repository of its own. Errors:
    /// [`GitError::NotARepository`], [`GitError::Unsupported`] (SHA-256 objects, reftable),
    /// [`GitError::Unreadable`].
    pub fn discover(dir: &Path) -> Result<Repo, GitError> {
        Self::discover_with(dir, false, |options| options)
    }

    /// As [`Self::discover`], for a directory that the user or an agent has named (`--project`, a path).
    /// Ignores the variables of a surrounding git command, which name another repository.
    pub fn discover_named(dir: &Path) -> Result<Repo, GitError> {
        Self::discover_with(dir, true, |options| options)
    }

    /// As [`Self::discover`], without the environment and the configuration of the user and of the system, so
    /// that the outcome depends on the repository alone. For tests.
    pub fn open_isolated(dir: &Path) -> Result<Repo, GitError> {
        Self::discover_with(dir, false, |options| options.permissions(gix::open::Permissions::isolated()))
    }

    /// Finds a repository with gix options changed by `adjust`.
    fn discover_with(
        dir: &Path,
        is_named: bool,
        adjust: impl Fn(gix::open::Options) -> gix::open::Options,
    ) -> Result<Repo, GitError> {
        let mut trust = gix::sec::trust::Mapping::<gix::open::Options>::default();
        let ignores_environment =
            is_named && LOCAL_VARIABLES.iter().any(|name| std::env::var_os(name).is_some());

        for options in [&mut trust.full, &mut trust.reduced] {
            if ignores_environment {
                // Denies all variables that begin with GIT_, since gix has no finer distinction. So the file
                // that GIT_CONFIG_GLOBAL names is not read either.
                options.permissions.env.git_prefix = gix::sec::Permission::Deny;
            }
            // With replace refs an oid could name other bytes than its own, so it would not identify the
            // indexed bytes.
            let settings = ["core.useReplaceRefs=false"].into_iter().chain(MEMORY_SETTINGS);
            options.modify(|options| adjust(options).config_overrides(settings));
        }

        // From a relative directory inside a bare repository, gix looks for `.git` in its parent.
        let absolute = std::path::absolute(dir);
        let dir = absolute.as_deref().unwrap_or(dir);

        // As in git, ceiling directories that do not contain `dir` have no effect.
        let upwards =
            gix::discover::upwards::Options { match_ceiling_dir_or_error: false, ..Default::default() };

        let found = if is_named {
            gix::ThreadSafeRepository::discover_opts(dir, upwards.apply_environment(), trust)
        } else {
            gix::ThreadSafeRepository::discover_with_environment_overrides_opts(dir, upwards, trust)
        };

        match found {
            Ok(sync) => Self::from_gix(sync, is_named),
            Err(error) => Err(open_error(dir, is_named, &error)),
        }
    }

    /// Wraps an opened repository, after a check of its reference format.
    fn from_gix(sync: gix::ThreadSafeRepository, is_named: bool) -> Result<Repo, GitError> {
        let repo = sync.to_thread_local();
        let git_dir = canonical(repo.git_dir())?;
        // In a linked worktree gix reports `…/worktrees/x/../..`.
        let common_dir = canonical(repo.common_dir())?;
        let work_dir = repo.workdir().map(canonical).transpose()?;
        if let Some(work_dir) = &work_dir
            && !is_own_place(work_dir, &git_dir)
            && !own_place::is_allowed(&repo, work_dir, &git_dir, is_named)
        {
            return Err(GitError::ForeignWorktree { git_dir, work_dir: work_dir.clone() });
        }

        if let Some(format) = repo.config_snapshot().string("extensions.refStorage")
            && !format.eq_ignore_ascii_case(b"files")
        {
            return Err(GitError::Unsupported { path: git_dir, feature: "the reftable reference format" });
        }
        check_rule_files(&repo, &common_dir)?;

        let members = members::is_catalogue(&repo).then(Arc::default);
        Ok(Repo {
            inner: Arc::new(Inner {
                sync,
                git_dir,
                common_dir,
                work_dir,
                is_named,
                members,
                peeled: Mutex::default(),
            }),
            limit: None,
        })
    }

    /// A gix handle for this thread, without object cache and without replace refs.
    pub fn local(&self) -> gix::Repository {
        self.inner.sync.to_thread_local()
    }

    /// Returns the commit and tree that `id` leads to, if HEAD named it last.
    pub(super) fn peeled(&self, id: &Oid) -> Option<Peeled> {
        sync::lock(&self.inner.peeled).filter(|known| known.id == *id)
    }

    /// Remembers the object that HEAD named last.
    pub(super) fn keep_peeled(&self, peeled: Peeled) {
        *sync::lock(&self.inner.peeled) = Some(peeled);
    }

    /// The object stores of the members of a catalogue; `None` in an ordinary repository.
    pub(super) fn member_stores(&self) -> Option<&Arc<MemberStores>> {
        self.inner.members.as_ref()
    }

    /// The members that may be seen; `None` for all.
    pub(super) fn limit(&self) -> Option<&Arc<Limit>> {
        self.limit.as_ref()
    }

    /// This repository with another limit.
    pub(super) fn with_limit(&self, limit: Option<Arc<Limit>>) -> Repo {
        Repo { inner: self.inner.clone(), limit }
    }

    /// Returns whether it was opened by [`Self::discover_named`]. A process that is started for it must be
    /// given its path too.
    pub fn is_named(&self) -> bool {
        self.inner.is_named
    }

    /// Returns whether there is no working tree.
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

    /// Files from which git's configuration was read, with included ones, and those of the user and the
    /// worktree that may be created later.
    pub fn config_files(&self) -> Vec<PathBuf> {
        let local = self.local();
        let config = local.config_snapshot();
        let mut files: Vec<PathBuf> =
            config.plumbing().sections().filter_map(|section| section.meta().path.clone()).collect();
        files.extend([self.common_dir().join("config"), self.git_dir().join("config.worktree")]);

        files.extend(home().map(|home| home.join(".gitconfig")));

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
        if !self.is_linked() {
            return self.work_dir().map(Path::to_owned);
        }

        let main = self.local().main_repo().ok()?;
        let is_main = real_path::canonicalize(main.git_dir()).is_ok_and(|dir| dir == self.common_dir());
        match is_main {
            true => real_path::canonicalize(main.workdir()?).ok().filter(|root| self.is_main_place(root)),
            // A linked worktree of a submodule, which gix takes for a repository of its own.
            false => configured_root(self.common_dir()).filter(|root| self.is_main_place(root)),
        }
    }

    /// Returns whether the main worktree may be at `root`.
    fn is_main_place(&self, root: &Path) -> bool {
        is_own_place(root, self.common_dir())
            || own_place::is_allowed(&self.local(), root, self.common_dir(), self.is_named())
    }

    /// A stable name of this worktree that is safe as a file name: `main`, or the name of the linked
    /// worktree's administrative directory with bytes other than `A-Za-z0-9._-` written as `%XX`.
    pub fn worktree_key(&self) -> String {
        if self.is_linked() { linked_key(self.git_dir()) } else { MAIN.into() }
    }

    /// The keys of all worktrees that git has not pruned, whether or not their directories can be reached.
    pub fn worktree_keys(&self) -> std::io::Result<Vec<String>> {
        let mut keys = vec![MAIN.to_owned()];
        match std::fs::read_dir(self.common_dir().join("worktrees")) {
            Ok(children) => {
                for child in children {
                    keys.push(linked_key(&child?.path()));
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }

        Ok(keys)
    }

    /// Returns whether this worktree was made by `git worktree add`.
    pub fn is_linked(&self) -> bool {
        self.git_dir() != self.common_dir()
    }

    /// The hash function of this repository's objects.
    pub fn object_hash(&self) -> gix::hash::Kind {
        self.local().object_hash()
    }

    /// Reads the git index of this worktree, which is empty before the first `git add`. The checksum is not
    /// verified.
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

    pub fn unreadable(&self, error: &dyn std::fmt::Display) -> GitError {
        GitError::Unreadable { path: self.git_dir().to_owned(), reason: one_line(error) }
    }
}

/// The root of the working tree that the configuration of the repository with this git directory names, as
/// that of a submodule does.
fn configured_root(common_dir: &Path) -> Option<PathBuf> {
    let file = common_dir.join("config");
    let config = gix::config::File::from_path_no_includes(file, gix::config::Source::Local).ok()?;
    let root = config.raw_value("core.worktree").ok()?;
    real_path::canonicalize(common_dir.join(gix::path::from_bstr(root).ok()?)).ok()
}

/// The key of the linked worktree with this git directory.
fn linked_key(git_dir: &Path) -> String {
    let name = git_dir.file_name().unwrap_or_default().as_encoded_bytes();
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

impl std::fmt::Debug for Repo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repo").field("git_dir", &self.git_dir()).field("work_dir", &self.work_dir()).finish()
    }
}

/// Resolves the symbolic links of a path.
fn canonical(path: &Path) -> Result<PathBuf, GitError> {
    real_path::canonicalize(path).map_err(|source| GitError::Io {
        action: "resolve",
        path: path.to_owned(),
        source,
    })
}

/// Refuses files of rules that may have no end, such as devices and pipes: gix reads them whole. The files of
/// the working tree are not among them, as links there are not followed.
fn check_rule_files(repo: &gix::Repository, common_dir: &Path) -> Result<(), GitError> {
    let config = repo.config_snapshot();
    let configured = ["core.attributesFile", "core.excludesFile"];
    let configured = configured.into_iter().filter_map(|key| config.trusted_path(key).ok().flatten());
    let info = common_dir.join("info");

    for path in configured.chain([info.join("attributes"), info.join("exclude")]) {
        let is_endless = |meta: std::fs::Metadata| !meta.is_file() && !meta.is_dir();
        // Users name the empty device to have no rules.
        if std::fs::metadata(&path).is_ok_and(is_endless) && canonical(&path)? != Path::new("/dev/null") {
            let source = std::io::Error::other("it is neither a regular file nor /dev/null");
            return Err(GitError::Io { action: "use the rules in", path, source });
        }
    }

    Ok(())
}

/// Turns a failure to open into the most helpful error, by inspecting `dir` and its parents.
fn open_error(dir: &Path, is_named: bool, error: &dyn std::fmt::Display) -> GitError {
    let start = real_path::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let from_environment = std::env::var_os("GIT_DIR").filter(|_| !is_named);
    let found = from_environment.map(PathBuf::from).or_else(|| closest_git_dir(&start));
    let Some(git_dir) = found else { return GitError::NotARepository { path: start } };
    if !git_dir.exists() {
        return GitError::NotARepository { path: git_dir };
    }

    let config = std::fs::read_to_string(git_dir.join("config")).unwrap_or_default().to_ascii_lowercase();

    if sets(&config, "objectformat", "sha256") {
        return GitError::Unsupported { path: git_dir, feature: "the SHA-256 object format" };
    }
    if sets(&config, "refstorage", "reftable") {
        return GitError::Unsupported { path: git_dir, feature: "the reftable reference format" };
    }

    GitError::Unreadable { path: git_dir, reason: one_line(error) }
}

/// Finds the first of `start` and its parents that has a git directory or looks like one.
fn closest_git_dir(start: &Path) -> Option<PathBuf> {
    for parent in start.ancestors() {
        let git = parent.join(".git");
        if git.exists() {
            return Some(git);
        }
        if parent.join("HEAD").is_file() && parent.join("objects").is_dir() {
            return Some(parent.to_owned());
        }
    }
    None
}

/// Returns whether the lower-case text of a configuration file sets `key` to `value` in any section.
fn sets(config: &str, key: &str, value: &str) -> bool {
    config.lines().any(|line| {
        line.split_once('=').is_some_and(|(k, v)| k.trim() == key && v.trim().trim_matches('"') == value)
    })
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
    fn outside_of_a_repository_the_error_names_the_directory() {
        let dir = TestRepo::empty_dir();
        let error = dir.try_open().unwrap_err();
        assert!(matches!(&error, GitError::NotARepository { path } if path == dir.root()), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn rules_without_an_end_are_refused() {
        let repo = one_commit();
        for key in ["core.attributesFile", "core.excludesFile"] {
            repo.git(["config", key, "/dev/zero"]);
            let error = repo.try_open().unwrap_err();
            assert!(error.to_string().contains("/dev/zero"), "{key}: {error}");
            repo.git(["config", key, "/dev/null"]);
            repo.open();
        }

        let _ = std::fs::remove_file(repo.path(".git/info/exclude"));
        repo.symlink(".git/info/exclude", "/dev/zero");
        assert!(matches!(repo.try_open().unwrap_err(), GitError::Io { .. }));
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

        outer.git(["-C", "lib", "worktree", "add", "-q", "--detach", "../../lib-side"]);
        let side = outer.open_at("../lib-side");
        assert_eq!(side.work_dir().map(|dir| dir.ends_with("lib-side")), Some(true));
        assert_eq!(side.common_dir(), sub.common_dir());
        assert_eq!(side.main_root(), sub.main_root());
    }

    #[test]
    fn a_working_tree_elsewhere_needs_the_word_of_the_user() {
        let repo = one_commit();
        let elsewhere = TestRepo::with_files(&[("secret", "1\n")]);
        let other = elsewhere.root().to_str().unwrap();
        repo.git(["config", "core.worktree", other]);
        let error = repo.try_open().unwrap_err();
        assert!(
            matches!(&error, GitError::ForeignWorktree { work_dir, .. } if work_dir == elsewhere.root()),
            "{error}"
        );

        repo.git(["config", "core.worktree", "../dir"]);
        assert_eq!(repo.open().work_dir(), Some(&*repo.root().join("dir")), "its own directory");

        // The directory says that it belongs to the repository.
        let consenting = repo.root().parent().unwrap().join("consenting");
        std::fs::create_dir(&consenting).unwrap();
        repo.git(["config", "core.worktree", consenting.to_str().unwrap()]);
        assert!(repo.try_open().is_err());
        std::fs::write(consenting.join(".git"), format!("gitdir: {}\n", repo.path(".git").display()))
            .unwrap();
        assert_eq!(repo.open().work_dir(), Some(&*consenting));
    }

    #[test]
    fn unsupported_formats_are_named() {
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
