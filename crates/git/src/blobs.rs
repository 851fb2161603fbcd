//! Reading blobs by oid.

use gix::objs::Kind;

use super::limits::MAX_OBJECT_BYTES;
use super::{BStr, GitError, Objects, Oid, Repo};

/// Reads blobs through one object database handle and one buffer. Each thread needs its own.
///
/// Never fetches. Returns `None` for objects that a partial clone does not have, and for objects other than
/// blobs, such as the commit of a gitlink. Memory is bounded, whatever the headers of objects say.
pub struct BlobReader {
    objects: Objects,
    buffer: Vec<u8>,
    path: std::path::PathBuf,
}

impl Repo {
    /// A reader of blobs for the calling thread.
    pub fn blobs(&self) -> BlobReader {
        BlobReader::new(self)
    }

    /// A reader for a look at many blobs, most of which may be missing. It does not notice blobs that arrive
    /// later.
    pub fn present_blobs(&self) -> BlobReader {
        BlobReader::of_present(self)
    }
}

impl BlobReader {
    fn new(repo: &Repo) -> Self {
        BlobReader { objects: repo.objects(), buffer: Vec::new(), path: repo.git_dir().to_owned() }
    }

    /// Creates a reader of the objects that are in the store now. A missing blob costs a few look-ups in
    /// memory and one for its loose file, while another reader lists the packs again each time.
    fn of_present(repo: &Repo) -> Self {
        let mut reader = Self::new(repo);

        let own = &mut reader.objects.own;
        // The handle may share the pack list of an earlier one. Looking up an object that cannot exist renews
        // it.
        let nothing = Oid::null(own.object_hash());
        let _ = gix::objs::FindHeader::try_header(&own.objects, &nothing);
        own.objects.refresh_never();

        reader
    }

    /// Records that this blob is in the member of a catalogue that has the file at `path` of the root tree
    /// `tree`. Not needed once the trees on the way to it were read. Returns whether there is such a member;
    /// an ordinary repository has none.
    pub fn place(&mut self, oid: &Oid, tree: &Oid, path: &BStr) -> bool {
        self.objects.place(oid, tree, path)
    }

    /// Returns whether it is unknown which member of a catalogue has this blob.
    pub fn is_unplaced(&self, oid: &Oid) -> bool {
        self.objects.is_unplaced(oid)
    }

    /// Returns whether the clone has this blob. A damaged one counts as absent, so the blob is read.
    pub fn is_local(&mut self, oid: &Oid) -> bool {
        self.read(oid).is_ok_and(|bytes| bytes.is_some())
    }

    /// Size of a blob in bytes. Reads only the header of the object, so a zip bomb costs nothing.
    pub fn size(&mut self, oid: &Oid) -> Result<Option<u64>, GitError> {
        let header = self.objects.try_header(oid).map_err(|error| self.unreadable(oid, &error))?;
        Ok(header.filter(|header| header.kind == Kind::Blob).map(|header| header.size))
    }

    /// The bytes of a blob, valid until the next call; `None` also for one above [`MAX_OBJECT_BYTES`].
    pub fn read(&mut self, oid: &Oid) -> Result<Option<&[u8]>, GitError> {
        match self.objects.try_find(oid, &mut self.buffer) {
            Ok(Some(object)) => Ok((object.kind == Kind::Blob).then_some(object.data)),
            Ok(None) => Ok(None),

            Err(_) if is_too_large(&mut self.objects, oid) => Ok(None),
            // Not `unreadable`: `self.buffer` is still borrowed here.
            Err(error) => Err(GitError::BadObject {
                oid: *oid,
                expected: "blob",
                reason: format!("{error} (in {})", self.path.display()),
            }),
        }
    }

    /// As [`Self::read`], as bytes of their own, with an error for a blob that is too large.
    ///
    /// # Errors
    /// [`GitError::TooLarge`], [`GitError::BadObject`].
    pub fn read_whole(&mut self, oid: &Oid) -> Result<Option<Vec<u8>>, GitError> {
        if let Some(bytes) = self.read(oid)? {
            return Ok(Some(bytes.to_vec()));
        }
        match self.size(oid)? {
            Some(size) if size > MAX_OBJECT_BYTES => Err(GitError::TooLarge { oid: *oid, size }),
            _ => Ok(None),
        }
    }

