//! Which blobs are being parsed right now, noted where a crash leaves it.
//!
//! Grammars are C code from many hands; one that aborts takes the process with it, and without a note the next run would
//! walk into the same blob, at every hook or at every question. After an unclean end the blobs in flight are suspects: before
//! they are parsed again, a child process tries, and only if that dies of a fault of its own is the blob left out as
//! `crashed`. What killed a child is remembered, so nobody tries it again. A killed process (`kill -9`) therefore never costs
//! a file its place, and a crash costs one run or one answer.

use super::background;
use super::codebase::Codebase;
use super::error::IndexError;
use crate::chunk::{self, LanguageId};
use crate::git::Oid;
use crate::store::{StoreError, fault};
use crate::sync;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Stack of a thread that parses: grammars recurse in C code on hostile input.
pub const PARSER_STACK: usize = 16 << 20;
/// Bytes of a slot: a hex object id, padded with NUL.
const SLOT: usize = 64;
/// Left by questions that died; more are not looked at.
const MOST_LEFT: usize = 64;
/// A note that nobody has settled for so long is of a file that is no longer as it was.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);
/// The list of what has crashed begins anew above this.
const MAX_CRASHED_BYTES: u64 = 256 << 10;

/// The journal of one run or question.
pub struct Journal {
    /// `None` where the store cannot be written to: then a crash leaves no trace, and nothing else is different.
    file: Option<File>,
    /// Of a question: its file, removed at its end.
    own: Option<PathBuf>,
    suspects: BTreeSet<Oid>,
    /// What questions left that died, with the suspects of each.
    left: Vec<(PathBuf, BTreeSet<Oid>)>,
    judged: Mutex<BTreeSet<Oid>>,
    /// Lines of blobs that are known to bring a process down.
    crashed: BTreeSet<String>,
    crashed_file: PathBuf,
    settings: String,
    root: PathBuf,
    place: Vec<OsString>,
}

impl Journal {
    /// For a run that holds the work lease: takes over what an earlier run left, and begins anew with a slot for each of
    /// `n_threads`.
    pub fn open(codebase: &Codebase, n_threads: usize) -> Result<Journal, IndexError> {
        let path = codebase.layout.cache().join(format!("parsing-{}", codebase.worktree_key));
        let suspects = noted(&path);
        std::fs::create_dir_all(codebase.layout.cache()).map_err(StoreError::io("create", &path))?;
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        file.set_len((n_threads * SLOT) as u64).map_err(StoreError::io("write", &path))?;
        let mut journal = Journal::empty(codebase);
        (journal.file, journal.suspects) = (Some(file), suspects);
        Ok(journal)
    }

    /// For a question that parses files which are not in the index. Any number run at once, so each has a file of its own and
    /// keeps it locked: one that is not locked was left by a question that died.
    pub fn of_question(codebase: &Codebase, n_threads: usize) -> Journal {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut journal = Journal::empty(codebase);
        let prefix = format!("asking-{}-", codebase.worktree_key);
        journal.left = left_behind(&codebase.layout.cache(), &prefix);
        journal.suspects = journal.left.iter().flat_map(|(_, oids)| oids).copied().collect();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = codebase.layout.cache().join(format!("{prefix}{}-{number}", std::process::id()));
        let created = File::create(&path).and_then(|file| {
            file.set_len((n_threads * SLOT) as u64)?;
            Ok(file)
        });
        if let Ok(file) = created
            && file.try_lock().is_ok()
        {
            (journal.file, journal.own) = (Some(file), Some(path));
        }
        journal
    }

    fn empty(codebase: &Codebase) -> Journal {
        let crashed_file = codebase.layout.cache().join("crashed");
        let crashed = std::fs::read_to_string(&crashed_file).unwrap_or_default();
        Journal {
            file: None,
            own: None,
            suspects: BTreeSet::new(),
            left: Vec::new(),
            judged: Mutex::default(),
            crashed: crashed.lines().map(str::to_owned).collect(),
            crashed_file,
            settings: codebase.settings_fingerprint.chars().take(16).collect(),
            root: codebase.root(),
            place: background::place(codebase),
        }
    }

