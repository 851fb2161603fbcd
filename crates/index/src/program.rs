//! The program that child processes are started from.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::codebase::Codebase;

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the path of the `git-codeweaver` program; only the first call counts.
///
/// A program that embeds the library and does not call this has no background processes: nothing is indexed
/// in the background, and suspects of the crash journal are not probed.
pub fn set_program(path: PathBuf) {
    let _ = PROGRAM.set(path);
}

/// The path of the program that children are started from.
///
/// # Errors
/// `NotFound` if [`set_program`] was not called.
pub(super) fn program_file() -> io::Result<&'static Path> {
    let program = PROGRAM.get().map(PathBuf::as_path);
    program.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "this process is not git-codeweaver"))
}

/// Arguments that select the repository of a child: none if its directory and git's variables suffice,
/// otherwise `--project`.
pub(super) fn project_args(codebase: &Codebase) -> Vec<OsString> {
    if codebase.repo.is_named() { vec!["--project".into(), codebase.root().into()] } else { Vec::new() }
}
