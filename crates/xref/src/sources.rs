//! Loads the facts of files of a view, within limits and on all cores.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Instant;

use rustc_hash::FxHashMap;

use codeweaver::query::view::View;
use codeweaver::query::{Cancel, QueryError};
use codeweaver_base::sync;
use codeweaver_git::Oid;
use codeweaver_index::Codebase;

use super::definitions::FileDefs;
use super::dialect::Dialect;
use super::extract::{self, Occurrence, Occurrences};
use super::facts::Facts;
use super::word_search;

/// Stack size of parsing threads: parsers recurse in C code on hostile input.
pub(crate) const PARSER_STACK: usize = 16 << 20;
/// Bytes of source whose facts are cached between requests.
const CACHE_BYTES: usize = 12 << 20;

/// Limits of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    pub files: usize,
    pub bytes: u64,
    pub deadline: Instant,
    pub cancel: &'a Cancel,
}

impl Limits<'_> {
    /// Returns whether the deadline has passed or the request was cancelled; no further file is read then.
    fn are_exhausted(&self) -> bool {
        Instant::now() > self.deadline || self.cancel.is_cancelled()
    }
}

/// A limit that makes an answer incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Limit {
    Bytes,
    Files,
    Level,
    Time,
}

impl Limit {
    /// The code of its warning.
    pub fn code(self) -> &'static str {
        match self {
            Limit::Bytes => "CALL_GRAPH_BYTES_LIMIT",
            Limit::Files => "CALL_GRAPH_FILES_LIMIT",
            Limit::Level => "CALL_GRAPH_LEVEL_LIMIT",
            Limit::Time => "CALL_GRAPH_TIME_LIMIT",
        }
    }
}

/// Note types of files without facts.
pub(crate) const NOT_LOCAL: &str = "file_not_local";
pub(crate) const NOT_PARSED: &str = "file_not_parsed";

/// The facts of a file, and the occurrences that were found with them.
struct Loaded {
    facts: Result<Arc<Facts>, &'static str>,
    /// `None` if none were wanted, or there was no time for them.
    occurrences: Option<Occurrences>,
}

impl Loaded {
    fn failed(problem: &'static str) -> Loaded {
        Loaded { facts: Err(problem), occurrences: None }
    }
}

/// The names whose occurrences are found in a file while it is read.
pub(crate) type NamesIn<'n> = &'n (dyn Fn(&Facts) -> BTreeSet<String> + Sync);

/// The outcome of reading a file.
enum Read {
    Done(Loaded),
    /// It contains none of the words.
    WithoutWord,
    /// A limit was reached before.
    Late,
}

