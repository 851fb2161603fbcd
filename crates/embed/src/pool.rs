//! A pool of sessions of a model, made on demand.

use super::EmbedError;
use codeweaver_base::sync;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Up to `max` sessions.
pub(super) struct Pool<T> {
    make: Box<dyn Fn() -> Result<T, EmbedError> + Send + Sync>,
    max: usize,
    state: Mutex<State<T>>,
    returned: Condvar,
}

struct State<T> {
    idle: Vec<T>,
    /// Sessions that exist, idle or in use.
    n_created: usize,
}

impl<T> Pool<T> {
    /// Makes the first session.
    pub(super) fn new(
        max: usize,
        make: impl Fn() -> Result<T, EmbedError> + Send + Sync + 'static,
    ) -> Result<Self, EmbedError> {
        let first = make()?;
        let state = Mutex::new(State { idle: vec![first], n_created: 1 });
        Ok(Self { make: Box::new(make), max: max.max(1), state, returned: Condvar::new() })
    }

    pub(super) fn max(&self) -> usize {
        self.max
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        sync::lock(&self.state)
    }

    /// Takes an idle session, makes one, or waits for one if all are in use.
    pub(super) fn take(&self) -> Result<Lease<'_, T>, EmbedError> {
        let mut state = self.lock();
        loop {
            if let Some(session) = state.idle.pop() {
                return Ok(Lease { pool: self, session: Some(session) });
            }
            if state.n_created < self.max {
                state.n_created += 1;
                drop(state);
                // On an error or panic the lease returns the place without a session.
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
