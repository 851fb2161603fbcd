//! Lists the members of a catalogue with their state in the index and at their paths now.

use std::path::PathBuf;

use codeweaver_git::{Found, Member, MemberState, Members, probe};
use codeweaver_store::StoreReader;
use codeweaver_store::state::State;

use super::{Catalogue, CatalogueError};

/// The state of a member now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedState {
    /// The index has the current commit of the member.
    Current,
    /// The member points to another commit than the index has.
    Behind,
    /// The member has no files.
    Empty,
    /// See [`MemberState::Missing`].
    Missing,
    /// See [`MemberState::NoRef`].
    NoRef,
    /// See [`MemberState::Unreadable`].
    Unreadable,
}

impl ListedState {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            ListedState::Current => "current",
            ListedState::Behind => "behind",
            ListedState::Empty => "empty",
            ListedState::Missing => "missing",
            ListedState::NoRef => "no_ref",
            ListedState::Unreadable => "unreadable",
        }
    }
}

/// A member with its state.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Listed {
    /// The name of the member.
    pub name: String,
    /// The git directory of the member.
    pub path: PathBuf,
    /// `HEAD`, or the full name of a branch or tag.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The state of the member now.
    pub state: ListedState,
    /// The commit of the member that the catalogue has.
    pub commit: Option<String>,
    /// Number of indexed files.
    pub files: u64,
    /// Number of skipped files.
    pub skipped: u64,
    /// Time of the last change of its commit or its state in the catalogue, in seconds since 1970; 0 for
    /// never.
    pub updated: u64,
    /// The reason why it is not current; empty if it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
}

impl Catalogue {
    /// All members, sorted by name. Probes each of them.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, CatalogueError> {
        let members = self.members()?;
        let counts = self.count_files(&members)?;

        let listed = members.all().iter().zip(counts).map(|(member, (files, skipped))| {
            let (state, error) = now(member);
            Listed {
                name: member.name.clone(),
                path: member.path.clone(),
                reference: member.reference.clone(),
                state,
                commit: member.commit.clone(),
                files,
                skipped,
                updated: member.updated,
                error,
            }
        });
        Ok(listed.collect())
    }

    /// Number of indexed and of skipped files of each member; zeros without an index.
    fn count_files(&self, members: &Members) -> Result<Vec<(u64, u64)>, CatalogueError> {
        let mut counts = vec![(0, 0); members.all().len()];
        let codebase = self.codebase()?;
        let store = codebase.store();

        let is_indexed = State::read(&store.state()).ok().flatten().is_some();
        let reader = is_indexed.then(|| StoreReader::open(&store)).transpose()?.flatten();
        let Some(reader) = reader else { return Ok(counts) };
        let head = codebase.head_in(&reader.state).map(|head| head.snapshot.clone());
        let snapshot = head.map(|key| reader.snapshot(&key)).transpose()?.flatten();
        let Some(snapshot) = snapshot else { return Ok(counts) };

        for (_, record, path) in reader.live_entries(&snapshot.entries) {
            let Some(at) = members.position(path) else { continue };
            let (indexed, skipped) = &mut counts[at];
            *if record.skipped == 0 { indexed } else { skipped } += 1;
        }

        Ok(counts)
    }
}

impl From<MemberState> for ListedState {
    fn from(state: MemberState) -> ListedState {
        match state {
            MemberState::Indexed => ListedState::Current,
            MemberState::Empty => ListedState::Empty,
            MemberState::Missing => ListedState::Missing,
            MemberState::NoRef => ListedState::NoRef,
            MemberState::Unreadable => ListedState::Unreadable,
        }
    }
}

/// The state of a member now, with the reason.
fn now(member: &Member) -> (ListedState, String) {
    let found = probe(member);

    match found {
        // The commit can be read, but its trees may be damaged, so the recorded state decides.
        Found::Commit { commit, .. } if member.commit.as_deref() == Some(&commit.to_string()) => {
            (member.state.into(), member.error.clone())
        }
        Found::Commit { commit, .. } => {
            (ListedState::Behind, format!("it is at {commit} now; git codeweaver catalogue sync"))
        }
        Found::Unchanged => (member.state.into(), member.error.clone()),
        Found::Nothing(state, error) => (state.into(), error),
    }
}
