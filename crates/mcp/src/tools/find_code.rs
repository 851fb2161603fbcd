//! `find_code`: searches by meaning, name or words; by a place, for code like it; or in documentation alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codeweaver::query::parse::report;
use codeweaver::query::response::Status;
use codeweaver::query::{Condition, Intent, Location, Request, TypedQuery};
use codeweaver_text as text;

use super::explore::{self, Exploring};
use super::matches::{self, Limits, Page, Shown};
use super::{Answer, Call, CallError, Tool, ask_docs, find_similar};
use crate::answer::{Failure, Format, text_tokens};
use crate::cursor::Cursor;
use crate::target::CallTarget;

pub struct FindCode;

/// Words of questions about a flow, which several functions make up.
const FLOW_WORDS: [&str; 8] = [
    "how does ",
    "how do ",
    "how is ",
    "how are ",
    "what happens ",
    "flow of ",
    "path from ",
    "step by step",
];

/// Maximum number of queries in one call.
const MAX_QUERIES: usize = 8;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Arguments {
    /// Words ("where are tokens refreshed"), a name or an issue report.
    query: Option<String>,
    /// Several at once.
    queries: Option<Vec<String>>,
    /// Instead: `FILE:LINE` for code that resembles it, `DIR` for duplicates.
    like: Option<String>,
    /// Only documentation.
    docs: Option<bool>,
    /// Whole functions to read for a task.
    explore: Option<bool>,
    /// Directories or globs.
    paths: Option<Vec<String>>,
    focus_languages: Option<Vec<String>>,
    include_tests: Option<bool>,
    /// understand, implement, debug, optimize, test, configure, document or review.
    intent: Option<String>,
    /// The name of `intent` in another client.
    #[schemars(extend("unlisted" = true))]
    task: Option<String>,
    /// No code.
    locations_only: Option<bool>,
    #[schemars(range(min = 1))]
    max_results: Option<u32>,
    /// A directory of the repository.
    path: Option<String>,
    /// Branch, tag or commit.
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
    /// The functions to read for `query`.
    Explored(Box<explore::Output>),
    /// The answers to `queries`, in their order.
    Several { status: Status, answers: Vec<OneOfSeveral> },
    /// The passages for `docs`.
    Docs(Box<ask_docs::Output>),
    /// The code for `like`.
    Like(Box<find_similar::Output>),
}

/// The outcome of one of several queries.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOfSeveral {
    Answered(Box<matches::Output>),
    /// Its conditions cannot be met, for example a language that does not exist. The others are answered.
    Failed(Failure),
}

impl OneOfSeveral {
    fn is_ok(&self) -> bool {
        matches!(self, OneOfSeveral::Answered(answer) if answer.response.status == Status::Ok)
    }
}

impl Tool for FindCode {
    const NAME: &'static str = "find_code";
    const ALIAS: Option<&'static str> = Some("search_codebase");
    const DESCRIPTION: &'static str = "Search by meaning or name: functions, types and sections of documentation that \
        answer a question, the best with its code. Use it first when you do not know where something is. `like`: where \
        else the same change is due. Not for every occurrence of an exact string.";
    const IS_BASIC: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        if let Some(place) = arguments.like.clone() {
            return like(&place, arguments, call);
        }
        if arguments.docs == Some(true) {
            return passages(arguments, call);
        }

        let target = call.open(arguments.path.as_deref(), None)?;
        let search = Search { arguments: &arguments, target: &target, call };

        let mut queries: Vec<String> = arguments.query.iter().cloned().collect();
        queries.extend(arguments.queries.iter().flatten().cloned());

