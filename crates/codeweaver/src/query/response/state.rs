//! State: how current the files and the index are that an answer is made from.

use codeweaver_git::worktree::FileState;

/// State of the file of a match: as in the tree of the view (`committed`), changed in git's index (`staged`),
/// changed in the working tree (`dirty`), neither in git's index nor ignored (`untracked`), or not readable
/// in the working tree, so that the text is that of the tree (`unreadable`).
// The variants have no doc comments of their own because those would change the JSON schema of the MCP tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "documented at the type")]
pub enum MatchState {
    Committed,
    Staged,
    Dirty,
    Untracked,
    Unreadable,
}

impl MatchState {
    /// The name in a query and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            MatchState::Committed => "committed",
            MatchState::Staged => "staged",
            MatchState::Dirty => "dirty",
            MatchState::Untracked => "untracked",
            MatchState::Unreadable => "unreadable",
        }
    }

    /// The state called `name` that a query may ask for; `None` if there is none. A file that is not readable
    /// is shown as committed.
    pub fn by_name(name: &str) -> Option<MatchState> {
        let states = [MatchState::Committed, MatchState::Staged, MatchState::Dirty, MatchState::Untracked];
        states.into_iter().find(|state| state.name().eq_ignore_ascii_case(name))
    }
}

impl From<FileState> for MatchState {
    fn from(state: FileState) -> MatchState {
        match state {
            FileState::Staged => MatchState::Staged,
            FileState::Dirty => MatchState::Dirty,
            FileState::Untracked => MatchState::Untracked,
        }
    }
}

/// A state that limits an answer, in a form for programs: a first index is being built, so that the answer is
/// that of the files which are indexed so far (`indexing_in_progress`).
// The variants have no doc comments of their own because those would change the JSON schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs, reason = "documented at the type")]
pub enum Warning {
    IndexingInProgress,
}

/// The relation of the answer to HEAD and the working tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// The snapshot is of the wanted tree, and the working tree is clean as far as it was compared.
    Fresh,
    /// As `fresh`, after an update for which the request waited.
    Synced,
    /// Changes were laid over a snapshot.
    Overlaid,
    /// A first index is being built, of which the growing snapshot answers; or a reindex, during which the
    /// one before answers.
    SkippedIndexing,
    /// The snapshot is of another tree than the wanted one.
    Stale,
}
