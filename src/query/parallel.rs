//! Work on large views is shared among the cores, segment by segment.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Below this many rows the work is over before a thread has started. Debug builds are what tests run: they share nearly always.
const MIN_ROWS: u64 = if cfg!(debug_assertions) { 8 } else { 64 * 1024 };

/// What `task` makes of each of `0..n`, in order. Threads help if the work is about `n_rows` rows that are enough for it.
pub fn map<T: Send>(n: usize, n_rows: u64, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let n_threads = if n_rows < MIN_ROWS { 1 } else { cores.min(n) };
    let next = AtomicUsize::new(0);
    let take = || -> Vec<(usize, T)> {
        let mine = std::iter::from_fn(|| Some(next.fetch_add(1, Relaxed)).filter(|&at| at < n));
        mine.map(|at| (at, task(at))).collect()
    };
    let mut done = std::thread::scope(|threads| {
        // A thread that cannot be had is only missing help.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(threads, take).ok();
        let helpers: Vec<_> = (1..n_threads).filter_map(spawn).collect();
        let mut done = take();
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whoever_made_them() {
        for n in [0, 1, 2, 100] {
            let expected: Vec<usize> = (0..n).map(|at| at * at).collect();
            for n_rows in [0, u64::MAX] {
                assert_eq!(map(n, n_rows, |at| at * at), expected);
            }
        }
    }
}
