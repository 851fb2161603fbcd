//! Warnings that are printed once for each repository.

use std::collections::BTreeSet;
use std::io;

use codeweaver_base::durable::{Replacement, create_directory};
use codeweaver_index::Codebase;

/// Returns whether a warning called `name` about `items` says something that was not printed for `codebase`
/// before, and notes it: each of the items is named once, whichever others are named beside it. A warning
/// that cannot be noted is printed again.
pub fn is_news(codebase: &Codebase, name: &str, items: &[String]) -> bool {
    let folder = codebase.layout.cache();
    let path = folder.join(name);
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let mut named: BTreeSet<&str> = known.lines().collect();
    let n_known = named.len();
    named.extend(items.iter().map(String::as_str));
    if named.len() == n_known {
        return false;
    }

    let note = || -> io::Result<()> {
        create_directory(&folder)?;
        let text = named.into_iter().map(|item| format!("{item}\n")).collect::<String>();
        Replacement::new(&path).inheriting().stage(text.as_bytes())?.commit()
    };
    if let Err(error) = note() {
        tracing::debug!(component = "cli", operation = "note a warning", %error, "it will be printed again");
    }
    true
}