/// The facts loaded for one request.
pub(crate) struct Sources<'a> {
    pub codebase: &'a Codebase,
    pub view: &'a View,
    limits: Limits<'a>,
    loaded: RefCell<FxHashMap<u32, Loaded>>,
    files_read: Cell<usize>,
    bytes_read: Cell<u64>,
    limits_reached: RefCell<BTreeSet<Limit>>,
    /// Files that were wanted and not read because of a limit.
    unread: RefCell<BTreeSet<u32>>,
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
            unread: RefCell::default(),
        }
    }

    pub fn files_read(&self) -> usize {
        self.files_read.get()
    }

    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.get()
    }

    /// Records that a limit cut the answer short, which becomes a warning.
    pub fn record_limit(&self, limit: Limit) {
        self.limits_reached.borrow_mut().insert(limit);
    }

    /// All limits that were reached, in the order of their codes.
    pub fn limits_reached(&self) -> Vec<Limit> {
        self.limits_reached.borrow().iter().copied().collect()
    }

    /// Records that a limit kept files from being read, or from being searched.
    pub fn record_unread<'f>(&self, files: impl IntoIterator<Item = &'f Rc<FileDefs>>) {
        self.unread.borrow_mut().extend(files.into_iter().map(|file| file.entry));
    }

    /// The files that were wanted and not read because of a limit.
    pub fn unread(&self) -> Vec<u32> {
        self.unread.borrow().iter().copied().collect()
    }

    /// Returns whether the deadline has passed or the request was cancelled, which is recorded as a limit.
    pub fn is_out_of_time(&self) -> bool {
        let late = self.limits.are_exhausted();
        if late {
            self.record_limit(Limit::Time);
        }
        late
    }

    /// The facts of a file; `None` if a limit forbids reading it or it cannot be parsed.
    pub fn facts(&self, file: &FileDefs) -> Option<Arc<Facts>> {
        if let Some(loaded) = self.loaded.borrow().get(&file.entry) {
            return loaded.facts.as_ref().ok().cloned();
        }

        self.load(std::slice::from_ref(&ReadJob::new(file)?), &[], None, self.limits.deadline);
        self.loaded.borrow().get(&file.entry)?.facts.as_ref().ok().cloned()
    }

    /// Returns whether the facts of a file are loaded.
    pub fn is_loaded(&self, entry: u32) -> bool {
        self.loaded.borrow().get(&entry).is_some_and(|loaded| loaded.facts.is_ok())
    }

    /// The note type for a file that was requested and has no facts.
    pub fn problem(&self, entry: u32) -> Option<&'static str> {
        self.loaded.borrow().get(&entry)?.facts.as_ref().err().copied()
    }

    /// Loads the facts of `files` in the given order, except files that contain none of `words`. With
    /// `names`, their occurrences are found too, which takes less time than when they are asked for. A third
    /// of the time that is left is kept for looking at what was read.
    pub fn prefetch(&self, files: &[Rc<FileDefs>], words: &[String], names: Option<NamesIn<'_>>) {
        let wanted: Vec<ReadJob> = files
            .iter()
            .filter(|file| !self.loaded.borrow().contains_key(&file.entry))
            .filter_map(|file| ReadJob::new(file))
            .collect();

        let now = Instant::now();
        let reading = self.limits.deadline.saturating_duration_since(now) * 2 / 3;
        self.load(&wanted, words, names, now + reading);
    }

    /// The occurrences of `names` in a file, if they were found while it was read.
    pub fn occurrences(&self, entry: u32, names: &BTreeSet<String>) -> Option<Vec<Occurrence>> {
        let loaded = self.loaded.borrow();
        let known = loaded.get(&entry)?.occurrences.as_ref()?;
        if !known.names.is_superset(names) {
            return None;
        }
        Some(known.found.iter().filter(|occurrence| names.contains(&*occurrence.name)).cloned().collect())
    }

    /// The bytes of a blob of this view.
    pub fn bytes(&self, oid: &Oid) -> Result<Option<Arc<[u8]>>, QueryError> {
        self.view.blob(self.codebase, oid)
    }

    /// Loads as many of the `wanted` files as the limits allow, until `deadline`.
    fn load(&self, wanted: &[ReadJob], words: &[String], names: Option<NamesIn<'_>>, deadline: Instant) {
        let (mut files, mut bytes) = (self.files_read.get(), self.bytes_read.get());
        let mut n_taken = 0;

        for file in wanted {
            // Files come in order of relevance, so a limit leaves out the least relevant ones.
            if files >= self.limits.files {
                self.record_limit(Limit::Files);
                break;
            }
            if bytes + u64::from(file.bytes) > self.limits.bytes {
                self.record_limit(Limit::Bytes);
                break;
            }
            files += 1;
            bytes += u64::from(file.bytes);
            n_taken += 1;
        }

        self.files_read.set(files);
        self.bytes_read.set(bytes);

        let (taken, left) = wanted.split_at(n_taken);
        self.unread.borrow_mut().extend(left.iter().map(|file| file.entry));
        let n_threads =
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(taken.len());

        let limits = Limits { deadline, ..self.limits };
        let reader = FactReader { codebase: self.codebase, view: self.view, limits, words, names };

        // Without a further file or core this thread does the work; its stack is large enough.
        if n_threads <= 1 {
            for file in taken {
                self.keep(file.entry, reader.read(file));
            }
            return;
        }

        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..n_threads {
                let thread = std::thread::Builder::new().stack_size(PARSER_STACK);
                let spawned = thread.spawn_scoped(scope, || reader.read_all(taken, &next, &found));
                if spawned.is_err() {
                    // Without a further thread, this one does the work.
                    reader.read_all(taken, &next, &found);
                }
            }
        });

        sync::into_inner(found).into_iter().for_each(|(entry, read)| self.keep(entry, read));
    }

    /// Records that the time was up before a file was read.
    fn record_late(&self, entry: u32) {
        self.record_limit(Limit::Time);
        self.unread.borrow_mut().insert(entry);
    }

    /// Records the outcome of reading a file.
    fn keep(&self, entry: u32, read: Read) {
        match read {
            Read::Done(loaded) => {
                self.unread.borrow_mut().remove(&entry);
                self.loaded.borrow_mut().insert(entry, loaded);
            }
            Read::WithoutWord => {}
            Read::Late => self.record_late(entry),
        }
    }
}

/// A file to read.
struct ReadJob {
    entry: u32,
    oid: Oid,
    bytes: u32,
    dialect: &'static Dialect,
}

