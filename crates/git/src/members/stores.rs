//! The object stores of the members of a catalogue, opened when an object of theirs is read.
//!
//! The graph of objects tells which member has an object: the list of members names their trees, and the
//! objects that a tree names are in the same store as the tree. So a walk needs no paths, and opens only the
//! repositories whose trees it enters. A caller that reads a blob without a walk names its member first
//! ([`MemberStores::place`]).
//!
//! Members are opened as bare object stores: no configuration of theirs is read, and none of their
//! references.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gix::objs::{TreeRefIter, tree::EntryKind};
use gix::odb::store::init::Options;
use rustc_hash::FxHashMap;

use codeweaver_base::sync;

use super::{Members, by_tree, list_in, objects_of, read_members};
use crate::Oid;
use crate::limits::MAX_DECODED_BYTES;

/// Number of object stores that stay open. Each costs a few memory maps.
const MAX_OPEN: usize = 256;
/// Number of lists of members that stay parsed: that of HEAD, and those of a few older revisions.
const MAX_LISTS: usize = 8;

type Store = gix::odb::Store;

/// A member's object directory, by its number in [`Places::directories`].
pub type Place = u32;

/// The object stores of members. Shared between threads.
#[derive(Default)]
pub struct MemberStores {
    places: Mutex<Places>,
    open: Mutex<Open>,
    /// Lists of members by root tree, the most recently used last.
    lists: Mutex<Vec<(Oid, Arc<Members>)>>,
}

/// The object directories that objects were found in.
#[derive(Default)]
struct Places {
    directories: Vec<Arc<Path>>,
    numbers: FxHashMap<PathBuf, Place>,
    of_object: FxHashMap<Oid, Place>,
    /// All places of objects that are in several: equal trees of different members.
    several: FxHashMap<Oid, Vec<Place>>,
}

impl Places {
    /// Returns the number of an object directory, which is new if it was not known.
    fn number(&mut self, directory: PathBuf) -> Place {
        if let Some(&number) = self.numbers.get(&directory) {
            return number;
        }

        let number = self.directories.len() as Place;
        self.directories.push(directory.as_path().into());
        self.numbers.insert(directory, number);
        number
    }
}

/// The open object stores, with the time of their last use.
#[derive(Default)]
struct Open {
    stores: FxHashMap<Place, (Arc<Store>, u64)>,
    /// Counts up with each use.
    clock: u64,
}

impl MemberStores {
    /// Reads the members in the root tree `tree` of the catalogue `repo` and makes their trees readable.
    pub fn members_of(&self, repo: &gix::Repository, tree: &Oid) -> Result<Arc<Members>, String> {
        {
            let mut lists = sync::lock(&self.lists);
            if let Some(at) = lists.iter().position(|(known, _)| known == tree) {
                let known = lists.remove(at);
                let members = known.1.clone();
                lists.push(known);
                return Ok(members);
            }
        }

        let members = Arc::new(read_members(repo, tree)?);
        let mut places = sync::lock(&self.places);

        for (tree, directories) in by_tree(&members) {
            for directory in directories {
                let place = places.number(directory);
                places.of_object.insert(tree, place);
                let several = places.several.entry(tree).or_default();
                if !several.contains(&place) {
                    several.push(place);
                }
            }
        }
        places.several.retain(|_, places| places.len() > 1);
        drop(places);

        let mut lists = sync::lock(&self.lists);
        // The first one is the least recently used.
        if lists.len() >= MAX_LISTS {
            lists.remove(0);
        }
        lists.push((*tree, members.clone()));

        Ok(members)
    }

    /// Records that the repository with the git directory `git_dir` has an object.
    pub fn place(&self, oid: &Oid, git_dir: &Path) {
        let mut places = sync::lock(&self.places);
        let place = places.number(objects_of(git_dir));
        places.of_object.insert(*oid, place);
    }

    /// Places that may have an object, the most recently learnt first; none if no member is known to have it.
    pub fn places_of(&self, oid: &Oid) -> Vec<Place> {
        let places = sync::lock(&self.places);
        let Some(&first) = places.of_object.get(oid) else { return Vec::new() };

        let others = places.several.get(oid).into_iter().flatten().filter(|&&other| other != first);
        std::iter::once(first).chain(others.copied()).collect()
    }

    /// Records that the objects named by the tree with this `data` are at the place of the tree.
    pub fn note_children(&self, data: &[u8], tree: &Oid, place: Place) {
        let mut places = sync::lock(&self.places);
        for entry in TreeRefIter::from_bytes(data, tree.kind()).filter_map(Result::ok) {
            if entry.mode.kind() != EntryKind::Commit {
                places.of_object.insert(entry.oid.to_owned(), place);
            }
        }
    }

    /// Makes the members readable that a root tree of the catalogue lists.
    pub fn note_root(&self, repo: &gix::Repository, data: &[u8], tree: &Oid) {
        if list_in(data, tree).is_some()
            && let Err(reason) = self.members_of(repo, tree)
        {
            tracing::warn!(component = "git", operation = "read members", %tree, reason);
        }
    }

    /// Opens the object store at `place`.
    ///
    /// # Errors
    /// The directory does not exist or cannot be read.
    pub fn open(&self, place: Place) -> std::io::Result<Arc<Store>> {
        let mut open = sync::lock(&self.open);
        open.clock += 1;
        let now = open.clock;

        if let Some((store, used)) = open.stores.get_mut(&place) {
            *used = now;
            return Ok(store.clone());
        }

        // Other threads may go on while this one opens the store.
        drop(open);
        let directory = sync::lock(&self.places).directories[place as usize].clone();
        let store = Arc::new(Store::at_opts(
            directory.to_path_buf(),
            gix::hash::Kind::Sha1,
            &mut std::iter::empty(),
            Options { alloc_limit_bytes: Some(MAX_DECODED_BYTES), ..Options::default() },
        )?);

        let mut open = sync::lock(&self.open);
        if open.stores.len() >= MAX_OPEN {
            let oldest = open.stores.iter().min_by_key(|(_, (_, used))| *used).map(|(&place, _)| place);
            oldest.and_then(|place| open.stores.remove(&place));
        }

        open.stores.insert(place, (store.clone(), now));
        Ok(store)
    }

    /// Closes the store at `place`, whose repository may have been replaced.
    pub fn close(&self, place: Place) {
        sync::lock(&self.open).stores.remove(&place);
    }
}
