//! Warnings that are printed once for each repository, until they change.

use std::io;

use codeweaver_base::durable::{Replacement, create_directory};
use codeweaver_index::Codebase;

/// Returns whether `warning` is not the last one called `name` that was printed for `codebase`, and notes it.
/// A warning that cannot be noted is printed again.
pub fn is_news(codebase: &Codebase, name: &str, warning: &str) -> bool {
    let folder = codebase.layout.cache();
    let path = folder.join(name);
    if std::fs::read_to_string(&path).is_ok_and(|known| known == warning) {
        return false;
    }

    let note = || -> io::Result<()> {
        create_directory(&folder)?;
        Replacement::new(&path).inheriting().stage(warning.as_bytes())?.commit()
    };
    if let Err(error) = note() {
        tracing::debug!(component = "cli", operation = "note a warning", %error, "it will be printed again");
    }
    true
}
