//! Queries with the labels that answer them.

use codeweaver::query::Intent;

use super::metric::{DEPTH, Label};

/// A query with its labels, in the one form that all suite files are read into.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledQuery {
    pub query: String,
    pub category: String,
    /// Overrides the language of the repository.
    pub language: Option<String>,
    pub intent: Option<Intent>,
    /// The revision that is searched; that of the repository if `None`.
    pub rev: Option<String>,
    /// All labels, from all keys of the file, each once.
    pub labels: Vec<Label>,
    /// The expectations of the reference form, by depth.
    pub expected: Vec<Expectation>,
    /// Globs. The query fails if a path among the first [`LabelledQuery::excluded_depth`] results matches
    /// one.
    pub excluded: Vec<String>,
}

/// At least one of `labels` is expected among the first `depth` results.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    pub depth: usize,
    pub labels: Vec<Label>,
}

impl LabelledQuery {
    /// Returns the number of results in which an excluded path is a failure: the greatest depth of an
    /// expectation, or [`DEPTH`] without expectations.
    pub fn excluded_depth(&self) -> usize {
        self.expected.iter().map(|expected| expected.depth).max().unwrap_or(DEPTH)
    }
}
