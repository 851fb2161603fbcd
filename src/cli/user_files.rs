//! Files of the user outside of repositories: completion scripts and manual pages.

use std::path::{Path, PathBuf};

use codeweaver_base::io_advice;

use super::error::CliError;
use super::render::shown_path;

/// `$XDG_DATA_HOME`, by default `~/.local/share`.
pub fn data_dir() -> Result<PathBuf, CliError> {
    base_dir("XDG_DATA_HOME", ".local/share")
}

/// `$XDG_CONFIG_HOME`, by default `~/.config`.
pub fn config_dir() -> Result<PathBuf, CliError> {
    base_dir("XDG_CONFIG_HOME", ".config")
}

fn base_dir(name: &str, below_home: &str) -> Result<PathBuf, CliError> {
    variable(name).or_else(|| Some(home()?.join(below_home))).ok_or_else(|| {
        CliError::new(
            "the home directory is not known",
            "HOME is not set",
            "set HOME, or redirect the output",
        )
    })
}

pub fn home() -> Option<PathBuf> {
    codeweaver_base::home().filter(|home| home.is_absolute())
}

/// The absolute path in an environment variable. A relative one is ignored, as the XDG specification
/// requires.
pub fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Writes a file and creates its directory.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let dir = path.parent().unwrap_or(path);
    std::fs::create_dir_all(dir).and_then(|()| std::fs::write(path, bytes)).map_err(|error| {
        CliError::new(
            format!("{} cannot be written", shown_path(path)),
            error.to_string(),
            io_advice(&error, path),
        )
    })
}
