//! Files of an index that are kept in memory. The content of a file never changes.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustc_hash::FxHashMap;
use serde_json::Value;

use codeweaver_base::sync;

use super::record::{Record, decompressed};

/// Maximum number of bytes of the files in memory.
const MAX_CACHE_BYTES: usize = 256 << 20;

/// Files by the names of their documents, those used last and those used before.
#[derive(Default)]
pub(super) struct Cache(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    young: FxHashMap<String, Arc<CachedFile>>,
    old: FxHashMap<String, Arc<CachedFile>>,
    n_bytes: usize,
}

/// The content of a file.
pub(super) struct CachedFile {
    pub record: Record,
    pub vectors: Vec<i8>,
    pub text: Option<Vec<u8>>,
    n_bytes: usize,
}

impl Cache {
    pub fn get(&self, id: &str) -> Option<Arc<CachedFile>> {
        let mut generations = sync::lock(&self.0);
        if let Some(file) = generations.young.get(id) {
            return Some(file.clone());
        }
        let file = generations.old.remove(id)?;
        generations.insert(id, &file);
        Some(file)
    }

    pub fn keep(&self, id: &str, file: &Arc<CachedFile>) {
        sync::lock(&self.0).insert(id, file);
    }
}

impl Generations {
    /// Adds a file to the young ones, which become the old ones first if they are too large.
    fn insert(&mut self, id: &str, file: &Arc<CachedFile>) {
        if self.n_bytes + file.n_bytes > MAX_CACHE_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.n_bytes = 0;
        }
        if self.young.insert(id.to_owned(), file.clone()).is_none() {
            self.n_bytes += file.n_bytes;
        }
    }
}

impl CachedFile {
    /// The content in a document; `None` if it is damaged, or of another file than its name says.
    pub fn decode(id: &str, source: &Value, dim: usize) -> Option<CachedFile> {
        let data = STANDARD.decode(source["data"].as_str()?).ok()?;
        let (record, vectors) = Record::decode(&data, dim)?;
        if !id.starts_with(&record.oid()?.to_string()) {
            return None;
        }

        let text = source["text"].as_str().and_then(|text| STANDARD.decode(text).ok());
        let text = text.and_then(|text| decompressed(&text));
        // A decoded record takes several times its bytes.
        let n_bytes = data.len() * 6 + vectors.len() + text.as_ref().map_or(0, Vec::len);
        Some(CachedFile { record, vectors, text, n_bytes })
    }
}
