//! Brings a catalogue up to date: probes each member, commits if something changed, and updates the index.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use codeweaver_git::{Found, Member, MemberState, Members, import, probe};
use codeweaver_store::StoreError;

use super::{Catalogue, CatalogueError, find, named, now};
use crate::progress::Progress;
use crate::{Codebase, IndexError, Target, UpdateOptions, UpdateReport, updater};

/// Number of members below which one thread probes them all.
pub(super) const FEW: usize = 32;
/// Number of loose objects of a catalogue above which they are packed. A sync makes about four.
const MAX_LOOSE: usize = 1_000;
/// Number of threads that probe members. Most of the time they wait for the file system.
pub(super) const MAX_THREADS: usize = 8;

/// The members that [`Catalogue::sync`] looks at.
#[derive(Debug, Clone, Default)]
pub enum Which {
    /// All of them.
    #[default]
    All,
    /// Members with these names or paths, with all branches and tags of the same repositories.
    Named(Vec<String>),
}

/// The result of [`Catalogue::sync`].
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct SyncReport {
    /// Number of members.
    pub members: usize,
    /// Names of members with another commit or state than before.
    pub changed: Vec<String>,
    /// The selected members whose files are not part of the catalogue.
    pub problems: Vec<Problem>,
    /// Whether there is a new commit of the catalogue.
    pub committed: bool,
    /// The report of the update of the index; `None` if another process updates it.
    pub update: Option<UpdateReport>,
}

/// A member whose files are missing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// The name of the member.
    pub name: String,
    /// The path of the member.
    pub path: PathBuf,
    /// The state of the member, which tells what is wrong.
    pub state: MemberState,
    /// The reason.
    pub error: String,
}

impl Catalogue {
    /// Probes the members, commits their trees if something changed, and updates the index.
    ///
    /// A member that cannot be read is left out of the tree until it can, and is reported; the others are not
    /// affected. Its vectors are kept, so its return embeds nothing.
    ///
    /// # Errors
    /// If the catalogue itself cannot be read or written, or its index not be updated.
    pub fn sync(&self, which: &Which, progress: &dyn Progress) -> Result<SyncReport, CatalogueError> {
        let mut report = self.refresh(which)?;
        self.update(&self.codebase()?, &mut report, progress)?;
        Ok(report)
    }

    /// The second half of [`Self::sync`]: updates the index of `codebase`.
    ///
    /// # Errors
    /// If the index cannot be updated.
    pub fn update(
        &self,
        codebase: &Codebase,
        report: &mut SyncReport,
        progress: &dyn Progress,
    ) -> Result<(), CatalogueError> {
        let git_error = match update(codebase, progress) {
            Err(IndexError::Git(error)) => error,
            result => {
                report.update = result?;
                return Ok(());
            }
        };

        // A tree that was readable when it was committed is no longer readable.
        tracing::warn!(component = "catalogue", operation = "update", error = %git_error, "members are checked");
        if self.drop_unreadable(report)? == 0 {
            return Err(git_error.into());
        }
        report.update = update(codebase, progress)?;
        Ok(())
    }

    /// The first half of [`Self::sync`]: probes the members and commits.
    ///
    /// # Errors
    /// If the catalogue itself cannot be read or written.
    pub fn refresh(&self, which: &Which) -> Result<SyncReport, CatalogueError> {
        let _lock = self.lock()?;
        let before = self.members()?;
        let selected = selected(&before, which)?;
        let probed = self.look_at(&selected);

        let mut report = SyncReport { members: before.all().len(), ..SyncReport::default() };
        let mut all = before.all().to_vec();

        for (at, member) in probed {
            if member.state.is_problem() {
                report.problems.push(problem(&member));
            }
            if all[at] != member {
                report.changed.push(member.name.clone());
                all[at] = member;
            }
        }

        self.commit(all, &mut report)?;
        Ok(report)
    }

