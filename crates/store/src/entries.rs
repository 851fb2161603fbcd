//! Entry files: lists of (path, doc or skip reason, flags). A snapshot is a set of entry ids.
//!
//! Ids are store-wide and count up in order of arrival. A file covers a contiguous range of ids, and adjacent
//! files are merged by concatenation, so ids stay until `gc` renumbers them. Sections: 1 [`EntryRecord`]s, 2
//! paths, 3 local ids sorted by path (u32), 4 and 5 path terms → local ids (see [`super::postings`]).

use std::path::Path;

use bytemuck::{Pod, Zeroable};

use codeweaver_base::sys::Mapped;
use codeweaver_text as text;

use super::container::{Container, ContainerWriter};
use super::content;
use super::error::StoreError;
use super::postings::{Field, PostingList, Postings, PostingsBuilder};

pub const MAGIC: [u8; 8] = *b"CWENT\0\0\0";
pub const VERSION: u32 = 2;
/// The value of [`EntryRecord::doc`] for "no doc".
pub const NO_DOC: u32 = u32::MAX;

const RECORDS: u32 = 1;
const PATHS: u32 = 2;
const BY_PATH: u32 = 3;
const TERMS: u32 = 4;
const LISTS: u32 = 5;

/// An entry, 16 bytes.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct EntryRecord {
    path_at: u32,
    /// Doc id, or [`NO_DOC`] for a skipped path.
    pub doc: u32,
    path_len: u32,
    /// `policy::PathFlags`.
    pub flags: u16,
    /// `policy::SkipReason` as a number, 0 for an indexed path.
    pub skipped: u8,
    zero: u8,
}

/// An entry that is not written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    pub path: Vec<u8>,
    pub doc: u32,
    pub skipped: u8,
    pub flags: u16,
}

/// Encodes an entry file with these entries, in id order.
pub fn encode(entries: &[NewEntry]) -> Vec<u8> {
    let mut records = Vec::with_capacity(entries.len());
    let mut paths = Vec::new();
    let mut postings = PostingsBuilder::default();
    let mut scratch = Vec::new();

    for (i, entry) in entries.iter().enumerate() {
        records.push(EntryRecord {
            path_at: paths.len() as u32,
            doc: entry.doc,
            path_len: entry.path.len() as u32,
            flags: entry.flags,
            skipped: entry.skipped,
            zero: 0,
        });

        paths.extend_from_slice(&entry.path);

        scratch.clear();
        text::path_terms(&String::from_utf8_lossy(&entry.path), &mut |term| {
            scratch.push(postings.id(Field::Path, term))
        });

        scratch.sort_unstable();
        for run in scratch.chunk_by(|a, b| a == b) {
            postings.add(run[0], i as u32, run.len() as u32);
        }
    }

    let mut by_path: Vec<u32> = (0..entries.len() as u32).collect();
    by_path.sort_by(|&a, &b| entries[a as usize].path.cmp(&entries[b as usize].path));
    let (terms, lists) = postings.finish();

    let mut writer = ContainerWriter::new(MAGIC, VERSION);
    writer.section(RECORDS, bytemuck::cast_slice(&records).to_vec());
    writer.section(PATHS, paths);
    writer.section(BY_PATH, bytemuck::cast_slice(&by_path).to_vec());
    writer.section(TERMS, terms);
    writer.section(LISTS, lists);
    writer.finish()
}

/// An opened entry file.
pub struct Entries {
    file: Container,
}

impl Entries {
    /// Opens the file, checking lengths and bounds.
    pub fn open(path: &Path) -> Result<Entries, StoreError> {
        Entries::new(Container::open(path, MAGIC, VERSION)?)
    }

    /// Makes entries that are never written, for uncommitted files.
    pub fn in_memory(entries: &[NewEntry]) -> Result<Entries, StoreError> {
        Entries::new(Container::in_memory(&encode(entries), MAGIC, VERSION)?)
    }

    fn new(file: Container) -> Result<Entries, StoreError> {
        let n_records = file.records::<EntryRecord>(RECORDS)?.len();
        if file.records::<u32>(BY_PATH)?.len() != n_records {
            return Err(StoreError::damaged(file.path(), "its sections do not fit together"));
        }
        Ok(Entries { file })
    }

    /// All entries, by local id.
    pub fn records(&self) -> &[EntryRecord] {
        self.file.records(RECORDS).unwrap_or(&[])
    }

    pub fn path(&self, record: &EntryRecord) -> &[u8] {
        self.paths().get(record)
    }

