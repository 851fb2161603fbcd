//! Follows the members of a catalogue: a query compares their heads with the commits that the catalogue has,
//! and commits what has moved, so that it is answered from the members as they are.
//!
//! Nothing is indexed here. The new tree of the catalogue differs from the indexed one as that of any
//! repository after a commit: the query lays the difference over the index, and the updater indexes it. Only
//! a sync takes a member out that cannot be read, so a query never waits for a disk that is away.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use codeweaver_git::{Found, GitError, Member, MemberState, Repo, probe};
use codeweaver_store::StoreError;

use super::sync::{FEW, MAX_THREADS, SyncReport};
use super::{Catalogue, CatalogueError};
use crate::IndexError;

/// Time in which the heads of members are compared for one query: a dozen system calls for each on Linux.
const BUDGET: Duration = Duration::from_millis(500);

/// The members that an answer shows as they were, or may show so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Behind {
    /// Names of the members with a newer commit, sorted.
    pub moved: Vec<String>,
    /// Names of the members whose heads were not compared in time, sorted.
    pub unchecked: Vec<String>,
}

impl Behind {
    /// Returns whether every member is shown as it is.
    pub fn is_empty(&self) -> bool {
        self.moved.is_empty() && self.unchecked.is_empty()
    }
}

/// Selects members by their names.
pub type Asked<'a> = dyn Fn(&str) -> bool + 'a;

/// Compares the heads of the members of `repo` that are `asked` with its tree, and commits those that have
/// moved. Returns the members that the tree still has an older commit of; none in an ordinary repository.
///
/// A catalogue that cannot be written, or that another process is changing, stays as it is.
///
/// # Errors
/// The list of members cannot be read.
pub fn follow(repo: &Repo, asked: &Asked<'_>) -> Result<Behind, GitError> {
    if !repo.is_catalogue() {
        return Ok(Behind::default());
    }
    // Compared are those that `repo` shows, but the list that is written has all.
    let mut behind = behind_of(repo, asked)?;
    let catalogue = Catalogue { repo: repo.unlimited() };

    if !behind.moved.is_empty() {
        match catalogue.commit_moved(&behind.moved) {
            Ok(left) => behind.moved = left,
            Err(CatalogueError::Index(IndexError::Store(StoreError::Locked { .. }))) => {}
            Err(error) => tracing::warn!(component = "catalogue", operation = "follow", %error),
        }
    }
    Ok(behind)
}

/// As [`follow`], but only compares, and all members.
///
/// # Errors
/// As [`follow`].
pub fn behind(repo: &Repo) -> Result<Behind, GitError> {
    match repo.is_catalogue() {
        true => behind_of(repo, &|_| true),
        false => Ok(Behind::default()),
    }
}

/// Compares the heads of the members of `repo` that are `asked`, for at most [`BUDGET`].
fn behind_of(repo: &Repo, asked: &Asked<'_>) -> Result<Behind, GitError> {
    let members = repo.members()?;
    let all: Vec<&Member> = members.all().iter().filter(|member| asked(&member.name)).collect();
    let all = all.as_slice();
    let deadline = Instant::now() + BUDGET;
    let next = AtomicUsize::new(0);
    let n_threads = if all.len() < FEW { 1 } else { MAX_THREADS };

    let moved = std::thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(|| compare(all, &next, deadline))).collect();
        let mut moved = compare(all, &next, deadline);
        for other in others {
            moved.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        moved
    });

    // Members are compared in order, so those from here on are the ones that no thread has begun.
    let unchecked = all.iter().skip(next.into_inner()).map(|member| member.name.clone());
    let moved: BTreeSet<String> = moved.into_iter().map(|at| all[at].name.clone()).collect();
    Ok(Behind { moved: moved.into_iter().collect(), unchecked: unchecked.collect() })
}

impl Catalogue {
    /// Commits the present trees of the members called `names`. Returns the names of those that could not be
    /// read.
    ///
    /// # Errors
    /// Another process is changing the list, or it cannot be written.
    fn commit_moved(&self, names: &[String]) -> Result<Vec<String>, CatalogueError> {
        let _lock = self.try_lock()?;
        let mut all = self.members()?.all().to_vec();
        let mut report = SyncReport::default();
        let mut left = Vec::new();

        for member in all.iter_mut().filter(|member| names.contains(&member.name)) {
            let found = self.look(member);
            match found.state {
                // Another process may have committed it meanwhile.
                _ if found == *member => {}
                MemberState::Indexed | MemberState::Empty => {
                    report.changed.push(member.name.clone());
                    *member = found;
                }
                _ => left.push(member.name.clone()),
            }
        }

        self.commit(all, &mut report)?;
        Ok(left)
    }
}

/// Compares members until `next` has passed the last one or the time is over. Returns the positions of those
/// that have moved.
fn compare(all: &[&Member], next: &AtomicUsize, deadline: Instant) -> Vec<usize> {
    let mut moved = Vec::new();

    while Instant::now() < deadline {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(member) = all.get(at) else { break };
        if has_moved(member) {
            moved.push(at);
        }
    }
    moved
}

/// Returns whether a member can be read and has another commit than the catalogue has of it.
fn has_moved(member: &Member) -> bool {
    match probe(member) {
        Found::Commit { commit, .. } => {
            let is_known = matches!(member.state, MemberState::Indexed | MemberState::Unreadable);
            !is_known || member.commit.as_deref() != Some(&commit.to_string())
        }
        Found::Nothing(MemberState::Empty, _) => member.state == MemberState::Indexed,
        Found::Nothing(..) | Found::Unchanged => false,
    }
}
