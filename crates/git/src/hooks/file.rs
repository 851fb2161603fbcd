//! Reading and atomically replacing hook files, without following links.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use codeweaver_base::durable::Replacement;
use codeweaver_base::left_over;

use super::HookError;

/// Maximum size of a hook script. A larger file is treated as a program.
const MAX_HOOK_BYTES: u64 = 1 << 20;

/// The file at the path of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookFile {
    Missing,
    /// A regular file. `bytes` of a file above [`MAX_HOOK_BYTES`] are its beginning and a zero byte, as in a
    /// binary.
    Regular {
        bytes: Vec<u8>,
        executable: bool,
    },
    /// A symbolic link. Never followed for writing: it may lead into a tracked directory or out of the
    /// repository.
    Link,
    /// A directory, a pipe, …
    Other,
}

impl HookFile {
    /// Reads the file at `path`. A link is not followed.
    pub(super) fn read(path: &Path) -> Result<HookFile, HookError> {
        let failed = |source| HookError::Read { path: path.to_owned(), source };
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(HookFile::Missing),
            Err(error) => return Err(failed(error)),
        };

        if metadata.is_symlink() {
            return Ok(HookFile::Link);
        }
        if !metadata.is_file() {
            return Ok(HookFile::Other);
        }

        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(failed)?;
        file.take(MAX_HOOK_BYTES).read_to_end(&mut bytes).map_err(failed)?;

        if metadata.len() > MAX_HOOK_BYTES {
            // The missing end is replaced by a zero byte, which marks the file as binary.
            bytes.push(0);
        }
        Ok(HookFile::Regular { bytes, executable: is_executable(&metadata) })
    }
}

/// Start of the names of temporary files.
const TEMPORARY: &str = ".codeweaver-hook-";

/// Permission bits of a new hook, before the umask.
const NEW_FILE_MODE: u32 = 0o777;

/// Writes `bytes` to `path` through a temporary file beside it, so that git never runs an incomplete hook.
///
/// An existing file keeps its permissions. A new one gets mode 777, reduced by the umask.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), HookError> {
    let failed = |source| HookError::Write { path: path.to_owned(), source };
    let permissions = match fs::symlink_metadata(path) {
        Ok(metadata) => Some(metadata.permissions()),
        Err(error) if is_absent(&error) => None,
        Err(error) => return Err(failed(error)),
    };

    let replacement = Replacement::new(path).named(TEMPORARY, "").mode(NEW_FILE_MODE);
    let staged = replacement.stage(bytes).map_err(failed)?;
    if let Some(permissions) = permissions {
        staged.set_permissions(permissions).map_err(failed)?;
    }
    staged.commit().map_err(failed)
}

/// Removes a hook file, if it exists.
pub(super) fn remove(path: &Path) -> Result<(), HookError> {
    match fs::remove_file(path) {
        Err(error) if !is_absent(&error) => Err(HookError::Write { path: path.to_owned(), source: error }),
        _ => Ok(()),
    }
}

/// Removes the temporary files in `dir` of processes that were killed.
pub(super) fn remove_left_over(dir: &Path) -> Result<(), HookError> {
    let removed = left_over::remove(&|| temporary_files(dir));
    removed.map(drop).map_err(|source| HookError::Write { path: dir.to_owned(), source })
}

fn temporary_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(TEMPORARY.as_bytes()));
    ours.map(|entry| entry.path()).collect()
}

#[cfg(unix)]
pub(super) fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(_: &Metadata) -> bool {
    true
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
