//! Narrowing: a search for the code that has the lines of the exact part of its query, and none of the lines
//! with an excluded word.

use std::collections::BTreeSet;
use std::sync::Arc;

use codeweaver_git::{BString, quoting};

use super::of_engine::NOT_THERE;
use super::pattern::Pattern;
use super::request::GrepRequest;
use super::{Found, Page};
use crate::query::error::QueryError;
use crate::query::filters::{Filters, LineSet};
use crate::query::request::Request;
use crate::query::typed::QueryText;

/// Number of files of an engine that are searched for excluded words at once. It reads at most 1,000 for one
/// request.
const FILES_AT_ONCE: usize = 500;

/// Returns `request` for the code that has the exact part of its query and no excluded word, by the lines
/// that `find` finds, with warnings; `None` if its query has neither. If no line has the exact part, the
/// request is for all code.
pub(in crate::query) fn narrowed<'a>(
    request: &Request,
    find: impl Fn(&GrepRequest) -> Result<Found<'a>, QueryError>,
) -> Result<Option<(Request, Vec<String>)>, QueryError> {
    let exact = with_exact_part(request, &find)?;
    if request.filters.without.is_empty() {
        return Ok(exact);
    }

    let (mut narrowed, warnings) = exact.unwrap_or_else(|| (request.clone(), Vec::new()));
    let found = find(&lines_without(request))?;
    narrowed.filters.without_lines = Some(Arc::new(lines_of(&found)?));
    Ok(Some((narrowed, warnings)))
}

/// As [`narrowed`], with code that has excluded words.
pub(in crate::query) fn with_exact_part<'a>(
    request: &Request,
    find: impl Fn(&GrepRequest) -> Result<Found<'a>, QueryError>,
) -> Result<Option<(Request, Vec<String>)>, QueryError> {
    let Some((pattern, query)) = exact_part(&request.query) else { return Ok(None) };

    let found = find(&lines_with(&pattern, request))?;
    let mut narrowed = request.clone();
    let mut warnings = found.warnings();
    if found.n_files() == 0 {
        warnings.push(format!("no line has \"{}\"; this is code about it", pattern.text));
    } else {
        narrowed.filters.lines = Some(Arc::new(lines_of(&found)?));
    }
    narrowed.query = query;

    Ok(Some((narrowed, warnings)))
}

/// The lines with an excluded word of `request` in `files` of an engine, by what `find` finds, with warnings
/// on files that may have such lines too.
pub(in crate::query) fn excluded_lines<'a>(
    request: &Request,
    files: BTreeSet<BString>,
    find: impl Fn(&GrepRequest) -> Result<Found<'a>, QueryError>,
) -> Result<(LineSet, Vec<String>), QueryError> {
    let files: Vec<BString> = files.into_iter().collect();
    let mut lines = LineSet::new();
    let mut warnings = BTreeSet::new();
    let mut n_unread = 0;

    for some in files.chunks(FILES_AT_ONCE) {
        let mut grep = lines_without(request);
        grep.filters.files = Some(Arc::new(some.iter().cloned().collect()));
        let found = find(&grep)?;
        lines.extend(lines_of(&found)?);
        n_unread += found.info.unread_files;
        warnings.extend(found.info.warnings.iter().filter(|it| *it != NOT_THERE).cloned());
    }

    let mut warnings: Vec<String> = warnings.into_iter().collect();
    if n_unread > 0 {
        let which = if n_unread == 1 { "1 file".to_owned() } else { format!("{n_unread} files") };
        let why = "that may have an excluded word cannot be read, so code with it may be shown";
        warnings.push(format!("{which} {why}"));
    }
    Ok((lines, warnings))
}

/// The pattern of the lines that code must have for the query `text`, and the words that order it; `None` if
/// code with any lines is wanted.
fn exact_part(text: &str) -> Option<(Pattern, String)> {
    match QueryText::parse(text) {
        QueryText::Exact(exact) => Some((Pattern::exact(exact), exact.to_owned())),
        QueryText::Mixed { exact, rest } => Some((Pattern::exact(exact), format!("{exact} {rest}"))),
        QueryText::Regex { expression, ignore_case } => {
            let pattern = Pattern { ignore_case, ..Pattern::regex(expression) };
            Some((pattern, words_of(expression)))
        }
        QueryText::Meaning => None,
    }
}

/// The literal words in a regular expression; the expression itself if it has none.
fn words_of(expression: &str) -> String {
    let mut text = String::new();
    let mut chars = expression.chars();

    while let Some(c) = chars.next() {
        let is_of_word = c.is_alphanumeric() || c == '_';
        text.push(if is_of_word { c } else { ' ' });
        if c == '\\' {
            // `\w` is a class and no letter.
            chars.next();
        }
    }

    // Single letters are mostly ends of ranges, and digits are repetitions.
    let has_letters = |word: &&str| word.chars().filter(|c| c.is_alphabetic()).nth(1).is_some();
    let words: Vec<&str> = text.split_whitespace().filter(has_letters).collect();
    if words.is_empty() { expression.to_owned() } else { words.join(" ") }
}

/// The request for all lines with an excluded word in the files of `request`.
fn lines_without(request: &Request) -> GrepRequest {
    lines_with(&Pattern::any_word(&request.filters.without), request)
}

/// The request for all lines that match `pattern` in the files of `request`.
fn lines_with(pattern: &Pattern, request: &Request) -> GrepRequest {
    GrepRequest {
        pattern: pattern.clone(),
        // Kinds are conditions on definitions, not on lines.
        filters: Filters { kinds: Vec::new(), without: Vec::new(), ..request.filters.clone() },
        view: request.view.clone(),
        context: 0,
    }
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
    fn the_words_of_an_expression_are_its_literals() {
        assert_eq!(words_of(r"fn \w+_handler\("), "fn _handler");
        assert_eq!(words_of(r"TODO|FIXME"), "TODO FIXME");
        assert_eq!(words_of(r"[A-Z]{3}_ID"), "_ID");
        assert_eq!(words_of(r"\d+"), r"\d+");
    }
}
