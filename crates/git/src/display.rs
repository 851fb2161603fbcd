//! Settings of git's configuration for the display of output.

use gix::config::source::Kind;

use super::{ByteSlice, Repo};

/// Colours and pager.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisplaySettings {
    /// `color.codeweaver` or else `color.ui`: whether colours are switched off.
    pub is_plain: bool,
    /// `pager.codeweaver` as a boolean: whether output is paged.
    pub is_paged: Option<bool>,
    /// The command of `pager.codeweaver` or else of `core.pager`.
    pub pager: Option<String>,
}

impl Repo {
    /// Reads the settings. A command in the configuration of the repository itself is ignored: cloning a
    /// repository must not decide which program runs.
    pub fn display_settings(&self) -> DisplaySettings {
        let local = self.local();
        let config = local.config_snapshot();
        let text = |key: &str| Some(config.string(key)?.to_str_lossy().into_owned());
        let colour = text("color.codeweaver").or_else(|| text("color.ui"));
        let pager =
            pager_command(&config, "pager.codeweaver").or_else(|| pager_command(&config, "core.pager"));

        DisplaySettings {
            is_plain: colour.is_some_and(|value| value == "never" || as_bool(&value) == Some(false)),
            is_paged: text("pager.codeweaver").and_then(|value| as_bool(&value)),
            pager,
        }
    }
}

/// Returns the command at `key` outside of the repository's own configuration; `None` if the value is a
/// boolean.
fn pager_command(config: &gix::config::Snapshot<'_>, key: &str) -> Option<String> {
    let value = config.plumbing().string_filter(key, |meta| meta.source.kind() != Kind::Repository)?;
    let value = value.to_str_lossy().into_owned();
    as_bool(&value).is_none().then_some(value)
}

/// Reads a value of git's configuration as a boolean.
fn as_bool(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" | "" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    #[test]
    fn a_repository_switches_paging_but_names_no_pager() {
        let repo = TestRepo::init();
        assert_eq!(repo.open().display_settings(), DisplaySettings::default());
        repo.git(["config", "pager.codeweaver", "false"]).git(["config", "core.pager", "evil"]);
        repo.git(["config", "color.ui", "never"]);
        let expected = DisplaySettings { is_plain: true, is_paged: Some(false), pager: None };
        assert_eq!(repo.open().display_settings(), expected);
        repo.git(["config", "pager.codeweaver", "evil"]).git(["config", "color.codeweaver", "auto"]);
        assert_eq!(repo.open().display_settings(), DisplaySettings::default());
    }
}
