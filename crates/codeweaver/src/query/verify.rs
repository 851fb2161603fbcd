//! Verification: an answer is returned only if its files are on disk as it shows them.
//!
//! A view may rest on an incremental status run, on one that ran out of time, or on none; and changed files
//! that exceed the limits of the overlay are in it as they are committed. The files of the answer are then
//! compared with the disk one by one. Those that differ are laid over the view, and the request is answered
//! again. What still differs after a few rounds is left out.

use super::answer::Answer;
use super::error::QueryError;
use super::request::ViewRequest;
use super::response::Match;
use super::view::freshness::RequestUpdate;
use super::view::open::{Opened, ViewSource, ViewTarget, WorktreeInput};
use super::view::{Freshness, MatchState, View};
use codeweaver_git::worktree::{WorktreeFile, WorktreeStatus};
use codeweaver_git::{self as git, BStr, BString, ByteSlice, GitError, quoting};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Maximum number of times that an answer is repeated with files that it showed otherwise than they are.
const MAX_ROUNDS: usize = 3;
/// Number of ranked files that the first repetition checks for pending ones.
const AHEAD: usize = 32;

/// Result of [`answer_as_expected`].
enum Speculation {
    /// The working tree is as expected, so the answer holds.
    Confirmed(Box<View>, Box<Answer>),
    /// The answer does not hold. The status is kept for the next attempt.
    Refuted(WorktreeStatus),
    /// Nothing was expected.
    Skipped,
}

/// Calls `answer` with the view of `request` and the time at which it should end, and verifies the result.
///
/// Each attempt has the full timeout of the request once its view is open: neither a repeated attempt nor an
/// update of the index leaves less time to search.
pub fn answer_verified(
    source: &ViewSource<'_>,
    request: &ViewRequest,
    update: RequestUpdate<'_>,
    answer: impl Fn(&View, Instant) -> Result<Answer, QueryError>,
) -> Result<(View, Answer), QueryError> {
    let answer = |view: &View| answer(view, Instant::now() + request.timeout);
    let wanted = source.resolve(request)?;
    let open = |worktree| {
        let wanted = ViewTarget { worktree, ..wanted.clone() };
        source.open_or_update(&wanted, request.timeout, update)
    };
    let (view, first) = match answer_as_expected(source, &wanted, answer)? {
        Speculation::Confirmed(view, first) => (*view, *first),
        Speculation::Refuted(status) => {
            let view = open(WorktreeInput::Known(status))?;
            let first = answer(&view)?;
            (view, first)
        }
        Speculation::Skipped => {
            let view = open(wanted.worktree.clone())?;
            let first = answer(&view)?;
            (view, first)
        }
    };
    let is_committed = matches!(wanted.worktree, WorktreeInput::Exclude) || source.codebase.repo.is_bare();
    if is_committed || source.embedder.is_none() {
        return Ok((view, first));
    }
    let (mut view, mut answered, mut wanted) = (view, first, wanted);
    let mut n_ahead = AHEAD;
    for _ in 0..MAX_ROUNDS {
        let outdated = outdated_files(source, &view, &mut answered.fitted.matches)?;
        if outdated.is_empty() {
            return Ok((view, answered));
        }
        wanted.worktree = match &view.status {
            // Only pending files are outdated: nothing new is known about the others.
            Some(status) if outdated.iter().all(|path| view.is_pending(path.as_ref())) => {
                WorktreeInput::Known(status.clone())
            }
            _ => {
                source.invalidate_status();
                WorktreeInput::Run(ViewRequest::UNLIMITED)
            }
        };
        // Those that would take their places are often pending too.
        let ahead =
            answered.ranking.files.iter().take(n_ahead).map(|file| view.entry(file.entry).0.as_bstr());
        wanted.files.extend(ahead.filter(|path| view.is_pending(path)).map(BStr::to_owned));
        wanted.files.extend(outdated);
        n_ahead *= 4;
        view = reopen(source, &wanted, view.freshness)?;
        answered = answer(&view)?;
    }
    let outdated = outdated_files(source, &view, &mut answered.fitted.matches)?;
    answered.leave_out(&outdated);
    Ok((view, answered))
}

/// Opens the view of `wanted` again, for which the first view has waited long enough.
fn reopen(source: &ViewSource<'_>, wanted: &ViewTarget, freshness: Freshness) -> Result<View, QueryError> {
    match source.open(wanted)? {
        Opened::View(view) => Ok(*view),
        Opened::Behind(Some(mut view)) => {
            view.freshness = freshness;
            Ok(*view)
        }
        Opened::Behind(None) => {
            Err(QueryError::NotFound { what: format!("{} could not be indexed", wanted.spec) })
        }
    }
}