    /// The paths, for repeated access.
    pub fn paths(&self) -> Paths<'_> {
        Paths(self.file.section(PATHS).unwrap_or(&[]))
    }

    /// Returns whether both files hold the same bytes; files of different sizes are not read.
    pub fn same_bytes(&self, other: &Entries) -> bool {
        self.file.bytes() == other.file.bytes()
    }

    /// Local ids of all entries at `path`, live or not.
    pub fn find(&self, path: &[u8]) -> &[u32] {
        let by_path: &[u32] = self.file.records(BY_PATH).unwrap_or(&[]);
        let (records, paths) = (self.records(), self.paths());
        let path_of = |&id: &u32| records.get(id as usize).map_or(&[][..], |record| paths.get(record));
        let from = &by_path[by_path.partition_point(|id| path_of(id) < path)..];

        // Few entries have the same path: comparing the next ones is faster than a second binary search.
        let n = from.iter().take_while(|id| path_of(id) == path).count();
        &from[..n]
    }

    /// Local ids of all entries whose path begins with `prefix`, live or not, in path order.
    pub fn below(&self, prefix: &[u8]) -> impl Iterator<Item = u32> + use<'_> {
        let by_path = self.by_path();
        let (records, paths) = (self.records(), self.paths());
        let path_of = move |id: u32| records.get(id as usize).map_or(&[][..], |record| paths.get(record));

        let start = by_path.partition_point(|&id| path_of(id) < prefix);
        let prefix = prefix.to_vec();
        by_path[start..].iter().copied().take_while(move |&id| path_of(id).starts_with(&prefix))
    }

    /// Local ids in path order.
    pub fn by_path(&self) -> &[u32] {
        self.file.records(BY_PATH).unwrap_or(&[])
    }

    /// Local ids of the entries whose path has `term`.
    pub fn list(&self, term: &str) -> Option<PostingList<'_>> {
        Postings::new(self.file.section(TERMS).ok()?, self.file.section(LISTS).ok()?)?.get(Field::Path, term)
    }

    /// All entries in the form that [`encode`] takes.
    pub fn to_new(&self) -> Vec<NewEntry> {
        let records = self.records().iter();
        records
            .map(|record| NewEntry {
                path: self.path(record).to_vec(),
                doc: record.doc,
                skipped: record.skipped,
                flags: record.flags,
            })
            .collect()
    }

    /// Hashes the file; `name` is the hexadecimal BLAKE3 that names it.
    pub fn verify(&self, name: &str) -> Result<(), StoreError> {
        content::verify(self.file.path(), self.file.bytes(), name)
    }

    /// The map of the file.
    pub fn map(&self) -> &Mapped {
        self.file.map()
    }
}

/// The paths of an entry file.
#[derive(Clone, Copy)]
pub struct Paths<'a>(&'a [u8]);

impl<'a> Paths<'a> {
    /// The path of a record; empty for a damaged one.
    pub fn get(self, record: &EntryRecord) -> &'a [u8] {
        let start = record.path_at as usize;
        self.0.get(start..start + record.path_len as usize).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_path_and_by_term() {
        let paths = ["src/http/server.rs", "README.md", "src/http/client.rs", "README.md"];
        let new: Vec<NewEntry> = paths
            .iter()
            .enumerate()
            .map(|(i, path)| NewEntry { path: path.as_bytes().to_vec(), doc: i as u32, skipped: 0, flags: 3 })
            .collect();
        let (file, bytes) = (tempfile::NamedTempFile::new().unwrap(), encode(&new));
        std::fs::write(file.path(), &bytes).unwrap();
        let entries = Entries::open(file.path()).unwrap();
        entries.verify(&blake3::hash(&bytes).to_hex()).unwrap();
        assert!(entries.verify(&blake3::hash(b"another").to_hex()).is_err());
        assert_eq!(entries.to_new(), new);
        assert_eq!(entries.find(b"README.md"), [1, 3]);
        assert_eq!(entries.find(b"src/http"), [0u32; 0]);
        assert_eq!(entries.below(b"src/http").collect::<Vec<_>>(), [2, 0]);
        assert_eq!(entries.below(b"src/https").next(), None);
        let mut ids = Vec::new();
        entries.list("http").unwrap().for_each(|id, _| ids.push(id));
        assert_eq!(ids, [0, 2]);
    }

    /// A tree of git limits no path; a file system does, so only a bare repository has such paths.
    #[test]
    fn a_path_of_any_length_is_kept_whole() {
        let folder = "folder/".repeat(10_000);
        let new: Vec<NewEntry> = ["one.rs", "two.rs"]
            .iter()
            .map(|name| NewEntry { path: format!("{folder}{name}").into(), doc: 0, skipped: 0, flags: 0 })
            .collect();

        let entries = Entries::in_memory(&new).unwrap();
        assert_eq!(entries.to_new(), new);
        assert_eq!((entries.find(&new[0].path), entries.find(&new[1].path)), (&[0][..], &[1][..]));
    }
}
