//! Small repositories: those whose first index takes less than about a second.

use codeweaver_embed::{self as embed, EmbedCost};
use codeweaver_git as git;
use codeweaver_index::Codebase;

/// Maximum number of files. 225 files with 1,234 chunks take 0.4 s on two cores.
const MAX_FILES: usize = 400;
/// Maximum number of bytes of all files together.
const MAX_BYTES: u64 = 4 << 20;

/// Returns whether `codebase` was never indexed and is small, and its model costs next to nothing. What
/// cannot be read is not small. Cost: a look at each of at most [`MAX_FILES`] files.
pub fn is_small(codebase: &Codebase) -> bool {
    // An index that was deleted is not built again without being asked for.
    let is_new = !codebase.layout.was_initialised() && !codebase.layout.root().exists();
    let is_cheap = codebase.model_problem.is_none()
        && embed::cost_of(&codebase.settings.model).is_ok_and(|cost| cost == EmbedCost::Table);

    is_new && is_cheap && !codebase.repo.is_catalogue() && has_little_text(codebase).unwrap_or(false)
}

fn has_little_text(codebase: &Codebase) -> Result<bool, git::GitError> {
    let repo = &codebase.repo;
    let Some(tree) = repo.head()?.tree else { return Ok(false) };
    let files = git::walk_tree(repo, &tree)?;
    if files.len() > MAX_FILES {
        return Ok(false);
    }

    let mut blobs = repo.blobs();
    let mut n_bytes = 0;
    for file in &files {
        n_bytes += blobs.size(&file.oid)?.unwrap_or(0).min(codebase.settings.policy.max_blob_bytes);
    }
    Ok(n_bytes <= MAX_BYTES)
}
