//! `find_code`: searches by meaning, name or words.

use super::matches::{self, Limits, Output, Page};
use super::{Answer, Call, CallError, Tool};
use crate::chunk::classes::TaskProfile;
use crate::mcp::cursor::Cursor;
use crate::query::{Intent, Request};
use schemars::JsonSchema;
use serde::Deserialize;

pub struct FindCode;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// What to search for: what the code does, in plain words ("where are expired tokens refreshed"), or a
    /// name.
    query: String,
    /// Absolute path of any directory in the repository. Default: the repository the server was started in.
    path: Option<String>,
    /// Task the results are for; changes the ranking: understand, implement, debug, optimize, test, configure
    /// or document.
    intent: Option<String>,
    /// Ranks for the task of an agent instead: DEBUG, DOCUMENT, IMPLEMENT, LOCAL_EDIT, REFACTOR, REVIEW,
    /// SEARCH or TEST.
    task: Option<String>,
    /// Maximum number of tokens in the answer (default 10000). A hard limit: code is reduced to signatures,
    /// then dropped.
    #[schemars(range(min = 1))]
    token_limit: Option<i64>,
    /// Maximum number of matches (default 50).
    #[schemars(range(min = 1))]
    max_results: Option<i64>,
    /// Include code in tests (default false).
    include_tests: Option<bool>,
    /// Search only files in these languages, for example ["python", "typescript"].
    focus_languages: Option<Vec<String>>,
    /// Search only files in these directories or matching these globs, relative to the root of the
    /// repository or absolute.
    paths: Option<Vec<String>>,
    /// Branch, tag or commit to search instead of the working tree, without a checkout.
    rev: Option<String>,
    /// Return only locations and names, no code: many matches in few tokens.
    locations_only: Option<bool>,
    /// `next_cursor` of the previous answer to the same arguments: continues from there.
    cursor: Option<String>,
}

impl Tool for FindCode {
    const NAME: &'static str = "find_code";
    const TITLE: &'static str = "Find code";
    const DESCRIPTION: &'static str = "Search a git repository by meaning: returns the functions, types and \
        sections that answer a question in plain words, or that define a name, best first, with file, lines and code. \
        Use it first whenever you do not know where something is, instead of several greps and reads. \
        Sees uncommitted edits; `rev` searches any other revision. \
        Do not use it to list every occurrence of an exact string or regex: grep does that.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let target = call.open(arguments.path.as_deref(), None)?;
        let mut request = Request::new(&arguments.query, &target.codebase().settings);
        let limits = Limits::new(arguments.max_results, arguments.token_limit, request.token_limit)?;
        (request.limit, request.token_limit) = (limits.search_matches(), limits.search_tokens());
        request.intent = arguments.intent.as_deref().and_then(Intent::by_name);
        request.task = arguments.task.as_deref().map(task).transpose()?;
        request.filters.include_tests = arguments.include_tests.unwrap_or(false);
        request.filters.languages = arguments.focus_languages.unwrap_or_default();
        let paths = arguments.paths.unwrap_or_default();
        target.add_paths(&mut request.filters, &paths)?;
        request.view.revision = arguments.rev;
        request.without_content = arguments.locations_only.unwrap_or(false);
        let key = (
            target.codebase().root(),
            &request.query,
            (request.intent, request.task, &request.view.revision),
            (&request.filters.languages, &paths, request.filters.include_tests),
        );
        request.view.cancel = call.cancel();
        request.offset = Cursor::resume(arguments.cursor.as_deref(), &key)?;
        let response = call.run_query(&target, |updater| target.searcher.search(&request, updater))?;
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

fn task(name: &str) -> Result<TaskProfile, CallError> {
    TaskProfile::by_name(name).ok_or_else(|| {
        let known = "DEBUG, DEFAULT, DOCUMENT, IMPLEMENT, LOCAL_EDIT, REFACTOR, REVIEW, SEARCH or TEST";
        CallError::parameter("task", known, name)
    })
}
