//! Read-only memory maps of immutable files.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// A read-only file in memory, or bytes that stand for one.
///
/// Only immutable files are mapped: they are written under a temporary name, renamed once and never written again, and
/// garbage collection unlinks them without truncating, which keeps existing mappings valid. So it is with git's index, each
/// version of which is a file of its own.
pub struct Mapped(Bytes);

enum Bytes {
    File(memmap2::Mmap),
    /// Held as words, so that records in it are aligned as they are in a mapping; with the length in bytes.
    Owned(Vec<u64>, usize),
}

impl Mapped {
    /// Maps the whole of `path`.
    pub fn open(path: &Path) -> io::Result<Mapped> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Mapped::owned(&[]));
        }
        // SAFETY: the file is immutable by the publication protocol (see the type); a foreign process that truncates it
        // can end this process with SIGBUS, but cannot make it read memory that is not the file's.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(Mapped(Bytes::File(map)))
    }

    /// A copy of `bytes`.
    pub fn owned(bytes: &[u8]) -> Mapped {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Mapped(Bytes::Owned(words, bytes.len()))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::File(map) => map,
            Bytes::Owned(words, len) => &bytemuck::cast_slice(words)[..*len],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_maps_to_an_empty_slice() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Mapped::open(file.path()).unwrap().is_empty());
    }
}
