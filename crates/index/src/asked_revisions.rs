//! Asked revisions: the trees that were searched without being indexed. The second question about one has it
//! indexed.
//!
//! A query lays the difference between such a tree and the nearest snapshot over the latter, which costs up
//! to a second for each question. Most revisions are asked about once, and storing each would let the store
//! grow.

use std::io;

use codeweaver_base::durable::{Replacement, create_directory};
use codeweaver_base::regular_file;

use super::background;
use super::codebase::Codebase;

/// Name of the file in the cache directory: the object ids of trees, one a line, the latest last.
const FILE_NAME: &str = "asked-revisions";
/// Number of trees that are remembered.
const MAX_TREES: usize = 64;

/// Notes that `tree`, by its hex object id, was searched without being indexed. If it was before, its
/// indexing starts in the background. Failures are logged: the answer is complete without.
pub fn note(codebase: &Codebase, tree: &str) {
    if let Err(error) = try_note(codebase, tree) {
        tracing::warn!(component = "indexer", operation = "note a revision", error = %error, "it will not be stored");
    }
}

fn try_note(codebase: &Codebase, tree: &str) -> io::Result<()> {
    let folder = codebase.layout.cache();
    let path = folder.join(FILE_NAME);
    let text = match regular_file::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) if regular_file::not_a_file(&error).is_some() => {
            regular_file::make_way(&path)?;
            String::new()
        }
        Err(error) => return Err(error),
    };

    let mut trees: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let is_again = trees.contains(&tree);
    trees.retain(|known| *known != tree);
    // A tree that is indexed now need not be remembered.
    if !is_again {
        trees.push(tree);
        trees.drain(..trees.len().saturating_sub(MAX_TREES));
    }

    create_directory(&folder)?;
    let lines: String = trees.iter().map(|tree| format!("{tree}\n")).collect();
    Replacement::new(&path).inheriting().stage(lines.as_bytes())?.commit()?;

    if is_again {
        background::spawn(codebase, &["index".into(), "--quiet".into(), "--detached".into(), tree.into()])?;
    }
    Ok(())
}