    /// Notes that thread `thread` parses `oid` until the result is dropped.
    pub fn enter(&self, thread: usize, oid: &Oid) -> Entered<'_> {
        self.write(thread, oid.to_hex().to_string().as_bytes());
        Entered { journal: self, thread }
    }

    /// True if parsing `bytes`, the blob `oid`, as `language` brings a process down. Only suspects are tried, in a process each.
    pub fn crashes(&self, oid: &Oid, language: LanguageId, bytes: &[u8]) -> bool {
        let line = format!("{oid} {} {}", language.name(), self.settings);
        if self.crashed.contains(&line) {
            return true;
        }
        if !self.suspects.contains(oid) {
            return false;
        }
        let dies = self.probe_dies(language, bytes);
        if dies {
            self.remember(&line);
        }
        sync::lock(&self.judged).insert(*oid);
        dies
    }

    fn probe_dies(&self, language: LanguageId, bytes: &[u8]) -> bool {
        let Ok(program) = background::program_file() else { return false };
        let child = Command::new(program)
            .current_dir(&self.root)
            .args(&self.place)
            .args(["hook", "probe", language.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else { return false };
        if let Some(mut stdin) = child.stdin.take() {
            // A child that is gone already reads nothing, and its status says why.
            let _ = stdin.write_all(bytes);
        }
        child.wait().is_ok_and(|status| died_of_itself(&status))
    }

    /// Best effort: where it cannot be written, the next question tries again.
    fn remember(&self, line: &str) {
        let is_full = std::fs::metadata(&self.crashed_file).is_ok_and(|file| file.len() > MAX_CRASHED_BYTES);
        let opened = OpenOptions::new()
            .create(true)
            .append(!is_full)
            .write(true)
            .truncate(is_full)
            .open(&self.crashed_file);
        let _ = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }

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
        let Some(own) = &self.own else { return };
        let _ = std::fs::remove_file(own);
        let judged = sync::lock(&self.judged);
        for (path, oids) in &self.left {
            let age = std::fs::metadata(path)
                .and_then(|file| file.modified())
                .ok()
                .and_then(|at| at.elapsed().ok());
            if oids.is_subset(&judged) || age.is_some_and(|age| age > FORGOTTEN) {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// A blob being parsed.
pub struct Entered<'a> {
    journal: &'a Journal,
    thread: usize,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.journal.write(self.thread, &[]);
    }
}

/// The blobs that a journal says were being parsed.
fn noted(path: &Path) -> BTreeSet<Oid> {
    let text = std::fs::read(path).unwrap_or_default();
    let oids = text.chunks(SLOT).filter_map(|slot| {
        let end = slot.iter().position(|&b| b == 0).unwrap_or(slot.len());
        Oid::from_hex(&slot[..end]).ok()
    });
    oids.collect()
}

fn left_behind(cache: &Path, prefix: &str) -> Vec<(PathBuf, BTreeSet<Oid>)> {
    let files = std::fs::read_dir(cache).into_iter().flatten().flatten();
    let ours = files.filter(|file| file.file_name().to_string_lossy().starts_with(prefix));
    let left = ours.map(|file| file.path()).filter_map(|path| {
        let is_free = File::open(&path).is_ok_and(|file| file.try_lock_shared().is_ok());
        // One that has just been made is not locked yet, and says nothing yet either.
        let oids = if is_free { noted(&path) } else { BTreeSet::new() };
        (!oids.is_empty()).then_some((path, oids))
    });
    left.take(MOST_LEFT).collect()
}

/// Parses what comes on standard input and nothing else: what the child process of [`Journal::crashes`] does.
pub fn probe(codebase: &Codebase, language: &str) -> std::io::Result<()> {
    let language = LanguageId::by_name(language).unwrap_or(chunk::language::TEXT);
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    std::thread::scope(|scope| {
        let parse = || {
            fault::parsing(&bytes);
            chunk::chunk_blob(&bytes, language, &codebase.settings.chunker);
        };
        let thread = std::thread::Builder::new().stack_size(PARSER_STACK).spawn_scoped(scope, parse)?;
        // A panic is caught wherever chunks are made for somebody; it is no fault of a grammar.
        let _ = thread.join();
        Ok(())
    })
}

/// A signal that nobody sends from outside to stop a process.
#[cfg(unix)]
fn died_of_itself(status: &std::process::ExitStatus) -> bool {
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt;
    let faults = [Signal::ABORT, Signal::SEGV, Signal::BUS, Signal::ILL, Signal::FPE];
    status.signal().is_some_and(|signal| faults.iter().any(|fault| fault.as_raw() == signal))
}

#[cfg(not(unix))]
fn died_of_itself(status: &std::process::ExitStatus) -> bool {
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
        assert!(died_of_itself(&run("kill -ABRT $$")));
        assert!(died_of_itself(&run("kill -SEGV $$")));
        assert!(!died_of_itself(&run("kill -KILL $$")));
        assert!(!died_of_itself(&run("kill -TERM $$")));
        assert!(!died_of_itself(&run("exit 3")));
    }

    #[test]
    fn only_what_a_dead_question_was_parsing_is_suspect() {
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
        let left = left_behind(dir.path(), "asking-main-");
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(left[0].0, dir.path().join("asking-main-1-0"));
        assert_eq!(left[0].1.first().unwrap().to_string(), oid);
    }
}
