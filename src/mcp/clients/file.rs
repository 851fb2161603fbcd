//! Reading, replacing and removing configuration files: whole or not at all, through links, never over a change that
//! somebody else made meanwhile.

use super::error::{ClientError, shown_path};
use crate::durable::Replacement;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// No configuration is as long.
const MAX_BYTES: u64 = 64 << 20;
const MAX_LINKS: usize = 40;

/// The file that `path` means once links are followed, whether it exists or not: a link out of a folder of dot files
/// stays, its target changes.
pub fn resolve(path: &Path) -> Result<PathBuf, ClientError> {
    let mut at = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&at) {
            Ok(target) => at = at.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(at),
        }
    }
    Err(ClientError::new(
        format!("{} cannot be read", shown_path(path)),
        "its links lead in a circle",
        "remove the link",
    ))
}

/// The text of a file, `None` if there is none. A file that may not be written is an error here already, before anything
/// has been changed anywhere.
pub fn read(path: &Path) -> Result<Option<String>, ClientError> {
    let failed = |why: String, fix: &str| {
        ClientError::new(format!("{} cannot be read", shown_path(path)), why, fix.to_owned())
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error.to_string(), "check the path and its permissions")),
    };
    if !metadata.is_file() {
        return Err(failed("it is not a file".to_owned(), "move it out of the way"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(failed(format!("it has {} bytes", metadata.len()), "check what wrote it"));
    }
    if metadata.permissions().readonly() {
        return Err(ClientError::new(
            format!("{} may not be changed", shown_path(path)),
            "the file is read-only",
            "make it writable, or change it where it is generated: --print shows what to add",
        ));
    }
    let bytes = fs::read(path).map_err(|error| failed(error.to_string(), "check its permissions"))?;
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| failed("it is not UTF-8 text".to_owned(), "save it as UTF-8"))
}

/// The folders of `path` that do not exist, outermost first.
pub fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().skip(1).take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}

/// Replaces `path`, which holds `expected`, by `text`. An existing file keeps its permissions; a new one gets `mode`
/// under the usual mask. An error leaves no new folders behind.
pub fn write(path: &Path, expected: Option<&str>, text: &str, mode: u32) -> Result<(), ClientError> {
    let folders = missing_folders(path);
    replace(path, expected, text, mode).inspect_err(|_| remove_empty(&folders))
}

fn replace(path: &Path, expected: Option<&str>, text: &str, mode: u32) -> Result<(), ClientError> {
    let failed = |error: io::Error| {
        ClientError::new(
            format!("{} cannot be written", shown_path(path)),
            error.to_string(),
            format!("check the permissions of {}", shown_path(path.parent().unwrap_or(path))),
        )
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let replacement = Replacement::of(path).named(".codeweaver-", "").mode(mode);
    let staged = replacement.stage(text.as_bytes()).map_err(failed)?;
    if let Ok(metadata) = fs::metadata(path) {
        staged.set_permissions(metadata.permissions()).map_err(failed)?;
    }
    staged.sync().map_err(failed)?;
    unchanged(path, expected)?;
    staged.commit().map_err(failed)
}

/// Removes `path`, which holds `expected`, and those of `folders` that are empty then.
pub fn remove(path: &Path, expected: &str, folders: &[PathBuf]) -> Result<(), ClientError> {
    unchanged(path, Some(expected))?;
    fs::remove_file(path).map_err(|error| {
        ClientError::new(
            format!("{} cannot be removed", shown_path(path)),
            error.to_string(),
            format!("check the permissions of {}", shown_path(path.parent().unwrap_or(path))),
        )
    })?;
    remove_empty(folders);
    Ok(())
}

/// Removes folders, innermost first, as long as nothing is in them.
pub fn remove_empty(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        let _ = fs::remove_dir(folder); // not empty: somebody else's files are in it by now
    }
}

/// Clients write their files, too.
fn unchanged(path: &Path, expected: Option<&str>) -> Result<(), ClientError> {
    let now = match fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if now.as_deref() == expected.map(str::as_bytes) {
        return Ok(());
    }
    Err(ClientError::new(
        format!("{} is not changed", shown_path(path)),
        "another program has written it at this very moment",
        "run the command again, if need be with the client closed",
    ))
}
