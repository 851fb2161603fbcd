//! Manifest: the directories and files of a collection, with the version of each file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use codeweaver_base::durable::Replacement;

/// Version of the format. A manifest of another version is treated as missing.
const VERSION: u32 = 2;

/// The contents of `manifest.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// As given, absolute.
    pub directories: Vec<PathBuf>,
    /// Records of the files, by absolute path.
    pub files: BTreeMap<PathBuf, FileRecord>,
}

/// A version of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Time of the last change, in nanoseconds since 1970.
    pub mtime_ns: u64,
    pub size_bytes: u64,
    /// Hash of the contents; empty if they were not read.
    pub blake3: String,
    /// Identifiers of its chunks, in order of position. They depend on the contents alone, so a file that has
    /// not changed keeps them in a new index.
    pub chunks: Vec<String>,
}

impl FileRecord {
    /// Returns whether both have the same time and size, and so are taken for the same version.
    pub fn is_same_version(&self, other: &FileRecord) -> bool {
        (self.mtime_ns, self.size_bytes) == (other.mtime_ns, other.size_bytes)
    }
}

#[derive(Serialize, Deserialize)]
struct Versioned<M> {
    version: u32,
    #[serde(flatten)]
    manifest: M,
}

impl Manifest {
    /// The manifest at `path`; `None` if it is missing, damaged or of another version.
    pub fn read(path: &Path) -> Option<Manifest> {
        let text = std::fs::read(path).ok()?;
        let versioned: Versioned<Manifest> = serde_json::from_slice(&text).ok()?;
        (versioned.version == VERSION).then_some(versioned.manifest)
    }

    /// Replaces the manifest at `path`.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(&Versioned { version: VERSION, manifest: self })?;
        let staged = Replacement::new(path).stage(&text)?;
        staged.sync()?;
        staged.commit()
    }
}
