//! Conditions: those of a typed query as filters and view of a request, in one codebase for one caller.

use std::sync::Arc;

use codeweaver_git::Prefix;
use codeweaver_index::Codebase;

use super::error::QueryError;
use super::filters::{Filters, RepoSet, matches_name};
use super::listing::ListRequest;
use super::request::{ViewRequest, WorktreeMode};
use super::response::MatchState;
use super::search::Searcher;
use super::typed::{Condition, TypedQuery};

/// Returns whether a caller may see the repository of a name.
pub type MaySee<'a> = dyn Fn(&str) -> bool + 'a;

/// The codebase and the caller for whom conditions are resolved.
pub struct Resolver<'a> {
    /// The codebase that is searched.
    pub searcher: &'a Searcher,
    /// The directory to which paths are relative.
    pub prefix: &'a Prefix,
    /// The repositories that the caller may see; `None` for all.
    pub may_see: Option<&'a MaySee<'a>>,
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
    /// repository that the caller may see matches, and those of listing files.
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
        resolved.filters.repos = select_repos(&self.searcher.codebase, &repos, rev, self.may_see)?;

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

/// The repositories in `rev` of a catalogue that the caller may see and that match one of `globs`; `None` if
/// there is no condition, or if the codebase is a single repository.
///
/// # Errors
/// [`QueryError::NoRepository`] if the caller may see none that matches one of the globs.
pub fn select_repos(
    codebase: &Codebase,
    globs: &[String],
    rev: Option<&str>,
    may_see: Option<&MaySee<'_>>,
) -> Result<Option<RepoSet>, QueryError> {
    if globs.is_empty() && may_see.is_none() {
        return Ok(None);
    }

    let repo = &codebase.repo;
    let is_visible = |name: &str| may_see.is_none_or(|may_see| may_see(name));
    let is_wanted = |name: &str| globs.is_empty() || globs.iter().any(|glob| matches_name(glob, name));

    if !repo.is_catalogue() {
        let name = codebase_name(codebase);
        check_globs(globs, &[&name], is_visible).map_err(|glob| QueryError::NoRepository {
            glob,
            only: is_visible(&name).then(|| name.clone()),
        })?;
        return Ok(None);
    }

    let members = match rev {
        Some(rev) => repo.members_of(&repo.resolve(rev)?.tree)?,
        None => repo.members()?,
    };
    let names: Vec<&str> = members.all().iter().map(|member| member.name.as_str()).collect();
    check_globs(globs, &names, is_visible).map_err(|glob| QueryError::NoRepository { glob, only: None })?;

    Ok(Some(RepoSet::new(members.clone(), |name| is_visible(name) && is_wanted(name))))
}

/// Checks that each glob matches a visible one of `names`, and that there is a visible one without globs.
///
/// # Errors
/// The glob that matches none, if there are globs.
fn check_globs(
    globs: &[String],
    names: &[&str],
    is_visible: impl Fn(&str) -> bool,
) -> Result<(), Option<String>> {
    let visible: Vec<&str> = names.iter().copied().filter(|name| is_visible(name)).collect();
    let absent = globs.iter().find(|glob| !visible.iter().any(|name| matches_name(glob, name)));

    match absent {
        Some(glob) => Err(Some(glob.clone())),
        None if visible.is_empty() => Err(None),
        None => Ok(()),
    }
}

/// The name of a single repository: that of its directory.
pub fn codebase_name(codebase: &Codebase) -> String {
    let root = codebase.root();
    let root = root.canonicalize().unwrap_or(root);
    let name = root.file_name().map_or_else(|| "repository".into(), |name| name.to_string_lossy());
    name.trim_end_matches(".git").to_owned()
}
