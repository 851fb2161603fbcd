//! Explorers: find the files of an issue without our search. Two explorations make the ground truth.
//!
//! An explorer sees the text of the issue and the tree, and nothing that the search returned.
//!
//! * [`grep`]: searches all files for the words of the text, and prefers rare ones.
//! * [`history`]: takes the files that the fixing commit changed.
//! * An external command, described in docs/quality-loop.md.

mod grep;
mod history;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::external;
use super::subject::Subject;
use crate::error::EvalError;

/// Most files that are taken from the answer of an external explorer.
const MAX_FILES: usize = 200;

/// An explorer. Its text form is `grep`, `history` or a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Explorer {
    Grep,
    History,
    /// A command for the shell.
    External(String),
}

impl From<String> for Explorer {
    fn from(text: String) -> Explorer {
        match text.as_str() {
            "grep" => Explorer::Grep,
            "history" => Explorer::History,
            _ => Explorer::External(text),
        }
    }
}

impl From<Explorer> for String {
    fn from(explorer: Explorer) -> String {
        explorer.to_string()
    }
}

impl fmt::Display for Explorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Explorer::Grep => "grep",
            Explorer::History => "history",
            Explorer::External(command) => command,
        })
    }
}

/// The files that one run found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exploration {
    pub explorer: String,
    /// Whether the explorer could look; [`history`] cannot if the fixing commit is unknown.
    pub explored: bool,
    /// Best first.
    pub files: Vec<ExploredFile>,
    /// The steps of the explorer, in words.
    pub log: Vec<String>,
}

/// A file that an explorer considers relevant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExploredFile {
    pub path: String,
    /// 1-based, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    #[serde(default)]
    pub why: String,
}

impl Exploration {
    pub fn paths(&self) -> BTreeSet<&str> {
        self.files.iter().map(|file| file.path.as_str()).collect()
    }
}

/// The input of an external explorer.
#[derive(Serialize)]
struct Question<'a> {
    version: u32,
    role: &'static str,
    /// `a` or `b`.
    run: &'static str,
    issue: super::subject::Told<'a>,
    tree: &'a str,
}

/// The output of an external explorer.
#[derive(Deserialize)]
struct Answer {
    files: Vec<ExploredFile>,
    #[serde(default)]
    log: Vec<String>,
}

impl Explorer {
    pub fn is_external(&self) -> bool {
        matches!(self, Explorer::External(_))
    }

    /// Explores the tree of `subject`. `run` is `a` or `b`.
    ///
    /// # Errors
    /// [`EvalError::Git`], and those of [`external::run`].
    pub fn explore(
        &self,
        subject: &Subject<'_>,
        run: &'static str,
        limits: &external::Limits,
    ) -> Result<Exploration, EvalError> {
        let explorer = self.to_string();

        match self {
            Explorer::Grep => grep::explore(subject).map(|found| Exploration { explorer, ..found }),
            Explorer::History => history::explore(subject).map(|found| Exploration { explorer, ..found }),
            Explorer::External(command) => run_external(command, subject, run, limits),
        }
    }
}

/// Explores by an external command. Files that the tree does not have are dropped and logged.
fn run_external(
    command: &str,
    subject: &Subject<'_>,
    run: &'static str,
    limits: &external::Limits,
) -> Result<Exploration, EvalError> {
    let tree = subject.checkout()?;
    let question = Question {
        version: super::PROTOCOL,
        role: "explorer",
        run,
        issue: subject.told(),
        tree: tree.path().to_str().unwrap_or_default(),
    };
    let answer: Answer = external::run(command, tree.path(), &question, limits)?;

    let (mut files, mut log) = (Vec::<ExploredFile>::new(), answer.log);
    for file in answer.files.into_iter().take(MAX_FILES) {
        match tree.file(&file.path) {
            Some(path) if files.iter().any(|known| known.path == path) => {}
            Some(path) => files.push(ExploredFile { path, ..file }),
            None => log.push(format!("{} is not a file of the tree", file.path)),
        }
    }

    Ok(Exploration { explorer: command.to_owned(), explored: true, files, log })
}
