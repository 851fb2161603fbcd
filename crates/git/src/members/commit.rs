//! Writing a catalogue: its tree and the list of members, as one commit.

use std::collections::BTreeMap;

use gix::actor::SignatureRef;
use gix::objs::{Tree, tree::Entry, tree::EntryKind};

use super::{MEMBERS_FILE, Member, MemberState, Members};
use crate::error::one_line;
use crate::{GitError, Oid, Repo, diff_trees, walk_tree};

/// A directory of the catalogue that is no member.
#[derive(Default)]
struct Group<'a> {
    groups: BTreeMap<&'a str, Group<'a>>,
    members: Vec<(&'a str, Oid)>,
}

impl<'a> Group<'a> {
    fn add(&mut self, name: &'a str, tree: Oid) {
        match name.split_once('/') {
            Some((group, rest)) => self.groups.entry(group).or_default().add(rest, tree),
            None => self.members.push((name, tree)),
        }
    }
}

impl Repo {
    /// Commits the tree of these members on the branch of a catalogue, unless HEAD already has that tree.
    /// Returns whether there is a new commit. Objects of members are not copied.
    ///
    /// # Errors
    /// [`GitError::Unreadable`] if the repository cannot be written.
    pub fn commit_members(&self, members: &Members, message: &str, now: u64) -> Result<bool, GitError> {
        let head = self.head()?;
        let local = self.local();
        let failed = |error: &dyn std::fmt::Display| self.unreadable(&one_line(error));
        let list = members.encode().map_err(|error| failed(&error))?;

        let mut root = Group::default();
        for member in members.all() {
            if let Some(tree) = member.tree_oid() {
                root.add(&member.name, tree);
            }
        }

        let list = local.write_blob(&list).map_err(|error| failed(&error))?.detach();
        let list = entry(MEMBERS_FILE, list, EntryKind::Blob);
        let tree = write(&local, &root, vec![list]).map_err(|reason| failed(&reason))?;

        if head.tree == Some(tree) {
            return Ok(false);
        }

        let time = format!("{now} +0000");
        let author =
            SignatureRef { name: "codeweaver".into(), email: "codeweaver@localhost".into(), time: &time };
        local
            .commit_as(author, author, "HEAD", message, tree, head.commit)
            .map_err(|error| failed(&error))?;
        Ok(true)
    }

    /// Checks that all directories of a member's tree can be read. Only those are read in which it differs
    /// from the tree `known`, all of whose directories have been read before.
    ///
    /// # Errors
    /// The first object that cannot be read.
    pub fn check_member(&self, member: &Member, known: Option<&Oid>) -> Result<(), GitError> {
        let Some(tree) = member.tree_oid().filter(|_| member.state == MemberState::Indexed) else {
            return Ok(());
        };

        let Some(stores) = self.member_stores() else { return Ok(()) };

        if let Some(known) = known {
            stores.place(known, &member.path);
        }
        stores.place(&tree, &member.path);

        // Without the known tree, which may have been collected after a forced push, all of the new one is
        // read.
        if known.is_some() && diff_trees(self, known, &tree).is_ok() {
            return Ok(());
        }

        walk_tree(self, &tree).map(drop)
    }
}

fn entry(name: &str, oid: Oid, kind: EntryKind) -> Entry {
    Entry { mode: kind.into(), filename: name.into(), oid }
}

/// Writes a group with everything below it.
fn write(repo: &gix::Repository, group: &Group<'_>, files: Vec<Entry>) -> Result<Oid, String> {
    let mut entries = files;

    for (name, below) in &group.groups {
        entries.push(entry(name, write(repo, below, Vec::new())?, EntryKind::Tree));
    }

    entries.extend(group.members.iter().map(|(name, tree)| entry(name, *tree, EntryKind::Tree)));
    entries.sort();
    repo.write_object(&Tree { entries }).map(|id| id.detach()).map_err(|error| error.to_string())
}