    /// The members at these positions with their current state, in order.
    fn look_at(&self, selected: &[(usize, &Member)]) -> Vec<(usize, Member)> {
        let n_threads = if selected.len() < FEW { 1 } else { MAX_THREADS };
        let next = AtomicUsize::new(0);

        let mut all = std::thread::scope(|scope| {
            let others: Vec<_> =
                (1..n_threads).map(|_| scope.spawn(|| self.look_at_next(selected, &next))).collect();
            let mut all = self.look_at_next(selected, &next);
            for other in others {
                all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            all
        });

        all.sort_by_key(|(at, _)| *at);
        all
    }

    /// Probes members until `next` has passed the last.
    fn look_at_next(&self, selected: &[(usize, &Member)], next: &AtomicUsize) -> Vec<(usize, Member)> {
        let mut done = Vec::new();
        while let Some(&(at, member)) = selected.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((at, self.look(member)));
        }
        done
    }

    /// A member with its current state.
    pub(super) fn look(&self, member: &Member) -> Member {
        let mut found = match probe(member) {
            Found::Unchanged => return member.clone(),
            Found::Commit { commit, tree } => Member {
                commit: Some(commit.to_string()),
                tree: Some(tree.to_string()),
                state: MemberState::Indexed,
                error: String::new(),
                ..member.clone()
            },
            Found::Nothing(state @ MemberState::Empty, error) => {
                Member { commit: None, tree: None, state, error, ..member.clone() }
            }
            Found::Nothing(state, error) => Member { state, error, ..member.clone() },
        };

        // A tree with damaged or missing directories would end the update of the whole catalogue.
        if let Err(error) = self.repo().check_member(&found, member.tree_oid().as_ref()) {
            (found.state, found.error) = (MemberState::Unreadable, error.to_string());
        }

        if found != *member {
            found.updated = now();
        }

        found
    }

    /// Takes the members out of the tree whose directories cannot be read. Returns their number.
    fn drop_unreadable(&self, report: &mut SyncReport) -> Result<usize, CatalogueError> {
        let _lock = self.lock()?;
        let mut all = self.members()?.all().to_vec();
        let mut n_dropped = 0;

        for member in &mut all {
            if let Err(error) = self.repo().check_member(member, None) {
                member.state = MemberState::Unreadable;
                member.error = error.to_string();
                member.updated = now();
                report.problems.push(problem(member));
                report.changed.push(member.name.clone());
                n_dropped += 1;
            }
        }

        self.commit(all, report)?;
        Ok(n_dropped)
    }

    /// Commits the list of members if something changed.
    pub(super) fn commit(&self, all: Vec<Member>, report: &mut SyncReport) -> Result<(), CatalogueError> {
        if report.changed.is_empty() {
            return Ok(());
        }

        let message = format!("catalogue: sync {}", named(report.changed.iter().map(String::as_str)));
        report.committed |= self.repo().commit_members(&Members::new(all)?, &message, now())?;

        // Each list differs from the one before in a few lines, so a pack is much smaller than loose objects.
        if let Err(error) = import::pack_loose(self.git_dir(), MAX_LOOSE) {
            tracing::warn!(component = "catalogue", operation = "pack", %error);
        }
        Ok(())
    }
}

fn problem(member: &Member) -> Problem {
    let Member { name, path, state, error, .. } = member.clone();
    Problem { name, path, state, error }
}

/// The selected members with their positions in the list.
fn selected<'m>(
    members: &'m Arc<Members>,
    which: &Which,
) -> Result<Vec<(usize, &'m Member)>, CatalogueError> {
    let all = members.all().iter().enumerate();

    Ok(match which {
        Which::All => all.collect(),
        Which::Named(names) => {
            let mut paths = Vec::new();
            for name in names {
                paths.push(&find(members, name)?.path);
            }
            all.filter(|(_, member)| paths.contains(&&member.path)).collect()
        }
    })
}

/// Updates the index to HEAD. Returns `None` if another process updates it, which has been requested to look
/// again when it is done.
fn update(codebase: &Codebase, progress: &dyn Progress) -> Result<Option<UpdateReport>, IndexError> {
    updater::request_update(codebase)?;
    let target = Target::head(codebase)?;
    // Hundreds of repositories may have more files in all than are allowed for one.
    let options = UpdateOptions { allow_huge: true, ..UpdateOptions::default() };

    match updater::run(codebase, &target, options, progress) {
        Ok(report) => Ok(Some(report)),
        Err(IndexError::Store(StoreError::Locked { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}
