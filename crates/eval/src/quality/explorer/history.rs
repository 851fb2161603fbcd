//! The history explorer: the files that the fixing commit changed, as far as they existed before.

use super::{Exploration, ExploredFile};
use crate::error::EvalError;
use crate::quality::subject::Subject;
use codeweaver_git as git;

/// Explores by the commit of the issue; without one, nothing is explored.
pub fn explore(subject: &Subject<'_>) -> Result<Exploration, EvalError> {
    let Some(commit) = &subject.issue.commit else {
        let log = vec!["the fixing commit is not known".to_owned()];
        return Ok(Exploration { log, ..Exploration::default() });
    };
    let fixed = subject.repo.resolve(commit)?;
    let changes = git::diff_trees(subject.repo, Some(&subject.tree), &fixed.tree)?;
    let files = changes.iter().filter(|change| change.old.is_some()).map(|change| ExploredFile {
        path: git::quoting::text(&change.path),
        lines: None,
        why: "changed by the fixing commit".to_owned(),
    });
    let (n, files) = (changes.len(), files.collect());
    let log = vec![format!("{n} files differ between the tree and {commit}")];
    Ok(Exploration { explored: true, files, log, ..Exploration::default() })
}
