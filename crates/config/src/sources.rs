//! Sources of settings: files, environment and command line.

use std::path::{Path, PathBuf};

use codeweaver_base::home;

use super::files::{self, REPOSITORY_FILE_NAME};

pub(super) const ENVIRONMENT_PREFIX: &str = "CODEWEAVER_";
/// Environment variable with the key of the API that words the answers of `ask`. Not a setting, because
/// settings are stored in files and printed.
pub const ASK_KEY_VARIABLE: &str = "CODEWEAVER_ASK_API_KEY";
/// Environment variable with the path of a settings file that is read instead of those of the user.
pub const CONFIG_FILE_VARIABLE: &str = "CODEWEAVER_CONFIG_FILE";
/// Environment variable of the compatible program with the name of its embedding model. It counts only beside
/// an embedding API, since other models are not known by the names that an API uses.
pub(super) const COMPATIBLE_MODEL: &str = "MARKDOWN_QA_EMBEDDING_MODEL";
/// Compatible spellings of variables, each with the own spelling, which wins if both are set. They are the
/// names of another program that answers questions from Markdown, so that one environment serves both.
pub(super) const COMPATIBLE: &[(&str, &str)] = &[
    ("MARKDOWN_QA_API_BASE_URL", "CODEWEAVER_ASK_API_BASE_URL"),
    ("MARKDOWN_QA_LLM_MODEL", "CODEWEAVER_ASK_LLM_MODEL"),
    ("MARKDOWN_QA_API_KEY", ASK_KEY_VARIABLE),
];

/// Sources of settings. Missing files are treated as empty.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The TOML file of the repository, which YAML may stand beside.
    pub repository_file: Option<PathBuf>,
    /// The TOML file of the user, which YAML may stand beside.
    pub user_file: Option<PathBuf>,
    /// The TOML file of the program with the [`COMPATIBLE`] variables, which YAML may stand beside. It ranks
    /// below `user_file`.
    pub compatible_file: Option<PathBuf>,
    /// A file that the user has named. It is read instead of the two above, whatever stands beside it, and
    /// ranks above the file of the repository.
    pub named_file: Option<PathBuf>,
    /// Names with their values: `CODEWEAVER_SECTION_KEY`, [`COMPATIBLE`] spellings, and `HOME` for paths that
    /// begin with `~/`.
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
        let mut environment: Vec<_> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| {
                let is_compatible = COMPATIBLE.iter().any(|(compatible, _)| compatible == name);
                let is_own = name == "HOME" || name.starts_with(ENVIRONMENT_PREFIX);
                is_own || is_compatible || name == COMPATIBLE_MODEL
            })
            .collect();
        // Paths that begin with `~/` are below it.
        if cfg!(windows)
            && std::env::var_os("HOME").is_none()
            && let Some(home) = home().and_then(|home| home.into_os_string().into_string().ok())
        {
            environment.push(("HOME".to_owned(), home));
        }

        Self {
            repository_file: worktree_root.map(|root| root.join(REPOSITORY_FILE_NAME)),
            user_file: config_home.map(|home| home.join("codeweaver").join("config.toml")),
            compatible_file: home()
                .filter(|home| home.is_absolute())
                .map(|home| home.join(".md-qa").join("config.toml")),
            named_file: directory_variable(CONFIG_FILE_VARIABLE),
            environment,
            overrides: Vec::new(),
        }
    }

    /// Returns every path at which a settings file is read if it exists.
    pub fn paths(&self) -> Vec<PathBuf> {
        let of_user = match &self.named_file {
            Some(file) => vec![file.clone()],
            None => [&self.compatible_file, &self.user_file]
                .into_iter()
                .flatten()
                .flat_map(|file| files::candidates(file))
                .collect(),
        };

        let of_repository = self.repository_file.iter().flat_map(|file| files::candidates(file));
        of_repository.chain(of_user).collect()
    }
}

/// Returns the names of a variable in the order in which they are looked up: `own`, then the compatible
/// spellings of it.
pub fn spellings(own: &str) -> impl Iterator<Item = &str> {
    let compatible = COMPATIBLE.iter().filter(move |(_, name)| *name == own);
    std::iter::once(own).chain(compatible.map(|(compatible, _)| *compatible))
}

/// Returns a variable of the environment that holds an absolute path.
fn directory_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
