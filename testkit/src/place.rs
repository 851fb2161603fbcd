//! Canonical paths.

use std::path::{Path, PathBuf};

/// The canonical path as programs print it: on Windows without the prefix `\\?\`.
#[expect(clippy::disallowed_methods, reason = "this crate has nothing of git-codeweaver")]
pub(crate) fn real_path(path: &Path) -> PathBuf {
    let real = path.canonicalize().unwrap();
    if cfg!(windows) {
        let text = real.to_str().unwrap();
        return text.strip_prefix(r"\\?\").unwrap_or(text).into();
    }
    real
}
