//! The schedule on which unfinished builds are published.

use std::time::{Duration, Instant};

/// Interval between later checkpoints. A checkpoint that would cut the open segment short waits up to as long
/// again.
pub(super) const CHECKPOINT_EVERY: Duration = Duration::from_secs(15);

/// The schedule of checkpoints.
pub(super) struct Checkpoints {
    last: Instant,
    interval: Duration,
}

impl Checkpoints {
    pub(super) fn new(first: Duration) -> Checkpoints {
        Checkpoints { last: Instant::now(), interval: first }
    }

    /// Returns whether a checkpoint is due `now`. `is_sealed` tells whether it would cut no segment short.
    pub(super) fn is_due(&self, now: Instant, is_sealed: bool) -> bool {
        let since = now.saturating_duration_since(self.last);
        let patience = if is_sealed || self.interval < CHECKPOINT_EVERY { 1 } else { 2 };
        since >= self.interval * patience
    }

    /// Notes that a checkpoint ended `now`, and doubles the interval up to the largest.
    pub(super) fn done(&mut self, now: Instant) {
        *self = Checkpoints { last: now, interval: (self.interval * 2).min(CHECKPOINT_EVERY) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tuning;
    use super::*;

    #[test]
    fn checkpoints_come_soon_at_first_and_then_wait_for_full_segments() {
        let mut schedule = Checkpoints::new(Tuning::default().first_checkpoint);
        let start = schedule.last;
        let mut due = Vec::new();
        for second in 0..=120u64 {
            let now = start + Duration::from_secs(second);
            // A segment is full every nine seconds.
            if schedule.is_due(now, second % 9 == 0) {
                due.push(second);
                schedule.done(now);
            }
        }
        assert_eq!(due, [2, 6, 14, 36, 54, 72, 90, 108]);
        let mut slow = Checkpoints { last: start, interval: CHECKPOINT_EVERY };
        assert!(!slow.is_due(start + CHECKPOINT_EVERY, false));
        assert!(slow.is_due(start + CHECKPOINT_EVERY * 2, false));
        slow.done(start);
        assert_eq!(slow.interval, CHECKPOINT_EVERY);
    }
}
