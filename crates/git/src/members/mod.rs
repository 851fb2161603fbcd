//! Members of a catalogue: repositories whose trees make up the tree of another, bare one.
//!
//! The tree of a catalogue has the tree of each member under the member's name, without a copy of its
//! objects, and a file [`MEMBERS_FILE`] that lists the members. This module parses the list, `catalogue`
//! reads that of a repository, `stores` finds the objects, `probe` looks up the present commit of a member
//! and `quick` whether it is the known one, `commit` writes the list with the tree, and `limit` leaves out
//! the members that a reader may not see.
//!
//! A repository is a catalogue because its own configuration says so ([`CATALOGUE_KEY`]). No clone and no
//! push can set that, so a list of members in a foreign tree opens nothing.

mod catalogue;
mod commit;
mod limit;
mod name;
mod probe;
#[cfg(target_os = "linux")]
mod quick;
mod stores;

use std::path::{Path, PathBuf};

use gix::objs::{Find as _, Kind, TreeRefIter};
use rustc_hash::FxHashMap;

use super::{ByteSlice as _, Oid};

pub use limit::MaySee;
pub(super) use limit::{Limit, VisiblePaths};
pub use name::{NameError, check_name};
pub use probe::{Found, find_reference, probe};
pub(super) use stores::MemberStores;

/// The file at the root of a catalogue's tree that lists its members.
pub const MEMBERS_FILE: &str = ".codeweaver-catalogue";
/// The key in the configuration of a repository that makes it a catalogue.
pub const CATALOGUE_KEY: &str = "codeweaver.catalogue";
/// The only version of [`MEMBERS_FILE`].
const VERSION: u32 = 1;

/// The state of a member when the catalogue was last brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    /// Its tree is part of the catalogue.
    #[default]
    Indexed,
    /// Its branch has no commit yet, or its commit has no files.
    Empty,
    /// There is no repository at its path.
    Missing,
    /// There is no such branch or tag.
    NoRef,
    /// Its repository, a commit or a tree of it cannot be read.
    Unreadable,
}

impl MemberState {
    /// Returns whether files are missing from the catalogue because of this state.
    pub fn is_problem(self) -> bool {
        matches!(self, MemberState::Missing | MemberState::NoRef | MemberState::Unreadable)
    }

    /// Returns the name in output.
    pub fn name(self) -> &'static str {
        match self {
            MemberState::Indexed => "indexed",
            MemberState::Empty => "empty",
            MemberState::Missing => "missing",
            MemberState::NoRef => "no_ref",
            MemberState::Unreadable => "unreadable",
        }
    }
}

/// A member: a branch or tag of a repository under a name.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The directory of its tree in the catalogue: `group/repo`, or `group/repo@ref`.
    pub name: String,
    /// Its git directory, canonical when it was added.
    pub path: PathBuf,
    /// `HEAD`, or the full name of a branch or tag.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its own commit, in hexadecimal; that of the last time if it cannot be read now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tree of `commit`, in hexadecimal. Part of the catalogue while the state is `Indexed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// When its commit or its state last changed here, in seconds since 1970.
    #[serde(default)]
    pub updated: u64,
    /// The state of the repository at its path.
    #[serde(default, skip_serializing_if = "is_indexed")]
    pub state: MemberState,
    /// The reason why it is not `Indexed`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_indexed(state: &MemberState) -> bool {
    *state == MemberState::Indexed
}

impl Member {
    /// The oid of the tree that it has in the catalogue.
    pub fn tree_oid(&self) -> Option<Oid> {
        let tree = self.tree.as_ref().filter(|_| self.state == MemberState::Indexed)?;
        Oid::from_hex(tree.as_bytes()).ok()
    }
}

/// The members of a catalogue, sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    all: Vec<Member>,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Header {
    version: u32,
}

