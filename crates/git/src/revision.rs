//! HEAD and revisions: from names to commits and trees.

use gix::objs::{CommitRefIter, Find as _, Kind, TagRefIter};

use super::error::one_line;
use super::repo::Peeled;
use super::{GitError, Oid, Repo};

/// Maximum number of tags that point to tags. A longer chain is malicious.
const MAX_PEEL: usize = 64;

/// State of HEAD. On an unborn branch (no commit yet) only `reference` is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub commit: Option<Oid>,
    pub tree: Option<Oid>,
    /// `refs/heads/x`; `None` if HEAD is detached.
    pub reference: Option<String>,
}

/// A revision as typed, and its tree. `commit` is `None` if the revision names a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    pub spec: String,
    pub commit: Option<Oid>,
    pub tree: Oid,
}

impl Repo {
    /// Reads HEAD now. An unborn branch is not an error.
    pub fn head(&self) -> Result<Head, GitError> {
        let repo = self.local();
        let mut head = repo.head().map_err(|error| self.unreadable(&error))?;

        let reference = head.referent_name().map(|name| name.as_bstr().to_string());

        // Commits and trees never change, so a HEAD that has not moved needs no object.
        if let Some(known) = head.id().and_then(|id| self.peeled(&id.detach())) {
            return Ok(Head { commit: known.commit, tree: Some(known.tree), reference });
        }

        let id = head.try_peel_to_id().map_err(|error| self.unreadable(&error))?.map(|id| id.detach());
        let Some(id) = id else { return Ok(Head { commit: None, tree: None, reference }) };

        let (commit, tree) = peel(&repo, id)?;
        self.keep_peeled(Peeled { id, commit, tree });
        Ok(Head { commit, tree: Some(tree), reference })
    }

