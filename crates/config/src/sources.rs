//! Where settings come from: files, environment and command line.

use std::path::{Path, PathBuf};

use super::files::{self, REPOSITORY_FILE_NAME};

pub(super) const ENVIRONMENT_PREFIX: &str = "CODEWEAVER_";
/// Further names of variables, which the variable with the prefix overrides.
pub(super) const ALIASES: [(&str, &str); 2] =
    [("MARKDOWN_QA_API_BASE_URL", "qa.api_base_url"), ("MARKDOWN_QA_LLM_MODEL", "qa.llm_model")];

/// Sources of settings. Missing files are treated as empty.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The TOML file of the repository, or where YAML is beside it.
    pub repository_file: Option<PathBuf>,
    /// The TOML file of the user, or where YAML is beside it.
    pub user_file: Option<PathBuf>,
    /// Names with their values: `CODEWEAVER_SECTION_KEY`, [`ALIASES`], and `HOME` for paths that begin with
    /// `~/`.
    pub environment: Vec<(String, String)>,
    /// `section.key` with its value, from the command line. The last value of a key wins.
    pub overrides: Vec<(String, String)>,
}

impl Sources {
    /// The standard sources. This is the only function of the module that reads the environment.
    pub fn discover(worktree_root: Option<&Path>) -> Self {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let config_home = absolute("XDG_CONFIG_HOME")
            .or_else(|| Some(absolute("HOME")?.join(".config")))
            .or_else(|| absolute("APPDATA"));
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| {
                let is_alias = ALIASES.iter().any(|(alias, _)| alias == name);
                name == "HOME" || name.starts_with(ENVIRONMENT_PREFIX) || is_alias
            })
            .collect();
        Self {
            repository_file: worktree_root.map(|root| root.join(REPOSITORY_FILE_NAME)),
            user_file: config_home.map(|home| home.join("codeweaver").join("config.toml")),
            environment,
            overrides: Vec::new(),
        }
    }

    /// Every path at which a settings file is read if it is there.
    pub fn paths(&self) -> Vec<PathBuf> {
        let files = [&self.repository_file, &self.user_file];
        files.into_iter().flatten().flat_map(|file| files::candidates(file)).collect()
    }
}
