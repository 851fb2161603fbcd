//! Sources of settings: files, environment and command line.

use std::path::{Path, PathBuf};

use super::files::{self, REPOSITORY_FILE_NAME};

pub(super) const ENVIRONMENT_PREFIX: &str = "CODEWEAVER_";
/// Further names of variables. The variable with the prefix overrides them.
pub(super) const ALIASES: [(&str, &str); 2] =
    [("MARKDOWN_QA_API_BASE_URL", "qa.api_base_url"), ("MARKDOWN_QA_LLM_MODEL", "qa.llm_model")];

/// Sources of settings. Missing files are treated as empty.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The TOML file of the repository, which YAML may stand beside.
    pub repository_file: Option<PathBuf>,
    /// The TOML file of the user, which YAML may stand beside.
    pub user_file: Option<PathBuf>,
    /// Names with their values: `CODEWEAVER_SECTION_KEY`, [`ALIASES`], and `HOME` for paths that begin with
    /// `~/`.
    pub environment: Vec<(String, String)>,
    /// Pairs of `section.key` and value from the command line. The last value of a key wins.
    pub overrides: Vec<(String, String)>,
}

impl Sources {
    /// Returns the standard sources. This is the only function of the module that reads the environment.
    pub fn discover(worktree_root: Option<&Path>) -> Self {
        // Windows may have no `HOME`, but has `APPDATA`.
        let config_home = directory_variable("XDG_CONFIG_HOME")
            .or_else(|| Some(directory_variable("HOME")?.join(".config")))
            .or_else(|| directory_variable("APPDATA"));

        // A variable that is not UTF-8 sets nothing.
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

    /// Returns every path at which a settings file is read if it exists.
    pub fn paths(&self) -> Vec<PathBuf> {
        let files = [&self.repository_file, &self.user_file];
        files.into_iter().flatten().flat_map(|file| files::candidates(file)).collect()
    }
}

/// Returns a variable of the environment that holds an absolute path.
fn directory_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
