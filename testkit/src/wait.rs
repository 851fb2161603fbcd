//! Waits for what other processes and threads do.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// Time limit of every wait, generous for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The first and the longest pause between two looks.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// Waits until `condition` holds.
///
/// # Panics
/// If it does not within two minutes; the message says `what` was waited for.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    assert!(comes_true(&mut condition), "waited {} s in vain: {what}", PATIENCE.as_secs());
}

/// Waits until `attempt` returns a value, and returns it.
///
/// # Panics
/// If it does not within two minutes; the message says `what` was waited for and has the last error.
#[track_caller]
pub fn wait_for<T, E: Display>(what: &str, attempt: impl FnMut() -> Result<T, E>) -> T {
    wait_longer_for(PATIENCE, what, attempt)
}

/// As [`wait_for`], with another time limit: for programs whose start alone takes a minute of computing.
///
/// # Panics
/// If there is no value within `patience`.
#[track_caller]
pub fn wait_longer_for<T, E: Display>(
    patience: Duration,
    what: &str,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> T {
    let mut last = None;
    comes_true_within(patience, || {
        last = Some(attempt());
        matches!(last, Some(Ok(_)))
    });

    match last {
        Some(Ok(value)) => value,
        Some(Err(error)) => panic!("waited {} s in vain: {what}; at last: {error:#}", patience.as_secs()),
        None => unreachable!("a wait looks at least once"),
    }
}

/// Waits until `condition` holds; returns whether it does within two minutes.
pub fn comes_true(condition: impl FnMut() -> bool) -> bool {
    comes_true_within(PATIENCE, condition)
}

/// Waits until `condition` holds; returns whether it does within `patience`.
fn comes_true_within(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    let [mut pause, longest] = PAUSES;
    loop {
        if condition() {
            return true;
        }
        if started.elapsed() > patience {
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(longest);
    }
}

/// Sleeps until all files that have been written are older than a tick of the clock of the file system.
///
/// A file that has changed within the last tick may change again without other stat data, so that what is
/// remembered about it is not used. No look at the file tells when the program stops to think so: after 20 ms
/// by its own clock, to which a tick of up to 16 ms comes.
pub fn outlast_clock_tick() {
    std::thread::sleep(Duration::from_millis(60));
}
