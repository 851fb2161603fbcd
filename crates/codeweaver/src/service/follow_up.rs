//! Work that an answer shows to be due. It is done in other processes, after the answer.

use codeweaver_index::{Codebase, asked_revisions, background};

use crate::query::response::IndexInfo;

/// Starts an update of the index if an answer from the state `index` of it shows that one is due, and notes
/// the revision that was asked for, so that it is indexed if it is asked for again.
pub fn follow_up(codebase: &Codebase, index: &IndexInfo) {
    background::update_if_due(codebase, index.needs_update);

    if index.is_revision_overlaid {
        asked_revisions::note(codebase, &index.tree);
    }
}
