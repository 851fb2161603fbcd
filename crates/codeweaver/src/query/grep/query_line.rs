//! The forms of a query that ask for exact text: `"text"`, `/expression/`, and `"text" and words`.

use std::sync::Arc;

use codeweaver_git::quoting;

use super::pattern::Pattern;
use super::request::GrepRequest;
use super::{Found, Page};
use crate::query::error::QueryError;
use crate::query::filters::LineSet;
use crate::query::request::Request;

/// The form of a query, and with it the kind of answer that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryLine<'q> {
    /// All lines with a text.
    Exact(&'q str),
    /// All lines that match an expression; in any case after `/i`.
    Regex {
        /// Without its slashes.
        expression: &'q str,
        /// Whether upper and lower case are the same.
        ignore_case: bool,
    },
    /// Code with a text, ordered by its fit to the rest.
    Mixed {
        /// Without its quotes.
        exact: &'q str,
        /// Description of the code.
        rest: &'q str,
    },
    /// Code by meaning, name or words.
    Meaning,
}

impl<'q> QueryLine<'q> {
    /// Recognises the form of `query`. Queries of several lines are pasted texts, whose quotes mean nothing.
    pub fn parse(query: &'q str) -> QueryLine<'q> {
        let query = query.trim();
        if query.contains('\n') {
            return QueryLine::Meaning;
        }

        let (body, ignore_case) = match query.strip_suffix("/i") {
            Some(body) => (Some(body), true),
            None => (query.strip_suffix('/'), false),
        };
        if let Some(expression) = body.and_then(|body| body.strip_prefix('/')).filter(|it| !it.is_empty()) {
            return QueryLine::Regex { expression, ignore_case };
        }
        match query.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            Some((exact, rest)) if !exact.trim().is_empty() => match rest.trim() {
                "" => QueryLine::Exact(exact),
                rest => QueryLine::Mixed { exact, rest },
            },
            _ => QueryLine::Meaning,
        }
    }
}

/// Returns `request` for the code that has the exact part of its query, whose lines `find` finds, with
/// warnings; `None` if its query has none. If no line has the exact part, the request is for all code.
pub(in crate::query) fn narrowed<'a>(
    request: &Request,
    find: impl Fn(&GrepRequest) -> Result<Found<'a>, QueryError>,
) -> Result<Option<(Request, Vec<String>)>, QueryError> {
    let (exact, query) = match QueryLine::parse(&request.query) {
        QueryLine::Exact(exact) => (exact, exact.to_owned()),
        QueryLine::Mixed { exact, rest } => (exact, format!("{exact} {rest}")),
        QueryLine::Regex { .. } | QueryLine::Meaning => return Ok(None),
    };

    let pattern = Pattern { text: exact.to_owned(), ..Pattern::default() };
    let mut filters = request.filters.clone();
    // Kinds are conditions on definitions, not on lines.
    filters.kinds.clear();
    let grep = GrepRequest { pattern, filters, view: request.view.clone(), context: 0 };
    let found = find(&grep)?;

    let mut narrowed = Request { query, ..request.clone() };
    let mut warnings = found.warnings();
    if found.n_files() == 0 {
        warnings.push(format!("no line has \"{exact}\"; this is code about it"));
    } else {
        narrowed.filters.lines = Some(Arc::new(lines_of(&found)?));
    }

    Ok(Some((narrowed, warnings)))
}

/// The numbers of the found lines, by file.
fn lines_of(found: &Found<'_>) -> Result<LineSet, QueryError> {
    let mut lines = LineSet::new();

    let page = Page { max_line: 0, ..Page::default() };
    found.for_each(page, |file| {
        let numbers = file.lines.iter().filter_map(|line| u32::try_from(line.line).ok());
        lines.insert(quoting::bytes(&file.path), numbers.collect());
        Ok::<_, QueryError>(())
    })?;

    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_slashes_ask_for_exact_text() {
        for (query, expected) in [
            ("\"a b\"", QueryLine::Exact("a b")),
            ("/fn \\w+/", QueryLine::Regex { expression: "fn \\w+", ignore_case: false }),
            ("/a\\/b/i", QueryLine::Regex { expression: "a\\/b", ignore_case: true }),
            (
                "\"connection reset\" when a client leaves",
                QueryLine::Mixed { exact: "connection reset", rest: "when a client leaves" },
            ),
            ("where is \"x\" set", QueryLine::Meaning),
            ("\"unfinished", QueryLine::Meaning),
            ("\"\" x", QueryLine::Meaning),
            ("/", QueryLine::Meaning),
            ("//", QueryLine::Meaning),
            ("/usr/lib", QueryLine::Meaning),
            ("\"a\"\nb", QueryLine::Meaning),
        ] {
            assert_eq!(QueryLine::parse(query), expected, "{query}");
        }
    }
}
