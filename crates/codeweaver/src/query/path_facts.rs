//! Facts about paths that do not depend on the query: vector, terms by place, depth.
//!
//! A query needs them for hundreds of paths, so a long-lived process caches them ([`PathCache`]). They depend
//! on the path and the model alone, not on the index, so nothing in the cache becomes outdated.

use std::sync::{Arc, RwLock};

use rustc_hash::FxHashMap;

use codeweaver_base::sync;
use codeweaver_embed::Embedder;
use codeweaver_text::{self as text, TermKind};

use super::parse::names;

/// Stems of index files, which are named after their folder.
const FOLDER_NAMES: &[&str] = &["mod", "index", "lib", "main", "__init__", "init", "default"];
/// Maximum number of paths in the cache, at about half a kilobyte each.
const MAX_PATHS: usize = 8192;

/// Words of paths that stand for a platform. `node`, `browser` and `web` are left out: they are also parts of
/// products.
const PLATFORMS: [&str; 27] = [
    "android", "apple", "arm64", "bsd", "cygwin", "darwin", "freebsd", "ios", "java11", "java9", "jdk11",
    "jdk8", "js", "jvm", "linux", "macos", "mingw", "msvc", "native", "posix", "unix", "wasi", "wasm",
    "win32", "windows", "x64", "x86",
];

/// The part of a path that has a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the file's name, or in the folder's name of an index file.
    Name,
    /// In another folder.
    Folder,
}

/// A term of a path: a range of [`PathFacts::terms`].
#[derive(Debug, Clone, Copy)]
struct Part {
    start: u32,
    end: u32,
    place: Place,
    names_the_file: bool,
}

/// Facts about a path that hold for all queries.
#[derive(Debug)]
pub struct PathFacts {
    /// Its vector, if the model has vectors for paths.
    pub vector: Option<Vec<i8>>,
    /// Folders above the file, in tenths, at most 2.
    pub folders: f32,
    /// Words of the file's name, in tenths, at most 2.
    pub name_words: f32,
    /// The stem of the file, or of the folder of an index file, [`names::normalised`].
    pub name: String,
    /// The first word that stands for a platform, in lower case.
    pub platform: Option<&'static str>,
    /// Whether the file's name begins with a dot.
    pub is_hidden: bool,
    terms: String,
    parts: Vec<Part>,
}

impl PathFacts {
    fn new(path: &[u8], embedder: Option<&dyn Embedder>) -> PathFacts {
        let path = String::from_utf8_lossy(path);
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let (above, parent) = folders.rsplit_once('/').unwrap_or(("", folders));
        let stem = file_stem(name);
        let is_index_file = FOLDER_NAMES.contains(&stem);

        let mut facts = PathFacts {
            vector: embedder.and_then(|embedder| embedder.embed_path(&path)),
            folders: tenths(path.matches('/').count()),
            name_words: tenths(n_words(stem)),
            name: names::normalised(if is_index_file && !parent.is_empty() { parent } else { stem }),
            platform: platform(&path),
            is_hidden: name.starts_with('.'),
            terms: String::with_capacity(path.len()),
            parts: Vec::new(),
        };

        facts.add(stem, Place::Name, !is_index_file);
        facts.add(parent, if is_index_file { Place::Name } else { Place::Folder }, is_index_file);
        facts.add(above, Place::Folder, false);
        facts
    }

    fn add(&mut self, text: &str, place: Place, names_the_file: bool) {
        text::visit_terms(text, |term, kind| {
            let start = self.terms.len() as u32;
            self.terms.push_str(term);
            let names_the_file = names_the_file && !matches!(kind, TermKind::Whole | TermKind::Prefix);
            self.parts.push(Part { start, end: self.terms.len() as u32, place, names_the_file });
        });
    }

    /// Terms with their places, and whether each is a word of the name after which the file is called.
    pub fn parts(&self) -> impl Iterator<Item = (&str, Place, bool)> {
        self.parts.iter().map(move |part| {
            let term = self.terms.get(part.start as usize..part.end as usize).unwrap_or("");
            (term, part.place, part.names_the_file)
        })
    }
}

/// Returns the first word of [`PLATFORMS`] in a path: `jvm` in `src/jvmMain/Path.kt`. Extensions are not
/// words.
fn platform(path: &str) -> Option<&'static str> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let words =
        [folders, file_stem(name)].into_iter().flat_map(|part| part.split(|c: char| !c.is_alphanumeric()));

    for word in words {
        // `jvmMain` is two words, `macOS` and `iOS` are one.
        let first = word.find(|c: char| c.is_ascii_uppercase()).filter(|&at| at > 0).map(|at| &word[..at]);
        if let Some(found) = platform_of_word(word).or_else(|| first.and_then(platform_of_word)) {
            return Some(found);
        }
    }
    None
}

