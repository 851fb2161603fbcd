//! What directories hold besides tracked files, and the cache that spares reading unchanged ones again.
//!
//! A directory's times change with every name that is added to it or taken away (POSIX, `<sys/stat.h>` and `rename`), which local
//! file systems keep to; git's untracked cache rests on the same. Directories that changed within a tick of being read are not
//! remembered, as for files.

use std::path::{Path, PathBuf};

use gix::index::entry::Mode as EntryMode;
use rustc_hash::FxHashMap;

use super::stat::{FileStat, Time};
use super::{cache_file, fs_kind};
use crate::git::{BStr, BString, ByteSlice as _};

/// Smaller working trees are read as fast as their cache. Debug builds are what tests run.
const MIN_DIRECTORIES: usize = if cfg!(debug_assertions) { 1 } else { 256 };
/// With less news the cache is not written: an editor that saves by renaming changes one directory each time.
const MIN_CHANGED: usize = if cfg!(debug_assertions) { 1 } else { 32 };

/// What a directory holds besides tracked files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DirectoryListing {
    /// Names of directories, tracked or not, without submodules and `.git`.
    pub directories: Vec<BString>,
    /// Names of files and links that are not tracked.
    pub files: Vec<BString>,
    /// It has a `.git` of its own.
    pub is_nested: bool,
}

/// The names in one directory that git's index has, of all stages: the files of a conflict are tracked.
#[derive(Default)]
pub(super) struct TrackedNames {
    /// Positions in the index; files of subdirectories may lie between them.
    positions: Vec<usize>,
    /// Of all names together, in any order, and of whether they are submodules.
    hash: u64,
}

impl TrackedNames {
    /// Of each directory with its slash; the root is empty.
    pub fn by_directory(index: &gix::index::State) -> FxHashMap<&BStr, TrackedNames> {
        let mut by_directory: FxHashMap<&BStr, TrackedNames> = FxHashMap::default();
        for (position, entry) in index.entries().iter().enumerate() {
            let (directory, name) = split(entry.path(index));
            let names = by_directory.entry(directory).or_default();
            names.positions.push(position);
            names.hash = names.hash.wrapping_add(hash(name, entry.mode == EntryMode::COMMIT));
        }
        by_directory
    }

    /// Each name and whether it is a submodule.
    fn iter<'a>(&'a self, index: &'a gix::index::State) -> impl Iterator<Item = (&'a BStr, bool)> {
        let entries = self.positions.iter().map(|&position| &index.entries()[position]);
        entries.map(|entry| (split(entry.path(index)).1, entry.mode == EntryMode::COMMIT))
    }
}

fn split(path: &BStr) -> (&BStr, &BStr) {
    let (directory, name) = path.split_at(path.rfind_byte(b'/').map_or(0, |slash| slash + 1));
    (directory.as_bstr(), name.as_bstr())
}

fn hash(name: &BStr, is_submodule: bool) -> u64 {
    std::hash::BuildHasher::hash_one(&rustc_hash::FxBuildHasher, (name, is_submodule))
}

/// A listing, and of what state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    stat: FileStat,
    /// Hash of the tracked names.
    tracked: u64,
    listing: DirectoryListing,
}

/// Listings of one working tree, by directory with its slash.
///
/// Layout, little endian: magic `CWDIRS01`; directories u32; each: path, stat as in the cache of files, hash of the tracked names
/// u64, nested u8, directories and files, each a count u32 and names. Paths and names: length u16, bytes. In the envelope of
/// [`sealed`]. A file that is anything else counts as empty; losing it costs time only.
pub(super) struct UntrackedCache {
    file: PathBuf,
    /// Of the working tree, where times of directories can be trusted.
    device: Option<u64>,
    known: FxHashMap<BString, Known>,
    fresh: FxHashMap<BString, Known>,
    n_changed: usize,
    /// Each directory asked for is in `fresh`.
    is_whole: bool,
}

const MAGIC: &[u8; 8] = b"CWDIRS01";

impl UntrackedCache {
    /// Those kept in `file` for the working tree at `root`.
    pub fn load(file: PathBuf, root: &Path) -> UntrackedCache {
        let device = fs_kind::device(root);
        let known = device.and_then(|_| decode(&cache_file::read(&file, MAGIC)?)).unwrap_or_default();
        UntrackedCache { file, device, known, fresh: FxHashMap::default(), n_changed: 0, is_whole: true }
    }

