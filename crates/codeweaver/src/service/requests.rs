//! Requests to an open codebase: its gate, the repair of its index, and the second attempt after that.
//!
//! Readers never write. A repair, as every update, is the work of a process of its own, for which a request
//! waits as long as its caller has patience.

use std::time::{Duration, Instant};

use codeweaver_git::GitError;
use codeweaver_index::{Codebase, IndexError, Lifecycle, Target, background};
use codeweaver_store::{exclude, permission};

use super::caller::Caller;
use super::error::{ErrorKind, Fix, ServiceError};
use super::gate::{self, Gate, NonOkReason};
use super::progress::Progress;
use super::small;
use crate::query::QueryError;
use crate::query::view::freshness::RequestUpdate;

/// Minimum time that a request waits for the first index of a small repository, which takes less than a
/// second on a machine that is not busy.
const FIRST_PATIENCE: Duration = Duration::from_secs(10);

/// The requests of a caller to a codebase.
pub struct Requests<'a> {
    codebase: &'a Codebase,
    caller: &'a dyn Caller,
}

impl<'a> Requests<'a> {
    /// The requests of `caller` to `codebase`.
    pub fn new(codebase: &'a Codebase, caller: &'a dyn Caller) -> Requests<'a> {
        Requests { codebase, caller }
    }

    /// Lets a request through the gate, for callers that are answered from a complete index only. An index
    /// that is lost or damaged is built again first, and the first index of a small repository is built.
    ///
    /// # Errors
    /// The codebase may not answer now, or its state cannot be read.
    pub fn admit(&self) -> Result<(), ServiceError> {
        let codebase = self.codebase;
        let mut gate = gate::check(codebase);

        if let Some(progress) = loss(codebase, &gate) {
            self.check_writable(progress)?;
            self.caller.tell(self.codebase, progress);
            self.update_head(self.caller.patience(self.codebase).rebuild)?;
            gate = gate::check(codebase);
        }

        if let Ok(Some(closed)) = &gate
            && closed.lifecycle == Lifecycle::NotIndexed
            && self.caller.may_index(codebase)
            && permission::is_writable(&codebase.layout)
            && small::is_small(codebase)
        {
            self.caller.tell(codebase, Progress::First);
            // The store must not appear as untracked files in `git status`.
            exclude::add_exclude(codebase.repo.common_dir()).map_err(GitError::from)?;
            self.update_head(self.caller.patience(codebase).rebuild.max(FIRST_PATIENCE))?;
            gate = gate::check(codebase);
        }

        match gate?.filter(|gate| !gate.allows_partial_answers(codebase)) {
            Some(gate) => Err(ServiceError::from_gate(gate, codebase)),
            None => Ok(()),
        }
    }

    /// Runs `query`, which may request an update. If the index is lost or damaged, it is built again, and
    /// `query` is run a second time.
    ///
    /// # Errors
    /// The error of `query`, or that the index is still being repaired.
    pub fn run<T>(
        &self,
        query: impl Fn(RequestUpdate<'_>) -> Result<T, QueryError>,
    ) -> Result<T, ServiceError> {
        let update = |target: &Target, patience: Duration| self.update(target, patience);

        let answer = match query(&update) {
            Err(error) if self.repair(&error)? => query(&update),
            answer => answer,
        };

        answer.map_err(|error| ServiceError::from_query(error, self.codebase))
    }

    /// Removes the cause of `error` if that is the state of the index. Returns whether the query is to be run
    /// again.
    fn repair(&self, error: &QueryError) -> Result<bool, ServiceError> {
        let is_gated =
            matches!(error, QueryError::Gated(Lifecycle::NotIndexed | Lifecycle::Interrupted { .. }));

        // A repository that was never indexed is not indexed by a request.
        if is_gated && gate::is_lost(self.codebase) {
            self.check_writable(Progress::Rebuilding)?;
            self.caller.tell(self.codebase, Progress::Rebuilding);
            // If that takes longer, the part that is complete may answer.
            self.update(&self.head()?, self.caller.patience(self.codebase).rebuild);
            return Ok(true);
        }

        let Some(damage) = error.damage() else { return Ok(false) };
        self.check_writable(Progress::Repairing(damage))?;
        self.caller.tell(self.codebase, Progress::Repairing(damage));
        self.update_head(self.caller.patience(self.codebase).repair)?;

        Ok(true)
    }

    /// Checks that what is lost can be made again here: without the right to write, an update fails each
    /// time.
    ///
    /// # Errors
    /// Advice to ask the owner of the repository for it.
    fn check_writable(&self, lost: Progress<'_>) -> Result<(), ServiceError> {
        if permission::is_writable(&self.codebase.layout) {
            return Ok(());
        }

        let fix = Fix::advice("ask the owner of the repository to run `git codeweaver index` in it");
        let root = self.codebase.root();
        let why = format!("it cannot be made again: {} is read-only here", root.display());
        Err(ServiceError { kind: ErrorKind::NotIndexed, what: lost.loss(), why, fix, gate: None })
    }

    /// Brings the index to HEAD, which mends whatever it lacks.
    ///
    /// # Errors
    /// The update does not finish in time.
    fn update_head(&self, patience: Duration) -> Result<(), ServiceError> {
        if self.update(&self.head()?, patience) {
            Ok(())
        } else {
            Err(ServiceError::from_lifecycle(Lifecycle::Indexing, self.codebase))
        }
    }

    fn head(&self) -> Result<Target, ServiceError> {
        Ok(Target::head(self.codebase)?)
    }

    /// Updates `target` in a process of its own, and waits for it. Returns whether it is done.
    fn update(&self, target: &Target, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        background::update_until(self.codebase, target, deadline, &|| self.caller.is_stopped())
    }
}

/// The reason to wait for an index that was deleted after it had been built, is or was damaged, or is of
/// another version; `None` for any other state.
fn loss<'g>(codebase: &Codebase, gate: &'g Result<Option<Gate>, IndexError>) -> Option<Progress<'g>> {
    match gate {
        Ok(Some(gate)) => {
            let is_lost = gate.reason == NonOkReason::NotIndexed && gate::is_lost(codebase);
            is_lost.then_some(Progress::Rebuilding)
        }
        Err(IndexError::Store(error)) => error.is_repairable().then_some(Progress::Repairing(error)),
        Ok(None) | Err(_) => None,
    }
}
