//! The `git-codeweaver` executable under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::place::real_path;

const NAME: &str = "git-codeweaver";

/// Returns the executable under test: the file that `CODEWEAVER_TEST_BINARY` names, else the one that cargo
/// built for this test.
///
/// # Panics
/// If there is none, or if it is not called `git-codeweaver`: git would not find it as a subcommand.
pub fn program() -> &'static Path {
    found().unwrap_or_else(|| {
        panic!("{NAME} is not built: run `cargo build`, or name an executable in CODEWEAVER_TEST_BINARY")
    })
}

/// Copies [`program`] to the file `to`, to be run there.
///
/// Another process copies: a child that a test beside this one starts would inherit the open copy, and a file
/// that is open for writing cannot be run.
pub fn copy_program(to: &Path) {
    let status = Command::new("cp").arg(program()).arg(to).status().unwrap();
    assert!(status.success(), "cp to {}: {status}", to.display());
}

/// Returns the directory of [`program`]; `None` if there is none, as in tests of the library alone.
pub(crate) fn directory() -> Option<&'static Path> {
    found().and_then(Path::parent)
}

fn found() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| match std::env::var_os("CODEWEAVER_TEST_BINARY") {
        Some(path) => Some(named(Path::new(&path))),
        None => built().filter(|path| path.exists()).map(|path| second_name(&path)),
    });
    program.as_deref()
}

fn named(path: &Path) -> PathBuf {
    assert!(path.is_file(), "CODEWEAVER_TEST_BINARY names no file: {}", path.display());
    let path = real_path(path);
    assert!(path.ends_with(file_name()), "CODEWEAVER_TEST_BINARY must be called {NAME}: {}", path.display());
    path
}

/// The name of the executable file.
fn file_name() -> String {
    format!("{NAME}{}", std::env::consts::EXE_SUFFIX)
}

/// Returns the executable that cargo built. Cargo before 1.94 names it only at compile time; then it is the
/// file in the directory above that of the test executable.
fn built() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(format!("CARGO_BIN_EXE_{NAME}")) {
        return Some(path.into());
    }
    let test = std::env::current_exe().ok()?;
    Some(test.parent()?.parent()?.join(file_name()))
}

/// Makes a hard link to `built`, since a build of another checkout with the same target directory may replace
/// the file while tests run.
fn second_name(built: &Path) -> PathBuf {
    let profile_dir = built.parent().unwrap();
    let profile = profile_dir.file_name().unwrap().to_string_lossy();
    let dir = profile_dir.with_file_name("tmp").join(format!("program-{profile}"));
    std::fs::create_dir_all(&dir).unwrap();
    let (link, new) = (dir.join(file_name()), dir.join(format!("{NAME}-{}", std::process::id())));
    let _ = std::fs::remove_file(&new);
    std::fs::hard_link(built, &new).or_else(|_| std::fs::copy(built, &new).map(drop)).unwrap();
    std::fs::rename(&new, &link).unwrap();
    // A rename between two names of one file does nothing.
    let _ = std::fs::remove_file(&new);
    link
}
