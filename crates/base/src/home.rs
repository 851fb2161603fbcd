//! The home directory.

use std::path::PathBuf;

/// The home directory as git finds it: `HOME`, or else, on Windows, where it is set by the shells of Git only,
/// the directory of the user's profile.
pub fn home() -> Option<PathBuf> {
    let named = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    if cfg!(windows) { named.or_else(std::env::home_dir) } else { named }
}
