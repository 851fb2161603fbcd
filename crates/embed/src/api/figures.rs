//! Figures on the requests to an API, for monitors.

use std::collections::VecDeque;
use std::time::Duration;

use super::breaker::State;

/// Number of requests whose times are stored.
const WINDOW: usize = 100;

/// Counts of the requests of this process.
#[derive(Debug, Default)]
pub struct Figures {
    n_requests: u64,
    n_errors: u64,
    n_opened: u64,
    latencies: VecDeque<Duration>,
}

/// Figures on the requests to an API, since the model was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiFigures {
    /// Number of requests. A request and its retries count once.
    pub n_requests: u64,
    /// Number of requests that failed.
    pub n_errors: u64,
    /// Number of times that the circuit breaker has opened.
    pub n_opened: u64,
    /// `closed`, `open` or `half_open`.
    pub breaker_state: &'static str,
    /// Times of the last 100 requests, in order.
    pub latencies: Vec<Duration>,
}

impl Figures {
    /// Counts a request.
    pub fn requested(&mut self, time: Duration, has_failed: bool) {
        self.n_requests += 1;
        self.n_errors += u64::from(has_failed);

        if self.latencies.len() == WINDOW {
            self.latencies.pop_front();
        }
        self.latencies.push_back(time);
    }

    /// Counts that the breaker has opened.
    pub fn opened(&mut self) {
        self.n_opened += 1;
    }

    /// Returns the figures with the present state of the breaker.
    pub fn report(&self, state: State) -> ApiFigures {
        ApiFigures {
            n_requests: self.n_requests,
            n_errors: self.n_errors,
            n_opened: self.n_opened,
            breaker_state: state.name(),
            latencies: self.latencies.iter().copied().collect(),
        }
    }
}
