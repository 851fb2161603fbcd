//! A bound on how far workers run ahead of the unit that the merging thread waits for.
//!
//! Without it, one slow unit (a huge generated file) lets the other threads finish any number of later units,
//! which all wait in memory.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use codeweaver_base::sync;

/// Number of units that may be started before the oldest unfinished one is merged: tens of megabytes.
const MAX_AHEAD: usize = 32;
/// Interval at which a waiting worker checks whether the run was stopped.
const POLL: Duration = Duration::from_millis(100);

/// Counts merged units.
#[derive(Default)]
pub(crate) struct RunAhead {
    n_merged: Mutex<usize>,
    moved: Condvar,
}

/// A guard that lets all workers go on when the merging thread ends, for whatever reason.
pub struct Release<'a>(&'a RunAhead);

impl RunAhead {
    /// Returns a guard for the merging thread to hold.
    pub(crate) fn release_at_end(&self) -> Release<'_> {
        Release(self)
    }

    /// Notes that `n` units in all are merged.
    pub fn merged(&self, n: usize) {
        *sync::lock(&self.n_merged) = n;
        self.moved.notify_all();
    }

    /// Waits until `unit` is less than `MAX_AHEAD` units after the first that is not merged, or `is_stopped`
    /// returns true.
    pub fn wait(&self, unit: usize, is_stopped: &dyn Fn() -> bool) {
        let mut n_merged = sync::lock(&self.n_merged);
        while unit >= n_merged.saturating_add(MAX_AHEAD) && !is_stopped() {
            n_merged = match self.moved.wait_timeout(n_merged, POLL) {
                Ok((n_merged, _)) => n_merged,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }
}

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.merged(usize::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn workers_stay_near_the_merged_units_and_are_released_at_the_end() {
        let ahead = RunAhead::default();
        let begun = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let release = ahead.release_at_end();
            scope.spawn(|| {
                for unit in 0..10 * MAX_AHEAD {
                    ahead.wait(unit, &|| false);
                    begun.store(unit + 1, SeqCst);
                }
            });
            for n_merged in 0..3 * MAX_AHEAD {
                ahead.merged(n_merged);
                while begun.load(SeqCst) < n_merged + MAX_AHEAD {
                    std::thread::yield_now();
                }
                assert_eq!(begun.load(SeqCst), n_merged + MAX_AHEAD);
            }
            drop(release);
        });
        assert_eq!(begun.load(SeqCst), 10 * MAX_AHEAD);
        // A stopped run does not wait.
        RunAhead::default().wait(usize::MAX - 1, &|| true);
    }
}
