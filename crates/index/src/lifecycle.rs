//! The lifecycle of an index, derived from the stored state and the running processes.

use codeweaver_store::StoreReader;
use codeweaver_store::state::{Head, MARKER_KIND, Phase, State};

use super::checkpoint::{self, Checkpoint};
use super::codebase::Codebase;
use super::target::Target;

/// Lifecycle state of a codebase, with the details that a gate reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lifecycle {
    /// No index has been completed.
    NotIndexed,
    /// A first index or a reindex ended before it was done. The next run continues with the stored chunks.
    Interrupted {
        /// Number of chunks that are stored.
        n_chunks: u64,
    },
    /// A first index or a reindex is running.
    Indexing,
    /// An index answers.
    Indexed,
    /// The first index failed, with the message of its error.
    IndexFailed(String),
    /// The index was built for other settings.
    RequiresReindex {
        /// Both sides of the difference.
        reason: String,
    },
}

impl Lifecycle {
    /// The name of the state.
    pub fn name(&self) -> &'static str {
        match self {
            Lifecycle::NotIndexed | Lifecycle::Interrupted { .. } => "not_indexed",
            Lifecycle::Indexing => "indexing",
            Lifecycle::Indexed => "indexed",
            Lifecycle::IndexFailed(_) => "index_failed",
            Lifecycle::RequiresReindex { .. } => "requires_reindex",
        }
    }

    /// The reason, for states that have one.
    pub fn reason(&self) -> Option<String> {
        match self {
            Lifecycle::NotIndexed | Lifecycle::Indexing | Lifecycle::Indexed => None,
            Lifecycle::Interrupted { n_chunks: 0 } => {
                Some("indexing was interrupted before its first checkpoint".to_owned())
            }
            Lifecycle::Interrupted { n_chunks } => {
                Some(format!("indexing was interrupted; {n_chunks} chunks are kept"))
            }
            Lifecycle::IndexFailed(reason) | Lifecycle::RequiresReindex { reason } => Some(reason.clone()),
        }
    }
}

impl Codebase {
    /// Returns whether a snapshot of the target's tree is published, so that an update has nothing to build.
    pub fn has_snapshot(&self, target: &Target) -> bool {
        let state = State::read(&self.store().state()).ok().flatten();
        state.is_some_and(|state| state.snapshots.contains_key(&self.snapshot_key(&target.tree_oid())))
    }

    /// The lifecycle state, derived from the stored state and never from the mere existence of files.
    pub fn lifecycle(&self, reader: Option<&StoreReader>) -> Lifecycle {
        self.lifecycle_in(reader.map(|reader| &*reader.state))
    }

    /// As [`Self::lifecycle`], from the state alone.
    pub fn lifecycle_in(&self, state: Option<&State>) -> Lifecycle {
        let head = state.and_then(|state| self.head_in(state));
        let is_held = || self.lease_holder().is_some();

        match head {
            Some(head) => match head.phase {
                Phase::Indexed if self.accepts(head) => Lifecycle::Indexed,
                Phase::IndexFailed if is_held() => Lifecycle::Indexing,
                Phase::IndexFailed => Lifecycle::IndexFailed(head.failure.clone().unwrap_or_default()),
                Phase::Indexing | Phase::Indexed if is_held() => Lifecycle::Indexing,
                Phase::Indexing => {
                    Lifecycle::Interrupted { n_chunks: checkpoint::unfinished(self).unwrap_or(0) }
                }
                Phase::Indexed => Lifecycle::NotIndexed,
            },
            // A run for the current vector space has begun. Before that, a held lock must not hide that the
            // index does not fit.
            None if checkpoint::running(self).is_some() => Lifecycle::Indexing,
            None => match self.other_store() {
                Some(other) => Lifecycle::RequiresReindex { reason: other },
                None if is_held() => Lifecycle::Indexing,
                None if Checkpoint::read(self).is_some() => Lifecycle::Interrupted { n_chunks: 0 },
                None => Lifecycle::NotIndexed,
            },
        }
    }

    /// The command that leads from this state to a usable index; `None` if none is needed.
    pub fn remedy(&self, lifecycle: &Lifecycle) -> Option<&'static str> {
        match lifecycle {
            Lifecycle::Indexed | Lifecycle::Indexing => None,
            Lifecycle::NotIndexed if !self.layout.was_initialised() => Some("git codeweaver init"),
            Lifecycle::NotIndexed | Lifecycle::Interrupted { .. } | Lifecycle::IndexFailed(_) => {
                Some("git codeweaver index")
            }
            Lifecycle::RequiresReindex { .. } => Some("git codeweaver index --reindex"),
        }
    }

    /// Returns whether the completion marker of `head` proves an index in this vector space.
    fn accepts(&self, head: &Head) -> bool {
        head.marker
            .as_ref()
            .is_some_and(|marker| marker.kind == MARKER_KIND && marker.fingerprint == self.vector_space)
    }

    /// The description of a store of another vector space that has an index of this worktree.
    fn other_store(&self) -> Option<String> {
        let ours = self.store();
        for store in self.layout.stores().into_iter().filter(|store| *store != ours) {
            let Ok(Some(state)) = State::read(&store.state()) else { continue };
            let Some(marker) = self.head_in(&state).and_then(|head| head.marker.as_ref()) else { continue };
            return Some(format!(
                "the index was built with {}, the settings name {}",
                marker.fingerprint, self.vector_space
            ));
        }

        None
    }
}
