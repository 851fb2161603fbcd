//! Warnings about the revision that a view shows.

use codeweaver_git::{self as git, GitError, Oid, Repo};
use codeweaver_index::Target;

use super::View;

/// A sentence for the user on what git shows otherwise than it is committed; `None` if there is nothing.
pub fn replaced_warning(repo: &Repo) -> Result<Option<String>, GitError> {
    let objects = match repo.n_replaced()? {
        0 => return Ok(None),
        1 => "1 object that `git replace` replaces is".to_owned(),
        n => format!("{n} objects that `git replace` replaces are"),
    };
    Ok(Some(format!("{objects} shown as committed")))
}

/// A sentence for the user if the tree of HEAD has the store: the updater refuses such a store, so the index
/// stays as it is. `None` if it has not, or if that cannot be read, which is the updater's to report. Git's
/// index is not looked at, since that takes milliseconds in a large repository.
pub fn tracked_warning(repo: &Repo, head: Option<&Oid>) -> Option<String> {
    let tracked = git::committed_store(repo, head).unwrap_or_else(|error| {
        tracing::debug!(component = "searcher", operation = "look for a tracked store", %error);
        None
    });
    let dir = git::STORE_DIR;
    let fix = format!("run `git rm -r --cached {dir} && git commit`");
    tracked.map(|_| format!("git tracks {dir}, so the index is not updated; {fix}"))
}

/// The names of the members of a catalogue that `target` has another commit of than `view` shows.
pub fn newer_members(view: &View, repo: &Repo, target: &Target) -> Vec<String> {
    let newer = target.tree.and_then(|tree| repo.members_of(&tree).ok()).unwrap_or_default();
    let shown = |name: &str| view.catalogue.get(name).and_then(|member| member.tree_oid());
    let moved = newer.all().iter().filter(|member| member.tree_oid() != shown(&member.name));
    moved.map(|member| member.name.clone()).collect()
}
