//! The codebase that a call refers to, and the paths in its arguments.
//!
//! A call names any directory of a repository, or none: absolute, as a `file:` URI, after `~`, or relative to
//! the directory of the server. Its files are relative to the root of the worktree, or absolute in these
//! forms.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use codeweaver::query::{Condition, Filters, Resolved, Resolver, Searcher, TypedQuery, ViewRequest};
use codeweaver::service::trust::Naming;
use codeweaver::service::{Codebases, ServiceError, repositories_below};
use codeweaver_base::real_path;
use codeweaver_git::{GitError, Prefix};
use codeweaver_index::{Codebase, IndexError};

use super::answer::CallError;
use super::uri;

/// The codebase that a call refers to.
#[derive(Clone)]
pub struct CallTarget {
    pub searcher: Arc<Searcher>,
    /// The path given by the client, or the directory of the server.
    pub requested: PathBuf,
    /// Whether that path leads where it says.
    pub naming: Naming,
}

impl CallTarget {
    /// Opens the codebase that contains `path`, else `file` if that is absolute, else the usual directory of
    /// the server, to which `path` may be relative. The caller asks for trust before it uses it.
    pub fn find(
        codebases: &Codebases,
        path: Option<&str>,
        file: Option<&str>,
    ) -> Result<CallTarget, CallError> {
        let requested = match path {
            Some(path) if !is_path(path) => {
                return Err(CallError::parameter("path", "a path inside a git repository", path));
            }
            Some(path) => uri::local_path(path).unwrap_or_else(|| codebases.usual_dir().join(path)),
            None => match file.and_then(uri::local_path).as_deref().and_then(Path::parent) {
                Some(dir) => dir.to_path_buf(),
                None => codebases.usual_dir(),
            },
        };

        // A client gets back what it has named, and not where the server's user is at home.
        let shown = path.map_or_else(|| requested.display().to_string(), str::to_owned);
        let hint = if path.is_none() { "; name a repository in `path`" } else { "" };

        let mut dir = real_path::canonicalize(&requested)
            .map_err(|_| CallError::not_found(format!("{shown} does not exist{hint}"), None))?;
        // A path may name a file, for example the one that an agent works on.
        if dir.is_file() {
            dir.pop();
        }

        let naming = naming_of(&requested, &dir, &codebases.usual_dir());
        if !codebases.serves(&dir) {
            return Err(CallError::not_found(format!("{shown} is not served here; leave `path` out"), None));
        }

        let searcher = codebases.open(&dir).map_err(|error| match error {
            IndexError::Git(GitError::NotARepository { .. }) => {
                let hint = match repositories_below(&dir) {
                    Some(names) => format!("; it contains the repositories {names}: name one in `path`"),
                    None => hint.to_owned(),
                };
                CallError::not_found(format!("{shown} is not in a git repository{hint}"), None)
            }
            other => CallError::from_service(ServiceError::from(other), None),
        })?;

        Ok(CallTarget { searcher, requested, naming })
    }

    pub fn codebase(&self) -> &Codebase {
        &self.searcher.codebase
    }

    /// Converts a file argument into a path relative to the root. An absolute path must be inside the root.
    pub fn file(&self, file: &str) -> Result<String, CallError> {
        let Some(path) = uri::local_path(file) else { return Ok(file.to_owned()) };
        let root = Prefix::root(&self.codebase().repo);
        root.file(&path.to_string_lossy())
            .map_err(|_| CallError::parameter("file", "inside the repository", file))
    }

    /// As [`Self::file`], but a symbolic link within the repository stands for its target, unless `rev`
    /// selects another state than the working tree. The second value is a note about the link.
    pub fn linked_file(&self, file: &str, rev: Option<&str>) -> Result<(String, Option<String>), CallError> {
        let path = self.file(file)?;
        let real = rev.is_none().then(|| self.behind_links(&path)).flatten();
        Ok(match real {
            Some(real) => (real.clone(), Some(format!("{path} is a symbolic link to {real}"))),
            None => (path, None),
        })
    }

