//! Names of members, which are directories of a tree.

use std::path::PathBuf;

use codeweaver_text::is_unprintable;

/// Maximum length of a name in bytes.
const MAX_LEN: usize = 512;

/// The reason why a member cannot have a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is not a path that git could check out, or not fit to be printed and typed.
    #[error("{name:?} cannot be the name of a member: {reason}")]
    Invalid {
        /// The name.
        name: String,
        /// The rule that it violates.
        reason: &'static str,
    },
    /// The name is that of another member, or names a directory within one.
    #[error("the name {name:?} collides with that of the member at {}", by.display())]
    Taken {
        /// The name.
        name: String,
        /// The git directory of the other member.
        by: PathBuf,
    },
}

/// Checks the name of a member: components joined by slashes, each of which git would check out on every
/// platform.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let reason = if name.is_empty() {
        Some("it is empty")
    } else if name.len() > MAX_LEN {
        Some("it is too long")
    } else if name.chars().any(|c| c == '\\' || c == '"' || is_unprintable(c)) {
        Some("it has a control character, quote, backslash or invisible character")
    } else {
        name.split('/').find_map(wrong_component)
    };

    match reason {
        None => Ok(()),
        Some(reason) => Err(NameError::Invalid { name: name.to_owned(), reason }),
    }
}

/// Returns the rule that a component of a name violates.
fn wrong_component(component: &str) -> Option<&'static str> {
    let lower = component.trim_end_matches(['.', ' ']).to_ascii_lowercase();

    match () {
        () if component.is_empty() => Some("a component is empty"),
        () if matches!(component, "." | "..") => Some("it has the component `.` or `..`"),
        // As git's `core.protectNTFS`.
        () if lower == ".git" || lower.starts_with("git~") => Some("it has the component `.git`"),
        () if lower.starts_with(".codeweaver") => Some("names that begin with `.codeweaver` are reserved"),
        () if component.starts_with(['-', ':']) => Some("a component begins with `-` or `:`"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths_that_git_checks_out() {
        for name in ["repo", "group/repo", "a/b/c@feature/x", "x.y-z_1", "日本/語", "repo 2"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let wrong = [
            "",
            "/",
            "/repo",
            "repo/",
            "a//b",
            "..",
            "a/../b",
            "./a",
            ".git",
            "a/.GIT/b",
            ".git.",
            "git~1",
            ".codeweaver-catalogue",
            ".codeweaver",
            "a\nb",
            "a\\b",
            "a\"b",
            "-x",
            "a/:b",
            "a\u{202e}b",
        ];
        for name in wrong {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}
