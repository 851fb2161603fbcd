//! The built-in tables of file and directory names, `data/*.txt`.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::PathFlags;

const FILES: &str = include_str!("data/files.txt");
const DIRECTORIES: &str = include_str!("data/directories.txt");
const MANIFESTS: &str = include_str!("data/manifests.txt");

/// Kinds of a name: a bit set of the constants below.
pub(super) type Kinds = u32;

macro_rules! kinds {
    ($($constant:ident = $bit:literal, $name:literal;)*) => {
        $(pub(super) const $constant: Kinds = 1 << $bit;)*
        const KIND_NAMES: &[(&str, Kinds)] = &[$(($name, $constant)),*];
    };
}

kinds! {
    LOCK_FILE = 0, "lock-file";
    MINIFIED = 1, "minified";
    GENERATED = 2, "generated";
    SECRET = 3, "secret";
    NOT_SECRET = 4, "not-secret";
    BINARY = 5, "binary";
    VENDORED = 6, "vendored";
    VENDORED_BY_MANIFEST = 7, "vendored-by-manifest";
    TEST = 8, "test";
    EXAMPLE = 9, "example";
    DOCS = 10, "docs";
    COMPAT = 11, "compat";
    BENCH = 12, "bench";
    VENDORED_LIKE = 13, "vendored-like";
    STUB = 14, "stub";
    REEXPORT = 15, "re-export";
    TEST_OUTSIDE_PACKAGES = 16, "test-outside-packages";
    SOURCES = 17, "sources";
}

const FLAGS: &[(Kinds, PathFlags)] = &[
    (TEST, PathFlags::TEST),
    (EXAMPLE, PathFlags::EXAMPLE),
    (DOCS, PathFlags::DOCS),
    (COMPAT, PathFlags::COMPAT),
    (BENCH, PathFlags::BENCH),
    (VENDORED_LIKE, PathFlags::VENDORED_LIKE),
    (STUB, PathFlags::STUB),
    (REEXPORT, PathFlags::REEXPORT),
];

/// Kinds with patterns that ignore case.
const CASE_FOLDED: Kinds = SECRET | NOT_SECRET | BINARY;

/// The roles that these kinds give a file.
pub(super) fn flags(kinds: Kinds) -> PathFlags {
    let mut flags = PathFlags::default();
    for (kind, flag) in FLAGS.iter().filter(|(kind, _)| kinds & kind != 0) {
        debug_assert_ne!(*kind, 0);
        flags = flags | *flag;
    }
    flags
}

/// The kinds of a file, by the last component of its path.
pub(super) fn of_file(name: &[u8]) -> Kinds {
    let tables = &*TABLES;
    let as_written = tables.files.find(name);
    if name.iter().any(u8::is_ascii_uppercase) {
        as_written | tables.folded_files.find(&name.to_ascii_lowercase())
    } else {
        as_written | tables.folded_files.find(name)
    }
}

/// The kinds of a directory, by its name.
pub(super) fn of_directory(name: &[u8]) -> Kinds {
    TABLES.directories.find(name)
}

/// Returns whether a file of this name marks its directory as the root of a package.
pub(super) fn is_manifest(name: &[u8]) -> bool {
    TABLES.manifests.contains(name)
}

/// A hash of all tables, comments included.
pub(super) fn fingerprint() -> &'static str {
    &TABLES.fingerprint
}

struct Tables {
    files: Patterns,
    folded_files: Patterns,
    directories: Patterns,
    manifests: FxHashSet<&'static [u8]>,
    fingerprint: String,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let (mut files, mut folded_files) = (Patterns::default(), Patterns::default());
    for (kind, pattern) in rows(FILES) {
        if kind & CASE_FOLDED != 0 { folded_files.add(pattern, kind) } else { files.add(pattern, kind) }
    }

    let mut directories = Patterns::default();
    rows(DIRECTORIES).for_each(|(kind, pattern)| directories.add(pattern, kind));
    let manifests = lines(MANIFESTS).flat_map(str::split_ascii_whitespace).map(str::as_bytes).collect();

