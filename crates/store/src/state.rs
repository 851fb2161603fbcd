//! The state: the one file that names everything current. It is replaced atomically, read whole and never
//! mapped.
//!
//! First line `codeweaver-state 1 <BLAKE3 of the rest>`, then JSON. Everything that a state names stays
//! readable for at least the grace period of garbage collection.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use codeweaver_base::{random, regular_file};

use super::chunking::Chunking;
use super::error::StoreError;
use super::layout::StoreLayout;

pub use super::references::{EntriesRef, SegmentRef, SnapshotRef};

const FORMAT: u32 = 1;

/// The kind of a completion marker.
pub const MARKER_KIND: &str = "codeweaver_index_completion_v1";

/// The content of the state file.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct State {
    /// Counts up with every publication.
    pub generation: u64,
    /// The epoch of doc and entry ids; ids of different epochs do not compare. A new store starts at a random
    /// number (0 means that there is no store), so that a plan made on a deleted store fits no other. Counts
    /// up when ids are assigned again.
    pub epoch: u64,
    /// Segments in doc-id order; docs `doc_base..doc_base + n_docs` are in this one.
    pub segments: Vec<SegmentRef>,
    /// Entry files in entry-id order.
    pub entries: Vec<EntriesRef>,
    /// Snapshots by snapshot key.
    pub snapshots: BTreeMap<String, SnapshotRef>,
    /// The snapshot that answers for each codebase, by worktree key.
    pub heads: BTreeMap<String, Head>,
    /// The segments that an unfinished reindex has sealed, by worktree key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rebuilding: BTreeMap<String, Rebuild>,
    /// Keys of worktrees whose heads a repair has given up, until a run has indexed them again. Their next
    /// request starts that run.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub lost: BTreeSet<String>,
}

/// Sealed segments of a reindex. Queries do not use them before it is complete.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Rebuild {
    /// Segments with doc ids of their own, from zero.
    pub segments: Vec<SegmentRef>,
    /// Fingerprint of the settings they were made with.
    pub settings: String,
    /// Seconds since 1970.
    pub updated_at: u64,
}

/// Age at which an unfinished reindex is not resumed.
const REBUILD_SECONDS: u64 = 24 * 3600;

impl Rebuild {
    /// Returns whether a run with these settings can resume from here.
    pub fn is_usable(&self, settings: &str) -> bool {
        self.settings == settings && !self.is_stale()
    }

    pub fn is_stale(&self) -> bool {
        self.updated_at.saturating_add(REBUILD_SECONDS) < super::time::now()
    }

    pub fn n_rows(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.n_rows)).sum()
    }
}

/// The stored lifecycle states of a codebase. The other two follow from the absence of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Indexing,
    Indexed,
    IndexFailed,
}

/// The snapshot that answers for one worktree.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Head {
    pub phase: Phase,
    /// Key of the complete snapshot that answers, or of the growing one of a first index.
    pub snapshot: String,
    pub commit: Option<String>,
    pub reference: Option<String>,
    /// Present exactly when `snapshot` is complete and was published by a run that succeeded.
    pub marker: Option<Marker>,
    /// Paths of the wanted tree, and those already in the growing snapshot, during a first index.
    pub progress: Option<(u64, u64)>,
    pub last_run: Option<RunRecord>,
    pub failure: Option<String>,
}

/// Proof that a run completed, written together with the state.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Marker {
    pub kind: String,
    /// The directory of the worktree at that time. It may have moved since, or be mounted elsewhere.
    pub codebase_path: String,
    /// Identity of a linked worktree; absent for the main one, of which a repository has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_id: Option<String>,
    pub fingerprint: String,
    pub indexed_files: u64,
    pub total_chunks: u64,
    /// Seconds since 1970.
    pub completed_at: u64,
    pub run_id: String,
}

/// Counters of the last run, for `status`.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
pub struct RunRecord {
    pub finished_at: u64,
    pub duration_ms: u64,
    pub files_changed: u64,
    pub chunks_created: u64,
    pub embedded_chunks: u64,
    /// Empty if nothing was chunked.
    #[serde(default, skip_serializing_if = "Chunking::is_empty")]
    pub chunking: Chunking,
}

impl State {
    /// The state of a new store.
    pub fn begin() -> State {
        // 48 bits leave room for counting, and every JSON reader represents them exactly.
        State { epoch: (random::bits64() >> 16) | 1, ..State::default() }
    }

    pub fn next_doc(&self) -> u32 {
        self.segments.last().map_or(0, |s| s.doc_base + s.n_docs)
    }

    pub fn next_entry(&self) -> u32 {
        self.entries.last().map_or(0, |e| e.entry_base + e.n_entries)
    }