    /// Resolves a revision in any form that git accepts: branch, tag, (short) oid, `HEAD~3`, `stash@{0}`,
    /// `A:sub/dir`, the oid of a tree.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`] for a name that is unknown, ambiguous or has no tree.
    pub fn resolve(&self, rev: &str) -> Result<Revision, GitError> {
        let repo = self.local();
        let unknown = |hint: Option<String>| GitError::UnknownRevision { spec: rev.to_owned(), hint };
        if rev.trim().is_empty() {
            return Err(unknown(Some("the name is empty".into())));
        }
        // Other revisions are the history of the whole catalogue.
        if self.is_limited() && rev != "HEAD" {
            return Err(unknown(Some("only HEAD can be read without access to all repositories".into())));
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
}

/// Follows tags and commits to a tree. Also returns the commit, if there is one on the way.
fn peel(repo: &gix::Repository, id: Oid) -> Result<(Option<Oid>, Oid), GitError> {
    let mut buffer = Vec::new();
    let (mut commit, mut id) = (None, id);

    for _ in 0..MAX_PEEL {
        // The empty tree is known without an object.
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

/// Returns the reason why `rev`, which begins with a revision that exists, names none: the ancestor, parent,
/// entry of the reflog or path that there is not. `None` if its beginning names none either.
fn beyond(repo: &gix::Repository, rev: &str) -> Option<String> {
    let base = rev.split(['~', '^', ':', '@']).next().filter(|base| !base.is_empty()).unwrap_or("HEAD");
    repo.rev_parse_single(base).ok()?;
    let steps = rev.strip_prefix(base).unwrap_or(rev);

    // Searches of messages and conversions between kinds are no steps.
    if steps.contains("^{") {
        return None;
    }
    if steps.starts_with("@{") {
        return Some(format!("the reflog of '{base}' has no such entry"));
    }
    if let Some(path) = steps.strip_prefix(':') {
        return Some(format!("'{base}' has no path '{path}'"));
    }

    // The longest beginning that names a commit, and the step after it that leads nowhere.
    let (mut known, mut rest) = (base, steps);
    while let Some((next, after)) = step(rest) {
        let longer = &rev[..rev.len() - after.len()];
        if repo.rev_parse_single(longer).is_err() {
            return missing_step(repo, known, next);
        }
        (known, rest) = (longer, after);
    }
    None
}

/// Splits the first step off a navigation: `~5` and `^2` off `~5^2`.
fn step(navigation: &str) -> Option<(&str, &str)> {
    let digits = navigation.strip_prefix(['~', '^'])?;
    let n = digits.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    Some(navigation.split_at(1 + n))
}

/// Says that the commit `known` has no ancestor or parent as far as `step` goes.
fn missing_step(repo: &gix::Repository, known: &str, step: &str) -> Option<String> {
    /// Number of ancestors that are counted.
    const MAX_COUNTED: usize = 100_000;

    let commit = repo.rev_parse_single(known).ok()?.object().ok()?.peel_to_commit().ok()?;
    let in_clone = if repo.is_shallow().is_ok_and(|is_shallow| is_shallow) {
        " in this clone, which is shallow"
    } else {
        ""
    };

    if let Some(number) = step.strip_prefix('^').filter(|number| !number.is_empty()) {
        let n = commit.parent_ids().count();
        let parents = if n == 1 { "parent" } else { "parents" };
        return Some(format!("'{known}' has {n} {parents}{in_clone}, so there is no {number}"));
    }

    let mut n = 0;
    let mut next = first_parent(&commit);
    while let Some(parent) = next.filter(|_| n < MAX_COUNTED)
        && let Ok(found) = repo.find_commit(parent)
    {
        next = first_parent(&found);
        n += 1;
    }

    Some(match n {
        0 => format!("'{known}' has no ancestor{in_clone}"),
        1 => format!("'{known}' has only 1 ancestor{in_clone}: '{known}~1' is the first commit"),
        n => format!("'{known}' has only {n} ancestors{in_clone}: '{known}~{n}' is the first commit"),
    })
}

fn first_parent(commit: &gix::Commit<'_>) -> Option<Oid> {
    let mut parents = commit.parent_ids();
    parents.next().map(gix::Id::detach)
}

/// Returns the reason why `rev` names nothing, or a hint at references with similar names.
fn hint_for(repo: &gix::Repository, rev: &str, error: &dyn std::fmt::Display) -> String {
    if let Some(reason) = beyond(repo, rev) {
        return reason;
    }

    const MAX_REFERENCES: usize = 10_000;
    const MAX_NAMED: usize = 3;

    let wanted: String = rev.split(['~', '^', ':', '@']).next().unwrap_or(rev).into();
    let wanted_bytes = wanted.clone().into_bytes();

    // `1.40` may mean `v1.40`, which in turn may mean `tokio-1.40.0`.
    let core = wanted.to_lowercase();
    let core =
        core.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(&core);

    let mut near: Vec<(bool, usize, String)> = Vec::new();
    if let Ok(platform) = repo.references()
        && let Ok(all) = platform.all()
    {
        // Beyond this number the hint is not worth the time.
        for reference in all.flatten().take(MAX_REFERENCES) {
            let short = reference.name().shorten().to_string();

            let distance = strsim::generic_levenshtein(&wanted_bytes, &short.clone().into_bytes());
            let has_it = core.len() > 1 && short.to_lowercase().contains(core);
            if distance > 0 && (has_it || distance <= 1 + wanted.len() / 4) {
                near.push((!has_it, distance, short));
            }
        }
    }

    near.sort();
    near.dedup();
    let names: Vec<String> = near.into_iter().take(MAX_NAMED).map(|(.., name)| format!("'{name}'")).collect();

    match names.split_last() {
        // The candidates of an ambiguous object id, and forms of revisions that are not supported.
        None if rev.contains("^{") || error.to_string().contains("ambiguous") => one_line(error),
        None => "no branch, tag or commit has this name".to_owned(),
        Some((only, [])) => format!("did you mean {only}?"),
        Some((last, others)) => format!("did you mean {} or {last}?", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    fn one_commit() -> TestRepo {
        TestRepo::with_files(&[("a.txt", "one\n"), ("dir/b.txt", "two\n")])
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
        assert_eq!(hint("HEAD:b.txt"), "'HEAD' has no path 'b.txt'");
        assert_eq!(hint("nope"), "no branch, tag or commit has this name");

        assert_eq!(hint("HEAD~5"), "'HEAD' has no ancestor");
        repo.write("a.txt", "three\n");
        repo.commit("second");
        assert_eq!(hint("HEAD~5"), "'HEAD' has only 1 ancestor: 'HEAD~1' is the first commit");
        assert_eq!(hint("main~^"), "'main~' has no ancestor");
        assert_eq!(hint("HEAD^2"), "'HEAD' has 1 parent, so there is no 2");
        assert_eq!(hint("HEAD@{99}"), "the reflog of 'HEAD' has no such entry");
        for rev in ["", "nope", "HEAD~99", "--all", "refs/heads/x\u{1b}[31m"] {
            hint(rev);
        }
    }
}
