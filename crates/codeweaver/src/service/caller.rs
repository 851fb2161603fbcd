//! A front-end, as the service sees it.

use std::time::Duration;

use codeweaver_index::Codebase;

use super::progress::Progress;

/// Maximum times that a request waits for its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For the repair of a damaged index. Without it there is no answer.
    pub repair: Duration,
    /// For an index that is gone to be built again. After that, the part that is complete answers.
    pub rebuild: Duration,
}

/// The caller of a request: one command, one call of a tool, or one HTTP request.
pub trait Caller {
    /// The times that this caller waits for the index of `codebase`.
    fn patience(&self, codebase: &Codebase) -> Patience;

    /// Returns whether the caller has gone, so that nothing is waited for any more.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Returns whether a request of this caller may build the first index of `codebase`, if that takes a
    /// moment.
    fn may_index(&self, _codebase: &Codebase) -> bool {
        false
    }

    /// Tells the caller why its request to `codebase` waits.
    fn tell(&self, codebase: &Codebase, progress: Progress<'_>);
}
