//! Filters: conditions on the files, definitions and lines that a request is about.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use codeweaver_git::{BString, ByteSlice as _, Members, Pathspec};

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
    /// The files that are searched; `None` for all.
    pub files: Option<Arc<BTreeSet<BString>>>,
    /// Texts that code, or a line, must not have as whole words, in upper or lower case.
    pub without: Vec<String>,
    /// Code must have one of these lines; `None` for any.
    pub lines: Option<Arc<LineSet>>,
    /// Code must have none of these lines.
    pub without_lines: Option<Arc<LineSet>>,
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
            || self.files.is_some()
    }

    /// Returns whether the path is in the wanted repositories and among the wanted files.
    pub(in crate::query) fn have_file(&self, path: &[u8]) -> bool {
        self.repos.as_ref().is_none_or(|repos| repos.contains(path))
            && self.files.as_ref().is_none_or(|files| files.contains(path.as_bstr()))
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
    /// The members that `allows` allows, by their names.
    pub fn new(members: Arc<Members>, allows: impl Fn(&str) -> bool) -> RepoSet {
        let is_chosen = members.all().iter().map(|member| allows(&member.name)).collect();
        RepoSet { members, is_chosen }
    }

    /// Returns whether a path of the catalogue is in one of them.
    pub fn contains(&self, path: &[u8]) -> bool {
        self.members.position(path).is_some_and(|at| self.is_chosen[at])
    }
}

/// Returns whether the name of a member matches a glob. As in git, `*` does not match a slash and `**` does;
/// the name of a group stands for all members in it.
pub fn matches_name(glob: &str, name: &str) -> bool {
    let glob = glob.trim_end_matches('/');
    let is_in_group = name.strip_prefix(glob).is_some_and(|rest| rest.starts_with('/'));

    name == glob
        || is_in_group
        || gix::glob::wildmatch(glob.into(), name.into(), gix::glob::wildmatch::Mode::NO_MATCH_SLASH_LITERAL)
}
