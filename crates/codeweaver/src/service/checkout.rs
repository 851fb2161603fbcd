//! Checkouts: the one around a directory, and those below it.

use std::path::Path;

/// Maximum number of repositories that are named.
const MAX_NAMED: usize = 8;
/// Maximum number of entries of a directory that are looked at.
const MAX_ENTRIES: usize = 2_000;

/// The nearest directory around `dir` that contains `.git`.
pub fn checkout_of(dir: &Path) -> Option<&Path> {
    dir.ancestors().find(|dir| dir.join(".git").exists())
}

/// The names of the repositories directly in `dir`, as part of a sentence; `None` without any.
pub fn repositories_below(dir: &Path) -> Option<String> {
    let entries = std::fs::read_dir(dir).ok()?.take(MAX_ENTRIES).flatten();
    let repositories = entries.filter(|entry| entry.path().join(".git").exists());
    let mut names: Vec<String> =
        repositories.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();

    let n_more = names.len().saturating_sub(MAX_NAMED);
    names.truncate(MAX_NAMED);
    if n_more > 0 {
        names.push(format!("{n_more} more"));
    }

    let last = names.pop()?;
    Some(if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) })
}
