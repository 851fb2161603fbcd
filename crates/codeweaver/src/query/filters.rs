//! Filters: conditions on the files, definitions and lines that a request is about.

use std::collections::BTreeMap;
use std::sync::Arc;

use codeweaver_git::{BString, Members, Pathspec};

/// Lines of files, ascending.
pub type LineSet = BTreeMap<BString, Vec<u32>>;

/// Conditions on results. An empty list allows everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    /// Names of languages.
    pub languages: Vec<String>,
    /// A file must match one of them.
    pub paths: Vec<Pathspec>,
    /// A file must match none of them.
    pub exclude_paths: Vec<Pathspec>,
    /// Names of symbol kinds (`function`, `class`, …) or semantic classes (`DEFINITION_TYPE`, …).
    pub kinds: Vec<String>,
    /// Whether test files are searched.
    pub include_tests: bool,
    /// Whether only documents with headings are searched: Markdown, reStructuredText, AsciiDoc, Org and
    /// alike.
    pub only_documents: bool,
    /// In a catalogue, the members that are searched; `None` for all.
    pub repos: Option<RepoSet>,
    /// Code must have one of these lines; `None` for any.
    pub lines: Option<Arc<LineSet>>,
}

impl Filters {
    /// Adds the condition of a pathspec, to the excluded paths if it excludes.
    pub fn add_path(&mut self, pathspec: Pathspec) {
        let conditions = if pathspec.is_exclude() { &mut self.exclude_paths } else { &mut self.paths };
        conditions.push(pathspec);
    }

    /// Returns whether any of the conditions depends on the path of a file.
    pub fn are_about_paths(&self) -> bool {
        !self.paths.is_empty()
            || !self.exclude_paths.is_empty()
            || !self.include_tests
            || self.only_documents
            || self.repos.is_some()
    }
}

/// Some members of a catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct RepoSet {
    members: Arc<Members>,
    /// Indexed by position in `members`.
    is_chosen: Vec<bool>,
}

impl RepoSet {
    /// The members whose name matches one of `globs`. As in git, `*` does not match a slash and `**` does;
    /// the name of a group stands for all members in it.
    ///
    /// # Errors
    /// The first glob that no member matches.
    pub fn matching(members: Arc<Members>, globs: &[String]) -> Result<RepoSet, String> {
        let mut is_chosen = vec![false; members.all().len()];

        for glob in globs {
            let mut is_matched = false;

            for (chosen, member) in is_chosen.iter_mut().zip(members.all()) {
                if matches_name(glob, &member.name) {
                    (*chosen, is_matched) = (true, true);
                }
            }

            if !is_matched {
                return Err(glob.clone());
            }
        }

        Ok(RepoSet { members, is_chosen })
    }

    /// The members that `allows` allows, by their names: for access control.
    pub fn new(members: Arc<Members>, allows: impl Fn(&str) -> bool) -> RepoSet {
        let is_chosen = members.all().iter().map(|member| allows(&member.name)).collect();
        RepoSet { members, is_chosen }
    }

    /// Returns whether a path of the catalogue is in one of them.
    pub fn contains(&self, path: &[u8]) -> bool {
        self.members.position(path).is_some_and(|at| self.is_chosen[at])
    }
}

/// Returns whether the name of a member matches a glob, as for [`RepoSet::matching`].
pub fn matches_name(glob: &str, name: &str) -> bool {
    let glob = glob.trim_end_matches('/');
    let is_in_group = name.strip_prefix(glob).is_some_and(|rest| rest.starts_with('/'));

    name == glob
        || is_in_group
        || gix::glob::wildmatch(glob.into(), name.into(), gix::glob::wildmatch::Mode::NO_MATCH_SLASH_LITERAL)
}
