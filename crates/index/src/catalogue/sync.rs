//! Bringing a catalogue up to date: a look at each member, a commit if something changed, and the index.

use super::{Catalogue, CatalogueError, find, named, now};
use crate::progress::Progress;
use crate::{Codebase, IndexError, Target, UpdateOptions, UpdateReport, updater};
use codeweaver_git::{Found, Member, MemberState, Members, import, probe};
use codeweaver_store::StoreError;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of members below which one thread looks at them all.
const FEW: usize = 32;
/// Number of loose objects of a catalogue, about four for a sync, that are packed.
const MAX_LOOSE: usize = 1_000;
/// Number of threads that look at members. Most of the time they wait for the file system.
const MAX_THREADS: usize = 8;

/// The members that [`Catalogue::sync`] looks at.
#[derive(Debug, Clone, Default)]
pub enum Which {
    /// All of them.
    #[default]
    All,
    /// Those with these names or paths, with all branches and tags of the same repositories.
    Named(Vec<String>),
}

/// What [`Catalogue::sync`] has done.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct SyncReport {
    /// Number of members.
    pub members: usize,
    /// Names of members with another commit or state than before.
    pub changed: Vec<String>,
    /// Members whose files are not part of the catalogue, of those that were looked at.
    pub problems: Vec<Problem>,
    /// Whether there is a new commit of the catalogue.
    pub committed: bool,
    /// What the index did; `None` if another process updates it.
    pub update: Option<UpdateReport>,
}

/// A member whose files are missing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// What is wrong.
    pub state: MemberState,
    /// Why.
    pub error: String,
}

impl Catalogue {
    /// Looks at the members, commits their trees if something changed, and updates the index.
    ///
    /// A member that cannot be read leaves the tree until it can, and is reported; the others are not
    /// affected. What was embedded for it is kept, so its return costs a look.
    ///
    /// # Errors
    /// The catalogue itself cannot be read or written, or its index not updated.
    pub fn sync(&self, which: &Which, progress: &dyn Progress) -> Result<SyncReport, CatalogueError> {
        let mut report = self.refresh(which)?;
        self.update(&self.codebase()?, &mut report, progress)?;
        Ok(report)
    }

    /// The second half of [`Self::sync`]: updates the index, of which `codebase` is.
    ///
    /// # Errors
    /// The index cannot be updated.
    pub fn update(
        &self,
        codebase: &Codebase,
        report: &mut SyncReport,
        progress: &dyn Progress,
    ) -> Result<(), CatalogueError> {
        report.update = match update(codebase, progress) {
            Err(IndexError::Git(error)) => {
                // A tree that was readable when it was committed is not any more.
                tracing::warn!(component = "catalogue", operation = "update", %error, "members are checked");
                if self.drop_unreadable(report)? == 0 {
                    return Err(error.into());
                }
                update(codebase, progress)?
            }
            result => result?,
        };
        Ok(())
    }

    /// The first half of [`Self::sync`]: looks at the members and commits.
    ///
    /// # Errors
    /// The catalogue itself cannot be read or written.
    pub fn refresh(&self, which: &Which) -> Result<SyncReport, CatalogueError> {
        let _lock = self.lock()?;
        let before = self.members()?;
        let selected = selected(&before, which)?;
        let looked = self.look_at(&selected);
        let mut report = SyncReport { members: before.all().len(), ..SyncReport::default() };
        let mut all = before.all().to_vec();
        for (at, member) in looked {
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

    /// The members at these positions as they are now, in order.
    fn look_at(&self, selected: &[(usize, &Member)]) -> Vec<(usize, Member)> {
        let n_threads = if selected.len() < FEW { 1 } else { MAX_THREADS };
        let next = AtomicUsize::new(0);
        let take = || {
            let mut done = Vec::new();
            while let Some(&(at, member)) = selected.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((at, self.look(member)));
            }
            done
        };
        let mut all = std::thread::scope(|scope| {
            let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(take)).collect();
            let mut all = take();
            for other in others {
                all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            all
        });
        all.sort_by_key(|(at, _)| *at);
        all
    }

    /// A member as it is now.
    fn look(&self, member: &Member) -> Member {
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

    fn commit(&self, all: Vec<Member>, report: &mut SyncReport) -> Result<(), CatalogueError> {
        if report.changed.is_empty() {
            return Ok(());
        }
        let message = format!("catalogue: sync {}", named(report.changed.iter().map(String::as_str)));
        report.committed |= self.repo().commit_members(&Members::new(all)?, &message, now())?;
        // Each list differs from the one before in a few lines, which only a pack makes use of.
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

/// Updates the index to HEAD. `None` if another process does: it has been asked to look again when it is
/// done.
fn update(codebase: &Codebase, progress: &dyn Progress) -> Result<Option<UpdateReport>, IndexError> {
    updater::request_update(codebase)?;
    let target = Target::head(codebase)?;
    // Hundreds of repositories have many files together.
    let options = UpdateOptions { allow_huge: true, ..UpdateOptions::default() };
    match updater::run(codebase, &target, options, progress) {
        Ok(report) => Ok(Some(report)),
        Err(IndexError::Store(StoreError::Locked { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}