fn platform_of_word(word: &str) -> Option<&'static str> {
    PLATFORMS.iter().find(|platform| word.eq_ignore_ascii_case(platform)).copied()
}

/// A number in tenths, at most 2.
fn tenths(n: usize) -> f32 {
    const MOST: f32 = 2.0;
    (n as f32 / 10.0).min(MOST)
}

fn n_words(stem: &str) -> usize {
    let mut n = 0;
    text::visit_terms(stem, |_, kind| {
        n += usize::from(matches!(kind, TermKind::Word | TermKind::Part | TermKind::Number));
    });
    n
}

/// A file name without its extension.
fn file_stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}

/// Cache of [`PathFacts`] for one model.
#[derive(Default)]
pub struct PathCache {
    embedder: Option<Arc<dyn Embedder>>,
    known: RwLock<FxHashMap<Box<[u8]>, Arc<PathFacts>>>,
}

impl PathCache {
    pub fn new(embedder: Option<Arc<dyn Embedder>>) -> PathCache {
        PathCache { embedder, known: RwLock::default() }
    }

    /// Returns the facts of `path`, from the cache if it has them.
    pub fn get(&self, path: &[u8]) -> Arc<PathFacts> {
        let known = sync::read(&self.known);
        if let Some(facts) = known.get(path) {
            return facts.clone();
        }
        // The lock is not held while the facts are computed: two threads may compute the same.
        drop(known);

        let facts = Arc::new(PathFacts::new(path, self.embedder.as_deref()));
        let mut known = sync::write(&self.known);
        if known.len() >= MAX_PATHS {
            // This is rare, so an eviction policy would cost more than it saves.
            known.clear();
        }
        known.insert(path.into(), facts.clone());

        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_whole_words_of_a_path() {
        for (path, expected) in [
            ("okio/src/jvmMain/kotlin/okio/Path.kt", Some("jvm")),
            ("src/win32/poll.c", Some("win32")),
            ("lib/poll_posix.c", Some("posix")),
            ("src/iOS/View.swift", Some("ios")),
            ("src/commonMain/Path.kt", None),
            ("web/native.js", Some("native")),
            ("src/nativeness/index.js", None),
        ] {
            assert_eq!(platform(path), expected, "{path}");
        }
    }

    #[test]
    fn folders_and_words_are_counted_in_tenths() {
        let counts = |path: &[u8]| {
            let facts = PathFacts::new(path, None);
            (facts.folders, facts.name_words)
        };
        assert_eq!(counts(b"ab.rs"), (0.0, 0.1));
        assert_eq!(counts(b"src/query/compiler.js"), (0.2, 0.1));
        assert_eq!(counts(b"src/dialects/sql/sql-query_compilerTest.js"), (0.3, 0.4));
        assert!(counts("x/".repeat(500).as_bytes()).0 <= 2.0);
    }

    #[test]
    fn terms_have_places_and_those_of_the_name_are_marked() {
        let spelt = |path: &str| {
            let facts = PathFacts::new(path.as_bytes(), None);
            let parts = facts
                .parts()
                .map(|(term, place, marked)| format!("{term} {place:?}{}", if marked { "!" } else { "" }));
            parts.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(spelt("dog/bird/cat.rs"), "cat Name!, bird Folder, dog Folder");
        assert_eq!(spelt("dog/mod.rs"), "mod Name, dog Name!");
        assert_eq!(spelt("key_map.rs"), "key Name!, map Name!, keymap Name");
    }

    #[test]
    fn cached_facts_equal_recomputed_facts() {
        let cache = PathCache::new(Some(codeweaver_embed::open(&Default::default()).unwrap()));
        let first = cache.get(b"src/http/request_parser.rs");
        assert!(first.vector.as_ref().is_some_and(|vector| vector.iter().any(|&x| x != 0)));
        assert!(Arc::ptr_eq(&first, &cache.get(b"src/http/request_parser.rs")));
        for i in 0..MAX_PATHS {
            cache.get(format!("src/{i}.rs").as_bytes());
        }
        let again = cache.get(b"src/http/request_parser.rs");
        assert!(!Arc::ptr_eq(&first, &again));
        assert_eq!(format!("{first:?}"), format!("{again:?}"));
        assert!(cache.known.read().unwrap().len() <= MAX_PATHS);
    }
}
