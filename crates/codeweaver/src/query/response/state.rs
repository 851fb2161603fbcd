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

impl From<FileState> for MatchState {
    fn from(state: FileState) -> MatchState {
        match state {
            FileState::Staged => MatchState::Staged,
            FileState::Dirty => MatchState::Dirty,
            FileState::Untracked => MatchState::Untracked,
        }
    }
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
