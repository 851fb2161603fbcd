//! Rules of users: globs of the settings, `.codeweaverignore` and `.gitattributes`.

use gix::attrs::{StateRef, parse::Kind};
use gix::glob::{Pattern, pattern::Case, wildmatch::Mode};
use rustc_hash::FxHashMap;

use codeweaver_chunk::language::LanguageId;
use codeweaver_git::{BStr, BString, ByteSlice as _};

use super::PolicyError;

/// Result of ignore rules for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ignored,
    /// Excepted by a `!` pattern without wildcards.
    Kept,
    /// Excepted by a `!` pattern with wildcards.
    NotIgnored,
}

/// Patterns in gitignore syntax. The last match decides.
#[derive(Default)]
pub(super) struct Globs(Vec<Pattern>);

impl Globs {
    pub fn parse(setting: &'static str, globs: &[String]) -> Result<Self, PolicyError> {
        let mut patterns = Vec::with_capacity(globs.len());
        for glob in globs {
            let pattern = Pattern::from_bytes(glob.as_bytes())
                .ok_or_else(|| PolicyError::Glob { setting, glob: glob.clone() })?;
            patterns.push(simplified(pattern));
        }
        Ok(Globs(patterns))
    }

    pub(crate) fn from_ignore_file(bytes: &[u8]) -> Self {
        const SUPPORT_PRECIOUS: bool = false;
        let patterns = gix::ignore::parse(bytes, SUPPORT_PRECIOUS);
        Globs(patterns.map(|(pattern, _line, _kind)| simplified(pattern)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The verdict on `path` itself, regardless of its parents. `path` is relative to the directory of the
    /// rules.
    pub fn verdict(&self, path: &BStr, is_dir: bool) -> Option<Verdict> {
        let last = self.0.iter().rev().find(|pattern| matches(pattern, path, is_dir))?;
        Some(match (last.is_negative(), last.has_wildcard()) {
            (false, _) => Verdict::Ignored,
            (true, false) => Verdict::Kept,
            (true, true) => Verdict::NotIgnored,
        })
    }
}

/// Reduces each run of `**/` to one. Each further one would multiply the time to reject a path.
fn simplified(mut pattern: Pattern) -> Pattern {
    while pattern.text.starts_with(b"**/**/") {
        pattern.text.drain(..3);
    }
    while let Some(at) = pattern.text.find(b"/**/**/") {
        pattern.text.drain(at..at + 3);
    }
    pattern
}

/// A value of the attribute `codeweaver`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Off,
    On,
    Docs,
    Test,
}

/// The attributes of a path that the policy uses; `None` if unspecified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    pub generated: Option<bool>,
    pub vendored: Option<bool>,
    pub documentation: Option<bool>,
    pub language: Option<LanguageId>,
    pub role: Option<Role>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attribute {
    Generated,
    Vendored,
    Documentation,
    Language,
    Role,
}

const ATTRIBUTES: &[(&str, Attribute)] = &[
    ("linguist-generated", Attribute::Generated),
    ("linguist-vendored", Attribute::Vendored),
    ("linguist-documentation", Attribute::Documentation),
    ("linguist-language", Attribute::Language),
    ("codeweaver", Attribute::Role),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Unspecified,
    Bool(bool),
    Language(LanguageId),
    Role(Role),
}

type Assignment = (Attribute, Value);

/// `[attr]name …` definitions, which git reads only at the root.
#[derive(Default)]
pub(super) struct Macros(FxHashMap<String, Vec<Assignment>>);

/// One `.gitattributes`, reduced to the lines that assign an attribute of [`ATTRIBUTES`].
#[derive(Default)]
pub(super) struct AttributeRules(Vec<(Pattern, Vec<Assignment>)>);

impl AttributeRules {
    pub fn parse(bytes: &[u8], macros: &Macros) -> Self {
        let mut rules = Vec::new();

        for (kind, assignments, _line) in gix::attrs::parse(bytes).flatten() {
            let Kind::Pattern(pattern) = kind else { continue };
            let assignments = assigned(assignments, macros);
            if !pattern.is_negative() && !assignments.is_empty() {
                rules.push((simplified(pattern), assignments));
            }
        }

        AttributeRules(rules)
    }

    pub(crate) fn parse_macros(bytes: &[u8]) -> Macros {
        let mut macros = Macros::default();
        for (kind, assignments, _line) in gix::attrs::parse(bytes).flatten() {
            if let Kind::Macro(name) = kind {
                let assignments = assigned(assignments, &macros);
                macros.0.insert(name.as_str().to_owned(), assignments);
            }
        }
        macros
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Assigns those attributes of `path` that nearer rules did not assign. `path` is relative to the
    /// directory of the rules.
    pub fn apply(&self, path: &BStr, resolution: &mut Resolution) {
        for (pattern, assignments) in self.0.iter().rev() {
            if resolution.wants_any(assignments) && matches(pattern, path, false) {
                assignments.iter().rev().for_each(|assignment| resolution.assign(*assignment));
            }
        }
    }
}

/// Attributes during resolution, in which rules are applied from the strongest to the weakest.
#[derive(Default)]
pub(super) struct Resolution {
    attributes: Attributes,
    /// One bit for each attribute that has been assigned, including by `!attribute`.
    done: u8,
}

impl Resolution {
    pub fn finish(self) -> Attributes {
        self.attributes
    }

    fn wants_any(&self, assignments: &[Assignment]) -> bool {
        assignments.iter().any(|(attribute, _)| self.done & (1 << *attribute as u8) == 0)
    }

    fn assign(&mut self, (attribute, value): Assignment) {
        let bit = 1 << attribute as u8;
        if self.done & bit != 0 {
            return;
        }
        self.done |= bit;

        let attributes = &mut self.attributes;
        match (attribute, value) {
            (Attribute::Generated, Value::Bool(value)) => attributes.generated = Some(value),
            (Attribute::Vendored, Value::Bool(value)) => attributes.vendored = Some(value),
            (Attribute::Documentation, Value::Bool(value)) => attributes.documentation = Some(value),
            (Attribute::Language, Value::Language(language)) => attributes.language = Some(language),
            (Attribute::Role, Value::Role(role)) => attributes.role = Some(role),
            _ => {}
        }
    }
}

/// The assignments of one line, with macros replaced by their definitions.
fn assigned(iter: gix::attrs::parse::Iter<'_>, macros: &Macros) -> Vec<Assignment> {
    let mut all = Vec::new();

    for assignment in iter.flatten() {
        let name = assignment.name.as_str();
        match ATTRIBUTES.iter().find(|(known, _)| *known == name) {
            Some((_, attribute)) => all.push((*attribute, value_of(*attribute, assignment.state))),
            None if assignment.state == StateRef::Set => {
                all.extend(macros.0.get(name).into_iter().flatten().copied());
            }
            None => {}
        }
    }

    all
}

/// The value of an attribute; unspecified if its text has no meaning for it.
fn value_of(attribute: Attribute, state: StateRef<'_>) -> Value {
    let text = match state {
        StateRef::Unspecified => return Value::Unspecified,
        StateRef::Set => "true".into(),
        StateRef::Unset => "false".into(),
        StateRef::Value(value) => value.as_bstr().to_str_lossy(),
    };

    let truth = match text.as_ref() {
        "true" | "on" | "1" | "yes" => Some(true),
        "false" | "off" | "0" | "no" => Some(false),
        _ => None,
    };

    match attribute {
        Attribute::Language => LanguageId::by_name(&text).map_or(Value::Unspecified, Value::Language),
        Attribute::Role => match (truth, text.as_ref()) {
            (Some(true), _) => Value::Role(Role::On),
            (Some(false), _) => Value::Role(Role::Off),
            (None, "docs") => Value::Role(Role::Docs),
            (None, "test") => Value::Role(Role::Test),
            _ => Value::Unspecified,
        },
        _ => truth.map_or(Value::Unspecified, Value::Bool),
    }
}

fn matches(pattern: &Pattern, path: &BStr, is_dir: bool) -> bool {
    let name_at = path.rfind_byte(b'/').map(|slash| slash + 1);
    // Case-sensitive on every file system, so that a tree has the same files everywhere.
    pattern.matches_repo_relative_path(
        path,
        name_at,
        Some(is_dir),
        Case::Sensitive,
        Mode::NO_MATCH_SLASH_LITERAL,
    )
}

/// The policy files of one directory.
pub(super) struct RuleSet {
    /// Length of the path of the directory with its slash; 0 at the root.
    pub base: usize,
    pub attributes: AttributeRules,
    pub ignore: Globs,
}

impl RuleSet {
    /// `path` relative to the directory of the rules.
    pub fn relative<'a>(&self, path: &'a BStr) -> &'a BStr {
        path[self.base..].as_bstr()
    }
}

/// Policy files of an overlay by path; `None` for deleted ones.
pub(super) type Replaced = FxHashMap<BString, Option<Vec<u8>>>;
