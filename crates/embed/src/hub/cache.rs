//! The cache of models: one folder for each, with a manifest of its files, and bundles of such folders.
//!
//! `CACHE/NAME/codeweaver-model.json` names the source, its revision and the SHA-256 of every file. A
//! download is gathered in `CACHE/.NAME.download` under a lock and renamed when it is complete, so a folder
//! without a leading dot is complete. A bundle is a zip file of a folder, for machines without a network.

use std::fs::{File, TryLockError};
use std::io::{Read, Write as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::DownloadError;
use super::download::{io, sha256};
use crate::local::ModelDirs;
use crate::names;

const MANIFEST: &str = "codeweaver-model.json";
/// Maximum number of files of a bundle, and maximum size of its manifest.
const MAX_FILES: usize = 64;
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Content and source of a folder of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub name: String,
    /// URL of the repository, or of the package.
    pub source: String,
    /// Commit or version.
    pub revision: String,
    pub files: Vec<ManifestFile>,
}

/// A file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Relative, with `/`.
    pub path: String,
    pub size: u64,
    pub sha256: String,
}

impl Manifest {
    /// Describes the files at `paths` in `folder`.
    pub fn new(
        name: &str,
        source: &str,
        revision: &str,
        folder: &Path,
        paths: &[&str],
    ) -> Result<Manifest, DownloadError> {
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let full = folder.join(path);
            let size = std::fs::metadata(&full).map_err(io(&full))?.len();
            files.push(ManifestFile { path: (*path).to_owned(), size, sha256: sha256(&full)? });
        }

        Ok(Manifest {
            name: name.to_owned(),
            source: source.to_owned(),
            revision: revision.to_owned(),
            files,
        })
    }

    /// Writes the manifest into `folder`.
    pub fn write(&self, folder: &Path) -> Result<(), DownloadError> {
        let path = folder.join(MANIFEST);
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        std::fs::write(&path, text).map_err(io(&path))
    }

    fn read(folder: &Path) -> Option<Manifest> {
        serde_json::from_slice(&std::fs::read(folder.join(MANIFEST)).ok()?).ok()
    }

    /// Total size of the files in bytes.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// The cache of models of the user.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// A model in the cache.
#[derive(Debug)]
pub struct Cached {
    pub name: String,
    pub size_bytes: u64,
    /// `None` for a folder that was not made by this program.
    pub manifest: Option<Manifest>,
}

impl Cache {
    /// Finds the cache of the user.
    ///
    /// # Errors
    /// [`DownloadError::NoCache`] without a home directory.
    pub fn from_environment() -> Result<Cache, DownloadError> {
        let root = ModelDirs::from_environment().model_cache.ok_or(DownloadError::NoCache)?;
        Ok(Cache { root })
    }

    /// The folder of a model, which may not exist.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Returns whether there is a folder of this name.
    pub fn has(&self, name: &str) -> bool {
        names::is_plain_name(name) && self.folder(name).is_dir()
    }

    /// Returns all models, sorted by name.
    pub fn list(&self) -> Vec<Cached> {
        let children = std::fs::read_dir(&self.root).into_iter().flatten().flatten();
        let named = children.filter_map(|child| Some((child.file_name().into_string().ok()?, child.path())));
        let mut models = Vec::new();
        for (name, path) in named {
            if !names::is_plain_name(&name) || !path.is_dir() {
                continue;
            }
            let manifest = Manifest::read(&path);
            let size_bytes = manifest.as_ref().map_or_else(|| bytes_below(&path), Manifest::size);
            models.push(Cached { name, size_bytes, manifest });
        }

        models.sort_by(|a, b| a.name.cmp(&b.name));
        models
    }

    /// Removes the folder of `name`, and the folder of its incomplete download; false if there is neither.
    pub fn remove(&self, name: &str) -> Result<bool, DownloadError> {
        if !names::is_plain_name(name) {
            return Ok(false);
        }

        let folders = [self.folder(name), self.staging(name)];
        let existing: Vec<&PathBuf> = folders.iter().filter(|folder| folder.exists()).collect();
        for folder in &existing {
            std::fs::remove_dir_all(folder).map_err(io(folder))?;
        }
        Ok(!existing.is_empty())
    }

    fn staging(&self, name: &str) -> PathBuf {
        self.root.join(format!(".{name}.download"))
    }

