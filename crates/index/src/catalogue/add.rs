//! Adds members: repositories at given paths, or all repositories below them.

use std::path::{Path, PathBuf};

use codeweaver_base::real_path;
use codeweaver_git::{Member, MemberState, Members, NameError, Repo, check_name, find_reference};

use super::{Catalogue, CatalogueError, named, now};

/// The input of [`Catalogue::add`].
#[derive(Debug, Clone, Default)]
pub struct AddOptions {
    /// Repositories, or with `recursive` directories with repositories.
    pub paths: Vec<PathBuf>,
    /// Whether to add all repositories below the paths.
    pub recursive: bool,
    /// The name of the only repository, or with `recursive` the prefix of all names.
    pub name: Option<String>,
    /// Further branches and tags, each as a member `name@ref`.
    pub branches: Vec<String>,
}

/// The result of [`Catalogue::add`].
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct AddReport {
    /// Names of new members.
    pub added: Vec<String>,
    /// Names of members that were there already.
    pub known: Vec<String>,
    /// Repositories that were not added.
    pub refused: Vec<Refused>,
}

/// A repository that is not added.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Refused {
    /// The path of the repository.
    pub path: PathBuf,
    /// The reason why it is not added.
    pub reason: String,
}

/// A repository that was found.
struct Candidate {
    git_dir: PathBuf,
    name: String,
}

/// Maximum depth of directories that are searched for repositories.
const MAX_DEPTH: usize = 32;

impl Catalogue {
    /// Adds members, which are indexed by the next [`Self::sync`]. A repository that is a member already
    /// stays under its name. With `recursive`, repositories that cannot be added are left out and reported.
    ///
    /// # Errors
    /// Without `recursive`, the first repository that cannot be added; nothing is added then.
    pub fn add(&self, options: &AddOptions) -> Result<AddReport, CatalogueError> {
        let mut report = AddReport::default();
        let candidates = self.candidates(options, &mut report)?;

        let _lock = self.lock()?;
        let mut all = self.members()?.all().to_vec();

        for Candidate { git_dir, name } in candidates {
            for reference in std::iter::once(None).chain(options.branches.iter().map(Some)) {
                let member = match new_member(&git_dir, &name, reference.map(String::as_str), &all) {
                    Ok(Some(member)) => member,
                    Ok(None) => {
                        let known = all.iter().find(|it| it.path == git_dir).map(|it| it.name.clone());
                        report.known.extend(known.filter(|_| reference.is_none()));
                        continue;
                    }
                    Err(error) if !options.recursive => return Err(error),
                    Err(error) => {
                        report.refused.push(Refused { path: git_dir.clone(), reason: error.to_string() });
                        // Without the repository itself, its branches have no name to be added under.
                        if reference.is_none() {
                            break;
                        }
                        continue;
                    }
                };
                report.added.push(member.name.clone());
                all.push(member);
            }
        }

        if !report.added.is_empty() {
            let message = format!("catalogue: add {}", named(report.added.iter().map(String::as_str)));
            self.repo().commit_members(&Members::new(all)?, &message, now())?;
        }

        Ok(report)
    }