impl Members {
    /// Sorts and checks the members.
    ///
    /// # Errors
    /// A name is invalid or taken, or names a directory of another member.
    pub fn new(mut all: Vec<Member>) -> Result<Members, NameError> {
        all.sort_by(|a, b| a.name.cmp(&b.name));
        let members = Members { all };

        for (at, member) in members.all.iter().enumerate() {
            check_name(&member.name)?;

            let other = match members.of_path(member.name.as_bytes()) {
                Some((other, rest)) if !rest.is_empty() => Some(other),
                _ => members.all.get(at + 1).filter(|next| next.name == member.name),
            };

            if let Some(other) = other {
                return Err(NameError::Taken { name: member.name.clone(), by: other.path.clone() });
            }
        }

        Ok(members)
    }

    /// Reads the list: one JSON object a line, the first with the version, then one for each member.
    ///
    /// # Errors
    /// The reason why the list cannot be used.
    pub fn parse(bytes: &[u8]) -> Result<Members, String> {
        let mut lines = bytes.lines().filter(|line| !line.trim_ascii().is_empty());
        let header: Header = match lines.next().map(serde_json::from_slice) {
            Some(Ok(header)) => header,
            Some(Err(error)) => return Err(format!("its first line has no version: {error}")),
            None => return Err("it is empty".to_owned()),
        };

        if header.version != VERSION {
            return Err(format!("it has version {}, this program reads {VERSION}", header.version));
        }

        let all: Result<Vec<Member>, _> = lines.map(serde_json::from_slice).collect();
        Members::new(all.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
    }

    /// The bytes that [`Self::parse`] reads.
    ///
    /// # Errors
    /// A path is not UTF-8.
    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(&Header { version: VERSION })?;
        for member in &self.all {
            bytes.push(b'\n');
            serde_json::to_writer(&mut bytes, member)?;
        }
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// All members, sorted by name.
    pub fn all(&self) -> &[Member] {
        &self.all
    }

    /// Returns the member with this name.
    pub fn get(&self, name: &str) -> Option<&Member> {
        let at = self.all.binary_search_by(|member| member.name.as_str().cmp(name)).ok()?;
        self.all.get(at)
    }

    /// Finds the member that a path of the catalogue belongs to, and the path within it. Cost: a binary
    /// search for each leading directory.
    pub fn of_path<'p>(&self, path: &'p [u8]) -> Option<(&Member, &'p [u8])> {
        let member = &self.all[self.position(path)?];
        Some((member, path.get(member.name.len() + 1..).unwrap_or_default()))
    }

    /// Finds the position in [`Self::all`] of the member that a path of the catalogue belongs to.
    pub fn position(&self, path: &[u8]) -> Option<usize> {
        let mut ends = path.find_iter("/").chain([path.len()]);
        ends.find_map(|end| self.all.binary_search_by(|member| member.name.as_bytes().cmp(&path[..end])).ok())
    }
}

/// Returns whether the configuration of `repo` itself, not that of the user, makes it a catalogue.
pub(super) fn is_catalogue(repo: &gix::Repository) -> bool {
    let config = repo.config_snapshot();
    let is_own =
        |meta: &gix::config::file::Metadata| meta.source.kind() == gix::config::source::Kind::Repository;

    repo.workdir().is_none()
        && matches!(config.plumbing().boolean_filter(CATALOGUE_KEY, is_own), Ok(Some(true)))
}

/// Reads the list of members in the root tree `tree`, from the catalogue's own objects.
fn read_members(repo: &gix::Repository, tree: &Oid) -> Result<Members, String> {
    let mut buffer = Vec::new();
    let found = repo.objects.try_find(tree, &mut buffer).map_err(|error| error.to_string())?;
    let Some(list) = found.filter(|found| found.kind == Kind::Tree).and_then(|it| list_in(it.data, tree))
    else {
        return Ok(Members::default());
    };

    let mut buffer = Vec::new();
    let found = repo.objects.try_find(&list, &mut buffer).map_err(|error| error.to_string())?;
    let bytes = found.ok_or_else(|| format!("object {list} is missing"))?.data;
    Members::parse(bytes).map_err(|reason| format!("{MEMBERS_FILE}: {reason}"))
}

