//! How the members of a catalogue are: in the index, and at their paths now.

use super::{Catalogue, CatalogueError};
use codeweaver_git::{Found, Member, MemberState, probe};
use codeweaver_store::StoreReader;
use codeweaver_store::state::State;
use std::path::PathBuf;

/// The state of a member now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedState {
    /// The index has its present commit.
    Current,
    /// It points to another commit than the index has.
    Behind,
    /// It has no files.
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
    /// Its name.
    pub name: String,
    /// Its git directory.
    pub path: PathBuf,
    /// `HEAD`, or the full name of a branch or tag.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its state now.
    pub state: ListedState,
    /// Its commit that the catalogue has.
    pub commit: Option<String>,
    /// Number of its indexed files.
    pub files: u64,
    /// Number of its files that are skipped.
    pub skipped: u64,
    /// When its commit or its state last changed in the catalogue, in seconds since 1970; 0 for never.
    pub updated: u64,
    /// Why it is not current; empty if it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
}

impl Catalogue {
    /// All members, sorted by name. Looks at each of them.
    ///
    /// # Errors
    /// The catalogue cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, CatalogueError> {
        let members = self.members()?;
        let mut counts = vec![(0, 0); members.all().len()];
        let codebase = self.codebase()?;
        let store = codebase.store();
        // Without an index there are no files.
        let is_indexed = State::read(&store.state()).ok().flatten().is_some();
        if let Some(reader) = is_indexed.then(|| StoreReader::open(&store)).transpose()?.flatten() {
            let head = codebase.head_in(&reader.state).map(|head| head.snapshot.clone());
            if let Some(snapshot) = head.map(|key| reader.snapshot(&key)).transpose()?.flatten() {
                for (_, record, path) in reader.live_entries(&snapshot.entries) {
                    let Some(at) = members.position(path) else { continue };
                    let (indexed, skipped) = &mut counts[at];
                    *if record.skipped == 0 { indexed } else { skipped } += 1;
                }
            }
        }
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
}

/// The state of a member now, with the reason.
fn now(member: &Member) -> (ListedState, String) {
    let as_listed = |state: MemberState| match state {
        MemberState::Indexed => ListedState::Current,
        MemberState::Empty => ListedState::Empty,
        MemberState::Missing => ListedState::Missing,
        MemberState::NoRef => ListedState::NoRef,
        MemberState::Unreadable => ListedState::Unreadable,
    };
    match probe(member) {
        // Its trees may be damaged although its commit can be read.
        Found::Commit { commit, .. } if member.commit.as_deref() == Some(&commit.to_string()) => {
            (as_listed(member.state), member.error.clone())
        }
        Found::Commit { commit, .. } => {
            (ListedState::Behind, format!("it is at {commit} now; git codeweaver catalogue sync"))
        }
        Found::Unchanged => (as_listed(member.state), member.error.clone()),
        Found::Nothing(state, error) => (as_listed(state), error),
    }
}
