//! Untracked cache: the contents of directories, remembered under their stat data so that unchanged ones are
//! not read.
//!
//! The times of a directory change whenever a name is added or removed (POSIX, `<sys/stat.h>` and `rename`).
//! Local file systems honour this; git's untracked cache relies on the same rule. A directory that changed
//! within one tick before it was read is not remembered, as with files.

use std::path::{Path, PathBuf};

use gix::index::entry::Mode as EntryMode;
use rustc_hash::FxHashMap;

use super::context::Tuning;
use super::stat::{FileStat, Time};
use super::{cache_file, fs_kind};
use crate::{BStr, BString, ByteSlice as _};

/// The contents of a directory except for tracked files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DirectoryListing {
    /// Names of directories, tracked or not, without submodules and `.git`.
    pub directories: Vec<BString>,
    /// Names of files and links that are not tracked.
    pub files: Vec<BString>,
    /// Whether the directory has a `.git` of its own.
    pub is_nested_repository: bool,
}

/// The names in one directory that git's index has at any stage: files in conflict are tracked.
#[derive(Default)]
pub(super) struct TrackedNames {
    /// Positions in the index, not necessarily contiguous: files of subdirectories can be in between.
    positions: Vec<usize>,
    /// Hash of the names, with the kind of each (submodule or not), independent of their order.
    hash: u64,
}

impl TrackedNames {
    /// The names of each directory, by directory with its slash; the root is empty.
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

/// A listing with the state that it is valid for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CachedListing {
    stat: FileStat,
    /// Hash of the tracked names.
    tracked: u64,
    listing: DirectoryListing,
}

/// Directory listings of one working tree, by directory with its slash.
///
/// Layout, little endian, in the envelope of [`cache_file`]: magic `CWDIRS01`; number of directories u32;
/// each: path, stat data ([`FileStat::put`]), hash of the tracked names u64, nested repository u8, names of
/// directories and of files, each list with a count u32 before it. A path or name is a length u16 and bytes.
/// A file with any other content is treated as empty; losing it costs time only.
pub(super) struct UntrackedCache {
    file: PathBuf,
    /// Device of the working tree, if times of directories are reliable there.
    device: Option<u64>,
    /// Listings from the file that have not been requested yet.
    cached: FxHashMap<BString, CachedListing>,
    /// Valid listings of directories that have been requested.
    current: FxHashMap<BString, CachedListing>,
    /// Number of listings in `current` that are not from the file.
    n_changed: usize,
    /// Whether each directory that was requested is in `current`.
    is_complete: bool,
}

const MAGIC: &[u8; 8] = b"CWDIRS01";

impl UntrackedCache {
    /// Loads the cache beside `cache_file` for the working tree at `root`.
    pub fn load(cache_file: &Path, root: &Path) -> UntrackedCache {
        let mut file = cache_file.as_os_str().to_owned();
        file.push("-directories");
        let file = PathBuf::from(file);
        let device = fs_kind::device(root);
        let cached = device.and_then(|_| load_listings(&file)).unwrap_or_default();

        UntrackedCache {
            file,
            device,
            cached,
            current: FxHashMap::default(),
            n_changed: 0,
            is_complete: true,
        }
    }

    /// Returns the listing of the directory `prefix` at `full`, from the cache or from disk; `None` if it
    /// cannot be read.
    pub fn listing(
        &mut self,
        prefix: &BStr,
        full: &Path,
        tracked: &TrackedNames,
        index: &gix::index::State,
    ) -> Option<DirectoryListing> {
        let (listing, cacheable) = self.lookup_or_read(prefix, full, tracked, index).unzip();

        match cacheable.flatten() {
            Some(cacheable) => drop(self.current.insert(prefix.to_owned(), cacheable)),
            None => self.is_complete = false,
        }
        listing
    }

    /// Returns the listing of a directory, and its form in the cache unless it must not be cached.
    fn lookup_or_read(
        &mut self,
        prefix: &BStr,
        full: &Path,
        tracked: &TrackedNames,
        index: &gix::index::State,
    ) -> Option<(DirectoryListing, Option<CachedListing>)> {
        let observed = Time::now();
        let meta = std::fs::symlink_metadata(full).ok()?;
        let (stat, tracked_hash) = (FileStat::from_metadata(&meta), tracked.hash);

        let cached = self.cached.remove(prefix);
        if let Some(cached) = cached.filter(|cached| cached.stat == stat && cached.tracked == tracked_hash) {
            return Some((cached.listing.clone(), Some(cached)));
        }

        let (listing, is_complete) = read(full, tracked, index)?;
        let is_reusable =
            self.device == Some(fs_kind::device_of(&meta)) && !stat.mtime.max(stat.ctime).is_racy(observed);
        if !is_complete || !is_reusable {
            return Some((listing, None));
        }
        self.n_changed += 1;
        let cached = CachedListing { stat, tracked: tracked_hash, listing };
        Some((cached.listing.clone(), Some(cached)))
    }

