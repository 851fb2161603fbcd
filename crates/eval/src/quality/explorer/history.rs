//! The history explorer: takes the files that the fixing commit changed, without those that it added.

use codeweaver_git as git;

use super::{Exploration, ExploredFile};
use crate::error::EvalError;
use crate::quality::subject::Subject;

/// Explores by the fixing commit of the issue; nothing is explored if it is not known.
pub fn explore(subject: &Subject<'_>) -> Result<Exploration, EvalError> {
    let Some(commit) = &subject.issue.commit else {
        let log = vec!["the fixing commit is not known".to_owned()];
        return Ok(Exploration { log, ..Exploration::default() });
    };

    let fixed = subject.repo.resolve(commit)?;
    let changes = git::diff_trees(subject.repo, Some(&subject.tree), &fixed.tree)?;
    // Files that the commit added are not in the tree that is searched.
    let files = changes.iter().filter(|change| change.old.is_some()).map(|change| ExploredFile {
        path: git::quoting::text(&change.path),
        lines: None,
        why: "changed by the fixing commit".to_owned(),
    });

    let (n, files) = (changes.len(), files.collect());
    let log = vec![format!("{n} files differ between the tree and {commit}")];
    Ok(Exploration { explored: true, files, log, ..Exploration::default() })
}