    /// As [`size`](Self::size), but a damaged blob counts as one that is not in this clone.
    pub fn size_if_good(&mut self, oid: &Oid) -> Option<u64> {
        self.size(oid).unwrap_or_else(|error| skipped(&error))
    }

    /// As [`read`](Self::read), but a damaged blob counts as one that is not in this clone, so that it costs
    /// the files that have it and no others.
    pub fn read_if_good(&mut self, oid: &Oid) -> Option<&[u8]> {
        self.read(oid).unwrap_or_else(|error| skipped(&error))
    }

    fn unreadable(&self, oid: &Oid, error: &dyn std::fmt::Display) -> GitError {
        GitError::BadObject {
            oid: *oid,
            expected: "blob",
            reason: format!("{error} (in {})", self.path.display()),
        }
    }
}

/// Returns whether the header of a blob says that it is too large to be read.
fn is_too_large(objects: &mut Objects, oid: &Oid) -> bool {
    let header = objects.try_header(oid).ok().flatten();
    header.is_some_and(|header| header.kind == Kind::Blob && header.size > MAX_OBJECT_BYTES)
}

/// Logs that a blob is skipped because of `error`.
fn skipped<T>(error: &GitError) -> Option<T> {
    tracing::warn!(component = "git", operation = "read", %error, "a blob is skipped; git fsck says more");
    None
}

/// The hash of repositories without another object format.
pub const SHA1: gix::hash::Kind = gix::hash::Kind::Sha1;

/// The oid that git gives to a blob of these bytes.
pub fn hash_blob(bytes: &[u8], kind: gix::hash::Kind) -> Oid {
    // Hashing fails only for bytes of a SHA-1 collision attack. They get the null oid, which names no object.
    gix::objs::compute_hash(kind, Kind::Blob, bytes).unwrap_or_else(|_| Oid::null(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    #[test]
    fn sizes_and_bytes_are_those_of_git() {
        let repo = TestRepo::with_files(&[("a.txt", "hello\n"), ("big.txt", &"x".repeat(70_000))]);
        repo.git(["gc", "-q"]);
        let mut blobs = repo.open().blobs();
        for (path, size) in [("a.txt", 6), ("big.txt", 70_000)] {
            let oid = repo.oid(&format!("HEAD:{path}"));
            assert_eq!(blobs.size(&oid).unwrap(), Some(size));
            assert_eq!(
                blobs.read(&oid).unwrap().unwrap(),
                repo.git_bytes(["cat-file", "blob", &oid.to_string()])
            );
            assert_eq!(hash_blob(&repo.read_bytes(path), oid.kind()), oid);
        }
    }

    #[test]
    fn objects_that_are_missing_or_no_blobs_are_none() {
        let repo = TestRepo::with_files(&[("a.txt", "hello\n")]);
        let mut blobs = repo.open().blobs();
        for oid in [repo.oid("HEAD"), repo.oid("HEAD^{tree}"), hash_blob(b"nowhere", gix::hash::Kind::Sha1)] {
            assert_eq!(blobs.size(&oid).unwrap(), None);
            assert_eq!(blobs.read(&oid).unwrap(), None);
        }
    }

    #[test]
    fn replace_refs_are_not_applied() {
        let repo = TestRepo::with_files(&[("a.txt", "true\n"), ("b.txt", "forged\n")]);
        let (a, b) = (repo.oid("HEAD:a.txt"), repo.oid("HEAD:b.txt"));
        repo.git(["replace", &a.to_string(), &b.to_string()]);
        assert_eq!(repo.open().blobs().read(&a).unwrap().unwrap(), b"true\n");
    }

    #[test]
    fn missing_objects_of_a_partial_clone_are_not_fetched() {
        let origin = TestRepo::with_files(&[("a.txt", "first\n")]);
        origin.git(["config", "uploadpack.allowFilter", "true"]);
        let url = format!("file://{}", origin.root().display());
        let clone = TestRepo::empty_dir();
        clone.git(["clone", "-q", "--no-checkout", "--filter=blob:none", &url, "."]);
        let blob = origin.oid("HEAD:a.txt");
        assert_eq!(clone.open().blobs().read(&blob).unwrap(), None);
        assert_eq!(clone.open().blobs().size(&blob).unwrap(), None);
    }
}
