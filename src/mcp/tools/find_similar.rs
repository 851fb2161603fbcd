//! `find_similar`: code like the code at a line (requirement R8).

use super::matches::{self, Limits, Output};
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
    /// Absolute path of any directory in the repository. Default: the repository of `file` if that is absolute, else the
    /// one the server was started in.
    path: Option<String>,
    /// Most tokens of the answer (default 10000).
    #[schemars(range(min = 1))]
    token_limit: Option<i64>,
    /// Most matches (default 50).
    #[schemars(range(min = 1))]
    max_results: Option<i64>,
    /// Also find code in tests (default false).
    include_tests: Option<bool>,
    /// Only these languages.
    focus_languages: Option<Vec<String>>,
    /// Only files under these folders or matching these globs.
    paths: Option<Vec<String>>,
    /// Branch, tag or commit to look in instead of the working tree.
    rev: Option<String>,
    /// Places and names only, no code.
    locations_only: Option<bool>,
    /// `next_cursor` of the answer to the same arguments: goes on from there.
    cursor: Option<String>,
}

impl Tool for FindSimilar {
    const NAME: &'static str = "find_similar";
    const TITLE: &'static str = "Find similar code";
    const DESCRIPTION: &'static str = "Find code that resembles the code at a line of a file: duplicates, siblings, \
        other implementations of the same idea. Use it before writing something that may exist already, and to find every \
        place that needs the same change. For a question in words use find_code.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let asked = call.answerable(arguments.path.as_deref(), Some(&arguments.file))?;
        let settings = &asked.codebase().settings.search;
        let limits = Limits::new(arguments.max_results, arguments.token_limit, settings.token_limit)?;
        let line = u32::try_from(arguments.line).ok().filter(|line| *line > 0);
        let line = line.ok_or_else(|| CallError::parameter("line", "at least 1", arguments.line))?;
        let mut request = SimilarRequest {
            path: asked.file(&arguments.file)?,
            line,
            view: ViewRequest {
                revision: arguments.rev,
                cancel: call.cancel(),
                ..ViewRequest::new(&asked.codebase().settings)
            },
            filters: Filters {
                languages: arguments.focus_languages.unwrap_or_default(),
                paths: arguments.paths.unwrap_or_default(),
                include_tests: arguments.include_tests.unwrap_or(false),
                ..Filters::default()
            },
            offset: 0,
            limit: limits.matches,
            token_limit: limits.tokens,
            min_score: settings.min_score,
            without_content: arguments.locations_only.unwrap_or(false),
        };
        let filters = &request.filters;
        let question = (
            asked.codebase().root(),
            (&request.path, line, &request.view.revision),
            (&filters.languages, &filters.paths, filters.include_tests),
        );
        request.offset = Cursor::resume(arguments.cursor.as_deref(), &question)?;
        let response = call.ask(&asked, |updater| asked.searcher.similar(&request, updater))?;
        Ok(matches::answer(call, &asked, response, request.offset, limits.tokens, &question))
    }
}
