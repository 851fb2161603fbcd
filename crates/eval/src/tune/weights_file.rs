//! The file of the user's own weights: written as a whole, with the previous file kept as a backup.

use std::path::{Path, PathBuf};

use codeweaver::query::rank::Weights;
use codeweaver_base::durable::{self, Replacement};

use super::features;
use crate::error::EvalError;

/// Maximum number of backups; the oldest is removed.
const MAX_BACKUPS: usize = 10;

/// Writes `weights` to `path`. A file that is there becomes the newest backup, `NAME.1.bak` and so on.
///
/// # Errors
/// [`EvalError::Write`]. The file is then the old or the new one as a whole.
pub fn write(path: &Path, weights: &Weights) -> Result<(), EvalError> {
    write_with_backup(path, features::json(weights).as_bytes()).map_err(EvalError::write(path))?;

    let kept = backups(path);
    for (_, old) in kept.iter().take(kept.len().saturating_sub(MAX_BACKUPS)) {
        // One backup too many does no harm.
        let _ = std::fs::remove_file(old);
    }
    Ok(())
}

/// The outcome of [`undo`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// The newest backup is in place again.
    Restored(PathBuf),
    /// There was no backup: the file is removed, and the built-in weights are in use.
    Removed,
    /// There was no file.
    Nothing,
}

/// Puts the newest backup of `path` in its place, or removes the file if there is none.
///
/// # Errors
/// [`EvalError::Write`].
pub fn undo(path: &Path) -> Result<Undone, EvalError> {
    let Some((_, newest)) = backups(path).pop() else {
        if !path.exists() {
            return Ok(Undone::Nothing);
        }
        std::fs::remove_file(path).map_err(EvalError::write(path))?;
        return Ok(Undone::Removed);
    };

    std::fs::rename(&newest, path).map_err(EvalError::write(path))?;
    Ok(Undone::Restored(newest))
}

/// Copies the file at `path`, if there is one, to a new backup, and replaces it by `bytes`.
fn write_with_backup(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Ok(former) = std::fs::read(path) {
        // The backup is written first: a crash leaves one too many and not one too few.
        let n = backups(path).last().map_or(0, |(n, _)| *n) + 1;
        replace(&backup(path, n), &former)?;
    }

    replace(path, bytes)
}

/// Replaces the file at `path` durably: a crash leaves the old or the new one as a whole.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let staged = Replacement::new(path).inheriting().stage(bytes)?;
    staged.sync()?;
    staged.commit()?;
    path.parent().map_or(Ok(()), durable::sync_directory)
}

/// Returns the path of the `n`th backup, `NAME.N.bak`.
fn backup(path: &Path, n: u64) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{n}.bak"));
    path.with_file_name(name)
}

/// Lists the backups of `path` with their numbers, ascending.
fn backups(path: &Path) -> Vec<(u64, PathBuf)> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();

    let mut found = Vec::new();
    for entry in entries {
        if let Some(n) = entry.file_name().to_str().and_then(|file| backup_number(file, name)) {
            found.push((n, entry.path()));
        }
    }
    found.sort();
    found
}

/// Returns the number of the backup called `file`; `None` if it is no backup of the file called `name`.
fn backup_number(file: &str, name: &str) -> Option<u64> {
    file.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".bak")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeweaver::query::rank::{WEIGHTS, own_weights};

    #[test]
    fn every_write_can_be_undone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights.json");
        assert_eq!(undo(&path).unwrap(), Undone::Nothing);
        for value in [1.0, 2.0, 3.0] {
            write(&path, &Weights { path: value, ..WEIGHTS.clone() }).unwrap();
        }
        let path_weight = || own_weights::read(&path).unwrap().path;
        assert_eq!(path_weight(), 3.0);
        for expected in [2.0, 1.0] {
            assert!(matches!(undo(&path).unwrap(), Undone::Restored(_)));
            assert_eq!(path_weight(), expected);
        }
        assert_eq!(undo(&path).unwrap(), Undone::Removed);
        assert!(!path.exists());
    }

    #[test]
    fn only_the_last_backups_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.json");
        for i in 0..15 {
            write(&path, &Weights { path: i as f32, ..WEIGHTS.clone() }).unwrap();
        }
        let kept = backups(&path);
        assert_eq!(kept.len(), MAX_BACKUPS);
        assert_eq!(own_weights::read(&kept[MAX_BACKUPS - 1].1).unwrap().path, 13.0);
    }
}