impl ReadJob {
    fn new(file: &FileDefs) -> Option<ReadJob> {
        Some(ReadJob { entry: file.entry, oid: file.oid, bytes: file.blob_bytes, dialect: file.dialect? })
    }
}

/// Reads facts; shared by the reading threads.
struct FactReader<'a> {
    codebase: &'a Codebase,
    view: &'a View,
    limits: Limits<'a>,
    /// Words of which a file has to contain one, unless there are none.
    words: &'a [String],
    names: Option<NamesIn<'a>>,
}

impl FactReader<'_> {
    /// Reads the `files` that no other thread has taken; `next` is the position of the next one.
    fn read_all(&self, files: &[ReadJob], next: &AtomicUsize, found: &Mutex<Vec<(u32, Read)>>) {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let read = self.read(file);
            sync::lock(found).push((file.entry, read));
        }
    }

    /// Reads a file, unless it contains none of the words or a limit is reached.
    fn read(&self, file: &ReadJob) -> Read {
        let key = (file.oid, file.dialect.language);
        // Cached facts are used even if the time is up.
        if let Some(facts) = CACHE.get(&key) {
            let occurrences = self.occurrences_in(file, &facts);
            return Read::Done(Loaded { facts: Ok(facts), occurrences });
        }

        if self.limits.are_exhausted() {
            return Read::Late;
        }

        let Ok(Some(bytes)) = self.view.blob(self.codebase, &file.oid) else {
            return Read::Done(Loaded::failed(NOT_LOCAL));
        };
        // Looking for the words costs far less than parsing.
        if !self.words.is_empty() && !self.words.iter().any(|word| word_search::has_word(&bytes, word)) {
            return Read::WithoutWord;
        }

        match extract::read_with(&bytes, file.dialect, |facts| self.names_in(facts)) {
            Ok((facts, occurrences)) => {
                let facts = Arc::new(facts);
                CACHE.put(key, facts.clone());
                Read::Done(Loaded { facts: Ok(facts), occurrences: Some(occurrences) })
            }
            Err(_) => Read::Done(Loaded::failed(NOT_PARSED)),
        }
    }

    fn names_in(&self, facts: &Facts) -> BTreeSet<String> {
        self.names.map(|names_in| names_in(facts)).unwrap_or_default()
    }

    /// The occurrences in a file whose facts were cached, if some are wanted and there is time.
    fn occurrences_in(&self, file: &ReadJob, facts: &Facts) -> Option<Occurrences> {
        if self.names.is_none() || self.limits.are_exhausted() {
            return None;
        }

        let names = self.names_in(facts);
        let bytes = facts.text.as_bytes();
        let found = extract::occurrences_of(bytes, file.dialect, &names, |_, _| true).ok()?;
        Some(Occurrences { names, found })
    }
}

type Key = (Oid, &'static str);

/// Process-wide cache of facts by blob and language. Blobs are immutable, so no entry can be stale.
static CACHE: LazyLock<Cache> = LazyLock::new(Cache::default);

#[derive(Default)]
struct Cache {
    entries: Mutex<CacheEntries>,
}

#[derive(Default)]
struct CacheEntries {
    /// Facts with the clock value of their last use.
    facts: FxHashMap<Key, (u64, Arc<Facts>)>,
    /// Source bytes of all entries.
    bytes: usize,
    /// Number of accesses.
    clock: u64,
}

impl Cache {
    fn get(&self, key: &Key) -> Option<Arc<Facts>> {
        let mut entries = sync::lock(&self.entries);
        entries.clock += 1;
        let now = entries.clock;
        let (used, facts) = entries.facts.get_mut(key)?;
        *used = now;
        Some(facts.clone())
    }

    fn put(&self, key: Key, facts: Arc<Facts>) {
        let mut entries = sync::lock(&self.entries);
        entries.clock += 1;
        let now = entries.clock;

        entries.bytes += facts.text.len();
        if let Some((_, old)) = entries.facts.insert(key, (now, facts)) {
            entries.bytes -= old.text.len();
        }

        if entries.bytes > CACHE_BYTES {
            // The older half is evicted at once, so that evictions are rare.
            let mut ages: Vec<u64> = entries.facts.values().map(|(used, _)| *used).collect();
            ages.sort_unstable();
            let middle = ages[ages.len() / 2];
            entries.facts.retain(|_, (used, _)| *used > middle);
            entries.bytes = entries.facts.values().map(|(_, facts)| facts.text.len()).sum();
        }
    }
}
