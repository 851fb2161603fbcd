//! Reading objects: those of the repository, and in a catalogue those of its members.

use std::sync::Arc;

use gix::objs::{Data, Exists as _, Find as _, FindHeader as _, Header, Kind};

use super::limits::{MAX_KEPT_BYTES, MAX_OBJECT_BYTES, too_large};
use super::members::MemberStores;
use super::{BStr, Oid, Repo};

/// A handle on the objects of a repository, for one thread.
///
/// Never fetches. In a catalogue, an object of a member that cannot be read for any reason is absent: a
/// damaged or vanished member must not stop requests about the others.
pub struct Objects {
    pub(super) own: gix::Repository,
    members: Option<Arc<MemberStores>>,
    /// The member read last.
    last: Option<(u32, MemberHandle)>,
}

type MemberHandle = gix::odb::HandleArc;

impl Repo {
    /// The objects of this repository, for one thread.
    pub fn objects(&self) -> Objects {
        Objects { own: self.local(), members: self.member_stores().cloned(), last: None }
    }
}

impl Objects {
    /// Reads an object into `buffer`; `None` if it is not here.
    ///
    /// # Errors
    /// The object is damaged or has more than [`MAX_OBJECT_BYTES`].
    pub fn try_find<'b>(&mut self, oid: &Oid, buffer: &'b mut Vec<u8>) -> Result<Option<Data<'b>>, String> {
        // One large object must not stay in the memory of each reader.
        if buffer.capacity() > MAX_KEPT_BYTES {
            *buffer = Vec::new();
        }

        let found = self.find(oid, buffer)?;
        match found.as_ref().map(|found| found.data.len() as u64) {
            Some(size) if size > MAX_OBJECT_BYTES => Err(too_large(size)),
            _ => Ok(found),
        }
    }

    /// Reads an object of any size that can be decoded.
    fn find<'b>(&mut self, oid: &Oid, buffer: &'b mut Vec<u8>) -> Result<Option<Data<'b>>, String> {
        let Some(members) = self.members.clone() else { return own(&self.own, oid, buffer) };

        let Some(place) = self.enter(&members, oid) else {
            let found = own(&self.own, oid, buffer)?;
            if let Some(found) = found.as_ref().filter(|found| found.kind == Kind::Tree) {
                members.note_root(&self.own, found.data, oid);
            }
            return Ok(found);
        };

        let Some((_, handle)) = &self.last else { return Ok(None) };
        match handle.try_find(oid, buffer) {
            Ok(Some(found)) => {
                if found.kind == Kind::Tree {
                    members.note_children(found.data, oid, place);
                }
                Ok(Some(found))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                // The repository may have been replaced, so the next read opens it anew.
                tracing::warn!(component = "git", operation = "read member", %oid, %error);
                members.close(place);
                Ok(None)
            }
        }
    }

    /// Kind and size of an object; `None` if it is not here.
    pub fn try_header(&mut self, oid: &Oid) -> Result<Option<Header>, String> {
        let Some(members) = self.members.clone() else {
            return self.own.objects.try_header(oid).map_err(|error| error.to_string());
        };

        if self.enter(&members, oid).is_none() {
            return self.own.objects.try_header(oid).map_err(|error| error.to_string());
        }

        let Some((_, handle)) = &self.last else { return Ok(None) };
        Ok(handle.try_header(oid).unwrap_or_default())
    }

    /// Returns whether the repository is a catalogue.
    pub fn is_catalogue(&self) -> bool {
        self.members.is_some()
    }

    /// Returns whether it is unknown which member has an object.
    pub fn is_unplaced(&self, oid: &Oid) -> bool {
        self.members.as_ref().is_some_and(|members| members.places_of(oid).is_empty())
    }

    /// Records that an object is in the member that has the file at `path` of the root tree `tree`. Returns
    /// whether there is such a member.
    pub fn place(&self, oid: &Oid, tree: &Oid, path: &BStr) -> bool {
        let Some(stores) = &self.members else { return false };
        let Ok(members) = stores.members_of(&self.own, tree) else { return false };
        let Some((member, _)) = members.of_path(path) else { return false };

        stores.place(oid, &member.path);
        true
    }

    /// Opens the member that has `oid`; `None` if no member is known to have it.
    ///
    /// If several members are known to have it, the first one that really does is taken.
    fn enter(&mut self, members: &MemberStores, oid: &Oid) -> Option<u32> {
        let places = members.places_of(oid);
        let &first = places.first()?;
        let is_one = places.len() == 1;

        for place in places {
            if self.last.as_ref().is_none_or(|(last, _)| *last != place) {
                let Ok(store) = members.open(place) else { continue };
                let mut handle: MemberHandle = store.to_cache_arc();
                handle.set_pack_cache(|| Box::<gix::odb::pack::cache::lru::StaticLinkedList<64>>::default());
                self.last = Some((place, handle));
            }

            if is_one || self.last.as_ref().is_some_and(|(_, handle)| handle.exists(oid)) {
                return Some(place);
            }
        }

        self.last = None;
        Some(first)
    }
}

/// Reads an object of the repository's own store.
fn own<'b>(repo: &gix::Repository, oid: &Oid, buffer: &'b mut Vec<u8>) -> Result<Option<Data<'b>>, String> {
    repo.objects.try_find(oid, buffer).map_err(|error| error.to_string())
}