    /// The listing of the directory `prefix` at `full`, remembered or read; `None` if it cannot be read.
    pub fn of(
        &mut self,
        prefix: &BStr,
        full: &Path,
        tracked: &TrackedNames,
        index: &gix::index::State,
    ) -> Option<DirectoryListing> {
        let (listing, known) = self.known_or_read(prefix, full, tracked, index).unzip();
        match known.flatten() {
            Some(known) => drop(self.fresh.insert(prefix.to_owned(), known)),
            None => self.is_whole = false,
        }
        listing
    }

    /// Also as what to remember it.
    fn known_or_read(
        &mut self,
        prefix: &BStr,
        full: &Path,
        tracked: &TrackedNames,
        index: &gix::index::State,
    ) -> Option<(DirectoryListing, Option<Known>)> {
        let observed = Time::now();
        let meta = std::fs::symlink_metadata(full).ok()?;
        let (stat, tracked_hash) = (FileStat::of(&meta), tracked.hash);
        let known = self.known.remove(prefix);
        let known = match known.filter(|known| known.stat == stat && known.tracked == tracked_hash) {
            Some(known) => known,
            None => {
                let (listing, is_whole) = read(full, tracked, index)?;
                let is_reusable = self.device == Some(fs_kind::device_of(&meta))
                    && !stat.mtime.max(stat.ctime).is_racy(observed);
                if !is_whole || !is_reusable {
                    return Some((listing, None));
                }
                self.n_changed += 1;
                Known { stat, tracked: tracked_hash, listing }
            }
        };
        Some((known.listing.clone(), Some(known)))
    }

    /// What was seen of each directory asked for; `None` if one of them was in no state to be remembered.
    pub fn seen(&self) -> Option<Vec<(BString, FileStat)>> {
        let seen = || self.fresh.iter().map(|(prefix, known)| (prefix.clone(), known.stat)).collect();
        self.is_whole.then(seen)
    }

    /// Keeps what was seen for the next process; also what was not, unless everything there is was looked at. Best effort.
    pub fn store(mut self, is_complete: bool) {
        if !is_complete {
            self.fresh.extend(self.known);
        }
        if self.fresh.len() >= MIN_DIRECTORIES && self.n_changed >= MIN_CHANGED {
            cache_file::write(&self.file, encode(&self.fresh));
        }
    }
}

/// Reads a directory; whether nothing in it had to be passed over.
fn read(full: &Path, tracked: &TrackedNames, index: &gix::index::State) -> Option<(DirectoryListing, bool)> {
    let names: FxHashMap<&BStr, bool> = tracked.iter(index).collect();
    let mut listing = DirectoryListing::default();
    let mut is_whole = true;
    for entry in std::fs::read_dir(full).ok()? {
        let of_entry = entry.ok().and_then(|entry| {
            let name = gix::path::os_string_into_bstring(entry.file_name()).ok()?;
            Some((name, entry.file_type().ok()?))
        });
        let Some((name, kind)) = of_entry else {
            is_whole = false;
            continue;
        };
        if name.eq_ignore_ascii_case(b".git") {
            listing.is_nested |= name == ".git";
        } else if kind.is_dir() {
            if names.get(name.as_bstr()) != Some(&true) {
                listing.directories.push(name);
            }
        } else if (kind.is_file() || kind.is_symlink()) && !names.contains_key(name.as_bstr()) {
            listing.files.push(name);
        }
    }
    Some((listing, is_whole))
}

fn encode(known: &FxHashMap<BString, Known>) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(known.len() as u32).to_le_bytes());
    let put_names = |bytes: &mut Vec<u8>, names: &[BString]| {
        bytes.extend_from_slice(&(names.len() as u32).to_le_bytes());
        names.iter().for_each(|name| cache_file::put_path(bytes, name.as_ref()));
    };
    for (prefix, Known { stat, tracked, listing }) in known {
        cache_file::put_path(&mut bytes, prefix.as_ref());
        stat.put(&mut bytes);
        bytes.extend_from_slice(&tracked.to_le_bytes());
        bytes.push(u8::from(listing.is_nested));
        put_names(&mut bytes, &listing.directories);
        put_names(&mut bytes, &listing.files);
    }
    bytes
}

