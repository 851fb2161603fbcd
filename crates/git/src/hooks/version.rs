//! Version of git, which decides how hooks are installed.

use std::fmt;

use super::HookError;
use super::command::Git;

/// Version of the git on `PATH`, without vendor suffix and release candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GitVersion {
    pub major: u32,
    pub minor: u32,
}

impl GitVersion {
    /// First version that runs hooks named in the configuration (`hook.<name>.command`, `hook.<name>.event`).
    pub const CONFIGURED_HOOKS: GitVersion = GitVersion { major: 2, minor: 54 };

    /// Runs `git --version`.
    ///
    /// # Errors
    /// [`HookError::GitNotStarted`] without git, [`HookError::UnknownVersion`] for output that is not a
    /// version.
    pub fn detect() -> Result<GitVersion, HookError> {
        GitVersion::detect_with(&Git::default())
    }

    pub(super) fn detect_with(git: &Git) -> Result<GitVersion, HookError> {
        let text = git.version_text()?;
        GitVersion::parse(&text).ok_or(HookError::UnknownVersion { text })
    }

    /// Parses `git version 2.39.3 (Apple Git-146)`, `git version 2.45.1.windows.1`, `git version 2.55.GIT`, …
    pub fn parse(text: &str) -> Option<GitVersion> {
        let version = text.trim().strip_prefix("git version ")?;
        let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        Some(GitVersion { major: numbers.next()?.ok()?, minor: numbers.next()?.ok()? })
    }

    /// Returns whether hooks can be named in the configuration.
    pub fn has_configured_hooks(self) -> bool {
        self >= GitVersion::CONFIGURED_HOOKS
    }
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendor_suffixes_and_candidates_are_read() {
        let table = [
            ("git version 2.47.3\n", Some((2, 47, false))),
            ("git version 2.39.3 (Apple Git-146)", Some((2, 39, false))),
            ("git version 2.54.0.windows.1", Some((2, 54, true))),
            ("git version 2.54.0-rc1", Some((2, 54, true))),
            ("git version 2.55.GIT", Some((2, 55, true))),
            ("git version 3.0.1", Some((3, 0, true))),
            ("git version 2", None),
            ("git version unknown", None),
            ("hub version 2.14.2", None),
            ("git version 99999999999.1", None),
            ("", None),
        ];
        for (text, expected) in table {
            let parsed = GitVersion::parse(text).map(|v| (v.major, v.minor, v.has_configured_hooks()));
            assert_eq!(parsed, expected, "{text}");
        }
    }
}
