//! Files of the store that users of the repository cannot use, and the command that restores their access.
//!
//! New files inherit owner and permissions ([`codeweaver_base::durable`]), so this is about what else has written
//! there: a copy made by root, another version of this program, a changed umask.

use super::layout::{DIR, Layout};
use std::path::{Path, PathBuf};

/// Files and directories of the store that a user of the repository cannot read or write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unusable {
    pub n: usize,
    /// The first one found.
    pub example: PathBuf,
}

/// Looks at every file of the store: this process must be able to read it, and to write where it is written
/// in place. For root, which can do everything, the owner of the repository must be able to.
#[cfg(unix)]
pub fn unusable(layout: &Layout) -> Option<Unusable> {
    use std::os::unix::fs::MetadataExt as _;
    let owner = std::fs::metadata(layout.common_dir()).ok()?.uid();
    let is_root = rustix::process::geteuid().is_root();
    let is_usable = |path: &Path, is_written: bool| match std::fs::symlink_metadata(path) {
        Ok(metadata) if is_root => {
            let shared = if is_written { 0o060 } else { 0o040 };
            owner == 0 || metadata.uid() == owner || metadata.mode() & shared == shared
        }
        Ok(_) => {
            let wanted = if is_written { rustix::fs::Access::WRITE_OK } else { rustix::fs::Access::empty() };
            // A read-only file system is another problem.
            rustix::fs::access(path, rustix::fs::Access::READ_OK | wanted) != Err(rustix::io::Errno::ACCESS)
        }
        Err(e) => e.kind() == std::io::ErrorKind::NotFound,
    };
    let mut found = Unusable::default();
    let mut look = |path: PathBuf, is_written: bool| {
        if !is_usable(&path, is_written) {
            found.n += 1;
            if found.n == 1 {
                found.example = path;
            }
        }
    };
    look(layout.nonce_in_git(), false);
    let written = [layout.locks(), layout.update_requests(), layout.cache()];
    let mut directories = vec![layout.root().to_path_buf()];
    while let Some(directory) = directories.pop() {
        let is_written = written.contains(&directory);
        for child in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            match child.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(child.path()),
                Ok(kind) if kind.is_file() => look(child.path(), is_written),
                _ => {}
            }
        }
        look(directory, true);
    }
    (found.n > 0).then_some(found)
}

#[cfg(not(unix))]
pub fn unusable(_: &Layout) -> Option<Unusable> {
    None
}

/// The command that makes `path`, a file of the store or the nonce in the git directory, and everything
/// beside it usable again.
#[cfg(unix)]
pub fn mend_command(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let store = path.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == DIR));
    let target = store.unwrap_or(path);
    let shown = quoted(target);
    let Some(repository) = target.parent().and_then(|parent| std::fs::metadata(parent).ok()) else {
        return format!("check the permissions of {shown}");
    };
    let (uid, gid) = (repository.uid(), repository.gid());
    let is_shared = std::fs::symlink_metadata(target).is_ok_and(|own| own.mode() & 0o070 == 0o070);
    let user = rustix::process::geteuid();
    if is_shared {
        format!("sudo chgrp -R {gid} {shown} && sudo chmod -R g+rwX {shown}")
    } else if user.is_root() || user.as_raw() == uid {
        format!("sudo chown -R {uid}:{gid} {shown}")
    } else {
        format!(
            "run it as the owner of the repository (uid {uid}), or share it: \
             git config core.sharedRepository group, chmod -R g+rwXs {shown}"
        )
    }
}

/// The path as a word of a shell command.
#[cfg(unix)]
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(not(unix))]
pub fn mend_command(path: &Path) -> String {
    format!("check the permissions of {}", path.parent().unwrap_or(path).display())
}
