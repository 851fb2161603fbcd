//! Finds files of the store that users of the repository cannot use.
//!
//! New files inherit owner and permissions ([`codeweaver_base::durable`]), so these files come from
//! elsewhere: a copy made by root, another version of this program, a changed umask.

#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;

use super::layout::Layout;

/// Files and directories of the store that a user of the repository cannot read or write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unusable {
    pub n: usize,
    /// The first one found.
    pub example: PathBuf,
}

#[cfg(unix)]
impl Unusable {
    fn add(&mut self, path: PathBuf) {
        self.n += 1;
        if self.n == 1 {
            self.example = path;
        }
    }
}

/// Returns whether this process can create files in the store or, without one, the store itself: the file
/// system is not read-only, and the permissions allow it.
#[cfg(unix)]
pub fn is_writable(layout: &Layout) -> bool {
    let root = layout.root();
    let dir = if root.is_dir() { root } else { root.parent().unwrap_or(root) };
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Always true: only an attempt shows it here.
#[cfg(not(unix))]
pub fn is_writable(_: &Layout) -> bool {
    true
}

/// Checks every file of the store: this process must be able to read it, and to write those that are written
/// in place. For root, which can do everything, the owner of the repository must be able to.
#[cfg(unix)]
pub fn unusable(layout: &Layout) -> Option<Unusable> {
    use std::os::unix::fs::MetadataExt as _;
    let owner = std::fs::metadata(layout.common_dir()).ok()?.uid();
    let owner_if_root = rustix::process::geteuid().is_root().then_some(owner);

    let mut found = Unusable::default();
    if !is_usable(&layout.nonce_in_git(), false, owner_if_root) {
        found.add(layout.nonce_in_git());
    }

    let written = [layout.locks(), layout.update_requests(), layout.cache()];
    let mut directories = vec![layout.root().to_path_buf()];
    while let Some(directory) = directories.pop() {
        let is_written = written.contains(&directory);
        for child in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            match child.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(child.path()),
                Ok(kind) if kind.is_file() && !is_usable(&child.path(), is_written, owner_if_root) => {
                    found.add(child.path());
                }
                _ => {}
            }
        }
        // Files are created in every directory.
        if !is_usable(&directory, true, owner_if_root) {
            found.add(directory);
        }
    }

    (found.n > 0).then_some(found)
}

/// Returns whether this process can read `path` and, if it `is_written` in place, write it. For root,
/// `owner_if_root` is the owner of the repository, who must be able to. A missing file counts as usable.
#[cfg(unix)]
fn is_usable(path: &Path, is_written: bool, owner_if_root: Option<u32>) -> bool {
    use rustix::fs::Access;
    use std::os::unix::fs::MetadataExt as _;
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(e) => return e.kind() == std::io::ErrorKind::NotFound,
    };

    if let Some(owner) = owner_if_root {
        let shared = if is_written { 0o060 } else { 0o040 };
        return owner == 0 || metadata.uid() == owner || metadata.mode() & shared == shared;
    }
    let wanted = if is_written { Access::WRITE_OK } else { Access::empty() };
    // A read-only file system is another problem.
    rustix::fs::access(path, Access::READ_OK | wanted) != Err(rustix::io::Errno::ACCESS)
}

#[cfg(not(unix))]
pub fn unusable(_: &Layout) -> Option<Unusable> {
    None
}
