//! Difference to the status cache: files that were touched since it was written, and the outcome with them.
//!
//! The status cache has the stat data of every path, so it is written by full scans alone. While a few files
//! stay edited, each process would parse git's index and compare these files again. A run that has done so
//! therefore leaves what it found in a small file beside the status cache.

use super::cache_file::{self, take, take_path};
use super::context::StatusContext;
use super::inputs::InputFile;
use super::run::{Outcome, StatusRun};
use super::scan::WorktreeScan;
use super::stat::Time;
use super::status_cache::{ExpectedStat, MAX_TOUCHED, fits, put_outcome, put_path, take_outcome};
use super::to_git::is_inside;
use crate::BString;
use rustc_hash::FxHashSet;
use std::path::{Path, PathBuf};

/// What a later run changed in a cached run.
///
/// Layout, little endian, in the envelope of [`cache_file`]:
///
/// * magic `CWDIFF01`; checksum of the status cache that it belongs to, 16 bytes
/// * scan and outcome, as in the status cache
/// * number of touched files u32, each: path, expected stat
///
/// A file with any other content is treated as absent; losing it costs time only.
pub(super) struct StatusDelta {
    pub scan: WorktreeScan,
    pub outcome: Outcome,
    /// The files whose stat data is no longer that of the status cache.
    pub touched: Vec<(BString, ExpectedStat)>,
}

const MAGIC: &[u8; 8] = b"CWDIFF01";

impl StatusDelta {
    /// The difference to the status cache with the checksum `base`, if there is one beside `cache_file`.
    pub fn load(cache_file: &Path, base: &[u8; 16]) -> Option<StatusDelta> {
        let bytes = cache_file::read(&path_of(cache_file), MAGIC)?;
        let rest = &mut bytes.get(MAGIC.len()..)?;
        if take::<16>(rest)? != *base {
            return None;
        }
        let (scan, outcome) = take_outcome(rest)?;
        let n_touched = u32::from_le_bytes(take(rest)?);
        let touched = |_| {
            let path = take_path(rest)?;
            is_inside(path.as_ref()).then_some((path, ExpectedStat::take(rest)?))
        };
        let touched = (0..n_touched).map(touched).collect::<Option<_>>()?;
        (rest.is_empty() && !bytes.has_failed()).then_some(StatusDelta { scan, outcome, touched })
    }
}

/// The stat data of touched files before they were compared.
pub(super) struct Observation {
    files: Vec<(BString, ExpectedStat)>,
    at: Time,
}

impl Observation {
    /// `None` if there are no files, or the stat data of one cannot be had.
    pub fn of(context: &StatusContext, touched: &FxHashSet<BString>) -> Option<Observation> {
        let at = Time::now();
        let observe =
            |path: &BString| Some((path.clone(), ExpectedStat::observe(&context.full_path(path.as_ref()))?));
        let files = touched.iter().map(observe).collect::<Option<Vec<_>>>()?;
        (!files.is_empty()).then_some(Observation { files, at })
    }

    /// Stores `run`, in which the observed files were compared after all others had been found to be as in
    /// the status cache `base`, or as in `known`. Best effort. Stores nothing if a later change could look
    /// the same.
    pub fn store(
        self,
        context: &StatusContext,
        run: &StatusRun,
        base: &[u8; 16],
        known: Vec<(BString, ExpectedStat)>,
    ) {
        let is_settled = |(path, expected): &(BString, ExpectedStat)| {
            !expected.is_racy(self.at) && expected.holds_at(&context.full_path(path.as_ref()))
        };
        let is_cacheable =
            fits(run) && run.inputs.iter().all(InputFile::is_unchanged) && self.files.iter().all(is_settled);
        let is_older = |(path, _): &(BString, ExpectedStat)| !self.files.iter().any(|(it, _)| it == path);
        let mut touched: Vec<_> = known.into_iter().filter(is_older).collect();
        touched.extend(self.files.iter().cloned());
        if is_cacheable
            && touched.len() <= MAX_TOUCHED
            && let Some(bytes) = encode(context, run, base, &touched)
        {
            cache_file::write(&path_of(context.cache_file), bytes);
        }
    }
}

fn encode(
    context: &StatusContext,
    run: &StatusRun,
    base: &[u8; 16],
    touched: &[(BString, ExpectedStat)],
) -> Option<Vec<u8>> {
    let mut bytes = [MAGIC.as_slice(), base].concat();
    put_outcome(&mut bytes, run, context.repo.object_hash())?;
    bytes.extend_from_slice(&(touched.len() as u32).to_le_bytes());
    for (path, expected) in touched {
        put_path(&mut bytes, path.as_ref())?;
        expected.put(&mut bytes);
    }
    Some(bytes)
}

fn path_of(cache_file: &Path) -> PathBuf {
    let mut path = cache_file.as_os_str().to_owned();
    path.push("-touched");
    path.into()
}
