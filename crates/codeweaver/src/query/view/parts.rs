//! The parts of a repository: its top-level directories, or the packages in them, with their numbers of
//! source files. A question that names no part is mostly about the main one.

use rustc_hash::FxHashMap;

use codeweaver_chunk::language;
use codeweaver_git::BStr;
use codeweaver_index::policy::PathFlags;
use codeweaver_store::entries::{EntryRecord, NO_DOC};

/// Top-level directories whose subdirectories are parts.
const COLLECTIONS: &[&[u8]] = &[b"packages", b"crates", b"modules", b"libs"];
/// Roles of files that are about the code of a part and do not make it larger.
const NOT_COUNTED: [PathFlags; 6] = [
    PathFlags::TEST,
    PathFlags::EXAMPLE,
    PathFlags::DOCS,
    PathFlags::BENCH,
    PathFlags::VENDORED_LIKE,
    PathFlags::STUB,
];

/// The number of source files of each part.
#[derive(Default)]
pub struct Parts {
    n_files: FxHashMap<Box<[u8]>, u32>,
    n_all: u32,
}

impl Parts {
    /// Counts the indexed source files among `entries`, in any order.
    pub fn count<'a>(entries: impl Iterator<Item = (&'a EntryRecord, &'a [u8])>) -> Parts {
        let mut parts = Parts::default();
        // Languages are looked up once for each extension.
        let mut is_source: FxHashMap<&[u8], bool> = FxHashMap::default();
        // Most entries are in the part of the one before.
        let (mut last, mut n_last): (&[u8], u32) = (b"", 0);

        for (record, path) in entries {
            let flags = PathFlags(record.flags as u8);
            if record.doc == NO_DOC || NOT_COUNTED.iter().any(|&role| flags.contains(role)) {
                continue;
            }
            let extension = extension_of(path);
            if !*is_source.entry(extension).or_insert_with(|| is_source_extension(extension)) {
                continue;
            }

            let part = part_of(path);
            if part != last {
                parts.add(last, n_last);
                (last, n_last) = (part, 0);
            }
            n_last += 1;
        }

        parts.add(last, n_last);
        parts
    }

    /// The parts with these numbers of source files.
    pub fn from_counts(counts: &[(Vec<u8>, u32)]) -> Parts {
        let mut parts = Parts::default();
        counts.iter().for_each(|(part, n)| parts.add(part, *n));
        parts
    }

    /// The number of source files of each part, by the beginning of its paths.
    pub fn counts(&self) -> impl Iterator<Item = (&[u8], u32)> {
        self.n_files.iter().map(|(part, n)| (&**part, *n))
    }

    /// Adds `n` source files to a part.
    fn add(&mut self, part: &[u8], n: u32) {
        if n == 0 {
            return;
        }
        self.n_all += n;

        match self.n_files.get_mut(part) {
            Some(sum) => *sum += n,
            None => {
                self.n_files.insert(part.into(), n);
            }
        }
    }

    /// The number of source files of the part of `path`, as a share of all, 0–1. Among many parts of similar
    /// size all shares are small: there is no main one.
    pub fn share(&self, path: &[u8]) -> f32 {
        let n = self.n_files.get(part_of(path)).copied().unwrap_or(0);
        if self.n_all == 0 { 0.0 } else { n as f32 / self.n_all as f32 }
    }
}

/// The part of a path, given as the beginning of the path; empty for a file at the top.
fn part_of(path: &[u8]) -> &[u8] {
    let mut slashes = memchr::memchr_iter(b'/', path);
    let Some(first) = slashes.next() else { return b"" };
    let end = match slashes.next() {
        Some(second) if COLLECTIONS.contains(&&path[..first]) => second,
        _ => first,
    };
    &path[..end]
}

/// The file name from its last dot on, or the whole name.
fn extension_of(path: &[u8]) -> &[u8] {
    let name = &path[memchr::memrchr(b'/', path).map_or(0, |at| at + 1)..];
    memchr::memrchr(b'.', name).map_or(name, |dot| &name[dot..])
}

/// Returns whether files with this extension, or of this name, are source code. Names like `CMakeLists.txt`
/// count as any other with their extension, so that no count depends on the order of files.
fn is_source_extension(extension: &[u8]) -> bool {
    let name = match extension.first() {
        Some(b'.') => [b"x", extension].concat(),
        _ => extension.to_vec(),
    };
    language::by_path(BStr::new(&name)).is_some_and(|language| !language.is_prose() && !language.is_data())
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeweaver_store::entries::{Entries, NewEntry};

    #[test]
    fn parts_are_weighed_by_their_source_files() {
        let entry = |path: &str, flags: PathFlags| NewEntry {
            path: path.into(),
            doc: 0,
            skipped: 0,
            flags: u16::from(flags.0),
        };
        let none = PathFlags::default();

        let new = [
            entry("lib/a.c", none),
            entry("tests/a.c", PathFlags::TEST),
            entry("lib/b/c.c", none),
            entry("src/main.c", none),
            entry("lib/d.h", none),
            entry("lib/data.json", none),
            entry("packages/x/src/a.ts", none),
            entry("packages/y/src/a.ts", none),
            entry("packages/x/src/b.ts", none),
            entry("main.go", none),
            entry("lib/CMakeLists.txt", none),
            entry("lib/notes.txt", none),
            NewEntry { doc: NO_DOC, ..entry("lib/e.c", none) },
        ];
        let entries = Entries::in_memory(&new).unwrap();
        let parts = Parts::count(entries.records().iter().map(|record| (record, entries.path(record))));
        for (path, expected) in [
            ("lib/other/z.c", 3.0 / 8.0),
            ("src/main.c", 1.0 / 8.0),
            ("packages/x/index.ts", 2.0 / 8.0),
            ("packages/y/README.md", 1.0 / 8.0),
            ("main.go", 1.0 / 8.0),
            ("tests/a.c", 0.0),
            ("nowhere/a.c", 0.0),
        ] {
            assert!((parts.share(path.as_bytes()) - expected).abs() < 1e-6, "{path}");
        }
        assert_eq!(Parts::default().share(b"a/b.c"), 0.0);
    }
}
