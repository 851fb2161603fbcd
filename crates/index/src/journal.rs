//! Crash journal: a record on disk of the blobs that are being parsed.
//!
//! Grammars are C code of many authors, and one that aborts ends the process. Without a record the next run
//! would parse the same blob again, at every hook or query. After an unclean end the recorded blobs are
//! suspects: before one is parsed again, a child process parses it, and the blob is skipped as `crashed` only
//! if that child is ended by a fault. Such blobs are remembered. A killed process (`kill -9`) therefore never
//! removes a file from the index, and a crash costs one run or one answer.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use codeweaver_base::{durable, regular_file, sync};
use codeweaver_chunk::{self as chunk, LanguageId};
use codeweaver_git::Oid;
use codeweaver_store::{StoreError, fault};

use super::codebase::Codebase;
use super::error::IndexError;
use super::program::{program_file, project_args};

/// Stack size of a parsing thread: grammars recurse in C code on hostile input.
pub const PARSER_STACK: usize = 16 << 20;
/// Bytes of a slot: a hexadecimal object id, padded with NUL.
const SLOT: usize = 64;
/// Maximum number of journals of dead queries that are read.
const MAX_ORPHANS: usize = 64;
/// Age at which the journal of a dead query is ignored, since its files have probably changed.
const MAX_ORPHAN_AGE: Duration = Duration::from_secs(24 * 3600);
/// Size above which the list of crashing blobs starts over.
const MAX_CRASHED_BYTES: u64 = 256 << 10;

/// The journal of one run or query.
pub(crate) struct Journal {
    /// `None` where the store is not writable: a crash then leaves no record.
    file: Option<File>,
    /// The file of a query's own journal, removed when the query ends.
    own: Option<PathBuf>,
    /// Blobs whose parsing may end the process.
    suspects: BTreeSet<Oid>,
    /// Journals of queries that died, with the suspects of each.
    orphans: Vec<(PathBuf, BTreeSet<Oid>)>,
    /// Suspects that this run has probed.
    probed: Mutex<BTreeSet<Oid>>,
    /// Lines of the crashed file: blobs whose parsing ends a process.
    crashed: BTreeSet<String>,
    crashed_file: PathBuf,
    /// The first 16 digits of the settings fingerprint, a part of each line.
    settings: String,
    root: PathBuf,
    project_args: Vec<OsString>,
}

impl Journal {
    /// Opens the journal of a run that holds the work lease: takes over the suspects of the previous run and
    /// starts over with a slot for each of `n_threads`.
    pub fn open(codebase: &Codebase, n_threads: usize) -> Result<Journal, IndexError> {
        let path = codebase.layout.cache().join(format!("parsing-{}", codebase.worktree_key));
        let suspects = recorded_blobs(&path);

        let created = durable::create_directory(&codebase.layout.cache());
        let created = created.and_then(|()| regular_file::make_way(&path));
        let file = created.and_then(|()| durable::open_or_create(&path));
        let file = file.map_err(StoreError::io("create", &path))?;
        // Emptied first, so that no slot of the previous run is left.
        let empty = file.set_len(0).and_then(|()| file.set_len((n_threads * SLOT) as u64));
        empty.map_err(StoreError::io("write", &path))?;

        let mut journal = Journal::empty(codebase);
        (journal.file, journal.suspects) = (Some(file), suspects);
        Ok(journal)
    }

    /// Opens the journal of a query that parses files which are not indexed. Any number of queries run at
    /// once, so each has a locked file of its own; an unlocked file belongs to a query that died.
    pub(crate) fn from_query(codebase: &Codebase, n_threads: usize) -> Journal {
        static NEXT: AtomicU64 = AtomicU64::new(0);

        let mut journal = Journal::empty(codebase);
        let prefix = format!("asking-{}-", codebase.worktree_key);
        journal.orphans = orphaned_journals(&codebase.layout.cache(), &prefix);
        journal.suspects = journal.orphans.iter().flat_map(|(_, oids)| oids).copied().collect();

        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = codebase.layout.cache().join(format!("{prefix}{}-{number}", std::process::id()));
        let created = durable::open_or_create(&path).and_then(|file| {
            file.set_len(0)?;
            file.set_len((n_threads * SLOT) as u64)?;
            Ok(file)
        });

        // Without the lock, another query would take this journal for that of a dead one.
        if let Ok(file) = created
            && file.try_lock().is_ok()
        {
            (journal.file, journal.own) = (Some(file), Some(path));
        }

        journal
    }