    /// The bytes of the state file.
    pub fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("codeweaver-state {FORMAT} {}\n{json}\n", blake3::hash(json.as_bytes()).to_hex()).into_bytes()
    }

    /// Reads the current state for a reader. If this user may not read it, returns the previous one with the
    /// error.
    pub fn read_permitted(layout: &StoreLayout) -> Result<(Option<State>, Option<StoreError>), StoreError> {
        match State::read(&layout.state()) {
            Err(denied) if denied.is_denied() => match State::read(&layout.previous_state()) {
                Ok(Some(previous)) => Ok((Some(previous), Some(denied))),
                _ => Err(denied),
            },
            state => Ok((state?, None)),
        }
    }

    /// Reads a state file; `Ok(None)` if there is none.
    ///
    /// A state file is only ever replaced, so one that is missing beside its predecessor has been deleted,
    /// which is damage like any other.
    pub fn read(path: &Path) -> Result<Option<State>, StoreError> {
        let text = match regular_file::read(path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && path.with_extension("prev").exists() => {
                // It may exist now, if both were written between the two looks.
                regular_file::read(path).map_err(|_| StoreError::damaged(path, "it is missing"))?
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(StoreError::io("read", path)(e)),
        };

        let text = String::from_utf8(text).map_err(|_| StoreError::damaged(path, "it is not text"))?;
        let (head, json) = text.split_once('\n').ok_or_else(|| StoreError::damaged(path, "it is cut"))?;

        let mut words = head.split(' ');
        if words.next() != Some("codeweaver-state") {
            return Err(StoreError::damaged(path, "it is no state file"));
        }

        let found = words.next().and_then(|w| w.parse().ok()).unwrap_or(0);
        if found != FORMAT {
            return Err(StoreError::Version { path: path.to_path_buf(), found, expected: FORMAT });
        }

        let json = json.trim_end_matches('\n');
        if words.next() != Some(blake3::hash(json.as_bytes()).to_hex().as_str()) {
            return Err(StoreError::damaged(path, "its checksum does not match its content"));
        }

        let state: State =
            serde_json::from_str(json).map_err(|e| StoreError::damaged(path, e.to_string()))?;
        state.check(path)?;
        Ok(Some(state))
    }

    /// Checks that id ranges are contiguous from zero, on which all look-ups by id rely, and that names are
    /// content names.
    fn check(&self, path: &Path) -> Result<(), StoreError> {
        let names = self.segments.iter().map(|segment| &segment.name);
        let names = names.chain(self.entries.iter().map(|entries| &entries.name));
        let names = names.chain(self.snapshots.values().map(|snapshot| &snapshot.file));

        if let Some(name) = names.into_iter().find(|name| !is_content_name(name)) {
            return Err(StoreError::damaged(path, format!("{name:?} is no name of a file in the store")));
        }

        let mut next = 0u32;
        for segment in &self.segments {
            if segment.doc_base != next {
                return Err(StoreError::damaged(path, "doc ids are not contiguous"));
            }
            next =
                next.checked_add(segment.n_docs).ok_or_else(|| StoreError::damaged(path, "too many docs"))?;
        }

        next = 0;
        for entries in &self.entries {
            if entries.entry_base != next {
                return Err(StoreError::damaged(path, "entry ids are not contiguous"));
            }
            next = next
                .checked_add(entries.n_entries)
                .ok_or_else(|| StoreError::damaged(path, "too many entries"))?;
        }

        Ok(())
    }
}

/// Returns whether `name` is a hash in hexadecimal digits. No such path leads out of the store.
fn is_content_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_survives_a_round_trip_and_damage_is_refused() {
        let mut state = State { generation: 4, ..State::default() };
        let segment = |doc_base| SegmentRef {
            name: "ab".into(),
            doc_base,
            n_docs: 3,
            n_rows: 9,
            shard_bytes: 1,
            segment_bytes: 2,
        };
        state.segments = vec![segment(0), segment(3)];
        let file = tempfile::NamedTempFile::new().unwrap();
        let good = state.encode();
        std::fs::write(file.path(), &good).unwrap();
        assert_eq!(State::read(file.path()).unwrap().unwrap(), state);
        for i in 0..good.len() - 1 {
            let mut bad = good.clone();
            bad[i] ^= 1;
            std::fs::write(file.path(), &bad).unwrap();
            assert!(State::read(file.path()).is_err(), "byte {i}");
        }
        state.segments = vec![segment(0), segment(2)];
        std::fs::write(file.path(), state.encode()).unwrap();
        assert!(matches!(State::read(file.path()), Err(StoreError::Damaged { .. })));
        for name in ["", "../../etc/passwd", "/dev/zero", "ab/cd", "..", "\u{1b}"] {
            state.segments = vec![SegmentRef { name: name.into(), ..segment(0) }];
            std::fs::write(file.path(), state.encode()).unwrap();
            assert!(matches!(State::read(file.path()), Err(StoreError::Damaged { .. })), "{name:?}");
        }
        assert_eq!(State::read(&file.path().with_extension("absent")).unwrap(), None);
    }
}
