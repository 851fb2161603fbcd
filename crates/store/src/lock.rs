//! Work lease and publish lock.
//!
//! Both are operating-system locks on a file, so the death of a holder frees them at once. The content of the
//! file (PID, start time) is only for messages; on Windows, where other processes cannot read a locked file,
//! it is in a file beside it. Safety does not depend on the locks: publication reads the state again before
//! replacing it.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeweaver_base::{durable, regular_file};

use super::error::StoreError;
use super::fault;

/// Number of attempts to take a lock. [`holder`] locks a free file for an instant, which must not count as
/// contention.
const TRIES: u32 = 500;
const BETWEEN_TRIES: Duration = Duration::from_millis(1);
/// Number of bytes that are read of what a holder has written.
const MAX_NOTE: u64 = 200;

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock at `path`.
    ///
    /// # Errors
    /// [`StoreError::Locked`] with the holder if it is held.
    pub fn try_acquire(path: &Path) -> Result<Lock, StoreError> {
        let mut file = open(path)?;
        if fault::has_no_locks() {
            return Ok(Lock { file });
        }

        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => {
                    write_holder(&mut file, path).map_err(StoreError::io("write", path))?;
                    return Ok(Lock { file });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(e)) => return Err(StoreError::io("lock", path)(e)),
            }

            // A holder has an exclusive lock, so a shared one is refused.
            match file.try_lock_shared() {
                Ok(()) => file.unlock().map_err(StoreError::io("unlock", path))?,
                Err(TryLockError::WouldBlock) => break,
                Err(TryLockError::Error(e)) => return Err(StoreError::io("lock", path)(e)),
            }
            std::thread::sleep(BETWEEN_TRIES);
        }

        // Contention with `holder` would have ended by now.
        Err(StoreError::Locked { holder: read_holder(&mut file, path) })
    }

    /// Waits for the lock at `path`. Use it for locks that are held for milliseconds.
    pub fn acquire(path: &Path) -> Result<Lock, StoreError> {
        let file = open(path)?;
        if fault::has_no_locks() {
            return Ok(Lock { file });
        }
        file.lock().map_err(StoreError::io("lock", path))?;
        Ok(Lock { file })
    }

    /// The locked file. A process that inherits it holds the lock as well, until it ends or the lock is
    /// dropped.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that is being spawned has a copy of every descriptor
        // until it executes its own program, and the lock lives as long as the last copy.
        let _ = self.file.unlock();
    }
}

/// The holder of the lock at `path`, for example `PID 4711, started 2026-11-21T10:00:00Z`; `None` if it is
/// free.
pub fn holder(path: &Path) -> Option<String> {
    let mut file = regular_file::open(path).ok()?;
    // Shared, so that concurrent callers are not mistaken for the holder.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read_holder(&mut file, path)),
        Ok(()) => {
            let _ = file.unlock();
            None
        }
        Err(TryLockError::Error(_)) => None,
    }
}

fn open(path: &Path) -> Result<File, StoreError> {
    fault::step().map_err(StoreError::io("open", path))?;
    // Anything but a file has never been a lock of ours.
    let way = regular_file::make_way(path);
    // Not truncated on opening: the content belongs to the holder.
    way.and_then(|()| durable::open_or_create(path)).map_err(StoreError::io("open", path))
}

/// Where the holder of the lock at `path` is told; `None` for the file of the lock itself.
fn note(path: &Path) -> Option<PathBuf> {
    cfg!(windows).then(|| path.with_added_extension("holder"))
}

fn read_holder(file: &mut File, path: &Path) -> String {
    let mut bytes = Vec::new();
    // Without its content, the holder is unknown.
    let _ = match note(path).map(|note| regular_file::open(&note)) {
        None => file.seek(SeekFrom::Start(0)).and_then(|_| file.take(MAX_NOTE).read_to_end(&mut bytes)),
        Some(note) => note.and_then(|note| note.take(MAX_NOTE).read_to_end(&mut bytes)),
    };

    // The content of the file is printed, so only printable characters are kept.
    let printable = bytes.iter().take_while(|byte| **byte == b' ' || byte.is_ascii_graphic());
    let text: String = printable.map(|&byte| char::from(byte)).collect();

    if text.trim().is_empty() { "PID unknown".to_owned() } else { text.trim().to_owned() }
}

fn write_holder(file: &mut File, path: &Path) -> std::io::Result<()> {
    let mut note = note(path).map(|note| durable::open_or_create(&note)).transpose()?;
    let file = note.as_mut().unwrap_or(file);

    fault::step()?;
    file.set_len(0)?;
    fault::step()?;
    file.seek(SeekFrom::Start(0))?;

    let now = super::time::now();
    write!(file, "PID {}, started {}", std::process::id(), super::time::rfc3339(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_names_its_holder_and_a_dropped_one_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("work.lock");
        assert_eq!(holder(&path), None);
        let lock = Lock::try_acquire(&path).unwrap();
        let Err(StoreError::Locked { holder: text }) = Lock::try_acquire(&path) else {
            panic!("taken twice")
        };
        assert!(text.starts_with(&format!("PID {}, started 20", std::process::id())), "{text}");
        assert_eq!(holder(&path), Some(text));
        drop(lock);
        assert_eq!(holder(&path), None);
        Lock::try_acquire(&path).unwrap();
    }
}
