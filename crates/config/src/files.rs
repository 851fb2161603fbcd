//! Names of settings files, and reading them safely.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::error::ConfigError;

/// The file at the root of a worktree. It may also be YAML, with the extension `yaml` or `yml`.
pub const REPOSITORY_FILE_NAME: &str = "codeweaver.toml";
/// Maximum size of a settings file.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// Extensions under which YAML is looked for beside a TOML file.
const YAML_EXTENSIONS: [&str; 2] = ["yaml", "yml"];

/// Returns whether a settings file is YAML.
pub(super) fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| YAML_EXTENSIONS.iter().any(|yaml| extension == *yaml))
}

/// Returns the paths at which the settings of `file` can be: the file itself, and YAML beside TOML.
pub(super) fn candidates(file: &Path) -> Vec<PathBuf> {
    let beside: &[&str] = if is_yaml(file) { &[] } else { &YAML_EXTENSIONS };
    let beside = beside.iter().map(|extension| file.with_extension(extension));
    std::iter::once(file.to_owned()).chain(beside).collect()
}

/// Returns the one path at which the settings of `file` are; `None` if there is none.
///
/// # Errors
///
/// [`ConfigError::Several`] if there are several, because all but one would be ignored.
pub(super) fn present(file: &Path) -> Result<Option<PathBuf>, ConfigError> {
    let mut found = candidates(file);
    found.retain(|path| std::fs::symlink_metadata(path).is_ok());
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => Err(ConfigError::Several { files: found }),
    }
}

/// Reads a file of the user. Links are followed.
pub(super) fn read_user_file(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    match std::fs::File::open(path) {
        Ok(file) => read_bounded(path, file).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Read { path: path.to_owned(), source }),
    }
}

/// Content of the file of a repository, or the reason why it must not be read.
pub(super) enum Untrusted {
    Absent,
    Refused { reason: String },
    Bytes(Vec<u8>),
}

/// Reads a file of a repository, unless it is a link, a pipe or too large.
pub(super) fn read_repository_file(path: &Path) -> Result<Untrusted, ConfigError> {
    Ok(match open_regular_file(path) {
        Ok(Some((file, size))) if size <= MAX_FILE_BYTES => Untrusted::Bytes(read_bounded(path, file)?),
        Ok(Some((_, size))) => {
            Untrusted::Refused { reason: format!("it has {size} bytes; at most {MAX_FILE_BYTES} are read") }
        }
        Ok(None) => Untrusted::Refused { reason: "it is no regular file".to_owned() },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Untrusted::Absent,
        Err(source) => return Err(ConfigError::Read { path: path.to_owned(), source }),
    })
}

/// Reads a file of at most [`MAX_FILE_BYTES`].
fn read_bounded(path: &Path, file: std::fs::File) -> Result<Vec<u8>, ConfigError> {
    let mut bytes = Vec::new();
    // One byte more than allowed shows that a file is too large.
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;

    if bytes.len() as u64 > MAX_FILE_BYTES {
        let size = std::fs::metadata(path).map_or(bytes.len() as u64, |metadata| metadata.len());
        return Err(ConfigError::TooLarge { path: path.to_owned(), size, limit: MAX_FILE_BYTES });
    }

    Ok(bytes)
}

/// Opens a file of a repository without following a symbolic link and without blocking on a pipe. Returns
/// `None` if it is not a regular file.
fn open_regular_file(path: &Path) -> std::io::Result<Option<(std::fs::File, u64)>> {
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Ok(None);
    }

    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits() as i32);
    }

    let file = options.open(path)?;
    // The path may have been replaced since it was looked at.
    let metadata = file.metadata()?;
    Ok(metadata.is_file().then_some((file, metadata.len())))
}
