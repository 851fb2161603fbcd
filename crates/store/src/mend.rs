//! The command that restores access to files of the store.

use std::path::Path;

#[cfg(unix)]
use codeweaver_git::STORE_DIR;

/// The command that makes `path`, a file of the store or the nonce in the git directory, and everything
/// beside it usable again.
#[cfg(unix)]
pub fn mend_command(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt as _;

    let store = path.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == STORE_DIR));
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
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || "/._-+@%".contains(c));
    if is_plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(not(unix))]
pub fn mend_command(path: &Path) -> String {
    format!("check the permissions of {}", path.parent().unwrap_or(path).display())
}
