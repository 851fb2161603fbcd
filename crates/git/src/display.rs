//! What git's configuration says about how output is displayed.

use super::{ByteSlice, Repo};
use gix::config::source::Kind;

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
    /// Reads the settings. A command in the configuration of the repository itself is ignored: a repository
    /// does not decide what runs.
    pub fn display_settings(&self) -> DisplaySettings {
        let local = self.local();
        let config = local.config_snapshot();
        let text = |key: &str| Some(config.string(key)?.to_str_lossy().into_owned());
        let colour = text("color.codeweaver").or_else(|| text("color.ui"));
        let command = |key: &str| {
            let by_user = |meta: &gix::config::file::Metadata| meta.source.kind() != Kind::Repository;
            let value = config.plumbing().string_filter(key, by_user)?.to_str_lossy().into_owned();
            (as_bool(&value).is_none()).then_some(value)
        };
        DisplaySettings {
            is_plain: colour.is_some_and(|value| value == "never" || as_bool(&value) == Some(false)),
            is_paged: text("pager.codeweaver").and_then(|value| as_bool(&value)),
            pager: command("pager.codeweaver").or_else(|| command("core.pager")),
        }
    }
}

/// The boolean that a value of git's configuration is.
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
