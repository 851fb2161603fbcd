//! The order of the jobs of a first index. It lets a growing index answer well soon: files that commits
//! changed lately, then their neighbours, then some files of every part of the tree.
//!
//! The order decides only in which segment a doc is stored. It depends on the commit alone, so the same
//! commit gives the same files.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use codeweaver_git::{BString, History, Oid, Repo, TreeComparer};

use super::error::IndexError;
use super::plan::{Plan, PlannedDoc};

/// Below this number of jobs, the run ends before a query could use the order.
const MIN_JOBS: usize = 2_000;
/// Maximum number of commits that are read.
const MAX_COMMITS: usize = 256;
/// Number of recent files after which no more commits are read.
const MAX_FILES: usize = 2_000;
/// A commit with more files, such as an import or a change of format, does not show the files that are worked
/// on.
const MAX_FILES_OF_COMMIT: usize = 200;

/// Number of files that a part of the tree contributes before the next part has its turn.
const FILES_OF_TURN: usize = 64;
/// Number of turns of each part. The rest follows in order of paths: files of one directory resemble each
/// other, so they take less space when they are stored together.
const TURNS: usize = 8;

/// Sorts the jobs of `plan` if it has many. Without history, as in a shallow clone, no file is recent.
pub(crate) fn for_early_answers(repo: &Repo, commit: Option<&Oid>, plan: &mut Plan) {
    if plan.jobs.len() < MIN_JOBS {
        return;
    }

    let recent = commit.map_or_else(|| Ok(FxHashMap::default()), |tip| recent_files(repo, tip));
    let recent = recent.unwrap_or_else(|e| {
        // The order matters only to queries before the run ends.
        tracing::debug!(component = "indexer", operation = "order", error = %e, "the history could not be read");
        FxHashMap::default()
    });
    sort(plan, &recent);
}

/// The files that the newest commits changed, each with its rank, the newest first.
fn recent_files(repo: &Repo, tip: &Oid) -> Result<FxHashMap<BString, usize>, IndexError> {
    let mut recent = FxHashMap::default();
    let (mut trees, mut n_commits) = (TreeComparer::new(repo), 0);

    History::open(repo)?.walk(tip, &[], |commit, parent| {
        n_commits += 1;
        // Without a known parent all files seem to be new, and a merge repeats changes of other commits.
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

/// Sorts the jobs by the rank of their file, then by that of the best file in the same directory, then by the
/// turn of their part of the tree.
fn sort(plan: &mut Plan, recent: &FxHashMap<BString, usize>) {
    let mut directories: FxHashMap<&[u8], usize> = FxHashMap::default();
    for (path, &rank) in recent {
        let best = directories.entry(directory(path)).or_insert(rank);
        *best = rank.min(*best);
    }

    let mut keys = vec![(usize::MAX, usize::MAX, usize::MAX); plan.jobs.len()];
    for (job, path, turn) in turns(plan) {
        let key = (rank_or_last(recent.get(path)), rank_or_last(directories.get(directory(path))), turn);
        keys[job] = key.min(keys[job]);
    }

    let mut order: Vec<usize> = (0..plan.jobs.len()).collect();
    order.sort_by_key(|&job| keys[job]);
    plan.reorder(&order);
}

fn rank_or_last(rank: Option<&usize>) -> usize {
    rank.copied().unwrap_or(usize::MAX)
}

/// Returns for each file with a job: the job, its path, and the turn in which the file is taken. A part of
/// the tree is a directory that has at most half of all files and whose parent has more, or the files
/// directly in a directory that has more.
fn turns(plan: &Plan) -> Vec<(usize, &BString, usize)> {
    let files: Vec<(usize, &BString)> = plan
        .added
        .iter()
        .filter_map(|entry| match entry.doc {
            PlannedDoc::Job(job) => Some((job, &entry.path)),
            _ => None,
        })
        .collect();

    let mut n_below: FxHashMap<&[u8], usize> = FxHashMap::default();
    for (_, path) in &files {
        directories_of(path).for_each(|directory| *n_below.entry(directory).or_default() += 1);
    }

    let mut n_of_part: FxHashMap<&[u8], usize> = FxHashMap::default();
    let mut taken = Vec::with_capacity(files.len());
    for (job, path) in files.iter().copied() {
        let part = directories_of(path)
            .find(|directory| n_below.get(directory).is_some_and(|&n| n * 2 <= files.len()))
            .unwrap_or_else(|| directory(path));
        let n = n_of_part.entry(part).or_default();
        let turn = *n / FILES_OF_TURN;
        *n += 1;
        // After its turns, the rest of a part keeps the order of paths.
        taken.push((job, path, if turn < TURNS { turn } else { usize::MAX }));
    }

    taken
}

/// The directories above a file, outermost first, without slashes at their ends.
fn directories_of(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    memchr::memchr_iter(b'/', path).map(|end| &path[..end])
}

/// The directory of a file, without a slash at its end.
fn directory(path: &[u8]) -> &[u8] {
    path.iter().rposition(|&byte| byte == b'/').map_or(&[], |end| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Job, PlannedEntry};
    use super::*;
    use crate::policy::Exempt;
    use codeweaver_chunk::language;
    use codeweaver_store::rows::DocKey;

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

    /// The jobs in their order, by the number of their blob.
    fn order(plan: &Plan) -> Vec<u8> {
        plan.jobs.iter().map(|job| job.key.blob_oid.as_slice()[0]).collect()
    }

    #[test]
    fn parts_of_the_tree_take_turns() {
        let paths = |directory: &str, n: usize| -> Vec<String> {
            (0..n).map(|i| format!("src/{directory}/{i:03}")).collect()
        };
        // `src` has more than half of the files, so its directories are the parts.
        let mut all = paths("large", 80);
        all.extend(paths("small", 70));
        all.extend(paths("tiny", 20));
        all.extend(["top".to_owned(), "src/large/000 again".to_owned()]);
        let mut plan = plan(&all.iter().map(String::as_str).collect::<Vec<_>>());
        sort(&mut plan, &FxHashMap::default());
        let expected = (0..64).chain(80..144).chain(150..171).chain(64..80).chain(144..150);
        assert_eq!(order(&plan), expected.collect::<Vec<u8>>());
    }

    #[test]
    fn recent_files_come_first_then_their_neighbours() {
        let mut plan = plan(&["a/x", "a/y", "b/x", "b/y", "top", "z/copy of a/x"]);
        let recent = [("b/y", 0), ("z/copy of a/x", 1)].map(|(path, rank)| (BString::from(path), rank));
        sort(&mut plan, &FxHashMap::from_iter(recent));
        assert_eq!(order(&plan), [3, 0, 2, 1, 4]);
        let docs: Vec<PlannedDoc> = plan.added.iter().map(|entry| entry.doc).collect();
        assert_eq!(docs, [1, 3, 2, 0, 4, 1].map(PlannedDoc::Job));
    }
}
