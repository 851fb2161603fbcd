//! Cache of the texts of blobs in git, for a long-lived process.
//!
//! The stages of a request read the same blobs one after the other, and the queries of a session are mostly
//! about the same files. Of a warm query on the Linux kernel, inflating blobs took the largest share of the
//! samples of any function.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use codeweaver_base::sync;
use codeweaver_git::Oid;

/// Maximum number of bytes in one of the two generations.
const MAX_BYTES: usize = 16 << 20;

/// Blobs by their oids, which never become outdated.
#[derive(Default)]
pub struct BlobCache(Mutex<Generations>);

/// Blobs that were used since the last change of generations, and those that were last used in the generation
/// before. The latter are dropped when the former are too many.
#[derive(Default)]
struct Generations {
    young: FxHashMap<Oid, Arc<[u8]>>,
    old: FxHashMap<Oid, Arc<[u8]>>,
    n_young_bytes: usize,
}

impl BlobCache {
    /// The text of a blob, if it is kept.
    pub fn get(&self, oid: &Oid) -> Option<Arc<[u8]>> {
        let mut generations = sync::lock(&self.0);
        if let Some(text) = generations.young.get(oid) {
            return Some(text.clone());
        }

        let text = generations.old.remove(oid)?;
        generations.insert(*oid, text.clone());
        Some(text)
    }

    /// Keeps the text of a blob, unless it is so long that it would displace most others.
    pub fn keep(&self, oid: Oid, text: Arc<[u8]>) {
        if text.len() <= MAX_BYTES / 4 {
            sync::lock(&self.0).insert(oid, text);
        }
    }
}

impl Generations {
    /// Adds a blob to the young generation, which becomes the old one first if it is full.
    fn insert(&mut self, oid: Oid, text: Arc<[u8]>) {
        if self.n_young_bytes + text.len() > MAX_BYTES {
            self.old = std::mem::take(&mut self.young);
            self.n_young_bytes = 0;
        }

        let n_bytes = text.len();
        if self.young.insert(oid, text).is_none() {
            self.n_young_bytes += n_bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeweaver_git::hash_blob;

    #[test]
    fn what_was_used_last_is_kept() {
        let cache = BlobCache::default();
        let text = |i: usize| vec![i as u8; MAX_BYTES / 16];
        let oid = |i: usize| hash_blob(&i.to_le_bytes(), gix::hash::Kind::Sha1);
        for i in 0..100 {
            cache.keep(oid(i), text(i).into());
            assert_eq!(cache.get(&oid(i)).as_deref(), Some(&text(i)[..]));
            // One that is used again and again stays.
            assert!(cache.get(&oid(0)).is_some(), "{i}");
        }
        assert!(cache.get(&oid(50)).is_none());
        let long = vec![1; MAX_BYTES];
        cache.keep(oid(200), long.into());
        assert!(cache.get(&oid(200)).is_none());
    }
}
