//! Bytes of the files of a view → facts, within bounds and on all cores.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::definitions::FileDefs;
use super::dialect::Dialect;
use super::extract;
use super::facts::Facts;
use crate::git::Oid;
use crate::index::Codebase;
use crate::query::view::View;
use crate::query::{Cancel, QueryError};
use crate::sync;

/// Stack of a thread that parses: parsers recurse in C code on hostile input.
pub(crate) const PARSER_STACK: usize = 16 << 20;
/// Bytes of source whose facts are kept between questions.
const CACHE_BYTES: usize = 12 << 20;

/// Bounds of one question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    pub files: usize,
    pub bytes: u64,
    pub deadline: Instant,
    pub cancel: &'a Cancel,
}

impl Limits<'_> {
    /// Nothing further is read: time is up, or nobody waits any more.
    fn are_over(&self) -> bool {
        Instant::now() > self.deadline || self.cancel.is_cancelled()
    }
}

/// Warning codes of the limits that make an answer incomplete.
pub(crate) mod limit {
    pub const FILES: &str = "CALL_GRAPH_FILES_LIMIT";
    pub const BYTES: &str = "CALL_GRAPH_BYTES_LIMIT";
    pub const TIME: &str = "CALL_GRAPH_TIME_LIMIT";
    pub const LEVEL: &str = "CALL_GRAPH_LEVEL_LIMIT";
}

/// A file without facts, with the reason.
pub(crate) const NOT_LOCAL: &str = "file_not_local";
pub(crate) const NOT_PARSED: &str = "file_not_parsed";

type Read = Result<Arc<Facts>, &'static str>;

/// What has been read for a question.
pub(crate) struct Sources<'a> {
    pub codebase: &'a Codebase,
    pub view: &'a View,
    limits: Limits<'a>,
    loaded: RefCell<FxHashMap<u32, Read>>,
    files_read: Cell<usize>,
    bytes_read: Cell<u64>,
    limits_reached: RefCell<BTreeSet<&'static str>>,
}

impl<'a> Sources<'a> {
    pub fn new(codebase: &'a Codebase, view: &'a View, limits: Limits<'a>) -> Sources<'a> {
        Sources {
            codebase,
            view,
            limits,
            loaded: RefCell::default(),
            files_read: Cell::new(0),
            bytes_read: Cell::new(0),
            limits_reached: RefCell::default(),
        }
    }

    pub fn files_read(&self) -> usize {
        self.files_read.get()
    }

    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.get()
    }

    /// Records that a limit cut the answer short; `code` becomes a warning.
    pub fn record_limit(&self, code: &'static str) {
        self.limits_reached.borrow_mut().insert(code);
    }

    /// The codes of all limits that were reached, sorted.
    pub fn limits_reached(&self) -> Vec<&'static str> {
        self.limits_reached.borrow().iter().copied().collect()
    }

    /// Whether the deadline has passed or the request was cancelled, which is recorded as a limit.
    pub fn is_out_of_time(&self) -> bool {
        let late = self.limits.are_over();
        if late {
            self.record_limit(limit::TIME);
        }
        late
    }

    /// The facts of a file, if the bounds allow to read it.
    pub fn facts(&self, file: &FileDefs) -> Option<Arc<Facts>> {
        if let Some(known) = self.loaded.borrow().get(&file.entry) {
            return known.as_ref().ok().cloned();
        }
        self.load(std::slice::from_ref(&Wanted::of(file)?), &[]);
        self.loaded.borrow().get(&file.entry)?.as_ref().ok().cloned()
    }

    /// True if the facts of a file have been read.
    pub fn is_loaded(&self, entry: u32) -> bool {
        self.loaded.borrow().get(&entry).is_some_and(Result::is_ok)
    }

    /// Why a file that was asked for has no facts.
    pub fn problem(&self, entry: u32) -> Option<&'static str> {
        self.loaded.borrow().get(&entry)?.as_ref().err().copied()
    }

    /// Reads the facts of `files` in the order given, those without any of `words` left out.
    pub fn prefetch(&self, files: &[Rc<FileDefs>], words: &[String]) {
        let wanted: Vec<Wanted> = files
            .iter()
            .filter(|file| !self.loaded.borrow().contains_key(&file.entry))
            .filter_map(|file| Wanted::of(file))
            .collect();
        self.load(&wanted, words);
    }

    /// Bytes of the file as this view has it.
    pub fn bytes(&self, oid: &Oid) -> Result<Option<Vec<u8>>, QueryError> {
        self.view.blob(self.codebase, oid)
    }

    fn load(&self, wanted: &[Wanted], words: &[String]) {
        let (mut files, mut bytes) = (self.files_read.get(), self.bytes_read.get());
        let mut n_taken = 0;
        for file in wanted {
            if files >= self.limits.files {
                self.record_limit(limit::FILES);
                break;
            }
            if bytes + u64::from(file.bytes) > self.limits.bytes {
                self.record_limit(limit::BYTES);
                break;
            }
            files += 1;
            bytes += u64::from(file.bytes);
            n_taken += 1;
        }
        self.files_read.set(files);
        self.bytes_read.set(bytes);
        let taken = &wanted[..n_taken];
        let n_threads =
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(taken.len());
        if n_threads <= 1 {
            for file in taken {
                let read = self.read(file, words);
                self.loaded.borrow_mut().extend(read.map(|read| (file.entry, read)));
            }
            return;
        }
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let shared = Shared { codebase: self.codebase, view: self.view, limits: self.limits };
        std::thread::scope(|scope| {
            for _ in 0..n_threads {
                let work = || {
                    while let Some(file) = taken.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let read = shared.read(file, words);
                        sync::lock(&found).push((file.entry, read));
                    }
                };
                let thread = std::thread::Builder::new().stack_size(PARSER_STACK);
                if thread.spawn_scoped(scope, work).is_err() {
                    // No thread to be had: this one does the work.
                    while let Some(file) = taken.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let read = shared.read(file, words);
                        sync::lock(&found).push((file.entry, read));
                    }
                }
            }
        });
        let found = sync::into_inner(found);
        let mut loaded = self.loaded.borrow_mut();
        loaded.extend(found.into_iter().filter_map(|(entry, read)| Some((entry, read?))));
        drop(loaded);
        self.is_out_of_time();
    }

    fn read(&self, file: &Wanted, words: &[String]) -> Option<Read> {
        let shared = Shared { codebase: self.codebase, view: self.view, limits: self.limits };
        let read = shared.read(file, words);
        self.is_out_of_time();
        read
    }
}

