//! The order of the jobs of a first index: files that commits changed lately first, then their neighbours, so
//! that an index that grows soon answers about what is worked on.
//!
//! The order decides only in which segment a doc is. It depends on the commit alone, so the same commit gives
//! the same files.

use super::error::IndexError;
use super::plan::{Plan, PlannedDoc};
use crate::git::{BString, History, Oid, Repo, TreeComparer};
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// With fewer jobs, all is indexed before anyone can ask.
const MIN_JOBS: usize = 2_000;
/// Commits that are looked at.
const MAX_COMMITS: usize = 256;
/// Files of these, after which no more are looked at.
const MAX_FILES: usize = 2_000;
/// A commit of more files, such as an import or a change of format, does not tell what is worked on.
const MAX_FILES_OF_COMMIT: usize = 200;

/// Sorts the jobs of `plan` if it has many. Without history, as in a shallow clone, they stay in order of
/// their paths.
pub fn recent_first(repo: &Repo, commit: Option<&Oid>, plan: &mut Plan) -> Result<(), IndexError> {
    let Some(tip) = commit.filter(|_| plan.jobs.len() >= MIN_JOBS) else { return Ok(()) };
    let recent = recent_files(repo, tip)?;
    if !recent.is_empty() {
        sort(plan, &recent);
    }
    Ok(())
}

/// The files that the newest commits changed, with their ranks.
fn recent_files(repo: &Repo, tip: &Oid) -> Result<FxHashMap<BString, usize>, IndexError> {
    let mut recent = FxHashMap::default();
    let (mut trees, mut n_commits) = (TreeComparer::new(repo), 0);
    History::open(repo)?.walk(tip, &[], |commit, parent| {
        n_commits += 1;
        // All files seem to be new in a commit whose parent is not known.
        if commit.parents.len() == 1 && !commit.is_shallow {
            let changes = trees.diff(parent.as_ref(), &commit.tree, &|_| true)?;
            if changes.len() <= MAX_FILES_OF_COMMIT {
                for change in changes {
                    let rank = recent.len();
                    recent.entry(change.path).or_insert(rank);
                }
            }
        }
        let is_enough = n_commits >= MAX_COMMITS || recent.len() >= MAX_FILES;
        Ok::<_, IndexError>(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(recent)
}

/// Sorts the jobs by the rank of their file, then by that of the best file in the same directory.
fn sort(plan: &mut Plan, recent: &FxHashMap<BString, usize>) {
    let mut directories: FxHashMap<&[u8], usize> = FxHashMap::default();
    for (path, &rank) in recent {
        let best = directories.entry(directory(path)).or_insert(rank);
        *best = rank.min(*best);
    }
    let mut keys = vec![(usize::MAX, usize::MAX); plan.jobs.len()];
    for entry in &plan.added {
        let PlannedDoc::Job(job) = entry.doc else { continue };
        let of = |rank: Option<&usize>| rank.copied().unwrap_or(usize::MAX);
        let key = (of(recent.get(&entry.path)), of(directories.get(directory(&entry.path))));
        keys[job] = key.min(keys[job]);
    }
    let mut order: Vec<usize> = (0..plan.jobs.len()).collect();
    order.sort_by_key(|&job| keys[job]);
    plan.reorder(&order);
}

/// The path of a directory, without a slash at its end.
fn directory(path: &[u8]) -> &[u8] {
    path.iter().rposition(|&byte| byte == b'/').map_or(&[], |end| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Job, PlannedEntry};
    use super::*;
    use crate::chunk::language;
    use crate::policy::Exempt;
    use crate::store::rows::DocKey;

    /// A plan with a job for each path; the last path has the blob of the first.
    fn plan(paths: &[&str]) -> Plan {
        let mut plan = Plan::default();
        for (i, path) in paths.iter().enumerate() {
            let job = i % (paths.len() - 1);
            if job == i {
                let blob_oid = Oid::from_bytes_or_panic(&[i as u8; 20]);
                let key = DocKey { blob_oid, variant: 0 };
                plan.jobs.push(Job {
                    key,
                    language: language::TEXT,
                    previous: None,
                    exempt: Exempt::default(),
                });
            }
            let doc = PlannedDoc::Job(job);
            plan.added.push(PlannedEntry { path: (*path).into(), doc, skipped: None, flags: 0 });
        }
        plan
    }

    #[test]
    fn recent_files_come_first_then_their_neighbours() {
        let mut plan = plan(&["a/x", "a/y", "b/x", "b/y", "top", "z/copy of a/x"]);
        let recent = [("b/y", 0), ("z/copy of a/x", 1)].map(|(path, rank)| (BString::from(path), rank));
        sort(&mut plan, &FxHashMap::from_iter(recent));
        let order: Vec<u8> = plan.jobs.iter().map(|job| job.key.blob_oid.as_slice()[0]).collect();
        assert_eq!(order, [3, 0, 2, 1, 4]);
        let docs: Vec<PlannedDoc> = plan.added.iter().map(|entry| entry.doc).collect();
        assert_eq!(docs, [1, 3, 2, 0, 4, 1].map(PlannedDoc::Job));
    }
}
