//! Cancellation of requests.

use std::sync::Arc;

use codeweaver_index::progress::Progress;

use super::error::QueryError;

/// Whether a stage should stop, because the time is up or the request was cancelled. Called from several
/// threads.
pub type IsOver<'a> = &'a (dyn Fn() -> bool + Sync);

/// A cancellation token. By default, a request is never cancelled.
///
/// It is polled between the stages of a request and in their loops, from several threads, so it must be
/// quick. A cancelled request ends with [`QueryError::Cancelled`] soon after.
#[derive(Clone, Default)]
pub struct Cancel(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Cancel {
    /// A token that is cancelled as soon as `is_cancelled` returns true. It must not return false later.
    pub fn when(is_cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Cancel {
        Cancel(Some(Arc::new(is_cancelled)))
    }

    /// Returns whether the request was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|is_cancelled| is_cancelled())
    }

    /// Returns an error if the request was cancelled.
    ///
    /// # Errors
    /// [`QueryError::Cancelled`].
    pub fn check(&self) -> Result<(), QueryError> {
        if self.is_cancelled() { Err(QueryError::Cancelled) } else { Ok(()) }
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_cancelled() { "cancelled" } else { "wanted" })
    }
}

/// All tokens are equal, so that equal requests compare as equal.
impl PartialEq for Cancel {
    fn eq(&self, _: &Cancel) -> bool {
        true
    }
}

impl Eq for Cancel {}

/// A cancelled request stops building its overlay.
impl Progress for Cancel {
    fn stopped(&self) -> bool {
        self.is_cancelled()
    }
}
