//! Renaming a temporary file over its target.

use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// Renames `file` over `target`. One system call, which readers of the old file do not notice.
#[cfg(not(windows))]
pub(super) fn over(file: NamedTempFile, target: &Path) -> io::Result<()> {
    file.persist(target).map(drop).map_err(|error| error.error)
}

/// Renames `file` over `target`, again and again for a short time if a process has the target open.
///
/// Unlike that of `tempfile`, [`std::fs::rename`] takes long paths, and asks for the semantics of POSIX if it
/// must, so that the target may be open in readers that share it for removal, as Rust does. Virus scanners
/// and indexers do not, and keep files for milliseconds.
#[cfg(windows)]
pub(super) fn over(file: NamedTempFile, target: &Path) -> io::Result<()> {
    use std::time::Duration;
    const TRIES: u32 = 50;
    const BETWEEN_TRIES: Duration = Duration::from_millis(10);

    let (file, temporary) = file.into_parts();
    drop(file);

    // `temporary` removes what is left at its path, which is nothing once it is renamed.
    let mut renamed = std::fs::rename(&temporary, target);
    for _ in 1..TRIES {
        if !renamed.as_ref().is_err_and(is_in_use) {
            break;
        }
        std::thread::sleep(BETWEEN_TRIES);
        renamed = std::fs::rename(&temporary, target);
    }
    renamed
}

/// Returns whether the error may be that of a file that another process has open.
#[cfg(windows)]
fn is_in_use(error: &io::Error) -> bool {
    use crate::io_advice::code;
    error.kind() == io::ErrorKind::PermissionDenied
        || error.raw_os_error().is_some_and(|found| code::IN_USE.contains(&found))
}
