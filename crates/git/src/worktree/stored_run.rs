//! The part of a status run that is stored: its scan and outcome as bytes, and the runs that are worth it.

use std::sync::Arc;

use super::cache_file::{self, take, take_path, take_slice};
use super::changes::{FileState, WorktreeBlob, WorktreeChange, WorktreeChanges};
use super::run::{Outcome, StatusRun};
use super::scan::WorktreeScan;
use super::to_git::is_inside;
use super::tracked::TrackedScan;
use super::untracked::UntrackedScan;
use crate::{BStr, BString, Mode, Oid};

/// Maximum number of changes and untracked files in a cached run. Larger results are not cached.
const MAX_CHANGES: usize = 10_000;

/// Maximum number of touched files that are checked one by one. For more files everything is scanned.
pub(super) const MAX_TOUCHED: usize = 200;

/// Returns whether a later process can start from `run`.
pub(super) fn fits(run: &StatusRun) -> bool {
    let is_cacheable = run.is_complete() && run.is_reusable() && !run.outcome.changes.has_unreadable();
    let n_changes = run.outcome.changes.changes.len() + run.scan.untracked.paths.len();
    is_cacheable && n_changes <= MAX_CHANGES
}

/// Appends a path as [`cache_file::put_path`] does; `None` if it is too long.
pub(super) fn put_path(bytes: &mut Vec<u8>, path: &BStr) -> Option<()> {
    u16::try_from(path.len()).ok()?;
    cache_file::put_path(bytes, path);
    Some(())
}

fn put_paths(bytes: &mut Vec<u8>, paths: &[BString]) -> Option<()> {
    bytes.extend_from_slice(&(paths.len() as u32).to_le_bytes());
    paths.iter().try_for_each(|path| put_path(bytes, path.as_ref()))
}

fn take_paths(rest: &mut &[u8]) -> Option<Vec<BString>> {
    let n = u32::from_le_bytes(take(rest)?);
    (0..n).map(|_| take_path(rest)).collect()
}

/// Appends the parts of a run that [`take_outcome`] reads.
pub(super) fn put_outcome(bytes: &mut Vec<u8>, run: &StatusRun, kind: gix::hash::Kind) -> Option<()> {
    let StatusRun { scan: WorktreeScan { tracked, untracked }, outcome, .. } = run;
    bytes.push(kind.len_in_bytes() as u8);
    bytes.push(u8::from(outcome.head_tree.is_some()));
    bytes.extend_from_slice(outcome.head_tree.unwrap_or(Oid::null(kind)).as_slice());

    for positions in [&tracked.deleted, &tracked.maybe_modified, &tracked.hard_linked] {
        bytes.extend_from_slice(&(positions.len() as u32).to_le_bytes());
        for &position in positions {
            bytes.extend_from_slice(&u32::try_from(position).ok()?.to_le_bytes());
        }
    }

    bytes.extend_from_slice(&(tracked.checked as u64).to_le_bytes());
    put_paths(bytes, &untracked.paths)?;
    put_paths(bytes, &untracked.pattern_files)?;

    let changes = &outcome.changes;
    bytes.extend_from_slice(&(changes.changes.len() as u32).to_le_bytes());
    for change in &changes.changes {
        put_path(bytes, change.path.as_ref())?;
        bytes.push(change.state as u8);
        bytes.push(u8::from(change.conflicted) | u8::from(change.bytes.is_some()) << 1);
        if let Some(blob) = &change.bytes {
            bytes.extend_from_slice(blob.oid.as_slice());
            bytes.push(blob.mode as u8);
            bytes.extend_from_slice(&blob.size.to_le_bytes());
        }
    }

    bytes.extend_from_slice(&(changes.checked as u64).to_le_bytes());
    put_paths(bytes, &changes.filtered)
}

/// Removes the output of [`put_outcome`] from the front of `rest`.
pub(super) fn take_outcome(rest: &mut &[u8]) -> Option<(WorktreeScan, Outcome)> {
    let [oid_bytes] = take(rest)?;
    let has_tree = take(rest)? == [1];
    let head_tree = take_oid(rest, oid_bytes)?;

    let deleted = take_positions(rest)?;
    let (maybe_modified, hard_linked) = (take_positions(rest)?, take_positions(rest)?);
    let checked = take_count(rest)?;
    let tracked = TrackedScan { deleted, maybe_modified, hard_linked, checked, ..TrackedScan::default() };
    let (paths, pattern_files) = (take_paths(rest)?, take_paths(rest)?);
    let untracked = UntrackedScan { paths, pattern_files, ..UntrackedScan::default() };
    if !untracked.paths.iter().chain(&untracked.pattern_files).all(|path| is_inside(path.as_ref())) {
        return None;
    }

    let n_changes = u32::from_le_bytes(take(rest)?);
    let changes = (0..n_changes).map(|_| take_change(rest, oid_bytes)).collect::<Option<_>>()?;
    let (checked, filtered) = (take_count(rest)?, take_paths(rest)?);
    let changes = WorktreeChanges { changes, checked, filtered, ..Default::default() };
    let head_tree = has_tree.then_some(head_tree);
    let outcome = Outcome { head_tree, all_in_index: true, changes: Arc::new(changes) };
    Some((WorktreeScan { tracked, untracked }, outcome))
}

fn take_change(rest: &mut &[u8], oid_bytes: u8) -> Option<WorktreeChange> {
    let path = take_path(rest)?;
    let state = match take(rest)? {
        [0] => FileState::Staged,
        [1] => FileState::Dirty,
        [2] => FileState::Untracked,
        _ => return None,
    };
    let [bits] = take(rest)?;
    let bytes = if bits & 2 == 0 { None } else { Some(take_blob(rest, oid_bytes)?) };
    Some(WorktreeChange { path, state, conflicted: bits & 1 != 0, bytes })
}

fn take_blob(rest: &mut &[u8], oid_bytes: u8) -> Option<WorktreeBlob> {
    let oid = take_oid(rest, oid_bytes)?;
    let mode = match take(rest)? {
        [0] => Mode::File,
        [1] => Mode::Executable,
        [2] => Mode::Symlink,
        _ => return None,
    };
    Some(WorktreeBlob { oid, mode, size: u64::from_le_bytes(take(rest)?) })
}

fn take_oid(rest: &mut &[u8], oid_bytes: u8) -> Option<Oid> {
    Oid::try_from(take_slice(rest, usize::from(oid_bytes))?).ok()
}

fn take_count(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(take(rest)?)).ok()
}

fn take_positions(rest: &mut &[u8]) -> Option<Vec<usize>> {
    let n = u32::from_le_bytes(take(rest)?);
    (0..n).map(|_| Some(u32::from_le_bytes(take(rest)?) as usize)).collect()
}
