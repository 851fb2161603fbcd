//! `find_similar`: finds code similar to the code at a line.

use super::matches::{self, Limits, Output, Page};
use super::{Answer, Call, CallError, Tool};
use crate::mcp::cursor::Cursor;
use crate::query::{Filters, SimilarRequest, ViewRequest};
use schemars::JsonSchema;
use serde::Deserialize;

pub struct FindSimilar;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file, relative to the root of the repository or absolute.
    file: String,
    /// A line of the code to compare with, counted from 1.
    #[schemars(range(min = 1))]
    line: i64,
    /// Absolute path of any directory in the repository. Default: the repository of `file` if that is
    /// absolute, else the one the server was started in.
    path: Option<String>,
    /// Maximum number of tokens in the answer (default 10000).
    #[schemars(range(min = 1))]
    token_limit: Option<i64>,
    /// Maximum number of matches (default 50).
    #[schemars(range(min = 1))]
    max_results: Option<i64>,
    /// Include code in tests (default false).
    include_tests: Option<bool>,
    /// Search only files in these languages.
    focus_languages: Option<Vec<String>>,
    /// Search only files in these directories or matching these globs, relative to the root of the
    /// repository or absolute.
    paths: Option<Vec<String>>,
    /// Branch, tag or commit to search instead of the working tree.
    rev: Option<String>,
    /// Return only locations and names, no code.
    locations_only: Option<bool>,
    /// `next_cursor` of the previous answer to the same arguments: continues from there.
    cursor: Option<String>,
}

impl Tool for FindSimilar {
    const NAME: &'static str = "find_similar";
    const TITLE: &'static str = "Find similar code";
    const DESCRIPTION: &'static str = "Find code that resembles the function or type at a line of a file: duplicates, siblings, \
        other implementations of the same idea. Use it before writing something that may exist already, and to find every \
        place that needs the same change. For a query in words use find_code.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let target = call.open(arguments.path.as_deref(), Some(&arguments.file))?;
        let settings = &target.codebase().settings.search;
        let limits = Limits::new(arguments.max_results, arguments.token_limit, settings.token_limit)?;
        let line = u32::try_from(arguments.line).ok().filter(|line| *line > 0);
        let line = line.ok_or_else(|| CallError::parameter("line", "at least 1", arguments.line))?;
        let mut request = SimilarRequest {
            path: target.file(&arguments.file)?,
            line,
            view: ViewRequest {
                revision: arguments.rev,
                cancel: call.cancel(),
                ..ViewRequest::new(&target.codebase().settings)
            },
            filters: Filters {
                languages: arguments.focus_languages.unwrap_or_default(),
                include_tests: arguments.include_tests.unwrap_or(false),
                ..Filters::default()
            },
            offset: 0,
            limit: limits.search_matches(),
            token_limit: limits.search_tokens(),
            min_score: settings.min_score,
            without_content: arguments.locations_only.unwrap_or(false),
        };
        let paths = arguments.paths.unwrap_or_default();
        target.add_paths(&mut request.filters, &paths)?;
        let filters = &request.filters;
        let key = (
            target.codebase().root(),
            (&request.path, line, &request.view.revision),
            (&filters.languages, &paths, filters.include_tests),
        );
        request.offset = Cursor::resume(arguments.cursor.as_deref(), &key)?;
        let response = call.run_query(&target, |updater| target.searcher.similar(&request, updater))?;
        let page = Page {
            offset: request.offset,
            max_matches: limits.matches,
            token_limit: limits.tokens,
            is_locations_only: request.without_content,
            key: &key,
        };
        Ok(matches::answer(&target, response, &page))
    }
}
