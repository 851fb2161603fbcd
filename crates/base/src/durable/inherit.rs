//! Owner, group and permissions of new files: those of their directory.
//!
//! Several users may write to a repository: root in a container or under `sudo`, or the members of a group.
//! Files created by one of them must be usable by the others whom the directory admits. Best effort: a file
//! system without owners has nothing to inherit, and only root may give files away.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for reading and writing. A file that is created inherits from its directory; an existing one
/// keeps its content and its owner.
///
/// Links are followed. See [`crate::regular_file::make_way`] for paths where nothing but a file belongs.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    /// Number of attempts in which another process may remove the file between two calls.
    const MAX_ATTEMPTS: usize = 3;

    let mut existing = OpenOptions::new();
    existing.read(true).write(true);

    for _ in 0..MAX_ATTEMPTS {
        // Only a file that this process has created is given away: an existing one may be a link.
        match existing.clone().create_new(true).open(path) {
            Ok(file) => {
                inherit(&file, path.parent().unwrap_or(Path::new(".")));
                return Ok(file);
            }
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            Err(_) => {}
        }

        match existing.open(path) {
            // Removed in between.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
    }

    // A link to a file that does not exist. Its target may be in any directory, so nothing is inherited.
    existing.create(true).truncate(false).open(path)
}

/// Gives a new file the owner and the group of `directory`, and the permissions to read and write that it
/// grants.
#[cfg(unix)]
pub fn inherit(file: &File, directory: &Path) {
    use std::os::unix::fs::MetadataExt as _;
    if let Ok(directory) = std::fs::metadata(directory) {
        give(file, &directory, directory.mode() & 0o666);
    }
}

/// Makes a directory that inherits from its parent, which must exist.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    create_directory_like(path, parent, None)
}

/// Makes a directory with the owner and the group of `like`, and with `mode`, or else the permissions of
/// `like`. One that exists is left as it is.
#[cfg(unix)]
pub fn create_directory_like(path: &Path, like: &Path, mode: Option<u32>) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};

    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => return Ok(()),
        created => created?,
    }

    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    if let (Ok(directory), Ok(like)) = (opened, std::fs::metadata(like)) {
        give(&directory, &like, mode.unwrap_or(like.mode() & 0o2777));
    }
    Ok(())
}

/// Gives `file` the owner and the group of `like`, and `mode`. Failures are ignored.
#[cfg(unix)]
fn give(file: &File, like: &std::fs::Metadata, mode: u32) {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    let Ok(own) = file.metadata() else { return };

    if own.uid() != like.uid() && fchown(file, Some(like.uid()), Some(like.gid())).is_ok() {
        // Owner and group are set by one call.
    } else if own.gid() != like.gid() {
        let _ = fchown(file, None, Some(like.gid()));
    }
    if own.mode() & 0o7777 != mode {
        let _ = file.set_permissions(std::fs::Permissions::from_mode(mode));
    }
}

#[cfg(not(unix))]
pub fn inherit(_: &File, _: &Path) {}

#[cfg(not(unix))]
pub fn create_directory_like(path: &Path, _: &Path, _: Option<u32>) -> io::Result<()> {
    match std::fs::create_dir(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        created => created,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    #[test]
    fn new_files_and_directories_have_the_permissions_of_their_directory() {
        for (mode, of_files) in [(0o700, 0o600), (0o2770, 0o660), (0o2775, 0o664), (0o750, 0o640)] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let bits = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
            let (file, below) = (dir.path().join("file"), dir.path().join("below"));
            open_or_create(&file).unwrap();
            create_directory(&below).unwrap();
            create_directory(&below).unwrap();
            assert_eq!((bits(&file), bits(&below)), (of_files, mode), "{mode:o}");
        }
    }

    #[test]
    fn a_link_to_a_file_that_does_not_exist_is_followed_and_does_not_hang() {
        let dir = tempfile::tempdir().unwrap();
        let (link, target) = (dir.path().join("link"), dir.path().join("target"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        open_or_create(&link).unwrap();
        assert!(target.is_file());
    }

    #[test]
    fn what_root_creates_belongs_to_the_owner_of_the_directory() {
        const NOBODY: u32 = 65534;
        let dir = tempfile::tempdir().unwrap();
        if std::os::unix::fs::chown(dir.path(), Some(NOBODY), Some(NOBODY)).is_err() {
            return; // not root
        }
        let owner = |path: &Path| {
            let metadata = std::fs::metadata(path).unwrap();
            (metadata.uid(), metadata.gid())
        };

        let (file, below, old) = (dir.path().join("file"), dir.path().join("below"), dir.path().join("old"));
        open_or_create(&file).unwrap();
        create_directory(&below).unwrap();

        std::fs::write(&old, "of root").unwrap();
        open_or_create(&old).unwrap();

        assert_eq!((owner(&file), owner(&below)), ((NOBODY, NOBODY), (NOBODY, NOBODY)));
        assert_eq!(owner(&old).0, 0, "what was there before is not given away");
    }
}
