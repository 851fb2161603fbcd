//! Advice on I/O errors.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Advice on how to resolve `error`, which a file system gave for the file or directory at `path`: one
/// sentence in lower case, without a full stop. It may say that finished work is kept, so it is for work that
/// is stored in steps.
pub fn io_advice(error: &io::Error, path: &Path) -> String {
    let directory = path.parent().unwrap_or(path).display();
    if has_code(error, &[code::TOO_MANY_OPEN_FILES, code::TOO_MANY_OPEN_FILES_IN_SYSTEM]) {
        return "raise the limit of open files (`ulimit -n`) and run it again".to_owned();
    }
    if has_code(error, code::IN_USE) {
        return format!(
            "stop the programs that use files of {directory}, such as a server, and run it again"
        );
    }
    if has_code(error, &[code::IO]) {
        return format!("check the disk of {directory} and run it again: finished work is kept");
    }

    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space and run it again: finished work is kept".to_owned()
        }
        ErrorKind::Interrupted | ErrorKind::StaleNetworkFileHandle | ErrorKind::TimedOut => format!(
            "run it again: finished work is kept; if it fails again, the file system of {directory} is to \
             be checked"
        ),
        ErrorKind::ReadOnlyFilesystem => format!("make the file system of {directory} writable"),
        // The error of a file that another process maps is the same.
        _ if cfg!(windows) => format!(
            "check the permissions of {directory}, and whether a program such as a server has its files open"
        ),
        _ => format!("check the permissions of {directory}"),
    }
}

/// Codes of errors that have no [`ErrorKind`].
#[cfg(unix)]
mod code {
    use rustix::io::Errno;

    pub const IO: i32 = Errno::IO.raw_os_error();
    pub const TOO_MANY_OPEN_FILES: i32 = Errno::MFILE.raw_os_error();
    pub const TOO_MANY_OPEN_FILES_IN_SYSTEM: i32 = Errno::NFILE.raw_os_error();
    /// Files that are in use can be removed and replaced.
    pub const IN_USE: &[i32] = &[];
}

/// Codes of errors that have no [`ErrorKind`].
#[cfg(not(unix))]
pub(crate) mod code {
    /// `ERROR_IO_DEVICE`.
    pub const IO: i32 = 1117;
    /// `ERROR_TOO_MANY_OPEN_FILES`.
    pub const TOO_MANY_OPEN_FILES: i32 = 4;
    /// `ERROR_NO_SYSTEM_RESOURCES`.
    pub const TOO_MANY_OPEN_FILES_IN_SYSTEM: i32 = 1450;
    /// `ERROR_SHARING_VIOLATION`, `ERROR_LOCK_VIOLATION` and `ERROR_USER_MAPPED_FILE`.
    pub const IN_USE: &[i32] = &[32, 33, 1224];
}

fn has_code(error: &io::Error, codes: &[i32]) -> bool {
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_error_has_its_advice() {
        let path = Path::new("/disk/store/state");
        for (kind, wanted) in [
            (ErrorKind::PermissionDenied, "check the permissions of /disk/store"),
            (ErrorKind::StorageFull, "free some space"),
            (ErrorKind::Interrupted, "run it again"),
            (ErrorKind::StaleNetworkFileHandle, "the file system of /disk/store"),
            (ErrorKind::ReadOnlyFilesystem, "/disk/store writable"),
        ] {
            let advice = io_advice(&kind.into(), path);
            assert!(advice.contains(wanted), "{kind}: {advice}");
            assert_eq!(advice.contains("permissions"), kind == ErrorKind::PermissionDenied, "{advice}");
        }
    }

    #[test]
    fn codes_without_a_kind_have_theirs() {
        let path = Path::new("/disk/store/state");
        let advice = |code| io_advice(&io::Error::from_raw_os_error(code), path);
        assert!(advice(code::TOO_MANY_OPEN_FILES).contains("ulimit -n"));
        assert!(advice(code::IO).contains("check the disk of /disk/store"));
    }
}
