//! Issues: the texts that the loop searches for. A pool of them is read from a file or mined from history.
//!
//! The file is a list in JSON or YAML, or JSON lines. An issue has `text` (or `query`, as in the output of
//! `eval mine`), and optionally `id`, `repository`, `rev`, `commit` and `relevant`.

use std::collections::HashSet;
use std::path::Path;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::error::EvalError;
use crate::mine::MinedQuery;
use crate::suite_file;

/// Number of characters of a summary.
const SUMMARY_CHARS: usize = 200;
/// Number of hexadecimal digits of an id that is made from the issue.
const ID_DIGITS: usize = 12;

/// A report of a user, whose files are to be found in one revision of one repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Unique in its pool.
    pub id: String,
    pub text: String,
    /// Name of the repository; empty if there is only one.
    pub repository: String,
    /// The revision that is searched; HEAD if `None`.
    pub rev: Option<String>,
    /// The commit that fixed it.
    pub commit: Option<String>,
    /// Paths of the files that are known to answer it.
    pub relevant: Vec<String>,
}

/// An issue as written in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    id: String,
    #[serde(alias = "query")]
    text: String,
    #[serde(default)]
    repository: String,
    #[serde(default)]
    rev: Option<String>,
    #[serde(default)]
    commit: Option<String>,
    #[serde(default)]
    relevant: Vec<String>,
    /// Keys of mined queries. Not read.
    #[serde(default, rename = "category")]
    _category: IgnoredAny,
    #[serde(default, rename = "language")]
    _language: IgnoredAny,
}

impl Issue {
    /// Returns the first line that is not blank, shortened.
    pub fn summary(&self) -> String {
        let line = self.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
        match line.char_indices().nth(SUMMARY_CHARS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line.to_owned(),
        }
    }

    /// Returns an id made from repository, revision and text.
    fn derived_id(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in [&self.repository, self.rev.as_deref().unwrap_or(""), &self.text] {
            hasher.update(part.as_bytes()).update(&[0]);
        }
        hasher.finalize().to_hex()[..ID_DIGITS].to_owned()
    }
}

/// Reads a pool from a file. Issues with the same repository, revision and text are one issue.
///
/// # Errors
/// [`EvalError::Read`], [`EvalError::Format`] with the line, also for an id that two issues have.
pub fn read_pool(path: &Path) -> Result<Vec<Issue>, EvalError> {
    let written: Vec<Written> = suite_file::read_list(path)?;
    let issues = written.into_iter().map(|it| Issue {
        id: it.id,
        text: it.text,
        repository: it.repository,
        rev: it.rev,
        commit: it.commit,
        relevant: it.relevant,
    });
    pool(issues.collect()).map_err(|why| EvalError::format(path, why))
}

/// Makes a pool of mined queries.
pub fn mined_pool(queries: Vec<MinedQuery>) -> Vec<Issue> {
    let issues = queries.into_iter().map(|mined| Issue {
        id: String::new(),
        text: mined.query,
        repository: String::new(),
        rev: Some(mined.rev),
        commit: Some(mined.commit),
        relevant: mined.relevant,
    });
    // Cannot fail: derived ids of different issues differ, and mined queries are not empty.
    pool(issues.collect()).unwrap_or_default()
}

/// Gives every issue an id and drops repeated ones.
fn pool(issues: Vec<Issue>) -> Result<Vec<Issue>, String> {
    let (mut contents, mut ids) = (HashSet::new(), HashSet::new());
    let mut kept = Vec::new();

    for mut issue in issues {
        let derived = issue.derived_id();
        if issue.text.trim().is_empty() {
            return Err(format!("the text of issue {} is empty", kept.len() + 1));
        }
        if issue.id.is_empty() {
            issue.id.clone_from(&derived);
        }

        // Checked before the ids: an issue may be listed twice with the same id.
        if !contents.insert(derived) {
            continue;
        }
        if !ids.insert(issue.id.clone()) {
            return Err(format!("two issues have the id {}", issue.id));
        }
        kept.push(issue);
    }

    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Vec<Issue>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read_pool(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn mined_queries_and_written_issues_are_read() {
        let line =
            r#"{"query":"crash","category":"fix","language":"c","rev":"a","commit":"b","relevant":["x.c"]}"#;
        let mined = read("pool.jsonl", &format!("{line}\n{line}\n")).unwrap();
        assert_eq!(mined.len(), 1, "the same issue counts once");
        assert_eq!(
            (mined[0].text.as_str(), mined[0].relevant.len(), mined[0].id.len()),
            ("crash", 1, ID_DIGITS)
        );
        let written = read("pool.yml", "- {id: '7', text: \"a\\n\\nb\", repository: r}\n").unwrap();
        assert_eq!((written[0].id.as_str(), written[0].summary().as_str()), ("7", "a"));
    }

    #[test]
    fn faults_are_named() {
        assert!(read("a.jsonl", "{\"txt\":\"x\"}").unwrap_err().contains("a.jsonl:1: unknown field `txt`"));
        let twice = "[{\"id\":\"1\",\"text\":\"a\"},{\"id\":\"1\",\"text\":\"b\"}]";
        assert!(read("a.json", twice).unwrap_err().contains("two issues have the id 1"));
        assert!(read("a.json", "[{\"text\":\" \"}]").unwrap_err().contains("issue 1 is empty"));
    }
}