    /// Returns the stat data of each requested directory; `None` if one of them must not be cached.
    pub fn observations(&self) -> Option<Vec<(BString, FileStat)>> {
        self.is_complete
            .then(|| self.current.iter().map(|(prefix, cached)| (prefix.clone(), cached.stat)).collect())
    }

    /// Writes the cache file. Best effort. Listings that were not requested are kept unless `is_complete`,
    /// that is, unless the walk reached every directory.
    pub fn store(mut self, is_complete: bool, tuning: &Tuning) {
        if !is_complete {
            self.current.extend(self.cached);
        }
        if self.current.len() >= tuning.min_cached_directories
            && self.n_changed >= tuning.min_changed_directories
        {
            cache_file::write(&self.file, encode(&self.current));
        }
    }
}

fn load_listings(file: &Path) -> Option<FxHashMap<BString, CachedListing>> {
    let bytes = cache_file::read(file, MAGIC)?;
    decode(&bytes).filter(|_| !bytes.has_failed())
}

/// Reads a directory. The flag is false if an entry could not be read and was left out.
fn read(full: &Path, tracked: &TrackedNames, index: &gix::index::State) -> Option<(DirectoryListing, bool)> {
    let names: FxHashMap<&BStr, bool> = tracked.iter(index).collect();
    let mut listing = DirectoryListing::default();
    let mut is_complete = true;

    for entry in std::fs::read_dir(full).ok()? {
        let Some((name, kind)) = entry.ok().and_then(|entry| name_and_kind(&entry)) else {
            is_complete = false;
            continue;
        };

        if name.eq_ignore_ascii_case(b".git") {
            listing.is_nested_repository |= name == ".git";
        } else if kind.is_dir() {
            if names.get(name.as_bstr()) != Some(&true) {
                listing.directories.push(name);
            }
        } else if (kind.is_file() || kind.is_symlink()) && !names.contains_key(name.as_bstr()) {
            listing.files.push(name);
        }
    }

    Some((listing, is_complete))
}

fn name_and_kind(entry: &std::fs::DirEntry) -> Option<(BString, std::fs::FileType)> {
    let name = gix::path::os_string_into_bstring(entry.file_name()).ok()?;
    Some((name, entry.file_type().ok()?))
}

fn encode(cached: &FxHashMap<BString, CachedListing>) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(cached.len() as u32).to_le_bytes());

    for (prefix, CachedListing { stat, tracked, listing }) in cached {
        cache_file::put_path(&mut bytes, prefix.as_ref());
        stat.put(&mut bytes);
        bytes.extend_from_slice(&tracked.to_le_bytes());
        bytes.push(u8::from(listing.is_nested_repository));
        put_names(&mut bytes, &listing.directories);
        put_names(&mut bytes, &listing.files);
    }

    bytes
}

fn decode(bytes: &[u8]) -> Option<FxHashMap<BString, CachedListing>> {
    let rest = &mut bytes.get(MAGIC.len()..)?;
    let n = u32::from_le_bytes(cache_file::take(rest)?);
    (0..n).map(|_| take_listing(rest)).collect()
}

fn take_listing(rest: &mut &[u8]) -> Option<(BString, CachedListing)> {
    let prefix = cache_file::take_path(rest)?;
    let stat = FileStat::take(rest)?;
    let tracked = u64::from_le_bytes(cache_file::take(rest)?);
    let is_nested_repository = cache_file::take::<1>(rest)? != [0];
    let (directories, files) = (take_names(rest)?, take_names(rest)?);
    let listing = DirectoryListing { directories, files, is_nested_repository };
    Some((prefix, CachedListing { stat, tracked, listing }))
}

fn put_names(bytes: &mut Vec<u8>, names: &[BString]) {
    bytes.extend_from_slice(&(names.len() as u32).to_le_bytes());
    names.iter().for_each(|name| cache_file::put_path(bytes, name.as_ref()));
}