    /// The path of the file or directory at `path` without symbolic links; `None` if `path` has none, or
    /// leads out of the repository.
    fn behind_links(&self, path: &str) -> Option<String> {
        let root = self.codebase().root();
        // Names that are not UTF-8 are quoted, and not followed.
        let real = real_path::canonicalize(root.join(path)).ok()?;
        let real = real.strip_prefix(real_path::canonicalize(root).ok()?).ok()?.to_str()?;

        let is_same = Path::new(path).components().eq(Path::new(real).components());
        let has_parent = Path::new(path).components().any(|part| part == Component::ParentDir);
        (!real.is_empty() && !has_parent && !is_same).then(|| real.to_owned())
    }

    /// Adds the conditions of `query` to `filters` and `view`. Its paths are read as by [`Self::add_paths`].
    pub fn resolve(
        &self,
        query: &TypedQuery,
        filters: Filters,
        view: ViewRequest,
    ) -> Result<Resolved, CallError> {
        let prefix = &Prefix::root(&self.codebase().repo);
        let mut query = query.clone();
        for condition in &mut query.conditions {
            if let Condition::Path(path) | Condition::ExcludedPath(path) = condition {
                *path = self.in_repository(prefix, path);
            }
        }

        let resolver = Resolver { searcher: &self.searcher, prefix };
        resolver
            .resolve(&query, filters, view)
            .map_err(|error| CallError::from_service(ServiceError::from(error), None))
    }

    /// Adds path filters. They are relative to the root, also with a slash before them (`/src`), or absolute
    /// and inside the root; alternatives in braces are expanded.
    pub fn add_paths(&self, filters: &mut Filters, paths: &[String]) -> Result<(), CallError> {
        let root = Prefix::root(&self.codebase().repo);

        for path in paths {
            let pathspecs = root.pathspecs(&self.in_repository(&root, path)).map_err(|error| {
                let must = format!("paths or globs inside the repository ({})", error.why());
                CallError::parameter("paths", &must, path)
            })?;
            pathspecs.into_iter().for_each(|pathspec| filters.add_path(pathspec));
        }
        Ok(())
    }

    /// The path filter `path` without symbolic links. `/src` means `src` if it exists in the repository, or
    /// if no such path exists on this machine.
    fn in_repository(&self, root: &Prefix, path: &str) -> String {
        let local = uri::local_path(path).map(|local| local.to_string_lossy().into_owned());
        let path = local.as_deref().unwrap_or(path);
        let linked = self.behind_links(path.trim_end_matches('/'));
        let path = linked.as_deref().unwrap_or(path);

        let from_root =
            path.strip_prefix('/').filter(|rest| exists_in(root, rest) || !Path::new(path).exists());
        match from_root {
            Some(rest) if !rest.is_empty() && root.pathspecs(path).is_err() => rest.to_owned(),
            _ => path.to_owned(),
        }
    }
}

/// Returns the way in which `requested` names the directory `real`, in a server in `start`.
fn naming_of(requested: &Path, real: &Path, start: &Path) -> Naming {
    let has_parent = requested.components().any(|part| part == Component::ParentDir);
    let start_is_left = requested.starts_with(start)
        && real_path::canonicalize(start).is_ok_and(|start| !real.starts_with(start));

    if has_parent || start_is_left { Naming::Indirect } else { Naming::Plain }
}

/// Returns whether a client can mean a directory or file of this machine by `text`.
fn is_path(text: &str) -> bool {
    let is_uri = text.contains("://") || text.starts_with("file:");
    !text.is_empty() && !text.contains('\0') && (!is_uri || uri::to_path(text).is_some())
}

/// Returns whether `path`, relative to the root, exists in the working tree. A broken link exists.
fn exists_in(root: &Prefix, path: &str) -> bool {
    let on_disk = root.file(path).ok().and_then(|path| root.on_disk(&path));
    on_disk.is_some_and(|path| path.symlink_metadata().is_ok())
}
