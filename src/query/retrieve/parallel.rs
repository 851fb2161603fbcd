//! Work on large views is shared among the cores, segment by segment.

use crate::sync;
use std::sync::{Mutex, OnceLock};

/// Below this many rows starting a thread costs about what it saves. Debug builds are what tests run: they share nearly always.
const MIN_ROWS: u64 = if cfg!(debug_assertions) { 8 } else { 64 * 1024 };

/// What `task` makes of each of `0..n`, in order. Threads help if the work is about `n_rows` rows that are enough for it.
pub fn map<T: Send>(n: usize, n_rows: u64, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut made: Vec<Option<T>> = std::iter::repeat_with(|| None).take(n).collect();
    for_each(&mut made, n_rows, |at, made| *made = Some(task(at)));
    made.into_iter().flatten().collect()
}

/// Does `task` on each item and its number, in any order. Threads help if the work is about `n_rows` rows that are enough for it.
pub fn for_each<T: Send>(items: &mut [T], n_rows: u64, task: impl Fn(usize, &mut T) + Sync) {
    if n_rows < MIN_ROWS {
        items.iter_mut().enumerate().for_each(|(at, item)| task(at, item));
        return;
    }
    let n_threads = cores().min(items.len());
    // An iterator of exclusive references, from which each worker takes the next.
    let rest = Mutex::new(items.iter_mut().enumerate());
    let take = || sync::lock(&rest).next();
    let work = || {
        while let Some((at, item)) = take() {
            task(at, item);
        }
    };
    std::thread::scope(|threads| {
        // A thread that cannot be had is only missing help.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(threads, work).ok();
        let helpers: Vec<_> = (1..n_threads).filter_map(spawn).collect();
        work();
        for helper in helpers {
            helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
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

    #[test]
    fn a_panic_reaches_the_caller() {
        for n_rows in [0, u64::MAX] {
            let panicking = || map(100, n_rows, |at| assert!(at != 57));
            assert!(std::panic::catch_unwind(panicking).is_err());
        }
    }
}