/// The blob of [`MEMBERS_FILE`] in the data of a tree.
fn list_in(data: &[u8], tree: &Oid) -> Option<Oid> {
    let mut entries = TreeRefIter::from_bytes(data, tree.kind()).filter_map(Result::ok);
    entries.find(|entry| entry.filename == MEMBERS_FILE).map(|entry| entry.oid.to_owned())
}

/// The object directory of the repository with this git directory.
fn objects_of(git_dir: &Path) -> PathBuf {
    git_dir.join("objects")
}

/// Object directories of the members by the tree that they have in the catalogue.
fn by_tree(members: &Members) -> FxHashMap<Oid, Vec<PathBuf>> {
    let mut trees: FxHashMap<Oid, Vec<PathBuf>> = FxHashMap::default();
    for member in &members.all {
        if let Some(tree) = member.tree_oid() {
            trees.entry(tree).or_default().push(objects_of(&member.path));
        }
    }
    trees
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    fn member(name: &str) -> Member {
        Member {
            name: name.to_owned(),
            path: format!("/srv/{name}.git").into(),
            reference: "HEAD".to_owned(),
            commit: None,
            tree: Some("1234567890123456789012345678901234567890".to_owned()),
            updated: 7,
            state: MemberState::Indexed,
            error: String::new(),
        }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let mut away = member("b/away@dev");
        (away.state, away.error) = (MemberState::Missing, "no \"such\" directory\n".to_owned());
        let members = Members::new(vec![away, member("a")]).unwrap();
        let bytes = members.encode().unwrap();
        assert_eq!(bytes.lines().count(), 3);
        assert_eq!(Members::parse(&bytes).unwrap(), members);
        assert!(members.get("b/away@dev").unwrap().tree_oid().is_none());

        let wrong: [&[u8]; 7] = [
            b"",
            b"[]",
            b"{\"version\":2}\n",
            b"{\"version\":1}\nx",
            b"{\"version\":1}\n{\"name\":\"a\"}",
            b"{\"version\":1}\n{\"name\":\"../a\",\"path\":\"/a\",\"ref\":\"HEAD\"}",
            b"{\"version\":1}\n{\"name\":\"a\",\"path\":\"/a\",\"ref\":\"HEAD\"}\n{\"name\":\"a/b\",\"path\":\"/b\",\"ref\":\"HEAD\"}",
        ];
        for bytes in wrong {
            assert!(Members::parse(bytes).is_err(), "{:?}", bytes.as_bstr());
        }
    }

    #[test]
    fn a_path_belongs_to_the_member_that_it_begins_with() {
        let members =
            Members::new(vec![member("a"), member("a.b"), member("g/x"), member("g/x@dev")]).unwrap();
        let found = |path: &'static str| {
            members
                .of_path(path.as_bytes())
                .map(|(member, rest)| (member.name.as_str(), rest.to_str().unwrap()))
        };

        assert_eq!(found("a/src/lib.rs"), Some(("a", "src/lib.rs")));
        assert_eq!(found("a.b/a"), Some(("a.b", "a")));
        assert_eq!(found("g/x@dev/y"), Some(("g/x@dev", "y")));
        assert_eq!(found("g/x"), Some(("g/x", "")));
        assert_eq!((found("g/y/z"), found("ab/c"), found("")), (None, None, None));
        assert!(Members::new(vec![member("a"), member("a")]).is_err());
        assert!(Members::new(vec![member("a/b"), member("a.b"), member("a")]).is_err());
    }

    #[test]
    fn a_bare_repository_whose_configuration_says_so_is_a_catalogue() {
        let bare = TestRepo::empty_dir();
        bare.git(["init", "-q", "--bare", "."]);
        assert!(!bare.open().is_catalogue());
        bare.git(["config", CATALOGUE_KEY, "true"]);
        assert!(bare.open().is_catalogue());
        let with_files = TestRepo::with_files(&[("a", "1\n")]);
        with_files.git(["config", CATALOGUE_KEY, "true"]);
        assert!(!with_files.open().is_catalogue());
    }
}