    let mut hash = blake3::Hasher::new();
    for table in [FILES, DIRECTORIES, MANIFESTS] {
        hash.update(&(table.len() as u64).to_le_bytes()).update(table.as_bytes());
    }
    let fingerprint = hash.finalize().to_hex()[..16].to_owned();

    Tables { files, folded_files, directories, manifests, fingerprint }
});

/// The lines of a table that are not comments.
fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.trim_start().starts_with('#'))
}

/// The `(kind, pattern)` pairs of a table. The kind is 0 if it is unknown; a test checks that there are none.
fn rows(table: &'static str) -> impl Iterator<Item = (Kinds, &'static str)> {
    lines(table).flat_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let kind = words.next().and_then(|word| KIND_NAMES.iter().find(|(name, _)| *name == word));
        let kind = kind.map_or(0, |(_, kind)| *kind);
        words.map(move |pattern| (kind, pattern))
    })
}

/// Patterns with at most one `*`, indexed by whole name or by last extension.
#[derive(Default)]
struct Patterns {
    exact: FxHashMap<&'static [u8], Kinds>,
    /// Patterns by the part after their last dot, if that part has no `*`.
    by_extension: FxHashMap<&'static [u8], Vec<Affixes>>,
    other: Vec<Affixes>,
}

/// A pattern with one `*`.
struct Affixes {
    prefix: &'static [u8],
    suffix: &'static [u8],
    kind: Kinds,
}

impl Patterns {
    fn add(&mut self, pattern: &'static str, kind: Kinds) {
        let Some((prefix, suffix)) = pattern.split_once('*') else {
            *self.exact.entry(pattern.as_bytes()).or_default() |= kind;
            return;
        };

        let affixes = Affixes { prefix: prefix.as_bytes(), suffix: suffix.as_bytes(), kind };
        match suffix.rsplit_once('.') {
            Some((_, extension)) => self.by_extension.entry(extension.as_bytes()).or_default().push(affixes),
            None => self.other.push(affixes),
        }
    }

    fn find(&self, name: &[u8]) -> Kinds {
        let extension = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        let by_extension = self.by_extension.get(extension).map(Vec::as_slice).unwrap_or_default();
        let exact = self.exact.get(name).copied().unwrap_or(0);

        let matching = by_extension.iter().chain(&self.other).filter(|affixes| affixes.matches(name));
        matching.fold(exact, |kinds, affixes| kinds | affixes.kind)
    }
}

impl Affixes {
    fn matches(&self, name: &[u8]) -> bool {
        name.len() >= self.prefix.len() + self.suffix.len()
            && name.starts_with(self.prefix)
            && name.ends_with(self.suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_known_kind_and_a_usable_pattern() {
        for table in [FILES, DIRECTORIES] {
            for (kind, pattern) in rows(table) {
                assert_ne!(kind, 0, "{pattern}");
                assert!(pattern.matches('*').count() <= 1 && !pattern.contains('/'), "{pattern}");
                assert!(kind & CASE_FOLDED == 0 || pattern.to_ascii_lowercase() == pattern, "{pattern}");
            }
        }
    }

    #[test]
    fn names_have_the_kinds_of_all_matching_rows() {
        for (name, kinds) in [
            ("main.rs", 0),
            ("Cargo.lock", LOCK_FILE),
            ("api.pb.go", GENERATED),
            ("pb.go", 0),
            ("jquery.min.js", MINIFIED),
            ("LOGO.PNG", BINARY),
            (".env", SECRET),
            (".env.local", SECRET),
            (".ENV", SECRET),
            (".env.example", SECRET | NOT_SECRET),
            ("environment.rs", 0),
            ("Latest.java", 0),
            ("PolicyTest.java", TEST),
            ("latest.java", 0),
            ("foo.spec.ts", TEST),
            ("index.d.ts", STUB),
            ("README", DOCS),
            ("testing.py", 0),
            ("test.py", 0),
            ("contest.py", 0),
            ("attest.rs", 0),
            ("spec.rb", 0),
            ("zz_generated.deepcopy.go", GENERATED),
        ] {
            assert_eq!(of_file(name.as_bytes()), kinds, "{name}");
        }
    }
}
