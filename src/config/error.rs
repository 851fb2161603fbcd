//! What can be wrong with settings, and the nearest right thing.

use std::fmt;
use std::path::PathBuf;

/// Why settings cannot be had. [`ConfigError::fix`] says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the settings in {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the settings file {} has {size} bytes; at most {limit} are read", path.display())]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    #[error("{}", join(.0))]
    Invalid(Vec<Problem>),
    #[error("cannot write the settings to {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{} is a symbolic link; settings of a repository are only written to a file of its own", path.display())]
    Symlink { path: PathBuf },
    #[error("`{key}` is honoured from the user's file only, not from the file of a repository")]
    UserOnly { key: String },
}

impl ConfigError {
    /// One line: what does not work. `Display` says why.
    pub fn what(&self) -> &'static str {
        match self {
            Self::Read { .. } | Self::TooLarge { .. } => "the settings cannot be read",
            Self::Invalid(_) => "the settings are not valid",
            Self::Write { .. } | Self::Symlink { .. } | Self::UserOnly { .. } => {
                "the setting was not changed"
            }
        }
    }

    /// One line: what to do about it.
    pub fn fix(&self) -> String {
        match self {
            Self::Read { path, .. } => format!("make {} readable, or remove it", path.display()),
            Self::TooLarge { path, .. } => format!("shorten {}", path.display()),
            Self::Invalid(problems) => {
                problems.iter().find_map(|problem| problem.suggestion.clone()).unwrap_or_else(|| {
                    "correct the value; `git codeweaver config --show` lists every key".to_owned()
                })
            }
            Self::Write { path, .. } => format!("make {} and its folder writable", path.display()),
            Self::Symlink { path } => format!("edit the file that {} points to", path.display()),
            Self::UserOnly { key } => format!("git codeweaver config set --user {key} VALUE"),
        }
    }
}

/// One wrong entry of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `file:line`, the name of an environment variable, or `command line`.
    pub origin: String,
    /// What was found and what was expected.
    pub message: String,
    /// For example ``did you mean `token_limit`?``.
    pub suggestion: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "; {suggestion}"),
            None => Ok(()),
        }
    }
}

fn join(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// `text` fit for a message: control characters escaped, at most 60 characters.
pub(super) fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let mut out: String = characters.by_ref().take(60).flat_map(char::escape_debug).collect();
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// ``did you mean `x`?`` for the candidate nearest to `found`, if it is near enough to be a slip of the finger.
pub(super) fn did_you_mean<'a>(found: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    if found.len() > 80 {
        return None;
    }
    let found = found.to_ascii_lowercase().replace('-', "_");
    let allowed = (found.len() / 3).clamp(1, 4);
    candidates
        .map(|candidate| (edit_distance(&found, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
pub(super) fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substituted = previous[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substituted.min(previous[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut previous, row);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let names = || ["token_limit", "target_tokens", "limit"].into_iter();
        assert_eq!(did_you_mean("tokn_limit", names()).as_deref(), Some("did you mean `token_limit`?"));
        assert_eq!(did_you_mean("token-limit", names()).as_deref(), Some("did you mean `token_limit`?"));
        assert_eq!(did_you_mean("colour", names()), None);
        assert_eq!(edit_distance("ab", "ba"), 1);
        assert_eq!(edit_distance("", "abc"), 3);
    }

    #[test]
    fn shown_text_cannot_steer_a_terminal() {
        assert!(!shown("\u{1b}[2Jx").contains('\u{1b}'));
        assert_eq!(shown(&"x".repeat(100)).chars().count(), 61);
    }
}
