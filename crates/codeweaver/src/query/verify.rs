//! Verification: an answer is returned only if its files are on disk as it shows them.
//!
//! A view may rest on an incremental status run, on one that ran out of time, or on none; and changed files
//! that exceed the limits of the overlay are in it as they are committed. So the files of the answer are
//! compared with the disk one by one. Those that differ are laid over the view, and the request is answered
//! again. Files that still differ after a few rounds are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use codeweaver_git::worktree::{WorktreeFile, WorktreeStatus};
use codeweaver_git::{self as git, BStr, BString, ByteSlice, GitError, quoting};

use super::answer::Answer;
use super::error::QueryError;
use super::request::{RepoSet, ViewRequest};
use super::response::Match;
use super::view::freshness::RequestUpdate;
use super::view::open::{Opened, ViewSource, ViewTarget, WorktreeInput};
use super::view::{Freshness, MatchState, View};

/// Maximum number of times that an answer is repeated because it showed files otherwise than they are on
/// disk.
const MAX_ROUNDS: usize = 3;
/// Number of ranked files that the first repetition checks for pending ones.
const AHEAD: usize = 32;

/// The result of [`answer_as_expected`].
enum Speculation {
    /// The working tree is as expected, so the answer holds.
    Confirmed(Box<View>, Box<Answer>),
    /// The answer does not hold. The status of the working tree is kept for the next attempt.
    Refuted(WorktreeStatus),
    /// There was no expectation, or no snapshot for it.
    Skipped,
}

/// Calls `answer` with the view of `request` and the time at which it should end, and verifies its result. In
/// a catalogue, the view has the members in `repos`, `None` for all, as they are.
///
/// Each attempt has the full timeout of the request once its view is open: neither a repeated attempt nor an
/// update of the index leaves less time to search.
pub fn answer_verified(
    source: &ViewSource<'_>,
    request: &ViewRequest,
    repos: Option<&RepoSet>,
    update: RequestUpdate<'_>,
    answer: impl Fn(&View, Instant) -> Result<Answer, QueryError>,
) -> Result<(View, Answer), QueryError> {
    let answer = |view: &View| answer(view, Instant::now() + request.timeout);
    let wanted = source.resolve(request, repos)?;

    let worktree = match answer_as_expected(source, &wanted, answer)? {
        Speculation::Confirmed(view, first) => {
            return repeat_until_current(source, wanted, *view, *first, answer);
        }
        Speculation::Refuted(status) => WorktreeInput::Known(status),
        Speculation::Skipped => wanted.worktree.clone(),
    };

    let target = ViewTarget { worktree, ..wanted.clone() };
    let view = source.open_or_update(&target, request.timeout, update)?;
    let first = answer(&view)?;
    repeat_until_current(source, wanted, view, first, answer)
}

/// Repeats `answer` until the files that it shows are on disk as it shows them, and leaves out those that
/// still differ after [`MAX_ROUNDS`]. `answered` is the first answer, from `view`.
fn repeat_until_current(
    source: &ViewSource<'_>,
    mut wanted: ViewTarget,
    mut view: View,
    mut answered: Answer,
    answer: impl Fn(&View) -> Result<Answer, QueryError>,
) -> Result<(View, Answer), QueryError> {
    let is_committed = matches!(wanted.worktree, WorktreeInput::Exclude) || source.codebase.repo.is_bare();
    if is_committed || source.embedder.is_none() {
        return Ok((view, answered));
    }

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

        // Files that would take the places of pending ones are often pending too.
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

/// Opens the view of `wanted` again, without waiting for an update: the first view has waited long enough.
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

/// Answers from the working tree as the last status run found it, in parallel with the next run: both take
/// about as long, and in most cases nothing has changed.
fn answer_as_expected(
    source: &ViewSource<'_>,
    wanted: &ViewTarget,
    answer: impl Fn(&View) -> Result<Answer, QueryError>,
) -> Result<Speculation, QueryError> {
    let WorktreeInput::Run(budget) = wanted.worktree else { return Ok(Speculation::Skipped) };
    if !wanted.files.is_empty() {
        return Ok(Speculation::Skipped);
    }

    // Before the thread starts: an untrusted repository must not be read.
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

    std::thread::scope(|scope| {
        let running = scope.spawn(|| source.status(&wanted.target, budget));
        let answered = open_and_answer(source, &as_expected, answer);
        let status = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;

        // Before the error of the answer, which is about a state that is not the wanted one.
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

/// Answers from the view of `wanted`, if it can be opened without an update.
fn open_and_answer(
    source: &ViewSource<'_>,
    wanted: &ViewTarget,
    answer: impl Fn(&View) -> Result<Answer, QueryError>,
) -> Result<Option<(Answer, Box<View>)>, QueryError> {
    match source.open(wanted)? {
        Opened::View(view) => Ok(Some((answer(&view)?, view))),
        Opened::Behind(_) => Ok(None),
    }
}

/// Returns the files of `matches` whose content on disk is not the one that the view has. Copies of a match
/// that are outdated in the same way are removed from it.
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

    let is_current = |path: &str| known.get(path) != Some(&true);
    for found in matches.iter_mut() {
        found.also_at.retain(|path| is_current(path));
        found.near_copies.retain(|copy| is_current(&copy.path));
    }

    let files = matches.iter().map(|found| &found.file.path).filter(|path| !is_current(path));
    Ok(files.map(|path| quoting::bytes(path)).collect())
}

/// Returns whether the content of a file on disk is not the one that the view has.
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
