//! Read-only memory maps of immutable files.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// A file mapped read-only into memory, or bytes in memory in its place.
///
/// Only immutable files are mapped: they are written under a temporary name, renamed once and never written
/// again. Garbage collection unlinks them without truncating, which keeps existing mappings valid. The same
/// holds for git's index, of which git writes each version to a new file.
pub struct Mapped(Bytes);

enum Bytes {
    File(memmap2::Mmap),
    /// Bytes in words, so that records are aligned as in a mapping, and the length in bytes.
    Owned(Vec<u64>, usize),
}

impl Mapped {
    /// Maps the whole of `path`.
    pub fn open(path: &Path) -> io::Result<Mapped> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Mapped::owned(&[]));
        }
        // SAFETY: no process of ours modifies the file (see the documentation of the type). If another
        // program truncates it, reading ends this process with SIGBUS; it never reads memory outside of the
        // file.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(Mapped(Bytes::File(map)))
    }

    /// Copies `bytes`.
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
