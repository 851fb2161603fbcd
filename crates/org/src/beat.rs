//! Signs of life of a process during work that takes longer than others wait for one.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Runs `work` while a thread calls `beat` after each `interval`, until it returns false or the work ends.
pub(super) fn beating<T>(
    interval: Duration,
    mut beat: impl FnMut() -> bool + Send,
    work: impl FnOnce() -> T,
) -> T {
    std::thread::scope(|scope| {
        let (is_running, is_over) = channel::<()>();
        scope.spawn(
            move || while is_over.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) && beat() {},
        );

        let result = work();
        drop(is_running);
        result
    })
}