fn take_names(rest: &mut &[u8]) -> Option<Vec<BString>> {
    let n = u32::from_le_bytes(cache_file::take(rest)?);
    (0..n).map(|_| cache_file::take_path(rest)).collect()
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    /// All listings of a repository, and the number of directories that were read for them.
    fn walk(repo: &TestRepo, cache_file: &Path) -> (Vec<(BString, DirectoryListing)>, usize) {
        let open = repo.open();
        let index = open.read_index().unwrap();
        let tracked = TrackedNames::by_directory(&index);
        let mut cache = UntrackedCache::load(cache_file, repo.root());
        let (mut found, mut next) = (Vec::new(), vec![BString::default()]);

        while let Some(prefix) = next.pop() {
            let full = repo.root().join(prefix.to_path_lossy());
            let none = TrackedNames::default();
            let names = tracked.get(prefix.as_bstr()).unwrap_or(&none);
            let listing = cache.listing(prefix.as_ref(), &full, names, &index).unwrap();
            next.extend(listing.directories.iter().map(|name| format!("{prefix}{name}/").into()));
            found.push((prefix, listing));
        }

        let n_read = cache.n_changed;
        cache.store(true, &Tuning::SMALL);
        (found, n_read)
    }

    /// Directories that change within a tick of being read are read again.
    fn wait_a_tick() {
        std::thread::sleep(std::time::Duration::from_millis(40));
    }

    #[test]
    fn only_changed_directories_are_read() {
        let repo = TestRepo::with_files(&[("a", "1\n"), ("d/b", "2\n"), ("d/e/c", "3\n")]);
        repo.write("d/e/untracked", "4\n");
        let cache_file = repo.root().parent().unwrap().join("stat-cache");
        wait_a_tick();
        let (first, n_read) = walk(&repo, &cache_file);
        assert_eq!(n_read, 3);
        assert_eq!(first.iter().find(|(prefix, _)| prefix == "d/e/").unwrap().1.files, ["untracked"]);
        assert_eq!(walk(&repo, &cache_file), (first.clone(), 0));

        // A name that git untracks and tracks again, and a file that is created and removed.
        repo.git(["rm", "-q", "--cached", "d/b"]);
        let (second, n_read) = walk(&repo, &cache_file);
        assert_eq!((second.iter().find(|(prefix, _)| prefix == "d/").unwrap().1.files.len(), n_read), (1, 1));
        repo.git(["add", "d/b"]).write("d/new", "5\n");
        wait_a_tick();
        assert_eq!(walk(&repo, &cache_file).1, 1);
        std::fs::remove_file(repo.root().join("d/new")).unwrap();
        wait_a_tick();
        assert_eq!(walk(&repo, &cache_file), (first.clone(), 1));

        // Writing a file in place does not change its directory.
        repo.write("d/e/c", "other\n");
        assert_eq!(walk(&repo, &cache_file), (first.clone(), 0));
        std::fs::write(repo.root().parent().unwrap().join("stat-cache-directories"), "rubbish").unwrap();
        assert_eq!(walk(&repo, &cache_file), (first, 3));
    }

    #[test]
    fn a_racy_directory_is_not_cached() {
        let repo = TestRepo::with_files(&[("d/a", "1\n")]);
        let cache_file = repo.root().parent().unwrap().join("stat-cache");
        wait_a_tick();
        for round in 0..20 {
            repo.write(&format!("d/{round}"), "new\n");
            let files = |walked: (Vec<(BString, DirectoryListing)>, usize)| {
                walked.0.iter().map(|(_, l)| l.files.len()).sum::<usize>()
            };
            assert_eq!(files(walk(&repo, &cache_file)), round + 1);
        }
    }

    #[test]
    fn a_truncated_cache_is_ignored() {
        let listing = DirectoryListing {
            directories: vec!["d".into()],
            files: vec!["f".into(), "g".into()],
            is_nested_repository: true,
        };
        let stat = FileStat { size: 1, mtime: Time::default(), ctime: Time::now(), inode: 7 };
        let cached: FxHashMap<_, _> =
            [("p/".into(), CachedListing { stat, tracked: 3, listing })].into_iter().collect();

        let good = encode(&cached);
        assert_eq!(decode(&good), Some(cached));
        for end in 0..good.len() {
            assert_eq!(decode(&good[..end]), None, "{end}");
        }
    }
}
