//! What ranking asks of a path, worked out once: its vector, its words by place, how plain it is.
//!
//! A path says the same to every question, and a question looks at hundreds of them. A process that lives on remembers what
//! it has worked out ([`PathMemory`]); the facts depend on the path and the model alone, never on the index.

use super::retrieve::symbols;
use crate::embed::Embedder;
use crate::sync;
use crate::text::{self, TermKind};
use rustc_hash::FxHashMap;
use std::sync::{Arc, RwLock};

/// Names of files that stand for their folder.
const FOLDER_NAMES: &[&str] = &["mod", "index", "lib", "main", "__init__", "init", "default"];
/// Paths that are remembered, of about half a kilobyte each.
const KEEP: usize = 8192;

/// Where in a path a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The file's name, or the folder's that it stands for.
    Name,
    Folder,
}

/// A term of a path.
#[derive(Debug, Clone, Copy)]
struct Part {
    start: u32,
    end: u32,
    place: Place,
    names_the_file: bool,
}

/// What a path says, whatever is asked.
#[derive(Debug)]
pub struct PathFacts {
    /// Its vector, where the model has such.
    pub vector: Option<Vec<i8>>,
    /// Folders above the file and words of its name, both in tenths, at most 2: of files that fit alike, the plain one is
    /// the answer.
    pub folders: f32,
    pub name_words: f32,
    /// Letters and digits of the name that the file goes by, in lower case.
    pub name: String,
    terms: String,
    parts: Vec<Part>,
}

impl PathFacts {
    fn of(path: &[u8], embedder: Option<&dyn Embedder>) -> PathFacts {
        let path = String::from_utf8_lossy(path);
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let (above, parent) = folders.rsplit_once('/').unwrap_or(("", folders));
        let stem = file_stem(name);
        let stands_for_folder = FOLDER_NAMES.contains(&stem);
        let mut facts = PathFacts {
            vector: embedder.and_then(|embedder| embedder.embed_path(&path)),
            folders: tenths(path.matches('/').count()),
            name_words: tenths(n_words(stem)),
            name: symbols::joined(if stands_for_folder && !parent.is_empty() { parent } else { stem }),
            terms: String::with_capacity(path.len()),
            parts: Vec::new(),
        };
        facts.add(stem, Place::Name, !stands_for_folder);
        facts.add(parent, if stands_for_folder { Place::Name } else { Place::Folder }, stands_for_folder);
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

    /// Its terms, where they stand, and whether they are words of the name that the file goes by.
    pub fn parts(&self) -> impl Iterator<Item = (&str, Place, bool)> {
        let text = |part: &Part| self.terms.get(part.start as usize..part.end as usize).unwrap_or("");
        self.parts.iter().map(move |part| (text(part), part.place, part.names_the_file))
    }
}

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

/// A file's name without its extension.
fn file_stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}

/// Facts of the paths that were asked about, for one model.
#[derive(Default)]
pub struct PathMemory {
    embedder: Option<Arc<dyn Embedder>>,
    known: RwLock<FxHashMap<Box<[u8]>, Arc<PathFacts>>>,
}

impl PathMemory {
    pub fn new(embedder: Option<Arc<dyn Embedder>>) -> PathMemory {
        PathMemory { embedder, known: RwLock::default() }
    }

    /// The facts of `path`.
    pub fn of(&self, path: &[u8]) -> Arc<PathFacts> {
        let known = sync::read(&self.known);
        if let Some(facts) = known.get(path) {
            return facts.clone();
        }
        drop(known);
        let facts = Arc::new(PathFacts::of(path, self.embedder.as_deref()));
        let mut known = sync::write(&self.known);
        if known.len() >= KEEP {
            // Rare enough that choosing what to forget would cost more than it saves.
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
    fn the_plainer_path_has_fewer_folders_and_words() {
        let plainness = |path: &[u8]| {
            let facts = PathFacts::of(path, None);
            (facts.folders, facts.name_words)
        };
        assert_eq!(plainness(b"ab.rs"), (0.0, 0.1));
        assert_eq!(plainness(b"src/query/compiler.js"), (0.2, 0.1));
        assert_eq!(plainness(b"src/dialects/sql/sql-query_compilerTest.js"), (0.3, 0.4));
        assert!(plainness("x/".repeat(500).as_bytes()).0 <= 2.0);
    }

    #[test]
    fn words_stand_where_they_are_and_those_of_the_name_are_marked() {
        let spelt = |path: &str| {
            let facts = PathFacts::of(path.as_bytes(), None);
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
    fn a_path_says_the_same_when_it_is_remembered_and_after_it_was_forgotten() {
        let memory = PathMemory::new(Some(crate::embed::open(&Default::default()).unwrap()));
        let first = memory.of(b"src/http/request_parser.rs");
        assert!(first.vector.as_ref().is_some_and(|vector| vector.iter().any(|&x| x != 0)));
        assert!(Arc::ptr_eq(&first, &memory.of(b"src/http/request_parser.rs")));
        for i in 0..KEEP {
            memory.of(format!("src/{i}.rs").as_bytes());
        }
        let again = memory.of(b"src/http/request_parser.rs");
        assert!(!Arc::ptr_eq(&first, &again));
        assert_eq!(format!("{first:?}"), format!("{again:?}"));
        assert!(memory.known.read().unwrap().len() <= KEEP);
    }
}
