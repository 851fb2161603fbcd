//! Errors of evaluation.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    /// `line` is 1-based; `None` if the error belongs to no line.
    #[error("{}: {why}", at(path, *line))]
    Format { path: PathBuf, line: Option<u64>, why: String },
    #[error("{path} is not a report of this version: {why}")]
    Baseline { path: PathBuf, why: String },
    #[error("there is no repository {name} at {path}; clone it there, or give another folder with --repos")]
    MissingRepository { name: String, path: PathBuf },
    #[error("there is no weight called {name}")]
    UnknownWeight { name: String },
    #[error("{n} queries have a relevant file among their results, and at least {least} are needed")]
    TooFewQueries { n: usize, least: usize },
    /// An external command of the quality loop.
    #[error("`{command}` failed: {why}")]
    Command { command: String, why: String },
    #[error("the pool has {n} issues, and at least {least} are needed")]
    TooFewIssues { n: usize, least: usize },
    #[error("there is a loop in {path}")]
    LoopExists { path: PathBuf },
    #[error("there is no loop in {path}")]
    NoLoop { path: PathBuf },
    #[error("another process runs the loop in {path}")]
    LoopRuns { path: PathBuf },
    #[error("the settings of the loop cannot be used: {why}")]
    LoopSettings { why: String },
    /// A signal stopped the loop.
    #[error("interrupted")]
    Interrupted,
    #[error("{path} is not what the loop writes: {why}")]
    Artefact { path: PathBuf, why: String },
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot index: {0}")]
    Index(#[from] codeweaver_index::IndexError),
    #[error("cannot search: {0}")]
    Query(#[from] codeweaver::query::QueryError),
    #[error("cannot read the repository: {0}")]
    Git(#[from] codeweaver_git::GitError),
    #[error("cannot decide what is indexed: {0}")]
    Policy(#[from] codeweaver_index::policy::PolicyError),
}

impl EvalError {
    pub(super) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> EvalError + '_ {
        move |source| EvalError::Read { path: path.to_path_buf(), source }
    }

    pub(super) fn write(path: &Path) -> impl Fn(std::io::Error) -> EvalError + '_ {
        move |source| EvalError::Write { path: path.to_path_buf(), source }
    }

    pub(super) fn format(path: &Path, why: impl ToString) -> EvalError {
        EvalError::Format { path: path.to_path_buf(), line: None, why: why.to_string() }
    }

    pub(super) fn format_at(path: &Path, line: u64, why: impl ToString) -> EvalError {
        EvalError::Format { path: path.to_path_buf(), line: Some(line), why: why.to_string() }
    }
}

/// Formats a place as `path:line`, or as the path alone.
pub fn at(path: &Path, line: Option<u64>) -> String {
    line.map_or_else(|| path.display().to_string(), |line| format!("{}:{line}", path.display()))
}