    fn empty(codebase: &Codebase) -> Journal {
        let crashed_file = codebase.layout.cache().join("crashed");
        let crashed = regular_file::read_to_string(&crashed_file).unwrap_or_default();

        Journal {
            file: None,
            own: None,
            suspects: BTreeSet::new(),
            orphans: Vec::new(),
            probed: Mutex::default(),
            crashed: crashed.lines().map(str::to_owned).collect(),
            crashed_file,
            settings: codebase.settings_fingerprint.chars().take(16).collect(),
            root: codebase.root(),
            project_args: project_args(codebase),
        }
    }

    /// Records that thread `thread` parses `oid` until the result is dropped.
    pub fn enter(&self, thread: usize, oid: &Oid) -> Entered<'_> {
        self.write(thread, oid.to_hex().to_string().as_bytes());
        Entered { journal: self, thread }
    }

    /// Returns whether parsing `bytes`, the blob `oid`, as `language` ends a process. Only suspects are
    /// probed, each in a process of its own.
    pub fn crashes(&self, oid: &Oid, language: LanguageId, bytes: &[u8]) -> bool {
        let line = format!("{oid} {} {}", language.name(), self.settings);
        if self.crashed.contains(&line) {
            return true;
        }
        if !self.suspects.contains(oid) {
            return false;
        }

        let crashes = self.probe_crashes(language, bytes);
        if crashes {
            self.remember(&line);
        }

        sync::lock(&self.probed).insert(*oid);
        crashes
    }

    /// Returns whether a child process that parses `bytes` is ended by a fault.
    fn probe_crashes(&self, language: LanguageId, bytes: &[u8]) -> bool {
        let Ok(program) = program_file() else { return false };
        let child = Command::new(program)
            .current_dir(&self.root)
            .args(&self.project_args)
            .args(["hook", "probe", language.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();

        let Ok(mut child) = child else { return false };

        if let Some(mut stdin) = child.stdin.take() {
            // A child that has already ended reads nothing; its exit status has the reason.
            let _ = stdin.write_all(bytes);
        }

        child.wait().is_ok_and(|status| ended_by_fault(&status))
    }

    /// Appends a line, best effort: if it cannot be written, the next query probes the blob again.
    fn remember(&self, line: &str) {
        let is_full = std::fs::metadata(&self.crashed_file).is_ok_and(|file| file.len() > MAX_CRASHED_BYTES);
        let created = regular_file::make_way(&self.crashed_file);
        let created = created.and_then(|()| durable::open_or_create(&self.crashed_file)).map(drop);
        let opened =
            OpenOptions::new().append(!is_full).write(true).truncate(is_full).open(&self.crashed_file);
        let _ = created.and(opened).and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }

    /// Writes `text` into the slot of a thread.
    fn write(&self, thread: usize, text: &[u8]) {
        let Some(file) = &self.file else { return };
        let mut slot = [0; SLOT];
        slot[..text.len()].copy_from_slice(text);
        // The journal protects against a rare fault; failing to write it must not stop the run.
        #[cfg(unix)]
        let _ = std::os::unix::fs::FileExt::write_all_at(file, &slot, (thread * SLOT) as u64);
        #[cfg(windows)]
        let _ = std::os::windows::fs::FileExt::seek_write(file, &slot, (thread * SLOT) as u64);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Only the journal of a query has a file to remove.
        let Some(own) = &self.own else { return };
        let _ = std::fs::remove_file(own);

        let probed = sync::lock(&self.probed);
        for (path, oids) in &self.orphans {
            let age = std::fs::metadata(path)
                .and_then(|file| file.modified())
                .ok()
                .and_then(|at| at.elapsed().ok());

            // A suspect that was not probed stays one for the next query.
            if oids.is_subset(&probed) || age.is_some_and(|age| age > MAX_ORPHAN_AGE) {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// A blob that is being parsed.
pub(crate) struct Entered<'a> {
    journal: &'a Journal,
    thread: usize,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.journal.write(self.thread, &[]);
    }
}

/// The blobs that a journal records as being parsed.
fn recorded_blobs(path: &Path) -> BTreeSet<Oid> {
    let text = regular_file::read(path).unwrap_or_default();
    let oids = text.chunks(SLOT).filter_map(|slot| {
        let end = slot.iter().position(|&b| b == 0).unwrap_or(slot.len());
        Oid::from_hex(&slot[..end]).ok()
    });
    oids.collect()
}

/// Journals whose name begins with `prefix` and whose process has ended while parsing, with the recorded
/// blobs; at most [`MAX_ORPHANS`].
fn orphaned_journals(cache: &Path, prefix: &str) -> Vec<(PathBuf, BTreeSet<Oid>)> {
    let files = std::fs::read_dir(cache).into_iter().flatten().flatten();
    let ours = files.filter(|file| file.file_name().to_string_lossy().starts_with(prefix));
    let orphans = ours.map(|file| file.path()).filter_map(|path| {
        let is_free = regular_file::open(&path).is_ok_and(|file| file.try_lock_shared().is_ok());
        // A journal that was just created is not locked yet, and is empty.
        let oids = if is_free { recorded_blobs(&path) } else { BTreeSet::new() };
        (!oids.is_empty()).then_some((path, oids))
    });
    orphans.take(MAX_ORPHANS).collect()
}

/// Parses standard input and does nothing else. [`Journal::crashes`] runs this in a child process.
pub fn probe(codebase: &Codebase, language: &str) -> std::io::Result<()> {
    let language = LanguageId::by_name(language).unwrap_or(chunk::language::TEXT);
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;

    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(PARSER_STACK).spawn_scoped(scope, || {
            fault::parsing(&bytes);
            chunk::chunk_blob(&bytes, language, &codebase.settings.chunker);
        })?;
        // A panic is handled by the code that makes chunks; it is not a fault of a grammar.
        let _ = thread.join();
        Ok(())
    })
}

/// Returns whether the process ended by a signal that is not used to stop processes from outside.
#[cfg(unix)]
fn ended_by_fault(status: &std::process::ExitStatus) -> bool {
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt;
    let faults = [Signal::ABORT, Signal::SEGV, Signal::BUS, Signal::ILL, Signal::FPE];

    status.signal().is_some_and(|signal| faults.iter().any(|fault| fault.as_raw() == signal))
}

#[cfg(not(unix))]
fn ended_by_fault(status: &std::process::ExitStatus) -> bool {
    status.code().is_some_and(|code| code < 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_faults_count_as_crashes() {
        let run =
            |script: &str| Command::new("sh").args(["-c", script]).stderr(Stdio::null()).status().unwrap();
        assert!(ended_by_fault(&run("kill -ABRT $$")));
        assert!(ended_by_fault(&run("kill -SEGV $$")));
        assert!(!ended_by_fault(&run("kill -KILL $$")));
        assert!(!ended_by_fault(&run("kill -TERM $$")));
        assert!(!ended_by_fault(&run("exit 3")));
    }

    #[test]
    fn only_blobs_that_a_dead_query_was_parsing_are_suspect() {
        let dir = tempfile::tempdir().unwrap();
        let oid = "0123456789abcdef0123456789abcdef01234567";
        let write = |name: &str, oid: &str| {
            let mut slots = vec![0; 2 * SLOT];
            slots[SLOT..SLOT + oid.len()].copy_from_slice(oid.as_bytes());
            std::fs::write(dir.path().join(name), slots).unwrap();
        };
        write("asking-main-1-0", oid);
        write("asking-main-2-0", "");
        write("asking-main-3-0", oid);
        write("asking-side-4-0", oid);
        let alive = File::open(dir.path().join("asking-main-3-0")).unwrap();
        alive.lock().unwrap();
        let orphans = orphaned_journals(dir.path(), "asking-main-");
        assert_eq!(orphans.len(), 1, "{orphans:?}");
        assert_eq!(orphans[0].0, dir.path().join("asking-main-1-0"));
        assert_eq!(orphans[0].1.first().unwrap().to_string(), oid);
    }
}