/// Answers from the working tree as the last status run found it, in parallel with the next one: both take
/// about as long, and mostly nothing has changed.
fn answer_as_expected(
    source: &ViewSource<'_>,
    wanted: &ViewTarget,
    answer: impl Fn(&View) -> Result<Answer, QueryError>,
) -> Result<Speculation, QueryError> {
    let WorktreeInput::Run(budget) = wanted.worktree else { return Ok(Speculation::Skipped) };
    if !wanted.files.is_empty() {
        return Ok(Speculation::Skipped);
    }
    source.codebase.check_trust()?;
    let Some(expected) = source.expected_status(&wanted.target) else { return Ok(Speculation::Skipped) };
    if !source.codebase.has_snapshot(&wanted.target) {
        return Ok(Speculation::Skipped);
    }
    let (worktree, freshness) = match expected.changes.is_clean() {
        true => (WorktreeInput::Exclude, Freshness::Fresh),
        false => (WorktreeInput::Known(expected.clone()), Freshness::Overlaid),
    };
    let as_expected = ViewTarget { worktree, ..wanted.clone() };
    let from_expected = || -> Result<Option<(Answer, Box<View>)>, QueryError> {
        match source.open(&as_expected)? {
            Opened::View(view) => Ok(Some((answer(&view)?, view))),
            Opened::Behind(_) => Ok(None),
        }
    };
    std::thread::scope(|scope| {
        let running = scope.spawn(|| source.status(&wanted.target, budget));
        let answered = from_expected();
        let status = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        // Before the error of the answer: it is of a state that is not the wanted one.
        if !status.changes.agrees_with(&expected.changes) {
            return Ok(Speculation::Refuted(status));
        }
        match answered? {
            Some((first, view)) if [Freshness::Fresh, freshness].contains(&view.freshness) => Ok(
                Speculation::Confirmed(Box::new(view.with_status(source.codebase, status)), Box::new(first)),
            ),
            _ => Ok(Speculation::Refuted(status)),
        }
    })
}

/// Files of `matches` whose content on disk is not the one that the view has. Copies of a match for which the
/// same holds are removed.
fn outdated_files(
    source: &ViewSource<'_>,
    view: &View,
    matches: &mut [Match],
) -> Result<BTreeSet<BString>, QueryError> {
    let mut known: BTreeMap<String, bool> = BTreeMap::new();
    for path in matches.iter().flat_map(Match::paths) {
        if !known.contains_key(path) {
            known.insert(path.to_owned(), is_outdated(source, view, quoting::bytes(path).as_ref())?);
        }
    }
    let is_shown_rightly = |path: &str| known.get(path) != Some(&true);
    for found in matches.iter_mut() {
        found.also_at.retain(|path| is_shown_rightly(path));
        found.near_copies.retain(|copy| is_shown_rightly(&copy.path));
    }
    let files = matches.iter().map(|found| &found.file.path).filter(|path| !is_shown_rightly(path));
    Ok(files.map(|path| quoting::bytes(path)).collect())
}

fn is_outdated(source: &ViewSource<'_>, view: &View, path: &BStr) -> Result<bool, QueryError> {
    let codebase = source.codebase;
    if view.is_pending(path) {
        return Ok(true);
    }
    let Some(shown) = view.blob_at(path) else { return Ok(false) };
    if view.was_read(path, &shown) {
        return Ok(false);
    }
    if let Some(status) = &view.status {
        let is_overlaid = view.state_of(path) != MatchState::Committed;
        let is_complete = !status.is_incremental && view.n_unchecked == 0;
        // A file that is known to differ is shown as committed for a reason that another comparison does not
        // remove.
        if !is_overlaid && (is_complete || status.is_changed(path)) {
            return Ok(false);
        }
        if !is_overlaid && status.unmodified_blob(&codebase.repo, path) == Some(shown) {
            return Ok(false);
        }
    }
    match view.file(codebase, path) {
        Ok(WorktreeFile::Blob { bytes, .. }) => Ok(git::hash_blob(&bytes, shown.kind()) != shown),
        Ok(WorktreeFile::Absent) | Err(GitError::PathEscapes { .. }) => Ok(true),
        // Another comparison would not make it readable.
        Ok(WorktreeFile::Unknown) | Err(GitError::Io { .. }) => Ok(false),
        Err(e) => Err(e.into()),
    }
}
