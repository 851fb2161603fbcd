//! Errors of settings, and suggestions for misspelt names.

use std::fmt;
use std::path::PathBuf;

/// Error while reading or changing settings. [`ConfigError::fix`] names a remedy.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the settings in {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the settings file {} has {size} bytes; at most {limit} are read", path.display())]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    #[error("{}", join(.0))]
    Invalid(Vec<Problem>),
    #[error("{} are there, and only one of them can be read", names(.files))]
    Several { files: Vec<PathBuf> },
    #[error("{} is YAML, which is not edited because its comments would be lost", path.display())]
    Yaml { path: PathBuf, change: String },
    #[error("cannot write the settings to {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{} is a symbolic link; settings of a repository are written only to a regular file", path.display())]
    Symlink { path: PathBuf },
    #[error("`{key}` is read only from the user file, not from the file of a repository")]
    UserOnly { key: String },
}

impl ConfigError {
    /// Returns one line that states what failed. `Display` gives the reason.
    pub fn what(&self) -> &'static str {
        match self {
            Self::Read { .. } | Self::TooLarge { .. } => "the settings cannot be read",
            Self::Invalid(_) => "the settings are not valid",
            Self::Several { .. } => "there are several settings files",
            Self::Write { .. } | Self::Symlink { .. } | Self::UserOnly { .. } | Self::Yaml { .. } => {
                "the setting was not changed"
            }
        }
    }

    /// Returns one line that states how to fix it.
    pub fn fix(&self) -> String {
        match self {
            Self::Read { path, .. } => format!("make {} readable, or remove it", path.display()),
            Self::TooLarge { path, .. } => format!("shorten {}", path.display()),
            Self::Invalid(problems) => {
                let suggestion = problems.iter().find_map(|problem| problem.suggestion.clone());

                suggestion.unwrap_or_else(|| {
                    "correct the value; `git codeweaver config --show` lists every key".to_owned()
                })
            }
            Self::Several { files } => match files.as_slice() {
                [first, rest @ ..] => {
                    format!("move the settings of {} to {}, and remove it", names(rest), first.display())
                }
                [] => "keep one of them".to_owned(),
            },
            Self::Yaml { change, .. } => change.clone(),
            Self::Write { path, .. } => format!("make {} and its directory writable", path.display()),
            Self::Symlink { path } => format!("edit the file that {} points to", path.display()),
            Self::UserOnly { key } => format!("git codeweaver config set --user {key} VALUE"),
        }
    }
}

/// An invalid entry of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `file:line:column`, the name of an environment variable, or `command line`.
    pub origin: String,
    /// The value found and the value expected.
    pub message: String,
    /// A suggestion, for example ``did you mean `token_limit`?``.
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

fn names(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" and ")
}

fn join(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// Prepares user input for a message: escapes control characters and truncates to 60 characters.
pub(super) fn excerpt(text: &str) -> String {
    let mut characters = text.chars();
    let mut out: String = characters.by_ref().take(60).flat_map(char::escape_debug).collect();
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// Returns ``did you mean `x`?`` for the candidate nearest to `found`, if a typing error can explain the
/// difference: at most one edit for three characters, and at most four. Ties go to the alphabetically first
/// candidate.
pub fn did_you_mean<'a>(found: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    // Distances cost the product of both lengths.
    if found.len() > 80 {
        return None;
    }

    let found = found.to_ascii_lowercase().replace('-', "_");
    let allowed = (found.len() / 3).clamp(1, 4);
    candidates
        .map(|candidate| (strsim::osa_distance(&found, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// Returns the `candidates`, those with the fewest edits from `found` first. Equally near ones keep their
/// order.
pub fn nearest_first<'a>(found: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut candidates: Vec<&str> = candidates.collect();
    // Distances cost the product of both lengths.
    if found.len() <= 80 {
        candidates.sort_by_key(|candidate| strsim::osa_distance(found, candidate));
    }

    candidates
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
        assert_eq!(
            did_you_mean("ilmit", names()).as_deref(),
            Some("did you mean `limit`?"),
            "swapped letters"
        );
        assert_eq!(did_you_mean("", names()), None);
    }

    #[test]
    fn excerpts_are_short_and_contain_no_terminal_controls() {
        assert!(!excerpt("\u{1b}[2Jx").contains('\u{1b}'));
        assert_eq!(excerpt(&"x".repeat(100)).chars().count(), 61);
    }
}
