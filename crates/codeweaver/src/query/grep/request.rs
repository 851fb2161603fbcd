//! Request: a pattern with its filters and the state of the codebase that is searched.

use codeweaver_config::Settings;

use super::pattern::Pattern;
use crate::query::error::QueryError;
use crate::query::names;
use crate::query::request::{Filters, ViewRequest};

/// A request for all lines that match a pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct GrepRequest {
    /// The text or expression that lines are searched for.
    pub pattern: Pattern,
    /// Conditions on files. Kinds of symbols are not allowed.
    pub filters: Filters,
    /// The state of the codebase that is searched. Its timeout is not used.
    pub view: ViewRequest,
    /// Number of lines shown before and after a match.
    pub context: usize,
}

impl GrepRequest {
    /// A request with the defaults of `settings`.
    pub fn new(pattern: Pattern, settings: &Settings) -> GrepRequest {
        GrepRequest {
            pattern,
            filters: Filters { include_tests: true, ..Filters::default() },
            // A file that was not compared with the disk in time would be searched as committed.
            view: ViewRequest { budget: ViewRequest::UNLIMITED, ..ViewRequest::new(settings) },
            context: 0,
        }
    }

    /// Checks the filters.
    ///
    /// # Errors
    /// [`QueryError::UnknownName`] for an unknown language, [`QueryError::Parameter`] for a kind.
    pub fn check(&self) -> Result<(), QueryError> {
        if let Some(kind) = self.filters.kinds.first() {
            let must = "absent: lines are searched, not symbols";
            return Err(QueryError::Parameter { name: "kind", must, found: kind.clone() });
        }
        names::check(&self.filters)
    }
}
