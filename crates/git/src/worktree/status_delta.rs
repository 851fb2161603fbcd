//! Difference to the status cache: files that were touched since it was written, and the outcome with them.
//!
//! The status cache has the stat data of every path, so it is written by full scans alone. While a few files
//! stay edited, each process would have to parse git's index and compare these files again. So a run that has
//! done this stores its result in a small file beside the status cache.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

use super::cache_file::{self, take, take_path};
use super::context::StatusContext;
use super::expected_stat::ExpectedStat;
use super::inputs::InputFile;
use super::run::{Outcome, StatusRun};
use super::scan::WorktreeScan;
use super::stat::Time;
use super::stored_run::{MAX_TOUCHED, fits, put_outcome, put_path, take_outcome};
use super::to_git::is_inside;
use crate::BString;

/// Changes of a later run to a cached run.
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
    /// Files whose stat data differs from that in the status cache.
    pub touched: Vec<(BString, ExpectedStat)>,
}

const MAGIC: &[u8; 8] = b"CWDIFF01";

impl StatusDelta {
    /// Loads the difference to the status cache with the checksum `base`, if there is one beside
    /// `cache_file`.
    pub fn load(cache_file: &Path, base: &[u8; 16]) -> Option<StatusDelta> {
        let bytes = cache_file::read(&path_of(cache_file), MAGIC)?;
        let rest = &mut bytes.get(MAGIC.len()..)?;
        if take::<16>(rest)? != *base {
            return None;
        }

        let (scan, outcome) = take_outcome(rest)?;
        let n_touched = u32::from_le_bytes(take(rest)?);
        let touched = (0..n_touched).map(|_| take_touched(rest)).collect::<Option<_>>()?;
        (rest.is_empty() && !bytes.has_failed()).then_some(StatusDelta { scan, outcome, touched })
    }
}

fn take_touched(rest: &mut &[u8]) -> Option<(BString, ExpectedStat)> {
    let path = take_path(rest)?;
    is_inside(path.as_ref()).then_some((path, ExpectedStat::take(rest)?))
}

/// Stat data of touched files from before they were compared.
pub(super) struct Observation {
    files: Vec<(BString, ExpectedStat)>,
    at: Time,
}

impl Observation {
    /// Observes files; `None` if there are none, or the stat data of one is unavailable.
    pub fn from_context(context: &StatusContext, touched: &FxHashSet<BString>) -> Option<Observation> {
        let at = Time::now();
        let mut files = Vec::with_capacity(touched.len());
        for path in touched {
            files.push((path.clone(), ExpectedStat::observe(&context.full_path(path.as_ref()))?));
        }
        (!files.is_empty()).then_some(Observation { files, at })
    }

    /// Stores `run`, in which the observed files were compared. All other files had been found to be as in
    /// the status cache `base`, or as in `known`. Best effort. Stores nothing if a file could change later
    /// without a change of its stat data.
    pub fn store(
        self,
        context: &StatusContext,
        run: &StatusRun,
        base: &[u8; 16],
        known: Vec<(BString, ExpectedStat)>,
    ) {
        let is_cacheable = fits(run)
            && run.inputs.iter().all(InputFile::is_unchanged)
            && self.files.iter().all(|(path, expected)| {
                !expected.is_racy(self.at) && expected.holds_at(&context.full_path(path.as_ref()))
            });

        // A new observation replaces an older one.
        let mut touched = known;
        touched.retain(|(path, _)| !self.files.iter().any(|(observed, _)| observed == path));
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
