//! The answer to a request for copies.

use codeweaver_git::quoting;

use super::differences::{self, Difference, Differences, Read};
use super::groups::{Group, Member};
use super::tokens::Tokens;
use super::{Class, Search};
use crate::query::QueryError;
use crate::query::response::IndexInfo;

/// The copies in a codebase.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub struct Duplicates {
    /// Those that save the most lines first; those by meaning alone after all others.
    pub groups: Vec<DuplicateGroup>,
    /// Number of all groups, whether they are shown or not.
    pub total_groups: usize,
    /// Estimated number of lines that go if the members of each of these groups become one.
    pub total_saved_lines: u64,
    /// Number of definitions that were compared.
    pub definitions: usize,
    /// Sentences for the user on parts that the answer lacks.
    pub warnings: Vec<String>,
    /// The state of the index that was searched.
    pub index: IndexInfo,
}

/// Definitions that are copies of each other, or files.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub struct DuplicateGroup {
    /// The class of the member that is least like the reference.
    pub class: Class,
    /// The similarity of that member, 0–1.
    pub similarity: f32,
    /// Estimated number of lines that go if the members become one.
    pub saved_lines: u32,
    /// Position of the member that the others were compared with.
    pub reference: usize,
    /// At least two, sorted by path and line.
    pub members: Vec<DuplicateMember>,
}

/// A definition or a file that has a copy.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub struct DuplicateMember {
    /// Relative to the root of the repository.
    pub path: String,
    /// First and last line, 1-based, inclusive.
    pub span: (u32, u32),
    /// With the names of the enclosing definitions; for a file, its name.
    pub name: String,
    /// `function`, `class`, …, or `file`.
    pub kind: &'static str,
    /// Name in the language table.
    pub language: String,
    /// The relation to the reference.
    pub class: Class,
    /// The similarity to the reference, 0–1.
    pub similarity: f32,
    /// Whether it was added or changed since the revision of the request; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// The first differences from the reference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Number of all differences.
    pub total_differences: usize,
}

impl DuplicateMember {
    /// The first `n` differences from the reference, and the number of the others, on one line.
    pub fn differences_text(&self, n: usize) -> String {
        let shown = self.differences.iter().take(n);
        let mut parts: Vec<String> = shown.map(Difference::to_string).collect();

        let n_left = self.total_differences - parts.len();
        parts.extend((n_left > 0).then(|| format!("{n_left} more")));
        parts.join("; ")
    }
}

impl Search<'_> {
    /// The answer with the groups that the limits of the request leave, each with its members' changes.
    pub(super) fn answer(&self, groups: Vec<(Group, Vec<bool>)>) -> Result<Duplicates, QueryError> {
        let request = self.request;
        let total_groups = groups.len();
        let total_saved_lines = groups.iter().map(|(group, _)| u64::from(group.saved_lines)).sum();

        let shown = groups.iter().skip(request.offset).take(request.limit);
        let mut answered = Vec::new();
        for (group, changed) in shown {
            request.view.cancel.check()?;
            answered.push(self.group(group, changed)?);
        }

        let mut warnings = self.view.warnings.clone();
        warnings.extend(self.view.missing_warning(Some(&request.filters)));
        warnings.extend(self.view.members_warnings(Some(&request.filters)));
        if request.semantic && self.searcher.embedder().is_none() {
            warnings.push("the model is unavailable, so nothing was compared by meaning".to_owned());
        }

        Ok(Duplicates {
            groups: answered,
            total_groups,
            total_saved_lines,
            definitions: self.definitions.list.len(),
            warnings,
            index: self.searcher.index_info(self.view),
        })
    }

    fn group(&self, group: &Group, changed: &[bool]) -> Result<DuplicateGroup, QueryError> {
        let reference = group.members[group.reference].definition;
        let mut members = Vec::with_capacity(group.members.len());

        for (at, member) in group.members.iter().enumerate() {
            let differences = match (reference, member.definition) {
                (Some(one), Some(two)) if member.class != Class::Identical => self.differences(one, two)?,
                _ => Differences::default(),
            };
            members.push(self.member(member, changed.get(at).copied(), differences));
        }

        Ok(DuplicateGroup {
            class: group.class,
            similarity: rounded(group.similarity()),
            saved_lines: group.saved_lines,
            reference: group.reference,
            members,
        })
    }

    fn member(&self, member: &Member, changed: Option<bool>, differences: Differences) -> DuplicateMember {
        let definitions = self.definitions;
        let path = quoting::text(&member.path);
        // A file is in the language of its definitions.
        let at = member.definition.unwrap_or(definitions.docs[member.doc].definitions.start);
        let (name, kind) = match member.definition {
            Some(at) => (definitions.qualified_name(at).to_owned(), definitions.list[at].kind().name()),
            None => (path.rsplit('/').next().unwrap_or_default().to_owned(), "file"),
        };

        DuplicateMember {
            path,
            span: member.lines,
            name,
            kind,
            language: definitions.language(at).to_owned(),
            class: member.class,
            similarity: rounded(member.similarity),
            changed,
            differences: differences.shown,
            total_differences: differences.n_all,
        }
    }

    /// The differences of the definition at `copy` from that at `reference`.
    fn differences(&self, reference: usize, copy: usize) -> Result<Differences, QueryError> {
        let mut wanted = [reference, copy];
        wanted.sort_unstable();
        let read = self.definitions.map(&wanted, |at, text| {
            let language = self.definitions.language_id(at);
            let tokens = language.map(|language| Tokens::read(text, language, self.definitions.name(at)));
            (text.to_owned(), tokens.unwrap_or_default())
        })?;

        let of = |wanted: usize| {
            let (at, (text, tokens)) = read.iter().find(|(at, _)| *at == wanted)?;
            Some(Read { text, tokens, is_callable: self.definitions.list[*at].kind().is_callable() })
        };
        let (Some(one), Some(two)) = (of(reference), of(copy)) else { return Ok(Differences::default()) };
        Ok(differences::differences(one, two))
    }
}

/// Three digits are enough for a reader.
fn rounded(similarity: f32) -> f32 {
    (similarity * 1000.0).floor() / 1000.0
}
