//! Canonical paths in the form that other programs take.

use std::io;
use std::path::{Path, PathBuf};

/// As [`std::fs::canonicalize`], which on Windows gives verbatim paths (`\\?\C:\dir`). Git refuses those in
/// arguments and in its configuration, and they differ from the same path as it is typed. Here they get
/// their usual form, if they have one.
///
/// # Errors
/// Those of [`std::fs::canonicalize`].
#[expect(clippy::disallowed_methods, reason = "its result is simplified")]
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    std::fs::canonicalize(path).map(simplified)
}

#[cfg(not(windows))]
fn simplified(path: PathBuf) -> PathBuf {
    path
}

/// Without the prefix of verbatim paths, unless that would change the meaning of the path: dots and blanks
/// at the end of a name are ignored without it.
#[cfg(windows)]
fn simplified(path: PathBuf) -> PathBuf {
    use std::path::{Component, Prefix};

    let mut components = path.components();
    let Some(Component::Prefix(prefix)) = components.next() else { return path };
    let is_plain = |component: Component<'_>| {
        let end = component.as_os_str().as_encoded_bytes().last();
        !matches!(component, Component::Normal(_)) || !end.is_some_and(|end| b". ".contains(end))
    };

    let start = match prefix.kind() {
        Prefix::VerbatimDisk(disk) => std::ffi::OsString::from(format!("{}:", char::from(disk))),
        Prefix::VerbatimUNC(server, share) => {
            let mut start = std::ffi::OsString::from(r"\\");
            start.push(server);
            start.push(r"\");
            start.push(share);
            start
        }
        _ => return path,
    };
    if !components.clone().all(is_plain) {
        return path;
    }

    let mut simple = PathBuf::from(start);
    simple.push(components.as_path());
    simple
}

#[cfg(all(test, windows))]
mod tests {
    use super::*;

    #[test]
    fn verbatim_paths_get_their_usual_form() {
        for (verbatim, usual) in [
            (r"\\?\C:\a b\c", r"C:\a b\c"),
            (r"\\?\C:\", r"C:\"),
            (r"\\?\UNC\server\share\a", r"\\server\share\a"),
            (r"\\?\C:\a.\b", r"\\?\C:\a.\b"),
            (r"C:\a", r"C:\a"),
        ] {
            assert_eq!(simplified(PathBuf::from(verbatim)), Path::new(usual));
        }
    }
}
