//! Bytes of blobs by oid.

use gix::objs::{Find as _, FindHeader as _, Kind};

use super::{GitError, Oid, Repo};

/// Reads blobs through one object database handle and one buffer; make one per thread.
///
/// Never fetches: an object that a partial clone left at its remote is `None`, as is an oid that names something other
/// than a blob (a gitlink's commit, for example).
pub struct BlobReader {
    repo: gix::Repository,
    buffer: Vec<u8>,
    path: std::path::PathBuf,
}

impl BlobReader {
    pub(super) fn new(repo: &Repo) -> Self {
        BlobReader { repo: repo.local(), buffer: Vec::new(), path: repo.git_dir().to_owned() }
    }

    /// Size in bytes, from the object's header: nothing is inflated, so a size bomb costs nothing.
    pub fn size(&mut self, oid: &Oid) -> Result<Option<u64>, GitError> {
        let header = self.repo.objects.try_header(oid).map_err(|error| self.unreadable(oid, &error))?;
        Ok(header.filter(|header| header.kind == Kind::Blob).map(|header| header.size))
    }

    /// The whole blob; valid until the next call. Ask [`size`](Self::size) first where a bound matters.
    pub fn read(&mut self, oid: &Oid) -> Result<Option<&[u8]>, GitError> {
        match self.repo.objects.try_find(oid, &mut self.buffer) {
            Ok(Some(object)) => Ok((object.kind == Kind::Blob).then_some(object.data)),
            Ok(None) => Ok(None),
            Err(error) => Err(GitError::BadObject {
                oid: *oid,
                expected: "blob",
                reason: format!("{error} (in {})", self.path.display()),
            }),
        }
    }

    fn unreadable(&self, oid: &Oid, error: &dyn std::fmt::Display) -> GitError {
        GitError::BadObject {
            oid: *oid,
            expected: "blob",
            reason: format!("{error} (in {})", self.path.display()),
        }
    }
}

/// The oid git would give a blob of these bytes.
pub fn hash_blob(bytes: &[u8], kind: gix::hash::Kind) -> Oid {
    // Hashing fails only on a SHA-1 collision attack; such bytes get the null oid, which names no object and equals
    // no committed file.
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
    fn what_is_not_a_local_blob_is_none() {
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
    fn a_partial_clone_is_not_fetched_into() {
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
