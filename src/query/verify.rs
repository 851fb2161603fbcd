//! Verification: an answer is returned only if its files are on disk as it shows them.
//!
//! A view may rest on an incremental status run, or on one that ran out of time. The files of the answer are
//! then compared with the disk one by one, and on any difference the request is answered again from a full
//! status run.

use super::answer::Answer;
use super::error::QueryError;
use super::request::ViewRequest;
use super::response::Match;
use super::view::freshness::RequestUpdate;
use super::view::open::{Opened, ViewSource, ViewTarget, WorktreeInput};
use super::view::{Freshness, MatchState, View};
use crate::git::{self, ByteSlice, GitError};
use crate::worktree::WorktreeStatus;
use std::time::Instant;

/// Result of [`answer_if_clean`].
enum Speculation {
    /// The working tree is clean, so the answer from the commit holds.
    Confirmed(Box<View>, Box<Answer>),
    /// The answer does not hold. The status is kept for the next attempt.
    Refuted(WorktreeStatus),
    /// There was no reason to expect a clean working tree.
    Skipped,
}

/// Calls `answer` with the view of `request` and the time at which it should end, and verifies the result.
///
/// Each attempt has the full timeout of the request: a repeated attempt is not the caller's fault.
pub fn answer_verified(
    source: &ViewSource<'_>,
    request: &ViewRequest,
    update: RequestUpdate<'_>,
    answer: impl Fn(&View, Instant) -> Result<Answer, QueryError>,
) -> Result<(View, Answer), QueryError> {
    let deadline = Instant::now() + request.timeout;
    let wanted = source.resolve(request)?;
    let open = |worktree| {
        let wanted = ViewTarget { worktree, ..wanted.clone() };
        source.open_or_update(&wanted, request.timeout, update)
    };
    let (view, first) = match answer_if_clean(source, &wanted, |view| answer(view, deadline))? {
        Speculation::Confirmed(view, first) => (*view, *first),
        Speculation::Refuted(status) => {
            let deadline = Instant::now() + request.timeout;
            let view = open(WorktreeInput::Known(status))?;
            let first = answer(&view, deadline)?;
            (view, first)
        }
        Speculation::Skipped => {
            let view = open(wanted.worktree.clone())?;
            let first = answer(&view, deadline)?;
            (view, first)
        }
    };
    let Some(status) = view.status.as_ref().filter(|it| it.is_incremental || view.n_unchecked > 0) else {
        return Ok((view, first));
    };
    if !is_outdated(source, status, &first.matches)? {
        return Ok((view, first));
    }
    source.invalidate_status();
    let view = open(WorktreeInput::Run(ViewRequest::UNLIMITED))?;
    let second = answer(&view, Instant::now() + request.timeout)?;
    Ok((view, second))
}

/// Answers from the commit alone, in parallel with the status run, if the last one found the working tree
/// clean: both take about as long.
fn answer_if_clean(
    source: &ViewSource<'_>,
    wanted: &ViewTarget,
    answer: impl Fn(&View) -> Result<Answer, QueryError>,
) -> Result<Speculation, QueryError> {
    let WorktreeInput::Run(budget) = wanted.worktree else { return Ok(Speculation::Skipped) };
    source.codebase.check_trust()?;
    if !source.was_clean(&wanted.target) || !source.codebase.has_snapshot(&wanted.target) {
        return Ok(Speculation::Skipped);
    }
    let committed = ViewTarget { worktree: WorktreeInput::Exclude, ..wanted.clone() };
    let from_commit = || -> Result<Option<(Answer, Box<View>)>, QueryError> {
        match source.open(&committed)? {
            Opened::View(view) => Ok(Some((answer(&view)?, view))),
            Opened::Behind(_) => Ok(None),
        }
    };
    std::thread::scope(|scope| {
        let running = scope.spawn(|| source.status(&wanted.target, budget));
        let answered = from_commit();
        let status = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        // Before the error of the answer: it is of a state that is not the wanted one.
        if !status.changes.is_clean() {
            return Ok(Speculation::Refuted(status));
        }
        match answered? {
            Some((first, view)) if view.freshness == Freshness::Fresh => {
                Ok(Speculation::Confirmed(Box::new(view.with_clean_worktree(status)), Box::new(first)))
            }
            _ => Ok(Speculation::Refuted(status)),
        }
    })
}

/// Whether a file of `matches` that `status` did not stat just now differs on disk from what the match shows.
fn is_outdated(
    source: &ViewSource<'_>,
    status: &WorktreeStatus,
    matches: &[Match],
) -> Result<bool, QueryError> {
    let repo = &source.codebase.repo;
    let mut files = None;
    for found in matches.iter().filter(|found| found.state == MatchState::Committed) {
        let path = found.file.path.as_bytes().as_bstr();
        let unmodified = status.unmodified_blob(repo, path).map(|oid| oid.to_string());
        // A file that is known to differ is shown as committed for a reason that another comparison does not
        // remove.
        if unmodified.as_deref() == Some(found.blob.as_str()) || status.is_changed(path) {
            continue;
        }
        let files = match &mut files {
            Some(files) => files,
            None => files.insert(status.reader(repo)?),
        };
        let bytes = match files.read(path) {
            Err(GitError::PathEscapes { .. }) => return Ok(true),
            // Another comparison would not make it readable.
            Err(GitError::Io { .. }) => continue,
            bytes => bytes?,
        };
        let oid = bytes.map(|bytes| git::hash_blob(&bytes, repo.object_hash()).to_string());
        if oid.as_deref() != Some(found.blob.as_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}
