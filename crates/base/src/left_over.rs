//! Left-over files: temporary and lock files of processes that were killed.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Time for which a file must stay as it is before it counts as left over. Living processes keep such files
/// for milliseconds.
const PATIENCE: Duration = Duration::from_millis(200);

/// Identity of a file, and of its content as far as stat data tells.
type Stamp = (Option<SystemTime>, u64, u64);

/// Removes the files that `find` returns if they are the same after a pause. Without any, there is no pause.
/// Returns the removed files.
///
/// # Errors
/// A file cannot be removed. One that is gone counts as removed by another process.
pub fn remove(find: &dyn Fn() -> Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
    let before = stamped(find());
    if before.is_empty() {
        return Ok(Vec::new());
    }
    std::thread::sleep(PATIENCE);

    let mut removed = Vec::new();
    for (path, stamp) in before {
        if self::stamp(&path) != Some(stamp) {
            continue;
        }
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => removed.push(path),
        }
    }
    Ok(removed)
}

/// The paths that are regular files, with their stamps.
fn stamped(paths: Vec<PathBuf>) -> Vec<(PathBuf, Stamp)> {
    paths
        .into_iter()
        .filter_map(|path| Some((stamp(&path)?, path)))
        .map(|(stamp, path)| (path, stamp))
        .collect()
}

/// The stamp of a regular file; `None` for anything else.
fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
    Some((metadata.modified().ok(), metadata.len(), inode(&metadata)))
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn files_of_the_dead_are_removed_and_those_of_the_living_stay() {
        let dir = tempfile::tempdir().unwrap();
        let [dead, busy, absent, folder] =
            ["dead", "busy", "absent", "folder"].map(|name| dir.path().join(name));
        std::fs::write(&dead, "").unwrap();
        std::fs::write(&busy, "").unwrap();
        std::fs::create_dir(&folder).unwrap();

        let ends = AtomicBool::new(false);
        let removed = std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1.. {
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                    std::fs::write(&busy, "x".repeat(n % 1000)).unwrap();
                }
            });
            let removed =
                remove(&|| vec![dead.clone(), busy.clone(), absent.clone(), folder.clone()]).unwrap();
            ends.store(true, Ordering::Relaxed);
            removed
        });

        assert_eq!(removed, [dead]);
        assert!(busy.exists() && folder.exists());
    }
}
