//! Tuning: the sizes and the time at which segments end.

use std::time::Duration;

/// Where the segments of a build end. What the index holds does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// Symbols and different words at which a segment is sealed, since they take more memory than rows where
    /// there are many, as in headers of registers. Most segments have half as many when they are full.
    pub seal_names: usize,
    /// As `seal_names`, at which a unit is passed on in parts.
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
