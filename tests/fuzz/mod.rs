//! Inputs that nobody would write, for everything that reads bytes it did not make (requirement X3).
//!
//! A [`Target`] makes inputs (seeds that are changed, mostly a little) and runs them; it panics where a promise is broken.
//! `cargo test` runs a few thousand of each with a fixed seed and every case that was ever found (`cases/`);
//! `cargo bench --bench fuzz` runs millions in child processes that may crash, hang or grow.
//!
//! Inputs that behave as none before them are kept for further changes: what "behave" means is up to the target. It takes the
//! place of coverage, which needs another compiler and a second build of everything.

pub mod adversarial;
mod chunker;
mod mutate;
mod store;
mod texts;

pub use chunker::LANGUAGES;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// One input: what is to be done with which bytes.
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

    /// As it stands in a file: the head, a line end, the bytes.
    pub fn encode(&self) -> Vec<u8> {
        [self.head.as_bytes(), b"\n", &self.bytes].concat()
    }

    pub fn decode(file: &[u8]) -> Case {
        let end = file.iter().position(|&byte| byte == b'\n').unwrap_or(file.len());
        let bytes = file.get(end + 1..).unwrap_or_default();
        Case::new(String::from_utf8_lossy(&file[..end]), bytes)
    }
}

/// Something that reads bytes.
pub trait Target {
    /// Another input.
    fn next(&mut self, rng: &mut fastrand::Rng) -> Case;

    /// Reads `case` and returns a number that stands for what happened. Panics where a promise is broken.
    fn run(&mut self, case: &Case) -> u64;

    /// `case` behaved as none before.
    fn keep(&mut self, case: &Case);
}

/// Makes a target that works in the directory.
pub type MakeTarget = fn(&Path) -> Box<dyn Target>;

/// Every target: its name, and how it is made in an empty folder of its own.
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

/// Runs one target and remembers which behaviours it has shown.
pub struct Driver {
    target: Box<dyn Target>,
    seed: u64,
    seen: HashSet<u64>,
}

impl Driver {
    pub fn new(target: Box<dyn Target>, seed: u64) -> Driver {
        Driver { target, seed, seen: HashSet::new() }
    }

    /// The input with this number. It depends on what was kept of earlier ones, so a found case is stored, not its number.
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

/// Cases of `target` that were found once, with their names.
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

/// Seeds, and those that were kept, which take turns with them.
struct Pool {
    seeds: Vec<Case>,
    kept: Vec<Case>,
}

/// Most cases kept by one pool.
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
            // The oldest has had its turns.
            let at = self.kept.iter().map(|case| case.bytes.len()).sum::<usize>() % MAX_KEPT;
            self.kept[at] = case.clone();
        }
    }
}

/// Where this thread panicked last, file and line. The hook prints nothing inside [`third_party`].
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

/// Place of the last panic of this thread.
pub fn last_panic() -> String {
    PLACE.with_borrow(Clone::clone)
}

/// Nothing is printed for panics of this thread from now on, or is again.
pub fn quiet(is_quiet: bool) {
    QUIET.set(is_quiet);
}

/// Runs what may break off in the crate `name`: questions are guarded against that (`query::error::guarded`), since a forged
/// dictionary cannot be told from a good one without reading all of it. A panic of our own goes on.
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

/// A number for what happened, of the parts that make a difference.
fn behaviour(parts: impl std::hash::Hash) -> u64 {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

/// Sizes that count as equal.
fn size_class(n: usize) -> u32 {
    usize::BITS - n.leading_zeros()
}
