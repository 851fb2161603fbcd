//! Reading, replacing and removing configuration files: atomically, through symbolic links, and never over a
//! concurrent change of another program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use codeweaver_base::durable::Replacement;

use super::error::ClientError;

/// Maximum size of a configuration.
const MAX_BYTES: u64 = 64 << 20;
const MAX_LINKS: usize = 40;

/// Follows the symbolic links of `path`. The result may not exist. A link is kept when its target is
/// replaced, as in a directory of dot files.
pub fn resolve(path: &Path) -> Result<PathBuf, ClientError> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(ClientError::LinkCycle { path: path.to_path_buf() })
}

/// Reads a file; `None` if there is none. A read-only file is an error, so that it is found before anything
/// is changed.
pub fn read(path: &Path) -> Result<Option<String>, ClientError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ClientError::Read { path: path.to_path_buf(), source }),
    };

    if !metadata.is_file() {
        return Err(ClientError::NotAFile { path: path.to_path_buf() });
    }
    if metadata.len() > MAX_BYTES {
        return Err(ClientError::TooLarge { path: path.to_path_buf(), size: metadata.len() });
    }
    if metadata.permissions().readonly() {
        return Err(ClientError::ReadOnly { path: path.to_path_buf() });
    }

    let bytes = fs::read(path).map_err(|source| ClientError::Read { path: path.to_path_buf(), source })?;
    String::from_utf8(bytes).map(Some).map_err(|_| ClientError::NotUtf8 { path: path.to_path_buf() })
}

/// The missing directories of `path`, outermost first.
pub fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().skip(1).take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}

/// Replaces the content of `path`, which must be `expected`, by `text`. An existing file keeps its
/// permissions; a new one gets `mode`, reduced by the umask. Directories created here are removed on error.
pub fn write(path: &Path, expected: Option<&str>, text: &str, mode: u32) -> Result<(), ClientError> {
    let directories = missing_directories(path);
    replace(path, expected, text, mode).inspect_err(|_| remove_empty(&directories))
}

fn replace(path: &Path, expected: Option<&str>, text: &str, mode: u32) -> Result<(), ClientError> {
    let failed = |source: io::Error| ClientError::Write { path: path.to_path_buf(), source };

    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(failed)?;

    let replacement = Replacement::new(path).named(".codeweaver-", "").mode(mode);
    let staged = replacement.stage(text.as_bytes()).map_err(failed)?;
    // The replacement is a new file, which would have the default permissions.
    if let Ok(metadata) = fs::metadata(path) {
        staged.set_permissions(metadata.permissions()).map_err(failed)?;
    }

    staged.sync().map_err(failed)?;

    // As late as possible: between this check and the commit, a change of another program is lost.
    check_unchanged(path, expected)?;
    staged.commit().map_err(failed)
}

/// Removes `path`, whose content must be `expected`, and those of `directories` that are then empty.
pub fn remove(path: &Path, expected: &str, directories: &[PathBuf]) -> Result<(), ClientError> {
    check_unchanged(path, Some(expected))?;
    fs::remove_file(path).map_err(|source| ClientError::Remove { path: path.to_path_buf(), source })?;
    remove_empty(directories);
    Ok(())
}

/// Removes empty directories, innermost first.
pub fn remove_empty(directories: &[PathBuf]) {
    for dir in directories.iter().rev() {
        let _ = fs::remove_dir(dir); // fails if another program has put files into it
    }
}

/// Fails if a client or another program has written the file since it was read.
fn check_unchanged(path: &Path, expected: Option<&str>) -> Result<(), ClientError> {
    let now = match fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(ClientError::Read { path: path.to_path_buf(), source }),
    };

    if now.as_deref() == expected.map(str::as_bytes) {
        return Ok(());
    }
    Err(ClientError::ConcurrentChange { path: path.to_path_buf() })
}
