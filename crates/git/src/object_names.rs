//! Names of the objects in a store, to notice that objects have arrived or vanished.

use std::path::{Path, PathBuf};

use super::Repo;

/// Returns a hash of the names of all packs and loose objects, those of alternates included, as 32
/// hexadecimal digits.
///
/// While it stays the same, so does the set of objects: packs and loose objects are named by their content.
/// It also changes when objects only move, for example into a pack. Names are compared and not times, so this
/// holds on every file system. Cost: listing the directories of the object store, at most 258 for each.
///
/// An object directory that does not exist (an alternate on a disk that is not mounted) is empty.
pub fn object_names(repo: &Repo) -> String {
    let own = repo.local().objects.store_ref().path().to_owned();

    // Resolved by each call, since an open object store keeps the alternates that it has read. Alternates
    // that cannot be resolved have no objects, as in git.
    let current = std::env::current_dir().unwrap_or_default();
    let alternates = gix::odb::alternate::resolve(own.clone(), &current).unwrap_or_default();

    let mut hasher = blake3::Hasher::new();
    for directory in std::iter::once(own).chain(alternates) {
        hasher.update(directory.as_os_str().as_encoded_bytes()).update(b"\0\0");

        for name in sorted(names_in(&directory)) {
            let is_fan_out = name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit);
            if !is_fan_out && name != b"pack" {
                continue;
            }

            let listed = names_in(&child(&directory, &name));

            hasher.update(&name).update(b"\0");
            for file in sorted(listed.into_iter().filter(|file| is_object(file, is_fan_out)).collect()) {
                hasher.update(&file).update(b"\0");
            }
        }
    }

    hasher.finalize().to_hex()[..32].to_owned()
}

/// Returns whether a file of a fan-out directory, or else of the directory of packs, stands for objects.
fn is_object(file: &[u8], is_fan_out: bool) -> bool {
    match is_fan_out {
        true => file.iter().all(u8::is_ascii_hexdigit),
        // A pack exists once it has an index. Files that are being written have temporary names.
        false => file.ends_with(b".idx") && !file.starts_with(b"tmp_"),
    }
}

/// The names of the entries of a directory; none if it cannot be read.
fn names_in(directory: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().as_encoded_bytes().to_vec()).collect()
}

/// The path of an entry whose `name` consists of ASCII characters.
fn child(directory: &Path, name: &[u8]) -> PathBuf {
    directory.join(String::from_utf8_lossy(name).as_ref())
}

fn sorted(mut names: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    #[test]
    fn the_names_change_when_an_object_arrives_and_only_then() {
        let repo = TestRepo::with_files(&[("a.txt", "one\n")]);
        let open = repo.open();
        let first = object_names(&open);
        assert_eq!(object_names(&open), first);
        repo.write("b.txt", "two\n").write(".git/objects/pack/tmp_pack_x", "").git(["status"]);
        assert_eq!(object_names(&open), first);
        repo.git(["add", "b.txt"]);
        let loose = object_names(&open);
        assert_ne!(loose, first);
        repo.git(["commit", "-q", "-m", "b"]).git(["repack", "-q", "-a", "-d"]);
        let packed = object_names(&open);
        assert_ne!(packed, loose);
        // Another commit in another repository arrives in a pack.
        let other = TestRepo::with_files(&[("c.txt", "three\n")]);
        repo.git(["-c", "fetch.unpackLimit=1", "fetch", "-q", other.root().to_str().unwrap(), "main"]);
        assert_ne!(object_names(&open), packed);
    }

    #[test]
    fn an_alternate_that_is_added_is_noticed() {
        let other = TestRepo::with_files(&[("a.txt", "one\n")]);
        let repo = TestRepo::with_files(&[("b.txt", "two\n")]);
        let open = repo.open();
        let alone = object_names(&open);
        repo.write(".git/objects/info/alternates", format!("{}\n", other.path(".git/objects").display()));
        assert_ne!(object_names(&open), alone);
    }

    #[test]
    fn an_alternate_that_vanishes_and_returns_is_noticed() {
        let origin = TestRepo::with_files(&[("a.txt", "one\n")]);
        let clone = TestRepo::empty_dir();
        clone.git(["clone", "-q", "--shared", origin.root().to_str().unwrap(), "."]);
        let open = clone.open();
        let there = object_names(&open);
        std::fs::rename(origin.path(".git"), origin.path("away")).unwrap();
        assert_ne!(object_names(&open), there);
        std::fs::rename(origin.path("away"), origin.path(".git")).unwrap();
        assert_eq!(object_names(&open), there);
    }
}
