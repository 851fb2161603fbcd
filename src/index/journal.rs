//! Which blobs are being parsed right now, noted where a crash leaves it.
//!
//! Grammars are C code from many hands; one that aborts takes the process with it, and without a note the next run would
//! walk into the same blob, at every hook. After an unclean end the blobs in flight are suspects: before they are parsed
//! again, a child process tries, and only if that dies of a fault of its own is the blob left out as `crashed`. A killed
//! indexer (`kill -9`) therefore never costs a file its place.

use super::codebase::Codebase;
use super::error::IndexError;
use crate::chunk::{self, LanguageId};
use crate::git::Oid;
use crate::store::StoreError;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Bytes of a slot: a hex object id, padded with NUL.
const SLOT: usize = 64;

/// The journal of one run, which holds the work lease.
pub struct Journal {
    file: File,
    suspects: BTreeSet<Oid>,
    root: PathBuf,
}

impl Journal {
    /// Takes over what an earlier run left, and begins anew with a slot for each of `n_threads`.
    pub fn open(codebase: &Codebase, n_threads: usize) -> Result<Journal, IndexError> {
        let path = codebase.layout.cache().join(format!("parsing-{}", codebase.worktree_key));
        let left = std::fs::read(&path).unwrap_or_default();
        let suspects = left.chunks(SLOT).filter_map(|slot| {
            let end = slot.iter().position(|&b| b == 0).unwrap_or(slot.len());
            Oid::from_hex(&slot[..end]).ok()
        });
        let suspects = suspects.collect();
        std::fs::create_dir_all(codebase.layout.cache()).map_err(StoreError::io("create", &path))?;
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        file.set_len((n_threads * SLOT) as u64).map_err(StoreError::io("write", &path))?;
        Ok(Journal { file, suspects, root: codebase.root() })
    }

    /// Notes that thread `thread` parses `oid` until the result is dropped.
    pub fn enter(&self, thread: usize, oid: &Oid) -> Entered<'_> {
        self.write(thread, oid.to_hex().to_string().as_bytes());
        Entered { journal: self, thread }
    }

    /// True if parsing `oid` as `language` brings a process down. Only asked of suspects, so it may take a process each.
    pub fn crashes(&self, oid: &Oid, language: LanguageId) -> bool {
        self.suspects.contains(oid) && probe_dies(&self.root, oid, language)
    }

    fn write(&self, thread: usize, text: &[u8]) {
        let mut slot = [0; SLOT];
        slot[..text.len()].copy_from_slice(text);
        // The journal protects against a rare fault; failing to write it must not stop the run.
        #[cfg(unix)]
        let _ = std::os::unix::fs::FileExt::write_all_at(&self.file, &slot, (thread * SLOT) as u64);
        #[cfg(windows)]
        let _ = std::os::windows::fs::FileExt::seek_write(&self.file, &slot, (thread * SLOT) as u64);
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

/// Parses one blob and nothing else: what the child process of [`Journal::crashes`] does.
pub fn probe(codebase: &Codebase, oid: &str, language: &str) -> Result<(), IndexError> {
    let language = LanguageId::by_name(language).unwrap_or(chunk::language::TEXT);
    if let Ok(oid) = Oid::from_hex(oid.as_bytes())
        && let Some(bytes) = codebase.repo.blobs().read(&oid)?
    {
        chunk::chunk_blob(bytes, language, &codebase.settings.chunker);
    }
    Ok(())
}

fn probe_dies(root: &std::path::Path, oid: &Oid, language: LanguageId) -> bool {
    let Ok(program) = std::env::current_exe() else { return false };
    let status = Command::new(program)
        .current_dir(root)
        .args(["hook", "probe", &oid.to_string(), language.name()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| died_of_itself(&status))
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
}
