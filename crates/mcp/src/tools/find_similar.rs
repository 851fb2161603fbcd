//! `find_similar`: finds code similar to the code at a line.

use schemars::JsonSchema;
use serde::Deserialize;

use codeweaver::query::{Filters, SimilarRequest, ViewRequest};

use super::matches::{self, Limits, Output, Page, Shown};
use super::{Answer, Call, CallError, Tool};
use crate::answer::Format;
use crate::cursor::Cursor;

pub struct FindSimilar;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Arguments {
    file: String,
    /// Any line of the code to compare with.
    #[schemars(range(min = 1))]
    line: u32,
    paths: Option<Vec<String>>,
    focus_languages: Option<Vec<String>>,
    include_tests: Option<bool>,
    locations_only: Option<bool>,
    #[schemars(range(min = 1))]
    max_results: Option<u32>,
    path: Option<String>,
    rev: Option<String>,
    #[schemars(range(min = 1))]
    token_limit: Option<u32>,
    cursor: Option<String>,
}

impl Tool for FindSimilar {
    const NAME: &'static str = "find_similar";
    const DESCRIPTION: &'static str = "Code that resembles the function or type at a line: duplicates, siblings, other \
        implementations. Use it to find every place that needs the same change. For words use find_code.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let target = call.open(arguments.path.as_deref(), Some(&arguments.file))?;
        let settings = &target.codebase().settings;
        let is_locations_only = arguments.locations_only.unwrap_or(false);

        let limits = Limits::new(
            arguments.max_results,
            arguments.token_limit,
            settings.mcp.token_limit,
            is_locations_only,
        );

        let line = arguments.line;
        let (path, link) = target.linked_file(&arguments.file, arguments.rev.as_deref())?;

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

        let mut response = call.run_query(&target, |updater| target.searcher.similar(&request, updater))?;
        response.warnings.extend(link);
        response.warnings.extend(call.waits.take());

        let page = Page { offset: request.offset, limits, key: &key, format: call.format, words: &[] };
        Ok(matches::answer(&target, response, &page, &mut Shown::new()))
    }
}
