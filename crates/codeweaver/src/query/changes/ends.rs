//! The two states that are compared.

use codeweaver_git::{GitError, History, Oid, RangeSpec, Repo};

use crate::query::error::QueryError;

/// A state of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// As typed, or a description of the state.
    pub name: String,
    /// `None` before the first commit, and for the oid of a tree.
    pub commit: Option<Oid>,
    /// `None` before the first commit.
    pub tree: Option<Oid>,
}

/// The two states that a request compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// `None` if only one state is named.
    pub from: Option<End>,
    pub to: End,
    /// Whether the newer state is the working tree; `to` is then the commit that it is based on.
    pub with_worktree: bool,
    /// Whether these are one commit and its parent.
    pub is_one_commit: bool,
}

impl Ends {
    /// Resolves the two ends of a request. Without `to`, the newer state is the working tree, or HEAD in a
    /// bare repository. `from` may be a range.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`]; [`QueryError::NotFound`] for two commits without a common ancestor.
    pub fn resolve(repo: &Repo, from: Option<&str>, to: Option<&str>) -> Result<Ends, QueryError> {
        let given =
            |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let (from, to) = (given(from), given(to));

        // A range may stand in either argument if it is the only one.
        let (range, other) = match (&from, &to) {
            (Some(from), None) => (RangeSpec::parse(from), None),
            (None, Some(to)) => (RangeSpec::parse(to), None),
            (from, to) => (None, from.as_ref().and(to.as_ref())),
        };
        debug_assert!(range.is_none() || other.is_none());

        match range {
            Some(RangeSpec::Between(from, to)) => {
                return Ok(Ends::new(Some(end(repo, from)?), end(repo, to)?, false));
            }
            Some(RangeSpec::SinceMergeBase(from, to)) => return Ends::since_merge_base(repo, from, to),
            Some(RangeSpec::Only(commit)) => return Ends::one_commit(repo, end(repo, commit)?),
            None => {}
        }

        let from = from.map(|from| end(repo, &from)).transpose()?;
        match to {
            Some(to) => Ok(Ends::new(from, end(repo, &to)?, false)),
            None => {
                let head = repo.head()?;
                let name = if repo.is_bare() { "HEAD" } else { "the working tree" };
                let to = End { name: name.to_owned(), commit: head.commit, tree: head.tree };
                Ok(Ends::new(from, to, !repo.is_bare()))
            }
        }
    }

    fn new(from: Option<End>, to: End, with_worktree: bool) -> Ends {
        Ends { from, to, with_worktree, is_one_commit: false }
    }

    /// Compares `to` with the merge base of `from` and `to`.
    fn since_merge_base(repo: &Repo, from: &str, to: &str) -> Result<Ends, QueryError> {
        let (from, to) = (end(repo, from)?, end(repo, to)?);
        let (Some(one), Some(two)) = (from.commit, to.commit) else {
            let what =
                format!("a common ancestor of {} and {}, which are not both commits", from.name, to.name);
            return Err(QueryError::NotFound { what });
        };

        let history = History::open(repo)?;
        let Some(base) = history.merge_base(one, two)? else {
            let why = if history.is_shallow() { " in this shallow clone" } else { "" };
            let what = format!("a common ancestor of {} and {}{why}", from.name, to.name);
            return Err(QueryError::NotFound { what });
        };

        let mut ancestor = end(repo, &base.to_string())?;
        ancestor.name = format!("the merge base of {} and {}", from.name, to.name);
        Ok(Ends::new(Some(ancestor), to, false))
    }

    /// The changes of one commit against its first parent, or against nothing.
    pub fn one_commit(repo: &Repo, to: End) -> Result<Ends, QueryError> {
        let Some(id) = to.commit else {
            return Err(GitError::UnknownRevision {
                spec: to.name,
                hint: Some("it names a tree, not a commit".to_owned()),
            }
            .into());
        };

        let parent = History::open(repo)?.commit(&id)?.parents.first().copied();
        let from = match parent {
            Some(parent) => End { name: format!("{}^", to.name), ..end(repo, &parent.to_string())? },
            None => End { name: "nothing".to_owned(), commit: None, tree: None },
        };

        Ok(Ends { from: Some(from), to, with_worktree: false, is_one_commit: true })
    }
}

/// Resolves one revision.
fn end(repo: &Repo, spec: &str) -> Result<End, QueryError> {
    // An unborn HEAD is a state without files.
    if spec == "HEAD" {
        let head = repo.head()?;
        if head.commit.is_none() {
            return Ok(End { name: spec.to_owned(), commit: None, tree: None });
        }
    }

    let revision = repo.resolve(spec)?;
    Ok(End { name: revision.spec, commit: revision.commit, tree: Some(revision.tree) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeweaver_git::Repo;
    use codeweaver_testkit::TestRepo;

    #[test]
    fn ranges_and_single_revisions_are_resolved() {
        let repo = TestRepo::with_files(&[("a.txt", "one\n")]);
        repo.git(["tag", "v1"]);
        repo.write("a.txt", "two\n").commit("second").git(["tag", "v2"]);
        let open = Repo::open_isolated(repo.root()).unwrap();
        let resolved = |from: Option<&str>, to: Option<&str>| {
            let ends = Ends::resolve(&open, from, to).unwrap();
            let name = |end: &End| end.commit.map_or_else(String::new, |id| id.to_string());
            (ends.from.as_ref().map(name), name(&ends.to), ends.with_worktree)
        };
        let oid = |rev| repo.git_text(["rev-parse", "--verify", rev]).trim().to_owned();
        let (one, two) = (oid("v1"), oid("v2"));
        let between = (Some(one.clone()), two.clone(), false);
        for (from, to) in [
            (Some("v1"), Some("v2")),
            (Some("v1..v2"), None),
            (None, Some("v1..HEAD")),
            (Some("v1...v2"), None),
            (Some("v2^!"), None),
        ] {
            assert_eq!(resolved(from, to), between, "{from:?} {to:?}");
        }
        assert_eq!(resolved(Some("v1"), None), (Some(one.clone()), two.clone(), true));
        assert_eq!(resolved(None, Some("v1")), (None, one, false));
        assert_eq!(resolved(None, None), (None, two, true));
        assert!(Ends::resolve(&open, Some("v9"), None).is_err());
        let unborn = TestRepo::init();
        let ends = Ends::resolve(&Repo::open_isolated(unborn.root()).unwrap(), None, None).unwrap();
        assert_eq!((ends.to.tree, ends.with_worktree), (None, true));
    }
}
