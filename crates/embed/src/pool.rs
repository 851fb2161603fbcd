//! A pool of sessions of a model, created on demand.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use codeweaver_base::sync;

use super::EmbedError;

/// Up to `max` sessions.
pub(super) struct Pool<T> {
    make: Box<dyn Fn() -> Result<T, EmbedError> + Send + Sync>,
    max: usize,
    state: Mutex<State<T>>,
    returned: Condvar,
}

struct State<T> {
    idle: Vec<T>,
    /// Number of sessions that exist, idle or in use.
    n_created: usize,
}

impl<T> Pool<T> {
    /// Creates the pool and its first session.
    pub(super) fn new(
        max: usize,
        make: impl Fn() -> Result<T, EmbedError> + Send + Sync + 'static,
    ) -> Result<Self, EmbedError> {
        let first = make()?;
        let state = Mutex::new(State { idle: vec![first], n_created: 1 });
        Ok(Self { make: Box::new(make), max: max.max(1), state, returned: Condvar::new() })
    }

    /// Maximum number of sessions.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        sync::lock(&self.state)
    }

    /// Takes an idle session, creates one, or waits for one if all are in use.
    pub(super) fn take(&self) -> Result<Lease<'_, T>, EmbedError> {
        let mut state = self.lock();
        loop {
            if let Some(session) = state.idle.pop() {
                return Ok(Lease { pool: self, session: Some(session) });
            }
            if state.n_created < self.max {
                state.n_created += 1;
                drop(state);
                // On an error or panic the lease is dropped without a session, which makes room for another.
                let mut lease = Lease { pool: self, session: None };
                lease.session = Some((self.make)()?);
                return Ok(lease);
            }

            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A session in use, returned to the pool on drop.
pub(super) struct Lease<'a, T> {
    pool: &'a Pool<T>,
    session: Option<T>,
}

impl<T> Lease<'_, T> {
    /// The session.
    pub(super) fn get(&mut self) -> &mut T {
        self.session.as_mut().expect("`take` hands out leases with a session only")
    }
}

impl<T> Drop for Lease<'_, T> {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        match self.session.take() {
            Some(session) => state.idle.push(session),
            None => state.n_created -= 1,
        }
        drop(state);
        self.pool.returned.notify_one();
    }
}
