//! Questions that nobody waits for any more are given up.

use super::error::QueryError;
use crate::index::progress::Progress;
use std::sync::Arc;

/// Says that time is up, or that nobody waits for the answer any more. Asked from several threads.
pub type IsOver<'a> = &'a (dyn Fn() -> bool + Sync);

/// Tells whether the answer to a question is still wanted; always, by default.
///
/// It is asked between the steps of an answer and in its loops, from several threads, so it must be quick. What was begun
/// ends with [`QueryError::Cancelled`] soon after.
#[derive(Clone, Default)]
pub struct Cancel(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Cancel {
    /// Called off once `is_cancelled` says so. It must not say otherwise later.
    pub fn when(is_cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Cancel {
        Cancel(Some(Arc::new(is_cancelled)))
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|is_cancelled| is_cancelled())
    }

    /// # Errors
    /// [`QueryError::Cancelled`] if nobody waits any more.
    pub fn check(&self) -> Result<(), QueryError> {
        if self.is_cancelled() { Err(QueryError::Cancelled) } else { Ok(()) }
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_cancelled() { "cancelled" } else { "wanted" })
    }
}

/// Two questions that differ in nothing else are the same question.
impl PartialEq for Cancel {
    fn eq(&self, _: &Cancel) -> bool {
        true
    }
}

impl Eq for Cancel {}

/// Building what is laid over a view stops like any other run.
impl Progress for Cancel {
    fn stopped(&self) -> bool {
        self.is_cancelled()
    }
}