fn decode(bytes: &[u8]) -> Option<FxHashMap<BString, Known>> {
    let rest = &mut bytes.get(MAGIC.len()..)?;
    let n = u32::from_le_bytes(cache_file::take(rest)?);
    let names = |rest: &mut &[u8]| -> Option<Vec<BString>> {
        let n = u32::from_le_bytes(cache_file::take(rest)?);
        (0..n).map(|_| cache_file::take_path(rest)).collect()
    };
    let directory = |_| {
        let prefix = cache_file::take_path(rest)?;
        let stat = FileStat::take(rest)?;
        let tracked = u64::from_le_bytes(cache_file::take(rest)?);
        let is_nested = cache_file::take::<1>(rest)? != [0];
        let listing = DirectoryListing { directories: names(rest)?, files: names(rest)?, is_nested };
        Some((prefix, Known { stat, tracked, listing }))
    };
    (0..n).map(directory).collect()
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    /// All listings of a repository, and how many directories were read for them.
    fn walk(repo: &TestRepo, file: &Path) -> (Vec<(BString, DirectoryListing)>, usize) {
        let open = repo.open();
        let index = open.read_index().unwrap();
        let tracked = TrackedNames::by_directory(&index);
        let mut listings = UntrackedCache::load(file.to_owned(), repo.root());
        let (mut found, mut next) = (Vec::new(), vec![BString::default()]);
        while let Some(prefix) = next.pop() {
            let full = repo.root().join(prefix.to_path_lossy());
            let none = TrackedNames::default();
            let names = tracked.get(prefix.as_bstr()).unwrap_or(&none);
            let listing = listings.of(prefix.as_ref(), &full, names, &index).unwrap();
            next.extend(listing.directories.iter().map(|name| format!("{prefix}{name}/").into()));
            found.push((prefix, listing));
        }
        let n_read = listings.n_changed;
        listings.store(true);
        (found, n_read)
    }

    /// Directories that change within a tick of being read are read again.
    fn wait_a_tick() {
        std::thread::sleep(std::time::Duration::from_millis(40));
    }

    #[test]
    fn only_directories_that_changed_are_read() {
        let repo = TestRepo::with_files(&[("a", "1\n"), ("d/b", "2\n"), ("d/e/c", "3\n")]);
        repo.write("d/e/untracked", "4\n");
        let file = repo.root().parent().unwrap().join("listings");
        wait_a_tick();
        let (first, n_read) = walk(&repo, &file);
        assert_eq!(n_read, 3);
        assert_eq!(first.iter().find(|(prefix, _)| prefix == "d/e/").unwrap().1.files, ["untracked"]);
        assert_eq!(walk(&repo, &file), (first.clone(), 0));
        // Names that git gets to know or forgets, and a name that comes and goes.
        repo.git(["rm", "-q", "--cached", "d/b"]);
        let (second, n_read) = walk(&repo, &file);
        assert_eq!((second.iter().find(|(prefix, _)| prefix == "d/").unwrap().1.files.len(), n_read), (1, 1));
        repo.git(["add", "d/b"]).write("d/new", "5\n");
        wait_a_tick();
        assert_eq!(walk(&repo, &file).1, 1);
        std::fs::remove_file(repo.root().join("d/new")).unwrap();
        wait_a_tick();
        assert_eq!(walk(&repo, &file), (first.clone(), 1));
        // The content of files is not this module's business.
        repo.write("d/e/c", "other\n");
        assert_eq!(walk(&repo, &file), (first.clone(), 0));
        std::fs::write(&file, "rubbish").unwrap();
        assert_eq!(walk(&repo, &file), (first, 3));
    }

    #[test]
    fn a_directory_that_has_just_changed_is_not_remembered() {
        let repo = TestRepo::with_files(&[("d/a", "1\n")]);
        let file = repo.root().parent().unwrap().join("listings");
        wait_a_tick();
        for round in 0..20 {
            repo.write(&format!("d/{round}"), "new\n");
            let files = |walked: (Vec<(BString, DirectoryListing)>, usize)| {
                walked.0.iter().map(|(_, l)| l.files.len()).sum::<usize>()
            };
            assert_eq!(files(walk(&repo, &file)), round + 1);
        }
    }

    #[test]
    fn damage_reads_as_empty() {
        let listing = DirectoryListing {
            directories: vec!["d".into()],
            files: vec!["f".into(), "g".into()],
            is_nested: true,
        };
        let stat = FileStat { size: 1, mtime: Time::default(), ctime: Time::now(), inode: 7 };
        let known: FxHashMap<_, _> =
            [("p/".into(), Known { stat, tracked: 3, listing })].into_iter().collect();
        let good = encode(&known);
        assert_eq!(decode(&good), Some(known));
        for end in 0..good.len() {
            assert_eq!(decode(&good[..end]), None, "{end}");
        }
    }
}
