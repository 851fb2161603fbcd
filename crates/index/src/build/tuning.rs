//! Limits of size and time at which segments end.

use std::time::Duration;

/// The limits at which the segments of a build end. The content of the index does not depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tuning {
    /// Number of symbols and different words at which a segment is sealed, since they take more memory than
    /// rows where there are many, as in headers of registers. Most segments have half as many when they are
    /// full.
    pub seal_names: usize,
    /// Number of the same at which a unit is passed on in parts.
    pub part_names: usize,
    /// Time to the first checkpoint. Each of the next takes twice as long, up to
    /// [`CHECKPOINT_EVERY`](super::checkpoints::CHECKPOINT_EVERY): a large first index answers after seconds,
    /// and has few small segments.
    pub first_checkpoint: Duration,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning { seal_names: 1_536 * 1024, part_names: 256 * 1024, first_checkpoint: Duration::from_secs(2) }
    }
}
