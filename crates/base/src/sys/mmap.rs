//! Read-only memory maps of immutable files.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Deref;
use std::path::Path;

use super::bus_error::Guard;

/// A file mapped read-only into memory, or bytes in memory in its place.
///
/// Only immutable files are mapped: they are written under a temporary name, renamed once and never written
/// again. Garbage collection unlinks them without truncating, which keeps existing mappings valid. The same
/// holds for git's index, of which git writes each version to a new file.
///
/// Another program may still truncate a mapped file. In a program that has called
/// [`install_handler`](super::bus_error::install_handler), the missing bytes then read as zeros, and
/// [`Self::has_failed`] returns true; in another one, reading them ends the process.
pub struct Mapped(Bytes);

enum Bytes {
    File {
        /// Declared before the map, so that it is dropped first.
        guard: Guard,
        map: memmap2::Mmap,
        metadata: Box<Metadata>,
    },
    /// Bytes in words, so that records are aligned as in a mapping, and the length in bytes.
    Owned { words: Vec<u64>, len: usize, metadata: Option<Box<Metadata>> },
}

impl Mapped {
    /// Maps the whole of `path`.
    pub fn open(path: &Path) -> io::Result<Mapped> {
        Mapped::from_file(&File::open(path)?)
    }

    /// Maps the whole of an open file.
    pub fn from_file(file: &File) -> io::Result<Mapped> {
        let metadata = Box::new(file.metadata()?);
        if metadata.len() == 0 {
            return Ok(Mapped(Bytes::Owned { words: Vec::new(), len: 0, metadata: Some(metadata) }));
        }

        // SAFETY: no process of ours modifies the file (see the documentation of the type). If another
        // program does, its bytes are still read as bytes: nothing in a map is used as more than integers
        // before it is checked. If the file is truncated, the handler puts zeros in place of the missing
        // bytes, or the process ends; memory outside of the map is never read.
        let map = unsafe { memmap2::Mmap::map(file)? };

        Ok(Mapped(Bytes::File { guard: Guard::new(map.as_ptr(), map.len()), map, metadata }))
    }

    /// Maps a file that other processes replace while it is in use. On Windows, where a map would keep them from
    /// it, the file is read.
    pub fn from_replaceable(file: &File) -> io::Result<Mapped> {
        #[cfg(not(windows))]
        return Mapped::from_file(file);
        #[cfg(windows)]
        {
            use std::io::Read as _;
            let metadata = Box::new(file.metadata()?);
            let (mut file, mut bytes) = (file, Vec::new());
            file.read_to_end(&mut bytes)?;
            Ok(Mapped::in_memory(&bytes, Some(metadata)))
        }
    }

    /// Copies `bytes` into memory.
    pub fn owned(bytes: &[u8]) -> Mapped {
        Mapped::in_memory(bytes, None)
    }

    fn in_memory(bytes: &[u8], metadata: Option<Box<Metadata>>) -> Mapped {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Mapped(Bytes::Owned { words, len: bytes.len(), metadata })
    }

    /// Lets the system take back the memory of the pages that were read. They are mapped again when read
    /// again.
    pub fn release(&self) {
        #[cfg(unix)]
        if let Bytes::File { map, .. } = &self.0 {
            // SAFETY: the map is shared, read-only and of a file, so pages that are dropped are read from it
            // again with the same bytes; where the guard has put zeros, zeros remain. If this fails, more
            // memory stays in use.
            let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    /// Returns whether a part of the file could not be read since it was opened, so that zeros may have been
    /// read in its place.
    pub fn has_failed(&self) -> bool {
        matches!(&self.0, Bytes::File { guard, .. } if guard.has_failed())
    }

    /// The metadata of the file when it was opened; `None` for bytes that are in no file.
    pub fn metadata(&self) -> Option<&Metadata> {
        match &self.0 {
            Bytes::File { metadata, .. } => Some(metadata),
            Bytes::Owned { metadata, .. } => metadata.as_deref(),
        }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::File { map, .. } => map,
            Bytes::Owned { words, len, .. } => &bytemuck::cast_slice(words)[..*len],
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
