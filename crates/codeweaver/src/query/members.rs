//! The members of a catalogue in an answer: those that it lacks, and those that it shows as they were.

use codeweaver_git::{GitError, Members, Repo};
use codeweaver_index::catalogue::{self, Behind};

use super::filters::{Filters, RepoSet};

/// Number of members that a sentence names.
const MAX_NAMED: usize = 5;

/// Brings the members in `repos`, `None` for all, of a catalogue to their heads. Returns those that could not
/// be; none in an ordinary repository.
///
/// # Errors
/// The list of members cannot be read.
pub fn follow(repo: &Repo, repos: Option<&RepoSet>) -> Result<Behind, GitError> {
    catalogue::follow(repo, &|name| repos.is_none_or(|repos| repos.contains(name.as_bytes())))
}

/// Sentences for the user on the members that an answer under `filters` lacks, or shows as they were. Names
/// no member that the filters exclude.
pub fn warnings(members: &Members, behind: &Behind, filters: Option<&Filters>) -> Vec<String> {
    let repos = filters.and_then(|filters| filters.repos.as_ref());
    let is_asked = |name: &str| repos.is_none_or(|repos| repos.contains(name.as_bytes()));

    let missing = members.all().iter().filter(|member| member.state.is_problem() && is_asked(&member.name));
    let missing: Vec<String> = missing.map(|it| format!("{} ({})", it.name, it.state.name())).collect();
    let asked =
        |names: &[String]| -> Vec<String> { names.iter().filter(|name| is_asked(name)).cloned().collect() };

    let sentences = [
        (missing, "a repository is", "repositories are", "not part of this answer"),
        (asked(&behind.moved), "a repository has", "repositories have", "newer commits than this answer"),
        (
            asked(&behind.unchecked),
            "a repository was",
            "repositories were",
            "not looked at in time for new commits",
        ),
    ];
    sentences.into_iter().filter_map(|(names, one, many, what)| sentence(&names, one, many, what)).collect()
}

/// The sentence that says `what` of the members called `names`; `None` if there are none.
fn sentence(names: &[String], one: &str, many: &str, what: &str) -> Option<String> {
    let first = names[..names.len().min(MAX_NAMED)].join(", ");
    match names.len() {
        0 => None,
        1 => Some(format!("{one} {what}: {first}")),
        n if n > MAX_NAMED => Some(format!("{n} {many} {what}: {first} and others")),
        n => Some(format!("{n} {many} {what}: {first}")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use codeweaver_git::{Member, MemberState};

    use super::*;
    use crate::query::filters::RepoSet;

    fn member(name: &str) -> Member {
        Member {
            name: name.to_owned(),
            path: format!("/srv/{name}.git").into(),
            reference: "HEAD".to_owned(),
            commit: None,
            tree: None,
            updated: 0,
            state: MemberState::Indexed,
            error: String::new(),
        }
    }

    #[test]
    fn only_members_that_are_asked_are_named() {
        let names = |range: std::ops::Range<usize>| range.map(|n| format!("r{n}")).collect::<Vec<_>>();
        let behind = Behind { moved: names(0..7), unchecked: names(8..9) };
        let all = warnings(&Members::default(), &behind, None);
        assert_eq!(
            all,
            [
                "7 repositories have newer commits than this answer: r0, r1, r2, r3, r4 and others",
                "a repository was not looked at in time for new commits: r8",
            ]
        );
        let members = Arc::new(Members::new(vec![member("r3"), member("r8")]).unwrap());
        let repos = RepoSet::new(members, |name| name == "r3");
        let filters = Filters { repos: Some(repos), ..Filters::default() };
        let one = warnings(&Members::default(), &behind, Some(&filters));
        assert_eq!(one, ["a repository has newer commits than this answer: r3"]);
    }
}
