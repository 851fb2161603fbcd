//! The folder of a loop: reads and writes its files, each as a whole.

use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use codeweaver_base::durable::{self, Replacement};

use super::artefact::EvaluatedIssue;
use crate::error::EvalError;

/// The issues evaluated so far, one a line; removed when `evaluation.json` is written.
const PARTIAL: &str = "evaluation.partial.jsonl";
/// An empty file that is locked while the loop runs.
const LOCK: &str = "lock";

/// The folder of a loop.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(path: &Path) -> Folder {
        Folder(path.to_path_buf())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of the file `name` of an iteration.
    pub fn file(&self, iteration: usize, name: &str) -> PathBuf {
        self.0.join(format!("iteration_{iteration}")).join(name)
    }

    /// Keeps other processes from running the loop while the file is open. The folder must exist.
    ///
    /// # Errors
    /// [`EvalError::LoopRuns`] if another process has locked it, [`EvalError::Write`].
    pub fn lock(&self) -> Result<File, EvalError> {
        let path = self.0.join(LOCK);
        let file = durable::open_or_create(&path).map_err(EvalError::write(&path))?;

        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(EvalError::LoopRuns { path: self.0.clone() }),
            Err(TryLockError::Error(error)) => Err(EvalError::write(&path)(error)),
        }
    }

    /// Reads the file at `path`; `None` if there is none.
    ///
    /// # Errors
    /// [`EvalError::Read`], [`EvalError::Artefact`] for a file that cannot be parsed.
    pub fn read<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, EvalError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(EvalError::read(path)(error)),
        };

        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| EvalError::Artefact { path: path.to_path_buf(), why: error.to_string() })
    }

    /// Writes the file at `path` as a whole, as JSON.
    ///
    /// # Errors
    /// [`EvalError::Write`].
    pub fn write(&self, path: &Path, value: &impl Serialize) -> Result<(), EvalError> {
        let json = serde_json::to_string_pretty(value).map_err(std::io::Error::from);
        let json = json.map_err(EvalError::write(path))?;
        self.write_text(path, &format!("{json}\n"))
    }

    /// Writes the file at `path` as a whole. The directories above it are created.
    ///
    /// # Errors
    /// [`EvalError::Write`].
    pub fn write_text(&self, path: &Path, text: &str) -> Result<(), EvalError> {
        let folder = path.parent().unwrap_or(&self.0);
        replace(path, folder, text.as_bytes()).map_err(EvalError::write(path))
    }

    /// Reads the issues of an unfinished evaluation. A line that was not written to its end is left out, and
    /// removed from the file.
    ///
    /// # Errors
    /// [`EvalError::Read`], [`EvalError::Write`].
    pub fn partial(&self, iteration: usize) -> Result<Vec<EvaluatedIssue>, EvalError> {
        let path = self.file(iteration, PARTIAL);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(EvalError::read(&path)(error)),
        };

        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let issues: Vec<(usize, EvaluatedIssue)> =
            lines.map_while(|line| Some((line.len(), serde_json::from_str(line).ok()?))).collect();

        // Otherwise the next issue would be appended to the broken line.
        let valid: usize = issues.iter().map(|(len, _)| len).sum();
        if valid < text.len() {
            self.write_text(&path, &text[..valid])?;
        }

        Ok(issues.into_iter().map(|(_, issue)| issue).collect())
    }

    /// Adds an issue to an unfinished evaluation.
    ///
    /// # Errors
    /// [`EvalError::Write`].
    pub fn add_partial(&self, iteration: usize, issue: &EvaluatedIssue) -> Result<(), EvalError> {
        let path = self.file(iteration, PARTIAL);
        append_line(&path, issue).map_err(EvalError::write(&path))
    }

    /// Removes the lines of a finished evaluation.
    pub fn remove_partial(&self, iteration: usize) {
        // A file that stays does no harm: it is not read once evaluation.json is there.
        let _ = std::fs::remove_file(self.file(iteration, PARTIAL));
    }
}

/// Replaces the file at `path` in `folder` durably: a crash leaves the old or the new one as a whole.
fn replace(path: &Path, folder: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let staged = Replacement::new(path).inheriting().stage(bytes)?;
    staged.sync()?;
    staged.commit()?;
    durable::sync_directory(folder)
}

/// Appends `value` as a line of JSON, and waits until it is on disk.
fn append_line(path: &Path, value: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');

    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::super::artefact::{LEARNINGS, Learnings};
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_evaluated_again() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::new(directory.path());
        std::fs::create_dir(directory.path().join("iteration_1")).unwrap();
        let issue = EvaluatedIssue { conversation_id: "x".to_owned(), ..EvaluatedIssue::default() };
        folder.add_partial(1, &issue).unwrap();
        folder.add_partial(1, &issue).unwrap();
        let path = folder.file(1, PARTIAL);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 5]).unwrap();
        assert_eq!(folder.partial(1).unwrap(), std::slice::from_ref(&issue));
        folder.add_partial(1, &issue).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "continued where it was cut off");
    }

    #[test]
    fn one_process_runs_a_loop() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::new(directory.path());
        let held = folder.lock().unwrap();
        assert!(matches!(folder.lock(), Err(EvalError::LoopRuns { .. })));
        drop(held);
        assert!(folder.lock().is_ok());
    }

    #[test]
    fn a_damaged_artefact_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::new(directory.path());
        let path = folder.file(0, LEARNINGS);
        assert!(folder.read::<Learnings>(&path).unwrap().is_none());
        folder.write_text(&path, "{").unwrap();
        assert!(folder.read::<Learnings>(&path).unwrap_err().to_string().contains("learnings.json"));
    }
}
