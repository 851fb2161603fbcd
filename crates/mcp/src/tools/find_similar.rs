//! `find_similar`: finds code similar to the code at a line, or all copies in a repository.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codeweaver::duplicates::DuplicatesRequest;
use codeweaver::query::{Filters, SimilarRequest, ViewRequest};

use super::matches::{self, Limits, Page, Shown};
use super::{Answer, Call, CallError, Tool, duplicates};
use crate::answer::Format;
use crate::cursor::Cursor;
use crate::target::CallTarget;

pub struct FindSimilar;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Arguments {
    pub(super) file: Option<String>,
    /// Any line of the code to compare with.
    #[schemars(range(min = 1))]
    pub(super) line: Option<u32>,
    /// Only copies added or changed since this revision.
    pub(super) since: Option<String>,
    pub(super) paths: Option<Vec<String>>,
    pub(super) focus_languages: Option<Vec<String>>,
    pub(super) include_tests: Option<bool>,
    pub(super) locations_only: Option<bool>,
    #[schemars(range(min = 1))]
    pub(super) max_results: Option<u32>,
    pub(super) path: Option<String>,
    pub(super) rev: Option<String>,
    #[schemars(range(min = 1))]
    pub(super) token_limit: Option<u32>,
    pub(super) cursor: Option<String>,
}

/// Either of the answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Output {
    Matches(Box<matches::Output>),
    Copies(duplicates::Output),
}

impl Tool for FindSimilar {
    const NAME: &'static str = "find_similar";
    const IS_LISTED: bool = false;
    const DESCRIPTION: &'static str = "Code that resembles the function or type at a line: duplicates, siblings, other \
        implementations. Use it to find every place that needs the same change. For words use find_code. Without \
        `file`: all groups of copies in `paths`, and what differs.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let target = call.open(arguments.path.as_deref(), arguments.file.as_deref())?;

        match (arguments.file.clone(), arguments.line) {
            (Some(file), Some(line)) => {
                let answer = similar(arguments, (&file, line), &target, call)?;
                Ok(Answer { text: answer.text, structured: Output::Matches(Box::new(answer.structured)) })
            }
            (None, None) => {
                let answer = copies(arguments, &target, call)?;
                Ok(Answer { text: answer.text, structured: Output::Copies(answer.structured) })
            }
            _ => Err(CallError::invalid("`file` and `line` name a place together; all copies need neither")),
        }
    }
}

/// The copies in the repository, or in the paths of the arguments.
fn copies(
    arguments: Arguments,
    target: &CallTarget,
    call: &Call,
) -> Result<Answer<duplicates::Output>, CallError> {
    let settings = &target.codebase().settings;
    let paths = arguments.paths.unwrap_or_default();
    let mut request = DuplicatesRequest::new(ViewRequest {
        revision: arguments.rev,
        cancel: call.cancel(),
        ..ViewRequest::new(settings)
    });

    request.filters.languages = arguments.focus_languages.unwrap_or_default();
    request.filters.include_tests = arguments.include_tests.unwrap_or(false);
    request.since = arguments.since;
    target.add_paths(&mut request.filters, &paths)?;

    let key = (
        (target.codebase().root(), &paths, request.view.revision.clone(), request.since.clone()),
        (request.filters.languages.clone(), request.filters.include_tests),
    );
    let limits = duplicates::Limits {
        groups: arguments.max_results,
        tokens: call.token_limit(arguments.token_limit, target.codebase()),
    };
    duplicates::answer(call, target, request, &limits, (&key, arguments.cursor.as_deref()))
}

/// The code that is similar to that at a line of a file.
fn similar(
    arguments: Arguments,
    (file, line): (&str, u32),
    target: &CallTarget,
    call: &Call,
) -> Result<Answer<matches::Output>, CallError> {
    let settings = &target.codebase().settings;
    let is_locations_only = arguments.locations_only.unwrap_or(false);

    let limits = Limits::new(
        arguments.max_results,
        arguments.token_limit,
        settings.mcp.token_limit,
        is_locations_only,
    );

    let (path, link) = target.linked_file(file, arguments.rev.as_deref())?;

    let mut request = SimilarRequest {
        path,
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
        limit: limits.matches,
        token_limit: u32::MAX,
        min_score: settings.search.min_score,
        without_content: is_locations_only,
        texts: limits.texts,
        related: call.format == Format::Json,
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

    let mut response = call.run_query(target, |updater| target.searcher.similar(&request, updater))?;
    response.warnings.extend(link);
    response.warnings.extend(call.warnings());

    let page = Page { offset: request.offset, limits, key: &key, format: call.format, words: &[] };
    Ok(matches::answer(target, response, &page, &mut Shown::new()))
}
