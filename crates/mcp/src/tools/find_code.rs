//! `find_code`: searches by meaning, name or words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codeweaver::query::parse::report;
use codeweaver::query::response::Status;
use codeweaver::query::{Intent, Request};
use codeweaver_chunk::classes::TaskProfile;
use codeweaver_chunk::tokens;
use codeweaver_text as text;

use super::matches::{self, Limits, Page, Shown};
use super::{Answer, Call, CallError, Tool};
use crate::arguments::Format;
use crate::cursor::Cursor;
use crate::target::CallTarget;

pub struct FindCode;

/// Maximum number of queries in one call.
const MAX_QUERIES: usize = 8;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Arguments {
    /// Plain words ("where are tokens refreshed"), a name or an issue report.
    query: Option<String>,
    /// Several at once.
    queries: Option<Vec<String>>,
    /// Directories or globs to search.
    paths: Option<Vec<String>>,
    focus_languages: Option<Vec<String>>,
    include_tests: Option<bool>,
    /// understand, implement, debug, optimize, test, configure or document.
    intent: Option<String>,
    /// The ranking of another client's tasks (`intent` is ours): DEBUG, REFACTOR, REVIEW, …
    #[schemars(extend("unlisted" = true))]
    task: Option<String>,
    /// No code.
    locations_only: Option<bool>,
    #[schemars(range(min = 1))]
    max_results: Option<u32>,
    /// Absolute; any directory in the repository.
    path: Option<String>,
    /// Branch, tag or commit instead of the working tree.
    rev: Option<String>,
    #[schemars(range(min = 1))]
    token_limit: Option<u32>,
    #[schemars(description = "Of the answer to continue.")]
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Output {
    /// The answer to `query`.
    One(Box<matches::Output>),
    /// The answers to `queries`, in their order.
    Several { status: Status, answers: Vec<matches::Output> },
}

impl Tool for FindCode {
    const NAME: &'static str = "find_code";
    const ALIAS: Option<&'static str> = Some("search_codebase");
    const DESCRIPTION: &'static str = "Search a repository by meaning or name: the functions, types and sections that \
        answer a question, best first. Use it first when you do not know where something is. Not for every occurrence \
        of an exact string.";
    const IS_BASIC: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let target = call.open(arguments.path.as_deref(), None)?;
        let search = Search { arguments: &arguments, target: &target, call };

        let mut queries: Vec<String> = arguments.query.iter().cloned().collect();
        queries.extend(arguments.queries.iter().flatten().cloned());

        // A single `query` has an answer without a heading; `queries` has a list of answers even for one.
        match (queries.as_slice(), arguments.queries.as_deref().unwrap_or_default()) {
            ([], _) => Err(CallError::invalid("find_code needs the argument `query` or `queries`")),
            ([query], []) => {
                let limit = call.token_limit(arguments.token_limit, target.codebase());
                let answer = search.run(query, limit, &mut Shown::new())?;
                let structured = Output::One(Box::new(answer.structured));
                Ok(Answer { text: answer.text, structured })
            }
            (queries, _) => search.run_all(queries),
        }
    }
}

/// A search with the arguments of a call.
struct Search<'a> {
    arguments: &'a Arguments,
    target: &'a CallTarget,
    call: &'a Call,
}

impl Search<'_> {
    /// Answers several queries within one limit. Tokens that a query does not use are available to the next
    /// ones. Code that an earlier answer shows is not repeated.
    fn run_all(&self, queries: &[String]) -> Result<Answer<Output>, CallError> {
        let Search { arguments, target, call } = *self;
        if queries.len() > MAX_QUERIES {
            return Err(CallError::parameter("queries", &format!("at most {MAX_QUERIES}"), queries.len()));
        }
        if arguments.cursor.is_some() {
            return Err(CallError::invalid("`cursor` continues one `query`, not `queries`"));
        }

        let mut left = call.token_limit(arguments.token_limit, target.codebase());
        let mut shown = Shown::new();
        let (mut answers, mut text) = (Vec::new(), String::new());

        for (i, query) in queries.iter().enumerate() {
            let heading = format!("# {}\n", report::heading(query));
            let heading_tokens = tokens::count(&heading);
            // An equal share of the rest, so that unused tokens go to later queries.
            let share = (left / (queries.len() - i) as u32).saturating_sub(heading_tokens).max(1);

            let answer = self.run(query, share, &mut shown)?;
            left = left.saturating_sub(heading_tokens + answer.n_tokens(call.format));

            text.push_str(&heading);
            text.push_str(&answer.text);
            answers.push(answer.structured);
        }

        let is_ok = answers.iter().all(|answer| answer.response.status == Status::Ok);
        let status = if is_ok { Status::Ok } else { Status::Degraded };
        Ok(Answer { structured: Output::Several { status, answers }, text })
    }

    /// Answers one query within `tokens`.
    fn run(&self, query: &str, tokens: u32, shown: &mut Shown) -> Result<Answer<matches::Output>, CallError> {
        let Search { arguments, target, call } = *self;
        let settings = &target.codebase().settings;

        let mut request = Request::new(query, settings);
        let is_locations_only = arguments.locations_only.unwrap_or(false);
        let limits =
            Limits::new(arguments.max_results, Some(tokens), settings.mcp.token_limit, is_locations_only);
        (request.limit, request.texts, request.token_limit) = (limits.matches, limits.texts, u32::MAX);

        request.intent = arguments.intent.as_deref().and_then(Intent::by_name);
        request.task = arguments.task.as_deref().map(task).transpose()?;

        // Tests are searched if the call asks for them, or if its intent is about tests.
        let include_tests = arguments.include_tests.unwrap_or(request.intent == Some(Intent::Test));
        request.filters.include_tests = include_tests;
        request.filters.languages = arguments.focus_languages.clone().unwrap_or_default();

        let paths = arguments.paths.as_deref().unwrap_or_default();
        target.add_paths(&mut request.filters, paths)?;
        request.view.revision.clone_from(&arguments.rev);

        request.without_content = is_locations_only;
        // The text form does not show related code.
        request.related = call.format == Format::Json;

        let key = (
            target.codebase().root(),
            &request.query,
            (request.intent, request.task, &request.view.revision),
            (&request.filters.languages, paths, include_tests),
        );

        request.view.cancel = call.cancel();
        request.offset = Cursor::resume(arguments.cursor.as_deref(), &key)?;

        let mut response = call.run_query(target, |updater| target.searcher.search(&request, updater))?;

        if let Some(name) = arguments.intent.as_ref().filter(|_| request.intent.is_none()) {
            let known: Vec<&str> = Intent::names().collect();
            let name: String = name.chars().take(100).collect();
            // A misspelt intent is not worth an error, since it only adjusts the ranking.
            response.warnings.push(format!(
                "there is no intent {name:?}, so none is used; there are {}",
                known.join(", ")
            ));
        }

        let words: Vec<String> = text::query_terms(query).into_iter().map(|term| term.term).collect();
        let page = Page { offset: request.offset, limits, key: &key, format: call.format, words: &words };
        Ok(matches::answer(target, response, &page, shown))
    }
}

fn task(name: &str) -> Result<TaskProfile, CallError> {
    TaskProfile::by_name(name).ok_or_else(|| {
        let known = "DEBUG, DEFAULT, DOCUMENT, IMPLEMENT, LOCAL_EDIT, REFACTOR, REVIEW, SEARCH or TEST";
        CallError::parameter("task", known, name)
    })
}
