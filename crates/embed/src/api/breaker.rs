//! Circuit breaker: sends no requests to an API that fails repeatedly, so that answers do not wait for it.
//!
//! While it is closed, every request passes. After [`MAX_FAILURES`] failures in sequence it is open, and none
//! passes for [`PAUSE`]. Then it is half open: one request passes, whose outcome closes it or opens it again.
//! The caller provides the clock.

use std::time::{Duration, Instant};

/// Number of failures in sequence that open it.
pub const MAX_FAILURES: u32 = 5;
/// Time for which it stays open.
pub const PAUSE: Duration = Duration::from_secs(30);

/// State of a [`Breaker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Closed,
    Open,
    HalfOpen,
}

impl State {
    /// Returns the name in output.
    pub fn name(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::Open => "open",
            State::HalfOpen => "half_open",
        }
    }
}

/// A breaker, closed at first.
#[derive(Debug, Default)]
pub struct Breaker {
    n_failures: u32,
    opened_at: Option<Instant>,
    /// Whether the one request of the half-open state is on its way.
    is_trying: bool,
}

impl Breaker {
    /// Returns the state at the time `now`.
    pub fn state(&self, now: Instant) -> State {
        match self.opened_at {
            None => State::Closed,
            Some(opened_at) if now.saturating_duration_since(opened_at) < PAUSE => State::Open,
            Some(_) => State::HalfOpen,
        }
    }

    /// Returns whether a request may be sent. If so, [`Self::succeeded`] or [`Self::failed`] must follow.
    pub fn admits(&mut self, now: Instant) -> bool {
        match self.state(now) {
            State::Closed => true,
            State::Open => false,
            State::HalfOpen => !std::mem::replace(&mut self.is_trying, true),
        }
    }

    /// Closes it after a request that succeeded.
    pub fn succeeded(&mut self) {
        *self = Breaker::default();
    }

    /// Counts a failed request, which may open it.
    pub fn failed(&mut self, now: Instant) {
        self.n_failures += 1;
        if self.n_failures >= MAX_FAILURES || self.opened_at.is_some() {
            (self.opened_at, self.is_trying) = (Some(now), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A breaker that has just failed so often that it is open, and the time of that.
    fn open() -> (Breaker, Instant) {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..MAX_FAILURES {
            assert!(breaker.admits(now));
            breaker.failed(now);
        }
        (breaker, now)
    }

    #[test]
    fn opens_after_failures_in_sequence_only() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for _ in 1..MAX_FAILURES {
            breaker.failed(now);
        }
        assert_eq!(breaker.state(now), State::Closed);
        breaker.succeeded();
        breaker.failed(now);
        assert_eq!(breaker.state(now), State::Closed);
        let (mut breaker, now) = open();
        assert_eq!(breaker.state(now), State::Open);
        assert!(!breaker.admits(now) && !breaker.admits(now + PAUSE - Duration::from_millis(1)));
    }

    #[test]
    fn half_open_admits_one_request_whose_outcome_decides() {
        let (mut breaker, now) = open();
        let later = now + PAUSE;
        assert_eq!(breaker.state(later), State::HalfOpen);
        assert!(breaker.admits(later) && !breaker.admits(later), "one only");
        breaker.failed(later);
        assert_eq!((breaker.state(later), breaker.state(later + PAUSE)), (State::Open, State::HalfOpen));
        assert!(breaker.admits(later + PAUSE));
        breaker.succeeded();
        assert_eq!(breaker.state(later + PAUSE), State::Closed);
        assert!(breaker.admits(later + PAUSE) && breaker.admits(later + PAUSE));
    }

    #[test]
    fn a_late_success_closes_and_a_late_failure_prolongs() {
        let (mut breaker, now) = open();
        // Requests that were on their way when it opened.
        breaker.failed(now + Duration::from_secs(10));
        assert_eq!(breaker.state(now + PAUSE), State::Open);
        breaker.succeeded();
        assert_eq!(breaker.state(now + PAUSE), State::Closed);
    }
}
