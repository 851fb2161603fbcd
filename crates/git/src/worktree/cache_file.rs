//! Small cache files that are either valid as a whole or ignored: magic, payload, and the first 16 bytes of
//! the BLAKE3 hash of both.

use std::ops::Deref;
use std::path::Path;

use codeweaver_base::durable::Replacement;
use codeweaver_base::regular_file;
use codeweaver_base::sys::Mapped;

use crate::{BStr, BString};

const CHECKSUM_BYTES: usize = 16;

/// Magic and payload of a valid cache file.
pub struct CacheBytes(Mapped);

impl CacheBytes {
    /// The checksum of the file.
    pub fn checksum(&self) -> [u8; CHECKSUM_BYTES] {
        let mut checksum = [0; CHECKSUM_BYTES];
        checksum.copy_from_slice(&self.0[self.0.len() - CHECKSUM_BYTES..]);
        checksum
    }

    /// Returns whether the file was truncated after it was checked, so that decoded values must not be used.
    pub fn has_failed(&self) -> bool {
        self.0.has_failed()
    }
}

impl Deref for CacheBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0[..self.0.len() - CHECKSUM_BYTES]
    }
}

/// Maps the cache file at `path`; `None` if it is missing, damaged or has another magic.
pub fn read(path: &Path, magic: &[u8]) -> Option<CacheBytes> {
    let map = Mapped::from_replaceable(&regular_file::open(path).ok()?).ok()?;
    let (bytes, checksum) = map.split_at_checked(map.len().checked_sub(CHECKSUM_BYTES)?)?;
    let is_valid = bytes.starts_with(magic) && blake3::hash(bytes).as_bytes()[..CHECKSUM_BYTES] == *checksum;
    is_valid.then_some(CacheBytes(map))
}

/// Replaces the file by `content`, which begins with its magic. Best effort: errors are logged, since a
/// missing cache costs time only.
pub fn write(path: &Path, content: Vec<u8>) {
    if let Err(error) = try_write(path, content) {
        tracing::debug!(path = %path.display(), %error, "cannot write a cache of the working tree");
    }
}

fn try_write(path: &Path, mut content: Vec<u8>) -> std::io::Result<()> {
    let checksum = blake3::hash(&content);
    content.extend_from_slice(&checksum.as_bytes()[..CHECKSUM_BYTES]);
    let staged = Replacement::new(path).inheriting().stage(&content)?;
    regular_file::make_way(path)?;
    staged.commit()
}

/// Appends the length of `path` as u16, little endian, and its bytes, which are at most [`u16::MAX`].
pub fn put_path(bytes: &mut Vec<u8>, path: &BStr) {
    bytes.extend_from_slice(&(path.len() as u16).to_le_bytes());
    bytes.extend_from_slice(path);
}

/// Removes a path from the front of `rest`. The `take` functions return `None` if `rest` is too short.
pub fn take_path(rest: &mut &[u8]) -> Option<BString> {
    let len = usize::from(u16::from_le_bytes(take(rest)?));
    Some(take_slice(rest, len)?.into())
}

/// Removes `n` bytes from the front of `rest`.
pub fn take_slice<'a>(rest: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(n)?;
    *rest = tail;
    Some(head)
}

/// Removes `N` bytes from the front of `rest`.
pub fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    take_slice(rest, N)?.try_into().ok()
}
