//! `find_code`: search by meaning, name or words (requirements R1–R7).

use super::matches::{self, Limits, Output};
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
    /// What to look for: what the code does, in plain words ("where are expired tokens refreshed"), or a name.
    query: String,
    /// Absolute path of any directory in the repository. Default: the repository the server was started in.
    path: Option<String>,
    /// What for; changes the ranking: understand, implement, debug, optimize, test, configure or document.
    intent: Option<String>,
    /// Ranks for an agent's task instead: DEBUG, DOCUMENT, IMPLEMENT, LOCAL_EDIT, REFACTOR, REVIEW, SEARCH or TEST.
    task: Option<String>,
    /// Most tokens of the answer (default 10000). A hard limit: code is cut to signatures, then dropped.
    #[schemars(range(min = 1))]
    token_limit: Option<i64>,
    /// Most matches (default 50).
    #[schemars(range(min = 1))]
    max_results: Option<i64>,
    /// Also find code in tests (default false).
    include_tests: Option<bool>,
    /// Only these languages, for example ["python", "typescript"].
    focus_languages: Option<Vec<String>>,
    /// Only files under these folders or matching these globs, relative to the root of the repository.
    paths: Option<Vec<String>>,
    /// Branch, tag or commit to search instead of the working tree, without checking it out.
    rev: Option<String>,
    /// Places and names only, no code: many matches in few tokens.
    locations_only: Option<bool>,
    /// `next_cursor` of the answer to the same arguments: goes on from there.
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
        let asked = call.answerable(arguments.path.as_deref(), None)?;
        let mut request = Request::new(&arguments.query, &asked.codebase().settings);
        let limits = Limits::new(arguments.max_results, arguments.token_limit, request.token_limit)?;
        (request.limit, request.token_limit) = (limits.matches, limits.tokens);
        request.intent = arguments.intent.as_deref().and_then(Intent::by_name);
        request.task = arguments.task.as_deref().map(task).transpose()?;
        request.filters.include_tests = arguments.include_tests.unwrap_or(false);
        request.filters.languages = arguments.focus_languages.unwrap_or_default();
        request.filters.paths = arguments.paths.unwrap_or_default();
        request.view.revision = arguments.rev;
        request.without_content = arguments.locations_only.unwrap_or(false);
        let question = (
            asked.codebase().root(),
            &request.query,
            (request.intent, request.task, &request.view.revision),
            (&request.filters.languages, &request.filters.paths, request.filters.include_tests),
        );
        request.view.cancel = call.cancel();
        request.offset = Cursor::resume(arguments.cursor.as_deref(), &question)?;
        let response = call.ask(&asked, |updater| asked.searcher.search(&request, updater))?;
        Ok(matches::answer(call, &asked, response, request.offset, limits.tokens, &question))
    }
}

fn task(name: &str) -> Result<TaskProfile, CallError> {
    TaskProfile::by_name(name).ok_or_else(|| {
        let known = "DEBUG, DEFAULT, DOCUMENT, IMPLEMENT, LOCAL_EDIT, REFACTOR, REVIEW, SEARCH or TEST";
        CallError::parameter("task", known, name)
    })
}
