//! The file of the user's own weights: written at once, with the file before it kept as a backup.

use super::features;
use crate::error::EvalError;
use codeweaver::query::rank::Weights;
use codeweaver_base::durable::{self, Replacement};
use std::path::{Path, PathBuf};

/// Maximum number of backups; the oldest is removed.
const MAX_BACKUPS: usize = 10;

/// Writes `weights` to `path`. A file that is there becomes the newest backup, `NAME.1.bak` and so on.
///
/// # Errors
/// [`EvalError::Write`]. The file is then the old or the new one as a whole.
pub fn write(path: &Path, weights: &Weights) -> Result<(), EvalError> {
    let failed = EvalError::write(path);
    let put = || -> std::io::Result<()> {
        if let Ok(former) = std::fs::read(path) {
            let n = backups(path).last().map_or(0, |(n, _)| *n) + 1;
            replace(&backup(path, n), &former)?;
        }
        replace(path, features::json(weights).as_bytes())
    };
    put().map_err(failed)?;
    let kept = backups(path);
    for (_, old) in kept.iter().take(kept.len().saturating_sub(MAX_BACKUPS)) {
        // One backup too many does no harm.
        let _ = std::fs::remove_file(old);
    }
    Ok(())
}

/// What [`undo`] did.
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
    let failed = EvalError::write(path);
    match backups(path).pop() {
        Some((_, newest)) => {
            std::fs::rename(&newest, path).map_err(failed)?;
            Ok(Undone::Restored(newest))
        }
        None if path.exists() => {
            std::fs::remove_file(path).map_err(failed)?;
            Ok(Undone::Removed)
        }
        None => Ok(Undone::Nothing),
    }
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let staged = Replacement::of(path).inheriting().stage(bytes)?;
    staged.sync()?;
    staged.commit()?;
    path.parent().map_or(Ok(()), durable::sync_directory)
}

fn backup(path: &Path, n: u64) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{n}.bak"));
    path.with_file_name(name)
}

/// The backups of `path` with their numbers, ascending.
fn backups(path: &Path) -> Vec<(u64, PathBuf)> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |file: &str| -> Option<u64> {
        file.strip_prefix(&name)?.strip_prefix('.')?.strip_suffix(".bak")?.parse().ok()
    };
    let mut found: Vec<(u64, PathBuf)> =
        entries.filter_map(|entry| Some((number(entry.file_name().to_str()?)?, entry.path()))).collect();
    found.sort();
    found
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
