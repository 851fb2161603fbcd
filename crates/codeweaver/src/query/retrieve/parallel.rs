//! Data-parallel loops over segments, and over the texts of matches.
//!
//! They run on rayon threads: the tasks are independent scans that need little stack, and results are put in
//! the order of the items, so answers do not depend on scheduling. Parsing needs large stacks and uses other
//! threads.

use std::sync::LazyLock;

use rayon::ThreadPool;
use rayon::prelude::*;

/// `None` if the threads cannot be started, for example under a process limit. Loops are then sequential.
static POOL: LazyLock<Option<ThreadPool>> =
    LazyLock::new(|| rayon::ThreadPoolBuilder::new().thread_name(|i| format!("query-{i}")).build().ok());

/// Returns the threads to use for work on `n_rows` rows; `None` for a sequential loop.
fn pool(n_rows: u64, min_rows: u64) -> Option<&'static ThreadPool> {
    if n_rows < min_rows { None } else { POOL.as_ref() }
}

/// Returns the results of `task` for `0..n`, in order. Threads are used from `min_rows` rows of work.
pub fn map<T: Send>(n: usize, n_rows: u64, min_rows: u64, task: impl Fn(usize) -> T + Sync) -> Vec<T> {
    match pool(n_rows, min_rows) {
        Some(pool) if n > 1 => pool.install(|| (0..n).into_par_iter().with_max_len(1).map(&task).collect()),
        _ => (0..n).map(task).collect(),
    }
}

/// Maps as [`map`] does. `task` also gets a state that `init` makes, shared by the tasks of one thread.
/// Threads are used if `is_parallel`.
pub fn map_with<S, T: Send>(
    n: usize,
    is_parallel: bool,
    init: impl Fn() -> S + Sync + Send,
    task: impl Fn(&mut S, usize) -> T + Sync + Send,
) -> Vec<T> {
    let pool = if is_parallel { POOL.as_ref() } else { None };

    match pool {
        Some(pool) if n > 1 => {
            pool.install(|| (0..n).into_par_iter().with_max_len(1).map_init(&init, &task).collect())
        }
        _ => {
            let mut state = init();
            (0..n).map(|at| task(&mut state, at)).collect()
        }
    }
}

/// Calls `task` with each item and its position, in any order. Threads are used from `min_rows` rows of work.
pub fn for_each<T: Send>(items: &mut [T], n_rows: u64, min_rows: u64, task: impl Fn(usize, &mut T) + Sync) {
    match pool(n_rows, min_rows) {
        Some(pool) if items.len() > 1 => pool.install(|| {
            items.par_iter_mut().with_max_len(1).enumerate().for_each(|(at, item)| task(at, item));
        }),
        _ => items.iter_mut().enumerate().for_each(|(at, item)| task(at, item)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for n in [0, 1, 2, 100] {
            let expected: Vec<usize> = (0..n).map(|at| at * at).collect();
            for n_rows in [0, u64::MAX] {
                assert_eq!(map(n, n_rows, 8, |at| at * at), expected);
                let with_state = map_with(n, n_rows > 0, Vec::new, |seen, at| {
                    seen.push(at);
                    at * seen[seen.len() - 1]
                });
                assert_eq!(with_state, expected);
            }
        }
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        for n_rows in [0, u64::MAX] {
            let panicking = || map(100, n_rows, 8, |at| assert!(at != 57));
            assert!(std::panic::catch_unwind(panicking).is_err());
        }
    }
}
