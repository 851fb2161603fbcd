//! The checkout around a directory.

use std::path::Path;

/// The nearest directory around `dir` that contains `.git`.
pub fn checkout_of(dir: &Path) -> Option<&Path> {
    dir.ancestors().find(|dir| dir.join(".git").exists())
}
