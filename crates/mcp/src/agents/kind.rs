//! The kinds of files, and the edits of their texts.

use super::{guide, hooks, section};
use crate::clients::text::EditError;

/// The form in which a file tells an agent something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file of its own: a skill.
    Skill,
    /// A file of its own: a rule.
    Rule,
    /// A section in a file of instructions.
    Section,
    /// A hook in a file of settings.
    Hooks,
}

impl Kind {
    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Skill => "skill",
            Kind::Rule => "rule",
            Kind::Section => "section",
            Kind::Hooks => "hook",
        }
    }

    /// Content of a new file.
    pub fn fresh(self) -> &'static str {
        if self == Kind::Hooks { "{}\n" } else { "" }
    }

    /// The whole text of a file of its own.
    pub fn whole(self) -> Option<String> {
        match self {
            Kind::Skill => Some(guide::skill()),
            Kind::Rule => Some(guide::rule()),
            Kind::Section | Kind::Hooks => None,
        }
    }

    /// Returns `text` with what is to be told; the same text if it is there already. `is_ours` is whether an
    /// earlier installation wrote exactly this text.
    pub fn insert(self, text: &str, is_ours: bool) -> Result<String, EditError> {
        if let Some(whole) = self.whole() {
            return match text.is_empty() || is_ours || text == whole {
                true => Ok(whole),
                false => Err(EditError("it was changed, or is by someone else".to_owned())),
            };
        }

        match self {
            Kind::Hooks => hooks::insert(text),
            _ => section::insert(text),
        }
    }

    /// Returns `text` without it; `None` if it is not there.
    pub fn remove(self, text: &str) -> Result<Option<String>, EditError> {
        match (self.whole(), self) {
            (Some(whole), _) if text == whole => Ok(Some(String::new())),
            (Some(_), _) if text.is_empty() => Ok(None),
            (Some(_), _) => Err(EditError("it was changed, or is by someone else".to_owned())),
            (None, Kind::Hooks) => hooks::remove(text),
            (None, _) => section::remove(text),
        }
    }

    /// Returns whether nothing else is in `text`.
    pub fn is_void(self, text: &str) -> bool {
        match self {
            Kind::Hooks => hooks::is_void(text),
            _ => text.trim().is_empty(),
        }
    }
}
