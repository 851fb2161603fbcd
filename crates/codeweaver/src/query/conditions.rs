//! Conditions: those of a typed query as filters and view of a request.

use std::sync::Arc;

use codeweaver_base::real_path;
use codeweaver_git::{Members, Prefix};
use codeweaver_index::Codebase;

use super::engine::Engine;
use super::error::QueryError;
use super::filters::{Filters, RepoSet, matches_name};
use super::listing::ListRequest;
use super::request::{ViewRequest, WorktreeMode};
use super::response::MatchState;
use super::search::Searcher;
use super::typed::{Condition, TypedQuery};

/// The codebase in which conditions are resolved.
pub struct Resolver<'a> {
    /// The codebase that is searched.
    pub searcher: &'a Searcher,
    /// The directory to which paths are relative.
    pub prefix: &'a Prefix,
}

/// Filters and view of a request.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Conditions on results.
    pub filters: Filters,
    /// The state of the codebase that is searched.
    pub view: ViewRequest,
    /// Remarks for the user on conditions that were not applied, and on what they leave out.
    pub notes: Vec<String>,
}

impl Resolver<'_> {
    /// Adds the conditions of `query` to `filters` and `view`.
    ///
    /// # Errors
    /// [`QueryError::Path`] for a path that is not in the repository, [`QueryError::NoRepository`] if no
    /// repository matches, and those of listing files.
    pub fn resolve(
        &self,
        query: &TypedQuery,
        filters: Filters,
        view: ViewRequest,
    ) -> Result<Resolved, QueryError> {
        let mut resolved = Resolved { filters, view, notes: Vec::new() };
        let mut repos = Vec::new();

        for condition in &query.conditions {
            match condition {
                Condition::Repo(glob) => repos.push(glob.clone()),
                // The last one is taken below.
                Condition::Rev(_) | Condition::State(_) => {}
                condition => self.add(condition, &mut resolved)?,
            }
        }

        if let Some(rev) = query.rev() {
            resolved.view.revision = Some(rev.to_owned());
        }
        if let Some(state) = query.state() {
            self.add_state(state, &mut resolved)?;
        }

        let rev = resolved.view.revision.as_deref();
        resolved.filters.repos = match self.searcher.engine() {
            Some(engine) if !repos.is_empty() => Some(engine_repos(engine.as_ref(), &repos)?),
            _ => select_repos(&self.searcher.codebase, &repos, rev)?,
        };

        let unknown = query.unknown.iter();
        resolved.notes.extend(unknown.map(|word| format!("'{word}' is ignored: there is no such condition")));
        Ok(resolved)
    }

    /// Adds a condition that does not depend on others.
    fn add(&self, condition: &Condition, resolved: &mut Resolved) -> Result<(), QueryError> {
        let Resolved { filters, notes, .. } = resolved;

        match condition {
            Condition::Language(name) => filters.languages.push(name.clone()),
            Condition::Kind(name) => filters.kinds.push(name.clone()),
            Condition::Path(typed) => {
                let pathspecs = self.prefix.pathspecs(typed)?;
                pathspecs.into_iter().for_each(|pathspec| filters.add_path(pathspec));
            }
            Condition::ExcludedPath(typed) => filters.exclude_paths.extend(self.prefix.pathspecs(typed)?),
            Condition::Without(text) => {
                filters.without.push(text.clone());
                notes.push(format!("code with \"{text}\" is left out ({condition})"));
            }
            Condition::Repo(_) | Condition::Rev(_) | Condition::State(_) => {}
        }

        Ok(())
    }

    /// Restricts the search to committed files, or to those that differ from the commit in this way.
    fn add_state(&self, state: MatchState, resolved: &mut Resolved) -> Result<(), QueryError> {
        if state == MatchState::Committed {
            resolved.view.worktree = WorktreeMode::Exclude;
            return Ok(());
        }

        if resolved.view.revision.is_some() {
            let must = "`committed` in a revision, which has no working tree";
            return Err(QueryError::Parameter { name: "state", must, found: state.name().to_owned() });
        }

        let request = ListRequest { cancel: resolved.view.cancel.clone(), ..ListRequest::all(None) };
        let mut files = self.searcher.list_files(&request)?.files;
        files.retain(|file| file.state.map(MatchState::from) == Some(state));

        if files.is_empty() {
            resolved.notes.push(format!("no file is {}", state.name()));
        }
        resolved.filters.files = Some(Arc::new(files.into_iter().map(|file| file.path).collect()));
        Ok(())
    }
}

/// The repositories in `rev` of a catalogue that match one of `globs`; `None` if there are no globs, or if
/// the codebase is a single repository.
///
/// # Errors
/// [`QueryError::NoRepository`] if none matches one of the globs.
fn select_repos(
    codebase: &Codebase,
    globs: &[String],
    rev: Option<&str>,
) -> Result<Option<RepoSet>, QueryError> {
    if globs.is_empty() {
        return Ok(None);
    }

    let repo = &codebase.repo;
    if !repo.is_catalogue() {
        let name = codebase_name(codebase);
        return match unmatched(globs, &[&name]) {
            Some(glob) => Err(QueryError::NoRepository { glob: Some(glob.clone()), only: Some(name) }),
            None => Ok(None),
        };
    }

    let members = match rev {
        Some(rev) => repo.members_of(&repo.resolve(rev)?.tree)?,
        None => repo.members()?,
    };
    matching(members, globs).map(Some)
}

/// The repositories of an engine that match one of `globs`.
///
/// # Errors
/// As [`select_repos`], and if the engine does not answer.
fn engine_repos(engine: &dyn Engine, globs: &[String]) -> Result<RepoSet, QueryError> {
    matching(Arc::new(engine.whole()?.members()?), globs)
}

/// Those of `members` that match one of `globs`.
fn matching(members: Arc<Members>, globs: &[String]) -> Result<RepoSet, QueryError> {
    let names: Vec<&str> = members.all().iter().map(|member| member.name.as_str()).collect();
    if let Some(glob) = unmatched(globs, &names) {
        return Err(QueryError::NoRepository { glob: Some(glob.clone()), only: None });
    }

    let is_wanted = |name: &str| globs.iter().any(|glob| matches_name(glob, name));
    Ok(RepoSet::new(members.clone(), is_wanted))
}

/// The first glob that matches none of `names`.
fn unmatched<'g>(globs: &'g [String], names: &[&str]) -> Option<&'g String> {
    globs.iter().find(|glob| !names.iter().any(|name| matches_name(glob, name)))
}

/// The name of a single repository: that of its directory.
pub fn codebase_name(codebase: &Codebase) -> String {
    let root = codebase.root();
    let root = real_path::canonicalize(&root).unwrap_or(root);
    let name = root.file_name().map_or_else(|| "repository".into(), |name| name.to_string_lossy());
    name.trim_end_matches(".git").to_owned()
}