        // A single `query` has an answer without a heading; `queries` has a list of answers even for one.
        match (queries.as_slice(), arguments.queries.as_deref().unwrap_or_default()) {
            ([], _) => Err(CallError::invalid("find_code needs the argument `query` or `queries`")),
            ([query], []) => {
                let limit = call.token_limit(arguments.token_limit, target.codebase());
                if search.explores(query)
                    && let Some(Answer { structured, text }) = search.explore(query, limit)?
                {
                    return Ok(Answer { structured: Output::Explored(Box::new(structured)), text });
                }
                let answer = search.run(query, limit, &mut Shown::new())?;
                let structured = Output::One(Box::new(answer.structured));
                Ok(Answer { text: answer.text, structured })
            }
            (_, _) if arguments.explore == Some(true) => {
                Err(CallError::invalid("`explore` needs one `query`"))
            }
            (queries, _) => search.run_all(queries),
        }
    }
}

/// The code that resembles that at `place`, or the copies in the directory `place`.
fn like(place: &str, arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
    if arguments.query.is_some() || arguments.queries.is_some() {
        return Err(CallError::invalid("`like` takes the place of `query` and `queries`"));
    }

    let (file, line, paths) = match Location::parse(place) {
        Location { file, lines: Some((first, _)) } => (Some(file.to_owned()), Some(first), arguments.paths),
        // The copies in the whole repository need no filter.
        Location { file: "." | "./" | "/", .. } => (None, None, arguments.paths),
        Location { file, .. } => (None, None, Some(vec![file.to_owned()])),
    };

    let similar = find_similar::Arguments {
        file,
        line,
        since: None,
        paths,
        focus_languages: arguments.focus_languages,
        include_tests: arguments.include_tests,
        locations_only: arguments.locations_only,
        max_results: arguments.max_results,
        path: arguments.path,
        rev: arguments.rev,
        token_limit: arguments.token_limit,
        cursor: arguments.cursor,
    };
    let Answer { structured, text } = find_similar::FindSimilar::run(similar, call)?;
    Ok(Answer { structured: Output::Like(Box::new(structured)), text })
}

