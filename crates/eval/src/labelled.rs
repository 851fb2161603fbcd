//! Queries with the labels that answer them.

use super::metric::{DEPTH, Label};
use codeweaver::query::Intent;

/// A query with its labels, in the one form that all suite files are read into.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledQuery {
    pub query: String,
    pub category: String,
    /// Overrides the language of the repository.
    pub language: Option<String>,
    pub intent: Option<Intent>,
    /// The revision that is searched, if not that of the repository.
    pub rev: Option<String>,
    /// All labels, from whichever key of the file.
    pub labels: Vec<Label>,
    /// The expectations of the reference form, by depth.
    pub expected: Vec<Expectation>,
    /// Globs. A result within [`LabelledQuery::excluded_depth`] whose path matches one fails the query.
    pub excluded: Vec<String>,
}

/// At least one of `labels` is expected among the first `depth` results.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    pub depth: usize,
    pub labels: Vec<Label>,
}

impl LabelledQuery {
    /// The number of results in which an excluded path is a failure: the greatest depth of an expectation, or
    /// [`DEPTH`].
    pub fn excluded_depth(&self) -> usize {
        self.expected.iter().map(|expected| expected.depth).max().unwrap_or(DEPTH)
    }
}
