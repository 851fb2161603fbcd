//! Fuzz targets for everything that reads untrusted bytes.
//!
//! A [`Target`] generates inputs by mutating seeds and runs them; it panics if an invariant is violated.
//! `cargo test` runs a few thousand inputs of each target with a fixed seed, and every case found so far
//! (`cases/`). `cargo bench --bench fuzz` runs millions in child processes that may crash, hang or grow.
//!
//! Inputs with new behaviour are kept for further mutation. Each target defines behaviour as a number. This
//! replaces coverage, which would need another compiler and a second build.

pub mod adversarial;
mod chunker;
mod doc;
mod mutate;
mod store;
mod texts;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub use chunker::LANGUAGES;

/// One input: an operation and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// One line.
    pub head: String,
    pub bytes: Vec<u8>,
}

impl Case {
    pub fn new(head: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Case {
        Case { head: head.into(), bytes: bytes.into() }
    }

    /// The file format: the head, a line feed, the bytes.
    pub fn encode(&self) -> Vec<u8> {
        [self.head.as_bytes(), b"\n", &self.bytes].concat()
    }

    pub fn decode(file: &[u8]) -> Case {
        let end = file.iter().position(|&byte| byte == b'\n').unwrap_or(file.len());
        let bytes = file.get(end + 1..).unwrap_or_default();
        Case::new(String::from_utf8_lossy(&file[..end]), bytes)
    }
}

/// A reader of untrusted bytes.
pub trait Target {
    /// Generates an input.
    fn next(&mut self, rng: &mut fastrand::Rng) -> Case;

    /// Runs `case` and returns its behaviour as a number. Panics if an invariant is violated.
    fn run(&mut self, case: &Case) -> u64;

    /// Called for a `case` with new behaviour.
    fn keep(&mut self, case: &Case);
}

/// Constructor of a target that works in a directory.
pub type MakeTarget = fn(&Path) -> Box<dyn Target>;

/// All targets: name and constructor, which gets an empty directory.
pub const TARGETS: &[(&str, MakeTarget)] = &[
    ("chunker", |_| Box::new(chunker::Chunker::new())),
    ("shard", |dir| Box::new(store::StoreFile::new(store::Kind::Shard, dir))),
    ("segment", |dir| Box::new(store::StoreFile::new(store::Kind::Segment, dir))),
    ("postings", |dir| Box::new(store::StoreFile::new(store::Kind::Postings, dir))),
    ("entries", |dir| Box::new(store::StoreFile::new(store::Kind::Entries, dir))),
    ("graph", |dir| Box::new(store::StoreFile::new(store::Kind::Graph, dir))),
    ("snapshot", |dir| Box::new(store::StoreFile::new(store::Kind::Snapshot, dir))),
    ("state", |dir| Box::new(store::StoreFile::new(store::Kind::State, dir))),
    ("lease", |dir| Box::new(texts::Lease::new(dir))),
    ("config", |dir| Box::new(texts::Config::new(dir))),
    ("hook", |dir| Box::new(texts::Hook::new(dir))),
    ("policy", |dir| Box::new(texts::Rules::new(dir))),
    ("suite", |dir| Box::new(texts::SuiteFile::new(dir))),
];

pub fn open(name: &str, dir: &Path) -> Option<Box<dyn Target>> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, make)| make(dir))
}

/// Runs one target and records its behaviours.
pub struct Driver {
    target: Box<dyn Target>,
    seed: u64,
    seen: HashSet<u64>,
}

impl Driver {
    pub fn new(target: Box<dyn Target>, seed: u64) -> Driver {
        Driver { target, seed, seen: HashSet::new() }
    }

    /// Generates the input with this number. It depends on earlier kept inputs, so cases are stored as bytes,
    /// not as numbers.
    pub fn case(&mut self, number: u64) -> Case {
        let seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03);
        self.target.next(&mut fastrand::Rng::with_seed(seed))
    }

    pub fn run(&mut self, case: &Case) {
        let behaviour = self.target.run(case);
        if self.seen.insert(behaviour) {
            self.target.keep(case);
        }
    }
}

/// Stored cases of `target` with their paths.
pub fn found_cases(target: &str) -> Vec<(PathBuf, Case)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/cases").join(target);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let case = Case::decode(&std::fs::read(&path).unwrap_or_default());
            (path, case)
        })
        .collect()
}

/// Seeds and kept cases, drawn alternately.
struct Pool {
    seeds: Vec<Case>,
    kept: Vec<Case>,
}

/// Maximum number of kept cases.
const MAX_KEPT: usize = 400;

impl Pool {
    fn new(seeds: Vec<Case>) -> Pool {
        Pool { seeds, kept: Vec::new() }
    }

    fn any(&self, rng: &mut fastrand::Rng) -> &Case {
        let from_kept = !self.kept.is_empty() && rng.bool();
        let cases = if from_kept { &self.kept } else { &self.seeds };
        &cases[rng.usize(..cases.len())]
    }

    fn keep(&mut self, case: &Case) {
        if self.kept.len() < MAX_KEPT {
            self.kept.push(case.clone());
        } else {
            // Any victim does; the sum is a cheap pseudo-random index.
            let at = self.kept.iter().map(|case| case.bytes.len()).sum::<usize>() % MAX_KEPT;
            self.kept[at] = case.clone();
        }
    }
}

/// Installs a panic hook that records file and line for [`last_panic`] and prints nothing inside
/// [`third_party`].
pub fn keep_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map_or_else(String::new, |at| format!("{}:{}", at.file(), at.line()));
            PLACE.with_borrow_mut(|kept| *kept = place);
            if !QUIET.get() {
                before(info);
            }
        }));
    });
}

thread_local! {
    static PLACE: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
    static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// File and line of the last panic of this thread.
pub fn last_panic() -> String {
    PLACE.with_borrow(Clone::clone)
}

/// Switches the messages of panics of this thread off or on.
pub fn quiet(is_quiet: bool) {
    QUIET.set(is_quiet);
}

/// Runs code that may panic in the crate `name`. Queries catch such panics, since a forged dictionary cannot
/// be detected without reading all of it. Panics elsewhere are passed on.
fn third_party<T>(name: &str, run: impl FnOnce() -> T) -> Option<T> {
    keep_panics();
    let was_quiet = QUIET.get();
    quiet(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    quiet(was_quiet);
    result
        .map_err(|panic| {
            if !last_panic().contains(name) {
                std::panic::resume_unwind(panic)
            }
        })
        .ok()
}

/// Behaviour as a hash of the significant parts.
fn behaviour(parts: impl std::hash::Hash) -> u64 {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

/// Class of sizes that count as equal behaviour.
fn size_class(n: usize) -> u32 {
    usize::BITS - n.leading_zeros()
}