/// The passages of documentation that answer the query.
fn passages(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
    let mut queries = arguments.query.into_iter().chain(arguments.queries.unwrap_or_default());
    let (Some(question), None) = (queries.next(), queries.next()) else {
        return Err(CallError::invalid("`docs` needs one `query`"));
    };

    let ask = ask_docs::Arguments {
        question,
        paths: arguments.paths,
        path: arguments.path,
        rev: arguments.rev,
        token_limit: arguments.token_limit,
    };
    let Answer { structured, text } = ask_docs::AskDocs::run(ask, call)?;
    Ok(Answer { structured: Output::Docs(Box::new(structured)), text })
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
        let mut first_failure = None;

        for (i, query) in queries.iter().enumerate() {
            let heading = format!("# {}\n", report::heading(query));
            let heading_tokens = text_tokens(&heading);
            // An equal share of the rest, so that unused tokens go to later queries.
            let share = (left / (queries.len() - i) as u32).saturating_sub(heading_tokens).max(1);

            let answer = match self.run(query, share, &mut shown) {
                Ok(Answer { structured, text }) => {
                    Answer { structured: OneOfSeveral::Answered(Box::new(structured)), text }
                }
                // A mistake in one query does not cost the answers to the others.
                Err(CallError::Failed(failure)) => {
                    first_failure.get_or_insert_with(|| failure.clone());
                    let text = format!("error: {}\n", failure.message);
                    Answer { structured: OneOfSeveral::Failed(failure), text }
                }
                Err(error) => return Err(error),
            };
            left = left.saturating_sub(heading_tokens + answer.n_tokens(call.format));

            text.push_str(&heading);
            text.push_str(&answer.text);
            answers.push(answer.structured);
        }

        if let Some(failure) = first_failure
            && !answers.iter().any(|answer| matches!(answer, OneOfSeveral::Answered(_)))
        {
            return Err(CallError::Failed(failure));
        }

        let is_ok = answers.iter().all(OneOfSeveral::is_ok);
        let status = if is_ok { Status::Ok } else { Status::Degraded };
        Ok(Answer { structured: Output::Several { status, answers }, text })
    }

    /// Whether the answer to a query is the functions to read. A text of several lines is a task, unless the
    /// call asks for matches: by their number, by a cursor, or as JSON.
    fn explores(&self, query: &str) -> bool {
        let Arguments { explore, locations_only, max_results, cursor, .. } = self.arguments;
        let asks_for_matches = max_results.is_some() || cursor.is_some() || self.call.format == Format::Json;
        let is_task = !asks_for_matches && report::is_report(query);

        *locations_only != Some(true) && explore.unwrap_or(is_task)
    }

    /// The functions to read for a task; `None` if it is about none.
    fn explore(&self, task: &str, tokens: u32) -> Result<Option<Answer<explore::Output>>, CallError> {
        let Search { target, call, .. } = *self;
        let (typed, mut request, notes) = self.request(task)?;
        (request.limit, request.without_content, request.token_limit) = (explore::FILES, true, u32::MAX);
        request.related = false;

        let mut response = call.run_query(target, |updater| target.searcher.search(&request, updater))?;
        response.warnings.extend(call.warnings());
        response.warnings.extend(notes);

        let rev = request.view.revision.as_deref();
        Exploring { target, call, rev, tokens }.answer(&typed.text, &response)
    }

    /// The request for a query with the arguments of the call but for its limits, the query without its
    /// conditions, and notes for the user.
    fn request(&self, query: &str) -> Result<(TypedQuery, Request, Vec<String>), CallError> {
        let Search { arguments, target, call } = *self;
        let mut typed = TypedQuery::parse(query);
        typed.conditions.extend(arguments.rev.iter().cloned().map(Condition::Rev));
        let mut request = Request::new(&typed.text, &target.codebase().settings);
        let mut notes = Vec::new();

        let intent = arguments.intent.as_deref().or(arguments.task.as_deref());
        request.intent = Intent::named(intent, &mut notes);
        request.task = intent.and_then(Intent::task_named);

        // Tests are searched if the call asks for them, or if its intent is about tests.
        request.filters.include_tests =
            arguments.include_tests.unwrap_or(request.intent == Some(Intent::Test));
        request.filters.languages = arguments.focus_languages.clone().unwrap_or_default();

        target.add_paths(&mut request.filters, arguments.paths.as_deref().unwrap_or_default())?;
        request.view.cancel = call.cancel();

        let resolved = target.resolve(&typed, request.filters, request.view)?;
        (request.filters, request.view) = (resolved.filters, resolved.view);
        notes.extend(resolved.notes);
        Ok((typed, request, notes))
    }

    /// Answers one query within `tokens`.
    fn run(&self, query: &str, tokens: u32, shown: &mut Shown) -> Result<Answer<matches::Output>, CallError> {
        let Search { arguments, target, call } = *self;
        let (typed, mut request, notes) = self.request(query)?;

        let is_locations_only = arguments.locations_only.unwrap_or(false);
        let default = target.codebase().settings.mcp.token_limit;
        let limits = Limits::new(arguments.max_results, Some(tokens), default, is_locations_only);
        let limits = if asks_for_flow(&typed.text) { limits.for_flow() } else { limits };
        (request.limit, request.texts, request.token_limit) = (limits.matches, limits.texts, u32::MAX);

        request.without_content = is_locations_only;
        // The text form does not show related code.
        request.related = call.format == Format::Json;

        let paths = arguments.paths.as_deref().unwrap_or_default();
        let key = (
            target.codebase().root(),
            query,
            (request.intent, &request.view.revision),
            (&request.filters.languages, paths, request.filters.include_tests),
        );

        request.offset = Cursor::resume(arguments.cursor.as_deref(), &key)?;

        let mut response = call.run_query(target, |updater| target.searcher.search(&request, updater))?;
        response.warnings.extend(call.warnings());
        response.warnings.extend(notes);

        let words: Vec<String> = text::query_terms(&typed.text).into_iter().map(|term| term.term).collect();
        let page = Page { offset: request.offset, limits, key: &key, format: call.format, words: &words };
        Ok(matches::answer(target, response, &page, shown))
    }
}

/// Returns whether a query asks how something comes about, and not where it is.
fn asks_for_flow(query: &str) -> bool {
    let query = query.to_lowercase();
    FLOW_WORDS.iter().any(|words| query.contains(words))
}
