//! Vector cache: vectors on disk that a run has embedded and not published yet, by the hash of their model
//! input.
//!
//! A vector of a transformer costs milliseconds, one of an API money. A run that ends early, by a failure of
//! the API or by a signal, publishes at most what it sealed; all vectors that it computed are here for the
//! next run. A completed run removes the file.
//!
//! ```text
//! magic "cwvecs1\n"; blake3 of the fingerprint of the vector space, 32 bytes
//! records: hash of the model input, 16 bytes; vector, `dim` bytes; blake3 of both, 8 bytes
//! ```
//! Reading ends at the first record that is cut or has a wrong checksum; the rest is overwritten.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use rustc_hash::FxHashMap;

use codeweaver_base::{durable, regular_file, sync};
use codeweaver_embed::Embedder;

use super::codebase::Codebase;

const MAGIC: &[u8; 8] = b"cwvecs1\n";
const HEADER_BYTES: u64 = 8 + 32;

/// The cache of one run. It stores nothing if its file cannot be written.
pub(crate) struct VectorCache {
    dim: usize,
    inner: Option<Mutex<Inner>>,
}

struct Inner {
    file: File,
    /// The offset of the record of each hash.
    places: FxHashMap<[u8; 16], u64>,
    /// The offset of the next record.
    end: u64,
}

fn path(codebase: &Codebase) -> PathBuf {
    codebase.layout.cache().join(format!("vectors-{}", codebase.worktree_key))
}

/// Removes the cache of a completed run.
pub fn remove(codebase: &Codebase) {
    let _ = std::fs::remove_file(path(codebase));
}

fn checksum(hash: &[u8; 16], row: &[u8]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(hash).update(row);
    let mut short = [0; 8];
    hasher.finalize_xof().fill(&mut short);
    short
}

impl VectorCache {
    /// Opens the cache that an earlier run left; `None` if there is no file.
    pub fn existing(codebase: &Codebase, embedder: &dyn Embedder) -> Option<VectorCache> {
        path(codebase).is_file().then(|| VectorCache::open(codebase, embedder))
    }

    /// Opens the cache that an earlier run of the same vector space left, or a new one.
    pub fn open(codebase: &Codebase, embedder: &dyn Embedder) -> VectorCache {
        let dim = embedder.dim();
        let space = blake3::hash(embedder.fingerprint().as_bytes());
        let path = path(codebase);

        let opened = regular_file::make_way(&path)
            .and_then(|()| durable::open_or_create(&path))
            .and_then(|_| File::options().read(true).write(true).open(&path))
            .and_then(|file| Inner::read(file, dim, space.as_bytes()));

        if let Err(error) = &opened {
            tracing::warn!(component = "indexer", operation = "vector cache", error = %error, "vectors of an interrupted run are not kept");
        }
        VectorCache { dim, inner: opened.ok().map(Mutex::new) }
    }

    /// Reads the vector of the model input with this hash.
    pub fn get(&self, hash: &[u8; 16]) -> Option<Vec<i8>> {
        let mut inner = sync::lock(self.inner.as_ref()?);
        let at = *inner.places.get(hash)?;
        let mut row = vec![0; self.dim];
        inner.file.seek(SeekFrom::Start(at + 16)).ok()?;
        inner.file.read_exact(&mut row).ok()?;
        Some(bytemuck::cast_slice(&row).to_vec())
    }

    /// Adds rows of vectors under their hashes, best effort. Returns after they are written.
    pub fn put(&self, hashes: &[[u8; 16]], rows: &[i8]) {
        let Some(inner) = &self.inner else { return };
        let mut inner = sync::lock(inner);

        let mut records = Vec::new();
        let record_bytes = (16 + self.dim + 8) as u64;

        for (hash, row) in hashes.iter().zip(rows.chunks_exact(self.dim)) {
            let row: &[u8] = bytemuck::cast_slice(row);
            records.extend_from_slice(hash);
            records.extend_from_slice(row);
            records.extend_from_slice(&checksum(hash, row));
        }

        let end = inner.end;
        let written = inner.file.seek(SeekFrom::Start(end)).and_then(|_| inner.file.write_all(&records));
        if written.is_ok() {
            for (i, hash) in hashes.iter().enumerate() {
                inner.places.insert(*hash, end + i as u64 * record_bytes);
            }
            inner.end = end + records.len() as u64;
        }
    }
}

impl Inner {
    fn read(file: File, dim: usize, space: &[u8; 32]) -> std::io::Result<Inner> {
        let mut reader = BufReader::new(&file);
        let mut header = [0; HEADER_BYTES as usize];
        let is_valid =
            reader.read_exact(&mut header).is_ok() && header[..8] == *MAGIC && header[8..] == *space;

        let (mut places, mut end) = (FxHashMap::default(), HEADER_BYTES);
        if is_valid {
            let mut record = vec![0; 16 + dim + 8];
            while reader.read_exact(&mut record).is_ok() {
                let Some((hash, rest)) = record.split_first_chunk::<16>() else { break };
                let (row, sum) = rest.split_at(dim);
                if checksum(hash, row) != sum {
                    break;
                }
                places.insert(*hash, end);
                end += record.len() as u64;
            }
        }

        drop(reader);
        let mut inner = Inner { file, places, end };

        // Vectors of another vector space, or behind a damaged header, are of no use.
        if !is_valid {
            inner.file.set_len(0)?;
            inner.file.seek(SeekFrom::Start(0))?;
            inner.file.write_all(&[MAGIC.as_slice(), space].concat())?;
        }

        Ok(inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reopened(file: &tempfile::NamedTempFile, dim: usize, space: &[u8; 32]) -> VectorCache {
        let file = File::options().read(true).write(true).open(file.path()).unwrap();
        VectorCache { dim, inner: Some(Mutex::new(Inner::read(file, dim, space).unwrap())) }
    }

    #[test]
    fn vectors_are_found_again_until_a_damaged_record() {
        let (file, space) = (tempfile::NamedTempFile::new().unwrap(), [7; 32]);
        let cache = reopened(&file, 3, &space);
        cache.put(&[[1; 16], [2; 16]], &[1, -2, 3, 4, 5, 6]);
        assert_eq!(cache.get(&[1; 16]), Some(vec![1, -2, 3]));
        let cache = reopened(&file, 3, &space);
        assert_eq!((cache.get(&[2; 16]), cache.get(&[3; 16])), (Some(vec![4, 5, 6]), None));
        // The last record is cut, as by a crash, and replaced.
        let bytes = std::fs::read(file.path()).unwrap();
        std::fs::write(file.path(), &bytes[..bytes.len() - 1]).unwrap();
        let cache = reopened(&file, 3, &space);
        assert_eq!((cache.get(&[1; 16]), cache.get(&[2; 16])), (Some(vec![1, -2, 3]), None));
        cache.put(&[[3; 16]], &[7, 8, 9]);
        assert_eq!(reopened(&file, 3, &space).get(&[3; 16]), Some(vec![7, 8, 9]));
        // Of another vector space.
        assert_eq!(reopened(&file, 3, &[8; 32]).get(&[1; 16]), None);
    }
}