    /// The repositories that `options` names, sorted by name.
    fn candidates(
        &self,
        options: &AddOptions,
        report: &mut AddReport,
    ) -> Result<Vec<Candidate>, CatalogueError> {
        let mut candidates = Vec::new();
        for path in &options.paths {
            let top = real_path::canonicalize(path)
                .map_err(|source| CatalogueError::Io { path: path.clone(), source })?;
            let n_before = candidates.len();

            if !options.recursive || is_repository(&top) {
                let git_dir = self.git_dir_of(&top)?;
                let own = name_of(&top).ok_or_else(|| CatalogueError::Io {
                    path: top.clone(),
                    source: std::io::Error::new(std::io::ErrorKind::InvalidData, "its name is not UTF-8"),
                })?;

                let name = match &options.name {
                    Some(name) if !options.recursive => name.clone(),
                    Some(prefix) => format!("{prefix}/{own}"),
                    None => own,
                };
                candidates.push(Candidate { git_dir, name });
                continue;
            }

            self.below(&top, options.name.as_deref().unwrap_or(""), 0, &mut candidates, report);
            // If repositories were found but refused, the report says so.
            if candidates.len() == n_before && report.refused.is_empty() {
                return Err(CatalogueError::NothingFound { path: top });
            }
        }

        candidates.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.git_dir.cmp(&b.git_dir)));
        Ok(candidates)
    }

    /// Collects the repositories in `directory`. Symbolic links are not followed, and repositories are not
    /// searched for others.
    fn below(
        &self,
        directory: &Path,
        prefix: &str,
        depth: usize,
        found: &mut Vec<Candidate>,
        report: &mut AddReport,
    ) {
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                let refused = Refused { path: directory.to_owned(), reason: error.to_string() };
                report.refused.push(refused);
                return;
            }
        };
        let mut children: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
            .collect();
        children.sort();

        for child in children {
            let is_own = child == self.git_dir();
            if is_own || child.file_name().is_some_and(|name| name == ".git") {
                continue;
            }

            if is_repository(&child) {
                let Some(own) = name_of(&child) else {
                    report.refused.push(Refused { path: child, reason: "its name is not UTF-8".to_owned() });
                    continue;
                };
                match self.git_dir_of(&child) {
                    Ok(git_dir) if found.iter().any(|it| it.git_dir == git_dir) => {}
                    // A linked worktree or a submodule. Its repository is elsewhere.
                    Ok(git_dir) if !git_dir.starts_with(&child) => {}
                    Ok(git_dir) => found.push(Candidate { git_dir, name: joined(prefix, own) }),
                    Err(error) => {
                        report.refused.push(Refused { path: child, reason: error.to_string() });
                    }
                }
            } else if depth < MAX_DEPTH
                && let Some(own) = child.file_name().and_then(|name| name.to_str()).map(str::to_owned)
            {
                self.below(&child, &joined(prefix, own), depth + 1, found, report);
            }
        }
    }

    /// The canonical git directory of the repository with the root `top`.
    fn git_dir_of(&self, top: &Path) -> Result<PathBuf, CatalogueError> {
        let not_here =
            |within: Option<PathBuf>| CatalogueError::NotARepository { path: top.to_owned(), within };

        let repo = match Repo::discover_named(top) {
            Ok(repo) => repo,
            Err(codeweaver_git::GitError::NotARepository { .. }) => return Err(not_here(None)),
            Err(error) => return Err(error.into()),
        };

        let root = repo.work_dir().unwrap_or(repo.git_dir());
        if root != top && repo.git_dir() != top {
            return Err(not_here(Some(root.to_owned())));
        }

        if repo.is_catalogue() {
            return Err(CatalogueError::IsACatalogue { path: top.to_owned() });
        }
        if repo.common_dir().to_str().is_none() {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidData, "its path is not UTF-8");
            return Err(CatalogueError::Io { path: top.to_owned(), source });
        }

        Ok(repo.common_dir().to_owned())
    }
}

/// The member for a branch or tag of a repository, or for its HEAD; `None` if it is one already.
fn new_member(
    git_dir: &Path,
    name: &str,
    reference: Option<&str>,
    all: &[Member],
) -> Result<Option<Member>, CatalogueError> {
    // Branches are named after the listed name of the repository.
    let base = all.iter().find(|it| it.path == git_dir && it.reference == "HEAD").map_or(name, |it| &it.name);
    let (name, full) = match reference {
        None => (base.to_owned(), "HEAD".to_owned()),
        Some(short) => {
            let full = find_reference(git_dir, short).ok_or_else(|| CatalogueError::NoReference {
                path: git_dir.to_owned(),
                reference: short.to_owned(),
            })?;
            let short =
                full.trim_start_matches("refs/").trim_start_matches("heads/").trim_start_matches("tags/");
            (format!("{base}@{short}"), full)
        }
    };

    if all.iter().any(|it| it.path == git_dir && it.reference == full) {
        return Ok(None);
    }

    check_name(&name)?;
    // A name cannot be both a file and a directory of the tree.
    let is_below = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
    let other =
        all.iter().find(|it| it.name == name || is_below(&it.name, &name) || is_below(&name, &it.name));
    if let Some(other) = other {
        return Err(NameError::Taken { name, by: other.path.clone() }.into());
    }

    Ok(Some(Member {
        name,
        path: git_dir.to_owned(),
        reference: full,
        commit: None,
        tree: None,
        updated: 0,
        state: MemberState::Empty,
        error: "it was not looked at yet".to_owned(),
    }))
}

/// The name of a member `own` below `prefix`, which may be empty.
fn joined(prefix: &str, own: String) -> String {
    if prefix.is_empty() { own } else { format!("{prefix}/{own}") }
}

/// Returns whether a directory is the top of a repository, bare or not.
fn is_repository(directory: &Path) -> bool {
    let has_objects = directory.join("HEAD").exists() && directory.join("objects").is_dir();
    directory.join(".git").exists() || has_objects && directory.join("refs").is_dir()
}

/// The last component of a path, without `.git`.
fn name_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    match name {
        ".git" => name_of(path.parent()?),
        name => Some(name.strip_suffix(".git").unwrap_or(name).to_owned()),
    }
}