    /// Opens the folder to gather `name` in, with the files that an earlier attempt left there.
    ///
    /// # Errors
    /// [`DownloadError::Busy`] while another process gathers it.
    pub fn stage(&self, name: &str) -> Result<Staging, DownloadError> {
        let (folder, target) = (self.staging(name), self.folder(name));
        std::fs::create_dir_all(&folder).map_err(io(&folder))?;

        let path = self.root.join(format!(".{name}.lock"));
        // Not emptied: another process may have locked it.
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(io(&path))?;

        match lock.try_lock() {
            Ok(()) => Ok(Staging { folder, target, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DownloadError::Busy),
            Err(TryLockError::Error(error)) => Err(io(&path)(error)),
        }
    }

    /// Writes the model `name` as a bundle to `file`. Returns the size of its files in bytes.
    pub fn pack(&self, name: &str, file: &Path) -> Result<u64, DownloadError> {
        let folder = self.folder(name);
        let paths = files_below(&folder);
        let paths: Vec<&str> = paths.iter().map(String::as_str).filter(|path| *path != MANIFEST).collect();
        let known = Manifest::read(&folder);
        let (source, revision) = known.map_or_else(Default::default, |known| (known.source, known.revision));
        let manifest = Manifest::new(name, &source, &revision, &folder, &paths)?;

        let out = File::create(file).map_err(io(file))?;
        let mut zip = zip::ZipWriter::new(out);
        // Weights do not compress.
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .large_file(true);

        zip.start_file(MANIFEST, options).map_err(zip_error(file))?;
        let text = serde_json::to_vec_pretty(&manifest).unwrap_or_default();
        zip.write_all(&text).map_err(io(file))?;

        for path in &paths {
            zip.start_file(*path, options).map_err(zip_error(file))?;
            let full = folder.join(path);
            let mut content = File::open(&full).map_err(io(&full))?;
            std::io::copy(&mut content, &mut zip).map_err(io(file))?;
        }

        zip.finish().map_err(zip_error(file))?.sync_all().map_err(io(file))?;
        Ok(manifest.size())
    }

    /// Adds the model in the bundle `file`, in place of a model of its name. Every file is checked by its
    /// hash.
    pub fn unpack(&self, file: &Path) -> Result<Manifest, DownloadError> {
        let bad = |why: &str| DownloadError::Bundle { path: file.to_owned(), why: why.to_owned() };
        let input = File::open(file).map_err(io(file))?;
        let mut zip = zip::ZipArchive::new(input).map_err(|error| bad(&error.to_string()))?;

        let manifest = zip.by_name(MANIFEST).map_err(|_| bad("it has no manifest"))?;
        let mut text = Vec::new();
        manifest.take(MAX_MANIFEST_BYTES).read_to_end(&mut text).map_err(io(file))?;

        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|_| bad("its manifest cannot be read"))?;
        // A bundle is foreign data: no path may lead out of the folder of the model.
        if !names::is_plain_name(&manifest.name)
            || manifest.files.len() > MAX_FILES
            || !manifest.files.iter().all(|file| is_below(&file.path) && file.path != MANIFEST)
        {
            return Err(bad("its manifest names what no model has"));
        }

        let staging = self.stage(&manifest.name)?;
        let unpacked = self.unpack_into(&staging.folder, &manifest, &mut zip, &bad);
        if unpacked.is_err() {
            let _ = std::fs::remove_dir_all(&staging.folder);
        }
        unpacked?;

        if self.has(&manifest.name) {
            let old = self.folder(&manifest.name);
            std::fs::remove_dir_all(&old).map_err(io(&old))?;
        }
        staging.publish()?;
        Ok(manifest)
    }

    /// Writes the files of a bundle into `folder`, and checks their hashes.
    fn unpack_into(
        &self,
        folder: &Path,
        manifest: &Manifest,
        zip: &mut zip::ZipArchive<File>,
        bad: &dyn Fn(&str) -> DownloadError,
    ) -> Result<(), DownloadError> {
        for file in &manifest.files {
            let content = zip.by_name(&file.path).map_err(|_| bad(&format!("it has no {}", file.path)))?;
            let target = folder.join(&file.path);
            if let Some(parent) = target.parent() {
                std::fs::create_dir_all(parent).map_err(io(parent))?;
            }

            let mut out = File::create(&target).map_err(io(&target))?;
            // One byte more than announced, so that a longer file has another hash.
            std::io::copy(&mut content.take(file.size + 1), &mut out).map_err(io(&target))?;

            if sha256(&target)? != file.sha256 {
                return Err(bad(&format!("{} does not have its hash", file.path)));
            }
        }

        manifest.write(folder)
    }
}

/// A folder of the cache that is being gathered. Without [`Self::publish`] it stays for the next attempt.
pub struct Staging {
    pub folder: PathBuf,
    target: PathBuf,
    _lock: File,
}

impl Staging {
    /// Makes the folder a model, and returns its place.
    pub fn publish(self) -> Result<PathBuf, DownloadError> {
        std::fs::rename(&self.folder, &self.target).map_err(io(&self.target))?;
        Ok(self.target)
    }
}

pub(super) fn zip_error(path: &Path) -> impl Fn(zip::result::ZipError) -> DownloadError + '_ {
    |error| DownloadError::Io { path: path.to_owned(), why: error.to_string() }
}

/// Returns whether a path of a manifest leads to a place below its folder.
fn is_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Relative paths of all files below `folder`, sorted.
fn files_below(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) {
        for child in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(name) = child.file_name().into_string() else { continue };
            let path = format!("{prefix}{name}");
            if child.path().is_dir() {
                walk(&child.path(), &format!("{path}/"), found);
            } else {
                found.push(path);
            }
        }
    }

    let mut found = Vec::new();
    walk(folder, "", &mut found);
    found.sort();
    found
}

fn bytes_below(folder: &Path) -> u64 {
    let sizes = files_below(folder)
        .into_iter()
        .map(|path| std::fs::metadata(folder.join(path)).map_or(0, |file| file.len()));
    sizes.sum()
}
