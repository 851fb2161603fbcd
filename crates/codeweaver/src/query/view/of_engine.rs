//! A view of the candidates that an engine has found.

use std::sync::{Arc, Mutex};

use codeweaver_index::Codebase;
use codeweaver_index::catalogue::Behind;
use codeweaver_index::overlay::OverlaidFiles;
use codeweaver_store::StoreReader;
use codeweaver_store::entries::{Entries, NewEntry};
use codeweaver_store::segment::Segment;
use codeweaver_store::snapshot::Snapshot;

use super::members::Members as LiveMembers;
use super::whole::WholeCounts;
use super::{Freshness, View};
use crate::query::engine::{CandidateFiles, Whole};
use crate::query::error::QueryError;

impl View {
    /// Makes a view of `found`, with the totals of `whole`. Texts that the engine does not keep are those of
    /// `codebase`.
    ///
    /// # Errors
    /// [`QueryError::Store`] if the docs do not fit together; [`QueryError::Engine`] if two repositories have
    /// one name.
    pub fn of_engine(
        codebase: &Codebase,
        whole: &Whole,
        counts: Arc<WholeCounts>,
        found: CandidateFiles,
    ) -> Result<View, QueryError> {
        let CandidateFiles { builder, places, texts, warnings } = found;
        let mut reader = StoreReader::empty(&codebase.store());
        let mut snapshot = Snapshot { totals: whole.totals.clone(), ..Snapshot::default() };

        if builder.n_docs() > 0 {
            reader.push_segment(Arc::new(Segment::in_memory(builder)?));

            // A doc has an entry for each of its places.
            let entries: Vec<NewEntry> = places
                .into_iter()
                .enumerate()
                .flat_map(|(doc, places)| places.into_iter().map(move |place| (doc, place)))
                .map(|(doc, place)| NewEntry {
                    path: place.path,
                    doc: doc as u32,
                    skipped: 0,
                    flags: place.flags,
                })
                .collect();
            let base = reader.push_entries(Entries::in_memory(&entries)?);
            snapshot.entries.insert_range(base..base + entries.len() as u32);
        }

        // The paths of a catalogue are those of the engine, so its tree leads to the blobs.
        let head = codebase.repo.head().ok();
        let tree = head.as_ref().filter(|_| codebase.repo.is_catalogue()).and_then(|head| head.tree);
        let behind = Behind { moved: whole.moved.clone(), ..Behind::default() };

        Ok(View {
            members: Arc::new(LiveMembers::new(&reader, &snapshot.entries)),
            catalogue: Arc::new(whole.members()?),
            whole: Some(counts),
            freshness: if behind.is_empty() { Freshness::Fresh } else { Freshness::Stale },
            behind,
            tree_oid: tree.map(|tree| tree.to_string()).unwrap_or_default(),
            shown_tree: String::new(),
            spec: "HEAD".to_owned(),
            // What a reader may not see is not among the candidates.
            is_limited: false,
            commit: None,
            head_commit: None,
            needs_update: false,
            is_revision_overlaid: false,
            n_dirty: 0,
            n_unchecked: 0,
            status: None,
            warnings: whole.warnings.iter().cloned().chain(warnings).collect(),
            coverage: None,
            worktree: OverlaidFiles { bytes: texts, ..OverlaidFiles::default() },
            blobs: Arc::default(),
            files: Mutex::default(),
            reader,
            snapshot,
        })
    }
}
