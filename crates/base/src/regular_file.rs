//! Regular files at paths where only this program writes.
//!
//! Anything may stand in their place: a pipe without a writer, whose opening waits for ever, a device that
//! never ends, a directory, a link to a file elsewhere. All of these are refused, without waiting and without
//! following links, by an error from which [`not_a_file`] gets its reason.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// The error of a path with something else than a regular file.
#[derive(Debug)]
struct NotAFile(&'static str);

impl std::fmt::Display for NotAFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for NotAFile {}

/// The reason why `error` refuses a path with something else than a regular file; `None` for another error.
pub fn not_a_file(error: &io::Error) -> Option<&'static str> {
    Some(error.get_ref()?.downcast_ref::<NotAFile>()?.0)
}

/// Opens the file at `path` for reading.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens the file at `path` with `options`.
pub fn open_with(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let mut options = options.clone();
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        // A regular file is never waited for, whatever this flag says.
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32);
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt as _;
        /// Opens a link itself, which `check` then refuses.
        const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
        options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    }

    match options.open(path) {
        Ok(file) => check(&file.metadata()?).map(|()| file),
        // A directory and a socket cannot be opened at all, and a link is not followed.
        Err(error) => match std::fs::symlink_metadata(path) {
            Ok(metadata) => Err(check(&metadata).err().unwrap_or(error)),
            Err(_) => Err(error),
        },
    }
}

/// Reads the whole file at `path`.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the whole file at `path`, which must be UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Removes what is at `path`, of whatever kind. Links are not followed.
pub fn remove(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path)?.is_dir() {
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    }
}

/// Removes what is at `path` if it is something else than a regular file, so that one can be created.
pub fn make_way(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => remove(path),
        _ => Ok(()),
    }
}

fn check(metadata: &std::fs::Metadata) -> io::Result<()> {
    match other_kind(metadata) {
        None => Ok(()),
        Some(kind) => Err(io::Error::new(io::ErrorKind::InvalidData, NotAFile(kind))),
    }
}

/// The kind of what has `metadata`; `None` for a regular file.
fn other_kind(metadata: &std::fs::Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return None;
    }

    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return Some("it is a named pipe, not a file");
        }
        if kind.is_socket() {
            return Some("it is a socket, not a file");
        }
        if kind.is_block_device() || kind.is_char_device() {
            return Some("it is a device, not a file");
        }
    }

    Some(if kind.is_symlink() {
        "it is a symbolic link, not a file"
    } else {
        "it is a directory, not a file"
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn only_regular_files_are_read_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("file"), "text").unwrap();
        std::fs::create_dir(path("directory")).unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();

        assert_eq!(read_to_string(&path("file")).unwrap(), "text");
        for (name, kind) in [
            ("directory", "directory"),
            ("link", "symbolic link"),
            ("pipe", "named pipe"),
            ("socket", "socket"),
        ] {
            for error in [
                read(&path(name)).unwrap_err(),
                open_with(OpenOptions::new().read(true).write(true), &path(name)).unwrap_err(),
            ] {
                assert!(not_a_file(&error).unwrap().contains(kind), "{name}: {error}");
            }
        }
        assert!(not_a_file(&read(Path::new("/dev/zero")).unwrap_err()).unwrap().contains("device"));
        let missing = read(&path("missing")).unwrap_err();
        assert_eq!((missing.kind(), not_a_file(&missing)), (io::ErrorKind::NotFound, None));
    }

    #[test]
    fn whatever_is_in_the_way_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link, directory) = (dir.path().join("f"), dir.path().join("l"), dir.path().join("d"));
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::fs::create_dir(&directory).unwrap();
        std::os::unix::fs::symlink(dir.path(), directory.join("up")).unwrap();

        for path in [&file, &link, &directory, &dir.path().join("missing")] {
            make_way(path).unwrap();
        }
        assert!(file.is_file() && std::fs::symlink_metadata(&link).is_err() && !directory.exists());
        remove(&file).unwrap();
        assert!(!file.exists());
    }
}
