//! Atomic replacement of a file: a temporary file beside it, then a rename.
//!
//! Readers see the old bytes or the new ones, never a mixture, and a process that is killed in between leaves
//! the old file. Rename alone is atomic but not durable: after a power cut the new name may refer to a file
//! whose bytes never reached the disk. Callers that need durability call [`Staged::sync`] before the rename
//! and sync the directory after it.

mod inherit;
mod rename;

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::path::Path;

pub use inherit::{create_directory, create_directory_like, inherit, open_or_create};

/// Options for a replacement; the defaults are a file that only its owner can read and an anonymous temporary
/// name.
#[derive(Debug, Clone, Copy)]
pub struct Replacement<'a> {
    path: &'a Path,
    prefix: &'a str,
    suffix: &'a str,
    mode: Option<u32>,
    inherits: bool,
}

impl<'a> Replacement<'a> {
    /// A replacement of `path`, whose directory must exist.
    pub fn new(path: &'a Path) -> Replacement<'a> {
        Replacement { path, prefix: ".tmp", suffix: "", mode: None, inherits: false }
    }

    /// Sets the start and the end of the temporary file's name.
    pub fn named(self, prefix: &'a str, suffix: &'a str) -> Replacement<'a> {
        Replacement { prefix, suffix, ..self }
    }

    /// Sets the Unix permission bits of the new file, reduced by the process's umask as with `open(2)`.
    pub fn mode(self, mode: u32) -> Replacement<'a> {
        Replacement { mode: Some(mode), ..self }
    }

    /// Gives the new file the owner, the group and the permissions of its directory, as far as possible.
    pub fn inheriting(self) -> Replacement<'a> {
        Replacement { inherits: true, ..self }
    }

    /// Writes `bytes` to a temporary file beside the target. Dropping the result removes it.
    ///
    /// # Errors
    /// Any I/O error from creating or writing the temporary file.
    pub fn stage(self, bytes: &[u8]) -> io::Result<Staged<'a>> {
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());

        let mut builder = tempfile::Builder::new();
        builder.prefix(self.prefix).suffix(self.suffix);
        if let Some(permissions) = self.mode.and_then(from_mode) {
            builder.permissions(permissions);
        }

        let directory = directory.unwrap_or(Path::new("."));
        #[cfg(not(windows))]
        let mut file = builder.tempfile_in(directory)?;
        // Without the attribute of temporary files, whose bytes the system may keep from the disk.
        #[cfg(windows)]
        let mut file = builder.make_in(directory, |path| {
            std::fs::File::options().read(true).write(true).create_new(true).open(path)
        })?;

        if self.inherits {
            inherit(file.as_file(), directory);
        }

        file.write_all(bytes)?;
        Ok(Staged { path: self.path, file })
    }
}

/// A written temporary file that is not visible under the target's name yet.
#[derive(Debug)]
pub struct Staged<'a> {
    path: &'a Path,
    file: tempfile::NamedTempFile,
}

impl Staged<'_> {
    /// The path of the temporary file.
    pub fn temporary_path(&self) -> &Path {
        self.file.path()
    }

    /// Gives the new file the permissions of an existing one.
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.file.as_file().set_permissions(permissions)
    }

    /// Flushes the bytes to the disk.
    pub fn sync(&self) -> io::Result<()> {
        sync(self.file.as_file())
    }

    /// Renames the temporary file over the target.
    ///
    /// On Windows it fails while another process maps the target, or has it open without sharing it for
    /// removal; it is tried again for a short time.
    pub fn commit(self) -> io::Result<()> {
        rename::over(self.file, self.path)
    }

    /// Renames the temporary file to the target unless one exists, which is an error of kind `AlreadyExists`.
    pub fn commit_new(self) -> io::Result<()> {
        self.file.persist_noclobber(self.path).map(drop).map_err(|error| error.error)
    }
}

/// Flushes the names in `directory` to the disk.
#[cfg(unix)]
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    sync(&std::fs::File::open(directory)?)
}

/// Windows has no call for this: NTFS writes names to its journal by itself, in the order of the changes.
#[cfg(not(unix))]
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    std::fs::metadata(directory).map(drop)
}

/// Flushes a file or a directory to the disk. Unlike [`std::fs::File::sync_all`] it gives up when the call is
/// interrupted again and again, as file systems in user space have it.
pub fn sync(file: &std::fs::File) -> io::Result<()> {
    #[cfg(all(unix, not(target_vendor = "apple")))]
    {
        /// Number of interrupted calls after which the interruption is an error.
        const MAX_INTERRUPTIONS: usize = 100;

        for _ in 0..MAX_INTERRUPTIONS {
            match rustix::fs::fsync(file) {
                Err(rustix::io::Errno::INTR) => {}
                synced => return Ok(synced?),
            }
        }
        Err(io::ErrorKind::Interrupted.into())
    }
    #[cfg(not(all(unix, not(target_vendor = "apple"))))]
    file.sync_all()
}

/// The permissions with these mode bits; `None` where the system has none.
#[cfg(unix)]
fn from_mode(mode: u32) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn from_mode(_: u32) -> Option<Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_replaces_and_a_drop_leaves_the_target() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "old").unwrap();
        drop(Replacement::new(&path).stage(b"dropped").unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        let staged = Replacement::new(&path).named(".x-", ".t").stage(b"new").unwrap();
        let name = staged.temporary_path().file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with(".x-") && name.ends_with(".t"), "{name}");
        staged.commit().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn commit_new_keeps_an_existing_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "old").unwrap();
        let error = Replacement::new(&path).stage(b"new").unwrap().commit_new().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    }
}