struct Wanted {
    entry: u32,
    oid: Oid,
    bytes: u32,
    dialect: &'static Dialect,
}

impl Wanted {
    fn of(file: &FileDefs) -> Option<Wanted> {
        Some(Wanted { entry: file.entry, oid: file.oid, bytes: file.blob_bytes, dialect: file.dialect? })
    }
}

/// What threads that read have in common.
struct Shared<'a> {
    codebase: &'a Codebase,
    view: &'a View,
    limits: Limits<'a>,
}

impl Shared<'_> {
    /// `None` if the file has none of `words`, or time is up.
    fn read(&self, file: &Wanted, words: &[String]) -> Option<Read> {
        let key = (file.oid, file.dialect.language);
        if let Some(known) = CACHE.get(&key) {
            return Some(Ok(known));
        }
        if self.limits.are_over() {
            return None;
        }
        let Ok(Some(bytes)) = self.view.blob(self.codebase, &file.oid) else { return Some(Err(NOT_LOCAL)) };
        if !words.is_empty() && !words.iter().any(|word| extract::has_word(&bytes, word)) {
            return None;
        }
        match extract::read(&bytes, file.dialect) {
            Ok(facts) => {
                let facts = Arc::new(facts);
                CACHE.put(key, facts.clone());
                Some(Ok(facts))
            }
            Err(_) => Some(Err(NOT_PARSED)),
        }
    }
}

type Key = (Oid, &'static str);

/// Facts by the blob they are of: what a blob holds never changes, so nothing here can be stale.
static CACHE: LazyLock<Cache> = LazyLock::new(Cache::default);

#[derive(Default)]
struct Cache {
    inside: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    facts: FxHashMap<Key, (u64, Arc<Facts>)>,
    bytes: usize,
    clock: u64,
}

impl Cache {
    fn get(&self, key: &Key) -> Option<Arc<Facts>> {
        let mut kept = sync::lock(&self.inside);
        kept.clock += 1;
        let now = kept.clock;
        let (used, facts) = kept.facts.get_mut(key)?;
        *used = now;
        Some(facts.clone())
    }

    fn put(&self, key: Key, facts: Arc<Facts>) {
        let mut kept = sync::lock(&self.inside);
        kept.clock += 1;
        let now = kept.clock;
        kept.bytes += facts.text.len();
        if let Some((_, old)) = kept.facts.insert(key, (now, facts)) {
            kept.bytes -= old.text.len();
        }
        if kept.bytes > CACHE_BYTES {
            // The older half goes at once, so that this is rare.
            let mut ages: Vec<u64> = kept.facts.values().map(|(used, _)| *used).collect();
            ages.sort_unstable();
            let middle = ages[ages.len() / 2];
            kept.facts.retain(|_, (used, _)| *used > middle);
            kept.bytes = kept.facts.values().map(|(_, facts)| facts.text.len()).sum();
        }
    }
}
